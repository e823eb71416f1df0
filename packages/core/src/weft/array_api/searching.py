"""Where elements are."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.array_api._promotion import promoted
from weft.array_api._reduction import Axes, reduced

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the largest element along an axis, or in the flattened array; of several the first."""
    return weft.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the smallest element along an axis, or in the flattened array; of several the first."""
    return weft.argmin(x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0."""
    return reduced(weft.sum, x != 0, axis, keepdims, dtype=weft.int64)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """For each axis the indices along it of the elements that are not 0.

    Raises
    ------
    ValueError
        For an array without axes.
    """
    if not x.ndim:
        raise ValueError("nonzero: an array without dimensions has no indices; use reshape(x, (1,))")
    return tuple(weft.nonzero(x, as_tuple=True))


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where the elements of ``x2`` would have to be inserted in ``x1`` to keep it sorted.

    Parameters
    ----------
    x1 : Tensor, one-dimensional, sorted if ``sorter`` does not sort it
    x2 : Tensor
    side : {"left", "right"}
        Before or after the elements that are equal.
    sorter : Tensor, optional
        The indices that sort ``x1``.
    """
    x1, x2 = promoted(x1, x2)
    if sorter is not None:
        x1 = x1[sorter.to(weft.int64)]
    return weft.searchsorted(x1, x2, side=side)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """Elements of ``x1`` where the condition holds, else of ``x2``; of their common dtype."""
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        x1 = weft.asarray(x1, device=condition.device)
    x1, x2 = promoted(x1, x2)
    return weft.where(condition, x1, x2)
