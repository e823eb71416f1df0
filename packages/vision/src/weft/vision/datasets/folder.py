"""Pictures in folders: the name of a picture's folder is its class."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image

from weft.vision.datasets.utils import StrPath
from weft.vision.datasets.vision import Transform, VisionDataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Return whether the name ends in one of ``extensions``, in small letters or capitals."""
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename: str) -> bool:
    """Return whether the name ends as a picture's does."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: StrPath) -> tuple[list[str], dict[str, int]]:
    """Return the sorted names of the folders in ``directory``, and the number of each.

    Raises
    ------
    FileNotFoundError
        If there is no folder.
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(
            f"find_classes: {directory} has no folders; expected one for each class, with its pictures inside"
        )
    return classes, {name: index for index, name in enumerate(classes)}


def make_dataset(
    directory: StrPath,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """Return (path, class) of all files in the folders of the classes, and in folders within them.

    Parameters
    ----------
    directory : path
    class_to_idx : dict, optional
        The number of each class; by default that of `find_classes`.
    extensions : str or tuple of str
        Endings of the files to take; or:
    is_valid_file : callable
        Says of a path whether to take it.
    allow_empty : bool, default False
        Accept a class without files.

    Raises
    ------
    ValueError
        If not exactly one of ``extensions`` and ``is_valid_file`` is given, or there are no classes.
    FileNotFoundError
        If a class has no files.
    """
    if class_to_idx is None:
        class_to_idx = find_classes(directory)[1]
    if not class_to_idx:
        raise ValueError("make_dataset: class_to_idx must have at least one class")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("make_dataset: pass either extensions or is_valid_file, and not both")
    if extensions is not None:
        endings = extensions

        def is_valid_file(path: str) -> bool:
            return has_file_allowed_extension(path, endings)

    assert is_valid_file is not None
    samples, empty = [], []
    for name in sorted(class_to_idx):
        found = [path for path in _files(os.path.join(os.path.expanduser(directory), name)) if is_valid_file(path)]
        samples += [(path, class_to_idx[name]) for path in found]
        if not found:
            empty.append(name)
    if empty and not allow_empty:
        endings_note = f"; expected files that end in {extensions}" if extensions is not None else ""
        raise FileNotFoundError(f"make_dataset: no files in {directory} for {', '.join(empty)}{endings_note}")
    return samples


def pil_loader(path: StrPath) -> Image.Image:
    """Return the picture in a file, in the mode "RGB"."""
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


default_loader = pil_loader


class DatasetFolder(VisionDataset):
    """Files in folders, one folder for each class: ``root/cat/x.ext``, ``root/dog/y/z.ext``.

    Samples are (what the loader made of the file, class).

    Parameters
    ----------
    root : path
    loader : callable
        Called with the path of a file.
    extensions : tuple of str, optional
        Endings of the files to take; or ``is_valid_file``, not both.
    transform, target_transform : callable, optional
        Applied to the loaded file and to the class.
    is_valid_file : callable, optional
        Says of a path whether to take it.
    allow_empty : bool, default False
        Accept a class without files.

    Attributes
    ----------
    classes : list of str, sorted
    class_to_idx : dict
    samples : list of (path, class)
    targets : list of int
    """

    def __init__(
        self,
        root: StrPath,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        assert self.root is not None
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.loader = loader
        self.extensions = extensions
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [target for _, target in self.samples]

    def find_classes(self, directory: StrPath) -> tuple[list[str], dict[str, int]]:
        """Return classes and their numbers; a subclass may find them otherwise."""
        return find_classes(directory)

    @staticmethod
    def make_dataset(
        directory: StrPath,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """Return the list of (path, class); a subclass may find them otherwise."""
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (what the loader made of the file, class)."""
        path, target = self.samples[index]
        return self._apply(self.loader(path), target)

    def __len__(self) -> int:
        """Return the number of files."""
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Pictures in folders, one folder for each class: ``root/cat/1.png``, ``root/dog/2.jpg``.

    Samples are (PIL picture of mode "RGB", class). Parameters and attributes as of `DatasetFolder`.
    """

    def __init__(
        self,
        root: StrPath,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs: Sequence[tuple[str, int]] = self.samples


def _files(directory: str) -> list[str]:
    """Return all files below a folder, in the order of their folders' names and then of their own."""
    return [
        os.path.join(folder, name)
        for folder, _, names in sorted(os.walk(directory, followlinks=True))
        for name in sorted(names)
    ]
