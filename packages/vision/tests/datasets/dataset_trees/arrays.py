"""Pictures in arrays: binary files, tables and containers."""

import bz2
import gzip
import lzma
import pickle
import struct
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from dataset_trees._cases import noise, picture, text, tree
from dataset_trees.labelled import scipy_io

IDX_CODES = {"uint8": 0x08, "int8": 0x09, "int16": 0x0B, "int32": 0x0C, "float32": 0x0D, "float64": 0x0E}


def idx(array: np.ndarray) -> bytes:
    """The bytes of an IDX file."""
    head = struct.pack(f">HBB{array.ndim}I", 0, IDX_CODES[array.dtype.name], array.ndim, *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def mnist(root: Path, name: str = "MNIST") -> None:
    raw = root / name / "raw"
    raw.mkdir(parents=True)
    for part, count in (("train", 4), ("t10k", 3)):
        (raw / f"{part}-images-idx3-ubyte").write_bytes(idx(noise(part, count, 28, 28).astype(np.uint8)))
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(idx(noise(part, count, below=10).astype(np.uint8)))


@tree("MNIST", 4)
@tree("MNIST", 3, train=False)
def mnist_itself(root: Path) -> None:
    mnist(root)


@tree("FashionMNIST", 4)
def fashion_mnist(root: Path) -> None:
    mnist(root, "FashionMNIST")


@tree("KMNIST", 3, train=False)
def kmnist(root: Path) -> None:
    mnist(root, "KMNIST")


@tree("EMNIST", 3, split="letters")
@tree("EMNIST", 3, split="balanced", train=False)
def emnist(root: Path) -> None:
    raw = root / "EMNIST" / "raw"
    raw.mkdir(parents=True)
    for part in ("letters-train", "balanced-test"):
        (raw / f"emnist-{part}-images-idx3-ubyte").write_bytes(idx(noise(part, 3, 28, 28).astype(np.uint8)))
        (raw / f"emnist-{part}-labels-idx1-ubyte").write_bytes(idx(noise(part, 3, below=26).astype(np.uint8)))


@tree("QMNIST", 3)
@tree("QMNIST", 3, compat=False)
@tree("QMNIST", 3, what="nist")
@tree("QMNIST", 3, what="test10k")
@tree("QMNIST", 0, what="test50k")
def qmnist(root: Path) -> None:
    raw = root / "QMNIST" / "raw"
    raw.mkdir(parents=True)
    for part in ("qmnist-train", "qmnist-test", "xnist"):
        (raw / f"{part}-images-idx3-ubyte").write_bytes(idx(noise(part, 3, 28, 28).astype(np.uint8)))
        (raw / f"{part}-labels-idx2-int").write_bytes(idx(noise(part, 3, 8, below=10).astype(np.int32)))


def packed_qmnist(root: Path) -> None:
    """The same, compressed as it is published; weft alone reads that."""
    qmnist(root)
    raw = root / "QMNIST" / "raw"
    for path in list(raw.iterdir()):
        pack, ending = (lzma.compress, ".xz") if path.name.startswith("xnist") else (gzip.compress, ".gz")
        (raw / f"{path.name}{ending}").write_bytes(pack(path.read_bytes()))
        path.unlink()


@tree("CIFAR10", 10)
@tree("CIFAR10", 2, train=False)
def cifar10(root: Path) -> None:
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    batches(root / "cifar-10-batches-py", names, "labels", ("batches.meta", "label_names"))


@tree("CIFAR100", 2)
@tree("CIFAR100", 2, train=False)
def cifar100(root: Path) -> None:
    batches(root / "cifar-100-python", ["train", "test"], "fine_labels", ("meta", "fine_label_names"))


def batches(folder: Path, names: list[str], labels: str, meta: tuple[str, str]) -> None:
    """Write CIFAR's pickles, as Python 2 wrote them."""
    folder.mkdir()
    for name in names:
        batch = {"data": noise(name, 2, 3072).astype(np.uint8), labels: noise(name, 2, below=2).tolist()}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
    (folder / meta[0]).write_bytes(pickle.dumps({meta[1]: ["airplane", "bird"]}, protocol=2))


@tree("MovingMNIST", 3)
@tree("MovingMNIST", 3, split="train", split_ratio=15)
@tree("MovingMNIST", 3, split="test")
def moving_mnist(root: Path) -> None:
    (root / "MovingMNIST").mkdir()
    np.save(root / "MovingMNIST" / "mnist_test_seq.npy", noise("moving", 20, 3, 8, 8).astype(np.uint8))


@tree("PCAM", 3, needs="h5py", split="val")
def pcam(root: Path) -> None:
    import h5py

    (root / "pcam").mkdir()
    for kind, array in (("x", noise("x", 3, 96, 96, 3)), ("y", noise("y", 3, 1, 1, 1, below=2))):
        with h5py.File(root / "pcam" / f"camelyonpatch_level_2_split_valid_{kind}.h5", "w") as file:
            file[kind] = array.astype(np.uint8)


@tree("PhotoTour", 8, name="liberty")
@tree("PhotoTour", 3, name="liberty", train=False)
def phototour(root: Path) -> None:
    for number in range(2):
        picture(root / "liberty" / f"patches{number:04d}.bmp", 128, 128, channels=1)
    text(root / "liberty" / "info.txt", *(f"{number // 2} 0" for number in range(8)))
    text(root / "liberty" / "m50_100000_100000_0.txt", "0 0 0 1 0 0", "2 1 0 5 2 0", "6 3 0 7 3 0")


@tree("SEMEION", 3, download=False)
def semeion(root: Path) -> None:
    rows = []
    for number in range(3):
        pixels = " ".join(f"{value:.4f}" for value in noise(f"semeion{number}", 256, below=2))
        rows.append(f"{pixels} {' '.join(str(int(column == 3 * number)) for column in range(10))} ")
    text(root / "semeion.data", *rows)


@tree("STL10", 3)
@tree("STL10", 2, folds=1)
@tree("STL10", 2, split="test")
@tree("STL10", 4, split="unlabeled")
@tree("STL10", 7, split="train+unlabeled")
def stl10(root: Path) -> None:
    folder = root / "stl10_binary"
    folder.mkdir()
    for part, count in (("train", 3), ("test", 2), ("unlabeled", 4)):
        (folder / f"{part}_X.bin").write_bytes(noise(part, count, 3, 96, 96).astype(np.uint8).tobytes())
        if part != "unlabeled":
            (folder / f"{part}_y.bin").write_bytes((noise(part, count, below=10) + 1).astype(np.uint8).tobytes())
    text(folder / "class_names.txt", "airplane", "bird")
    text(folder / "fold_indices.txt", "0 1 ", "2 0 ")


@tree("SVHN", 3, needs="scipy")
@tree("SVHN", 3, needs="scipy", split="extra")
def svhn(root: Path) -> None:
    for part in ("train", "extra"):
        content = {"X": noise(part, 32, 32, 3, 3).astype(np.uint8), "y": np.array([[10], [1], [9]], np.uint8)}
        scipy_io().savemat(root / f"{part}_32x32.mat", content)


@tree("USPS", 2)
@tree("USPS", 1, train=False)
def usps(root: Path) -> None:
    for name, labels in (("usps.bz2", (1, 10)), ("usps.t.bz2", (7,))):
        rows = [
            f"{label} " + " ".join(f"{k + 1}:{v / 1000 - 1:.4f}" for k, v in enumerate(noise(label, 256, below=2001)))
            for label in labels
        ]
        (root / name).write_bytes(bz2.compress("\n".join(rows).encode() + b"\n"))


@tree("LSUN", 3, classes=["bedroom_train", "tower_val"])
def lsun(root: Path) -> None:
    for name, count in (("bedroom_train", 2), ("tower_val", 1)):
        lmdb(root / f"{name}_lmdb", {f"{name}{number}".encode(): jpeg(f"{name}{number}") for number in range(count)})


@tree("LSUNClass", 2)
def lsun_class(root: Path) -> None:
    lmdb(root, {key.encode(): jpeg(key) for key in ("bedroom0", "bedroom1")})


def jpeg(seed: str, size: int = 48) -> bytes:
    """A picture's file, larger than half a page of LMDB."""
    buffer = BytesIO()
    Image.fromarray(noise(seed, size, size, 3).astype(np.uint8)).save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def lmdb(folder: Path, content: dict[bytes, bytes]) -> None:
    """Write an LMDB file of one leaf, whose values are in overflow pages, as liblmdb 0.9 does on 64 bits."""
    size = 4096
    folder.mkdir(exist_ok=True)
    nodes, overflow, page = [], b"", 3
    for key, value in sorted(content.items()):
        pages = -(-(len(value) + 16) // size)
        head = struct.pack("<QHHI", page, 0, 0x04, pages)
        overflow += (head + value).ljust(pages * size, b"\0")
        node = (
            struct.pack("<HHHH", len(value) & 0xFFFF, len(value) >> 16, 0x01, len(key)) + key + struct.pack("<Q", page)
        )
        nodes.append(node + b"\0" * (len(node) % 2))
        page += pages
    leaf, offsets = bytearray(size), []
    end = size
    for node in nodes:
        end -= len(node)
        leaf[end : end + len(node)] = node
        offsets.append(end)
    lower = 16 + 2 * len(nodes)
    leaf[:16] = struct.pack("<QHHHH", 2, 0, 0x02, lower, end)
    leaf[16:lower] = struct.pack(f"<{len(offsets)}H", *offsets)
    free = struct.pack("<IHHQQQQQ", size, 0, 0, 0, 0, 0, 0, 2**64 - 1)
    tree = struct.pack("<IHHQQQQQ", 0, 0, 1, 0, 1, page - 3, len(content), 2)
    metas = b""
    for number, main in enumerate((free, tree)):  # of an older and a newer transaction
        meta = struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, 1 << 20) + free + main + struct.pack("<QQ", page - 1, number)
        metas += (struct.pack("<QHHHH", number, 0, 0x08, 0, 0) + meta).ljust(size, b"\0")
    (folder / "data.mdb").write_bytes(metas + bytes(leaf) + overflow)
