"""weft.save and weft.load: PyTorch's files both ways, and what a file may not do."""

import contextlib
import copy
import copyreg
import gzip
import importlib
import io
import os
import pickle
import pickletools
import stat
import struct
import sys
import types
import zipfile
import zlib
from collections import Counter, OrderedDict, defaultdict
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

import weft
from weft._subclasses.fake_tensor import FakeTensorMode
from weft.serialization._budget import Budget
from weft.serialization._hashing import Table
from weft.serialization._scan import _globals

CHECKPOINTS = Path(__file__).parent / "checkpoints"  # made by PyTorch 2.13
DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bfloat16 uint16 uint32 uint64"


def saved(value, old=False, **options):
    file = io.BytesIO()
    weft.save(value, file, _use_new_zipfile_serialization=not old, **options)
    file.seek(0)
    return file


def round_trip(value, old=False, **options):
    return weft.load(saved(value, old=old), **options)


def archive_of(pickled, records=(), name="archive"):
    """A .pt file with this pickle: what an attacker would write."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{name}/data.pkl", pickled)
        for record, content in dict(records).items():
            archive.writestr(f"{name}/{record}", content)
    file.seek(0)
    return file


def as_numpy(tensor):
    return tensor.detach().to(weft.float32).numpy() if tensor.dtype is weft.bfloat16 else tensor.detach().numpy()


# Files of PyTorch


def test_every_dtype_of_a_pytorch_file_is_read():
    loaded = weft.load(CHECKPOINTS / "dtypes.pt")
    assert list(loaded) == DTYPES.split()
    for name, tensor in loaded.items():
        expected = np.array([[0, 1, 2], [3, 4, 5]])
        assert tensor.dtype is getattr(weft, name)
        np.testing.assert_array_equal(as_numpy(tensor), expected.astype(bool) if name == "bool" else expected)


def test_a_nested_pytorch_file_is_read():
    loaded = weft.load(str(CHECKPOINTS / "nested.pt"))
    state = loaded["state"]
    assert type(state) is OrderedDict
    assert state._metadata == OrderedDict({"": {"version": 1}})
    assert state["weight"].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert loaded["element"].shape == ()
    assert loaded["element"].item() == 6.0
    assert loaded["empty"].shape == (0, 3)
    assert loaded["empty"].stride() == (3, 1)
    assert loaded["leaf"].requires_grad
    assert loaded["conj"].tolist() == [1 - 2j, 3 + 1j]
    assert loaded["nested"] == [1, (2.5, None), {"a": {True}}, "text", b"bytes", 1 << 70, 3j]
    assert loaded["size"] == weft.Size([2, 3])
    assert type(loaded["size"]) is weft.Size
    assert loaded["dtype"] is weft.bfloat16
    assert loaded["device"] == weft.device("cuda", 1)


def test_views_in_a_pytorch_file_share_memory():
    loaded = weft.load(CHECKPOINTS / "nested.pt")
    base, view = loaded["base"], loaded["view"]
    assert (view.shape, view.stride(), view.storage_offset()) == ((3, 2), (1, 8), 1)
    assert view.untyped_storage() == base.untyped_storage()
    base[2, 1] = 100.0
    assert view[0, 1].item() == 100.0


def test_a_file_of_before_pytorch_1_6_is_read():
    for options in ({}, {"weights_only": False}):
        loaded = weft.load(CHECKPOINTS / "before_1_6.pt", **options)
        assert loaded["w"].tolist() == np.arange(12.0).reshape(3, 4).tolist()
        assert loaded["h"].dtype is weft.bfloat16
        assert loaded["u"].tolist() == [7]
        loaded["w"][1, 0] = -1.0
        assert loaded["v"][0, 0].item() == -1.0


def test_sparse_tensors_of_a_pytorch_file_are_read():
    loaded = weft.load(CHECKPOINTS / "sparse.pt")
    pairs, ordered, hybrid = loaded["pairs"], loaded["ordered"], loaded["hybrid"]
    assert pairs.layout is loaded["layout"] is weft.sparse_coo
    assert loaded["dense"] is weft.strided
    assert (pairs.is_coalesced(), ordered.is_coalesced()) == (False, True)
    assert pairs.to_dense().tolist() == ordered.to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]
    assert hybrid.to_dense().tolist() == [[[0, 0], [0, 0], [0, 1]], [[2, 3], [0, 0], [4, 5]]]
    assert loaded["none"].to_dense().tolist() == [[0, 0, 0], [0, 0, 0]]


def test_what_an_old_file_stores_lazily_is_computed_from_its_content():
    """There the numbers come after everything that is made of them."""
    loaded = weft.load(CHECKPOINTS / "before_1_6_lazy.pt")
    assert loaded["conj"].tolist() == [1 - 2j, 3 + 1j]
    assert loaded["neg"].tolist() == [-2.0, 1.0]
    assert loaded["pairs"].to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]


@pytest.mark.parametrize("options", [{}, {"weights_only": False}], ids=["safe", "full"])
def test_a_file_of_pytorchs_first_months_is_read(options):
    """Written by hand, after what PyTorch reads: nothing writes this format today."""
    loaded = weft.load(CHECKPOINTS / "first_months.tar", **options)
    assert list(loaded) == ["w", "t", "c", "part", "plain"]
    assert loaded["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert loaded["c"].tolist() == [0, 1, 2]
    assert loaded["plain"] == [1, "x"]
    loaded["w"][1, 0] = 100.0
    assert (loaded["t"][0, 1].item(), loaded["part"][0].item()) == (100.0, 100.0)


def test_a_tar_archive_that_is_cut_short_or_another_is_refused():
    whole = (CHECKPOINTS / "first_months.tar").read_bytes()
    with pytest.raises(RuntimeError, match=r"^load: .*damaged or truncated"):
        weft.load(io.BytesIO(whole[:530]))
    with pytest.raises(RuntimeError, match=r"^load: .*no checkpoint; it holds \['storages'\]"):
        weft.load(io.BytesIO(whole[:1024]))
    far = whole.replace(struct.pack("<q", 3) + struct.pack("<q", 1), struct.pack("<q", 3) + struct.pack("<q", 9))
    with pytest.raises(pickle.UnpicklingError, match=r"^load: .*stride"):
        weft.load(io.BytesIO(far))


def test_parameters_of_a_pytorch_file_need_nn():
    try:
        from weft.nn import Parameter
    except (ImportError, AttributeError):
        with pytest.raises((pickle.UnpicklingError, AttributeError), match="pip install weft-nn"):
            weft.load(CHECKPOINTS / "parameters.pt")
        return
    loaded = weft.load(CHECKPOINTS / "parameters.pt")
    assert type(loaded["p"]) is Parameter
    assert (loaded["p"].requires_grad, loaded["frozen"].requires_grad) == (True, False)
    again = round_trip(loaded)
    assert type(again["frozen"]) is Parameter
    assert not again["frozen"].requires_grad


def test_the_pickle_is_the_one_that_pytorch_writes():
    """PyTorch's own file of a state dict, and weft's, name the same things in the same order."""
    with zipfile.ZipFile(CHECKPOINTS / "nested.pt") as archive:
        theirs = archive.read("nested/data.pkl")
    loaded = weft.load(CHECKPOINTS / "nested.pt")
    loaded["device"] = weft.device("cuda", 1)
    with zipfile.ZipFile(saved(loaded)) as archive:
        ours = archive.read("archive/data.pkl")

    def meaning(data):
        skipped = ("PUT", "GET", "STOP", "PROTO")
        return [(op.name, arg) for op, arg, _ in pickletools.genops(data) if not op.name.endswith(skipped)]

    conj = meaning(theirs).index(("BINUNICODE", "conj"))  # from there on: PyTorch conjugates lazily
    assert meaning(ours)[: conj - 30] == meaning(theirs)[: conj - 30]


# Round trips


@pytest.mark.parametrize("name", DTYPES.split())
def test_round_trip_keeps_dtype_strides_and_sharing(name):
    base = weft.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(weft, name))
    view = base.t()[1:]
    again, again_view = round_trip((base, view))
    assert again.dtype is base.dtype
    np.testing.assert_array_equal(as_numpy(again), as_numpy(base))
    assert (again_view.stride(), again_view.storage_offset()) == (view.stride(), view.storage_offset())
    assert again_view.untyped_storage() == again.untyped_storage()


def test_round_trip_keeps_containers():
    value = {
        "list": [1, 2.5, None, True, "text", b"bytes", bytearray(b"array"), 1 << 80, -3, 2j, ...],
        "sets": ({1, 2}, frozenset([3])),
        "ordered": OrderedDict(b=1, a=2),
        "counter": Counter("aab"),
        "default": defaultdict(list, {"a": [1]}),
        "slice": slice(1, None, 2),
        "range": range(3),
        ("a", 1): weft.Size([1, 2]),
        "types": [int, weft.float16, weft.device("cpu")],
    }
    again = round_trip(value)
    assert again == value
    assert again["default"].default_factory is list


def test_round_trip_keeps_numpy_numbers_and_arrays():
    value = [np.float64(1.5), np.int64(3), np.bool_(True), np.arange(6).reshape(2, 3), np.ones((2, 2), order="F")]
    again = round_trip(value)
    assert [type(x) for x in again] == [type(x) for x in value]
    for one, other in zip(again, value):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("old", [False, True], ids=["zip", "before 1.6"])
def test_round_trip_keeps_sparse_tensors(old):
    pairs = weft.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3))
    again, ordered, kind = round_trip((pairs, pairs.coalesce(), weft.sparse_coo), old=old)
    assert kind is weft.sparse_coo
    assert (again.is_coalesced(), ordered.is_coalesced()) == (False, True)
    assert (again._nnz(), ordered._nnz()) == (3, 2)
    assert again.to_dense().tolist() == ordered.to_dense().tolist() == [[0, 0, 3], [9, 0, 0]]


def test_round_trip_by_the_format_of_before_pytorch_1_6():
    base = weft.arange(12.0).reshape(3, 4)
    value = {name: weft.tensor([0, 1, 2]).to(getattr(weft, name)) for name in DTYPES.split()}
    value.update({"base": base, "view": base.t()[1:], "plain": [1, "a", {2}], "empty": weft.empty(0, 3)})
    for options in ({}, {"weights_only": False}):
        again = round_trip(value, old=True, **options)
        assert str(again) == str(value)
        assert (again["view"].stride(), again["view"].storage_offset()) == ((1, 4), 1)
        again["base"][0, 1] = 100.0
        assert again["view"][0, 0].item() == 100.0


def test_old_files_begin_as_pytorch_writes_them():
    theirs, ours = (CHECKPOINTS / "before_1_6.pt").read_bytes(), saved([weft.ones(1)], old=True).getvalue()
    assert ours[:20] == theirs[:20]
    header = io.BytesIO(ours)
    assert [pickle.load(header) for _ in range(2)] == [0x1950A86A20F9469CFC6C, 1001]
    assert ours.endswith(struct.pack("<q", 1) + np.ones(1, "<f4").tobytes())


def test_whole_modules_and_optimizers_come_back_when_everything_is_allowed():
    nn, optim = pytest.importorskip("weft.nn"), pytest.importorskip("weft.optim")
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    model(weft.ones(2, 2)).sum().backward()
    optimizer.step()
    again, again_optimizer = round_trip((model, optimizer), weights_only=False)
    assert str(again) == str(model)
    assert str(again.state_dict()) == str(model.state_dict())
    assert str(again_optimizer.state_dict()) == str(optimizer.state_dict())
    assert again_optimizer.param_groups[0]["params"][0] is again[0].weight


def test_self_containing_lists_and_shared_objects_come_back():
    shared = [weft.ones(1)]
    value = {"a": shared, "b": shared, "self": []}
    value["self"].append(value["self"])
    again = round_trip(value)
    assert again["a"] is again["b"]
    assert again["self"][0] is again["self"]


def test_history_is_not_saved():
    x = weft.ones(2, requires_grad=True)
    again = round_trip(x * 2)
    assert again.requires_grad
    assert again.is_leaf


def test_attributes_of_tensors_are_saved():
    x = weft.ones(2)
    x.note = {"from": "here"}
    assert round_trip(x).note == {"from": "here"}


def test_expanded_tensors_are_saved_once():
    assert round_trip(weft.ones(1).expand(1000)).untyped_storage().nbytes() == 4


def test_storages_are_saved():
    x = weft.arange(3)
    untyped = round_trip(x.untyped_storage())
    assert untyped.tolist() == x.untyped_storage().tolist()


def test_two_dtypes_on_one_storage_are_refused():
    x = weft.zeros(4)
    with pytest.raises(RuntimeError, match=r"^save: .*float32.*int32.*clone"):
        saved([x, x.view(weft.int32)])


def test_the_same_content_gives_the_same_bytes():
    assert saved({"a": weft.ones(3)}).getvalue() == saved({"a": weft.ones(3)}).getvalue()


def test_records_begin_on_multiples_of_64_bytes():
    file = saved({"a": weft.ones(3), "b": weft.zeros(100)})
    for entry in zipfile.ZipFile(file).infolist():
        header = file.getvalue()[entry.header_offset :]
        name, extra = struct.unpack("<2H", header[26:30])
        assert (entry.header_offset + 30 + name + extra) % 64 == 0
    assert zipfile.ZipFile(file).testzip() is None


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_pickle_protocol_is_read_back(protocol):
    value = {"a": weft.ones(2), "set": {1}, "size": weft.Size([1]), "bytes": bytearray(b"x")}
    assert str(weft.load(saved(value, pickle_protocol=protocol))) == str(value)


@pytest.mark.parametrize("wide_from", [100, 1000, 3000])
def test_archives_beyond_4_gigabytes_are_written_as_zip64(monkeypatch, wide_from):
    monkeypatch.setattr("weft.serialization._archive.WIDE_FROM", wide_from)
    file = saved({"a": weft.ones(3), "b": weft.zeros(300)})
    assert zipfile.ZipFile(file).testzip() is None
    assert (b"PK\6\6" in file.getvalue()) == (wide_from < 3000)
    file.seek(0)
    assert weft.load(file)["b"].shape == (300,)


# Where to, where from


def test_a_path_is_replaced_only_when_all_is_written(tmp_path):
    path = tmp_path / "model.pt"
    weft.save([1], path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        weft.save([2, lambda: 0], path)
    assert weft.load(path) == [1]
    assert os.listdir(tmp_path) == ["model.pt"]


def test_a_failing_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.pt"
    weft.save([1], path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        weft.save([2], path)
    monkeypatch.undo()
    assert weft.load(path) == [1]
    assert os.listdir(tmp_path) == ["model.pt"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_permissions_and_links_survive(tmp_path):
    path, link = tmp_path / "model.pt", tmp_path / "latest.pt"
    weft.save([1], path)
    path.chmod(0o640)
    link.symlink_to("model.pt")
    weft.save([2], link)
    assert link.is_symlink()
    assert weft.load(path) == [2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_a_new_file_has_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        weft.save([1], tmp_path / "model.pt")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.pt").stat().st_mode) == 0o640


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"^save: the folder .*nowhere.* does not exist"):
        weft.save([1], tmp_path / "nowhere" / "model.pt")


def test_anything_with_write_can_be_saved_to():
    class Pipe:
        def __init__(self):
            self.parts = []

        def write(self, data):
            self.parts.append(bytes(data[:50]))
            return len(self.parts[-1])

    pipe = Pipe()
    weft.save({"a": weft.arange(100)}, pipe)
    assert weft.load(io.BytesIO(b"".join(pipe.parts)))["a"].tolist() == list(range(100))


class Disturbed(io.BytesIO):
    """A file at whose every write, and every checksum, something else happens."""

    def __init__(self, disturb):
        super().__init__()
        self.disturb = disturb

    def write(self, data):
        written = super().write(data)
        self.disturb()
        return written


@pytest.mark.parametrize("at_once", [1 << 20, 64])
@pytest.mark.parametrize("target", ["file", "path", "old"])
def test_a_tensor_that_is_written_to_meanwhile_is_saved_whole(tmp_path, monkeypatch, target, at_once):
    x, crc32 = weft.zeros(1000), zlib.crc32

    def checksum(*args):
        found = crc32(*args)
        x.add_(1)
        return found

    monkeypatch.setattr("weft.serialization._archive.COPIED_AT_ONCE", at_once)
    file = Disturbed(lambda: x.add_(1)) if target == "file" else tmp_path / "x.pt"
    with monkeypatch.context() as patched:
        patched.setattr("weft.serialization._archive.zlib.crc32", checksum)
        weft.save({"x": x, "y": weft.ones(3)}, file, _use_new_zipfile_serialization=target != "old")
    if target == "file":
        file.seek(0)
    loaded = weft.load(file)
    assert loaded["y"].tolist() == [1] * 3
    assert 0 <= loaded["x"].min() <= loaded["x"].max() <= x.max()
    if at_once > 4000:
        assert loaded["x"].min() == loaded["x"].max()


@pytest.mark.parametrize("begin", [b"", b"before"])
@pytest.mark.parametrize("mode", ["wb", "ab", "r+b", "w+b"])
def test_an_archive_in_an_open_file_is_the_same_by_parts(tmp_path, monkeypatch, mode, begin):
    path, content = tmp_path / "x.pt", {"x": weft.arange(1000), "y": weft.ones(3)}
    with open(path, "wb") as file:
        weft.save(content, file)
    whole = path.read_bytes()
    path.write_bytes(b"")
    monkeypatch.setattr("weft.serialization._archive.COPIED_AT_ONCE", 64)
    with open(path, mode) as file:
        file.write(begin)
        weft.save(content, file)
        file.write(b"behind")
    assert path.read_bytes() == begin + whole + b"behind"


def test_wrong_targets_are_refused():
    with pytest.raises(AttributeError, match=r"^save: expected 'f' to be string, path, .* got int"):
        weft.save([1], 3)
    with pytest.raises(AttributeError, match=r"^load: f must be a path or a file that can seek, got int"):
        weft.load(3)
    with pytest.raises(FileNotFoundError):
        weft.load("no such file.pt")
    with pytest.raises(ValueError, match=r"^load: f must be a file path in order to use the mmap"):
        weft.load(io.BytesIO(b"x"), mmap=True)
    with pytest.raises(EOFError, match=r"^load: the file is empty"):
        weft.load(io.BytesIO())


def test_mapped_tensors_do_not_write_to_the_file(tmp_path):
    path = tmp_path / "model.pt"
    weft.save({"a": weft.arange(10), "b": weft.ones(2), "empty": weft.empty(0)}, path)
    loaded = weft.load(path, mmap=True)
    loaded["a"][0] = 100
    assert loaded["a"].tolist()[:2] == [100, 1]
    assert loaded["a"].untyped_storage().nbytes() == 80
    assert weft.load(path, mmap=True)["a"].tolist()[:2] == [0, 1]


def two_ones_on(location):
    """The file of a program that had another device."""
    pickled = zipfile.ZipFile(saved(weft.ones(2))).read("archive/data.pkl")
    moved = pickled.replace(text(b"cpu"), text(location))
    return archive_of(moved, {"data/0": np.ones(2, np.float32).tobytes()})


def text(content):
    return b"X" + struct.pack("<L", len(content)) + content


@pytest.mark.parametrize(
    "map_location",
    ["cpu", weft.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage],
    ids=["str", "device", "dict", "function"],
)
def test_map_location_moves_storages(map_location):
    file = two_ones_on(b"cuda:0")
    assert weft.load(file, map_location=map_location).tolist() == [1.0, 1.0]


def test_a_device_that_is_not_there_is_explained():
    file = two_ones_on(b"nope:0")
    with pytest.raises(RuntimeError, match=r"^load: .*'nope:0'.*map_location='cpu'"):
        weft.load(file)
    with pytest.raises(TypeError, match=r"^load: map_location"):
        weft.load(saved(1), map_location=3)


def test_files_of_the_other_byte_order_are_read():
    pickled = zipfile.ZipFile(saved(weft.ones(2))).read("archive/data.pkl")
    other = b"big" if sys.byteorder == "little" else b"little"
    swapped = {"data/0": np.ones(2, np.float32).byteswap().tobytes(), "byteorder": other}
    assert weft.load(archive_of(pickled, swapped)).tolist() == [1.0, 1.0]


def test_a_file_that_says_no_byte_order_is_taken_for_little_endian_or_what_is_set():
    little = {"data/0": np.ones(2, "<f4").tobytes()}
    pickled = zipfile.ZipFile(saved(weft.ones(2))).read("archive/data.pkl")
    assert "archive/byteorder" not in zipfile.ZipFile(saved(1, _disable_byteorder_record=True)).namelist()
    assert weft.serialization.get_default_load_endianness() is None
    assert weft.load(archive_of(pickled, little)).tolist() == [1.0, 1.0]
    weft.serialization.set_default_load_endianness(weft.serialization.LoadEndianness.BIG)
    try:
        assert weft.load(archive_of(pickled, {"data/0": np.ones(2, ">f4").tobytes()})).tolist() == [1.0, 1.0]
    finally:
        weft.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match=r"^set_default_load_endianness: "):
        weft.serialization.set_default_load_endianness("big")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no MAP_SHARED")
def test_files_can_be_mapped_so_that_writing_changes_them(tmp_path):
    import mmap

    path = tmp_path / "model.pt"
    weft.save(weft.zeros(2), path)
    with weft.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert weft.serialization.get_default_mmap_options() == mmap.MAP_SHARED
        weft.load(path, mmap=True)[0] = 7.0
    assert weft.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert weft.load(path, mmap=True).tolist() == [7.0, 0.0]
    with pytest.raises(ValueError, match=r"in function set_default_mmap_options, expected .*MAP_PRIVATE"):
        weft.serialization.set_default_mmap_options(12345)


@pytest.mark.parametrize("old", [False, True], ids=["zip", "before 1.6"])
def test_data_can_be_left_out(old):
    with weft.serialization.skip_data():
        file = saved({"a": weft.ones(3)}, old=old)
    assert weft.load(file)["a"].tolist() == [0.0, 0.0, 0.0]
    full = saved({"a": weft.ones(3)}, old=old)
    with weft.serialization.skip_data():
        loaded = weft.load(full)
    assert loaded["a"].shape == (3,)  # of any content


@pytest.mark.parametrize("old", [False, True], ids=["zip", "before 1.6"])
def test_fake_tensors_are_written_as_zeros_where_that_is_asked_for(old):
    with FakeTensorMode():
        fake = weft.ones(2, 3).t().requires_grad_()
    with weft.serialization.skip_data(materialize_fake_tensors=True):
        file = saved({"a": fake, "b": fake}, old=old)
    loaded = weft.load(file)
    assert type(loaded["a"]) is weft.Tensor and loaded["a"] is loaded["b"]
    assert loaded["a"].tolist() == [[0.0, 0.0]] * 3
    assert loaded["a"].stride() == (1, 3) and loaded["a"].requires_grad
    for setting in (contextlib.nullcontext(), weft.serialization.skip_data()):
        with setting, pytest.raises(TypeError, match=r"^save: fake tensors have no values; within .*skip_data"):
            saved(fake, old=old)


def test_other_devices_can_be_registered(monkeypatch):
    monkeypatch.setattr("weft.serialization._locations._packages", [])
    asked = []

    def put(storage, location):
        asked.append(location)
        return storage if location == "attic" else None

    weft.serialization.register_package(20, lambda storage: "cellar", lambda storage, location: None)
    weft.serialization.register_package(10, lambda storage: "attic" if len(storage) == 8 else None, put)
    file = saved([weft.ones(2), weft.ones(2)[:1]])
    assert weft.serialization.location_tag(weft.ones(3).untyped_storage()) == "cellar"
    assert [tensor.tolist() for tensor in weft.load(file)] == [[1.0, 1.0], [1.0]]
    assert asked == ["attic", "attic"]


# What a file may not do


class Touch:
    """Would write a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_file_runs_no_code_unless_asked_to(tmp_path):
    file = saved(Touch(tmp_path / "touched"))
    with pytest.raises(pickle.UnpicklingError, match=r"^load: .*add_safe_globals\(\[io.open\]\).*weights_only=False"):
        weft.load(file)
    assert not (tmp_path / "touched").exists()
    weft.load(file, weights_only=False).close()
    assert (tmp_path / "touched").exists()


def test_listed_classes_are_built():
    file = saved(types.SimpleNamespace(a=weft.ones(1)))
    with pytest.raises(pickle.UnpicklingError, match="SimpleNamespace"):
        weft.load(file)
    with weft.serialization.safe_globals([types.SimpleNamespace]):
        assert weft.load(file).a.tolist() == [1.0]
        assert weft.serialization.get_safe_globals() == [types.SimpleNamespace]
    assert weft.serialization.get_safe_globals() == []
    with weft.serialization.safe_globals([(dict, "types.SimpleNamespace")]), pytest.raises(pickle.UnpicklingError):
        weft.load(file)  # a dict, which takes no state


def test_unsafe_globals_are_listed_without_loading(tmp_path):
    value = [Touch("x"), types.SimpleNamespace(), types.SimpleNamespace(), OrderedDict()]
    for protocol in (2, 4):
        file = saved(value, pickle_protocol=protocol)
        names = weft.serialization.get_unsafe_globals_in_checkpoint(file)
        assert "types.SimpleNamespace" in names
        assert any(name.endswith(".open") for name in names)
        assert len(names) == 2


def test_pickle_module_goes_with_full_loading():
    with pytest.raises(RuntimeError, match=r"^load: Can not safely load weights when explicit pickle_module is"):
        weft.load(saved(1), pickle_module=pickle)
    assert weft.load(saved(1), pickle_module=pickle, weights_only=False) == 1


def test_names_of_pytorch_are_found_when_everything_is_allowed():
    file = archive_of(b"\x80\x02ctorch.serialization\nload\n.")
    assert weft.load(file, weights_only=False) is weft.load
    file.seek(0)
    with pytest.raises(
        pickle.UnpicklingError,
        match=r"GLOBAL torch.serialization.load was not an allowed global.*which weft cannot build",
    ):
        weft.load(file)


def call(module, name, arguments):
    """A pickle that calls a global with arguments, which are pickled to the stack."""
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + arguments + b"R."


def storage(key, count):
    """A pickle that refers to a storage; its number of elements is pickled to the stack."""
    return b"\x80\x02(" + text(b"storage") + b"ctorch\nFloatStorage\n" + text(key) + text(b"cpu") + count + b"tQ."


HOSTILE = {
    "eval": call("builtins", "eval", b"X\x01\x00\x00\x001\x85"),
    "python 2's eval": call("__builtin__", "eval", b"X\x01\x00\x00\x001\x85"),
    "getattr": call("builtins", "getattr", b"X\x01\x00\x00\x001X\x04\x00\x00\x00join\x86"),
    "a class that is only a value": call("builtins", "int", b"K\x01\x85"),
    "memory by bytearray": call("builtins", "bytearray", b"\x8a\x06\x00\x00\x00\x00\x00\x10\x85"),
    "memory by range": call("torch", "Size", b"c__builtin__\nxrange\n\x8a\x06\x00\x00\x00\x00\x00\x10\x85R\x85"),
    "defaultdict of a function": call("collections", "defaultdict", b"c_codecs\nencode\n\x85"),
    "codec by name": call("_codecs", "encode", b"X\x01\x00\x00\x00aX\x03\x00\x00\x00hex\x86"),
    "instance of a class": b"\x80\x02c__builtin__\ndict\n)\x81.",
    "state for a class": b"\x80\x02ccollections\nOrderedDict\n}X\x01\x00\x00\x00aK\x01sb.",
    "state for a function": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00aK\x01sb.",
    "a method as attribute": b"\x80\x02ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00itemsK\x01sb.",
    "extension registry": b"\x80\x02\x82\x01.",
    "a text longer than the file": b"\x80\x02X\xff\xff\xff\x7fabc.",
    "a negative length": b"\x80\x02\x8b\xff\xff\xff\xff.",
    "an unknown reference": b"\x80\x02h\x07.",
    "an empty stack": b"\x80\x02.",
    "no end": b"\x80\x02]",
    "protocol 200": b"\x80\xc8N.",
    "storage by path": storage(b"../../x/y", b"K\x01"),
    "storage of nothing": b"\x80\x02NQ.",
    "storage of negative size": storage(b"0", b"J\xff\xff\xff\xff"),
    "a huge storage": storage(b"0", b"\x8a\x06\x00\x00\x00\x00\x00\x10"),
    "a tensor as key": b"\x80\x02}]K\x01s.",
}


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_hostile_pickles_are_refused(case):
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match=r"^load: "):
        weft.load(archive_of(HOSTILE[case], {"data/0": bytes(4)}))


def view_of_four_floats(offset, size, stride):
    def number(n):
        return pickle.dumps(n, 2)[2:-1]

    def numbers(values):
        return b"(" + b"".join(map(number, values)) + b"t"

    view_of = storage(b"0", b"K\x04")[2:-1]
    arguments = b"(" + view_of + number(offset) + numbers(size) + numbers(stride) + b"\x89Nt"
    return archive_of(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"R.", {"data/0": bytes(16)})


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (5,), (1,)),
        (1, (4,), (1,)),
        (0, (2, 2), (3, 1)),
        (-1, (2,), (1,)),
        (0, (2,), (-1,)),
        (0, (-1,), (1,)),
        (0, (2,), (1, 1)),
        (1 << 70, (2,), (1,)),
        (0, (1 << 40, 1 << 40), (0, 0)),
        (0, (1,) * 100, (1,) * 100),
        (0.5, (2,), (1,)),
    ],
    ids=str,
)
def test_views_outside_their_storage_are_refused(offset, size, stride):
    with pytest.raises(pickle.UnpicklingError, match=r"^load: "):
        weft.load(view_of_four_floats(offset, size, stride))


def test_views_inside_their_storage_are_made():
    assert weft.load(view_of_four_floats(1, (3,), (1,))).tolist() == [0.0, 0.0, 0.0]
    assert weft.load(view_of_four_floats(0, (0, 7), (7, 1))).shape == (0, 7)


def test_nested_keys_cannot_overflow_the_stack():
    deep = b"\x80\x02}K\x01" + b"\x85" * 200_000 + b"K\x01s."
    with pytest.raises(pickle.UnpicklingError, match="parts"):
        weft.load(archive_of(deep))
    wide = b"\x80\x02}K\x01" + b"2\x86" * 60 + b"K\x01s."
    with pytest.raises(pickle.UnpicklingError, match="parts"):
        weft.load(archive_of(wide))


def test_copies_of_copies_are_counted():
    arguments = b"X" + struct.pack("<L", 1_000_000) + b"a" * 1_000_000 + b"X\x06\x00\x00\x00latin1\x86q\x010"
    bomb = b"\x80\x02" + arguments + b"c_codecs\nencode\nq\x000" + b"h\x00h\x01R0" * 1000 + b"N."
    with pytest.raises(pickle.UnpicklingError, match="over and over"):
        weft.load(archive_of(bomb))


def test_deep_lists_are_read_and_freed():
    depth = 100_000
    loaded = weft.load(archive_of(b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b"."))
    count = 1
    while loaded:
        loaded, count = loaded[0], count + 1
    assert count == depth


def test_every_truncation_is_an_error():
    whole = saved({"a": weft.arange(4), "b": [1, 2]}).getvalue()
    for end in range(1, len(whole) - 1):
        with pytest.raises((pickle.UnpicklingError, RuntimeError), match=r"^load: "):
            weft.load(io.BytesIO(whole[:end]))


def test_every_changed_byte_is_an_error_or_harmless():
    whole = saved({"a": weft.arange(4), "b": [1, 2]}).getvalue()
    for position in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 0x55
        try:
            loaded = weft.load(io.BytesIO(damaged))
        except (pickle.UnpicklingError, RuntimeError) as error:
            assert str(error).startswith("load: ")
        else:  # a byte that says nothing: padding, a time
            assert loaded["a"].tolist() == [0, 1, 2, 3]


def test_changed_content_is_noticed_by_its_checksum():
    whole = saved(weft.full((4,), 2.0)).getvalue()
    damaged = whole.replace(struct.pack("<4f", 2, 2, 2, 2), struct.pack("<4f", 2, 2, 2, 3))
    with pytest.raises(RuntimeError, match=r"^load: .*checksum"):
        weft.load(io.BytesIO(damaged))


def test_checksums_can_be_left_out():
    weft.serialization.set_crc32_options(False)
    try:
        file = saved(weft.ones(2))
    finally:
        weft.serialization.set_crc32_options(True)
    assert {entry.CRC for entry in zipfile.ZipFile(io.BytesIO(file.getvalue())).infolist()} == {0}
    assert weft.load(file).tolist() == [1.0, 1.0]


def test_compressed_archives_are_read_and_their_sizes_checked():
    pickled = zipfile.ZipFile(saved(weft.ones(1000))).read("archive/data.pkl")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", pickled)
        archive.writestr("a/data/0", weft.ones(1000).numpy().tobytes())
    file.seek(0)
    assert weft.load(file).sum().item() == 1000.0
    directory = file.getvalue().rindex(b"PK\1\2")
    lying = bytearray(file.getvalue())
    lying[directory + 24 : directory + 28] = struct.pack("<L", 0xF0000000)
    with pytest.raises(RuntimeError, match=r"^load: .*data/0"):
        weft.load(io.BytesIO(lying))


def test_other_files_are_recognised():
    with pytest.raises(pickle.UnpicklingError, match=r"^load: .*not a file that save has written"):
        weft.load(io.BytesIO(b"hello, world"))
    with pytest.raises(pickle.UnpicklingError, match=r"^load: .*is a pickle, and not"):
        weft.load(io.BytesIO(pickle.dumps([1])))
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "hello")
    other.seek(0)
    with pytest.raises(RuntimeError, match=r"^load: .*readme.txt"):
        weft.load(other)
    script = archive_of(pickle.dumps(1, 2), {"constants.pkl": b""})
    with pytest.raises(RuntimeError, match=r"^load: .*TorchScript"):
        weft.load(script)


def test_names_outside_the_folder_are_ignored(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("../../evil", "x")
        archive.writestr("/etc/passwd", "x")
        archive.writestr("a/data.pkl", pickle.dumps([1], 2))
    file.seek(0)
    assert weft.load(file) == [1]


def test_copies_of_storages_are_shared_within_one_deepcopy():
    x = weft.arange(4)
    first, second = copy.deepcopy([x.untyped_storage(), x[2:].untyped_storage()])
    assert first == second
    assert first != x.untyped_storage()


def test_messages_never_print_what_a_file_makes_huge():
    """60 bytes make a tuple whose text would have 2 ** 60 parts; here it stands wherever a message could name it."""
    wide = b"K\x01" + b"2\x86" * 60
    for value in (wide, b")" + b"\x85" * 10_000):
        for pickled in (
            value + b")R",
            value + b")\x81",
            value + b"Q",
            b"ctorch\ndevice\n" + value + b"\x85R",
            b"ctorch\nSize\n" + value + b"\x85R",
            b"cnumpy\ndtype\n" + value + b"\x85R",
            b"ccollections\ndefaultdict\n" + value + b"\x85R",
            b"c_codecs\nencode\nX\x01\x00\x00\x00a" + value + b"\x86R",
            b"ccollections\nOrderedDict\n)R}" + value + b"K\x01sb",
            b"ctorch._utils\n_rebuild_tensor_v2\n(NK\x00" + value + b")\x89NtR",
            b"ctorch._tensor\n_rebuild_from_type_v2\n(" + value + b"ctorch\nTensor\n)}tR",
        ):
            with pytest.raises(pickle.UnpicklingError) as caught:
                weft.load(archive_of(b"\x80\x02" + pickled + b"."))
            assert len(str(caught.value)) < 500


def test_a_deep_tuple_is_not_called():
    """Looking it up by its hash would overflow the stack."""
    with pytest.raises(pickle.UnpicklingError, match="calls a tuple"):
        weft.load(archive_of(b"\x80\x02)" + b"\x85" * 200_000 + b")R."))


def named(module, name):
    return b"c" + f"{module}\n{name}\n".encode()


def test_values_that_python_frees_recursively_are_not_nested_deep():
    """Each of these would end the interpreter when it is freed."""
    remembered = b"q\x010h\x00"
    slices = named("builtins", "slice") + b"q\x000N" + (remembered + b"NNh\x01\x87R") * 200_000
    dicts = named("collections", "defaultdict") + b"q\x000N" + (remembered + b")RK\x01h\x01s") * 200_000
    with pytest.raises(pickle.UnpicklingError, match="a slice is made of numbers"):
        weft.load(archive_of(b"\x80\x02" + slices + b"."))
    with pytest.raises(pickle.UnpicklingError, match="1000 defaultdicts within defaultdicts"):
        weft.load(archive_of(b"\x80\x02" + dicts + b"."))


def pickled_number(value):
    return pickle.dumps(value, 2)[2:-1]


def test_keys_made_to_collide_are_refused():
    """A dict of n keys with one hash takes n * n comparisons."""
    modulus = sys.hash_info.modulus
    integers = b"".join(pickled_number(i * modulus) + b"N" for i in range(1, 5000))
    tuples = b"".join(pickled_number((i * modulus,)) + b"N" for i in range(1, 5000))
    for keys in (integers, tuples):
        with pytest.raises(pickle.UnpicklingError, match="more than 100 different dict keys"):
            weft.load(archive_of(b"\x80\x02}(" + keys + b"u."))
    honest = {(i, -i): i for i in range(3000)} | dict.fromkeys(range(3000), 0) | {i / 7: 0 for i in range(3000)}
    assert round_trip([honest, honest, {1 << 100: 1}]) == [honest, honest, {1 << 100: 1}]


def test_large_integers_as_keys_are_counted():
    """Python hashes an integer anew each time."""
    repeated = b"}" + pickled_number(1 << 500_000) + b"q\x00K\x01s" + b"h\x00K\x01s" * 100_000
    with pytest.raises(pickle.UnpicklingError, match="over and over"):
        weft.load(archive_of(b"\x80\x02" + repeated + b"."))


def compressed(records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for record, data in records.items():
            archive.writestr("a/" + record, data)
    file.seek(0)
    return file


def test_compressed_records_that_grow_without_measure_are_refused(monkeypatch):
    pickled = zipfile.ZipFile(saved(weft.zeros(100_000))).read("archive/data.pkl")
    zeros = compressed({"data.pkl": pickled, "data/0": bytes(400_000)})
    assert weft.load(zeros).sum().item() == 0.0
    zeros.seek(0)
    monkeypatch.setattr("weft.serialization._budget.MEMORY", 1000)
    for file in (zeros, compressed({"data.pkl": b"\x80\x02" + b"]" * (1 << 21) + b"."})):
        with pytest.raises(RuntimeError, match=r"^load: record 'a/data.* more than the file's \d+ explain"):
            weft.load(file)


@pytest.mark.parametrize(
    "change",
    [
        {"indices": weft.tensor([[0, 1, 9], [2, 0, 2]])},
        {"indices": weft.tensor([[0, 1, -1], [2, 0, 2]])},
        {"indices": weft.tensor([0, 1, 2])},
        {"indices": weft.tensor([[0.0, 1.0, 1.0], [2.0, 0.0, 2.0]])},
        {"values": weft.tensor([1.0, 2.0])},
        {"values": 3},
        {"size": (2,)},
        {"size": (2, 3, 4)},
        {"size": (-2, 3)},
        {"size": (1 << 40, 1 << 40)},
        {"layout": weft.sparse_csr},
        {"layout": "torch.sparse_coo"},
    ],
    ids=str,
)
@pytest.mark.parametrize("old", [False, True], ids=["zip", "before 1.6"])
def test_damaged_sparse_tensors_are_refused(change, old):
    names = pytest.importorskip("weft.serialization._names")
    right = {
        "layout": weft.sparse_coo,
        "indices": weft.tensor([[0, 1, 1], [2, 0, 2]]),
        "values": weft.tensor([3.0, 4.0, 5.0]),
        "size": (2, 3),
    }
    kind, *parts = {**right, **change}.values()
    file = saved(names.Reduced(names.REBUILD_SPARSE, (kind, (*parts, True))), old=old)
    with pytest.raises(pickle.UnpicklingError, match=r"^load: "):
        weft.load(file)


def test_sparse_tensors_that_only_claim_to_be_in_order_are_not_believed():
    names = pytest.importorskip("weft.serialization._names")
    parts = weft.tensor([[1, 0]]), weft.tensor([3.0, 4.0]), (2,), True
    loaded = weft.load(saved(names.Reduced(names.REBUILD_SPARSE, (weft.sparse_coo, parts))))
    assert not loaded.is_coalesced()
    assert loaded.coalesce().values().tolist() == [4.0, 3.0]


def test_a_range_is_no_shape():
    """Making a tuple of it would take all memory."""
    span = b"c__builtin__\nxrange\n\x8a\x06\x00\x00\x00\x00\x00\x10\x85R"
    for pickled in (
        b"ctorch\nSize\n" + span + b"\x85R",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch\nSize\nctorch\nTensor\n" + span + b"\x85}tR",
    ):
        with pytest.raises(pickle.UnpicklingError):
            weft.load(archive_of(b"\x80\x02" + pickled + b"."))


# What a load may take. The files that ask for too much are in tests/robustness/files_attacks.py.


@pytest.mark.parametrize("keys", ["range", "random", "tuples"])
@pytest.mark.parametrize("kind", [dict, set])
def test_tables_are_followed_as_python_keeps_them(kind, keys):
    """As many places as the interpreter's own dict or set has, whenever it grows."""
    random = Random(0)
    made = {"range": iter(range(9000)), "random": (random.getrandbits(50) for _ in range(9000)),
            "tuples": ((i, 1) for i in range(9000))}[keys]  # fmt: skip
    table, container, budget = Table(kind is set), kind(), Budget(1 << 30, "a test")
    for key in made:
        table.add([key], budget)
        container.add(key) if kind is set else container.setdefault(key)
        places = len(table)
        if kind is set:
            assert sys.getsizeof(container) == sys.getsizeof(set()) + (16 * places if places > 8 else 0)
        else:
            width = 1 if places <= 128 else 2
            entries = 24 * (places * 2 // 3) + places * width
            assert sys.getsizeof(container) - entries == sys.getsizeof({0: 0}) - 24 * 5 - 8


def test_honest_keys_are_never_refused():
    random = Random(0)
    numbers = {random.getrandbits(60): i for i in range(20_000)}
    floats = {random.random(): i for i in range(5000)}
    shuffled = dict.fromkeys(random.sample(range(20_000), 20_000), 1)
    strided = dict.fromkeys(range(0, 20_000 << 20, 1 << 20), 1)
    addresses = {140_000_000_000_000 + 16 * i: [i] for i in range(20_000)}
    grid = {(i, -j): 0 for i in range(-70, 70) for j in range(-70, 70)}
    values = [numbers, floats, shuffled, strided, addresses, grid, set(numbers), set(grid), Counter(numbers)]
    assert round_trip(values) == values


def test_honest_files_stay_within_what_their_length_explains():
    """The smallest files for what they hold, without the first megabytes that every file may take."""
    base = weft.zeros(5000)
    values = [
        [base[i : i + 1] for i in range(5000)],
        [weft.zeros(1) for _ in range(2000)],
        [{"a": i, "b": None} for i in range(5000)],
        dict.fromkeys(range(20_000)),
        [[] for _ in range(5000)],
        [(i, i) for i in range(5000)],
        [float(i) for i in range(5000)],
        [True] * 50_000,
        [weft.ones(3, dtype=weft.complex64).conj() for _ in range(100)],
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.serialization._budget.MEMORY", 1 << 18)
        patch.setattr("weft.serialization._budget.STEPS", 20_000)
        for value in values:
            for protocol in (2, 4):
                assert len(weft.load(saved(value, pickle_protocol=protocol))) == len(value)


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma"])
@pytest.mark.parametrize("old", [False, True], ids=["zip", "before 1.6"])
def test_compressed_files_are_read(module, old, tmp_path):
    opened = importlib.import_module(module)
    with opened.open(tmp_path / "file", "wb") as file:
        file.write(saved({"a": weft.arange(1000)}, old=old).getvalue())
    with opened.open(tmp_path / "file") as file:
        assert weft.load(file)["a"].tolist() == list(range(1000))


def test_old_files_one_after_the_other_are_read_from_gzip():
    content = b"".join(saved(weft.full((2,), value), old=True).getvalue() for value in (1.0, 2.0))
    with gzip.open(io.BytesIO(gzip.compress(content))) as file:
        assert [weft.load(file).tolist() for _ in range(2)] == [[1.0, 1.0], [2.0, 2.0]]


def test_a_damaged_gzip_file_is_refused():
    damaged = gzip.compress(saved(weft.ones(1000)).getvalue())[:-100]
    with gzip.open(io.BytesIO(damaged)) as file, pytest.raises(RuntimeError, match=r"^load: .*decompressed"):
        weft.load(file)


DUNDERS = ["__array_interface__", "__array_struct__", "__array__", "__class__", "__dict__", "__dlpack__", "__private"]


@pytest.mark.parametrize("name", DUNDERS)
def test_a_state_sets_no_name_that_python_or_numpy_would_ask(name):
    text = b"X" + struct.pack("<I", len(name)) + name.encode()
    state = b"}" + text + b"K\x01s"
    view = named("torch._utils", "_rebuild_tensor_v2")
    arguments = b"(" + storage(b"0", b"K\x04")[2:-1] + b"K\x00K\x04\x85K\x01\x85\x89Nt"
    kind = named("torch._tensor", "_rebuild_from_type_v2") + b"(" + view + named("torch", "Tensor") + arguments
    listed = named("packages.test", "Listed") + b")\x81"

    class Listed:
        pass

    for pickled in (
        kind + state + b"tR",
        kind + b"N" + state + b"\x86tR",
        named("collections", "OrderedDict") + b")R" + state + b"b",
        listed + state + b"b",
        listed + b"N" + state + b"\x86b",
    ):
        with (
            weft.serialization.safe_globals([(Listed, "packages.test.Listed")]),
            pytest.raises(pickle.UnpicklingError, match=f"'{name}' is not a name for an attribute"),
        ):
            weft.load(archive_of(b"\x80\x02" + pickled + b".", {"data/0": bytes(16)}))


def test_archives_with_bytes_before_and_a_comment_behind_are_read():
    whole = saved({"a": weft.arange(3)}).getvalue()
    commented = bytearray(whole)
    commented[-2:] = struct.pack("<H", 5)
    assert weft.load(io.BytesIO(commented + b"words"))["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_names_in_a_pickle_are_those_that_pickletools_finds(protocol):
    value = [
        Fraction(1, 2),
        Fraction(1, 3),
        OrderedDict(a=b"1" * 300),
        "x" * 300,
        {1.5, -1, 1 << 70},
        bytearray(3),
        "fractions",
    ]
    found = _globals(pickle.dumps(value, protocol))
    assert {"fractions.Fraction", "collections.OrderedDict"} <= found
    assert found <= {"fractions.Fraction", "collections.OrderedDict", "builtins.set", "builtins.bytearray",
                     "_codecs.encode", "copyreg._reconstructor", "builtins.object"}  # fmt: skip


def test_another_modules_pickler_says_how_others_are_reduced():
    """fastai exports its learners with cloudpickle, whose pickler writes what cannot be imported."""

    class Pickler(pickle.Pickler):
        dispatch_table = copyreg.dispatch_table

        def reducer_override(self, obj):
            return (str, ("a function",)) if isinstance(obj, types.FunctionType) else NotImplemented

    module = types.ModuleType("a_pickle")
    module.Pickler = Pickler
    file = io.BytesIO()
    weft.save({"f": lambda: 1, "x": weft.ones(2), "kind": weft.Tensor}, file, pickle_module=module)
    file.seek(0)
    found = weft.load(file, weights_only=False)
    assert (found["f"], found["x"].tolist(), found["kind"]) == ("a function", [1.0, 1.0], weft.Tensor)
    with pytest.raises(ValueError, match="one whose Pickler has reducer_override"):
        weft.save(1, io.BytesIO(), pickle_module=types.ModuleType("another"))


def test_zip_archives_are_known_by_their_first_bytes():
    file = io.BytesIO(b"--")
    file.seek(2)
    weft.save(weft.ones(2), file)
    for start, found in ((2, True), (0, False)):
        file.seek(start)
        assert weft.serialization._is_zipfile(file) is found
        assert file.tell() == start
