"""The Oxford-IIIT pets: cats and dogs by breed, with their outlines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.vision.datasets._published import Archive, Published, as_list, lines_of, one_or_all, open_picture
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform

_ADDRESS = "https://www.robots.ox.ac.uk/~vgg/data/pets/data/"


class OxfordIIITPet(Published):
    """7,349 pictures of cats and dogs of 37 breeds.

    Samples are (PIL picture of mode "RGB", target). The files are in ``root/oxford-iiit-pet``: ``images`` and
    ``annotations``.

    Parameters
    ----------
    root : path
    split : {"trainval", "test"}
    target_types : {"category", "binary-category", "segmentation"} or sequence of them
        The breed, 0 to 36; cat or dog, 0 or 1; a PIL picture that is 1 on the animal, 2 around it, 3 on its edge. Of
        several the target is a tuple, of none it is None.
    transforms, transform, target_transform : callable, optional
        Applied to both, to the picture, to the target.
    download : bool, default False
        Fetch the files if they are missing.

    References
    ----------
    O. Parkhi, A. Vedaldi, A. Zisserman, C. Jawahar: Cats and dogs. CVPR 2012.
    """

    _archives = (
        Archive(_ADDRESS + "images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"),
        Archive(_ADDRESS + "annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"),
    )

    def __init__(
        self,
        root: StrPath,
        split: str = "trainval",
        target_types: Sequence[str] | str = "category",
        transforms: Transform | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self._split = verify_str_arg(split, "split", ("trainval", "test"))
        known = ("category", "binary-category", "segmentation")
        self._target_types = [verify_str_arg(each, "target_types", known) for each in as_list(target_types)]
        images, annotations = self._archives_folder / "images", self._archives_folder / "annotations"
        self._obtain(images, annotations, download=download)
        rows = [line.split() for line in lines_of(annotations / f"{split}.txt")]  # name, breed, species, number
        self._labels = [int(row[1]) - 1 for row in rows]
        self._bin_labels = [int(row[2]) - 1 for row in rows]
        breeds = dict(zip(self._labels, (row[0].rpartition("_")[0] for row in rows), strict=True))
        self.classes = [breeds[label].replace("_", " ").title() for label in sorted(breeds)]
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}
        self.bin_classes = ["Cat", "Dog"]
        self.bin_class_to_idx = {"Cat": 0, "Dog": 1}
        self._images = [images / f"{row[0]}.jpg" for row in rows]
        self._segs = [annotations / "trimaps" / f"{row[0]}.png" for row in rows]

    @property
    def _archives_folder(self) -> Path:
        return Path(self.root) / "oxford-iiit-pet"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, target)."""
        targets = [self._target(each, index) for each in self._target_types]
        picture = open_picture(self._images[index], "RGB")
        return self._apply_jointly(picture, one_or_all(targets) if targets else None)

    def _target(self, target_type: str, index: int) -> Any:
        if target_type == "segmentation":
            return open_picture(self._segs[index])
        return (self._labels if target_type == "category" else self._bin_labels)[index]

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self._images)
