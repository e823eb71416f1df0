"""What tells of processes that do not come, or call something else."""

from __future__ import annotations

import os
from datetime import timedelta
from enum import IntEnum
from typing import Any

from weft.distributed._buffers import About
from weft.distributed._errors import DistBackendError, DistStoreError, MismatchError

__all__ = ["DebugLevel", "get_debug_level", "monitored", "set_debug_level", "set_debug_level_from_env", "verify"]


class DebugLevel(IntEnum):
    """How much is checked, by ``WEFT_DISTRIBUTED_DEBUG``."""

    OFF, INFO, DETAIL = range(3)


def monitored(group: Any, timeout: timedelta, all_ranks: bool) -> None:
    """Wait until all processes of a group have come here; see `monitored_barrier`.

    Each says so in the store: who did not is known by name.
    """
    group.monitored_barriers += 1
    count = group.monitored_barriers
    keys = [f"monitored {count}/{rank}" for rank in range(group.size())]
    group.store.set(keys[group.rank()], b"here")
    try:
        group.store.wait(keys, timeout)
    except DistStoreError:
        missing = [rank for rank, key in zip(group.ranks, keys) if not group.store.check([key])]
        named = missing if all_ranks else missing[:1]
        raise DistBackendError(
            f"rank {group.ranks[group.rank()]}: monitored_barrier #{count}: after {timeout.total_seconds():g} s "
            f"rank(s) {', '.join(map(str, named))} did not call it"
        ) from None


UNEVEN = ("all_gather", "all_to_all", "all_to_all_single", "reduce_scatter")  # whose shapes may differ among ranks


def verify(group: Any) -> None:
    """Compare the collective that a group begins with what its other processes call, before it can hang.

    Each writes into the store what it calls. What it wrote two calls ago has been read by all, since they have come to
    the last one.

    Raises
    ------
    MismatchError
        If another process calls another one, or one with another dtype, shape, reduction or root.
    DistBackendError
        If one does not come in time.
    """
    status, ranks = group.status, group.ranks
    keys = [f"calls {status.sequence}/{rank}" for rank in ranks]
    mine = fingerprint(status)
    group.store.set(keys[group.rank()], mine)
    try:
        group.store.wait(keys, group.timeout)
    except DistStoreError:
        missing = [str(rank) for rank, key in zip(ranks, keys) if not group.store.check([key])]
        seconds = group.timeout.total_seconds()
        raise DistBackendError(f"after {seconds:g} s rank(s) {', '.join(missing)} did not call it") from None
    called = [group.store.get(key).decode() for key in keys]
    for rank, other in zip(ranks, called):
        if other != mine:
            raise MismatchError(
                f"Detected mismatch between collectives on ranks. Rank {ranks[group.rank()]} is running collective: "
                f"{mine}, but Rank {rank} is running collective: {other}"
            )
    group.store.delete_key(f"calls {status.sequence - 2}/{ranks[group.rank()]}")


def fingerprint(status: Any) -> str:
    """What must be the same in all processes of a group."""
    about = status.about
    if status.operation in UNEVEN and isinstance(about, About):
        about = ", ".join(map(str, (about.dtype, *about.details)))
    return f"{status.operation} #{status.sequence}" + (f" ({about})" if str(about) else "")


class Debugging:
    """The level of this process."""

    level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """Return how much is checked."""
    if Debugging.level is None:
        set_debug_level_from_env()
    assert Debugging.level is not None
    return Debugging.level


def set_debug_level(debug_level: DebugLevel) -> None:
    """Set how much is checked."""
    Debugging.level = DebugLevel(debug_level)


def set_debug_level_from_env() -> None:
    """Set how much is checked to what ``WEFT_DISTRIBUTED_DEBUG`` or ``TORCH_DISTRIBUTED_DEBUG`` says.

    Raises
    ------
    RuntimeError
        If that is none of OFF, INFO and DETAIL.
    """
    asked = os.environ.get("WEFT_DISTRIBUTED_DEBUG") or os.environ.get("TORCH_DISTRIBUTED_DEBUG") or "OFF"
    if asked.upper() not in DebugLevel.__members__:
        raise RuntimeError(f"WEFT_DISTRIBUTED_DEBUG must be one of OFF, INFO, DETAIL, got {asked!r}")
    Debugging.level = DebugLevel[asked.upper()]
