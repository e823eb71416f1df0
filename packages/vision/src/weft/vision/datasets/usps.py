"""USPS: digits of addresses on envelopes."""

from __future__ import annotations

import bz2
from pathlib import Path

import numpy as np

from weft.vision.datasets._published import ArrayImages
from weft.vision.datasets.utils import StrPath, download_url
from weft.vision.datasets.vision import Transform


class USPS(ArrayImages):
    """9,298 handwritten digits, 16 x 16 grey pixels: 7,291 to train with and 2,007 to test.

    Samples are (PIL picture of mode "L", class from 0 to 9). The file is ``root/usps.bz2`` or ``root/usps.t.bz2``, in
    the format of LIBSVM: ``<class from 1 to 10> 1:<grey> 2:<grey> ...``, the grey from -1 to 1.

    Parameters
    ----------
    root : path
    train : bool, default True
        The training part or the test part.
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the file if it is missing.

    Attributes
    ----------
    data : ndarray, uint8, shape (N, 16, 16)
    targets : list of int

    References
    ----------
    J. Hull: A database for handwritten text recognition research. IEEE PAMI 16(5), 1994.
    """

    def __init__(
        self,
        root: StrPath,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._name, self._md5 = (
            ("usps.bz2", "ec16c51db3855ca6c91edd34d0e9b197")
            if train
            else ("usps.t.bz2", "8ea070ee2aca1ac39742fdd1ef5ed118")
        )
        path = Path(self.root) / self._name
        self._obtain(path, download=download)
        with bz2.open(path, "rt", encoding="ascii") as file:
            rows = [line.split() for line in file]
        grey = np.array([[value.rpartition(":")[2] for value in row[1:]] for row in rows], dtype=np.float32)
        self.data = ((grey.reshape(-1, 16, 16) + 1) / 2 * 255).astype(np.uint8)
        self.targets = [int(row[0]) - 1 for row in rows]

    def download(self) -> None:
        """Fetch the file, and check it by its MD5 sum."""
        address = f"https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/{self._name}"
        download_url(address, self.root, md5=self._md5)
