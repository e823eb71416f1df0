"""Whether all or any hold, and differences."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.array_api._promotion import promoted
from weft.array_api._reduction import Axes, reduced

__all__ = ["all", "any", "diff"]


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over some axes, or over all, are not 0."""
    return reduced(weft.all, x.to(weft.bool), axis, keepdims)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether an element over some axes, or over all, is not 0."""
    return reduced(weft.any, x.to(weft.bool), axis, keepdims)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences between neighbours along an axis, ``n`` times.

    Parameters
    ----------
    x : Tensor
    axis, n : int
    prepend, append : Tensor, optional
        What comes before and after ``x`` along the axis.
    """
    joined = promoted(*(each for each in (prepend, x, append) if each is not None))
    return weft.diff(joined[0] if len(joined) == 1 else weft.cat(joined, axis), n, axis)
