"""Moving MNIST: videos of two digits that bounce."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import weft
from weft import Tensor
from weft.vision.datasets._published import Published
from weft.vision.datasets.utils import StrPath, download_url, verify_str_arg
from weft.vision.datasets.vision import Transform


class MovingMNIST(Published):
    """10,000 videos of 20 grey frames, 64 x 64 pixels.

    Samples are uint8 tensors of shape (T, 1, 64, 64). The file is ``root/MovingMNIST/mnist_test_seq.npy``.

    Parameters
    ----------
    root : path
    split : {"train", "test"}, optional
        The first ``split_ratio`` frames of each video, or those after them; by default all.
    split_ratio : int, default 10
        1 to 19.
    download : bool, default False
        Fetch the file (820 MB) if it is missing.
    transform : callable, optional
        Applied to a video.

    References
    ----------
    N. Srivastava, E. Mansimov, R. Salakhutdinov: Unsupervised learning of video representations using LSTMs.
    arXiv:1502.04681.
    """

    _url = "http://www.cs.toronto.edu/~nitish/unsupervised_video/mnist_test_seq.npy"

    def __init__(
        self,
        root: StrPath,
        split: str | None = None,
        split_ratio: int = 10,
        download: bool = False,
        transform: Transform | None = None,
    ) -> None:
        super().__init__(root, transform=transform)
        self.split = split if split is None else verify_str_arg(split, "split", ("train", "test"))
        if not isinstance(split_ratio, int):
            raise TypeError(f"MovingMNIST: split_ratio must be an int; got {type(split_ratio).__name__}")
        if not 1 <= split_ratio <= 19:
            raise ValueError(f"MovingMNIST: split_ratio must be from 1 to 19; got {split_ratio}")
        self.split_ratio = split_ratio
        path = Path(self.root) / type(self).__name__ / "mnist_test_seq.npy"
        self._obtain(path, download=download)
        frames = np.load(path, allow_pickle=False)  # (T, N, H, W)
        chosen = {None: slice(None), "train": slice(split_ratio), "test": slice(split_ratio, None)}[split]
        self.data = weft.from_numpy(np.ascontiguousarray(frames[chosen].swapaxes(0, 1)[:, :, None]))

    def download(self) -> None:
        """Fetch the file, and check it by its MD5 sum."""
        folder = Path(self.root) / type(self).__name__
        download_url(self._url, folder, md5="be083ec986bfe91a449d63653c411eb2")

    def __getitem__(self, index: int) -> Any:
        """Return a video."""
        video: Tensor = self.data[index]
        return video if self.transform is None else self.transform(video)

    def __len__(self) -> int:
        """Return the number of videos."""
        return len(self.data)
