"""SUN397: scenes."""

from __future__ import annotations

from pathlib import Path

from weft.vision.datasets._published import Archive, ImageList, Loader, lines_of
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath
from weft.vision.datasets.vision import Transform


class SUN397(ImageList):
    """108,754 pictures of 397 kinds of scenes.

    Samples are (picture, class). The files are in ``root/SUN397``: ``ClassName.txt`` and folders such as
    ``a/airport_terminal`` or ``c/church/indoor``.

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
    J. Xiao et al.: SUN database: large-scale scene recognition from abbey to zoo. CVPR 2010.
    """

    _archives = (
        Archive("http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz", "8ca2778205c41d23104230ba66911c7a"),
    )

    def __init__(
        self,
        root: StrPath,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform, target_transform, loader)
        folder = Path(self.root) / "SUN397"
        self._obtain(folder, download=download)
        self._name_classes([line.removeprefix("/")[2:] for line in lines_of(folder / "ClassName.txt")])  # "/a/abbey"
        paths = sorted(folder.rglob("sun_*.jpg"))
        names = ["/".join(path.relative_to(folder).parts[1:-1]) for path in paths]
        self._take([(path, self.class_to_idx[name]) for path, name in zip(paths, names, strict=True)])
