"""LFW: labelled faces in the wild, by person or in pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from weft.vision.datasets._published import Loader, Published, lines_of
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class _LFW(Published):
    """13,233 faces in ``root/lfw-py/<folder of the alignment>/<person>``, and lists of them in ``root/lfw-py``."""

    _folders: ClassVar[dict[str, str]] = {
        "original": "lfw",
        "funneled": "lfw_funneled",
        "deepfunneled": "lfw-deepfunneled",
    }
    _endings: ClassVar[dict[str, str]] = {"10fold": "", "train": "DevTrain", "test": "DevTest"}
    _lists: ClassVar[tuple[str, ...]] = ()
    _remedy = (
        "its publishers offer it no longer: fetch it by another way, such as from "
        "https://www.kaggle.com/datasets/jessicali9530/lfw-dataset, and put it there"
    )

    def __init__(
        self,
        root: StrPath,
        split: str,
        image_set: str,
        view: str,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        root = str(Path(root).expanduser() / "lfw-py")
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.image_set = verify_str_arg(image_set.lower(), "image_set", self._folders)
        self.view = verify_str_arg(view.lower(), "view", ("people", "pairs"))
        self.split = verify_str_arg(split.lower(), "split", self._endings)
        self.labels_file = f"{self.view}{self._endings[self.split]}.txt"
        self.images_dir = str(Path(self.root) / self._folders[self.image_set])
        self.data: list[Any] = []
        self.targets: list[int] = []
        lists = [Path(self.root) / name for name in (self.labels_file, *self._lists)]
        self._obtain(self.images_dir, *lists, download=download)
        self._loader = loader

    def download(self) -> None:
        """Raise: the data set is offered no longer."""
        raise ValueError(f"{type(self).__name__}: {self._remedy} ({self.root})")

    def _rows(self) -> list[list[str]]:
        """Return the lines of the list of people or pairs, in their columns."""
        return [line.split("\t") for line in lines_of(Path(self.root) / self.labels_file) if line]

    def _path(self, identity: str, number: int | str) -> str:
        return str(Path(self.images_dir) / identity / f"{identity}_{int(number):04d}.jpg")

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.data)

    def extra_repr(self) -> str:
        """Return the lines that name alignment and part."""
        return f"Alignment: {self.image_set}\nSplit: {self.split}"


class LFWPeople(_LFW):
    """Labelled Faces in the Wild: 13,233 pictures of 5,749 people.

    Samples are (picture, person). The files are in ``root/lfw-py``: ``lfw_funneled/<person>``, ``people.txt`` and
    ``lfw-names.txt``.

    Parameters
    ----------
    root : path
    split : {"10fold", "train", "test"}
    image_set : {"original", "funneled", "deepfunneled"}
        How the faces are aligned.
    transform, target_transform : callable, optional
        Applied to the picture and to the person.
    download : bool, default False
        Raises ValueError if the files are missing: they are offered no longer.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    G. Huang et al.: Labeled faces in the wild. University of Massachusetts, report 07-49, 2007.
    """

    _lists = ("lfw-names.txt",)

    def __init__(
        self,
        root: StrPath,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, split, image_set, "people", transform, target_transform, download, loader)
        names = [line.split()[0] for line in lines_of(Path(self.root) / "lfw-names.txt") if line]
        self.class_to_idx = {name: index for index, name in enumerate(names)}
        for row in self._rows():
            if len(row) == 2:  # what has one column only is a number of rows
                identity, count = row[0], int(row[1])
                self.data += [self._path(identity, number) for number in range(1, count + 1)]
                self.targets += [self.class_to_idx[identity]] * count

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, person)."""
        return self._apply(self._loader(self.data[index]), self.targets[index])

    def extra_repr(self) -> str:
        """Return the lines that name alignment, part and the number of people."""
        return f"{super().extra_repr()}\nClasses (identities): {len(self.class_to_idx)}"


class LFWPairs(_LFW):
    """Labelled Faces in the Wild in pairs: of one person or of two.

    Samples are (picture, picture, 1 or 0). The files are in ``root/lfw-py``: ``lfw_funneled/<person>`` and
    ``pairs.txt``; parameters as of `LFWPeople`.
    """

    def __init__(
        self,
        root: StrPath,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, split, image_set, "pairs", transform, target_transform, download, loader)
        self.pair_names: list[tuple[str, str]] = []
        for row in self._rows()[1:]:
            first, second = (row[0], row[1]), (row[-2] if len(row) == 4 else row[0], row[-1])
            self.pair_names.append((first[0], second[0]))
            self.data.append((self._path(*first), self._path(*second)))
            self.targets.append(int(len(row) == 3))  # person, number, number

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        """Return (picture, picture, whether they are of one person)."""
        first, second = map(self._loader, self.data[index])
        if self.transform is not None:
            first, second = self.transform(first), self.transform(second)
        target = self.targets[index]
        return first, second, target if self.target_transform is None else self.target_transform(target)
