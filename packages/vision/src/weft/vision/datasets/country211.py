"""Country211: photos by the country they were taken in."""

from __future__ import annotations

from pathlib import Path

from weft.vision.datasets._published import Archive, Loader, Published
from weft.vision.datasets.folder import ImageFolder, default_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class Country211(Published, ImageFolder):
    """63,300 photos of YFCC100M from 211 countries.

    Samples are (picture, class). The files are in ``root/country211/<split>/<country>``.

    Parameters
    ----------
    root : path
    split : {"train", "valid", "test"}
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the files if they are missing.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    A. Radford et al.: Learning transferable visual models from natural language supervision. arXiv:2103.00020.
    """

    _archives = (
        Archive("https://openaipublic.azureedge.net/clip/data/country211.tgz", "84988d7644798601126c29e9877aab6a"),
    )

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        self._split = verify_str_arg(split, "split", ("train", "valid", "test"))
        self.root = str(Path(root).expanduser())
        folder = Path(self.root) / "country211"
        self._obtain(folder, download=download)
        ImageFolder.__init__(self, str(folder / split), transform, target_transform, loader)
        self.root = str(Path(root).expanduser())
