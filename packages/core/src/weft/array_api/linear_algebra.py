"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence

import weft
from weft import Tensor
from weft.array_api._promotion import promoted
from weft.array_api.elementwise import binary

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]

matmul = binary("matmul")


def matrix_transpose(x: Tensor, /) -> Tensor:
    """A view of the matrices of a batch with rows for columns."""
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The sum of products over some axes.

    Parameters
    ----------
    x1, x2 : Tensor
    axes : int or pair of sequences of int
        So many last axes of ``x1`` and first of ``x2``; or which ones of either.
    """
    dims = axes if isinstance(axes, int) else [list(each) for each in axes]
    first, second = promoted(x1, x2)
    return weft.tensordot(first, second, dims)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The inner products ``sum(conj(x1) * x2)`` of vectors along an axis, which is counted from the last one.

    Raises
    ------
    ValueError
        If the vectors differ in length; the other axes broadcast.
    """
    first, second = promoted(x1, x2)
    if first.shape[axis] != second.shape[axis]:
        raise ValueError(
            f"vecdot: vectors must have the same length; axis {axis} has {first.shape[axis]} and {second.shape[axis]}"
        )
    return weft.sum(first.conj() * second, axis, dtype=first.dtype)  # linalg.vecdot takes no integers
