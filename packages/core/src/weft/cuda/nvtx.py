"""Marks for NVIDIA's profiler, which weft does not write: the names are there for the libraries that import them."""

from __future__ import annotations

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


def range(msg: str, *args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError: no marks are written."""
    missing("range")
