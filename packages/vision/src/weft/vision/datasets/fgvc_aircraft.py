"""FGVC-Aircraft: aeroplanes by variant, family or manufacturer."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from weft.vision.datasets._published import Archive, ImageList, Loader, lines_of
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class FGVCAircraft(ImageList):
    """10,000 pictures of aircraft in 100 variants, 70 families or 30 manufacturers.

    Samples are (picture, class). The files are in ``root/fgvc-aircraft-2013b/data``.

    Parameters
    ----------
    root : path
    split : {"train", "val", "trainval", "test"}
    annotation_level : {"variant", "family", "manufacturer"}
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the files if they are missing.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    S. Maji et al.: Fine-grained visual classification of aircraft. arXiv:1306.5151.
    """

    _archives = (Archive("https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz"),)
    _levels: ClassVar[dict[str, str]] = {
        "variant": "variants.txt",
        "family": "families.txt",
        "manufacturer": "manufacturers.txt",
    }

    def __init__(
        self,
        root: StrPath,
        split: str = "trainval",
        annotation_level: str = "variant",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "val", "trainval", "test"))
        self._annotation_level = verify_str_arg(annotation_level, "annotation_level", self._levels)
        folder = Path(self.root) / "fgvc-aircraft-2013b" / "data"
        self._obtain(folder, download=download)
        self._name_classes(lines_of(folder / self._levels[annotation_level]))
        pairs = [line.split(" ", 1) for line in lines_of(folder / f"images_{annotation_level}_{split}.txt")]
        self._take([(str(folder / "images" / f"{name}.jpg"), self.class_to_idx[label]) for name, label in pairs])
