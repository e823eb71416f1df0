"""Reductions of elements that share a position: scatter_reduce, index_reduce, segment_reduce."""

from __future__ import annotations

import math
from typing import Any

import numpy

from weft._settings import warn_caller_once
from weft._tensor.base import Tensor
from weft.ops._declare import composite, op
from weft.ops._geometry import wrap_dim
from weft.ops._positions import assert_below, check_positions, in_range, positioned, waits
from weft.ops._scatter import combine_at, value_for
from weft.ops.creation import arange, from_host
from weft.ops.indexing import (
    check_slices,
    checked_along,
    gather,
    index_write,
    places,
    scatter,
)
from weft.ops.sorting import searchsorted
from weft.types import Number

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def check_order(name: str, input: Any, reduce: str) -> None:
    """Extremes are only there of numbers that have an order.

    Raises
    ------
    NotImplementedError
        For those of complex numbers.
    """
    if reduce in ("amax", "amin") and input.is_complex():
        raise NotImplementedError(
            f"{name}(): {reduce} is not implemented for '{input.dtype.scalar_type_name}', which has no order; take "
            "'sum', 'prod' "
            "or 'mean'"
        )


def identity(reduce: str, element: Any) -> Any:
    """What a reduction starts from: no element changes it."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if element.kind == "b":
        return reduce == "amin"
    if element.kind in "iu":
        info = numpy.iinfo(element)
        return info.min if reduce == "amax" else info.max
    return -math.inf if reduce == "amax" else math.inf


@op(tensors="input index src", result="same", compute_dtype="float32", name="scatter_reduce", vmap="along_dims")
def reduced_at(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    """A copy of ``input`` with the elements of ``src`` combined at their positions along a dim."""
    return reduced_at.op(input, dim, index, src, reduce, include_self)


@reduced_at.kernel
def _(xp, input, dim, index, src, reduce, include_self):
    return combined(xp, input, dim, index, src, reduce, include_self)


@reduced_at.onnx
def _(graph, input, dim, index, src, reduce, include_self):
    if not include_self:
        start = identity(reduce, input.dtype.numpy)
        input = graph.scattered(input, dim, index, start, None)
    name = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}[reduce]
    total = graph.scattered(input, dim, index, src, name)
    if reduce != "mean":
        return total
    count = graph.scattered(graph.full_like(input, int(include_self)), dim, index, 1, "add")
    count = graph.Max(count, 1)
    return graph.Div(total, count) if graph.is_floating(input) else graph.floored(total, count)


def combined(xp: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    result = xp.array(input, order="C")
    if not index.size:
        return result
    target = result if input.ndim else result.reshape(1)
    check_positions(xp, "scatter_reduce", index, dim, target.shape[dim])
    index, src = (index, src) if index.ndim else (index.reshape(1), src.reshape(1))
    key = places(xp, index, dim)
    if not include_self:
        target[key] = value_for(xp, target, identity(reduce, input.dtype))
    ufuncs = {"sum": xp.add, "mean": xp.add, "prod": xp.multiply, "amax": xp.maximum, "amin": xp.minimum}
    combine_at(xp, ufuncs[reduce], target, key, src)
    if reduce == "mean":
        count = xp.full(target.shape, 1 if include_self else 0, xp.int64)
        combine_at(xp, xp.add, count, key, 1)
        count = xp.maximum(count, 1).astype(input.dtype)
        target[...] = target // count if input.dtype.kind in "iu" else target / count
    return result


@reduced_at.gradient("input src")
def _(grad, input, dim, index, src, reduce, include_self, output):
    if reduce == "sum":
        to_self, to_src = grad, gather(grad, dim, index)
    elif reduce == "mean":
        base = grad.new_ones(grad.shape) if include_self else grad.new_zeros(grad.shape)
        count = base.scatter_add(dim, index, src.new_ones(src.shape))
        count = count.masked_fill(count == 0, 1)
        to_self, to_src = grad / count, gather(grad / count, dim, index)
    elif reduce == "prod":
        to_self, to_src = product_gradients(grad, input, dim, index, src, include_self, output)
    else:
        mine, theirs = input == output, src == gather(output, dim, index)
        count = mine.to(grad.dtype).scatter_add(dim, index, theirs.to(grad.dtype))
        share = grad / count  # where the extreme is nan nothing equals it: all that take part there get nan
        to_self = share * mine.to(grad.dtype)
        to_src = gather(share, dim, index) * theirs.to(grad.dtype)
    if not include_self:
        to_self = scatter(to_self, dim, index, 0)
    return to_self, to_src


def product_gradients(
    grad: Any, input: Any, dim: int, index: Any, src: Any, include_self: bool, output: Any
) -> tuple[Any, Any]:
    """The gradients of a product: of the others, also where the element itself is 0."""
    kept = input.masked_fill(input == 0, 1)
    to_self = grad * reduced_at.op(kept, dim, index, src, "prod", include_self) / kept
    zero = src == 0
    zeros = gather(src.new_zeros(input.shape).scatter_add(dim, index, zero.to(src.dtype)), dim, index)
    without = src.masked_fill(zero, 1)
    alone = gather(grad * reduced_at.op(input, dim, index, without, "prod", include_self), dim, index)
    usual = gather(grad * output, dim, index) / without
    return to_self, alone.where(zero & (zeros == 1), usual)


@composite("scatter_reduce", "scatter_reduce_", out="exact shared")
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy of ``input`` with the elements of ``src`` combined at the positions of ``index`` along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64
    src : Tensor of input's dtype
    reduce : "sum", "prod", "mean", "amax" or "amin"
    include_self : bool
        The elements of ``input`` take part.

    Examples
    --------
    >>> weft.zeros(2).scatter_reduce(0, weft.tensor([0, 1, 1]), weft.tensor([3.0, 1.0, 2.0]), "amax")
    tensor([3., 2.])
    """
    if reduce not in REDUCTIONS:
        raise RuntimeError(
            f"scatter_reduce(): reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    check_order("scatter_reduce", input, reduce)
    if src.dtype is not input.dtype:
        raise RuntimeError(
            f"scatter_reduce(): Expected self.dtype to be equal to src.dtype; got {input.dtype} and {src.dtype}"
        )
    index = checked_along("scatter_reduce", input, dim, index, src)
    dim = wrap_dim("scatter_reduce", dim, input.ndim)
    if src.shape != index.shape and index.numel():
        src = src[tuple(slice(size) for size in index.shape)] if index.ndim else src.reshape(())
    return positioned("scatter_reduce", RuntimeError, reduced_at.op, input, dim, index, src, reduce, include_self)


@composite("index_reduce", "index_reduce_", out="exact shared")
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy of ``input`` with the slices of ``source`` combined at positions along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64, of at most 1 dimension
    source : Tensor of input's dtype
    reduce : "prod", "mean", "amax" or "amin"
    include_self : bool
        The elements of ``input`` take part.

    Examples
    --------
    >>> source = weft.tensor([[1.0, 9.0], [5.0, 2.0], [3.0, 3.0]])
    >>> weft.zeros(2, 2).index_reduce(0, weft.tensor([0, 1, 0]), source, "amax")
    tensor([[3., 9.],
            [5., 2.]])
    """
    if reduce not in REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    warn_caller_once("index_reduce() is in beta and the API may change at any time.")
    check_order("index_reduce", input, reduce)
    dim, index = index_write("index_reduce", input, dim, index, source)
    check_slices("index_reduce", input, dim, index, source)
    in_range("index_reduce", index, input.shape[dim] if input.ndim else 1, dim, IndexError)  # also of empty slices
    if source.ndim:
        index = index.reshape([-1 if d == dim else 1 for d in range(source.ndim)]).expand(source.shape)
    else:
        index = index.reshape(())
    return positioned("index_reduce", IndexError, reduced_at.op, input, dim, index, source, reduce, include_self)


@op(tensors="input index src", result="same", compute_dtype="float32", name="segment_extremes", vmap="along_dims")
def segment_extremes(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
    """The extremes of segments, and of what each starts from, which takes no part of the gradient."""
    return segment_extremes.op(input, dim, index, src, reduce)


@segment_extremes.kernel
def _(xp, input, dim, index, src, reduce):
    return combined(xp, input, dim, index, src, reduce, True)


@segment_extremes.gradient("src")
def _(grad, dim, index, src, output):
    chosen = (src == gather(output, dim, index)) | src.isnan()  # then the extreme is nan too
    count = grad.new_zeros(grad.shape).scatter_add(dim, index, chosen.to(grad.dtype))
    return gather(grad / count.masked_fill(count == 0, 1), dim, index).masked_fill(~chosen, 0)


@composite(data_dependent=True)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Tensor:
    """Reductions of neighbouring elements along an axis, in segments of given lengths.

    Parameters
    ----------
    data : Tensor
    reduce : "sum", "prod", "mean", "max" or "min"
    lengths, offsets : Tensor of int64, shape data.shape[:axis] + (segments,)
        The number of elements of each segment; or where each begins, and the end (one more).
    indices : None
        Not supported, as in PyTorch.
    axis : int
    unsafe : bool
        Do not check that the lengths add up to the size of the axis.
    initial : number, optional
        What each reduction starts from.

    Returns
    -------
    Tensor, with as many elements along the axis as there are segments

    Raises
    ------
    RuntimeError
        For another reduction, without lengths and offsets, or if they do not fit the axis.

    Examples
    --------
    >>> weft.segment_reduce(weft.tensor([1.0, 2.0, 3.0, 4.0]), "sum", lengths=weft.tensor([3, 1]))
    tensor([6., 4.])
    """
    names = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}
    if reduce not in names:
        raise RuntimeError(f"segment_reduce(): reduce argument must be either {', '.join(names)}, got {reduce!r}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported; pass lengths or offsets")
    if lengths is None:
        if offsets is None:
            raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
        lengths = offsets.diff()
    axis = wrap_dim("segment_reduce", axis, data.ndim)
    if offsets is not None and offsets.ndim == 1 == axis + 1 and has_bounds(offsets):
        data = between(data, int(offsets[0]), int(offsets[-1]))
    if not data.ndim or lengths.ndim != axis + 1:
        raise RuntimeError(
            f"segment_reduce(): axis {axis} must be the last dimension of lengths, and one of data; got {lengths.ndim} "
            f"and {data.ndim} dimensions"
        )
    if lengths.is_floating_point() or lengths.is_complex():
        raise NotImplementedError(
            f"segment_reduce: not implemented for lengths of '{lengths.dtype.scalar_type_name}'; use int64"
        )
    if lengths.is_meta:
        return segments_without_values(data, axis, lengths, names[reduce])
    segments, size = lengths.shape[-1], data.shape[axis]
    wrong = "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
    wrong = "" if unsafe else f"{wrong} Axis {axis} has size {size}"
    index = segments_of_each(lengths, size, wrong) if waits(lengths) else segments_on_host(lengths, size, wrong)
    used, tail = index.shape[-1], data.ndim - axis - 1
    index = index.reshape(*index.shape, *[1] * tail).to(data.device)
    source = data.narrow(axis, 0, used)
    rows = segments + 1 if waits(lengths) else segments  # one for what is in no segment
    shape = (*data.shape[:axis], rows, *data.shape[axis + 1 :])
    start = identity(names[reduce], data.dtype.numpy) if initial is None else initial
    base = data.new_full(shape, start)
    index = index.expand(source.shape)
    if reduce in ("max", "min"):
        return segment_extremes.op(base, axis, index, source, names[reduce]).narrow(axis, 0, segments)
    result = reduced_at.op(base, axis, index, source, names[reduce], True).narrow(axis, 0, segments)
    if reduce != "mean":
        return result
    count = lengths.reshape(*lengths.shape, *[1] * tail)
    result = result / count.clamp(min=1)
    return result.masked_fill(count == 0, math.nan) if initial is None else result


def has_bounds(offsets: Any) -> bool:
    """Whether offsets say here and now where the first segment begins and the last one ends."""
    return bool(len(offsets)) and not waits(offsets) and not offsets.is_meta and not offsets.is_floating_point()


def between(data: Any, start: int, end: int) -> Any:
    """The part of data that segments are of, whose offsets need not begin with 0 and end with the size.

    Raises
    ------
    RuntimeError
        If it lies outside.
    """
    if not 0 <= start <= end <= data.shape[0]:
        raise RuntimeError(f"segment_reduce(): offsets from {start} to {end} leave axis 0 of size {data.shape[0]}")
    return data.narrow(0, start, end - start)


def segments_on_host(lengths: Any, size: int, wrong: str) -> Any:
    """The segment of each element along an axis of a size.

    Raises
    ------
    RuntimeError
        With what is wrong, where that is said, if the lengths do not add up to the size.
    """
    table = lengths.cpu().numpy().reshape(math.prod(lengths.shape[:-1]), lengths.shape[-1])
    if wrong and ((table < 0).any() or (table.sum(1) != size).any()):
        raise RuntimeError(f"segment_reduce(): {wrong}")
    used = int(table.sum(1).max(initial=0))
    rows = numpy.stack([numpy.repeat(numpy.arange(lengths.shape[-1]), row) for row in table])  # (rows, used)
    return from_host(rows.reshape(*lengths.shape[:-1], used))


def segments_of_each(lengths: Any, size: int, wrong: str) -> Any:
    """`segments_on_host` without waiting for a device; an element of no segment has the number behind the last.

    The lengths are asserted, as positions are.
    """
    ends = lengths.cumsum(-1)
    if wrong and lengths.numel():
        assert_below("segment_reduce()", lengths, size + 1, wrong)
        assert_below("segment_reduce()", size - ends.select(-1, -1), 1, wrong)
    each = arange(size, device=lengths.device)
    return searchsorted(ends, each.expand(*ends.shape[:-1], size).contiguous(), right=True)


def segments_without_values(data: Any, axis: int, lengths: Any, combine: str) -> Any:
    """The result of `segment_reduce` where the lengths are not known: any positions will do."""
    base = data.new_empty((*data.shape[:axis], lengths.shape[-1], *data.shape[axis + 1 :]))
    index = lengths.new_empty(data.shape)
    if combine in ("maximum", "minimum"):
        return segment_extremes.op(base, axis, index, data, combine)
    return reduced_at.op(base, axis, index, data, combine, True)


_segment_reduce = segment_reduce  # PyTorch has both names
