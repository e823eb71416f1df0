"""Reductions over dimensions."""

from __future__ import annotations

from typing import Any

from weft._dtypes import int64
from weft._engine.tensor import state
from weft.ops._declare import composite, op
from weft.ops._geometry import wrap_dims


@op("sum", out=True, half="float32", result="any")
def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum over some dimensions, or over all.

    Parameters
    ----------
    input : Tensor
    dim : int or tuple of int, optional
        Default (and the empty tuple): all.
    keepdim : bool
        Keep the reduced dimensions with size 1.
    dtype : dtype, optional
        Convert before summing. Integers and bool are summed as int64 unless it is given.

    Examples
    --------
    >>> weft.sum(weft.ones(2, 3), dim=1)
    tensor([3., 3.])
    """
    if dtype is None and input.dtype.category < 2:
        dtype = int64
    if dtype is not None:
        input = input.to(dtype)
    dims = wrap_dims("sum", dim if dim != () and dim != [] else None, input._array.ndim)
    return sum.op(input, dims, keepdim)


@sum.kernel
def _(xp, input, dim, keepdim):
    return xp.sum(input, axis=dim if input.ndim else None, keepdims=keepdim)


@sum.gradient("input")
def _(grad, input_shape, dim, keepdim):
    return spread(grad, input_shape, dim, keepdim)


def spread(grad: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
    """A reduced gradient expanded over the dimensions that were reduced."""
    if not shape:
        return grad
    if not keepdim:
        grad = grad.reshape([1 if d in dim else size for d, size in enumerate(shape)])
    return grad.expand(shape)


@composite("sum_to_size")
def sum_to_size(input, *size):
    """The sum over the dimensions that broadcasting would have to expand from ``size``."""
    from weft.ops._geometry import integers

    shape = integers("sum_to_size", size)
    have = input._array.shape
    lead = len(have) - len(shape)
    if lead < 0 or any(want not in (1, got) for want, got in zip(shape, have[lead:])):
        raise RuntimeError(f"sum_to_size: size {list(shape)} is not expandable to size {list(have)}.")
    dims = tuple(range(lead)) + tuple(
        d + lead for d, want in enumerate(shape) if want == 1 and have[d + lead] != 1
    )
    return (sum.op(input, dims, True) if dims else input).reshape(shape)


state.sum_to_size = sum_to_size
