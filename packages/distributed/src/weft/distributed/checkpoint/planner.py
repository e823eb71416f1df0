"""Plans: which process writes or reads which part of which entry. A planner makes them, a storage carries them out."""

from __future__ import annotations

import abc
import io
import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from weft.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(Enum):
    """What is written: a whole tensor, a part of one, or bytes."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes an entry has."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """Which chunk of a tensor of which size."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Any


@dataclass(frozen=True)
class WriteItem:
    """One thing that a process writes."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Return the bytes of the chunk; None if it is no tensor."""
        if self.tensor_data is None:
            return None
        return math.prod(self.tensor_data.chunk.sizes) * int(self.tensor_data.properties.dtype.itemsize)


@dataclass(frozen=True)
class ReadItem:
    """A box of ``lengths`` that is read from a saved chunk into a wanted one.

    ``storage_offsets`` are within the saved chunk, ``dest_offsets`` within the wanted.
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Any
    storage_index: MetadataIndex
    storage_offsets: Any
    lengths: Any


@dataclass(frozen=True)
class SavePlan:
    """What a process writes, with what storage and planner want to know of it."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads, with what storage and planner want to know of it."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Says what is saved. In each process: `set_up_planner`, `create_local_plan`, `finish_plan`, then `resolve_data`.

    In the coordinator also `create_global_plan`, which sees the plans of all.
    """

    _cached_save_plan: Any = None

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Take the state dict that is to be saved."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """Return what this process would write."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Return what each process will write, and the checkpoint's metadata."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Take and return what the coordinator decided for this process."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Any:
        """Return the tensor, or the io.BytesIO, that an item stands for; the storage does not change it."""


class LoadPlanner(abc.ABC):
    """Says what is loaded, and where to. In each process: `set_up_planner`, `create_local_plan`, `finish_plan`.

    Then `load_bytes`, or `resolve_tensor` and `commit_tensor`, for each item. In the coordinator also
    `create_global_plan`, which sees the plans of all.
    """

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Take the state dict that is to be filled, and what the checkpoint has."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """Return what this process would read."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Return what each process will read."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Take and return what the coordinator decided for this process."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take the bytes of an entry that is no tensor."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Return where a storage may write the bytes of an entry.

        Raises
        ------
        NotImplementedError
            Unless a planner has it: storages here call `load_bytes`.
        """
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """Return the tensor of the item's lengths that is to be filled."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """Take back the tensor of `resolve_tensor`, filled."""
