"""CIFAR-10 and CIFAR-100: small colour pictures in pickled batches."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from weft.vision.datasets._published import Archive, ArrayImages
from weft.vision.datasets.utils import StrPath, calculate_md5
from weft.vision.datasets.vision import Transform


class _Batch(pickle.Unpickler):
    """Reads the dicts of arrays, lists and strings that the batches are, and nothing else."""

    allowed = (
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("_codecs", "encode"),
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.allowed:
            raise ValueError(f"CIFAR: a batch asks for {module}.{name}: it is no batch of CIFAR")
        return super().find_class(module, name)


class CIFAR10(ArrayImages):
    """60,000 pictures of 32 x 32 pixels in ten classes: 50,000 to train with and 10,000 to test.

    Samples are (PIL picture of mode "RGB", class from 0 to 9).

    Parameters
    ----------
    root : path
        The folder that has, or gets, ``cifar-10-batches-py`` or the archive ``cifar-10-python.tar.gz``.
    train : bool, default True
        The training part or the test part.
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch the archive (163 MB) if the files are missing, and check it by its MD5 sum.

    Attributes
    ----------
    data : ndarray, uint8, shape (N, 32, 32, 3)
    targets : list of int
    classes : list of str

    Raises
    ------
    RuntimeError
        If files are missing and not to be downloaded, or the download fails.
    ValueError
        If a file is no batch of CIFAR.

    References
    ----------
    A. Krizhevsky: Learning multiple layers of features from tiny images. 2009.
    """

    base_folder: ClassVar[str] = "cifar-10-batches-py"
    url: ClassVar[str] = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename: ClassVar[str] = "cifar-10-python.tar.gz"
    tgz_md5: ClassVar[str] = "c58f30108f718f92721af3b95e74349a"
    train_list: ClassVar[list[list[str]]] = [  # name, MD5
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list: ClassVar[list[list[str]]] = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta: ClassVar[dict[str, str]] = {
        "filename": "batches.meta",
        "key": "label_names",
        "md5": "5ff9c542aee3614f3951f8cda6e48888",
    }

    def __init__(
        self,
        root: StrPath,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._folder = Path(self.root) / self.base_folder
        self.train = train
        files = self.train_list if train else self.test_list
        names = [name for name, _ in files]
        self._obtain(*(self._folder / name for name in [*names, self.meta["filename"]]), download=download)
        batches = [self._read(name, md5) for name, md5 in files]
        pixels = np.concatenate([np.asarray(batch["data"], np.uint8) for batch in batches])
        self.data = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        labels = [batch["labels" if "labels" in batch else "fine_labels"] for batch in batches]
        self.targets = [int(label) for each in labels for label in each]
        if len(self.targets) != len(self.data):
            raise ValueError(
                f"{type(self).__name__}: {len(self.data)} pictures but {len(self.targets)} classes in {self._folder}"
            )
        self.classes: list[str] = self._read(self.meta["filename"], self.meta["md5"])[self.meta["key"]]
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def _read(self, name: str, md5: str) -> dict[str, Any]:
        path = self._folder / name
        try:
            with open(path, "rb") as file:
                found = _Batch(file, encoding="latin1").load()
        except (pickle.UnpicklingError, EOFError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{type(self).__name__}: {path} is damaged ({error}): its MD5 sum is {calculate_md5(path)}, that of "
                f"the published file is {md5}"
            ) from error
        return {key if isinstance(key, str) else key.decode("latin1"): value for key, value in found.items()}

    def download(self) -> None:
        """Fetch the archive, check it by its MD5 sum, and unpack it."""
        Archive(self.url, self.tgz_md5, self.filename).unpack_into(self.root)

    def extra_repr(self) -> str:
        """Say which part it is."""
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """As `CIFAR10`, with a hundred classes: ``cifar-100-python``."""

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list: ClassVar[list[list[str]]] = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list: ClassVar[list[list[str]]] = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta: ClassVar[dict[str, str]] = {
        "filename": "meta",
        "key": "fine_label_names",
        "md5": "7973b15100ade9c7d40fb424638fde48",
    }
