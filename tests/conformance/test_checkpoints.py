"""Folders of distributed checkpoints: what PyTorch writes weft reads to the bit, and the other way round."""

import subprocess
import sys

import pytest

import weft
import weft.distributed.checkpoint as dcp

torch = pytest.importorskip("torch")
torch_dcp = pytest.importorskip("torch.distributed.checkpoint")

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 float8_e4m3fn".split()


def states(library):
    """The same values in either library."""
    tensors = {name: library.arange(6).reshape(2, 3).to(getattr(library, name)) for name in DTYPES}
    return {
        "tensors": tensors,
        "transposed": library.arange(12).reshape(3, 4).t(),
        "scalar": library.tensor(2.5),
        "empty": library.empty(0, 3),
        "list": [1, {"deep": library.ones(3)}],
        "pair": (1, "x"),
        "step": 7,
        "none": None,
    }


def zeroed(value):
    if hasattr(value, "zero_"):
        return value.clone().zero_()
    if isinstance(value, dict):
        return {key: zeroed(each) for key, each in value.items()}
    return [zeroed(each) for each in value] if isinstance(value, list) else "?"


def as_bytes(value):
    """Values that can be compared, whichever library they are of."""
    if hasattr(value, "zero_"):
        library = torch if isinstance(value, torch.Tensor) else weft
        plain = value.contiguous().reshape(-1).view(library.uint8)
        return str(value.dtype).rpartition(".")[2], tuple(value.shape), plain.tolist()
    if isinstance(value, dict):
        return {key: as_bytes(each) for key, each in value.items()}
    return [as_bytes(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("options", [{}, {"thread_count": 2}, {"single_file_per_rank": False}], ids=str)
def test_pytorchs_folders_are_read(tmp_path, options):
    torch_dcp.save(states(torch), storage_writer=torch_dcp.FileSystemWriter(tmp_path, **options))
    loaded = zeroed(states(weft))
    dcp.load(loaded, checkpoint_id=tmp_path, no_dist=True)
    assert as_bytes(loaded) == as_bytes(states(torch))


@pytest.mark.parametrize("options", [{}, {"thread_count": 2}, {"single_file_per_rank": False}], ids=str)
def test_pytorch_reads_wefts_folders(tmp_path, options):
    for _ in range(2):  # the second time in place of a checkpoint
        dcp.save(states(weft), storage_writer=dcp.FileSystemWriter(tmp_path, **options), no_dist=True)
    loaded = zeroed(states(torch))
    torch_dcp.load(loaded, checkpoint_id=tmp_path)
    assert as_bytes(loaded) == as_bytes(states(torch))


def test_metadata_is_the_same(tmp_path):
    dcp.save(states(weft), checkpoint_id=tmp_path / "weft", no_dist=True)
    torch_dcp.save(states(torch), checkpoint_id=tmp_path / "torch")
    found, wanted = (torch_dcp.FileSystemReader(tmp_path / name).read_metadata() for name in ("weft", "torch"))
    assert found.state_dict_metadata == wanted.state_dict_metadata
    assert found.planner_data == wanted.planner_data
    assert found.storage_data.keys() == wanted.storage_data.keys()
    assert found.version == wanted.version


SHARDED = """
import sys
import {library} as torch
import {library}.distributed as dist
import {library}.distributed.checkpoint as dcp
from {library}.distributed.tensor import Replicate, Shard, distribute_tensor

rank, size, port, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
dist.init_process_group("gloo", init_method=f"file://{{port}}", rank=rank, world_size=size)
mesh = dist.device_mesh.init_device_mesh("cpu", (2, 2))
whole = torch.arange(35.0).reshape(5, 7)
places = {{"rows": (Shard(0), Replicate()), "both": (Shard(0), Shard(1)), "columns": (Replicate(), Shard(1))}}
state = {{name: distribute_tensor(whole, mesh, place) for name, place in places.items()}}
state["plain"], state["step"] = torch.arange(3), 5
dcp.save(state, checkpoint_id=folder)
dist.destroy_process_group()
"""


@pytest.mark.parametrize("library", ["torch", "weft"])
def test_parts_that_one_library_wrote_the_other_reads(tmp_path, library):
    script = tmp_path / "save.py"
    script.write_text(SHARDED.format(library=library))
    arguments = ["4", str(tmp_path / "meeting"), str(tmp_path / "checkpoint")]
    processes = [subprocess.Popen([sys.executable, str(script), str(rank), *arguments]) for rank in range(4)]
    try:
        assert [process.wait(timeout=100) for process in processes] == [0] * 4
    finally:
        for process in processes:
            process.kill()
    other, reader = (weft, dcp) if library == "torch" else (torch, torch_dcp)
    state = {name: other.zeros(5, 7) for name in ("rows", "both", "columns")}
    state.update(plain=other.zeros(3, dtype=other.int64), step=0)
    reader.load(state, checkpoint_id=tmp_path / "checkpoint", no_dist=True)
    assert state["step"] == 5
    assert state["plain"].tolist() == [0, 1, 2]
    for name in ("rows", "both", "columns"):
        assert state[name].reshape(-1).tolist() == [float(value) for value in range(35)], name
