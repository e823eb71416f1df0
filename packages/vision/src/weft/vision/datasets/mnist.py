"""MNIST and its kin: pictures of 28 x 28 pixels in the IDX format."""

from __future__ import annotations

import gzip
import lzma
import shutil
import string
import zlib
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

import weft
from weft.vision.datasets.utils import (
    StrPath,
    calculate_md5,
    download_url,
    extract_archive,
    verify_str_arg,
)
from weft.vision.datasets.vision import Transform, VisionDataset

# The third byte of an IDX file; all its numbers are big-endian.
_IDX_DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: StrPath) -> np.ndarray[Any, Any]:
    """Read an array from a file in the IDX format, compressed by gzip or xz or not.

    Parameters
    ----------
    path : path

    Returns
    -------
    numpy.ndarray, of the shape and dtype that the file names, in native byte order

    Raises
    ------
    ValueError
        If the file is not IDX, is cut off or damaged.

    References
    ----------
    The format is described at the end of http://yann.lecun.com/exdb/mnist/ : two zero bytes, the dtype's code, the
    number of axes, each axis' length in four bytes, then the values with the last axis changing fastest.
    """
    content = Path(path).read_bytes()
    for mark, decompress in ((b"\x1f\x8b", gzip.decompress), (b"\xfd7zXZ\0", lzma.decompress)):
        if content.startswith(mark):
            try:
                content = decompress(content)
            except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
                format = decompress.__module__
                raise ValueError(f"read_idx: {path} is a damaged {format} file ({error}); fetch it again") from error
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _IDX_DTYPES:
        raise ValueError(
            f"read_idx: {path} is not an IDX file: it begins with {content[:4].hex(' ') or 'nothing'}, expected 00 00, "
            f"a dtype ({', '.join(f'{code:02x}' for code in _IDX_DTYPES)}) and the number of axes"
        )
    dtype, axes = np.dtype(_IDX_DTYPES[content[2]]), content[3]
    start = 4 + 4 * axes
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4))
    expected = start + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if len(content) != expected:
        raise ValueError(
            f"read_idx: {path} has {len(content):,} bytes, but shape {shape} of {dtype.name} needs {expected:,}: "
            "the file is cut off or damaged; fetch it again"
        )
    return np.frombuffer(content, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))


def read_sn3_pascalvincent_tensor(path: StrPath, strict: bool = True) -> weft.Tensor:
    """Return the array of an IDX file as a tensor: see `read_idx`, which is always strict."""
    return weft.from_numpy(read_idx(path))


def read_image_file(path: StrPath) -> weft.Tensor:
    """Return the pictures of an IDX file: uint8, shape (N, H, W)."""
    return _checked(read_sn3_pascalvincent_tensor(path), path, 3)


def read_label_file(path: StrPath) -> weft.Tensor:
    """Return the classes of an IDX file: int64, shape (N,)."""
    return _checked(read_sn3_pascalvincent_tensor(path), path, 1).long()


def _checked(values: weft.Tensor, path: StrPath, dims: int) -> weft.Tensor:
    """Return bytes in so many dimensions; TypeError and ValueError if they are others."""
    if values.dtype is not weft.uint8:
        raise TypeError(f"{path} must have uint8 values; it has {values.dtype}")
    if values.dim() != dims:
        raise ValueError(f"{path} must have {dims} dimensions; it has {values.dim()}")
    return values


class MNIST(VisionDataset):
    """70,000 pictures of handwritten digits, 28 x 28 grey pixels: 60,000 to train with and 10,000 to test.

    Samples are (PIL picture of mode "L", class from 0 to 9).

    Parameters
    ----------
    root : path
        The folder that has, or gets, the files: ``root/MNIST/raw/train-images-idx3-ubyte`` and its three fellows,
        each as it is or with the ending ``.gz``.
    train : bool, default True
        The training part or the test part.
    transform, target_transform : callable, optional
        Applied to the picture and to the class.
    download : bool, default False
        Fetch what is missing from the publishers' servers (11 MB), and check it by its MD5 sum.

    Attributes
    ----------
    data : Tensor, uint8, shape (N, 28, 28)
    targets : Tensor, int64, shape (N,)
    classes : list of str

    Raises
    ------
    RuntimeError
        If files are missing and not to be downloaded, or the download fails.
    ValueError
        If a file is damaged, or pictures and classes differ in number.

    References
    ----------
    Y. LeCun, L. Bottou, Y. Bengio, P. Haffner: Gradient-based learning applied to document recognition.
    Proceedings of the IEEE 86(11), 1998.
    """

    mirrors: ClassVar[list[str]] = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    _label_dims: ClassVar[int] = 1
    classes: list[str] = [  # noqa: RUF012  (EMNIST has its own for each split)
        f"{digit} - {name}" for digit, name in enumerate("zero one two three four five six seven eight nine".split())
    ]

    def __init__(
        self,
        root: StrPath,
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        images, labels = (self._read(name) for name in self._names())
        if images.ndim != 3 or labels.ndim != self._label_dims or len(images) != len(labels):
            raise ValueError(
                f"{type(self).__name__}: expected pictures (N, H, W) and as many targets, got {images.shape} and "
                f"{labels.shape} in {self.raw_folder}: the files do not belong together"
            )
        self.data = weft.from_numpy(images)
        self.targets = weft.from_numpy(labels.astype(np.int64))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class)."""
        return self._apply(Image.fromarray(self.data[index].numpy()), int(self.targets[index]))

    def __len__(self) -> int:
        """Return the number of pictures in this part."""
        return len(self.data)

    @property
    def raw_folder(self) -> Path:
        """The folder of the IDX files, named after the class."""
        return Path(self.root or ".") / type(self).__name__ / "raw"

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class by its name."""
        return {name: index for index, name in enumerate(self.classes)}

    def download(self) -> None:
        """Fetch the files that are not there, and check them by their MD5 sums."""
        for name, md5 in self.resources:
            if self._find(name.rpartition(".")[0]) is None:
                download_url([mirror + name for mirror in self.mirrors], self.raw_folder, name, md5)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"Split: {'Train' if self.train else 'Test'}"

    def _names(self) -> tuple[str, str]:
        """Return the names of the part's files: pictures, classes."""
        part = "train" if self.train else "t10k"
        return f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"

    def _find(self, name: str) -> Path | None:
        """Return the path of a file, as it is or compressed."""
        paths = [self.raw_folder / f"{name}{ending}" for ending in ("", ".gz", ".xz")]
        return next((path for path in paths if path.is_file()), None)

    def _read(self, name: str) -> np.ndarray[Any, Any]:
        """Return the array of one of the files."""
        path = self._find(name)
        if path is None:
            raise RuntimeError(
                f"{type(self).__name__}: there is no {self.raw_folder / name}, nor the same with .gz; "
                "put the file there, or pass download=True"
            )
        try:
            return read_idx(path)
        except ValueError as error:
            published = dict(self.resources).get(path.name)
            if published is not None and (found := calculate_md5(path)) != published:
                raise ValueError(
                    f"{error}\nIts MD5 sum is {found}; that of the published file is {published}"
                ) from error
            raise


class FashionMNIST(MNIST):
    """70,000 pictures of clothes in ten classes, in MNIST's format; files in ``root/FashionMNIST/raw``.

    References
    ----------
    H. Xiao, K. Rasul, R. Vollgraf: Fashion-MNIST, arXiv:1708.07747.
    """

    mirrors: ClassVar[list[str]] = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes: list[str] = [  # noqa: RUF012
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    ]


class KMNIST(MNIST):
    """70,000 pictures of cursive Japanese characters in ten classes; files in ``root/KMNIST/raw``.

    References
    ----------
    T. Clanuwat et al.: Deep Learning for Classical Japanese Literature, arXiv:1812.01718.
    """

    mirrors: ClassVar[list[str]] = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    classes: list[str] = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]  # noqa: RUF012


class EMNIST(MNIST):
    """Handwritten digits and letters in MNIST's format; files in ``root/EMNIST/raw``.

    The pictures are transposed, as published: rows of the data are columns of the letter.

    Parameters
    ----------
    root : path
    split : {"byclass", "bymerge", "balanced", "letters", "digits", "mnist"}
        The choice of classes. In "letters" classes count from 1, so that "N/A" stands before "a".
    **kwargs
        As of `MNIST`; ``download=True`` fetches one archive of 536 MB.

    Raises
    ------
    ValueError
        If ``split`` is another name.

    References
    ----------
    G. Cohen, S. Afshar, J. Tapson, A. van Schaik: EMNIST, arXiv:1702.05373.
    """

    url = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
    md5 = "58c8d27c78d21e728a6bc7b3cc06412e"
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    resources: ClassVar[list[tuple[str, str]]] = []
    _alike = frozenset("cijklmopsuvwxyz")  # letters whose small form is merged with the capital

    def __init__(self, root: StrPath, split: str, **kwargs: Any) -> None:
        if split not in self.splits:
            raise ValueError(f"EMNIST: split must be one of {', '.join(self.splits)}, got {split!r}")
        self.split = split
        self.classes = self._classes_of(split)
        super().__init__(root, **kwargs)

    @classmethod
    def _classes_of(cls, split: str) -> list[str]:
        every = string.digits + string.ascii_uppercase + string.ascii_lowercase
        if split == "byclass":
            return list(every)
        if split == "letters":
            return ["N/A", *string.ascii_lowercase]
        if split in ("digits", "mnist"):
            return list(string.digits)
        return [character for character in every if character not in cls._alike]

    def _names(self) -> tuple[str, str]:
        part = f"emnist-{self.split}-{'train' if self.train else 'test'}"
        return f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"

    def download(self) -> None:
        """Fetch the archive, if this split's files are not there, and unpack it."""
        if all(self._find(name) is not None for name in self._names()):
            return
        archive = self.raw_folder / "gzip.zip"
        download_url(self.url, self.raw_folder, archive.name, self.md5)
        extract_archive(archive, remove_finished=True)
        for path in (self.raw_folder / "gzip").glob("*-ubyte.gz"):
            path.replace(self.raw_folder / path.name)
        shutil.rmtree(self.raw_folder / "gzip")


class QMNIST(MNIST):
    """The digits of NIST again, prepared as MNIST was, with who wrote them; files in ``root/QMNIST/raw``.

    Samples are (PIL picture of mode "L", class), or with ``compat=False`` (picture, int64 tensor of eight numbers:
    class, group of writers, writer, index of the digit among the writer's, class in NIST's numbering, index in NIST's
    field, and two unused ones).

    Parameters
    ----------
    root : path
    what : {"train", "test", "test10k", "test50k", "nist"}, optional
        "test10k" is MNIST's test part, "test50k" what its authors left out, "nist" everything. By default of ``train``.
    compat : bool, default True
        The target is the class alone.
    train : bool, default True
        The training part or the test part, where ``what`` is not given.
    **kwargs
        As of `MNIST`.

    References
    ----------
    C. Yadav, L. Bottou: Cold case: the lost MNIST digits. arXiv:1905.10498.
    """

    _label_dims = 2
    subsets: ClassVar[dict[str, str]] = {
        "train": "train",
        "test": "test",
        "test10k": "test",
        "test50k": "test",
        "nist": "nist",
    }
    mirrors: ClassVar[list[str]] = ["https://raw.githubusercontent.com/facebookresearch/qmnist/master/"]
    _files: ClassVar[dict[str, list[tuple[str, str]]]] = {
        "train": [
            ("qmnist-train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"),
            ("qmnist-train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"),
        ],
        "test": [
            ("qmnist-test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"),
            ("qmnist-test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"),
        ],
        "nist": [
            ("xnist-images-idx3-ubyte.xz", "7f124b3b8ab81486c9d8c2749c17f834"),
            ("xnist-labels-idx2-int.xz", "5ed0e788978e45d4a8bd4b7caec3d79d"),
        ],
    }

    def __init__(
        self, root: StrPath, what: str | None = None, compat: bool = True, train: bool = True, **kwargs: Any
    ) -> None:
        if what is None:
            what = "train" if train else "test"
        self.what = verify_str_arg(what, "what", self.subsets)
        self.compat = compat
        self.resources = self._files[self.subsets[what]]  # type: ignore[misc]
        super().__init__(root, train, **kwargs)
        part = {"test10k": slice(10000), "test50k": slice(10000, None)}.get(what, slice(None))
        self.data, self.targets = self.data[part], self.targets[part]

    def _names(self) -> tuple[str, str]:
        pictures, labels = (name.rpartition(".")[0] for name, _ in self.resources)
        return pictures, labels

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return (picture, class), or (picture, the eight numbers)."""
        target = self.targets[index]
        picture = Image.fromarray(self.data[index].numpy())
        return self._apply(picture, int(target[0]) if self.compat else target)

    def extra_repr(self) -> str:
        """Return the line that names the part."""
        return f"Split: {self.what}"
