"""EuroSAT: land use seen by the satellite Sentinel-2."""

from __future__ import annotations

import os
from pathlib import Path

from weft.vision.datasets._published import Archive, Loader, Published
from weft.vision.datasets.folder import ImageFolder, default_loader
from weft.vision.datasets.utils import StrPath
from weft.vision.datasets.vision import Transform


class EuroSAT(Published, ImageFolder):
    """27,000 pictures of 64 x 64 pixels in ten classes of land use.

    Samples are (picture, class). The files are in ``root/eurosat/2750/<class>``.

    Parameters
    ----------
    root : path
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the files if they are missing.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    P. Helber et al.: EuroSAT: a novel dataset and deep learning benchmark for land use and land cover classification.
    arXiv:1709.00029.
    """

    _archives = (
        Archive(
            "https://huggingface.co/datasets/torchgeo/eurosat/resolve/c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip",
            "c8fa014336c82ac7804f0398fcb19387",
        ),
    )

    def __init__(
        self,
        root: StrPath,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        self.root = os.path.expanduser(root)
        folder = self._archives_folder / "2750"
        self._obtain(folder, download=download)
        ImageFolder.__init__(self, str(folder), transform, target_transform, loader)
        self.root = os.path.expanduser(root)

    @property
    def _archives_folder(self) -> Path:
        return Path(self.root) / "eurosat"
