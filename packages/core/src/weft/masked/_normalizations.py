"""Normalizations and running reductions of the elements that a mask lets in."""

from __future__ import annotations

from typing import Any

from weft.masked._masks import filled, highest, lowest, masked_operation
from weft.masked._reductions import norm
from weft.ops import cumulative
from weft.ops import softmax as family
from weft.ops._geometry import require_tensors, wrap_dim


def along(name: str, dim: int, input: Any) -> int:
    """The one dim of a normalization."""
    require_tensors(f"masked.{name}", input=input)
    return wrap_dim(f"masked.{name}", dim, input.ndim)


@masked_operation
def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """``exp(input)`` divided by its sum along a dimension, over the elements that the mask lets in.

    Parameters
    ----------
    input : Tensor
    dim : int
    dtype : dtype, optional
        Convert first.
    mask : Tensor of bool, optional
        True where an element takes part; the others have 0. It broadcasts to the input's shape.

    Returns
    -------
    Tensor, of the input's shape; nan where no element of a row takes part.

    Examples
    --------
    >>> weft.masked.softmax(weft.zeros(3), 0, mask=weft.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    value = None if mask is None else lowest("softmax", input.dtype)
    row = along("softmax", dim, input)
    return family.softmax(filled("softmax", input, mask, value), row, dtype=dtype or input.dtype)


@masked_operation
def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of `softmax`, computed in one go; -inf where the mask leaves an element out."""
    value = None if mask is None else lowest("log_softmax", input.dtype)
    row = along("log_softmax", dim, input)
    return family.log_softmax(filled("log_softmax", input, mask, value), row, dtype=dtype or input.dtype)


@masked_operation
def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """`softmax` of ``-input``: the smallest elements get the largest shares."""
    value = None if mask is None else highest("softmin", input.dtype)
    row = along("softmin", dim, input)
    return family.softmax(-filled("softmin", input, mask, value), row, dtype=dtype or input.dtype)


@masked_operation
def normalize(input: Any, ord: Any, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """Each vector along a dimension divided by its p-norm, or by ``eps`` if that is less.

    Parameters
    ----------
    ord : float
        The p of the norm.
    dim : int
    eps : float
    input, dtype, mask
        See `softmax`.
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled("normalize", input, mask, 0) / length.clamp_min(eps)


@masked_operation
def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The sums along a dimension of all elements up to each one that the mask lets in.

    The result is of the input's dtype, or of ``dtype``.

    Examples
    --------
    >>> weft.masked.cumsum(weft.tensor([1, 2, 4]), 0, mask=weft.tensor([True, False, True]))
    tensor([1, 1, 5])
    """
    row = along("cumsum", dim, input)
    return cumulative.cumsum(filled("cumsum", input, mask, 0), row, dtype=dtype or input.dtype)


@masked_operation
def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The products along a dimension of all elements up to each one that the mask lets in; see `cumsum`."""
    row = along("cumprod", dim, input)
    return cumulative.cumprod(filled("cumprod", input, mask, 1), row, dtype=dtype or input.dtype)
