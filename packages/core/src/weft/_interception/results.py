"""What looks at the result of each call in some modes of autograd; `weft.autograd` puts its functions here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._engine.tensor import local, state

__all__ = ["notes_traces", "observe", "packs_saved"]

_pack: list[Callable[[Any], None]] = []
_trace: list[Callable[[Any], None]] = []


def packs_saved(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Call a function with each result while this thread has saved-tensor hooks."""
    _pack.append(function)
    return function


def notes_traces(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Call a function with each result while anomaly mode is on."""
    _trace.append(function)
    return function


def observe(result: Any) -> None:
    """What this thread's modes do with the result of a call: saved-tensor hooks, anomaly mode."""
    if local.saved_hooks:
        for each in _pack:
            each(result)
    if state.anomaly:
        for each in _trace:
            each(result)
