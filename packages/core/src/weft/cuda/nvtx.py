"""Marks for NVIDIA's profiler, which weft does not write: the names are there for the libraries that import them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_pop", "range_push"]


def missing(name: str) -> NoReturn:
    """Raise RuntimeError, as PyTorch does where it was built without NVTX."""
    raise RuntimeError(f"{name}: NVTX functions not installed. Use weft.profiler.record_function to name a range")


def range_push(msg: str) -> int:
    """Raise RuntimeError: no marks are written."""
    missing("range_push")


def range_pop() -> int:
    """Raise RuntimeError: no marks are written."""
    missing("range_pop")


def mark(msg: str) -> None:
    """Raise RuntimeError: no marks are written."""
    missing("mark")


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block, or a function that it decorates, with marks at its begin and end: RuntimeError where it begins."""
    range_push(msg)
    yield
