"""What is recorded while a program runs on the stand-in: calls, waits, uploads, and what CuPy leaves unsaid.

The kinds of events:

call
    A function of CuPy ran, which launches one kernel or more.
wait
    The host waited for the device: a value was read (``int``, ``bool``, ``item``, ``get``), or the size of a result
    depends on values (masks read, ``nonzero``).
upload
    The host sent an array, or what became one: a list, a number made into an array.
silent
    CuPy computes something where NumPy raises: an index out of range wraps around, a singular matrix gives nan.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = str(Path(__file__).parent)
WEFT = "/weft/"


class Event(NamedTuple):
    """Something that happened, and the line of weft that made it happen (``ops/sorting.py:47 sort``)."""

    kind: str
    what: str
    place: str


log: list[Event] | None = None  # what `record` collects


def note(kind: str, what: str) -> None:
    """Record an event, if anybody listens."""
    if log is not None:
        log.append(Event(kind, what, place()))


def place() -> str:
    """The innermost line of weft that is running; where there is none, that of the caller."""
    frame = sys._getframe(2)
    while frame.f_back and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    caller = frame
    while frame and WEFT not in frame.f_code.co_filename:
        frame = frame.f_back  # type: ignore[assignment]
    frame = frame or caller
    return f"{frame.f_code.co_filename.rpartition(WEFT)[2]}:{frame.f_lineno} {frame.f_code.co_name}"


@contextmanager
def record() -> Iterator[list[Event]]:
    """Collect the events of a block; a block inside another keeps its events to itself."""
    global log
    before, log = log, []
    try:
        yield log
    finally:
        log = before
