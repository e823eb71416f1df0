"""Where a profiler that runs is known. Nothing else of it is imported before one is asked for.

What wants to be seen in profiles asks `recorder`, which costs an attribute when there is none::

    if profiling.recorder is None:
        return step()
    with profiling.recorder.span("Optimizer.step#SGD.step"):
        return step()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

recorder: Any = None  # of the profiler that runs (profiler/_recording.py)


class Copies:
    """How often kernels copied an argument since its elements did not lie in order in memory."""

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0

    def add(self, array: Any) -> None:
        """Count a copy of an array."""
        self.count += 1
        self.bytes += array.nbytes


copies = Copies()

module_hooks: tuple[Callable[..., Any], ...] = ()  # how to see all modules' calls, before and after; set by weft.nn


def watched(name: str, kernel: Any) -> Any:
    """A kernel as it is to be called now: itself, or measured while a profiler runs.

    Parameters
    ----------
    name : str
        Of the op, ``"core::add"``.
    """
    return kernel if recorder is None or kernel is None else recorder.watch(name, kernel)
