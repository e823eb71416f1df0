"""CIFAR-10 and CIFAR-100: small colour pictures in pickled batches."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from weft.vision.datasets._published import Archive, ArrayImages
from weft.vision.datasets.utils import StrPath
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
    _archives = (
        Archive("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a"),
    )
    train_list: ClassVar[list[str]] = [f"data_batch_{number}" for number in range(1, 6)]
    test_list: ClassVar[list[str]] = ["test_batch"]
    meta: ClassVar[tuple[str, str]] = ("batches.meta", "label_names")
    labels: ClassVar[str] = "labels"

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
        self._obtain(*(self._folder / name for name in [*self._names, self.meta[0]]), download=download)
        batches = [self._read(name) for name in self._names]
        pixels = np.concatenate([np.asarray(batch["data"], np.uint8) for batch in batches])
        self.data = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets = [int(label) for batch in batches for label in batch[self.labels]]
        if len(self.targets) != len(self.data):
            raise ValueError(
                f"{type(self).__name__}: {len(self.data)} pictures but {len(self.targets)} classes in {self._folder}"
            )
        self.classes: list[str] = self._read(self.meta[0])[self.meta[1]]
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    @property
    def _names(self) -> list[str]:
        return self.train_list if self.train else self.test_list

    def _read(self, name: str) -> dict[str, Any]:
        try:
            with open(self._folder / name, "rb") as file:
                found = _Batch(file, encoding="latin1").load()
        except (pickle.UnpicklingError, EOFError, UnicodeDecodeError) as error:
            raise ValueError(f"{type(self).__name__}: {self._folder / name} is damaged ({error})") from error
        return {key if isinstance(key, str) else key.decode("latin1"): value for key, value in found.items()}

    def extra_repr(self) -> str:
        """Say which part it is."""
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """As `CIFAR10`, with a hundred classes: ``cifar-100-python``."""

    base_folder = "cifar-100-python"
    _archives = (
        Archive("https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85"),
    )
    train_list: ClassVar[list[str]] = ["train"]
    test_list: ClassVar[list[str]] = ["test"]
    meta = ("meta", "fine_label_names")
    labels = "fine_labels"
