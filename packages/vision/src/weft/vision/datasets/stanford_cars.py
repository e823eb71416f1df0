"""Stanford Cars: cars by make, model and year."""

from __future__ import annotations

from pathlib import Path

from weft.vision.datasets._published import ImageList, Loader, load_mat
from weft.vision.datasets.folder import default_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class StanfordCars(ImageList):
    """16,185 pictures of 196 kinds of cars.

    Samples are (picture, class). The files are in ``root/stanford_cars``: ``cars_train``, ``cars_test``, ``devkit`` and
    ``cars_test_annos_withlabels.mat``; SciPy reads the tables.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Raises ValueError if the files are missing: they are offered no longer.
    loader : callable
        Makes a picture from a path; by default a PIL picture of mode "RGB".

    References
    ----------
    J. Krause, M. Stark, J. Deng, L. Fei-Fei: 3D object representations for fine-grained categorization. 2013.
    """

    _remedy = "its publishers offer it no longer: fetch it by another way and put it there"

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
        self._split = verify_str_arg(split, "split", ("train", "test"))
        folder = Path(self.root) / "stanford_cars"
        train, test = folder / "devkit" / "cars_train_annos.mat", folder / "cars_test_annos_withlabels.mat"
        table, pictures = train if split == "train" else test, folder / f"cars_{split}"
        self._obtain(folder / "devkit", table, pictures, download=download)
        self._name_classes(load_mat(folder / "devkit" / "cars_meta.mat", squeeze_me=True)["class_names"].tolist())
        rows = load_mat(table)["annotations"].ravel()
        self._take([(str(pictures / row["fname"].item()), int(row["class"].item()) - 1) for row in rows])

    def download(self) -> None:
        """Raise: the data set is offered no longer."""
        raise ValueError(f"StanfordCars: {self._remedy} ({self.root})")
