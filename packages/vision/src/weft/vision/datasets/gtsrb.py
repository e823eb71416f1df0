"""GTSRB: traffic signs of Germany."""

from __future__ import annotations

import csv
from pathlib import Path

from weft.vision.datasets._published import Archive, ImageList
from weft.vision.datasets.folder import make_dataset, pil_loader
from weft.vision.datasets.utils import StrPath, verify_str_arg
from weft.vision.datasets.vision import Transform


class GTSRB(ImageList):
    """The German Traffic Sign Recognition Benchmark: 51,839 pictures in 43 classes.

    Samples are (PIL picture of mode "RGB", class). The files are in ``root/gtsrb``: ``GTSRB/Training/<class>``,
    ``GTSRB/Final_Test/Images`` and ``GT-final_test.csv``.

    Parameters
    ----------
    root : path
    split : {"train", "test"}
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the files if they are missing.

    References
    ----------
    J. Stallkamp et al.: Man vs. computer: benchmarking machine learning algorithms for traffic sign recognition. 2012.
    """

    def __init__(
        self,
        root: StrPath,
        split: str = "train",
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform, pil_loader)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        folder = self._archives_folder / "GTSRB" / ("Training" if split == "train" else "Final_Test/Images")
        self._obtain(folder, download=download)
        if split == "train":
            self._take(make_dataset(str(folder), extensions=(".ppm",)))
            return
        with open(self._archives_folder / "GT-final_test.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter=";", skipinitialspace=True))
        self._take([(str(folder / row["Filename"]), int(row["ClassId"])) for row in rows])

    @property
    def _archives_folder(self) -> Path:
        return Path(self.root) / "gtsrb"

    def download(self) -> None:
        """Fetch the archives of this part, check them by their MD5 sums, and unpack them."""
        address = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
        archives = {
            "train": [("GTSRB-Training_fixed.zip", "513f3c79a4c5141765e10e952eaa2478")],
            "test": [
                ("GTSRB_Final_Test_Images.zip", "c7e4e6327067d32654124b0fe9e82185"),
                ("GTSRB_Final_Test_GT.zip", "fe31e9c9270bbcd7b84b7f21a9d9d9e5"),
            ],
        }
        for name, md5 in archives[self._split]:
            Archive(address + name, md5).unpack_into(self._archives_folder)
