"""Sums, products, extremes and moments."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor, dtype
from weft._dtypes.dtypes import FLOATING
from weft.array_api._reduction import Axes, reduced

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]


def total_dtype(x: Tensor, given: dtype | None) -> dtype:
    """The dtype of sums and products: small integers become 64 bits wide, and keep whether they have a sign."""
    if given is not None:
        return given
    element = x.dtype
    if element.category >= FLOATING:
        return element
    return weft.int64 if element.is_signed or element is weft.bool else weft.uint64


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest element over some axes, or all; nan if there is one."""
    return reduced(weft.amax, x, axis, keepdims)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest element over some axes, or all; nan if there is one."""
    return reduced(weft.amin, x, axis, keepdims)


def sum(x: Tensor, /, *, axis: Axes = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """The sum over some axes, or all."""
    return reduced(weft.sum, x, axis, keepdims, dtype=total_dtype(x, dtype))


def prod(x: Tensor, /, *, axis: Axes = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor:
    """The product over some axes, or all."""
    return reduced(product, x, axis, keepdims, dtype=total_dtype(x, dtype))


def product(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: dtype) -> Tensor:
    """The product over several axes, as PyTorch has it over one."""
    x = x.to(dtype)
    for each in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = weft.prod(x, each, keepdims, dtype=dtype)
    return x


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The arithmetic mean over some axes, or all."""
    return reduced(weft.mean, x, axis, keepdims)


def std(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation over some axes, or all: `var`'s square root."""
    return reduced(deviation, x, axis, keepdims, of=weft.std, correction=correction)


def var(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance over some axes, or all: the sum of squares is divided by the count less ``correction``."""
    return reduced(deviation, x, axis, keepdims, of=weft.var, correction=correction)


def deviation(x: Tensor, axes: tuple[int, ...], keepdims: bool, of: Any, correction: float) -> Tensor:
    """A function of PyTorch's with its correction by keyword."""
    return of(x, axes, correction=correction, keepdim=keepdims)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None, include_initial: bool = False
) -> Tensor:
    """The sums of the elements up to each along an axis, after a 0 if ``include_initial``."""
    return running(weft.cumsum, x, axis, total_dtype(x, dtype), 0 if include_initial else None)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None, include_initial: bool = False
) -> Tensor:
    """The products of the elements up to each along an axis, after a 1 if ``include_initial``."""
    return running(weft.cumprod, x, axis, total_dtype(x, dtype), 1 if include_initial else None)


def running(function: Any, x: Tensor, axis: int | None, element: dtype, initial: int | None) -> Tensor:
    """A running reduction.

    Raises
    ------
    ValueError
        If the axis is to be named: there is not exactly one.
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"cumulative function: axis is required for an array of {x.ndim} dimensions")
        axis = 0
    result = function(x, axis, dtype=element)
    if initial is None:
        return result
    first = list(x.shape)
    first[axis] = 1
    return weft.cat([result.new_full(first, initial), result], axis)
