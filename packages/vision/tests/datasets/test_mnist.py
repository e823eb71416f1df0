"""IDX files as MNIST has them: read, checked, explained, fetched."""

import gzip
import struct

import numpy as np
import pytest

import weft
from weft.vision.datasets import EMNIST, KMNIST, MNIST
from weft.vision.datasets.mnist import read_idx, read_image_file, read_label_file
from weft.vision.datasets.utils import calculate_md5, check_integrity, download_url

CODES = {"uint8": 0x08, "int8": 0x09, "int16": 0x0B, "int32": 0x0C, "float32": 0x0D, "float64": 0x0E}


def idx(array):
    head = struct.pack(f">HBB{array.ndim}I", 0, CODES[array.dtype.name], array.ndim, *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture
def root(tmp_path):
    """A folder with five training and three test pictures; the test files are compressed."""
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for part, count, suffix in (("train", 5, ""), ("t10k", 3, ".gz")):
        pack = gzip.compress if suffix else bytes
        images = np.arange(count * 784, dtype=np.int64).reshape(count, 28, 28).astype(np.uint8)
        (raw / f"{part}-images-idx3-ubyte{suffix}").write_bytes(pack(idx(images)))
        (raw / f"{part}-labels-idx1-ubyte{suffix}").write_bytes(pack(idx(np.arange(count, dtype=np.uint8))))
    return tmp_path


@pytest.mark.parametrize("dtype", CODES)
def test_read_idx_restores_every_dtype_in_native_order(tmp_path, dtype):
    array = np.arange(-3, 9).reshape(3, 2, 2).astype(dtype)
    (tmp_path / "file").write_bytes(idx(array))
    found = read_idx(tmp_path / "file")
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with nothing"),
        (b"\x89PNG....", "not an IDX file: it begins with 89 50 4e 47"),
        (b"\0\0\x07\x01" + bytes(8), "not an IDX file"),
        (idx(np.zeros((4, 4), np.uint8))[:-1], r"27 bytes, but shape \(4, 4\) of uint8 needs 28"),
        (idx(np.zeros(4, np.uint8)) + b"x", "13 bytes, but"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "needs 79,228,162,458,924,105,385,300,197,391"),
        (gzip.compress(idx(np.zeros(400, np.uint8)), mtime=0)[:-4], "damaged gzip file"),
    ],
)
def test_read_idx_says_what_is_wrong_with_a_file(tmp_path, content, message):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(tmp_path / "file")


def test_mnist_reads_plain_and_compressed_files(root):
    train, test = MNIST(root), MNIST(str(root), train=False)
    assert (len(train), len(test)) == (5, 3)
    assert train.data.dtype is weft.uint8
    assert train.targets.dtype is weft.int64
    picture, target = train[2]
    assert (picture.mode, picture.size, picture.getpixel((1, 0)), target) == ("L", (28, 28), 2 * 784 % 256 + 1, 2)
    assert train.class_to_idx["3 - three"] == 3
    assert "Split: Test" in repr(test)


def test_a_missing_file_is_named_with_the_remedy(root):
    with pytest.raises(RuntimeError, match=r"KMNIST: there is no .*train-images-idx3-ubyte.*download=True"):
        KMNIST(root)


def test_a_damaged_published_file_is_compared_with_its_checksum(root):
    path = root / "MNIST" / "raw" / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"damaged gzip file.*\n.*9fb629c4189551a2d022fa330f9573f3"):
        MNIST(root, train=False)


def test_pictures_and_classes_must_be_equally_many(root):
    (root / "MNIST" / "raw" / "train-labels-idx1-ubyte").write_bytes(idx(np.zeros(4, np.uint8)))
    with pytest.raises(ValueError, match="do not belong together"):
        MNIST(root)


def test_download_fetches_checks_and_keeps(root, tmp_path, monkeypatch):
    source = root / "MNIST" / "raw"
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        (source / f"{name}.gz").write_bytes(gzip.compress((source / name).read_bytes()))
    names = [name for name, _ in MNIST.resources]
    monkeypatch.setattr(MNIST, "mirrors", ["file:///nowhere/", source.as_uri() + "/"])
    monkeypatch.setattr(MNIST, "resources", [(name, calculate_md5(source / name)) for name in names])
    fetched = MNIST(tmp_path / "new", download=True)
    assert len(fetched) == 5
    assert sorted(path.name for path in fetched.raw_folder.iterdir()) == sorted(names)


def test_a_download_with_another_checksum_is_refused_and_leaves_nothing(tmp_path):
    (tmp_path / "source").write_bytes(b"changed")
    with pytest.raises(RuntimeError, match=r"expected \"0000[^\n]*\nFetch it by another way and put it at"):
        download_url((tmp_path / "source").as_uri(), tmp_path / "to", "file", md5="0" * 32)
    assert list((tmp_path / "to").iterdir()) == []


def test_check_integrity_knows_the_published_md5_of_abc(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    assert check_integrity(tmp_path / "file", "900150983cd24fb0d6963f7d28e17f72")  # RFC 1321, appendix A.5
    assert not check_integrity(tmp_path / "file", "0" * 32)
    assert not check_integrity(tmp_path / "other")


def test_emnist_has_the_classes_of_its_splits(tmp_path):
    raw = tmp_path / "EMNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "emnist-letters-train-images-idx3-ubyte").write_bytes(idx(np.zeros((2, 28, 28), np.uint8)))
    (raw / "emnist-letters-train-labels-idx1-ubyte").write_bytes(idx(np.array([1, 26], np.uint8)))
    letters = EMNIST(tmp_path, "letters")
    assert [letters.classes[target] for _, target in letters] == ["a", "z"]
    assert [len(EMNIST._classes_of(split)) for split in EMNIST.splits] == [62, 47, 47, 27, 10, 10]
    with pytest.raises(ValueError, match="split must be one of byclass"):
        EMNIST(tmp_path, "small")


def test_files_are_read_as_tensors_of_the_right_kind(root):
    raw = root / "MNIST" / "raw"
    images, labels = raw / "train-images-idx3-ubyte", raw / "train-labels-idx1-ubyte"
    assert (read_image_file(images).shape, read_label_file(labels).dtype) == ((5, 28, 28), weft.int64)
    with pytest.raises(ValueError, match="3 dimensions; it has 1"):
        read_image_file(labels)
    labels.write_bytes(idx(np.zeros(5, np.int32)))
    with pytest.raises(TypeError, match="uint8 values"):
        read_label_file(labels)
