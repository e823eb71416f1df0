"""What a profile is made of, by the name of PyTorch's module."""

from __future__ import annotations

from weft.profiler._events import EventList, FunctionEvent, FunctionEventAvg, Interval
from weft.profiler._table import formatted_memory as _format_memory
from weft.profiler._table import formatted_time

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "_format_memory", "_format_time"]


def _format_time(time_us: float) -> str:
    """A time in microseconds with the unit that suits it."""
    return formatted_time(time_us)
