"""What operators of several families do."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft

__all__ = ["is_narrow", "is_text", "legacy_broadcast", "normalized_axes", "number", "stash", "to_dtype"]


def is_text(value: Any) -> bool:
    """Whether a value is an array of strings, for which weft has no tensors."""
    return isinstance(value, np.ndarray) and value.dtype == object


def is_narrow(value: Any) -> bool:
    """Whether a value is an array of numbers of 2 or 4 bits, for which weft has no tensors."""
    return isinstance(value, np.ndarray) and value.dtype != object


def number(value: Any) -> Any:
    """A number that a file has as a scalar or as a list of one."""
    return value[0] if isinstance(value, list) else value


def to_dtype(value: Any, dtype: Any) -> Any:
    """A tensor in another dtype; itself where it is of that."""
    return value if value.dtype == dtype else value.to(dtype)


def legacy_broadcast(a: Any, b: Any, axis: int | None) -> Any:
    """The second operand in the shape that opsets before 7 line up with the first from an axis on."""
    if axis is None or b.ndim == 0:
        return b
    return b.reshape([*b.shape, *[1] * (a.ndim - b.ndim - axis % a.ndim)])


def normalized_axes(axes: Any, ndim: int, name: str) -> list[int]:
    """Axes counted from the front.

    Raises
    ------
    IndexError
        If there is no such axis, or one twice.
    """
    axes = [axes] if isinstance(axes, int) else list(axes)
    if any(not -ndim <= axis < ndim for axis in axes):
        raise IndexError(f"{name}: axes {axes} of a tensor with {ndim}")
    front = [axis % ndim for axis in axes]
    if len(set(front)) < len(front):
        raise IndexError(f"{name}: an axis is named twice in {axes}")
    return front


def stash(value: Any, stash_type: int = 1) -> Any:
    """A tensor in the dtype in which a normalization computes: float32 for the shorter ones."""
    return value.float() if stash_type == 1 and value.dtype in (weft.float16, weft.bfloat16) else value
