"""CLEVR: rendered scenes of simple objects; here the task is to count them."""

from __future__ import annotations

import json
from pathlib import Path

from weft.vision.datasets._published import Archive, ImageList, Loader
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class CLEVRClassification(ImageList):
    """100,000 pictures of scenes; the class of a picture is the number of objects in it.

    Samples are (picture, count), the count None in the test part. The files are in ``root/clevr/CLEVR_v1.0``.

    Parameters
    ----------
    root : path
    split : {"train", "val", "test"}
    transform, target_transform : callable, optional
        Applied to the picture and to the count.
    download : bool, default False
        Fetch the files if they are missing.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    J. Johnson et al.: CLEVR: a diagnostic dataset for compositional language and elementary visual reasoning.
    arXiv:1612.06890.
    """

    _archives = (Archive("https://dl.fbaipublicfiles.com/clevr/CLEVR_v1.0.zip", "b11922020e72d0cd9154779b2d3d07d2"),)

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
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        folder = self._archives_folder / "CLEVR_v1.0"
        self._obtain(folder, download=download)
        self._image_files = sorted((folder / "images" / split).glob("*"))
        if split == "test":
            self._labels = [None] * len(self._image_files)
            return
        with open(folder / "scenes" / f"CLEVR_{split}_scenes.json", encoding="utf-8") as file:
            counts = {scene["image_filename"]: len(scene["objects"]) for scene in json.load(file)["scenes"]}
        self._labels = [counts[path.name] for path in self._image_files]

    @property
    def _archives_folder(self) -> Path:
        return Path(self.root) / "clevr"

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"split={self._split}"
