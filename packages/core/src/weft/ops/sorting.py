"""Order: sort, the largest k, searches in sorted sequences, histograms and distinct values."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy

from weft._dtypes.dtypes import bool_, float64, iinfo, int32, int64, result_dtype
from weft._engine.dimensions import TopK
from weft._engine.fast_paths import FastPath
from weft._engine.tensor import TensorBase
from weft._interception.transforms import values_at_hand, values_known
from weft._tensor.base import Tensor
from weft._tensor.layout import in_order
from weft._tensor.named_results import named
from weft.ops._declare import composite, op
from weft.ops._geometry import elements, integer, wrap_dim
from weft.ops._numerics import is_numpy, scan
from weft.ops._positions import in_range, waits
from weft.ops._scatter import combine_at
from weft.ops.comparison import exact_dtype
from weft.ops.creation import element_of
from weft.ops.joining import stack
from weft.ops.reductions import at_positions, evenly, reduce, taken_along
from weft.types import Number


def keys_along(xp: Any, input: Any, dim: int, descending: bool) -> Any:
    """Integers that have the order of the elements along a dim, which they bring last, and no two of them equal.

    Returns
    -------
    array of int64, or None
        The upper half of each is the element, as an integer of that order, the lower half its position: they are sorted
        as whole numbers, several times faster than positions, and equal elements stay in their order. None for wider
        elements.
    """
    rows = with_last(xp, input, dim)
    size = rows.shape[-1]
    if not input.size or size > 1 << 31:
        return None
    if input.dtype.char == "f":
        bits = (rows + rows.dtype.type(0)).view(xp.int32)  # -0.0 is 0.0
        negative = bits >> 31
        negative &= 0x7FFFFFFF
        bits ^= negative
        if reduce("max", bits, None) > 0x7F800000 or reduce("min", bits, None) < -0x7F800001:
            bits[rows != rows] = 0x7FFFFFFF
    elif input.dtype.kind in "iu" and input.dtype.itemsize == 8:
        low, high = int(input.min()), int(input.max())
        if high - low >= 1 << 32:
            return None
        bits = rows - rows.dtype.type(low)
    elif input.dtype.kind in "biu":
        bits = rows
    else:
        return None
    keys = bits.astype(xp.int64, order="C")
    if descending:
        xp.invert(keys, out=keys)
    keys <<= 32
    keys |= xp.arange(size)
    return keys


def with_last(xp: Any, array: Any, dim: int) -> Any:
    """The array with a dim as its last."""
    return array if dim == array.ndim - 1 else xp.moveaxis(array, dim, -1)


def order_along(xp: Any, input: Any, dim: int, descending: bool) -> Any:
    """The positions that sort, equal elements in their order; nan counts as largest.

    NumPy's quick sort is several times faster than its stable one, and differs only where elements are equal: rows that
    have equal elements are sorted again.
    """
    if input.size <= FEW or not is_numpy(xp):
        return order_of_few(xp, input, dim, descending)
    keys = keys_along(xp, input, dim, descending)
    if keys is not None:
        keys.sort(axis=-1)
        return last_to(xp, keys, dim)
    rows = xp.moveaxis(input, dim, -1)
    order = xp.argsort(rows, axis=-1)
    found = xp.take_along_axis(rows, order, axis=-1)
    again = ~xp.all(found[..., 1:] > found[..., :-1], axis=-1)  # nan is no more than nan
    if descending:
        order = xp.ascontiguousarray(xp.flip(order, -1))
    if xp.any(again):
        if descending:
            flipped = xp.argsort(xp.flip(rows[again], -1), axis=-1, kind="stable")
            order[again] = xp.flip(rows.shape[-1] - 1 - flipped, -1)
        else:
            order[again] = xp.argsort(rows[again], axis=-1, kind="stable")
    return xp.ascontiguousarray(xp.moveaxis(order, -1, dim))


FEW = 512  # elements up to which one stable sort costs less than keys


def order_of_few(xp: Any, input: Any, dim: int, descending: bool) -> Any:
    """`order_along` by the stable sort."""
    if not descending:
        order = stable_order(xp, input, dim)
    else:  # backwards, and so that equal elements stay in their order
        back = (slice(None),) * dim + (slice(None, None, -1),)
        order = stable_order(xp, input[back], dim)[back]
        order = xp.subtract(input.shape[dim] - 1, order)
    return in_order(xp, order)


def stable_order(xp: Any, input: Any, dim: int) -> Any:
    """The positions that sort, equal elements in their order; an array's own method takes half the time."""
    if type(input) is numpy.ndarray:
        return input.argsort(dim, kind="stable")
    return xp.argsort(input, axis=dim, kind="stable")


def last_to(xp: Any, keys: Any, dim: int) -> Any:
    """The positions in keys, with the dim where it was."""
    keys &= 0x7FFFFFFF
    return keys if dim == keys.ndim - 1 else xp.ascontiguousarray(xp.moveaxis(keys, -1, dim))


@op(name="sort", compute_dtype="float32", vmap="along_dims")
def ordered(input: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    """The elements in order along a dim, and where they were."""
    return ordered.op(input, dim, descending)


@ordered.kernel
def _(xp, input, dim, descending):
    if not input.ndim:
        return input.copy(), xp.zeros((), xp.int64)
    order = order_along(xp, input, dim, descending)
    return taken_along(xp, input, order, dim), order


@ordered.gradient("input")
def _(grad, later_outputs, input_shape, dim):
    return at_positions(grad, later_outputs[0], input_shape, dim, True)


@ordered.onnx
def _(graph, input, dim, descending):
    if not input.ndim:
        return [graph.Identity(input), graph.scalar(0)]
    return graph.TopK(input, graph.size(input, dim), outputs=2, axis=dim, largest=int(descending))


@composite("sort", out="exact", fast_path=FastPath(ordered.op, dtypes="real", result=named("sort", "values indices")))
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> tuple[Tensor, Tensor]:
    """The elements in order along a dimension, and where they were.

    Parameters
    ----------
    input : Tensor of real dtype
    dim : int
    descending : bool
        The largest first. nan counts as larger than any number.
    stable : bool
        Equal elements stay in their order, as they do without it.

    Returns
    -------
    named tuple (values, indices) of Tensor

    Raises
    ------
    RuntimeError
        For complex input.

    Examples
    --------
    >>> values, indices = weft.sort(weft.tensor([3, 1, 2]))
    >>> values
    tensor([1, 2, 3])
    >>> indices
    tensor([1, 2, 0])
    """
    if isinstance(dim, bool):
        raise TypeError("sort(): argument 'dim' must be int, not bool")
    if input._key.is_complex:
        raise RuntimeError("Sort does not support complex dtypes: their values have no order")
    return named("sort", "values indices")(
        *ordered.op(input, wrap_dim("sort", dim, input.ndim), builtins.bool(descending))
    )


@composite("msort", out="exact")
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


@composite("argsort")
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The positions that put the elements in order along a dimension.

    Parameters
    ----------
    input : Tensor of real dtype
    dim : int
    descending : bool
        The largest first. nan counts as larger than any number.
    stable : bool
        Equal elements stay in their order, as they do without it.

    Returns
    -------
    Tensor of int64

    Examples
    --------
    >>> weft.argsort(weft.tensor([3, 1, 2]), descending=True)
    tensor([0, 2, 1])
    """
    return sort(input, dim, descending)[1]


@op(name="topk", compute_dtype="float32", vmap="along_dims")
def top(input: Tensor, k: int, dim: int, largest_: bool, sorted_: bool) -> tuple[Tensor, Tensor]:
    """The k largest or smallest elements along a dim, and where they are."""
    return top.op(input, k, dim, largest_, sorted_)


@top.kernel
def _(xp, input, k, dim, largest_, sorted_):
    if not input.ndim:
        return input.copy(), xp.zeros((), xp.int64)
    size = input.shape[dim]
    if input.size <= FEW or not 0 < 4 * k < size or not is_numpy(xp):
        order = order_along(xp, input, dim, largest_)[(slice(None),) * dim + (slice(k),)].copy()
        return taken_along(xp, input, order, dim), order
    keys = keys_along(xp, input, dim, largest_)
    if keys is not None:
        keys.partition(k - 1, axis=-1)
        first = keys[..., :k].copy()
        first.sort(axis=-1)
        order = last_to(xp, first, dim)
        return taken_along(xp, input, order, dim), order
    ends = slice(size - k, None) if largest_ else slice(k)
    some = xp.argpartition(input, size - k if largest_ else k - 1, axis=dim)[(slice(None),) * dim + (ends,)]
    some = xp.sort(some, axis=dim)  # so that equal elements stay in their order
    among = order_along(xp, xp.take_along_axis(input, some, axis=dim), dim, largest_)
    order = xp.take_along_axis(some, among, axis=dim)
    return xp.take_along_axis(input, order, axis=dim), order


@top.gradient("input")
def _(grad, later_outputs, input_shape, dim):
    return at_positions(grad, later_outputs[0], input_shape, dim, True)


@top.onnx
def _(graph, input, k, dim, largest_, sorted_):
    if not input.ndim:
        return [graph.Identity(input), graph.scalar(0)]
    return graph.TopK(input, graph.sizes([k]), outputs=2, axis=dim, largest=int(largest_), sorted=int(sorted_))


@composite(
    "topk",
    out="exact",
    fast_path=TopK(
        top.op,
        takes="input k dim largest sorted",
        dtypes="real",
        result=named("topk", "values indices"),
    ),
)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) elements along a dimension, and where they are.

    Parameters
    ----------
    input : Tensor of real dtype, not bool
    k : int
    dim : int
    largest : bool
        False: the smallest.
    sorted : bool
        In order, as they are without it.

    Returns
    -------
    named tuple (values, indices) of Tensor, of size k along ``dim``

    Raises
    ------
    RuntimeError
        If k is negative or larger than the dimension.

    Examples
    --------
    >>> weft.topk(weft.tensor([1, 4, 2, 3]), 2)
    weft.return_types.topk(
    values=tensor([4, 3]),
    indices=tensor([1, 3]))
    """
    if input._key.is_complex:
        raise RuntimeError(f"topk: does not support complex dtypes, which have no order; got {input._key.dtype}")
    if input._key.dtype.name == "bool":
        raise NotImplementedError(
            f"topk: not implemented for '{input._key.dtype.scalar_type_name}'; convert with .to(weft.uint8)"
        )
    dim = wrap_dim("topk", dim, input.ndim)
    size = input.shape[dim] if input.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"topk: selected index k out of range: k is {k}, and dimension {dim} has size {size}")
    return named("topk", "values indices")(*top.op(input, k, dim, largest, sorted))


@composite("kthvalue", out="exact")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest element along a dimension, and where it is.

    Parameters
    ----------
    input : Tensor of real dtype
    k : int
        From 1 on.
    dim : int
    keepdim : bool
        Keep the reduced dimension, with size 1.

    Returns
    -------
    named tuple (values, indices) of Tensor

    Raises
    ------
    RuntimeError
        If k is not between 1 and the size of the dimension.

    Examples
    --------
    >>> weft.kthvalue(weft.tensor([4, 1, 3, 2]), 2).values
    tensor(2)
    """
    if input._key.is_complex:
        raise NotImplementedError(
            f"kthvalue: not implemented for '{input._key.dtype.scalar_type_name}', which has no order"
        )
    k = integer("kthvalue", k, "k")
    dim = wrap_dim("kthvalue", dim, input.ndim)
    size = input.shape[dim] if input.ndim else 1
    if input.ndim and not size:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= size:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {dim}: k is {k}, and the size is {size}"
        )
    return named("kthvalue", "values indices")(*smallest.op(input, k, dim, keepdim))


@op(name="kthvalue", compute_dtype="float32", vmap="along_dims")
def smallest(input: Tensor, k: int, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The k-th smallest element along a dim, and where it is."""
    return smallest.op(input, k, dim, keepdim)


@smallest.kernel
def _(xp, input, k, dim, keepdim):
    if not input.ndim:
        return input.copy(), xp.zeros((), xp.int64)
    if input.shape[dim] < 16:  # less work than keys; of equal elements, those that PyTorch finds
        where = xp.argpartition(input, k - 1, axis=dim)[(slice(None),) * dim + (slice(k - 1, k),)].copy()
    else:
        where = smallest_along(xp, input, dim, k)
    values = taken_along(xp, input, where, dim)
    return (values, where) if keepdim else (xp.squeeze(values, dim), xp.squeeze(where, dim))


@smallest.onnx
def _(graph, input, k, dim, keepdim):
    if not input.ndim:
        return [graph.Identity(input), graph.scalar(0)]
    found = graph.TopK(input, graph.sizes([k]), outputs=2, axis=dim, largest=0)
    return [graph.pick(each, dim, -1, keepdim) for each in found]


def smallest_along(xp: Any, input: Any, dim: int, k: int) -> Any:
    """Where the k-th smallest element along a dim is, of equal ones in their order where `keys_along` has keys."""
    if input.size <= FEW or not is_numpy(xp):
        return order_of_few(xp, input, dim, False)[(slice(None),) * dim + (slice(k - 1, k),)].copy()
    keys = keys_along(xp, input, dim, False)
    if keys is None:
        return xp.argpartition(input, k - 1, axis=dim)[(slice(None),) * dim + (slice(k - 1, k),)].copy()
    keys.partition(k - 1, axis=-1)
    return last_to(xp, keys[..., k - 1 : k].copy(), dim)


@smallest.gradient("input")
def _(grad, later_outputs, input_shape, dim, keepdim):
    return at_positions(grad, later_outputs[0], input_shape, dim, keepdim)


# Medians, and the most frequent


@op(name="median_of", compute_dtype="float32", vmap="along_dims")
def median_along(input: Tensor, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Tensor, Tensor]:
    """The lower median along a dim, and its position."""
    return median_along.op(input, dim, keepdim, skip_nan)


@median_along.onnx
def _(graph, input, dim, keepdim, skip_nan):
    if skip_nan:
        graph.refuse("the median of what is not nan")
    if not input.ndim:
        return [graph.Identity(input), graph.scalar(0)]
    half = graph.Add(graph.Div(graph.Sub(graph.size(input, dim), 1), 2), 1)
    found = graph.TopK(input, half, outputs=2, axis=dim, largest=0)
    return [graph.pick(each, dim, -1, keepdim) for each in found]


def middle_along(xp: Any, input: Any, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Any, Any]:
    """The lower median along a dim, and its position."""
    if not input.ndim:
        return input.copy(), xp.zeros((), xp.int64)
    size = input.shape[dim]
    valid = input == input if input.dtype.kind == "f" else None
    if valid is None or (is_numpy(xp) and reduce("all", valid, None)):
        where = smallest_along(xp, input, dim, (size - 1) // 2 + 1)
    else:
        order = order_along(xp, input, dim, False)
        count = xp.sum(valid, axis=dim, keepdims=True)  # nan comes last
        if skip_nan:
            place = xp.maximum(count - 1, 0) // 2
        else:
            place = xp.where(count < size, count, (size - 1) // 2)
        where = in_order(xp, xp.take_along_axis(order, place, axis=dim))
    values = taken_along(xp, input, where, dim)
    return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))


median_along.kernel(middle_along)


median_along.declaration.label = "MedianBackward1"


@median_along.gradient("input")
def _(grad, later_outputs, input_shape, dim, keepdim):
    return at_positions(grad, later_outputs[0], input_shape, dim, keepdim)


@op(name="median_all", compute_dtype="float32")
def median_of_all(input: Tensor, skip_nan: bool) -> Tensor:
    """The lower median of all elements."""
    return median_of_all.op(input, skip_nan)


median_of_all.declaration.label = "MedianBackward0"


@median_of_all.kernel
def _(xp, input, skip_nan):
    flat = input.reshape(-1)
    size = flat.size
    if flat.dtype.kind == "f":
        valid = flat == flat
        if not is_numpy(xp):
            count = xp.sum(valid)  # nan comes last
            place = xp.maximum(count - 1, 0) // 2 if skip_nan else xp.where(count < size, size - 1, (size - 1) // 2)
            return xp.take(xp.sort(flat), place)
        if not reduce("all", valid, None):
            flat = flat[valid] if skip_nan else flat[~valid]
    place = (flat.size - 1) // 2
    return xp.partition(flat, place)[place] if flat.size else input.reshape(-1)[0]


@median_of_all.gradient("input")
def _(grad, input, output):
    return evenly(grad, input, output)


@median_of_all.vmap
def _(batch):
    input, skip_nan = batch.args
    return median_along.op(input.reshape(batch.size, -1), 1, False, skip_nan)[0]


@median_of_all.onnx
def _(graph, input, skip_nan):
    if skip_nan:
        graph.refuse("the median of what is not nan")
    flat = graph.Reshape(input, graph.sizes([-1]))
    half = graph.Add(graph.Div(graph.Sub(graph.shape_of(flat), 1), 2), 1)
    values, _ = graph.TopK(flat, half, outputs=2, axis=0, largest=0)
    return graph.pick(values, 0, -1)


def middle(name: str, skip_nan: bool) -> Any:
    pair = named(name, "values indices")

    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        if input._key.is_complex or input._key.dtype is bool_:
            raise NotImplementedError(f"{name}: not implemented for '{input._key.dtype.scalar_type_name}'")
        if dim is None:
            if not input.numel():
                least = None if input._key.is_differentiable else iinfo(input.dtype).min
                return input.new_full((), math.nan if least is None else least)
            return median_of_all.op(input, skip_nan)
        dim = wrap_dim(name, dim, input.ndim)
        if input.ndim and not input.shape[dim]:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        return pair(*median_along.op(input, dim, keepdim, skip_nan))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The lower median over all elements, or along a dimension with its position.

    Parameters
    ----------
    input : Tensor of real dtype, not bool
    dim : int, optional
        Default: over all.
    keepdim : bool
        Keep the reduced dimension, with size 1.

    Returns
    -------
    Tensor, or with ``dim`` a named tuple (values, indices) of Tensor.
        Of an even number of elements, the lower of the two in the middle. {
        "Those that are nan are left out." if skip_nan else "It is nan where an element is."
    }

    Raises
    ------
    IndexError
        If the dimension is empty.

    Examples
    --------
    >>> weft.{name}(weft.tensor([4.0, 1.0, {"float('nan')" if skip_nan else "9.0"}, 2.0]))
    tensor(2.)
    """
    return composite(name, out="exact")(function)


median = middle("median", False)


nanmedian = middle("nanmedian", True)


@composite("mode", out="exact")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent value along a dimension, and a position of it.

    Parameters
    ----------
    input : Tensor of real dtype
    dim : int
    keepdim : bool
        Keep the reduced dimension, with size 1.

    Returns
    -------
    named tuple (values, indices) of Tensor
        Of values that are equally frequent, the smallest; of its positions, the last.

    Raises
    ------
    NotImplementedError
        For complex input.
    IndexError
        If the dimension is empty.

    Examples
    --------
    >>> weft.mode(weft.tensor([2, 1, 1, 2, 3]))
    weft.return_types.mode(
    values=tensor(1),
    indices=tensor(2))
    """
    if input._key.is_complex:
        raise NotImplementedError(
            f"mode: not implemented for '{input._key.dtype.scalar_type_name}', which has no order"
        )
    dim = wrap_dim("mode", dim, input.ndim)
    if input.ndim and not input.shape[dim]:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    return named("mode", "values indices")(*most_frequent.op(input, dim, keepdim))


@op(name="mode", compute_dtype="float32", vmap="along_dims")
def most_frequent(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The most frequent value along a dim, and its last position."""
    return most_frequent.op(input, dim, keepdim)


@most_frequent.kernel
def _(xp, input, dim, keepdim):
    if not input.ndim:
        return input.copy(), xp.zeros((), xp.int64)
    rows = xp.ascontiguousarray(xp.moveaxis(input, dim, -1))
    order = order_along(xp, rows, rows.ndim - 1, False)
    ordered = taken_along(xp, rows, order, rows.ndim - 1)
    size = ordered.shape[-1]
    place = xp.arange(size)
    begins = xp.ones(ordered.shape, bool)
    xp.not_equal(ordered[..., 1:], ordered[..., :-1], out=begins[..., 1:])
    start = scan(xp, xp.maximum, xp.where(begins, place, 0), ordered.ndim - 1)
    best = xp.argmax(place - start, axis=-1)[..., None]  # the end of the longest run
    where = xp.take_along_axis(order, best, axis=-1)
    values = xp.take_along_axis(rows, where, axis=-1)
    found = [xp.array(xp.moveaxis(each, -1, dim), order="C") for each in (values, where)]
    return tuple(found if keepdim else [xp.squeeze(each, dim) for each in found])


@most_frequent.gradient("input")
def _(grad, later_outputs, input_shape, dim, keepdim):
    return at_positions(grad, later_outputs[0], input_shape, dim, keepdim)


# Quantiles


def quantile_of(name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool) -> Any:
    """The value below which a share q of the elements lies."""
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype; got {input.dtype}")
    is_share = isinstance(q, TensorBase) or 0 <= q <= 1
    if not isinstance(q, TensorBase):
        q = input.new_full((), q)
    if q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor; got {q.dtype} and {input.dtype}")
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor; got {q.ndim}-D")
    if not is_share or (q.numel() and values_at_hand(q) and not bool(((q >= 0) & (q <= 1)).all())):
        raise RuntimeError(f"{name}(): q values must be in the range [0, 1]")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not input.numel():
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    ndim = input.ndim
    flat = (
        input.reshape(-1)
        if dim is None
        else input.unsqueeze(0)
        if not ndim
        else input.movedim(wrap_dim(name, dim, ndim), -1)
    )
    values, _ = sort(flat, -1)
    size = values.shape[-1]
    if skip_nan:
        last = ((~flat.isnan()).sum(-1, keepdim=True) - 1).clamp(min=0).to(q.dtype)
    else:
        last = q.new_full((), size - 1).expand(values[..., -1:].shape)
    rank = q.reshape(-1) * last  # (..., len(q))
    if not skip_nan:
        rank = rank.masked_fill(values[..., -1:].isnan(), size - 1)  # where nan is
    if interpolation == "lower":
        rank = rank.floor()
    elif interpolation == "higher":
        rank = rank.ceil()
    elif interpolation == "nearest":
        rank = rank.round()
    below = rank.floor()
    low = values.gather(-1, below.to(int64).expand(*values.shape[:-1], rank.shape[-1]))
    high = values.gather(-1, rank.ceil().to(int64).expand(*values.shape[:-1], rank.shape[-1]))
    if interpolation == "midpoint":
        found = (low + high) / 2
    else:
        found = low.lerp(high, (rank - below).expand(low.shape)) if interpolation == "linear" else low
    found = found.movedim(-1, 0)  # (len(q), ...)
    if keepdim:
        shape = (
            [1] * ndim
            if dim is None
            else [1 if d == wrap_dim(name, dim, ndim) and ndim else n for d, n in enumerate(input.shape)]
        )
        found = found.reshape([found.shape[0], *shape])
    return found if q.ndim else found.squeeze(0)


@composite("quantile", out="exact", autocast="float32")
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The value below which a share q of the elements lies, along a dimension or over all.

    Parameters
    ----------
    input : Tensor of float32 or float64
    q : float, or Tensor of input's dtype, shape () or (Q,)
        In [0, 1].
    dim : int, optional
        Default: over all.
    keepdim : bool
        Keep the reduced dimension, with size 1.
    interpolation : {"linear", "lower", "higher", "midpoint", "nearest"}
        What to take where ``q * (n - 1)`` lies between two positions of the n sorted elements.

    Returns
    -------
    Tensor, shape (Q, ...) for a vector q; nan where an element is.

    Raises
    ------
    RuntimeError
        If q is not in [0, 1], or the input is empty or of another dtype.

    Examples
    --------
    >>> x = weft.tensor([0.0, 10.0, 20.0, 40.0])
    >>> weft.quantile(x, 0.5)
    tensor(15.)
    >>> weft.quantile(x, weft.tensor([0.0, 1.0]))
    tensor([ 0., 40.])
    """
    return quantile_of("quantile", input, q, dim, keepdim, interpolation, False)


@composite("nanquantile", out="exact", autocast="float32")
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """`quantile` of the elements that are not nan.

    Parameters
    ----------
    input : Tensor of float32 or float64
    q : float, or Tensor of input's dtype, shape () or (Q,)
        In [0, 1].
    dim : int, optional
        Default: over all.
    keepdim : bool
        Keep the reduced dimension, with size 1.
    interpolation : {"linear", "lower", "higher", "midpoint", "nearest"}
        What to take between two positions.

    Returns
    -------
    Tensor, shape (Q, ...) for a vector q; nan where all elements are.

    Examples
    --------
    >>> weft.nanquantile(weft.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    return quantile_of("nanquantile", input, q, dim, keepdim, interpolation, True)


# Searches


@op(tensors="sequence values", name="searchsorted", compute_dtype="float32", gradient=None)
def search(sequence: Tensor, values: Tensor, right: bool) -> Tensor:
    """Where values would have to stand in sorted sequences."""
    return search.op(sequence, values, right)


@search.kernel
def _(xp, sequence, values, right):
    size = sequence.shape[-1]
    side = "right" if right else "left"
    rows = math.prod(sequence.shape[:-1])
    table = sequence.reshape(rows, size)
    if not is_numpy(xp):
        if sequence.ndim == 1:
            return searched(xp, sequence, values, right)
        return bisected(xp, table, values.reshape(rows, -1 if rows else 0), right).reshape(values.shape)
    has_nan = size and bool(xp.any(table[:, -1] != table[:, -1]))
    if sequence.ndim == 1 and not has_nan:
        return xp.searchsorted(sequence, values, side=side).astype(xp.int64)
    wanted = values.reshape(rows, -1 if rows else 0)
    if has_nan or wanted.shape[1] < SEVERAL:
        return bisected(xp, table, wanted, right).reshape(values.shape)
    found = [xp.searchsorted(*pair, side=side) for pair in zip(table, wanted)]
    return xp.stack(found).reshape(values.shape).astype(xp.int64)


@search.onnx
def _(graph, sequence, values, right):
    """How many elements of the sequence come before each value: all are compared."""
    table = graph.Unsqueeze(sequence, graph.sizes([-2])) if sequence.ndim > 1 else sequence
    compare = graph.LessOrEqual if right else graph.Less
    before = compare(table, graph.Unsqueeze(values, graph.sizes([-1])))
    return graph.reduce("ReduceSum", graph.cast(before, int64), [-1], False)


SEVERAL = 8  # values in a row: for fewer, a search of its own takes longer than bisecting all rows together


def bisected(xp: Any, sequence: Any, values: Any, right: bool) -> Any:
    """Positions of values (n, m) in sorted rows (n, size), all bisected at once; a nan is before any number."""
    rows, size = sequence.shape
    low = xp.zeros(values.shape, xp.int64)
    high = xp.full(values.shape, size, xp.int64)
    flat, starts = sequence.reshape(-1), xp.arange(rows).reshape(rows, 1) * size
    for _ in range(size.bit_length()):
        middle = (low + high) >> 1
        found = flat.take(xp.minimum(middle, size - 1) + starts)
        later = ~(found > values) if right else ~(found >= values)
        left = low < high
        low, high = xp.where(left & later, middle + 1, low), xp.where(left & ~later, middle, high)
    return low


def searched(xp: Any, sequence: Any, values: Any, right: bool) -> Any:
    """What `bisected` finds in one sequence, by the library's own search, for which a nan is above all numbers.

    The bisection of n elements takes each nan to be before the value. A value whose place is right of its last step on
    numbers, all steps before which went to the right, is taken to the end. Those steps are at n - ((n + 1) >> k).
    """
    size = sequence.shape[0]
    found = xp.searchsorted(sequence, values, side="right" if right else "left").astype(xp.int64)
    if sequence.dtype.kind != "f" or not size:
        return found
    steps = size - ((size + 1) >> xp.arange(1, (size + 1).bit_length()))
    last = xp.max(xp.where(sequence[steps] == sequence[steps], steps, -1))
    return xp.where(found > last, size, found)


@composite(out="exact")
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each value would have to be inserted in a sorted sequence to keep it sorted.

    Parameters
    ----------
    sorted_sequence : Tensor, shape (n,) or (..., n)
    input : Tensor, shape (...) for one sequence, (..., m) for several; or number
    out_int32 : bool
        Return int32 instead of int64.
    right : bool
        Behind equal elements instead of before them.
    side : {"left", "right"}, optional
        ``"right"`` is ``right=True``.
    sorter : Tensor of int64, shape of sorted_sequence, optional
        The positions that sort it, if it is not sorted.

    Returns
    -------
    Tensor, shape of input, with positions from 0 to n

    Raises
    ------
    RuntimeError
        If the leading dimensions differ, or ``side`` and ``right`` disagree.

    Examples
    --------
    >>> edges = weft.tensor([1, 3, 5])
    >>> weft.searchsorted(edges, weft.tensor([0, 3, 6]))
    tensor([0, 1, 3])
    >>> weft.searchsorted(edges, 3, right=True)
    tensor(2)
    """
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"searchsorted: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "searchsorted: side and right can't be set to opposites, got side of left while right was True"
        )
    for each in (sorted_sequence, input):
        if isinstance(each, TensorBase) and each._key.is_complex:
            raise NotImplementedError(
                f"searchsorted: not implemented for '{each._key.dtype.scalar_type_name}', which has no order"
            )
    if not sorted_sequence.ndim:
        raise RuntimeError("searchsorted: boundaries tensor should have positive dimension, but got 0 dimension")
    if isinstance(input, Tensor):
        values = input
    else:
        common = exact_dtype(sorted_sequence, input)
        values = sorted_sequence.new_full((), element_of("searchsorted", input, common), dtype=common)
        sorted_sequence = sorted_sequence.to(common)
    if sorted_sequence.ndim != 1 and tuple(sorted_sequence.shape[:-1]) != tuple(values.shape[:-1]):
        raise RuntimeError(
            "searchsorted: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            "and input value "
            f"tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    if values.dtype is not sorted_sequence.dtype:
        common = result_dtype((sorted_sequence, values), "searchsorted")
        sorted_sequence, values = sorted_sequence.to(common), values.to(common)
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                "searchsorted: boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sorted_sequence.shape)} and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype is not int64:
            raise RuntimeError(
                f"searchsorted: sorter must be a tensor of long dtype but got dtype {sorter.dtype.scalar_type_name}"
            )
        in_range("searchsorted: sorter", sorter, sorted_sequence.shape[-1], -1)
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    found = search.op(sorted_sequence, values, right or side == "right")
    return found.to(int32) if out_int32 else found


@composite(out="exact")
def bucketize(input: Tensor | Number, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Which interval between sorted boundaries each element lies in.

    Parameters
    ----------
    input : Tensor or number
    boundaries : Tensor, shape (n,)
        In increasing order.
    out_int32 : bool
        Return int32 instead of int64.
    right : bool
        A boundary belongs to the interval above it, instead of that below.

    Returns
    -------
    Tensor, shape of input, with numbers from 0 (below all boundaries) to n

    Examples
    --------
    >>> ages = weft.tensor([3, 18, 70])
    >>> weft.bucketize(ages, weft.tensor([18, 65]), right=True)
    tensor([0, 1, 2])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize: boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# Counting


@op(tensors="input weights", name="bincount", gradient=None)
def counts(input: Tensor, weights: Tensor | None, size: int) -> Tensor:
    """How often each integer below a size occurs, or the sum of its weights; none is beyond."""
    return counts.op(input, weights, size)


@counts.kernel
def _(xp, input, weights, size):
    if is_numpy(xp):
        return xp.bincount(input, weights=weights, minlength=size)
    found = xp.zeros(size, xp.int64 if weights is None else xp.float64)  # bincount waits for the largest
    combine_at(xp, xp.add, found, (input,), 1 if weights is None else weights)
    return found


@counts.meta
def _(xp, input, weights, size):
    return xp.empty((size,), xp.int64 if weights is None else xp.float64)


def extent(input: Tensor) -> tuple[int, int]:
    """The smallest and the largest integer; a device is waited for once."""
    if waits(input):
        low, high = stack([input.min(), input.max()]).tolist()
        return low, high
    return int(input.min()), int(input.max())


@composite("bincount", data_dependent=True)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of the weights at its places.

    Parameters
    ----------
    input : Tensor of integers, shape (n,)
        None negative.
    weights : Tensor, shape (n,), optional
    minlength : int
        At least so many elements.

    Returns
    -------
    Tensor, shape (max(input) + 1,) at least
        int64; with weights float32 for float32, else float64.

    Raises
    ------
    RuntimeError
        If an element is negative, or the shape is another.

    Examples
    --------
    >>> weft.bincount(weft.tensor([1, 3, 1]))
    tensor([0, 2, 0, 1])
    >>> weft.bincount(weft.tensor([0, 1, 1]), weights=weft.tensor([0.5, 1.0, 2.0]))
    tensor([0.5000, 3.0000])
    """
    if input.dtype.category > 1:
        raise NotImplementedError(
            f"bincount: not implemented for '{input.dtype.scalar_type_name}' ({input.dtype}); it takes integers"
        )
    low, high = (0, -1)
    if input.ndim == 1 and input.dtype.category == 1 and input.numel():
        low, high = extent(input)
    if input.ndim != 1 or input.dtype.category != 1 or low < 0:
        raise RuntimeError("bincount: bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError(f"bincount: minlength should be >= 0; got {minlength}")
    if not input.numel():
        return counts.op(input.to(int64), None, minlength)  # whatever the dtype of weights, as in PyTorch
    elements("bincount", (high + 1,), 8)
    size = builtins.max(high + 1, minlength)
    if weights is None:
        return counts.op(input.to(int64), None, size)
    if weights.shape != input.shape:
        raise RuntimeError(
            f"bincount: weights should be 1-d and have the same length as input; got {list(weights.shape)} and "
            f"{list(input.shape)}"
        )
    wide = counts.op(input.to(int64), weights.to(float64), size)
    return wide.to(weights.dtype) if weights.dtype.name == "float32" else wide


@composite("histc", out="exact", data_dependent=True)
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of ``bins`` intervals of equal width between min and max.

    Parameters
    ----------
    input : Tensor
    bins : int
    min, max : float
        The outer edges, which are inside; where they are equal, the smallest and the largest element.

    Returns
    -------
    Tensor, shape (bins,), of the dtype of input

    Raises
    ------
    RuntimeError
        If ``bins`` is not positive, the range is not finite, or min is above max.

    Examples
    --------
    >>> weft.histc(weft.tensor([1.0, 2.0, 1.0, 4.0]), bins=4, min=0, max=4)
    tensor([0., 2., 1., 1.])
    """
    if bins <= 0:
        raise RuntimeError(f"histc: bins must be > 0, but got {bins}")
    if input.dtype.name == "bool":
        raise NotImplementedError("histc: not implemented for 'Bool'; convert the input with .float()")
    if not values_known(input):
        return counts_within.op(input, bins, 0.0, 1.0).to(input.dtype)
    low, high = (float(input.min()), float(input.max())) if min == max and input.numel() else (float(min), float(max))
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"histc: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("histc: max must be larger than min")
    return counts_within.op(input, bins, low, high).to(input.dtype)


@op(name="histc", gradient=None)
def counts_within(input: Tensor, bins: int, low: float, high: float) -> Tensor:
    """How many elements lie in each of some intervals of equal width."""
    return counts_within.op(input, bins, low, high)


@counts_within.kernel
def _(xp, input, bins, low, high):
    flat = input.reshape(-1)
    within = (flat >= low) & (flat <= high)
    inside = (flat[within] if is_numpy(xp) else xp.where(within, flat, 0)).astype(xp.float64)
    inside -= low
    inside *= bins / (high - low)
    place = xp.minimum(inside.astype(xp.int64), bins - 1)
    if is_numpy(xp):
        return xp.bincount(place, minlength=bins)
    found = xp.zeros(bins + 1, xp.int64)  # the last is for what is outside
    xp.add.at(found, xp.where(within, place, bins), 1)
    return found[:bins].copy()


@counts_within.meta
def _(xp, input, bins, low, high):
    return xp.empty((bins,), xp.int64)


# Distinct values


@op(name="unique", compute_dtype="float32", gradient="refused", vmap="dynamic")
def distinct(input: Tensor, dim: int | None, with_inverse: bool, with_counts: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct values (or slices along a dim) in order, where each element's is, and how often each occurs.

    What is not asked for is empty.
    """
    return distinct.op(input, dim, with_inverse, with_counts)


@distinct.kernel
def _(xp, input, dim, with_inverse, with_counts):
    none = xp.zeros(0, xp.int64)
    if dim is not None and not is_numpy(xp):
        return distinct_slices(xp, input, dim)
    if dim is not None:
        values, inverse, count = xp.unique(input, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
        return values, inverse.reshape(-1).astype(xp.int64), count.astype(xp.int64)
    flat = input.reshape(-1)
    if not with_inverse and input.dtype.kind in "bu" and input.dtype.itemsize == 1:
        count = xp.bincount(flat.view(xp.uint8), minlength=256)
        values = xp.nonzero(count)[0]
        return values.astype(input.dtype), none, count[values].astype(xp.int64)
    order = order_along(xp, flat, 0, False) if with_inverse else None
    line = xp.sort(flat) if order is None else xp.take(flat, order)
    begins = xp.ones(line.shape, bool)
    xp.not_equal(line[1:], line[:-1], out=begins[1:])
    values, inverse, count = line[begins], none, none
    if with_inverse:
        inverse = xp.empty(line.shape, xp.int64)
        inverse[order] = xp.cumsum(begins) - 1
        inverse = inverse.reshape(input.shape)
    if with_counts:
        count = lengths(xp, xp.nonzero(begins)[0], line.size)
    return values, inverse, count


def distinct_slices(xp: Any, input: Any, dim: int) -> tuple[Any, Any, Any]:
    """The distinct slices along a dim in order, where each one is, and how often it occurs."""
    slices = xp.moveaxis(input, dim, 0)
    size = slices.shape[0]
    order = xp.lexsort(
        xp.ascontiguousarray(slices.reshape(size, math.prod(slices.shape[1:])).T[::-1])
    )  # the last key counts most
    values, place, count = runs_of(xp, slices[order])
    inverse = xp.empty(size, xp.int64)
    inverse[order] = place
    return xp.ascontiguousarray(xp.moveaxis(values, 0, dim)), inverse, count


def runs_of(xp: Any, slices: Any) -> tuple[Any, Any, Any]:
    """The first of each run of equal slices along the first dim, in which run each one is, and the runs' lengths."""
    size = slices.shape[0]
    changed = slices[1:] != slices[:-1]
    if slices.ndim > 1:
        changed = xp.any(changed, axis=tuple(range(1, slices.ndim)))
    begins = xp.ones(size, bool)
    begins[1:] = changed
    start = xp.nonzero(begins)[0]
    return slices[start], (xp.cumsum(begins) - 1).astype(xp.int64), lengths(xp, start, size)


def lengths(xp: Any, start: Any, size: int) -> Any:
    """The lengths of runs that begin at some places, and of which the last ends at a size."""
    ends = xp.empty(start.size, xp.int64)
    ends[:-1], ends[-1:] = start[1:], size
    return ends - start


@composite("unique")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements in order, or the distinct slices along a dimension.

    Parameters
    ----------
    input : Tensor
    sorted : bool
        In order, as they are without it.
    return_inverse : bool
        Also say which of them each element is.
    return_counts : bool
        Also say how often each occurs.
    dim : int, optional
        Compare slices along it. Default: elements.

    Returns
    -------
    Tensor, or tuple of Tensor
        The distinct ones, then what was asked for: the positions (of input's shape, or of size ``input.shape[dim]``)
        and the counts, of int64.

    Examples
    --------
    >>> weft.unique(weft.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    check_slices("unique", input, dim)
    return chosen(
        distinct.op(
            input,
            None if dim is None else wrap_dim("unique", dim, input.ndim),
            builtins.bool(return_inverse),
            builtins.bool(return_counts),
        ),
        return_inverse,
        return_counts,
    )


def check_slices(name: str, input: Any, dim: Any) -> None:
    """Slices without elements are all equal, and PyTorch refuses to count them."""
    if dim is None:
        return
    along = wrap_dim(name, dim, input.ndim)
    if not input.ndim:
        raise IndexError(f"{name}: Dimension specified as {dim} but tensor has no dimensions")
    if any(not size for d, size in enumerate(input.shape) if d != along):
        raise RuntimeError(
            f"{name}: There are 0 sized dimensions, and they aren't selected, so unique cannot be applied along dim "
            f"{along} of shape {list(input.shape)}"
        )


def chosen(results: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, count = results
    found = [values] + [inverse] * return_inverse + [count] * return_counts
    return found[0] if len(found) == 1 else tuple(found)


@op(name="unique_consecutive", compute_dtype="float32", gradient="refused", vmap="dynamic")
def runs(input: Tensor, dim: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """The first of each run of equal elements (or slices), where each element's is, and the runs' lengths."""
    return runs.op(input, dim)


@runs.kernel
def _(xp, input, dim):
    values, place, count = runs_of(xp, input.reshape(-1) if dim is None else xp.moveaxis(input, dim, 0))
    if dim is None:
        return values, place.reshape(input.shape), count
    return xp.moveaxis(values, 0, dim), place, count


@composite("unique_consecutive")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """Without the elements (or slices along ``dim``) that equal the one before.

    Parameters
    ----------
    input : Tensor
    return_inverse : bool
        Also say at which position each element has gone.
    return_counts : bool
        Also say how many equal ones followed each other.
    dim : int, optional
        Compare slices along it. Default: elements.

    Returns
    -------
    Tensor, or tuple of Tensor
        The first of each run, then what was asked for: positions and counts, of int64.

    Examples
    --------
    >>> weft.unique_consecutive(weft.tensor([1, 1, 2, 1]), return_counts=True)
    (tensor([1, 2, 1]), tensor([2, 1, 1]))
    """
    check_slices("unique_consecutive", input, dim)
    return chosen(
        runs.op(input, None if dim is None else wrap_dim("unique_consecutive", dim, input.ndim)),
        return_inverse,
        return_counts,
    )
