"""FER2013: facial expressions."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from weft.vision.datasets._published import Published
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class FER2013(Published):
    """35,887 grey pictures of faces, 48 x 48 pixels, in seven classes of expression.

    Samples are (PIL picture of mode "L", class), the class None in the test part of ``test.csv``. The files are those
    of Kaggle in ``root/fer2013``: ``fer2013.csv`` or ``icml_face_data.csv``, which have all, or ``train.csv`` and
    ``test.csv``.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    transform, target_transform : callable, optional
        Applied to the picture and to the class.

    References
    ----------
    I. Goodfellow et al.: Challenges in representation learning. arXiv:1307.0414.
    """

    _remedy = "fetch it from https://www.kaggle.com/c/challenges-in-representation-learning-facial-expression-recognition-challenge"

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        folder = Path(self.root) / "fer2013"
        whole = next((path for path in (folder / "fer2013.csv", folder / "icml_face_data.csv") if path.exists()), None)
        path = whole or folder / f"{split}.csv"
        self._obtain(path)
        wanted = ("Training",) if split == "train" else ("PublicTest", "PrivateTest")
        self._samples = [
            (_face(row["pixels"]), int(row["emotion"]) if "emotion" in row else None)
            for row in _rows(path)
            if whole is None or row["Usage"] in wanted
        ]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class)."""
        pixels, label = self._samples[index]
        return self._apply(Image.fromarray(pixels), label)

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self._samples)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"split={self._split}"


def _rows(path: Path) -> Iterator[dict[str, str]]:
    """Return the rows of a file; some name a column with a space before it."""
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield {name.strip(): value for name, value in row.items()}


def _face(pixels: str) -> np.ndarray[Any, Any]:
    return np.array(pixels.split(), dtype=np.uint8).reshape(48, 48)
