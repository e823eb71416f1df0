"""Elements by their indices."""

from __future__ import annotations

import weft
from weft import Tensor

__all__ = ["take", "take_along_axis"]


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The slices of ``x`` along an axis that the indices name.

    Parameters
    ----------
    x : Tensor
    indices : Tensor, one-dimensional, integer
    axis : int, optional
        Not needed where ``x`` has one dimension.

    Examples
    --------
    >>> from weft import array_api as xp
    >>> xp.take(xp.asarray([[1, 2, 3]]), xp.asarray([2, 0]), axis=1)
    tensor([[3, 1]])
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: axis is required for an array of {x.ndim} dimensions")
        axis = 0
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"take: axis {axis} is out of range for an array of {x.ndim} dimensions")
    return x[(slice(None),) * (axis % x.ndim) + (indices.to(weft.int64),)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each position of ``indices`` the element of ``x`` at this position, but at the index along the axis."""
    return weft.take_along_dim(x, indices.to(weft.int64), axis)
