"""RenderedSST2: sentences as pictures, to be read and judged."""

from __future__ import annotations

from pathlib import Path

from weft.vision.datasets._published import Archive, ImageList, Loader
from weft.vision.datasets.folder import default_loader, make_dataset
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class RenderedSST2(ImageList):
    """9,613 pictures of sentences about films, negative or positive.

    Samples are (picture, 0 or 1). The files are in ``root/rendered-sst2/<part>/negative`` and ``positive``; the part's
    folder is "train", "valid" or "test".

    Parameters
    ----------
    root : path
    split : {"train", "val", "test"}
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
        Archive("https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz", "2384d08e9dcfa4bd55b324e610496ee5"),
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
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        self._name_classes(["negative", "positive"])
        folder = Path(self.root) / "rendered-sst2" / ("valid" if split == "val" else split)
        self._obtain(*(folder / name for name in self.classes), download=download)
        self._take(make_dataset(str(folder), self.class_to_idx, extensions=(".png",)))

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"split={self._split}"
