"""SEMEION: handwritten digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from weft.vision.datasets._published import ArrayImages
from weft.vision.datasets.utils import StrPath, download_url
from weft.vision.datasets.vision import Transform


class SEMEION(ArrayImages):
    """1,593 digits by 80 people, 16 x 16 pixels that are black or white.

    Samples are (PIL picture of mode "L", class). The file is ``root/semeion.data``.

    Parameters
    ----------
    root : path
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default True
        Fetch the file if it is missing.

    Attributes
    ----------
    data : ndarray, uint8, shape (N, 16, 16)
    labels : ndarray, int64, shape (N,)

    References
    ----------
    UCI Machine Learning Repository: Semeion handwritten digit. 1994.
    """

    def __init__(
        self,
        root: StrPath,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        path = Path(self.root) / "semeion.data"
        self._obtain(path, download=download)
        table = np.loadtxt(path, ndmin=2)  # 256 pixels, then ten columns of which one is 1
        self.data = (table[:, :256] * 255).astype(np.uint8).reshape(-1, 16, 16)
        self.labels: Any = np.nonzero(table[:, 256:])[1]
        self.targets = self.labels

    def download(self) -> None:
        """Fetch the file, and check it by its MD5 sum."""
        address = "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data"
        download_url(address, self.root, md5="cb545d371d2ce14ec121470795a77432")
