"""What saving and loading share: finding entries, and steps that all processes take together."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import IO, Any, TypeVar, cast

import weft
from weft.distributed import distributed_c10d as dist
from weft.distributed.checkpoint.api import CheckpointException, failure_of, is_failure, portable
from weft.distributed.checkpoint.metadata import MetadataIndex
from weft.distributed.checkpoint.planner_helpers import _create_chunk_list, is_distributed

__all__ = ["find_state_dict_object", "find_tensor_shard"]

T = TypeVar("T")
R = TypeVar("R")


def find_tensor_shard(tensor: Any, index: MetadataIndex) -> Any:
    """Return the part of a tensor that this process holds and that an index names.

    Raises
    ------
    ValueError
        If it holds no such part.
    """
    if hasattr(tensor, "__get_tensor_shard__"):
        return tensor.__get_tensor_shard__(index)
    if is_distributed(tensor):
        return tensor.to_local()
    if index.offset is not None and index.offset != weft.Size([0] * tensor.dim()):
        raise ValueError(f"FQN: '{index.fqn}' is not a distributed tensor, can't find an offset {tuple(index.offset)}")
    return tensor


def find_state_dict_object(state_dict: dict[str, Any], index: MetadataIndex) -> Any:
    """Return the entry of a flat state dict that an index names, or this process's part of it.

    Raises
    ------
    ValueError
        If there is none.
    """
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    value = state_dict[index.fqn]
    if isinstance(value, weft.Tensor) or is_distributed(value):
        return find_tensor_shard(value, index)
    if index.offset is not None:
        raise ValueError(f"FQN: '{index.fqn}' is not a tensor, can't find an offset {tuple(index.offset)}")
    return value


class _DistWrapper:
    """Steps of all processes of a group, whose failures are told to all; in one process without a group, plain calls.

    Parameters
    ----------
    group : ProcessGroup, optional
    use_dist : bool
        False: this process alone.
    coordinator_rank : int
        Global rank of the process that decides.
    """

    def __init__(self, group: Any, use_dist: bool, coordinator_rank: int) -> None:
        self.group, self.use_dist = group, use_dist
        self.rank = dist.get_rank(group) if use_dist else 0
        ranks = dist.get_process_group_ranks(group) if use_dist else [0]
        self.global_coordinator_rank = coordinator_rank if coordinator_rank in ranks else ranks[0]
        self.coordinator_rank = ranks.index(self.global_coordinator_rank)
        self.is_coordinator = self.rank == self.coordinator_rank

    def get_rank(self) -> int:
        """Return the rank in the group."""
        return self.rank

    def get_world_size(self) -> int:
        """Return the number of processes."""
        return dist.get_world_size(self.group) if self.use_dist else 1

    def broadcast_object(self, object: T | None) -> T:
        """Return the coordinator's object."""
        objects = [portable(object)]
        if self.use_dist:
            dist.broadcast_object_list(objects, group=self.group, src=self.global_coordinator_rank)
        return cast(T, objects[0])

    def gather_object(self, object: T) -> list[T] | None:
        """Return all objects in the coordinator, and None elsewhere."""
        if not self.use_dist:
            return [object]
        gathered: list[Any] | None = [None] * self.get_world_size() if self.is_coordinator else None
        dist.gather_object(portable(object), gathered, dst=self.global_coordinator_rank, group=self.group)
        return gathered

    def all_gather_object(self, object: T) -> list[T]:
        """Return all objects."""
        if not self.use_dist:
            return [object]
        gathered: list[Any] = [None] * self.get_world_size()
        dist.all_gather_object(gathered, portable(object), group=self.group)
        return gathered

    def scatter_object(self, object_list: list[T] | None) -> T:
        """Return this process's object of the coordinator's list."""
        if not self.use_dist:
            assert object_list is not None
            return object_list[0]
        out: list[Any] = [None]
        given = [portable(each) for each in object_list or []] if self.is_coordinator else None
        dist.scatter_object_list(out, given, src=self.global_coordinator_rank, group=self.group)
        return cast(T, out[0])

    def reduce_scatter(self, step: str, map_fun: Callable[[], T], reduce_fun: Callable[[list[T]], list[R]]) -> R:
        """Each process's part of what the coordinator makes of the results of all."""
        gathered = self.gather_object(attempted(map_fun))
        results: list[Any] | None = None
        if gathered is not None:
            made = attempted(lambda: self._reduced(step, gathered, reduce_fun))
            results = [made] * self.get_world_size() if is_failure(made) else made
        return cast(R, self._checked(step, self.scatter_object(results)))

    def all_reduce(self, step: str, map_fun: Callable[[], T], reduce_fun: Callable[[list[T]], R]) -> R:
        """Return in each process what the coordinator makes of the results of all."""
        gathered = self.gather_object(attempted(map_fun))
        result: Any = None
        if gathered is not None:
            result = attempted(lambda: self._reduced(step, gathered, reduce_fun))
        return cast(R, self._checked(step, self.broadcast_object(result)))

    def all_gather(self, step: str, map_fun: Callable[[], T]) -> list[T]:
        """Return the results of all processes."""
        results = self.all_gather_object(attempted(map_fun))
        self._raise_failures(step, results)
        return results

    def broadcast(self, step: str, map_fun: Callable[[], T]) -> T:
        """Return the coordinator's result."""
        result: Any = attempted(map_fun) if self.is_coordinator else None
        return cast(T, self._checked(step, self.broadcast_object(result)))

    def barrier(self) -> None:
        """Wait for all processes."""
        if self.use_dist:
            dist.barrier(group=self.group)

    def _reduced(self, step: str, results: list[Any], reduce_fun: Callable[[list[Any]], Any]) -> Any:
        self._raise_failures(step, results)
        return reduce_fun(results)

    def _raise_failures(self, step: str, results: list[Any]) -> None:
        failures = {rank: result for rank, result in enumerate(results) if is_failure(result)}
        if failures:
            raise CheckpointException(step, failures)

    def _checked(self, step: str, result: Any) -> Any:
        if not is_failure(result):
            return result
        error = result[0]
        raise (
            error
            if isinstance(error, CheckpointException)
            else CheckpointException(step, {self.coordinator_rank: result})
        )


def attempted(function: Callable[[], Any]) -> Any:
    """What a function returns, or the failure that is told to the others in place of it."""
    try:
        return function()
    except (Exception, CheckpointException) as error:
        return failure_of(error)


class _ReaderView(io.RawIOBase):
    """A section of a file as a file of its own."""

    def __init__(self, base_stream: IO[bytes], offset: int, len: int) -> None:
        super().__init__()
        self._base, self._begin, self._length, self._position = base_stream, offset, len, 0

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a place of the section."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length}[whence]
        self._position = max(0, base + offset)
        return self._position

    def tell(self) -> int:
        """Return the place in the section."""
        return self._position

    def seekable(self) -> bool:
        """Return True."""
        return True

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read as much as the section has left."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._length - self._position))
        self._base.seek(self._begin + self._position)
        done: int = self._base.readinto(view[:count])  # type: ignore[attr-defined]
        self._position += done
        return done


def _create_file_view(file: IO[bytes], offset: int, length: int) -> IO[bytes]:
    """A section of an open file as a file of its own."""
    return cast(IO[bytes], _ReaderView(file, offset, length))


def chunks_held(value: Any) -> Any:
    """The chunks that this process holds of an entry; None if it is no tensor."""
    return _create_chunk_list(value) if isinstance(value, weft.Tensor) or is_distributed(value) else None
