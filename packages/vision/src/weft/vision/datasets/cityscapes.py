"""Cityscapes: streets of 50 cities, each pixel labelled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from weft.vision.datasets._published import Published, as_list, one_or_all, open_picture
from weft.vision.datasets.utils import StrPath, extract_archive, iterable_to_str, verify_str_arg
from weft.vision.datasets.vision import Transform


class CityscapesClass(NamedTuple):
    """A class of pixels: its numbers in the files and in training, its category, and its colour."""

    name: str
    id: int
    train_id: int
    category: str
    category_id: int
    has_instances: bool
    ignore_in_eval: bool
    color: tuple[int, int, int]


# name, id, train_id, category, category_id, has_instances, ignore_in_eval, colour
_CLASSES = """
unlabeled,0,255,void,0,0,1,0 0 0
ego vehicle,1,255,void,0,0,1,0 0 0
rectification border,2,255,void,0,0,1,0 0 0
out of roi,3,255,void,0,0,1,0 0 0
static,4,255,void,0,0,1,0 0 0
dynamic,5,255,void,0,0,1,111 74 0
ground,6,255,void,0,0,1,81 0 81
road,7,0,flat,1,0,0,128 64 128
sidewalk,8,1,flat,1,0,0,244 35 232
parking,9,255,flat,1,0,1,250 170 160
rail track,10,255,flat,1,0,1,230 150 140
building,11,2,construction,2,0,0,70 70 70
wall,12,3,construction,2,0,0,102 102 156
fence,13,4,construction,2,0,0,190 153 153
guard rail,14,255,construction,2,0,1,180 165 180
bridge,15,255,construction,2,0,1,150 100 100
tunnel,16,255,construction,2,0,1,150 120 90
pole,17,5,object,3,0,0,153 153 153
polegroup,18,255,object,3,0,1,153 153 153
traffic light,19,6,object,3,0,0,250 170 30
traffic sign,20,7,object,3,0,0,220 220 0
vegetation,21,8,nature,4,0,0,107 142 35
terrain,22,9,nature,4,0,0,152 251 152
sky,23,10,sky,5,0,0,70 130 180
person,24,11,human,6,1,0,220 20 60
rider,25,12,human,6,1,0,255 0 0
car,26,13,vehicle,7,1,0,0 0 142
truck,27,14,vehicle,7,1,0,0 0 70
bus,28,15,vehicle,7,1,0,0 60 100
caravan,29,255,vehicle,7,1,1,0 0 90
trailer,30,255,vehicle,7,1,1,0 0 110
train,31,16,vehicle,7,1,0,0 80 100
motorcycle,32,17,vehicle,7,1,0,0 0 230
bicycle,33,18,vehicle,7,1,0,119 11 32
license plate,-1,-1,vehicle,7,0,1,0 0 142
"""


def _class(line: str) -> CityscapesClass:
    name, id_, train_id, category, category_id, has_instances, ignored, color = line.split(",")
    red, green, blue = map(int, color.split())
    flags = bool(int(has_instances)), bool(int(ignored))
    return CityscapesClass(name, int(id_), int(train_id), category, int(category_id), *flags, (red, green, blue))


class Cityscapes(Published):
    """5,000 pictures of streets with fine labels, and 20,000 with coarse ones.

    Samples are (PIL picture of mode "RGB", target). The files are in ``root/leftImg8bit/<split>/<city>`` and
    ``root/gtFine`` or ``root/gtCoarse``; the archives, which one may fetch after registering at
    https://www.cityscapes-dataset.com, are unpacked if they lie in ``root``.

    Parameters
    ----------
    root : path
    split : {"train", "test", "val"}, for ``mode="coarse"`` {"train", "train_extra", "val"}
    mode : {"fine", "coarse"}
    target_type : {"instance", "semantic", "color", "polygon"} or list of them
        PIL pictures of numbers of instances, of classes, of colours; or a dict of polygons. Of a list a tuple.
    transform, target_transform, transforms : callable, optional
        Applied to the picture, to the target, or to both.

    References
    ----------
    M. Cordts et al.: The Cityscapes dataset for semantic urban scene understanding. CVPR 2016.
    """

    CityscapesClass = CityscapesClass
    classes: ClassVar[Any] = [_class(line) for line in _CLASSES.split("\n") if line]
    _endings: ClassVar[dict[str, str]] = {
        "instance": "instanceIds.png",
        "semantic": "labelIds.png",
        "polygon": "polygons.json",
        "color": "color.png",
    }
    _remedy = "put the archives or their content there, from https://www.cityscapes-dataset.com"

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        mode: str = "fine",
        target_type: list[str] | str = "instance",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        verify_str_arg(mode, "mode", ("fine", "coarse"))
        splits = ("train", "test", "val") if mode == "fine" else ("train", "train_extra", "val")
        message = f"split must be one of {iterable_to_str(splits)} where mode is {mode!r}; got {split!r}"
        self.split = verify_str_arg(split, "split", splits, message)
        self.target_type = [verify_str_arg(each, "target_type", self._endings) for each in as_list(target_type)]
        self.mode = "gtFine" if mode == "fine" else "gtCoarse"
        self.images_dir = str(Path(self.root) / "leftImg8bit" / split)
        self.targets_dir = str(Path(self.root) / self.mode / split)
        self._obtain(self.images_dir, self.targets_dir, download=self._archives_are_there())
        self.images: list[str] = []
        self.targets: list[list[str]] = []
        for picture in sorted(Path(self.images_dir).glob("*/*")):
            stem = Path(self.targets_dir, picture.parent.name, picture.name.partition("_leftImg8bit")[0])
            self.images.append(str(picture))
            self.targets.append([f"{stem}_{self.mode}_{self._endings[each]}" for each in self.target_type])

    def _archive_paths(self) -> list[Path]:
        pictures = "trainextra" if self.split == "train_extra" else "trainvaltest"
        targets = "gtFine_trainvaltest.zip" if self.mode == "gtFine" else "gtCoarse.zip"
        return [Path(self.root) / f"leftImg8bit_{pictures}.zip", Path(self.root) / targets]

    def _archives_are_there(self) -> bool:
        return all(path.is_file() for path in self._archive_paths())

    def download(self) -> None:
        """Unpack the archives that lie in ``root``: they are given out after registration only."""
        for path in self._archive_paths():
            extract_archive(path, self.root)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, target)."""
        picture = open_picture(self.images[index], "RGB")
        return self._apply_jointly(picture, one_or_all([_target(path) for path in self.targets[index]]))

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.images)

    def extra_repr(self) -> str:
        """Return the lines that name part, mode and targets."""
        return f"Split: {self.split}\nMode: {self.mode}\nType: {self.target_type}"


def _target(path: str) -> Any:
    if not path.endswith(".json"):
        return open_picture(path)
    with open(path, encoding="utf-8") as file:
        return json.load(file)
