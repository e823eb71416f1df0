"""Imagenette: ten easy classes of ImageNet."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from weft.vision.datasets._published import Archive, ImageList, Loader
from weft.vision.datasets.folder import default_loader, find_classes, make_dataset
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class Imagenette(ImageList):
    """13,394 pictures in ten classes that are easily told apart.

    Samples are (picture, class). The files are in ``root/imagenette2/<split>/<wnid>``, or ``imagenette2-320`` and
    ``imagenette2-160``.

    Parameters
    ----------
    root : path
    split : {"train", "val"}
    size : {"full", "320px", "160px"}
        The length of the shorter side.
    download : bool, default False
        Fetch the files if they are missing.
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    https://github.com/fastai/imagenette
    """

    _address = "https://s3.amazonaws.com/fast-ai-imageclas/"
    _sizes: ClassVar[dict[str, Archive]] = {
        "full": Archive(_address + "imagenette2.tgz", "fe2fc210e6bb7c5664d602c3cd71e612"),
        "320px": Archive(_address + "imagenette2-320.tgz", "3df6f0d01a2c9592104656642f5e78a3"),
        "160px": Archive(_address + "imagenette2-160.tgz", "e793b78cc4c9e9a4ccc0c1155377a412"),
    }
    _names: ClassVar[dict[str, tuple[str, ...]]] = {
        "n01440764": ("tench", "Tinca tinca"),
        "n02102040": ("English springer", "English springer spaniel"),
        "n02979186": ("cassette player",),
        "n03000684": ("chain saw", "chainsaw"),
        "n03028079": ("church", "church building"),
        "n03394916": ("French horn", "horn"),
        "n03417042": ("garbage truck", "dustcart"),
        "n03425413": ("gas pump", "gasoline pump", "petrol pump", "island dispenser"),
        "n03445777": ("golf ball",),
        "n03888257": ("parachute", "chute"),
    }

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        size: str = "full",
        download: bool = False,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "val"))
        self._size = verify_str_arg(size, "size", self._sizes)
        folder = Path(self.root) / Path(self._sizes[size].url).stem
        self._obtain(folder, download=download)
        self.wnids, self.wnid_to_idx = find_classes(folder / split)
        self.classes = [self._names[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: index for index, names in enumerate(self.classes) for name in names}
        self._take(make_dataset(str(folder / split), self.wnid_to_idx, extensions=".jpeg"))

    def download(self) -> None:
        """Fetch the archive of this size, check it by its MD5 sum, and unpack it."""
        self._sizes[self._size].unpack_into(self._archives_folder)
