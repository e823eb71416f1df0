"""Which kernels run: those of the libraries, or NumPy's alone; and a record of the calls that they get."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft._engine.tensor import state
from weft.backend_cpu import libraries
from weft.ops import _declare

_kept: dict[str, list[list[Any]]] = {}
_now = ["fast"]


def _swap(name: str) -> None:
    """Put the kernels of another choice into all ops, found anew where nobody has asked yet."""
    _kept[_now[0]] = [list(op.kernels) for op in state.ops]
    saved = _kept.get(name, [])
    for place, op in enumerate(state.ops):
        found = saved[place] if place < len(saved) else []
        op.kernels[:] = found + [None] * (len(op.kernels) - len(found))
    _now[0] = name


@contextmanager
def numpy_alone() -> Iterator[None]:
    """NumPy's kernels in all ops, as with ``WEFT_CPU_LIBRARIES=none``."""
    before = _now[0]
    if before == "numpy":
        yield
        return
    taken = libraries.kernel, libraries.available
    libraries.kernel, libraries.available = (lambda *_: None), (lambda: ())
    _swap("numpy")
    try:
        yield
    finally:
        _swap(before)
        libraries.kernel, libraries.available = taken


@contextmanager
def recorded(calls: list[tuple[str, tuple[Any, ...]]]) -> Iterator[None]:
    """Note each call of a kernel, by the name of its op and its arguments, for as long as this runs."""
    before, watched = _now[0], _declare.watched

    def watch(name: str, kernel: Any) -> Any:
        def run(*args: Any) -> Any:
            calls.append((name, snapshot(args)))
            return kernel(*args)

        return run

    _declare.watched = watch
    _kept.pop("recorded", None)
    _swap("recorded")
    try:
        yield
    finally:
        _swap(before)
        _declare.watched = watched


def snapshot(value: Any) -> Any:
    """Arguments as they are now: a kernel may write to them."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value).copy().reshape(value.shape)
    if type(value) in (list, tuple):
        return type(value)(snapshot(each) for each in value)
    return value
