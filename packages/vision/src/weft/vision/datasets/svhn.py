"""SVHN: house numbers in Google's views of streets."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from weft.vision.datasets._published import Published, load_mat
from weft.vision.datasets.utils import StrPath, download_url, verify_str_arg
from weft.vision.datasets.vision import Transform


class SVHN(Published):
    """Street View House Numbers: 600,000 digits, 32 x 32 pixels in colour.

    Samples are (PIL picture of mode "RGB", class from 0 to 9). The file is ``root/<split>_32x32.mat``, by SciPy.

    Parameters
    ----------
    root : path
    split : {"train", "test", "extra"}
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the file if it is missing.

    Attributes
    ----------
    data : ndarray, uint8, shape (N, 3, 32, 32)
    labels : ndarray, int64, shape (N,)

    References
    ----------
    Y. Netzer et al.: Reading digits in natural images with unsupervised feature learning. 2011.
    """

    _md5: ClassVar[dict[str, str]] = {
        "train": "e26dedcc434d2e4c54c9b2d4a06d8373",
        "test": "eb5a983be6a315427106f1b164d9cef3",
        "extra": "a93ce644f1a588dc4d68dda5feec44a7",
    }

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self._md5)
        self.filename = f"{split}_32x32.mat"
        path = Path(self.root) / self.filename
        self._obtain(path, download=download)
        content = load_mat(path)
        self.data: Any = content["X"].transpose(3, 2, 0, 1)  # (H, W, C, N) -> (N, C, H, W)
        self.labels: Any = content["y"].ravel().astype(np.int64) % 10  # the file says 10 for the digit 0

    def download(self) -> None:
        """Fetch the file, and check it by its MD5 sum."""
        address = f"http://ufldl.stanford.edu/housenumbers/{self.filename}"
        download_url(address, self.root, md5=self._md5[self.split])

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class)."""
        return self._apply(Image.fromarray(self.data[index].transpose(1, 2, 0)), int(self.labels[index]))

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.data)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"Split: {self.split}"
