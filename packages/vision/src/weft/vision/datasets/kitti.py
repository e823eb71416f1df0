"""KITTI: objects on streets, seen from a car."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weft.vision.datasets._published import Archive, Published, lines_of, open_picture
from weft.vision.datasets.utils import StrPath
from weft.vision.datasets.vision import Transform

_ADDRESS = "https://s3.eu-central-1.amazonaws.com/avg-kitti/"


class Kitti(Published):
    """7,481 pictures with boxes to train with, and 7,518 without to test.

    Samples are (PIL picture, list of dict), the list None in the test part. A dict has what the file has of an object:
    ``type``, ``truncated``, ``occluded``, ``alpha``, ``bbox`` (left, top, right, bottom), ``dimensions`` (height,
    width, length in metres), ``location`` (x, y, z) and ``rotation_y``. The files are in
    ``root/Kitti/raw/training`` and ``testing``: ``image_2`` and ``label_2``.

    Parameters
    ----------
    root : path
    train : bool, default True
        The training part or the test part.
    transform, target_transform, transforms : callable, optional
        Applied to the picture, to the target, or to both.
    download : bool, default False
        Fetch the files (12 GB) if they are missing.

    References
    ----------
    A. Geiger, P. Lenz, R. Urtasun: Are we ready for autonomous driving? CVPR 2012.
    """

    _archives = (Archive(_ADDRESS + "data_object_image_2.zip"), Archive(_ADDRESS + "data_object_label_2.zip"))

    def __init__(
        self,
        root: StrPath,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        transforms: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.train = train
        folder = self._archives_folder / ("training" if train else "testing")
        pictures, labels = folder / "image_2", folder / "label_2"
        self._obtain(pictures, *([labels] if train else []), download=download)
        self.images = [str(path) for path in sorted(pictures.iterdir())]
        self.targets = [str(labels / f"{Path(path).stem}.txt") for path in self.images] if train else []

    @property
    def _archives_folder(self) -> Path:
        return Path(self.root) / type(self).__name__ / "raw"

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, objects)."""
        objects = [_object(line) for line in lines_of(self.targets[index]) if line] if self.train else None
        return self._apply_jointly(open_picture(self.images[index]), objects)

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.images)


def _object(line: str) -> dict[str, Any]:
    kind, *numbers = line.split()
    values = [float(number) for number in numbers]
    return {
        "type": kind,
        "truncated": values[0],
        "occluded": int(numbers[1]),
        "alpha": values[2],
        "bbox": values[3:7],
        "dimensions": values[7:10],
        "location": values[10:13],
        "rotation_y": values[13],
    }
