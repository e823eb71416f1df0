"""Pascal VOC: objects of twenty classes, with boxes and outlines."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

from weft.vision.datasets._published import Archive, Published, lines_of, open_picture
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform

_ADDRESS = "https://thor.robots.ox.ac.uk/pascal/VOC/"


class _VOC(Published):
    """Pictures of a year's challenge, with a target file each."""

    _lists: ClassVar[str]
    _targets_folder: ClassVar[str]
    _ending: ClassVar[str]
    _years: ClassVar[dict[str, Archive]] = {
        "2012": Archive(_ADDRESS + "voc2012/VOCtrainval_11-May-2012.tar", "6cd6e144f989b92b3379bac3b3de84fd"),
        "2011": Archive(_ADDRESS + "voc2011/VOCtrainval_25-May-2011.tar", "6c3384ef61512963050cb5d687e5bf1e"),
        "2010": Archive(_ADDRESS + "voc2010/VOCtrainval_03-May-2010.tar", "da459979d0c395079b5c75ee67908abb"),
        "2009": Archive(_ADDRESS + "voc2009/VOCtrainval_11-May-2009.tar", "a3e00b113cfcfebf17e343f59da3caa1"),
        "2008": Archive(_ADDRESS + "voc2008/VOCtrainval_14-Jul-2008.tar", "2629fa636546599198acfcfbfcf1904a"),
        "2007": Archive(_ADDRESS + "voc2007/VOCtrainval_06-Nov-2007.tar", "c52e279531787c972589f7e41ab4ae64"),
        "2007-test": Archive(_ADDRESS + "voc2007/VOCtest_06-Nov-2007.tar", "b6e924de25625d8de591ea690078ad9f"),
    }

    def __init__(
        self,
        root: StrPath,
        year: str = "2012",
        image_set: str = "train",
        download: bool = False,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.year = verify_str_arg(year, "year", [str(number) for number in range(2007, 2013)])
        sets = ("train", "trainval", "val", *(["test"] if year == "2007" else []))
        self.image_set = verify_str_arg(image_set, "image_set", sets)
        above = "TrainVal/VOCdevkit" if year == "2011" else "VOCdevkit"  # as the archives have it
        folder = Path(self.root) / above / f"VOC{year}"
        names_file = folder / "ImageSets" / self._lists / f"{image_set}.txt"
        self._obtain(names_file, download=download)
        names = lines_of(names_file)
        self.images = [str(folder / "JPEGImages" / f"{name}.jpg") for name in names]
        self.targets = [str(folder / self._targets_folder / f"{name}{self._ending}") for name in names]

    def download(self) -> None:
        """Fetch the archive of the year, check it by its MD5 sum, and unpack it."""
        self._years["2007-test" if self.image_set == "test" else self.year].unpack_into(self.root)

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.images)


class VOCSegmentation(_VOC):
    """Pascal VOC for segmentation.

    Samples are (PIL picture of mode "RGB", PIL picture of mode "P"): 0 is background, 1 to 20 are classes, 255 is
    where one must not tell. The files are in ``root/VOCdevkit/VOC<year>``.

    Parameters
    ----------
    root : path
    year : {"2012", "2011", "2010", "2009", "2008", "2007"}
    image_set : {"train", "trainval", "val"}, and "test" of 2007
    download : bool, default False
        Fetch the files if they are missing.
    transform, target_transform, transforms : callable, optional
        Applied to the picture, to the target, or to both.

    References
    ----------
    M. Everingham et al.: The Pascal visual object classes (VOC) challenge. IJCV 88(2), 2010.
    """

    _lists, _targets_folder, _ending = "Segmentation", "SegmentationClass", ".png"

    @property
    def masks(self) -> list[str]:
        """The paths of the targets."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, mask)."""
        picture = open_picture(self.images[index], "RGB")
        return self._apply_jointly(picture, open_picture(self.masks[index]))


class VOCDetection(_VOC):
    """Pascal VOC for detection.

    Samples are (PIL picture of mode "RGB", dict of the XML file): ``target["annotation"]["object"]`` is a list of dicts
    with ``name`` and ``bndbox``, whose values are strings. Parameters as of `VOCSegmentation`.
    """

    _lists, _targets_folder, _ending = "Main", "Annotations", ".xml"

    @property
    def annotations(self) -> list[str]:
        """The paths of the targets."""
        return self.targets

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, dict)."""
        picture = open_picture(self.images[index], "RGB")
        return self._apply_jointly(picture, self.parse_voc_xml(ElementTree.parse(self.annotations[index]).getroot()))

    @staticmethod
    def parse_voc_xml(node: ElementTree.Element) -> dict[str, Any]:
        """Return an element as ``{tag: text}`` or ``{tag: {tag of a child: ...}}``.

        Children of one tag become a list, and so do the objects of an annotation even if there is one only.
        """
        if not len(node):
            return {node.tag: node.text.strip()} if node.text else {}
        children: dict[str, list[Any]] = defaultdict(list)
        for child in node:
            for tag, content in VOCDetection.parse_voc_xml(child).items():
                children[tag].append(content)
        if node.tag == "annotation":
            children["object"] = [children["object"]]
        return {node.tag: {tag: found[0] if len(found) == 1 else found for tag, found in children.items()}}
