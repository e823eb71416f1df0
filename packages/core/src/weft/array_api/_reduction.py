"""Axes by the standard's rules, for functions that have PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft import Tensor

__all__ = ["Axes", "reduced"]

Axes = int | Sequence[int] | None


def reduced(function: Callable[..., Any], x: Tensor, axis: Axes, keepdims: bool, **options: Any) -> Tensor:
    """``function`` over some axes: ``None`` is all of them, and ``()``, which is all for PyTorch, is none."""
    if axis is None:
        axis = tuple(range(x.ndim))
    elif isinstance(axis, int):
        axis = (axis,)
    if len(axis) == 0:  # over a new axis of one element
        x, axis, keepdims = x.unsqueeze(-1), (-1,), False
    return function(x, tuple(axis), keepdims, **options)
