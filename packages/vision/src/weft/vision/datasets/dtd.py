"""DTD: textures by what one would call them."""

from __future__ import annotations

from pathlib import Path

from weft.vision.datasets._published import Archive, ImageList, Loader, lines_of
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class DTD(ImageList):
    """The Describable Textures Dataset: 5,640 pictures in 47 classes, such as "striped".

    Samples are (picture, class). The files are in ``root/dtd/dtd``: ``images/<class>`` and ``labels``.

    Parameters
    ----------
    root : path
    split : {"train", "val", "test"}
    partition : int, default 1
        Which of the ten published divisions into the three parts, 1 to 10.
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the files if they are missing.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    M. Cimpoi et al.: Describing textures in the wild. CVPR 2014.
    """

    _archives = (
        Archive(
            "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz", "fff73e5086ae6bdbea199a49dfb8a4c1"
        ),
    )

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        partition: int = 1,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        if partition not in range(1, 11):
            raise ValueError(f"DTD: partition must be an int from 1 to 10; got {partition!r}")
        self._partition = partition
        folder = self._archives_folder / "dtd"
        self._obtain(folder, download=download)
        names = [line.split("/") for line in lines_of(folder / "labels" / f"{split}{partition}.txt")]
        self._name_classes(sorted({name for name, _ in names}))
        self._take([(folder / "images" / name / file, self.class_to_idx[name]) for name, file in names])

    @property
    def _archives_folder(self) -> Path:
        return Path(self.root) / "dtd"

    def extra_repr(self) -> str:
        """Return the line that names part and partition."""
        return f"split={self._split}, partition={self._partition}"
