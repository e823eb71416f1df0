"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft._dtypes.dtypes import int64
from weft.ops._geometry import wrap_dim, wrap_dims
from weft.sparse._tensor import expect_sparse, flat_indices, implements, made

__all__ = ["log_softmax", "softmax", "summed"]


@implements("sum")
def summed(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all elements, or of those over some dimensions: sparse while sparse dimensions remain."""
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = int64
    if dtype is not None:  # before elements of one place are added, which narrow integers may not hold
        input = made(input._sparse_indices, input._inner_values.to(dtype), input.shape, input.is_coalesced())
    dims = () if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = set(wrap_dims("sum", dims, input.ndim)) or set(range(input.ndim))
    if dim is None or len(gone) == input.ndim:
        total = input._inner_values.sum(dtype=dtype)
        return total.reshape((1,) * input.ndim) if keepdim else total
    count = input.sparse_dim()
    dense = tuple(each - count + 1 for each in gone if each >= count)
    values = input._inner_values.sum(dense) if dense else input._inner_values
    kept = [each for each in range(count) if each not in gone]
    size = [length for each, length in enumerate(input.shape) if each not in gone]
    if kept:
        result = made(input._sparse_indices[kept], values, size, False).coalesce()
    else:
        result = values.sum(0)
    for each in sorted(gone) if keepdim else ():
        result = result.unsqueeze(each)
    return result


@implements("norm")
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim is not None:
        raise RuntimeError("norm: of a sparse tensor it is over all elements; see to_dense() for that over dim")
    return weft.norm(input.coalesce()._inner_values, p, dtype=dtype)


@implements("any")
def any_element(input: Any, *dims: Any, **options: Any) -> Any:
    if dims or options:
        raise NotImplementedError("any: of a sparse tensor it is over all elements; see to_dense() for that over dim")
    return input.coalesce()._inner_values.any()


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax over the elements that are there; the others count as minus infinity, and stay zeros.

    Parameters
    ----------
    input : Tensor, sparse
    dim : int
    dtype : dtype, optional
        The input is converted to it first.

    Returns
    -------
    Tensor, sparse, of the size of input

    Examples
    --------
    >>> x = weft.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 4.0], (2, 3))
    >>> weft.sparse.softmax(x, 1).to_dense()
    tensor([[0.0000, 0.0000, 1.0000],
            [0.5000, 0.0000, 0.5000]])
    """
    return normalized("softmax", input, dim, dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`, at the elements that are there."""
    return normalized("log_softmax", input, dim, dtype)


def normalized(name: str, input: Any, dim: int, dtype: Any) -> Any:
    expect_sparse(f"sparse.{name}", input)
    input = (input if dtype is None else input.to(dtype)).coalesce()
    dim = wrap_dim(f"sparse.{name}", dim, input.ndim)
    indices, values, count = input._sparse_indices, input._inner_values, input.sparse_dim()
    if dim >= count:
        return made(indices, getattr(values, name)(dim - count + 1), input.shape, True)
    others = [each for each in range(count) if each != dim]
    flat = flat_indices(indices[others], tuple(input.shape[each] for each in others))
    groups, group = weft.unique(flat, return_inverse=True)
    shape = (len(groups), *values.shape[1:])
    places = group.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    peaks = values.new_full(shape, -math.inf).scatter_reduce(0, places, values.detach(), "amax")
    shifted = values - peaks.detach()[group]
    sums = values.new_zeros(shape).index_add(0, group, shifted.exp())[group]
    return made(indices, shifted.exp() / sums if name == "softmax" else shifted - sums.log(), input.shape, True)
