"""Caltech 101 and Caltech 256: objects in pictures from the web."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from weft.vision.datasets._published import Archive, Published, as_list, load_mat, one_or_all, open_picture
from weft.vision.datasets.utils import StrPath, extract_archive, list_dir, verify_str_arg
from weft.vision.datasets.vision import Transform


class _Caltech(Published):
    """Pictures by category; the ``index``-th of category ``y``."""

    _folder: str

    def __init__(
        self, root: StrPath, transform: Transform | None, target_transform: Transform | None, download: bool
    ) -> None:
        root = str(Path(root).expanduser() / type(self).__name__.lower())
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._pictures = Path(self.root) / self._folder
        self._obtain(self._pictures, download=download)
        self.categories = [name for name in list_dir(self._pictures) if name != "BACKGROUND_Google"]
        self.index: list[int] = []
        self.y: list[int] = []
        for label, category in enumerate(self.categories):
            count = len(list((self._pictures / category).glob("*.jpg")))
            self.index += range(1, count + 1)
            self.y += [label] * count

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self.index)


class Caltech101(_Caltech):
    """9,146 pictures of objects in 101 categories, with their outlines.

    Samples are (PIL picture, target). The files are in ``root/caltech101``: ``101_ObjectCategories/<category>`` and
    ``Annotations/<category>``.

    Parameters
    ----------
    root : path
    target_type : {"category", "annotation"} or list of them
        The number of the category, or the outline: an array of shape (2, N), read by SciPy. Of a list the target is
        a tuple.
    transform, target_transform : callable, optional
        Applied to the picture and to the target.
    download : bool, default False
        Fetch the files if they are missing.

    References
    ----------
    L. Fei-Fei, R. Fergus, P. Perona: One-shot learning of object categories. IEEE PAMI 28(4), 2006.
    """

    _folder = "101_ObjectCategories"
    _archives = (
        Archive(
            "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip", "3138e1922a9193bfa496528edbbc45d0"
        ),
    )

    def __init__(
        self,
        root: StrPath,
        target_type: list[str] | str = "category",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        self.target_type = [
            verify_str_arg(each, "target_type", ("category", "annotation")) for each in as_list(target_type)
        ]
        super().__init__(root, transform, target_transform, download)
        renamed = {
            "Faces": "Faces_2",
            "Faces_easy": "Faces_3",
            "Motorbikes": "Motorbikes_16",
            "airplanes": "Airplanes_Side_2",
        }
        self.annotation_categories = [renamed.get(name, name) for name in self.categories]

    def download(self) -> None:
        """Fetch the archive and unpack it, and the archives in it."""
        super().download()
        inner = Path(self.root) / "caltech-101"
        for archive in inner.glob("*.gz"):
            extract_archive(archive, self.root)
        shutil.rmtree(inner)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, target)."""
        label, number = self.y[index], self.index[index]
        picture = open_picture(self._pictures / self.categories[label] / f"image_{number:04d}.jpg")
        target = [label if each == "category" else self._outline(label, number) for each in self.target_type]
        return self._apply(picture, one_or_all(target))

    def _outline(self, label: int, number: int) -> Any:
        folder = Path(self.root) / "Annotations" / self.annotation_categories[label]
        return load_mat(folder / f"annotation_{number:04d}.mat")["obj_contour"]

    def extra_repr(self) -> str:
        """Return the line that names the targets."""
        return f"Target type: {self.target_type}"


class Caltech256(_Caltech):
    """30,607 pictures of objects in 257 categories.

    Samples are (PIL picture, category). The files are in ``root/caltech256/256_ObjectCategories``; parameters as of
    `Caltech101`.

    References
    ----------
    G. Griffin, A. Holub, P. Perona: Caltech-256 object category dataset. 2007.
    """

    _folder = "256_ObjectCategories"
    _archives = (
        Archive(
            "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
            "67b4f42ca05d46448c6bb8ecd2220f6d",
        ),
    )

    def __init__(
        self,
        root: StrPath,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform, download)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, category)."""
        label = self.y[index]
        picture = open_picture(self._pictures / self.categories[label] / f"{label + 1:03d}_{self.index[index]:04d}.jpg")
        return self._apply(picture, label)
