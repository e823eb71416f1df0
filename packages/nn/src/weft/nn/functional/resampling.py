"""Resampling along spatial dimensions: each element of the result is a sum of elements times weights.

Interpolation and adaptive averaging are this with other weights. They are found on the host for one dimension at a
time (`Taps`), and kept, since programs resample the same sizes repeatedly.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy

from weft import Tensor
from weft.library.declare import op

__all__ = ["Taps", "resample"]

Sizes = tuple[int, ...]


class Taps:
    """The elements and weights that each element along one dimension of a result is the sum of.

    Attributes
    ----------
    size : int
        How many elements there are to take.
    rows : array of int32, shape (taps, out)
        The numbers of the elements; ``size`` stands for none, where others have more.
    weights : array, shape (taps, out)
    span : int
        How many elements those of one element of the result reach over, at most.
    is_partial : bool
        Whether there is a none among them.
    is_choice : bool
        Whether each element of the result is an element itself.
    """

    def __init__(self, size: int, rows: Any, weights: Any) -> None:
        self.size = size
        self.rows = numpy.ascontiguousarray(rows, numpy.int32)
        self.weights = numpy.ascontiguousarray(weights)
        some = self.rows < size
        self.is_partial = not some.all()
        low, high = numpy.where(some, self.rows, size).min(0), numpy.where(some, self.rows, -1).max(0)
        self.is_choice = not self.is_partial and len(self.rows) == 1 and bool((self.weights == 1).all())
        self.span = max(1, int((high - low).max(initial=0)) + 1)

    @cached_property
    def transposed(self) -> Taps:
        """The taps of the gradient: for each element, the results that it is in, and its weights there."""
        count, out = self.rows.shape
        some = self.rows < self.size
        number = numpy.broadcast_to(numpy.arange(out), (count, out))[some]
        pair, where = numpy.unique(self.rows[some].astype(numpy.int64) * out + number, return_inverse=True)
        weights = numpy.bincount(where.reshape(-1), self.weights[some].astype(numpy.float64), len(pair))
        row, number = pair // out, pair % out
        counts = numpy.bincount(row, minlength=self.size)
        place = numpy.arange(len(pair)) - (numpy.cumsum(counts) - counts)[row]
        rows = numpy.full((max(1, int(counts.max(initial=0))), self.size), out)
        found = numpy.zeros(rows.shape, self.weights.dtype)
        rows[place, row], found[place, row] = number, weights
        turned = Taps(out, rows, found)
        turned.transposed = self
        return turned


@op(
    tensors="input",
    dtypes="int float",
    result="same",
    compute_dtype="float32",
    namespace="nn",
    vmap="merged",
    linear="input",
)
def resample(input: Tensor, taps: tuple[Taps | None, ...]) -> Tensor:
    """Sums of elements of (N, C, ...) times weights; for each spatial dimension its `Taps`, or None to leave it."""
    return resample.op(input, taps)


@resample.kernel
def _(xp, input, taps):
    for dim in reversed(range(2, input.ndim)):  # as PyTorch rounds: the last dimension first
        if taps[dim - 2] is not None:
            input = along(xp, input, dim, taps[dim - 2])
    return input


def along(xp: Any, array: Any, dim: int, taps: Taps) -> Any:
    """The sums along one dimension."""
    if taps.is_choice and type(array) is numpy.ndarray:
        return array.take(taps.rows[0], dim)
    if taps.is_partial:
        shape = [1 if d == dim else n for d, n in enumerate(array.shape)]
        array = xp.concatenate([array, xp.zeros(shape, array.dtype)], axis=dim)
    shape = [-1 if d == dim else 1 for d in range(array.ndim)]
    total: Any = None
    for rows, weights in zip(taps.rows, taps.weights):
        part = xp.take(array, xp.asarray(rows), axis=dim)
        part *= xp.asarray(weights, dtype=array.dtype).reshape(shape)
        total = part if total is None else xp.add(total, part, out=total)
    return total


@resample.gradient("input")
def _(grad, taps):
    return resample.op(grad, tuple(None if each is None else each.transposed for each in taps))
