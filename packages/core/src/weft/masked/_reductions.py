"""Reductions over the elements that a mask lets in."""

from __future__ import annotations

import math
from typing import Any

from weft import linalg
from weft._dtypes.dtypes import bool_, float32, int64
from weft._engine.tensor import TensorBase
from weft.masked._masks import canonical, dims_of, filled, highest, lowest, masked_operation
from weft.ops._declare import composite, number_in
from weft.ops._geometry import require_tensors, wrap_dim
from weft.ops.creation import ones
from weft.ops.pointwise import logaddexp as log_of_sum


def summed_dtype(input: Any, dtype: Any) -> Any:
    """The dtype that sums and products have: int64 for integers, unless one is asked for."""
    if dtype is None:
        return int64 if input.dtype.category < 2 else input.dtype
    return dtype


@masked_operation
def sum(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The sum over some dimensions, or over all, of the elements that the mask lets in; of none it is 0.

    Parameters
    ----------
    input : Tensor
    dim : int or tuple of int, optional
        Default (and the empty tuple): all.
    keepdim : bool
        Keep the reduced dimensions with size 1.
    dtype : dtype, optional
        Of the result; integers are summed as int64 by default.
    mask : Tensor of bool, optional
        True where an element takes part. It broadcasts to the input's shape.

    Examples
    --------
    >>> weft.masked.sum(weft.tensor([1, 2, 4]), mask=weft.tensor([True, False, True]))
    tensor(5)
    """
    dims = dims_of("sum", dim, input)
    return filled("sum", input, mask, 0).sum(dims, bool(keepdim), dtype=summed_dtype(input, dtype))


@masked_operation
def prod(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The product over some dimensions, or over all; of no elements it is 1. The parameters are those of `sum`."""
    dims = dims_of("prod", dim, input)
    result = filled("prod", input, mask, 1).to(summed_dtype(input, dtype))
    for each in reversed(dims):
        result = result.prod(each, bool(keepdim))
    return result


@masked_operation
def amax(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The largest element over some dimensions, or over all; of none it is the least number of the dtype.

    The parameters are those of `sum`; the result is converted to ``dtype``.

    Examples
    --------
    >>> weft.masked.amax(weft.tensor([1, 2, 4]), mask=weft.tensor([True, True, False]))
    tensor(2)
    """
    dims = dims_of("amax", dim, input)
    value = None if mask is None else lowest("amax", input.dtype)
    return filled("amax", input, mask, value).amax(dims, bool(keepdim)).to(dtype or input.dtype)


@masked_operation
def amin(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The smallest element over some dimensions, or over all; of none it is the largest number of the dtype.

    The parameters are those of `sum`; the result is converted to ``dtype``.
    """
    dims = dims_of("amin", dim, input)
    value = None if mask is None else highest("amin", input.dtype)
    return filled("amin", input, mask, value).amin(dims, bool(keepdim)).to(dtype or input.dtype)


@masked_operation
def argmax(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Where the largest element is along a dimension, or in the flattened input.

    The result is converted to ``dtype``, by default to the input's own, as in PyTorch.
    """
    value = None if mask is None else lowest("argmax", input.dtype)
    return filled("argmax", input, mask, value).argmax(dim, bool(keepdim)).to(dtype or input.dtype)


@masked_operation
def argmin(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Where the smallest element is along a dimension, or in the flattened input; see `argmax`."""
    value = None if mask is None else highest("argmin", input.dtype)
    return filled("argmin", input, mask, value).argmin(dim, bool(keepdim)).to(dtype or input.dtype)


def count_of(name: str, input: Any, mask: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """How many elements take part in each reduction."""
    inside = ones((), dtype=bool_, device=input.device) if mask is None else mask
    return canonical(name, input, inside).sum(dims, bool(keepdim))


@masked_operation
def mean(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The mean over some dimensions, or over all; of no elements it is nan. The parameters are those of `sum`.

    Raises
    ------
    ValueError
        For integers, unless a floating-point or complex ``dtype`` is given.
    """
    dims = dims_of("mean", dim, input)
    element = input.dtype if dtype is None else dtype
    if element.category < 2:
        raise ValueError(
            f"masked.mean: the dtype of the result must be floating point or complex, got {element}; pass dtype="
        )
    total = sum(input, dims, keepdim=keepdim, dtype=element, mask=mask)
    return total / count_of("mean", input, mask, dims, keepdim)


@masked_operation
def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The median along a dimension, the lower of two in the middle; of no elements it is nan.

    Raises
    ------
    ValueError
        If the input is of integers, and some row has no elements.
    """
    require_tensors("masked.median", input=input)
    along = wrap_dim("masked.median", dim, input.ndim)
    if input.dtype.is_floating_point:
        return filled("median", input, mask, math.nan).nanmedian(along, keepdim).values
    found = filled("median", input.to(float32), mask, math.nan).nanmedian(along, keepdim).values
    if found.isnan().any():
        raise ValueError("masked.median: expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype or input.dtype)


@masked_operation
def logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of the sum of exponentials over some dimensions, or over all; of no elements it is -inf."""
    dims = dims_of("logsumexp", dim, input)
    value = -math.inf if input.dtype.category > 1 else None if mask is None else lowest("logsumexp", input.dtype)
    return filled("logsumexp", input, mask, value).logsumexp(dims, keepdim=keepdim).to(dtype or input.dtype)


@composite()
def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """``log(exp(input) + exp(other))`` of the elements that the masks let in; of none it is -inf.

    Parameters
    ----------
    input, other : Tensor
    dtype : dtype, optional
        Of the result.
    input_mask, other_mask : Tensor of bool, optional
    """
    left = filled("logaddexp", input, input_mask, -math.inf)
    right = filled("logaddexp", other, other_mask, -math.inf)
    return log_of_sum(left, right).to(dtype or input.dtype)


@masked_operation
def norm(
    input: Any, ord: Any = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The p-norm over some dimensions, or over all; of no elements it is 0, and inf where ``ord`` is -inf."""
    dims = dims_of("norm", dim, input)
    value = math.inf if ord == -math.inf else 0
    return linalg.vector_norm(filled("norm", input, mask, value), ord, dims, bool(keepdim), dtype=dtype or input.dtype)


@masked_operation
def var(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The variance over some dimensions, or over all; of no elements it is nan.

    Parameters
    ----------
    unbiased : bool, optional
        True is ``correction=1``, False ``correction=0``.
    correction : number, default 1
        Taken off the number of elements in the divisor.
    input, dim, keepdim, dtype, mask
        See `sum`.
    """
    return spread("var", input, dim, unbiased, correction, keepdim, dtype, mask)


@masked_operation
def std(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The standard deviation: the square root of `var`."""
    return spread("std", input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def spread(
    name: str, input: Any, dim: Any, unbiased: Any, correction: Any, keepdim: bool, dtype: Any, mask: Any
) -> Any:
    """The mean square of the distances from the mean."""
    if unbiased is not None and correction is not None:
        raise AssertionError(f"masked.{name}: only one of unbiased and correction may be given")
    if isinstance(correction, TensorBase):
        correction = number_in(f"masked.{name}", correction, "correction")
    off = float(unbiased is not False) if correction is None else float(correction)
    dims = dims_of(name, dim, input)
    element = (input.dtype if input.dtype.category > 1 else float32) if dtype is None else dtype
    compute = element if element.category > 1 else float32

    count = count_of(name, input, mask, dims, True)
    centre = sum(input, dims, keepdim=True, dtype=element, mask=mask) / count
    distance = input - centre
    total = sum(distance * distance.conj(), dims, keepdim=keepdim, dtype=compute, mask=mask)
    count = count.reshape(total.shape)
    if off:
        count = (count.to(compute.to_real()) - off).clamp(min=0)
    return (total / count).to(element)
