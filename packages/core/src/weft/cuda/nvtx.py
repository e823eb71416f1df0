"""Marks and ranges for NVIDIA's profilers, where there is CUDA."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft.cuda._devices import backend

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


class Depth(threading.local):
    """How many ranges of `range_push` this thread is in."""

    value = 0


depth = Depth()


def marks(name: str) -> Any:
    """What writes marks.

    Raises
    ------
    RuntimeError
        If there is no CUDA, as in PyTorch where it was built without NVTX.
    """
    try:
        return backend().nvtx()
    except RuntimeError as error:
        raise RuntimeError(
            f"{name}: NVTX functions not installed. Use weft.profiler.record_function to name a range. ({error})"
        ) from error


def range_push(msg: str) -> int:
    """Begin a range inside of those that this thread has begun; returns how many those are."""
    marks("range_push").RangePush(msg)
    depth.value += 1
    return depth.value - 1


def range_pop() -> int:
    """End the range that this thread began last; returns how many are left."""
    marks("range_pop").RangePop()
    depth.value = max(depth.value - 1, 0)
    return depth.value


def range_start(msg: str) -> int:
    """Begin a range that another thread may end; returns what `range_end` takes."""
    return int(marks("range_start").RangeStart(msg))


def range_end(range_id: int) -> None:
    """End a range of `range_start`."""
    marks("range_end").RangeEnd(range_id)


def mark(msg: str) -> None:
    """Mark a moment."""
    marks("mark").Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Make a block, or a function that it decorates, a range; the message is formatted with the arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
