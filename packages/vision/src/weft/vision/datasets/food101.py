"""Food-101: dishes."""

from __future__ import annotations

import json
from pathlib import Path

from weft.vision.datasets._published import Archive, ImageList, Loader
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class Food101(ImageList):
    """101,000 pictures of dishes in 101 classes.

    Samples are (picture, class). The files are in ``root/food-101``: ``images/<class>`` and ``meta``.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
        750 pictures of each class, whose labels are not all right, or 250, whose labels were checked.
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the files if they are missing.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    L. Bossard, M. Guillaumin, L. Van Gool: Food-101, mining discriminative components with random forests. ECCV 2014.
    """

    _archives = (Archive("http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz", "85eeb15f3717b99a5da872d97d918f87"),)

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        folder = Path(self.root) / "food-101"
        self._obtain(folder / "meta", folder / "images", download=download)
        with open(folder / "meta" / f"{split}.json", encoding="utf-8") as file:
            names: dict[str, list[str]] = json.load(file)
        self._name_classes(sorted(names))
        self._take(
            [(folder / "images" / f"{name}.jpg", self.class_to_idx[label]) for label in names for name in names[label]]
        )

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"split={self._split}"
