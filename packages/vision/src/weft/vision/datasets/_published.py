"""What data sets that are published as files have in common: they are looked for, and fetched if they are missing.

Files are checked by their MD5 sums when they are fetched, not each time that they are read: that would take minutes
for the large ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from PIL import Image

from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, download_and_extract_archive
from weft.vision.datasets.vision import Transform, VisionDataset

Loader = Callable[[Any], Any]


class Archive(NamedTuple):
    """An archive by its address, its MD5 sum, and its name where that is not the last part of the address."""

    url: str
    md5: str | None = None
    filename: str | None = None

    def unpack_into(self, folder: StrPath) -> None:
        """Fetch the archive into a folder, unless it is there, and unpack it there."""
        download_and_extract_archive(self.url, folder, filename=self.filename, md5=self.md5)


class Published(VisionDataset):
    """A data set in files that somebody publishes.

    A subclass names its ``_archives`` and `_archives_folder`, or has a `download` of its own, and calls `_obtain` with
    the paths that it reads.
    """

    _archives: ClassVar[Sequence[Archive]] = ()
    _remedy: ClassVar[str] = "put the published files there, or pass download=True"

    @property
    def _archives_folder(self) -> Path:
        """The folder that archives are fetched to and unpacked in."""
        return Path(self.root)

    def download(self) -> None:
        """Fetch the archives, check them by their MD5 sums, and unpack them."""
        for archive in self._archives:
            archive.unpack_into(self._archives_folder)

    def _obtain(self, *paths: StrPath, download: bool = False) -> None:
        """Fetch the data set if that is wanted and one of the paths is missing; raise if one still is."""
        if download and not all(map(os.path.exists, paths)):
            self.download()
        missing = [os.fspath(path) for path in paths if not os.path.exists(path)]
        if missing:
            raise RuntimeError(f"{type(self).__name__}: there is no {missing[0]}; {self._remedy}")


class ImageList(Published):
    """Pictures in files, with a target each: subclasses fill ``_image_files`` and ``_labels``.

    Samples are (what ``loader`` makes of the file, target).
    """

    def __init__(
        self,
        root: StrPath,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._image_files: list[Any] = []
        self._labels: list[Any] = []

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, target)."""
        return self._apply(self.loader(self._image_files[index]), self._labels[index])

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self._image_files)

    def _name_classes(self, classes: Sequence[Any]) -> None:
        """Set ``classes`` and ``class_to_idx``."""
        self.classes = list(classes)
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def _take(self, samples: Sequence[tuple[Any, Any]]) -> None:
        """Set the pictures and their targets from pairs."""
        self._image_files = [path for path, _ in samples]
        self._labels = [label for _, label in samples]


class ArrayImages(Published):
    """Pictures in an array ``data`` of shape (N, H, W) or (N, H, W, C), their classes in ``targets``.

    Samples are (PIL picture, int).
    """

    data: Any
    targets: Any

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class)."""
        return self._apply(Image.fromarray(self.data[index]), int(self.targets[index]))

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self.data)


def open_picture(path: StrPath, mode: str | None = None) -> Image.Image:
    """Return the picture in a file, in its own mode or another; the file is read and closed at once."""
    with Image.open(path) as picture:
        picture.load()
        return picture if mode is None else picture.convert(mode)


def lines_of(path: StrPath) -> list[str]:
    """Return the lines of a text file without the white space around them."""
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file]


def load_mat(path: StrPath, **options: Any) -> Any:
    """Return the variables of a MATLAB file, read by SciPy.

    Raises
    ------
    RuntimeError
        If SciPy is not installed.
    """
    try:
        from scipy.io import loadmat
    except ModuleNotFoundError as error:
        raise RuntimeError(f"SciPy reads {path}, and is not installed: pip install scipy") from error
    return loadmat(path, **options)


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, and what is none as a list of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def one_or_all(targets: Sequence[Any]) -> Any:
    """Return the only target of a sample, or the tuple of several."""
    return targets[0] if len(targets) == 1 else tuple(targets)
