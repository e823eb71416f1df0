"""Places365: scenes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

from weft.vision.datasets._published import Archive, Loader, Published, lines_of
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform

_ADDRESS = "http://data.csail.mit.edu/places/places365/"


class Places365(Published):
    """1.8 million pictures of 365 kinds of places (8 million of the challenge).

    Samples are (picture, class), the class None in the test part. The files are in ``root``: lists, such as
    ``places365_val.txt``, and folders of pictures, such as ``val_large`` or ``data_256_standard``.

    Parameters
    ----------
    root : path
    split : {"train-standard", "train-challenge", "val", "test"}
    small : bool, default False
        Pictures of 256 x 256 pixels in place of the large ones.
    download : bool, default False
        Fetch the files if they are missing.
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    B. Zhou et al.: Places: a 10 million image database for scene recognition. IEEE PAMI 40(6), 2018.
    """

    _lists: ClassVar[dict[str, Archive]] = {
        "standard": Archive(_ADDRESS + "filelist_places365-standard.tar", "35a0585fee1fa656440f3ab298f8479c"),
        "challenge": Archive(_ADDRESS + "filelist_places365-challenge.tar", "70a8307e459c3de41690a7c76c931734"),
    }
    _pictures: ClassVar[dict[tuple[str, bool], Archive]] = {
        (split, small): Archive(_ADDRESS + name, md5)
        for split, small, name, md5 in (
            ("train-standard", False, "train_large_places365standard.tar", "67e186b496a84c929568076ed01a8aa1"),
            ("train-challenge", False, "train_large_places365challenge.tar", "605f18e68e510c82b958664ea134545f"),
            ("val", False, "val_large.tar", "9b71c4993ad89d2d8bcbdc4aef38042f"),
            ("test", False, "test_large.tar", "41a4b6b724b1d2cd862fb3871ed59913"),
            ("train-standard", True, "train_256_places365standard.tar", "53ca1c756c3d1e7809517cc47c5561c5"),
            ("train-challenge", True, "train_256_places365challenge.tar", "741915038a5e3471ec7332404dfb64ef"),
            ("val", True, "val_256.tar", "e27b17d8d44f4af9a78502beb927f808"),
            ("test", True, "test_256.tar", "f532f6ad7b582262a2ec8009075e186b"),
        )
    }

    def __init__(
        self,
        root: StrPath,
        split: str = "train-standard",
        small: bool = False,
        download: bool = False,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        splits = ("train-standard", "train-challenge", "val", "test")
        self.split = verify_str_arg(split, "split", splits)
        self.small = small
        self.loader = loader
        categories = Path(self.root) / "categories_places365.txt"
        pictures = Path(self.root) / f"places365_{split.replace('-', '_')}.txt"
        folder = [self.images_dir] if download else []  # lists alone are enough to look at the data set
        self._obtain(categories, pictures, *folder, download=download)
        pairs = [line.split() for line in lines_of(categories)]
        self.class_to_idx = {name: int(number) for name, number in pairs}
        self.classes = sorted(self.class_to_idx)
        self.imgs = [self._picture(line) for line in lines_of(pictures)]
        self.targets = [target for _, target in self.imgs]

    def _picture(self, line: str) -> tuple[str, int | None]:
        """Return (path, class) of a line of the list; in the test part it has no class."""
        name, *target = line.split()
        return os.path.join(self.images_dir, *name.lstrip("/").split("/")), int(target[0]) if target else None

    @property
    def variant(self) -> str:
        """Which of the two collections: "standard" or "challenge"."""
        return "challenge" if "challenge" in self.split else "standard"

    @property
    def images_dir(self) -> str:
        """The folder of this part's pictures."""
        size = "256" if self.small else "large"
        name = f"data_{size}_{self.variant}" if self.split.startswith("train") else f"{self.split}_{size}"
        return os.path.join(self.root, name)

    def download(self) -> None:
        """Fetch the lists and the pictures, check the archives by their MD5 sums, and unpack them."""
        self._lists[self.variant].unpack_into(self.root)
        if os.path.exists(self.images_dir):
            return
        self._pictures[self.split, self.small].unpack_into(self.root)
        if self.split.startswith("train"):  # the archives of both collections have one name for their folder
            os.rename(self.images_dir.rpartition("_")[0], self.images_dir)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class)."""
        path, target = self.imgs[index]
        return self._apply_jointly(self.loader(path), target)

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.imgs)

    def extra_repr(self) -> str:
        """Return the lines that name part and size."""
        return f"Split: {self.split}\nSmall: {self.small}"
