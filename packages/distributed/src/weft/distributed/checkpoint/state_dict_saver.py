"""`save` and `async_save`: plan together, write side by side, finish together."""

from __future__ import annotations

import concurrent.futures
import os
import threading
import warnings
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from weft.distributed import distributed_c10d as dist
from weft.distributed.checkpoint._storage_utils import storage_of
from weft.distributed.checkpoint.default_planner import DefaultSavePlanner
from weft.distributed.checkpoint.metadata import Metadata
from weft.distributed.checkpoint.planner import SavePlan, SavePlanner
from weft.distributed.checkpoint.staging import AsyncStager, BlockingAsyncStager
from weft.distributed.checkpoint.stateful import Stateful
from weft.distributed.checkpoint.storage import StorageWriter, WriteResult
from weft.distributed.checkpoint.utils import _DistWrapper

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """Where `async_save` writes. Both write in a thread of this process."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """The futures of an `async_save` whose stager copies in a thread.

    Parameters
    ----------
    staging_completion : Future
        Done when the tensors have been copied: the optimizer may step.
    upload_completion : Future
        Done when the checkpoint is complete.
    """

    staging_completion: Future[None]
    upload_completion: Future[Metadata]


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """`save` by its earlier name; objects with a ``state_dict`` method are not asked for it."""
    storage_writer.reset()
    return _save_state_dict(state_dict, storage_writer, process_group, coordinator_rank, no_dist, planner)


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write a checkpoint that all processes hold together; each writes its part.

    Tensors that all have are written by one, DTensors in the parts that each has. PyTorch reads the folder, and `load`
    fills from it whatever is divided otherwise, among another number of processes, too. A crash at any time leaves the
    folder's old checkpoint, or the new one, whole.

    Parameters
    ----------
    state_dict : dict
        Nested dicts and lists of tensors and of what `weft.save` writes; an entry with ``state_dict`` and
        ``load_state_dict`` methods (a module, an optimizer) is asked for its state.
    checkpoint_id : str or path, optional
        The folder.
    storage_writer : StorageWriter, optional
        In place of ``FileSystemWriter(checkpoint_id)``.
    planner : SavePlanner, optional
        Default: ``DefaultSavePlanner()``.
    process_group : ProcessGroup, optional
        Default: all processes.
    no_dist : bool, default False
        This process alone writes all. So it is, with a warning, without `init_process_group`.
    use_collectives : bool, default True
        As PyTorch has it: processes always plan together.

    Returns
    -------
    Metadata

    Raises
    ------
    CheckpointException
        In all processes, if any failed.
    RuntimeError
        If neither ``checkpoint_id`` nor ``storage_writer`` is given.

    Examples
    --------
    >>> import tempfile, weft.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"x": weft.arange(3)}, checkpoint_id=folder, no_dist=True)
    ...     state = {"x": weft.zeros(3, dtype=weft.int64)}
    ...     dcp.load(state, checkpoint_id=folder, no_dist=True)
    >>> state["x"]
    tensor([0, 1, 2])
    """
    no_dist = alone("save", no_dist)
    storage_writer = cast(StorageWriter, storage_of(storage_writer, checkpoint_id, reads=False))
    states = _stateful_to_state_dict(state_dict)
    return _save_state_dict(states, storage_writer, process_group, no_dist=no_dist, planner=planner)


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: AsyncStager | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Metadata] | AsyncSaveResponse:
    """`save` in the background: the tensors are copied to host memory, then written by a thread.

    When it returns, the tensors may be changed. A call while an earlier one still writes waits for that one.

    Parameters
    ----------
    state_dict, checkpoint_id, storage_writer, planner, no_dist, use_collectives
        As of `save`.
    process_group : ProcessGroup, optional
        What the background planning is done with; nothing else may use it meanwhile. Default: a new group of all
        processes, made at the first call, so that the program's own collectives are not disturbed.
    async_checkpointer_type : AsyncCheckpointerType
        Both kinds write in a thread.
    async_stager : AsyncStager, optional
        Copies the state dict. If it returns a future, so does this function: an `AsyncSaveResponse`.

    Returns
    -------
    concurrent.futures.Future
        Of the metadata; ``result()`` raises what `save` would.
    """
    no_dist = alone("async_save", no_dist)
    storage_writer = cast(StorageWriter, storage_of(storage_writer, checkpoint_id, reads=False))
    _Background.wait()
    stager = async_stager
    if stager is None:
        stager = storage_writer if isinstance(storage_writer, AsyncStager) else BlockingAsyncStager()
    staged = stager.stage(_stateful_to_state_dict(state_dict))
    group = process_group if no_dist or process_group is not None else _Background.group()

    def write() -> Metadata:
        states = staged.result() if isinstance(staged, Future) else staged
        return _save_state_dict(states, storage_writer, group, no_dist=no_dist, planner=planner)

    upload = _Background.start(write)
    if not isinstance(staged, Future):
        return upload
    staging: Future[None] = Future()
    staged.add_done_callback(lambda done: _pass_on(done, staging))
    return AsyncSaveResponse(staging, upload)


def _pass_on(done: Future[Any], waiting: Future[None]) -> None:
    error = done.exception()
    if error is None:
        waiting.set_result(None)
    else:
        waiting.set_exception(error)


class _Background:
    """The writing of the last `async_save`, and the group that it plans with."""

    _last: Future[Metadata] | None = None
    _group: tuple[Any, Any] | None = None  # the group of all processes that it was made beside, and it

    @classmethod
    def wait(cls) -> None:
        """Wait for the last writing; its failure is its caller's to see."""
        if cls._last is not None:
            concurrent.futures.wait([cls._last])

    @classmethod
    def group(cls) -> Any:
        """The group of the background's collectives; made by all processes at their first call."""
        world = dist.group.WORLD
        if cls._group is None or cls._group[0] is not world:
            cls._group = world, dist.new_group()
        return cls._group[1]

    @classmethod
    def start(cls, function: Any) -> Future[Metadata]:
        """Run a function in a thread that the end of the program waits for."""
        future: Future[Metadata] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        cls._last = future
        threading.Thread(target=run, name="weft-async-save", daemon=False).start()
        return future


def alone(caller: str, no_dist: bool) -> bool:
    """Whether this process works alone; a warning if nobody said so."""
    if not no_dist and not dist.is_initialized():
        action = "load" if caller == "load" else "save"
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to "
            f"{action} in a single process.",
            stacklevel=3,
        )
        return True
    return no_dist


def _stateful_to_state_dict(state_dict: dict[str, Any]) -> dict[str, Any]:
    return {key: each.state_dict() if isinstance(each, Stateful) else each for key, each in state_dict.items()}


def _save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    together = _DistWrapper(process_group, not no_dist, coordinator_rank)
    planner = DefaultSavePlanner() if planner is None else planner
    metadata: Metadata | None = None

    def local_step() -> SavePlan:
        storage_meta = storage_writer.storage_meta()
        planner.set_up_planner(state_dict, storage_meta, together.is_coordinator)
        storage_writer.set_up_storage_writer(together.is_coordinator)
        return storage_writer.prepare_local_plan(planner.create_local_plan())

    def global_step(plans: list[SavePlan]) -> list[SavePlan]:
        nonlocal metadata
        plans, metadata = planner.create_global_plan(plans)
        return storage_writer.prepare_global_plan(plans)

    plan = together.reduce_scatter("plan", local_step, global_step)

    def write_data() -> list[WriteResult]:
        return storage_writer.write_data(planner.finish_plan(plan), planner).wait()

    def finish(results: list[list[WriteResult]]) -> Metadata:
        assert metadata is not None
        storage_writer.finish(metadata, results)
        return getattr(storage_writer, "metadata", metadata)

    return together.all_reduce("write", write_data, finish)
