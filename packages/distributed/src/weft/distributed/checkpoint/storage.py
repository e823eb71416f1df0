"""What a storage must do to keep checkpoints: in files, in an object store, anywhere."""

from __future__ import annotations

import abc
import os
from dataclasses import dataclass
from typing import Any

from weft.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from weft.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner
from weft.futures import Future

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """What was written for an item, and where: ``storage_data`` is the storage's own."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes a checkpoint.

    In each process `reset`, `set_up_storage_writer`, `prepare_local_plan` and `write_data`; in the coordinator also
    `prepare_global_plan` before and `finish` after all have written.
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin a new checkpoint, of that name if one is given."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Get ready."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Return the plan, with ``storage_data`` if the storage needs some."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Return the plans of all, with ``storage_data`` if the storage needs some."""

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write what ``planner.resolve_data`` returns for each item of the plan."""

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata: only now is there a checkpoint."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether this storage keeps checkpoints of such a name."""

    def storage_meta(self) -> StorageMeta | None:
        """Return the name of the checkpoint that is written; None if a storage has none."""
        return None


class StorageReader(abc.ABC):
    """Reads a checkpoint.

    In each process `reset`, `read_metadata`, `set_up_storage_reader`, `prepare_local_plan` and `read_data`; in the
    coordinator also `prepare_global_plan`.
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin to read a checkpoint, of that name if one is given."""

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Return what the checkpoint has."""

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Get ready."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Return the plan, with ``storage_data`` if the storage needs some."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans of all, with ``storage_data`` if the storage needs some."""

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Give the planner what each item of the plan asks for."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether this storage may have a checkpoint of such a name."""
