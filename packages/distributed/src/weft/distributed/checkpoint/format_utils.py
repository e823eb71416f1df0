"""Between checkpoints of several processes and files of `weft.save`."""

from __future__ import annotations

import os
from typing import Any

import weft
from weft.distributed import distributed_c10d as dist
from weft.distributed.checkpoint._nested_dict import flatten_state_dict
from weft.distributed.checkpoint.default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from weft.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter, _fill
from weft.distributed.checkpoint.metadata import BytesStorageMetadata, Metadata, TensorProperties, TensorStorageMetadata
from weft.distributed.checkpoint.planner import LoadItemType, LoadPlan, LoadPlanner
from weft.distributed.checkpoint.planner_helpers import _create_chunk_from_tensor, bytes_of, is_distributed
from weft.distributed.checkpoint.state_dict_loader import _load_state_dict
from weft.distributed.checkpoint.state_dict_saver import _save_state_dict
from weft.distributed.checkpoint.storage import StorageReader
from weft.futures import Future

__all__ = ["BroadcastingTorchSaveReader", "DynamicMetaLoadPlanner", "dcp_to_torch_save", "torch_save_to_dcp"]


class BroadcastingTorchSaveReader(StorageReader):
    """Reads a file of `weft.save` in one process, which sends each tensor to all; for `DynamicMetaLoadPlanner`.

    All processes must load the same entries. Each keeps its part of what it holds in parts.

    Parameters
    ----------
    checkpoint_id : str or path, optional
        The file, which is read with ``weights_only=True``.
    coordinator_rank : int, default 0
        The process that reads it.
    """

    def __init__(self, checkpoint_id: str | os.PathLike[str] | None = None, coordinator_rank: int = 0) -> None:
        self.checkpoint_id = checkpoint_id
        self.coordinator_rank = coordinator_rank
        self.is_coordinator = True

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin to read a file."""
        if checkpoint_id is not None:
            self.checkpoint_id = checkpoint_id

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Return nothing: `DynamicMetaLoadPlanner` takes it that the file has what is wanted."""
        return Metadata(state_dict_metadata={})

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Take whether this process reads the file."""
        self.is_coordinator = is_coordinator
        if self.checkpoint_id is None:
            raise RuntimeError("BroadcastingTorchSaveReader: checkpoint_id must be the path of a file")

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Return the plan."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Give each entry to all.

        Raises
        ------
        KeyError
            If the file lacks one.
        """
        flat: dict[str, Any] = {}
        if self.is_coordinator:
            assert self.checkpoint_id is not None
            flat, _ = flatten_state_dict(weft.load(self.checkpoint_id, map_location="cpu"))
        entries = self._shared([{name: described(value) for name, value in flat.items()}])
        received: dict[str, Any] = {}
        for item in plan.items:
            name = item.storage_index.fqn
            if name not in entries:
                raise KeyError(f"{self.checkpoint_id} has no entry {name!r}")
            if name not in received:
                received[name] = self._entry(flat.get(name), entries[name])
            if item.type == LoadItemType.BYTE_IO:
                planner.load_bytes(item, bytes_of(received[name]))
            else:
                _fill(planner, item, received[name])
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def _shared(self, value: list[Any]) -> Any:
        if dist.is_initialized():
            dist.broadcast_object_list(value, src=self.coordinator_rank)
        return value[0]

    def _entry(self, value: Any, about: tuple[Any, Any]) -> Any:
        shape, dtype = about
        if shape is None:
            return dtype
        tensor = value.detach().contiguous() if self.is_coordinator else weft.empty(shape, dtype=dtype)
        if dist.is_initialized():
            dist.broadcast(tensor, src=self.coordinator_rank)
        return tensor

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether there is such a file."""
        return os.path.isfile(checkpoint_id)


def described(value: Any) -> tuple[Any, Any]:
    """Shape and dtype of a tensor; of other values None and themselves."""
    return (tuple(value.shape), value.dtype) if isinstance(value, weft.Tensor) else (None, value)


class DynamicMetaLoadPlanner(DefaultLoadPlanner):
    """Takes it that the checkpoint has what the state dict has, whole: for storages that have no metadata."""

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Describe what the state dict has."""
        super().set_up_planner(state_dict, metadata, is_coordinator)
        entries: dict[str, Any] = {}
        for name, value in self.state_dict.items():
            if isinstance(value, weft.Tensor) or is_distributed(value):
                properties = TensorProperties(value.dtype)
                chunks = [_create_chunk_from_tensor(value)]
                entries[name] = TensorStorageMetadata(properties, weft.Size(value.shape), chunks)
            else:
                entries[name] = BytesStorageMetadata()
        self.metadata = Metadata(entries)


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write all of a checkpoint's folder into one file of `weft.save`.

    Parameters
    ----------
    dcp_checkpoint_dir : str or path
    torch_save_path : str or path
    """
    state_dict: dict[str, Any] = {}
    planner = _EmptyStateDictLoadPlanner()
    _load_state_dict(state_dict, FileSystemReader(dcp_checkpoint_dir), no_dist=True, planner=planner)
    weft.save(state_dict, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write a file of `weft.save`, or PyTorch's, as the folder of a checkpoint.

    Parameters
    ----------
    torch_save_path : str or path
        Read with ``weights_only=True``.
    dcp_checkpoint_dir : str or path
    """
    state_dict = weft.load(torch_save_path)
    _save_state_dict(state_dict, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)
