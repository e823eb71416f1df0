"""SBD: the Semantic Boundaries Dataset, outlines of objects in pictures of Pascal VOC 2011."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from weft.vision.datasets._published import Archive, Published, lines_of, load_mat, open_picture
from weft.vision.datasets.utils import StrPath, download_url, verify_str_arg
from weft.vision.datasets.vision import Transform


class SBDataset(Published):
    """11,355 pictures with the boundaries of objects of 20 classes.

    Samples are (PIL picture of mode "RGB", target). The files are in ``root``: ``img``, ``cls``, ``train.txt`` and so
    on; SciPy reads the targets.

    Parameters
    ----------
    root : path
    image_set : {"train", "val", "train_noval"}
        "train_noval" leaves out what is in the validation part of VOC 2012.
    mode : {"boundaries", "segmentation"}
        The target is an array of shape (20, H, W), 1 on the boundary of a class, or a PIL picture of classes.
    download : bool, default False
        Fetch the files if they are missing.
    transforms : callable, optional
        Called with the picture and the target.

    References
    ----------
    B. Hariharan et al.: Semantic contours from inverse detectors. ICCV 2011.
    """

    num_classes = 20

    def __init__(
        self,
        root: StrPath,
        image_set: str = "train",
        mode: str = "boundaries",
        download: bool = False,
        transforms: Transform | None = None,
    ) -> None:
        super().__init__(root, transforms)
        self.image_set = verify_str_arg(image_set, "image_set", ("train", "val", "train_noval"))
        self.mode = verify_str_arg(mode, "mode", ("segmentation", "boundaries"))
        names = Path(self.root) / f"{image_set}.txt"
        self._obtain(names, os.path.join(self.root, "img"), os.path.join(self.root, "cls"), download=download)
        self.images = [os.path.join(self.root, "img", f"{name}.jpg") for name in lines_of(names)]
        self.masks = [os.path.join(self.root, "cls", f"{name}.mat") for name in lines_of(names)]

    def download(self) -> None:
        """Fetch the archive and the list of "train_noval", and check them by their MD5 sums."""
        Archive(
            "https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/grouping/semantic_contours/benchmark.tgz",
            "82b4d87ceb2ed10f6038a1cba92111cb",
        ).unpack_into(self.root)
        for name in ("cls", "img", "inst", "train.txt", "val.txt"):
            shutil.move(Path(self.root) / "benchmark_RELEASE" / "dataset" / name, self.root)
        if self.image_set == "train_noval":
            address = "https://www.cs.cornell.edu/~bharathh/train_noval.txt"
            download_url(address, self.root, md5="79bff800c5f0b1ec6b21080a3c066722")

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, target)."""
        picture = open_picture(self.images[index], "RGB")
        return self._apply_jointly(picture, self._target(self.masks[index]))

    def _target(self, path: str) -> Any:
        content = load_mat(path)["GTcls"][0]
        if self.mode == "segmentation":
            return Image.fromarray(content["Segmentation"][0])
        boundaries = content["Boundaries"][0]  # a sparse matrix for each class
        return np.stack([boundaries[number][0].toarray() for number in range(self.num_classes)])

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.images)

    def extra_repr(self) -> str:
        """Return the lines that name part and mode."""
        return f"Image set: {self.image_set}\nMode: {self.mode}"
