"""STL-10: few labelled pictures and many without a label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from weft.vision.datasets._published import Archive, Published, lines_of
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class STL10(Published):
    """13,000 pictures of 96 x 96 pixels in ten classes, and 100,000 without a class.

    Samples are (PIL picture of mode "RGB", class), the class -1 where there is none. The files are in
    ``root/stl10_binary``: ``train_X.bin``, ``train_y.bin`` and so on.

    Parameters
    ----------
    root : path
    split : {"train", "test", "unlabeled", "train+unlabeled"}
    folds : int, optional
        One of the ten published choices of 1,000 pictures of the training part, 0 to 9.
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the files (2.6 GB) if they are missing.

    Attributes
    ----------
    data : ndarray, uint8, shape (N, 3, 96, 96)
    labels : ndarray, int, shape (N,)
    classes : list of str
        If ``class_names.txt`` is there.

    References
    ----------
    A. Coates, H. Lee, A. Ng: An analysis of single-layer networks in unsupervised feature learning. AISTATS 2011.
    """

    _archives = (
        Archive("http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz", "91f7769df0f17e558f3565bffb0c7dfb"),
    )
    splits = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        folds: int | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self.splits)
        if folds is not None and folds not in range(10):
            raise ValueError(f"STL10: folds must be None or an int from 0 to 9; got {folds!r}")
        self.folds = folds
        self._folder = Path(self.root) / "stl10_binary"
        parts = split.split("+")
        needed = [f"{part}_{what}.bin" for part in parts for what in ("X" if part == "unlabeled" else "Xy")]
        self._obtain(*(self._folder / name for name in needed), download=download)
        pairs = [self._read(part) for part in parts]
        self.data: Any = np.concatenate([pictures for pictures, _ in pairs])
        self.labels: Any = np.concatenate([labels for _, labels in pairs])
        if (self._folder / "class_names.txt").is_file():
            self.classes = lines_of(self._folder / "class_names.txt")

    def _read(self, part: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the pictures of a part, which the file has by columns, and their classes from 0 on."""
        pixels = np.fromfile(self._folder / f"{part}_X.bin", dtype=np.uint8)
        pictures = pixels.reshape(-1, 3, 96, 96).swapaxes(2, 3)
        if part == "unlabeled":
            return pictures, np.full(len(pictures), -1)
        labels = np.fromfile(self._folder / f"{part}_y.bin", dtype=np.uint8) - np.uint8(1)
        if part != "train" or self.folds is None:
            return pictures, labels
        chosen = np.array(lines_of(self._folder / "fold_indices.txt")[self.folds].split(), dtype=np.int64)
        return pictures[chosen], labels[chosen]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class)."""
        return self._apply(Image.fromarray(self.data[index].transpose(1, 2, 0)), int(self.labels[index]))

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.data)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"Split: {self.split}"
