"""`load`: each process reads the chunks that it needs, whoever wrote them."""

from __future__ import annotations

import os
from typing import Any, cast

from weft.distributed.checkpoint._storage_utils import storage_of
from weft.distributed.checkpoint.default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from weft.distributed.checkpoint.metadata import Metadata
from weft.distributed.checkpoint.planner import LoadPlan, LoadPlanner
from weft.distributed.checkpoint.state_dict_saver import alone
from weft.distributed.checkpoint.stateful import Stateful
from weft.distributed.checkpoint.storage import StorageReader
from weft.distributed.checkpoint.utils import _DistWrapper

__all__ = ["load", "load_state_dict"]


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """`load` by its earlier name; objects with a ``load_state_dict`` method are not given what was loaded."""
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state dict from a checkpoint that `save`, or PyTorch's, wrote.

    Its tensors are filled in place, with the parts that this process holds, however the saved ones were divided; other
    entries are replaced. Only what the state dict names is read. Nothing in the folder is run: entries that are no
    tensors are read as `weft.load` reads with ``weights_only=True``.

    Parameters
    ----------
    state_dict : dict
        An entry with ``state_dict`` and ``load_state_dict`` methods is asked for its state, and given it again, filled.
    checkpoint_id : str or path, optional
        The folder.
    storage_reader : StorageReader, optional
        In place of ``FileSystemReader(checkpoint_id)``.
    planner : LoadPlanner, optional
        Default: ``DefaultLoadPlanner()``.
    process_group : ProcessGroup, optional
        Default: all processes.
    no_dist : bool, default False
        This process alone.

    Raises
    ------
    CheckpointException
        In all processes, if any failed: the folder has no checkpoint, an entry is missing or of another size, a file is
        damaged.
    RuntimeError
        If neither ``checkpoint_id`` nor ``storage_reader`` is given.
    """
    no_dist = alone("load", no_dist)
    storage_reader = cast(StorageReader, storage_of(storage_reader, checkpoint_id, reads=True))
    states = {key: each.state_dict() if isinstance(each, Stateful) else each for key, each in state_dict.items()}
    _load_state_dict(states, storage_reader, process_group, no_dist=no_dist, planner=planner)
    for key, each in list(state_dict.items()):
        if isinstance(each, Stateful):
            each.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    together = _DistWrapper(process_group, not no_dist, coordinator_rank)
    planner = DefaultLoadPlanner() if planner is None else planner

    def local_step() -> LoadPlan:
        metadata = _metadata_of(storage_reader, together.rank)
        planner.set_up_planner(state_dict, metadata, together.is_coordinator)
        storage_reader.set_up_storage_reader(metadata, together.is_coordinator)
        return storage_reader.prepare_local_plan(planner.create_local_plan())

    def global_step(plans: list[LoadPlan]) -> list[LoadPlan]:
        return storage_reader.prepare_global_plan(planner.create_global_plan(plans))

    plan = together.reduce_scatter("plan", local_step, global_step)

    def read_data() -> None:
        storage_reader.read_data(planner.finish_plan(plan), planner).wait()

    together.all_gather("read", read_data)


def _metadata_of(storage_reader: StorageReader, rank: int) -> Metadata:
    """The checkpoint's metadata, or that of one rank, which PyTorch writes with ``use_collectives=False``."""
    try:
        return storage_reader.read_metadata()
    except FileNotFoundError as error:
        try:
            return storage_reader.read_metadata(rank=rank)
        except (FileNotFoundError, TypeError):
            raise FileNotFoundError(f"there is no checkpoint, or one that was not finished: {error}") from error


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None,
    process_group: Any = None,
) -> dict[str, Any]:
    """Return all that a checkpoint has, or what is under some names, without a state dict to fill."""
    no_dist = alone("load", False)
    reader = cast(StorageReader, storage_of(storage_reader, checkpoint_id, reads=True))
    state_dict: dict[str, Any] = {}
    wanted = {keys} if isinstance(keys, str) else keys
    planner = _EmptyStateDictLoadPlanner(wanted or None)
    _load_state_dict(state_dict, reader, process_group, no_dist=no_dist, planner=planner)
    return state_dict
