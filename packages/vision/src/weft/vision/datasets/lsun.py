"""LSUN: scenes, in LMDB files."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import Any

from PIL import Image

from weft.vision.datasets._lmdb import Database
from weft.vision.datasets._published import Published
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform

CATEGORIES = (
    *("bedroom", "bridge", "church_outdoor", "classroom", "conference_room"),
    *("dining_room", "kitchen", "living_room", "restaurant", "tower"),
)


class LSUNClass(Published):
    """One category of LSUN: the folder of an LMDB file, ``root/data.mdb``.

    Samples are (PIL picture of mode "RGB", None).

    Parameters
    ----------
    root : path
    transform, target_transform : callable, optional
        Applied to the picture and to None.
    """

    _remedy = "fetch it by the script of https://github.com/fyu/lsun and unpack it there"

    def __init__(
        self, root: StrPath, transform: Transform | None = None, target_transform: Transform | None = None
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        path = os.path.join(self.root, "data.mdb")
        self._obtain(path)
        self._database = Database(path)
        self.keys = list(self._database)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, None)."""
        return self._apply(Image.open(io.BytesIO(self._database[self.keys[index]])).convert("RGB"), None)

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self.keys)


class LSUN(Published):
    """Pictures of ten kinds of scenes, such as "bedroom".

    Samples are (PIL picture of mode "RGB", number of the category among ``classes``). The files are in
    ``root/<category>_<part>_lmdb``.

    Parameters
    ----------
    root : path
    classes : {"train", "val", "test"} or list of str
        All categories of a part, or some: ``["bedroom_train", "church_outdoor_train"]``.
    transform, target_transform : callable, optional
        Applied to the picture and to the category.

    References
    ----------
    F. Yu et al.: LSUN: construction of a large-scale image dataset using deep learning with humans in the loop.
    arXiv:1506.03365.
    """

    def __init__(
        self,
        root: StrPath,
        classes: str | list[str] = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes = _classes(classes)
        self.dbs = [LSUNClass(os.path.join(self.root, f"{name}_lmdb"), transform) for name in self.classes]
        self._samples = [(number, row) for number, db in enumerate(self.dbs) for row in range(len(db))]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, category)."""
        target, row = self._samples[index]
        picture, _ = self.dbs[target][row]
        return picture, target if self.target_transform is None else self.target_transform(target)

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self._samples)

    def extra_repr(self) -> str:
        """Return the line that names the categories."""
        return f"Classes: {self.classes}"


def _classes(classes: str | Iterable[str]) -> list[str]:
    """Return the names of categories and parts that are asked for, each known."""
    parts = ("train", "val", "test")
    if classes == "test":
        return ["test"]
    if isinstance(classes, str) and classes in parts:
        return [f"{category}_{classes}" for category in CATEGORIES]
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise ValueError(f"classes must be 'train', 'val', 'test' or a list of categories; got {classes!r}")
    for name in (names := list(classes)):
        category, _, part = verify_str_arg(name, "classes").rpartition("_")
        verify_str_arg(category, "the category in classes", CATEGORIES)
        verify_str_arg(part, "the part in classes", parts)
    return names
