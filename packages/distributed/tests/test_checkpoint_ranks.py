"""Checkpoints of several processes: shards side by side, read by any other number of processes."""

import json
import os

import numpy
import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
import weft.distributed.checkpoint as dcp
from weft.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties
from weft.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType


class Rows(weft.Tensor):
    """Rows of a tensor that processes share, from ``start`` on: the methods by which a checkpoint asks for them."""

    @classmethod
    def of(cls, rows, start, size):
        made = rows.as_subclass(cls)
        made.start, made.whole = start, weft.Size(size)
        return made

    @property
    def shape(self):
        return self.whole

    def __create_chunk_list__(self):
        rows = self.as_subclass(weft.Tensor)
        offsets = weft.Size([self.start] + [0] * (rows.dim() - 1))
        return [ChunkStorageMetadata(offsets, weft.Size(rows.shape))]

    def __create_write_items__(self, fqn, tensor):
        (chunk,) = self.__create_chunk_list__()
        data = TensorWriteData(chunk, TensorProperties(self.dtype), self.whole)
        return [WriteItem(MetadataIndex(fqn, chunk.offsets), WriteItemType.SHARD, tensor_data=data)]

    def __get_tensor_shard__(self, index):
        return self.as_subclass(weft.Tensor)


def rows(whole):
    """This process's rows of a tensor, divided as `chunk` does: the last ones may be fewer, or none."""
    per_rank = -(-whole.shape[0] // dist.get_world_size())
    start = min(dist.get_rank() * per_rank, whole.shape[0])
    return Rows.of(whole[start : start + per_rank].clone(), start, whole.shape)


WHOLE = weft.arange(70.0).reshape(10, 7)


def save(folder):
    rank = dist.get_rank()
    replicated = {f"w{index}": weft.full((100,), float(index)) for index in range(6)}
    state = {"sharded": rows(WHOLE), "replicated": replicated, "step": 5, f"of rank {rank}": rank}
    metadata = dcp.save(state, checkpoint_id=folder)
    by_file = {}
    for index, info in metadata.storage_data.items():
        by_file.setdefault(info.relative_path, []).append(index.fqn)
    return by_file


def load(folder):
    rank = dist.get_rank()
    sharded = rows(weft.zeros_like(WHOLE))
    state = {"sharded": sharded, "replicated": {"w3": weft.zeros(100)}, "step": 0, "of rank 0": None}
    dcp.load(state, checkpoint_id=folder)
    assert state["step"] == 5
    assert state["of rank 0"] == 0
    assert state["replicated"]["w3"].tolist() == [3.0] * 100
    assert (sharded.__get_tensor_shard__(None) == rows(WHOLE).__get_tensor_shard__(None)).all()
    whole = {"sharded": weft.zeros_like(WHOLE)}
    dcp.load(whole, checkpoint_id=folder)
    assert (whole["sharded"] == WHOLE).all()
    return rank


def save_and_load(folder):
    found = save(folder)
    load(folder)
    return found


def test_shards_are_loaded_by_another_number_of_processes(tmp_path):
    files = run_ranks(save_and_load, 3, str(tmp_path))[0]
    assert sorted(files) == ["__0_0.distcp", "__1_0.distcp", "__2_0.distcp"]
    assert all("sharded" in names for names in files.values())
    replicated = [name for names in files.values() for name in names if name.startswith("replicated")]
    assert len(replicated) == len(set(replicated)) == 6  # each was written once,
    assert all(sum(name.startswith("replicated") for name in names) == 2 for names in files.values())  # in equal shares
    assert run_ranks(load, 2, str(tmp_path)) == [0, 1]
    whole = {"sharded": weft.zeros_like(WHOLE)}
    dcp.load(whole, checkpoint_id=tmp_path, no_dist=True)
    assert numpy.array_equal(whole["sharded"].numpy(), WHOLE.numpy())


def fail(folder):
    """Errors of one process reach all; the group can be used afterwards; saving in the background disturbs nobody."""
    rank = dist.get_rank()
    messages = []
    for state in (
        {"x": weft.ones(2), "y": (lambda: 0) if rank == 1 else 1},
        {"x": rows(WHOLE) if rank else weft.ones(3)},
    ):
        with pytest.raises(dcp.CheckpointException) as caught:
            dcp.save(state, checkpoint_id=folder)
        messages.append(str(caught.value))
        assert not os.path.exists(f"{folder}/.metadata")
    futures = []
    for step in range(3):
        futures.append(dcp.async_save({"x": rows(WHOLE + step)}, checkpoint_id=f"{folder}/{step}"))
        for _ in range(20):
            total = weft.ones(1)
            dist.all_reduce(total)
            assert total.item() == dist.get_world_size()
    for step, future in enumerate(futures):
        future.result()
        state = {"x": weft.zeros_like(WHOLE)}
        dcp.load(state, checkpoint_id=f"{folder}/{step}")
        assert (state["x"] == WHOLE + step).all()
    with pytest.raises(dcp.CheckpointException) as caught:
        dcp.load(
            {"x": weft.zeros(10, 7), "missing": 0} if rank else {"x": weft.zeros(10, 7)}, checkpoint_id=f"{folder}/0"
        )
    messages.append(str(caught.value))
    return messages


def test_a_failure_of_one_process_is_told_to_all(tmp_path):
    first, second = run_ranks(fail, 2, str(tmp_path))
    assert first == second
    assert "(RANK 1)" in first[0]
    assert "'x'" in first[1]
    assert "Missing key in checkpoint state_dict: missing" in first[2]
    assert "(RANK 0)" not in first[2]


def safetensors(folder):
    """Parts in files of each process; joined; and whole tensors, which the first process writes."""
    writer = dcp.HuggingFaceStorageWriter
    state = {"sharded": rows(WHOLE), "same": weft.arange(5)}
    dcp.save(state, storage_writer=writer(f"{folder}/parts", save_distributed=True))
    mapping = {"sharded": 1, "same": 2}
    dcp.save(
        state, storage_writer=writer(f"{folder}/joined", mapping, save_distributed=True, enable_consolidation=True)
    )
    dcp.save({"sharded": WHOLE, "same": weft.arange(5)}, storage_writer=writer(f"{folder}/whole"))
    for state, message in (({"x": rows(WHOLE)}, "save_distributed=True"), ({"x": 5}, "hold tensors only")):
        with pytest.raises(dcp.CheckpointException, match=message):
            dcp.save(state, storage_writer=writer(f"{folder}/none"))


def test_safetensors_files_hold_parts_or_whole_tensors(tmp_path):
    run_ranks(safetensors, 3, str(tmp_path))
    for name, count in (("parts", 3), ("joined", 2), ("whole", 1)):
        folder = tmp_path / name
        assert len(list(folder.glob("*.safetensors"))) == count
        state = {"sharded": weft.zeros_like(WHOLE), "same": weft.zeros(5, dtype=weft.int64)}
        dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(str(folder)), no_dist=True)
        assert weft.equal(state["sharded"], WHOLE)
        assert weft.equal(state["same"], weft.arange(5))
    index = json.loads((tmp_path / "joined" / "model.safetensors.index.json").read_text())
    names = {"same": "model-00002-of-00002.safetensors", "sharded": "model-00001-of-00002.safetensors"}
    assert index == {"metadata": {"total_size": 320}, "weight_map": names}
