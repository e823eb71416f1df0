"""Reductions over dimensions: sums, means, extremes, and whether any or all hold."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy

from weft._dtypes.dtypes import bool_, element_type, get_default_dtype, int64, uint8
from weft._engine.arrays import row_sums
from weft._engine.dimensions import Deviation, Extreme, Extremum, Product, Variance
from weft._engine.fast_paths import FastPath
from weft._engine.tensor import TensorBase, state
from weft._errors import warn_caller
from weft._interception.transforms import values_at_hand
from weft._tensor.base import Tensor, add_members
from weft._tensor.layout import in_order
from weft._tensor.named_results import named
from weft.ops import pointwise
from weft.ops._declare import ALL_DTYPES, composite, op
from weft.ops._geometry import integers, require_tensors, wrap_dim, wrap_dims
from weft.ops._numerics import fold, is_numpy, peaks
from weft.ops.joining import cat
from weft.ops.pointwise import conj
from weft.types import DType, Number

REAL = "bool int float"

add_reduce: Any = numpy.add.reduce  # its types want literal flags


def reduced(name: str, input: Any, dim: Any) -> tuple[int, ...]:
    """The dims of a reduction: None and the empty tuple mean all."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    empty = isinstance(dim, (tuple, list)) and not dim
    return wrap_dims(name, None if empty else dim, input._array.ndim)


def summable(input: Any, dtype: Any) -> Any:
    """The input in the dtype that sums are computed in: integers and bool as int64."""
    if dtype is None and input._key.dtype.category < 2:
        dtype = int64
    return input if dtype is None or dtype is input._key.dtype else input.to(dtype)


def axes(input: Any, dim: tuple[int, ...]) -> Any:
    """The dims as the array library takes them; a 0-d array has none."""
    return dim if input.ndim else None


REDUCING: dict[str, Any] = {
    "sum": numpy.add,
    "prod": numpy.multiply,
    "max": numpy.maximum,
    "min": numpy.minimum,
    "any": numpy.logical_or,
    "all": numpy.logical_and,
}


def reduce(name: str, input: Any, axis: Any, keepdim: bool = False) -> Any:
    """An array's method of this name, in its dtype; NumPy's takes twice as long as what it calls."""
    if type(input) is not numpy.ndarray:
        dtype = {"dtype": input.dtype} if name in ("sum", "prod") else {}
        return getattr(input, name)(axis=axis, keepdims=keepdim, **dtype)
    if input.size > FEW and name == "sum" and input.dtype.kind in "fc":
        return sum_in_blocks(input, axis, keepdim)
    return REDUCING[name].reduce(input, axis, input.dtype, None, keepdim)


FEW = 256  # terms whose sum one after the other is accurate enough
TERMS = 64  # of a block
WIDE = 256  # sums next to each other that NumPy adds a row to at full speed


def sum_in_blocks(input: Any, axis: Any, keepdim: bool) -> Any:
    """The sum of a large NumPy array along axes, in blocks of blocks.

    NumPy adds in pairs where the terms are next to each other in memory. Elsewhere it adds one term after the other,
    which loses all digits in the end: of 4 million numbers in float32 the sum is off by some percent.
    """
    shape, ndim = input.shape, input.ndim
    dims = range(ndim) if axis is None else [d % ndim for d in (axis if isinstance(axis, tuple) else (axis,))]
    if math.prod([shape[d] for d in dims]) <= FEW:
        return add_reduce(input, axis, input.dtype, None, keepdim)
    repeated = [d for d in dims if shape[d] > 1 and not input.strides[d]] if 0 in input.strides else []
    if repeated:
        input = sum_of_repeated(input, repeated)
    while True:
        left = [d for d in dims if input.shape[d] > 1]
        inner = innermost(input, left)
        if len(inner) == len(left) or count_of(input, tuple(left)) <= FEW:
            input = add_reduce(input, tuple(left), input.dtype, None, True)
            break
        longest = builtins.max(left, key=input.shape.__getitem__)
        if count_of(input, inner) >= TERMS:
            input = add_reduce(input, inner, input.dtype, None, True)
        elif input.shape[longest] > TERMS:
            input = sum_of_blocks(input, longest)
        else:
            input = add_reduce(input, longest, input.dtype, None, True)
    return input if keepdim else input.reshape([size for d, size in enumerate(shape) if d not in dims])[()]


def sum_of_repeated(array: Any, dims: list[int]) -> Any:
    """The sums along dims in which an expanded array has one element again and again: multiples of it."""
    count = math.prod([array.shape[d] for d in dims])
    once = array[tuple(slice(1) if d in dims else slice(None) for d in builtins.range(array.ndim))]
    result = numpy.array(once, order="C")
    parts = result.view(result.real.dtype)  # a complex number times one would make nan of infinite parts
    parts *= parts.dtype.type(count)
    return result


def innermost(array: Any, dims: list[int]) -> tuple[int, ...]:
    """Those of some dims along which the elements follow each other in memory at equal distances."""
    found: list[int] = []
    shape, strides = array.shape, array.strides
    for dim in sorted(builtins.range(array.ndim), key=lambda dim: abs(strides[dim])):
        if shape[dim] == 1:
            continue
        if dim not in dims or (found and strides[dim] != strides[found[-1]] * shape[found[-1]]):
            break
        found.append(dim)
    return tuple(found)


def sum_of_blocks(array: Any, dim: int) -> Any:
    """An array in which `TERMS` elements along a dim have become one; what is left over has been added to the first."""
    size, step = array.shape[dim], abs(array.strides[dim])
    width = math.prod([n for n, stride in zip(array.shape, array.strides) if abs(stride) < step])
    blocks = size // TERMS if width >= WIDE else -(-size // TERMS)  # of neighbours, or of what is far apart: then
    each = TERMS if width >= WIDE else size // blocks  # what a term is added to is longer
    whole, lead = blocks * each, (slice(None),) * dim
    pair = (blocks, each) if width >= WIDE else (each, blocks)
    split = array[(*lead, slice(whole))].reshape(*array.shape[:dim], *pair, *array.shape[dim + 1 :])  # a view
    sums = add_reduce(split, dim + (width >= WIDE), array.dtype)
    rest = array[(*lead, slice(whole, None))]
    if width >= WIDE:
        rest = add_reduce(rest, dim, array.dtype, None, True)
    sums[(*lead, slice(rest.shape[dim]))] += rest
    return sums


@op(
    "sum",
    out="dtype",
    result="same",
    compute_dtype="float32",
    vmap="along_dims",
    linear="input",
    fast_path=FastPath(),
)
def sum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The sum over some dimensions, or over all.

    Parameters
    ----------
    input : Tensor
    dim : int or sequence of int, optional
        Default (and the empty sequence): all.
    keepdim : bool
        Keep the reduced dimensions, with size 1.
    dtype : dtype, optional
        Convert before summing. Integers and bool are summed as int64 unless it is given.

    Examples
    --------
    >>> weft.sum(weft.ones(2, 3), dim=1)
    tensor([3., 3.])
    """
    dims = reduced("sum", input, dim if axis is None else axis)
    keepdim = keepdim if keepdims is None else keepdims
    if dtype is None and is_narrow(input):
        return integer_sum.op(input, dims, keepdim)
    return sum.op(summable(input, dtype), dims, keepdim)


@sum.kernel
def _(xp, input, dim, keepdim):
    return total(xp, input, dim, keepdim)


@sum.onnx
def _(graph, input, dim, keepdim):
    return graph.reduce("ReduceSum", input, dim, keepdim)


def is_narrow(input: Any) -> bool:
    """Whether it holds bool or integers that are summed as int64, and are not it."""
    return input._key.dtype.category < 2 and input._key.dtype is not int64


@op(name="integer_sum", dtypes="bool int", gradient=None, vmap="along_dims")
def integer_sum(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    """The sum of bool or narrow integers as int64, without a copy of them in that dtype."""
    return integer_sum.op(input, dim, keepdim)


@integer_sum.kernel
def _(xp, input, dim, keepdim):
    return in_order(xp, xp.sum(input, axis=axes(input, dim), keepdims=keepdim, dtype=xp.int64))


@integer_sum.onnx
def _(graph, input, dim, keepdim):
    return graph.reduce("ReduceSum", graph.cast(input, int64), dim, keepdim)


BLOCK = 4096  # elements that a product with ones adds up at once


def total(xp: Any, input: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """The sum over dims; rows of a contiguous array as a product with ones, which is two to three times faster."""
    if input.size < BLOCK:
        if dim == (1,) and input.ndim == 2:
            return rows_total(input, keepdim)
        found = reduce("sum", input, dim if input.ndim else None, keepdim)
        return found if found.flags.c_contiguous else in_order(xp, found)
    ndim = input.ndim
    rest = ndim - len(dim)
    last = math.prod(input.shape[rest:])
    if not (
        type(input) is numpy.ndarray
        and input.dtype.char in "fd"
        and input.flags.c_contiguous
        and sorted(dim) == list(builtins.range(rest, ndim))
        and (last <= BLOCK if rest else True)
    ):
        return in_order(xp, xp.asarray(reduce("sum", input, axes(input, dim), keepdim)))
    width = last if rest else BLOCK
    flat = input.reshape(-1)
    whole = flat.size // width * width
    sums = xp.matmul(flat[:whole].reshape(-1, width), xp.ones(width, input.dtype))
    if not rest:
        sums = xp.sum(sums) + xp.sum(flat[whole:])
    return xp.asarray(sums).reshape(input.shape[:rest] + (1,) * (len(dim) if keepdim else 0))


def rows_total(rows: Any, keepdim: bool = True) -> Any:
    """The sum of each row of a small matrix."""
    if type(rows) is numpy.ndarray and (rows.flags.c_contiguous or rows.size <= FEW):
        return row_sums(rows, keepdim)
    return reduce("sum", rows, 1, keepdim)


@sum.gradient("input")
def _(grad, input_shape, dim, keepdim):
    return spread(grad, input_shape, dim, keepdim)


def spread(grad: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
    """A reduced gradient expanded over the dimensions that were reduced."""
    if not shape:
        return grad
    if not keepdim and len(dim) < len(shape):  # a gradient without dimensions expands as it is
        grad = grad.reshape([1 if d in dim else size for d, size in enumerate(shape)])
    return grad.expand(shape)


@op(
    "nansum",
    out=True,
    error_type=NotImplementedError,
    result="same",
    compute_dtype="float32",
    vmap="along_dims",
    fast_path=FastPath(),
)
def nansum(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The sum of the elements that are not nan.

    Parameters
    ----------
    input : Tensor of real dtype
    dim : int or sequence of int, optional
        Default: all.
    keepdim : bool
        Keep the reduced dimensions, with size 1.
    dtype : dtype, optional
        Convert before summing. Integers and bool are summed as int64 unless it is given.

    Raises
    ------
    RuntimeError
        For complex input.

    Examples
    --------
    >>> weft.nansum(weft.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    if input._key.is_complex:
        raise RuntimeError("nansum: nansum does not support complex inputs")
    if dtype is bool_:
        return nansum.op(input.to(bool_).to(int64), reduced("nansum", input, dim), keepdim).to(bool_)
    return nansum.op(summable(input, dtype), reduced("nansum", input, dim), keepdim)


@nansum.kernel
def _(xp, input, dim, keepdim):
    return total(xp, xp.where(input == input, input, input.dtype.type(0)), dim, keepdim)


@nansum.gradient("input")
def _(grad, input, dim, keepdim):
    return spread(grad, input._array.shape, dim, keepdim) * ~input.isnan()


@nansum.onnx
def _(graph, input, dim, keepdim):
    valid = graph.where(graph.is_nan(input), graph.value(0, input), input)
    return graph.reduce("ReduceSum", valid, dim if input.ndim else (), keepdim)


@op(
    "mean",
    out=True,
    result="same",
    compute_dtype="float32",
    dtypes="float complex",
    vmap="along_dims",
    linear="input",
    fast_path=FastPath(),
)
def mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The mean over some dimensions, or over all.

    Parameters
    ----------
    input : Tensor
    dim : int or sequence of int, optional
        Default: all.
    keepdim : bool
        Keep the reduced dimensions, with size 1.
    dtype : dtype, optional
        Convert before summing.

    Returns
    -------
    Tensor; nan where there is nothing to average.

    Raises
    ------
    RuntimeError
        For integers, unless a floating-point ``dtype`` is given.

    Examples
    --------
    >>> weft.mean(weft.tensor([1.0, 2.0, 6.0]))
    tensor(3.)
    """
    dims = reduced("mean", input, dim if axis is None else axis)
    input = input if dtype is None else input.to(dtype)
    if not input._key.is_differentiable:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {input._key.dtype.scalar_type_name} ({input._key.dtype}); convert with .float() or pass "
            "dtype=weft.float32"
        )
    return mean.op(input, dims, keepdim if keepdims is None else keepdims)


@mean.kernel
def _(xp, input, dim, keepdim):
    return total(xp, input, dim, keepdim) / input.dtype.type(count_of(input, dim))


@mean.onnx
def _(graph, input, dim, keepdim):
    return graph.reduce("ReduceMean", input, dim, keepdim)


def count_of(input: Any, dim: tuple[int, ...]) -> int:
    """How many elements a reduction over dims adds up."""
    shape = input.shape
    return math.prod([shape[d] for d in dim]) if shape else 1


@mean.gradient("input")
def _(grad, input_shape, dim, keepdim):
    count = math.prod(input_shape[d] for d in dim) if input_shape else 1
    return spread(grad, input_shape, dim, keepdim) / count


@composite("nanmean", out=True, error_type=NotImplementedError)
def nanmean(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The mean of the elements that are not nan.

    Parameters
    ----------
    input : Tensor of floating-point or complex dtype
    dim : int or sequence of int, optional
        Default: all.
    keepdim : bool
        Keep the reduced dimensions, with size 1.
    dtype : dtype, optional
        Convert before summing.

    Raises
    ------
    RuntimeError
        If input or ``dtype`` is not a floating-point or complex one.

    Examples
    --------
    >>> weft.nanmean(weft.tensor([1.0, float("nan"), 3.0]))
    tensor(2.)
    """
    if not input._key.is_differentiable:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype}")
    dtype = element_type("nanmean", dtype)
    if dtype is not None and dtype.category < 2:
        raise RuntimeError(f"nanmean(): dtype must be a floating point or complex dtype; got {dtype}")
    count = (~input.isnan()).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


@op(
    "prod",
    out="dtype",
    result="same",
    compute_dtype="float32",
    vmap="along_dims",
    autocast="float32",
    fast_path=Product(),
)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The product over one dimension, or over all.

    Parameters
    ----------
    input : Tensor
    dim : int, optional
        Default: all.
    keepdim : bool
        Keep the reduced dimension, with size 1.
    dtype : dtype, optional
        Convert before multiplying. Integers and bool are multiplied as int64 unless it is given.

    Raises
    ------
    TypeError
        For several dimensions.

    Examples
    --------
    >>> weft.prod(weft.tensor([[1, 2], [3, 4]]), dim=1)
    tensor([ 2, 12])
    """
    if isinstance(dim, (tuple, list)):
        raise TypeError("prod(): argument 'dim' must be int, not tuple; multiply along one dimension at a time")
    dims = reduced("prod", input, dim)
    if dtype is None and is_narrow(input):
        return integer_prod.op(input, dims, keepdim)
    return prod.op(summable(input, dtype), dims, keepdim)


@prod.onnx
def _(graph, input, dim, keepdim):
    return graph.reduce("ReduceProd", input, dim, keepdim)


@op(name="integer_prod", dtypes="bool int", gradient=None, vmap="along_dims")
def integer_prod(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    """The product of bool or narrow integers as int64, without a copy of them in that dtype."""
    return integer_prod.op(input, dim, keepdim)


@integer_prod.kernel
def _(xp, input, dim, keepdim):
    return in_order(xp, xp.prod(input, axis=axes(input, dim), keepdims=keepdim, dtype=xp.int64))


@integer_prod.onnx
def _(graph, input, dim, keepdim):
    return graph.reduce("ReduceProd", graph.cast(input, int64), dim, keepdim)


@prod.kernel
def _(xp, input, dim, keepdim):
    return in_order(xp, reduce("prod", input, axes(input, dim), keepdim))


@prod.gradient("input")
def _(grad, input, output, dim, keepdim):
    shape = input._array.shape
    if not shape:
        return grad
    if input.is_meta or not input._array.size or (values_at_hand(input) and not (input == 0).any()):
        return spread(grad * conj(output), shape, dim, keepdim) / conj(input)
    return spread(grad, shape, dim, keepdim) * conj(product_of_others(input, dim))


def product_of_others(input: Any, dim: tuple[int, ...]) -> Any:
    """For each element the product of the others along some dims, without dividing by what may be 0."""
    shape = input._array.shape
    rest = [d for d in builtins.range(len(shape)) if d not in dim]
    order = [*rest, *dim]
    flat = input.permute(order).reshape([*[shape[d] for d in rest], -1])
    before = flat.new_ones([*flat.shape[:-1], 1])
    one = before
    left = joined([one, flat.narrow(-1, 0, flat.shape[-1] - 1)]).cumprod(-1)
    right = joined([one, flat.flip(-1).narrow(-1, 0, flat.shape[-1] - 1)]).cumprod(-1).flip(-1)
    inverse = [order.index(d) for d in builtins.range(len(shape))]
    return (left * right).reshape([shape[d] for d in order]).permute(inverse)


def joined(tensors: list[Any]) -> Any:
    return cat(tensors, -1)


# Extremes


def refuse_empty(name: str, input: Any, dim: Any) -> None:
    """What has no value for no elements needs some along each dim that is reduced.

    Raises
    ------
    RuntimeError, IndexError
        If there are none in the tensor, or along a dim that was given.
    """
    if input._array.size:
        return
    if dim is None or dim == () or dim == []:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    shape = input._array.shape
    for each in reduced(name, input, dim):
        if shape[each] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {each} to have non-zero size; got shape {list(shape)}")


def extreme(name: str, xp_name: str, what: str) -> Any:
    """The op that finds an extreme over several dims; the gradient is shared by equal elements."""

    def function(input: Tensor, dim: int | Sequence[int] | None = (), keepdim: bool = False) -> Tensor:
        dims = reduced(name, input, dim)
        refuse_empty(name, input, dim)
        return declared.op(input, dims, keepdim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {what} over some dimensions, or over all; gradients are shared by equal elements.

    Parameters
    ----------
    input : Tensor of real dtype
    dim : int or sequence of int, optional
        Default: all.
    keepdim : bool
        Keep the reduced dimensions, with size 1.

    Raises
    ------
    RuntimeError, IndexError
        If there are no elements to compare.

    Examples
    --------
    >>> weft.{name}(weft.tensor([[3, 1], [2, 4]]), dim=1)
    tensor([{"3, 4" if xp_name == "max" else "1, 2"}])
    """
    declared = op(
        name,
        out="exact",
        result="same",
        compute_dtype="native",
        dtypes=REAL,
        vmap="along_dims",
        fast_path=Extremum(),
    )(function)

    @declared.kernel
    def _(xp, input, dim, keepdim):
        return in_order(xp, reduce(xp_name, input, axes(input, dim), keepdim))

    @declared.onnx
    def _(graph, input, dim, keepdim):
        return graph.reduce(f"Reduce{xp_name.title()}", input, dim, keepdim)

    @declared.gradient("input")
    def _(grad, input, output, dim, keepdim):
        shape = input._array.shape
        chosen = input == spread(output, shape, dim, keepdim)
        share = grad / chosen.sum(dim if shape else None, keepdim)
        return spread(share, shape, dim, keepdim) * chosen

    return declared


amax = extreme("amax", "max", "largest element")
amin = extreme("amin", "min", "smallest element")


@composite(out="exact")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest element.

    Parameters
    ----------
    input : Tensor of real dtype
    dim : int, optional
        Default: over all.
    keepdim : bool
        Keep the reduced dimension, with size 1.

    Returns
    -------
    named tuple (min, max) of Tensor

    Raises
    ------
    RuntimeError
        If there are no elements to compare.

    Examples
    --------
    >>> weft.aminmax(weft.tensor([[3, 1], [2, 4]]), dim=1)
    weft.return_types.aminmax(
    min=tensor([1, 2]),
    max=tensor([3, 4]))
    """
    if dim is None and not input.numel():
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    dims = () if dim is None else dim
    return named("aminmax", "min max")(amin(input, dims, keepdim), amax(input, dims, keepdim))


add_members(aminmax=aminmax)


def finder(name: str, xp_name: str) -> Any:
    """The op that gives the position of an extreme along a dim."""

    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if input._key.is_complex:
            raise RuntimeError(f"{name}: does not support complex input, which has no order")
        if input._key.dtype is bool_:
            raise NotImplementedError(f"{name}: not implemented for '{input._key.dtype.scalar_type_name}'")
        if not input._array.size and (dim is None or not input._array.shape[wrap_dim(name, dim, input.ndim)]):
            what = (
                "to be specified for input.numel() == 0. Specify the reduction dim with the dim argument."
                if dim is None
                else f"{dim} to have non-zero size."
            )
            raise IndexError(f"{name}(): Expected reduction dim {what}")
        return declared.op(input, None if dim is None else wrap_dim(name, dim, input.ndim), keepdim)

    function.__name__ = function.__qualname__ = name
    which = "largest" if "max" in name else "smallest"
    function.__doc__ = f"""The position of the {which} element along a dimension, or in the flat tensor.

    Parameters
    ----------
    input : Tensor of real dtype, not bool
    dim : int, optional
        Default: over all elements, in row-major order.
    keepdim : bool
        Keep the reduced dimension, with size 1.

    Returns
    -------
    Tensor of int64
        Of equal elements, the position of the first.

    Raises
    ------
    IndexError
        If there are no elements to compare.

    Examples
    --------
    >>> weft.{name}(weft.tensor([[3, 1], [2, 4]]), dim=1)
    tensor([{"0, 1" if "max" in name else "1, 0"}])
    """
    declared = op(
        name,
        out="exact",
        compute_dtype="float32",
        gradient=None,
        vmap="along_dims",
        fast_path=Extremum(dtypes="real"),
    )(function)

    @declared.kernel
    def _(xp, input, dim, keepdim):
        if not input.ndim:
            return xp.zeros((), xp.int64)
        found = getattr(input, xp_name)(axis=dim)
        if not keepdim:
            return found
        return xp.reshape(found, (1,) * input.ndim) if dim is None else xp.expand_dims(found, dim)

    @declared.onnx
    def _(graph, input, dim, keepdim):
        operator = "ArgMax" if xp_name == "argmax" else "ArgMin"
        flat = graph.Reshape(input, graph.sizes([-1])) if dim is None or not input.ndim else input
        found = graph.emit(operator, flat, axis=dim or 0, keepdims=int(keepdim and dim is not None and input.ndim > 0))
        return graph.Reshape(found, graph.sizes([1] * input.ndim)) if keepdim and dim is None else found

    return declared


argmax = finder("argmax", "argmax")
argmin = finder("argmin", "argmin")


def extreme_along(name: str, find: Any, pointwise_name: str, over_all: Any) -> Any:
    """The function with three uses: over all, along a dim (with positions), and of two tensors."""
    pair = named(name, "values indices")

    def function(
        input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False, *, other: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        require_tensors(name, input=input)
        if isinstance(dim, TensorBase) or other is not None:
            return getattr(pointwise, pointwise_name)(input, dim if other is None else other)
        if dim is None:
            if not input._array.size:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                    "dim with "
                    "the 'dim' argument."
                )
            return whole.op(input)
        dim = wrap_dim(name, dim, input.ndim)
        if input._key.is_complex:
            raise NotImplementedError(f"{name}: not implemented for '{input._key.dtype.scalar_type_name}'")
        if input.ndim and not input._array.shape[dim]:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        return pair(*declared.op(input, dim, keepdim))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {name}imum over all elements, along a dimension with its position, or of two tensors.

    Parameters
    ----------
    input : Tensor of real dtype
    dim : int, optional
        Default: over all. A Tensor here is ``other``.
    keepdim : bool
        Keep the reduced dimension, with size 1.
    other : Tensor, broadcastable with input, optional
        Compare element by element, as `{pointwise_name}` does.

    Returns
    -------
    Tensor, or with ``dim`` a named tuple (values, indices) of Tensor.
        Over all elements, gradients are shared by equal ones; along a dimension they go to the one that was found.

    Raises
    ------
    RuntimeError, IndexError
        If there are no elements to compare.

    Examples
    --------
    >>> x = weft.tensor([[3, 1], [2, 4]])
    >>> x.{name}()
    tensor({"4" if name == "max" else "1"})
    >>> x.{name}(dim=1).indices
    tensor([{"0, 1" if name == "max" else "1, 0"}])
    """

    def over(input):
        return whole.op(input)

    over.__doc__ = function.__doc__
    whole = op(name=f"{name}_all", result="same", dtypes=REAL, vmap="rows")(over)
    fast_path = Extreme(whole.op, pair)
    declared = op(name, out="exact parts", vmap="along_dims", fast_path=fast_path)(function)

    @declared.kernel
    def _(xp, input, dim, keepdim):
        if not input.ndim:
            return input.copy(), xp.zeros((), xp.int64)
        where = getattr(input, find)(axis=dim)
        if not is_numpy(xp):
            values = reduce(name, input, dim, keepdim)
            return values, xp.expand_dims(where, dim) if keepdim else where
        where = where.reshape((*input.shape[:dim], 1, *input.shape[dim + 1 :]))
        values = taken_along(xp, input, where, dim)
        return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))

    @declared.onnx
    def _(graph, input, dim, keepdim):
        if not input.ndim:
            return [graph.Identity(input), graph.scalar(0)]
        values = graph.reduce(f"Reduce{name.title()}", input, [dim], keepdim)
        return [values, graph.emit(f"Arg{name.title()}", input, axis=dim, keepdims=int(keepdim))]

    @declared.gradient("input")
    def _(grad, later_outputs, input_shape, dim, keepdim):
        return at_positions(grad, later_outputs[0], input_shape, dim, keepdim)

    whole.declaration.label = f"{name.title()}Backward1"

    @whole.kernel
    def _(xp, input):
        return reduce(name, input, None)

    @whole.onnx
    def _(graph, input):
        return graph.emit(f"Reduce{name.title()}", input, keepdims=0)

    @whole.gradient("input")
    def _(grad, input, output):
        return evenly(grad, input, output)

    @whole.vmap
    def _(batch):
        rows = batch.args[0].reshape(batch.size, -1)  # () has one element
        return (amax if name == "max" else amin)(rows, 1)

    return declared


def evenly(grad: Any, input: Any, output: Any) -> Any:
    """The gradient of an element of the whole tensor, shared by all that are equal to it; nan is equal to nan."""
    chosen = (input == output) | ((input != input) & (output != output))
    return (grad / chosen.sum()).expand(input._array.shape).masked_fill(~chosen, 0)


def taken_along(xp: Any, input: Any, order: Any, dim: int) -> Any:
    """The elements at positions along a dim: as `take_along_axis`, by one flat index, which is several times faster."""
    shape = input.shape
    size = shape[dim]
    inner = math.prod(shape[dim + 1 :])
    flat = order * inner if inner > 1 else order
    if order.size > order.shape[dim]:
        if inner > 1:
            flat += xp.arange(inner).reshape(shape[dim + 1 :])
        if input.size > size * inner:
            starts = xp.arange(0, input.size, size * inner)
            flat = flat + starts.reshape(shape[:dim] + (1,) * (len(shape) - dim))
    return input.reshape(-1).take(flat)


def at_positions(grad: Any, where: Any, shape: tuple[int, ...], dim: int, keepdim: bool) -> Any:
    """Zeros of a shape with a gradient at the positions along a dim that were chosen."""
    if not shape:
        return grad
    if not keepdim:
        grad, where = grad.unsqueeze(dim), where.unsqueeze(dim)
    return grad.new_zeros(shape).scatter(dim, where, grad)


max = extreme_along("max", "argmax", "maximum", amax)
min = extreme_along("min", "argmin", "minimum", amin)


@op("hash_tensor", out="exact", dtypes="bool int float", gradient=None, vmap="along_dims")
def hash_tensor(input: Tensor, dim: int | Sequence[int] | None = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """A number that depends on each bit of the elements: their 64-bit forms, combined by exclusive or.

    Parameters
    ----------
    input : Tensor
        Floating-point numbers are taken as float64, others as int64.
    dim : int or tuple of int
        Default: all.
    keepdim : bool
    mode : int
        Only 0 is there.

    Returns
    -------
    Tensor of uint64

    Examples
    --------
    >>> weft.hash_tensor(weft.tensor([1, 2, 3]))
    tensor(0, dtype=weft.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"hash_tensor: Unknown hash_tensor mode: {mode}; there is 0")
    if input.dtype.name in ("uint16", "uint32", "uint64"):
        raise NotImplementedError(
            f"hash_tensor: not implemented for '{input.dtype.scalar_type_name}'; convert with .to(weft.int64)"
        )
    dim = () if dim is None else dim
    refuse_empty("hash_tensor", input, dim)
    return hash_tensor.op(input, reduced("hash_tensor", input, dim), keepdim)


@hash_tensor.kernel
def _(xp, input, dim, keepdim):
    wide = input.astype(xp.int64 if input.dtype.kind in "iub" else xp.float64).view(xp.uint64)
    return in_order(xp, fold(xp, xp.bitwise_xor, wide, axes(input, dim), keepdim))


# Whether they hold


def truth_over(name: str, doc: str, example: str) -> Any:
    def function(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        none = isinstance(dim, (tuple, list)) and not dim  # unlike other reductions, nothing is reduced
        return declared.op(input, () if none else reduced(name, input, dim), keepdim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}, over some dimensions or in all.

    Parameters
    ----------
    input : Tensor
    dim : int or sequence of int, optional
        Default: all. The empty sequence reduces nothing.
    keepdim : bool
        Keep the reduced dimensions, with size 1.

    Returns
    -------
    Tensor of bool; of uint8 for uint8.

    Examples
    --------
    >>> weft.{name}(weft.tensor([[True, False], [True, True]]), dim=1)
    tensor([{example}])
    """
    declared = op(
        name,
        out="exact",
        dtypes=ALL_DTYPES,
        gradient=None,
        vmap="along_dims",
        fast_path=FastPath(dtypes="any"),
    )(function)

    @declared.kernel
    def _(xp, input, dim, keepdim):
        true = input if input.dtype.kind == "b" else input != 0
        found = in_order(xp, reduce(name, true, axes(input, dim), keepdim))
        return found if input.dtype.char != "B" else found.astype(input.dtype)

    @declared.onnx
    def _(graph, input, dim, keepdim):
        truth = graph.truth(input)
        if name == "any":
            found = graph.any(truth, dim, keepdim)
        else:
            found = graph.Not(graph.any(graph.Not(truth), dim, keepdim))
        return graph.cast(found, input.dtype) if input.dtype is uint8 else found

    return declared


all = truth_over("all", "Whether all elements are true (not 0)", "False,  True")
any = truth_over("any", "Whether any element is true (not 0)", "True, True")


# Spread


def freedom(correction: Any, unbiased: Any) -> Any:
    """How many degrees of freedom to take off."""
    if unbiased is not None:
        return 1 if unbiased else 0
    return 1 if correction is None else correction


@op(name="var", result="real", compute_dtype="float32", dtypes="float complex", vmap="along_dims")
def variance(input: Tensor, dim: tuple[int, ...], correction: Number, keepdim: bool) -> Tensor:
    """The variance over some dims, with so many degrees of freedom taken off."""
    return variance.op(input, dim, correction, keepdim)


@variance.kernel
def _(xp, input, dim, correction, keepdim):
    count = count_of(input, dim)
    deviation = input - reduce("sum", input, axes(input, dim), True) / input.dtype.type(count) if count else input
    if input.dtype.kind == "c":
        square = deviation.real**2 + deviation.imag**2
    else:
        place = deviation if count and input.ndim else None  # without dimensions NumPy has made a number of it
        square = xp.multiply(deviation, deviation, place)
    found = reduce("sum", square, axes(input, dim), keepdim) / square.dtype.type(builtins.max(count - correction, 0))
    return in_order(xp, xp.asarray(found))


@variance.gradient("input")
def _(grad, input, dim, correction, keepdim):
    shape = input._array.shape
    count = math.prod(shape[d] for d in dim) if shape else 1
    whole = spread(grad, shape, dim, keepdim)
    free = count - correction
    scale = 2.0 / free if free > 0 else (math.inf if free == 0 else math.nan)
    if free <= 0:
        return (whole * math.nan).to(input.dtype)
    return (scale * whole) * (input - mean(input, dim if shape else None, True))


@variance.onnx
def _(graph, input, dim, correction, keepdim):
    deviation = graph.Sub(input, graph.reduce("ReduceMean", input, dim, True))
    total = graph.reduce("ReduceSum", graph.Mul(deviation, deviation), dim, keepdim)
    count = graph.cast(graph.count(input, dim), input.dtype)
    return graph.Div(total, graph.Max(graph.Sub(count, correction), 0.0))


@op(name="std", compute_dtype="float32", vmap="elementwise", onnx="Sqrt")
def root(variance_: Tensor) -> Tensor:
    """The square root of a variance."""
    return root.op(variance_)


@root.kernel
def _(xp, input):
    return xp.sqrt(input)


@root.gradient("input")
def _(grad, output):
    return (grad / (output * 2)).masked_fill(output == 0, 0)


def spread_arguments(name: str, input: Any, dim: Any, unbiased: Any, correction: Any) -> tuple[tuple[int, ...], Any]:
    """The dims and the correction of var, std and their like; the first positional argument may be ``unbiased``."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not input._key.is_differentiable:
        raise RuntimeError(
            f"{name}: std and var only support floating point and complex dtypes; got {input._key.dtype}"
        )
    dims, off = reduced(name, input, dim), freedom(correction, unbiased)
    if (input._array.size and count_of(input._array, dims) <= off) or not count_of(input._array, dims):
        warn_caller(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel)."
        )
    return dims, off


@composite(
    "var",
    out=True,
    fast_path=Variance(variance.op, takes="input dim unbiased keepdim"),
)
def var(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance over some dimensions, or over all.

    Parameters
    ----------
    input : Tensor of floating-point or complex dtype
    dim : int or sequence of int, optional
        Default: all. A bool here is ``unbiased``.
    unbiased : bool, optional
        True is ``correction=1``, False ``correction=0``.
    keepdim : bool
        Keep the reduced dimensions, with size 1.
    correction : float, default 1
        Taken off the number of elements in the divisor.

    Raises
    ------
    RuntimeError
        For bool and integers.

    Examples
    --------
    >>> weft.var(weft.tensor([1.0, 3.0]))
    tensor(2.)
    >>> weft.var(weft.tensor([1.0, 3.0]), correction=0)
    tensor(1.)
    """
    dims, off = spread_arguments("var", input, dim, unbiased, correction)
    return variance.op(input, dims, off, keepdim)


@composite("std", out=True, fast_path=Deviation(variance.op, root.op, takes="input dim unbiased keepdim"))
def std(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation: the square root of `var`.

    Parameters
    ----------
    input : Tensor of floating-point or complex dtype
    dim : int or sequence of int, optional
        Default: all. A bool here is ``unbiased``.
    unbiased : bool, optional
        True is ``correction=1``, False ``correction=0``.
    keepdim : bool
        Keep the reduced dimensions, with size 1.
    correction : float, default 1
        Taken off the number of elements in the divisor.

    Raises
    ------
    RuntimeError
        For bool and integers.

    Examples
    --------
    >>> weft.std(weft.tensor([[1.0, 3.0], [2.0, 6.0]]), dim=1, correction=0)
    tensor([1., 2.])
    """
    dims, off = spread_arguments("std", input, dim, unbiased, correction)
    return deviation_of(variance.op(input, dims, off, keepdim))


def deviation_of(variance_: Any) -> Any:
    """The square root, whose gradient at 0 is 0."""
    return root.op(variance_)


@composite()
def var_mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """`var` and `mean`.

    Parameters
    ----------
    input : Tensor of floating-point or complex dtype
    dim : int or sequence of int, optional
        Default: all. A bool here is ``unbiased``.
    unbiased : bool, optional
        True is ``correction=1``, False ``correction=0``.
    keepdim : bool
        Keep the reduced dimensions, with size 1.
    correction : float, default 1
        Taken off the number of elements in the divisor of the variance.

    Returns
    -------
    tuple (variance, mean) of Tensor

    Examples
    --------
    >>> weft.var_mean(weft.tensor([1.0, 3.0]))
    (tensor(2.), tensor(2.))
    """
    dims, off = spread_arguments("var_mean", input, dim, unbiased, correction)
    return variance.op(input, dims, off, keepdim), mean.op(input, dims, keepdim)


@composite()
def std_mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """`std` and `mean`.

    Parameters
    ----------
    input : Tensor of floating-point or complex dtype
    dim : int or sequence of int, optional
        Default: all. A bool here is ``unbiased``.
    unbiased : bool, optional
        True is ``correction=1``, False ``correction=0``.
    keepdim : bool
        Keep the reduced dimensions, with size 1.
    correction : float, default 1
        Taken off the number of elements in the divisor of the variance.

    Returns
    -------
    tuple (standard deviation, mean) of Tensor

    Examples
    --------
    >>> weft.std_mean(weft.tensor([1.0, 3.0]), correction=0)
    (tensor(1.), tensor(2.))
    """
    dims, off = spread_arguments("std_mean", input, dim, unbiased, correction)
    return root.op(variance.op(input, dims, off, keepdim)), mean.op(input, dims, keepdim)


@op(name="logsumexp", result="same", compute_dtype="float32", vmap="along_dims")
def log_sum(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    """The logarithm of the sum of exponentials."""
    return log_sum.op(input, dim, keepdim)


@log_sum.kernel
def _(xp, input, dim, keepdim):
    peak = xp.asarray(peaks(xp, input.real if input.dtype.kind == "c" else input, axes(input, dim)))
    peak[~xp.isfinite(peak)] = 0
    powers = xp.asarray(xp.exp(input - peak))
    found = xp.log(reduce("sum", powers, axes(input, dim), True)) + peak
    return found if keepdim or not input.ndim else found.squeeze(dim)


@log_sum.gradient("input")
def _(grad, input, output, dim, keepdim):
    shape = input._array.shape
    weight = (input - spread(output, shape, dim, keepdim)).exp()
    return spread(grad, shape, dim, keepdim) * conj(weight)


@log_sum.onnx
def _(graph, input, dim, keepdim):
    return graph.reduce("ReduceLogSumExp", graph.floating(input), dim, keepdim)


@composite("logsumexp", out=True, fast_path=FastPath(log_sum.op))
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials over some dimensions, without overflow.

    Parameters
    ----------
    input : Tensor
        Integers and bool are converted to the default dtype.
    dim : int or sequence of int
        The empty sequence: all.
    keepdim : bool
        Keep the reduced dimensions, with size 1.

    Returns
    -------
    Tensor; minus infinity where there is nothing to add up.

    Examples
    --------
    >>> weft.logsumexp(weft.tensor([100.0, 100.0]), 0)
    tensor(100.6931)
    """
    if input._key.dtype.category < 2:
        input = input.to(get_default_dtype())
    return log_sum.op(input, reduced("logsumexp", input, dim), keepdim)


@composite("sum_to_size")
def sum_to_size(input: Tensor, *size: int | Sequence[int]) -> Tensor:
    """The sum over the dimensions that broadcasting would have to expand from ``size``.

    Parameters
    ----------
    input : Tensor
    size : ints, or one sequence of int
        A shape that is expandable to that of input.

    Returns
    -------
    Tensor, shape size; integers and bool are summed as int64.

    Raises
    ------
    RuntimeError
        If ``size`` is not expandable to the shape of input.

    Examples
    --------
    >>> weft.sum_to_size(weft.ones(2, 3), 1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = integers("sum_to_size", size)
    if not shape:
        return sum(input)
    have = input._array.shape
    lead = len(have) - len(shape)
    if shape == have:
        return input
    if lead < 0 or builtins.any(want not in (1, got) for want, got in zip(shape, have[lead:])):
        raise RuntimeError(f"sum_to_size: size {list(shape)} is not expandable to size {list(have)}.")
    dims = tuple(builtins.range(lead)) + tuple(
        d + lead for d, want in enumerate(shape) if want == 1 and have[d + lead] != 1
    )
    return (sum.op(summable(input, None), dims, True) if dims else input).reshape(shape)


state.sum_to_size = sum_to_size
