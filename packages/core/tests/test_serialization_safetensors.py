"""weft.serialization.safetensors: the format of the safetensors package, both ways."""

import json
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.serialization import safetensors
from weft.serialization.safetensors import SafetensorError
from weft.storage import mapping_of

PACKAGE = Path(__file__).parent / "checkpoints" / "package.safetensors"  # made by safetensors 0.8
DTYPES = "uint64 int64 float64 complex64 float32 uint32 int32 bfloat16 float16 uint16 int16 int8 uint8 bool".split()
METADATA = {"k": "v", "j": "ä"}


def of_the_package():
    """The tensors that the package's file has."""
    tensors = {name: weft.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(weft, name)) for name in DTYPES}
    tensors.update({"e2": weft.empty(0), "empty": weft.empty(0, 3), "scalar": weft.tensor(3.5)})
    tensors['ünï"c\n'] = weft.ones(2)
    return tensors


def file_of(header, content=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def assert_same(loaded, expected):
    assert loaded.keys() == expected.keys()
    for name, tensor in loaded.items():
        assert tensor.dtype is expected[name].dtype
        assert tensor.shape == expected[name].shape
        assert tensor.tolist() == expected[name].tolist()


@pytest.mark.parametrize("backend", ["mmap", "pread"])
def test_a_file_of_the_package_is_read(backend):
    assert_same(safetensors.load_file(PACKAGE, backend=backend), of_the_package())
    with safetensors.safe_open(PACKAGE, backend=backend) as file:
        assert file.metadata() == METADATA
        assert file.keys() == sorted(of_the_package())


def test_the_content_of_a_file_is_read():
    assert_same(safetensors.load(PACKAGE.read_bytes()), of_the_package())


def test_the_same_bytes_are_written_as_by_the_package():
    with safetensors.safe_open(PACKAGE) as file:
        metadata = file.metadata()  # in its order there, which the package leaves to chance
    assert safetensors.save(of_the_package(), metadata) == PACKAGE.read_bytes()
    assert safetensors.save({}) == b"\x08" + bytes(7) + b"{}      "


def test_round_trip_by_a_path(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.save_file(of_the_package(), path, METADATA)
    assert_same(safetensors.load_file(str(path)), of_the_package())
    assert os.listdir(tmp_path) == ["model.safetensors"]


@pytest.mark.parametrize("backend", ["mmap", "pread"])
def test_what_is_written_to_loaded_tensors_stays_out_of_the_file(tmp_path, backend):
    path = tmp_path / "model.safetensors"
    safetensors.save_file({"a": weft.zeros(3)}, path)
    loaded = safetensors.load_file(path, backend=backend)
    loaded["a"] += 1
    assert loaded["a"].tolist() == [1.0, 1.0, 1.0]
    assert safetensors.load_file(path)["a"].tolist() == [0.0, 0.0, 0.0]


def test_single_tensors_and_parts_are_read():
    with safetensors.safe_open(PACKAGE, framework="pt") as file:
        assert file.get_tensor("float32").tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        part = file.get_slice("int64")
        assert (part.get_shape(), part.get_dtype()) == ([2, 3], "I64")
        assert part[:, 1:].tolist() == [[1, 2], [4, 5]]
        assert file.offset_keys()[:3] == ["uint64", "int64", "float64"]
        with pytest.raises(SafetensorError, match="no tensor 'nope'"):
            file.get_tensor("nope")
    with pytest.raises(SafetensorError, match="closed"):
        file.get_tensor("float32")


def test_arrays_are_read():
    with safetensors.safe_open(PACKAGE, framework="np") as file:
        np.testing.assert_array_equal(file.get_tensor("int16"), np.arange(6, dtype=np.int16).reshape(2, 3))


def test_tensors_at_odd_places_are_read(tmp_path):
    """The format does not ask for alignment."""
    entries = {
        "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]},
    }
    path = tmp_path / "odd.safetensors"
    path.write_bytes(file_of(entries, b"\x07" + struct.pack("<2f", 1.5, 2.5)))
    assert safetensors.load_file(path)["b"].tolist() == [1.5, 2.5]


def test_tied_weights_are_written_once(tmp_path):
    nn = pytest.importorskip("weft.nn")

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(5, 3)
            self.output = nn.Linear(3, 5, bias=False)
            self.output.weight = self.embedding.weight

    model, other = Tied(), Tied()
    path = tmp_path / "model.safetensors"
    with pytest.raises(RuntimeError, match=r"^save_file: 'embedding.weight' and 'output.weight' share memory"):
        safetensors.save_file(model.state_dict(), path)
    safetensors.save_model(model, path)
    with safetensors.safe_open(path) as file:
        assert file.keys() == ["embedding.weight"]
        assert file.metadata() == {"output.weight": "embedding.weight"}
    assert safetensors.load_model(other, path) == ([], [])
    assert weft.equal(other.output.weight, model.embedding.weight)
    assert other.output.weight is other.embedding.weight


def test_a_file_that_does_not_fit_the_model_is_refused(tmp_path):
    nn = pytest.importorskip("weft.nn")
    path = tmp_path / "model.safetensors"
    safetensors.save_file({"weight": weft.ones(1, 2), "other": weft.ones(1)}, path)
    with pytest.raises(RuntimeError, match=r"^load_model: .*missing \['bias'\], unexpected \['other'\]"):
        safetensors.load_model(nn.Linear(2, 1), path)
    assert safetensors.load_model(nn.Linear(2, 1), path, strict=False) == (["bias"], ["other"])


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ([1], "expected a dict from names to tensors, got list"),
        ({1: weft.ones(1)}, "1 is no name"),
        ({"__metadata__": weft.ones(1)}, "'__metadata__' is no name"),
        ({"a": 3}, "'a' is to be a tensor, got int"),
        ({"a": weft.ones(2, 3).t()}, "'a' is not contiguous"),
        ({"a": weft.ones(2, dtype=weft.complex128)}, "'a' has dtype weft.complex128"),
        ({"a": weft.sparse_coo_tensor([[0]], [1.0], (2,))}, "'a' is sparse"),
    ],
)
def test_what_the_format_does_not_have_is_refused(tensors, message):
    with pytest.raises(ValueError, match=f"^save: {message}"):
        safetensors.save(tensors)


def test_metadata_are_texts():
    with pytest.raises(ValueError, match=r"^save: metadata is a dict from str to str"):
        safetensors.save({}, {"a": 1})


def described(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"a": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 7,
        b"\xff" * 8 + b"{}",
        struct.pack("<Q", 100) + b"{}",
        file_of(b"[]"),
        file_of(b"{"),
        file_of(b"\xff\xff"),
        file_of(b"[" * 200_000),
        file_of(b'{"a":' + b"9" * 5000 + b"}"),
        file_of(b'{"a":1,"a":1}'),
        file_of({"a": 1}),
        file_of({"a": {}}),
        file_of({"__metadata__": {"a": 1}}),
        file_of({"__metadata__": [1]}),
        file_of({}, b"rest"),
        file_of(described()),
        file_of(described(), bytes(8)),
        file_of(described(offsets=(4, 8)), bytes(8)),
        file_of(described(offsets=(4, 0)), bytes(4)),
        file_of(described(offsets=(0, 4, 8)), bytes(4)),
        file_of(described(offsets=(False, 4)), bytes(4)),
        file_of(described(offsets=(0, 1e308)), bytes(4)),
        file_of(described(shape=(-1, -1)), bytes(4)),
        file_of(described(shape=(1 << 62, 4)), bytes(4)),
        file_of(described(shape=(0, 1 << 63, 1 << 63), offsets=(0, 0))),
        file_of(described(shape=(1,) * 65), bytes(4)),
        file_of(described(shape=(1.0,)), bytes(4)),
        file_of(described(dtype="F6_E3M2", offsets=(0, 1)), bytes(1)),
        file_of(described(dtype=["F32"]), bytes(4)),
        file_of({**described(), "b": described()["a"]}, bytes(4)),
    ],
)
def test_damaged_files_are_refused(data, tmp_path):
    with pytest.raises(SafetensorError, match=r"^load: "):
        safetensors.load(data)
    path = tmp_path / "damaged.safetensors"
    path.write_bytes(data)
    with pytest.raises(SafetensorError, match=r"^load: "):
        safetensors.load_file(path)


def test_load_says_which_function_reads_such_a_file():
    with pytest.raises(pickle.UnpicklingError, match=r"^load: .*safetensors\.load_file"):
        weft.load(PACKAGE)


def test_wrong_options_are_named():
    with pytest.raises(SafetensorError, match=r"^safe_open: framework"):
        safetensors.safe_open(PACKAGE, framework="tf")
    with pytest.raises(SafetensorError, match=r"^safe_open: backend"):
        safetensors.load_file(PACKAGE, backend="guess")
    with pytest.raises(FileNotFoundError):
        safetensors.load_file("no such file")


def test_a_part_of_a_mapped_file_is_not_read_until_it_is_used(tmp_path):
    """safe_open of the safetensors package takes each tensor out of the mapped file so."""
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(64, dtype=np.float32).tobytes())
    storage = weft.UntypedStorage.from_file(str(path), shared=False, nbytes=256)
    part = weft.asarray(storage[64:192], dtype=weft.uint8).view(weft.float32)
    assert part.tolist() == list(range(16, 48))
    assert mapping_of(part._array) is mapping_of(storage._array) is not None
    part[0] = -1  # the program's own: the file stays
    assert weft.asarray(storage, dtype=weft.uint8).view(weft.float32)[16] == -1
    assert np.fromfile(path, np.float32)[16] == 16


def test_a_slice_of_a_storage_shares_its_memory():
    storage = weft.tensor([1, 2, 3, 4], dtype=weft.uint8).untyped_storage()
    part = storage[1:3]
    part[0] = 9
    assert (storage.tolist(), part.nbytes(), storage[3:1].nbytes()) == ([1, 9, 3, 4], 2, 0)
    with pytest.raises(RuntimeError, match="got a step of 2"):
        storage[::2]
