"""Joining tensors, repeating and rearranging their elements."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy

from weft._dtypes.dtypes import int64, result_dtype
from weft._engine.dimensions import Roll
from weft._engine.functions import Join
from weft._engine.tensor import TensorBase
from weft._settings import warn_caller_once
from weft._tensor.base import Tensor
from weft._tensor.interop import tensor
from weft._tensor.layout import channels_last, channels_last_3d, in_order, is_channels_last, suggests_channels_last
from weft.ops._declare import ALL_DTYPES, composite, op
from weft.ops._geometry import (
    MAX_ELEMENTS,
    addressable,
    broadcast_shapes,
    elements,
    integer,
    integers,
    one_by_one,
    same_shape_except,
    wrap_dim,
    wrap_dims,
)
from weft.ops._numerics import constant, is_numpy
from weft.ops._positions import check_positions, positioned, waits
from weft.ops.creation import arange, contiguous_copy, empty, repeats, written_out
from weft.ops.views import diagonal, embed, expand, narrow, reshape
from weft.types import Scalar


def as_list(name: str, tensors: Any) -> list[Any]:
    """The tensors that a caller gave; at least one.

    Raises
    ------
    TypeError, RuntimeError
        If it is no sequence of tensors, or empty.
    """
    if isinstance(tensors, Tensor):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    found = list(tensors)
    for number, each in enumerate(found):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"{name}(): expected Tensor as element {number} in argument 0, but got {type(each).__name__}"
            )
    if not found:
        wanted = {
            "column_stack": "TensorList",
            "hstack": "TensorList",
            "stack": "TensorList",
            "vstack": "TensorList",
            "dstack": "TensorList",
            "_chunk_cat": "input tensor list",
        }
        if name in wanted:
            raise RuntimeError(f"{name} expects a non-empty {wanted[name]}")
        raise (ValueError if name == "cat" else RuntimeError)(f"{name}: expected a non-empty list of Tensors")
    return found


def promoted(tensors: list[Any]) -> list[Any]:
    """The tensors in their common dtype."""
    key = tensors[0]._key
    if builtins.all(each._key is key for each in tensors):
        return tensors
    common = result_dtype(tensors)
    return [each if each._key.dtype is common else each.to(common) for each in tensors]


@op(
    tensors="tensors",
    sequence="tensors",
    out="apart",
    error_type=TypeError,
    dtypes=ALL_DTYPES,
    vmap="along_dims",
    linear="tensors",
    autocast="widest",
    fast_path=Join(),
)
def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Concatenate tensors along a dimension that they have.

    Parameters
    ----------
    tensors : sequence of Tensor
        Of equal sizes but along ``dim``; an empty tensor of one dimension is left out.
    dim : int

    Returns
    -------
    Tensor, of the dtype that all are promoted to.

    Raises
    ------
    RuntimeError
        If the sizes differ in another dimension.

    Examples
    --------
    >>> weft.cat([weft.zeros(2), weft.ones(1)])
    tensor([0., 0., 1.])
    """
    dim = dim if axis is None else axis
    found = promoted(as_list("cat", tensors))
    joined = [each for each in found if each._array.shape != (0,)] or found[:1]
    for number, each in enumerate(found):
        if not each._array.ndim:
            raise RuntimeError(
                f"cat: zero-dimensional tensor (at position {number}) cannot be concatenated; unsqueeze(0) it"
            )
    dim = wrap_dim("cat", dim, joined[0]._array.ndim)
    if len(joined) < len(found):  # those left out have a gradient all the same
        shape = list(joined[0]._array.shape)
        shape[dim] = 0
        joined += [reshape(each, shape) for each in found if each._array.shape == (0,) and each._requires_grad]
    if len(joined) > 1:
        same_shape_except("cat", [each._array.shape for each in joined], dim)
        if builtins.sum(each._array.size for each in joined) > MAX_ELEMENTS // 16:
            raise RuntimeError(f"cat: Storage size calculation overflowed with {len(joined)} tensors")
    return cat.op(joined, dim)


@cat.kernel
def _(xp, tensors, dim):
    joined = xp.concatenate(tensors, dim)
    if joined.flags.c_contiguous or (joined.ndim in (4, 5) and all(is_channels_last(each) for each in tensors)):
        return joined
    return in_order(xp, joined)


@cat.gradient("tensors")
def _(grad, tensors_shape, dim):
    pieces, start = [], 0
    for shape in tensors_shape:
        pieces.append(narrow(grad, dim, start, shape[dim]))
        start += shape[dim]
    return pieces


@cat.onnx
def _(graph, tensors, dim):
    return graph.Concat(*tensors, axis=dim)


concat = concatenate = cat


@composite(out="apart", error_type=TypeError)
def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor cut along a dimension into flat chunks of equal size, and the chunks of the same number joined.

    Parameters
    ----------
    tensors : sequence of Tensor
        Of equal sizes before ``dim``, not empty. What is missing from the last chunks of a tensor is 0.
    dim : int
        Not negative if the numbers of dimensions differ.
    num_chunks : int

    Returns
    -------
    Tensor, shape (..., num_chunks, elements of one chunk of all tensors)

    Examples
    --------
    >>> weft._chunk_cat([weft.arange(3), weft.ones(2, 2, dtype=weft.int64)], 0, 2)
    tensor([[0, 1, 1, 1],
            [2, 0, 1, 1]])
    """
    found = as_list("_chunk_cat", tensors)
    num_chunks, dim = integer("_chunk_cat", num_chunks, "num_chunks"), common_dim("_chunk_cat", found, dim)
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat: _chunk_cat expects positive num_chunks, got {num_chunks}")
    rows = []
    for each in found:
        shape = each._array.shape
        missing = -shape[dim] % num_chunks
        if missing:
            each = cat([each, each.new_zeros((*shape[:dim], missing, *shape[dim + 1 :]))], dim)
        rows.append(reshape(each, (*shape[:dim], num_chunks, -1)))
    return cat(rows, dim + 1)


def common_dim(name: str, tensors: list[Any], dim: Any) -> int:
    """A dimension that all tensors have, with equal sizes before it and elements in all of them."""
    shapes = [each._array.shape for each in tensors]
    if not all(shapes):
        raise RuntimeError(f"{name}: zero-dimensional tensors cannot be cut into chunks; unsqueeze(0) them")
    if any(0 in shape for shape in shapes):
        raise RuntimeError(f"{name}: {name} expects non-empty tensor, got shapes {[list(each) for each in shapes]}")
    counts = {len(shape) for shape in shapes}
    if len(counts) == 1:
        dim = wrap_dim(name, dim, counts.pop())
    elif dim < 0:
        raise RuntimeError(
            f"{name}: {name} expects non-negative dim when input tensors have different ndims, got {dim}"
        )
    elif dim >= min(counts):
        raise RuntimeError(f"{name}: {name} expects dim < ndim for all input tensors, got {dim} for {min(counts)}")
    if len({shape[:dim] for shape in shapes}) > 1:
        raise RuntimeError(
            f"{name}: {name} expects same sizes of 0,...,dim-1 dimensions for all tensors, got dim {dim} and shapes "
            f"{[list(each) for each in shapes]}"
        )
    return int(dim)


@op(
    tensors="tensors",
    sequence="tensors",
    out="apart",
    error_type=TypeError,
    dtypes=ALL_DTYPES,
    vmap="along_dims",
    linear="tensors",
    autocast="widest",
    fast_path=Join(stacks=True),
)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new dimension.

    Parameters
    ----------
    tensors : sequence of Tensor
    dim : int
        The place of the new dimension in the result.

    Raises
    ------
    RuntimeError
        If the shapes differ.

    Examples
    --------
    >>> weft.stack([weft.zeros(2), weft.ones(2)], dim=1)
    tensor([[0., 1.],
            [0., 1.]])
    """
    found = promoted(as_list("stack", tensors))
    first = found[0]._array.shape
    for number, each in enumerate(found):
        if each._array.shape != first:
            raise RuntimeError(
                f"stack: stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(each._array.shape)} at entry {number}"
            )
    return stack.op(found, wrap_dim("stack", dim, len(first) + 1))


@stack.kernel
def _(xp, tensors, dim):
    shape = tensors[0].shape
    if dim == len(shape):
        return in_order(xp, xp.stack(tensors, axis=dim))
    # One end to end along that dimension is the same memory, without a view of each tensor made first.
    joined = in_order(xp, xp.concatenate(tensors, axis=dim))
    return joined.reshape((*shape[:dim], len(tensors), *shape[dim:]))


@stack.gradient("tensors")
def _(grad, dim):
    return list(grad.unbind(dim))


@stack.onnx
def _(graph, tensors, dim):
    return graph.Concat(*[graph.Unsqueeze(each, graph.sizes([dim])) for each in tensors], axis=dim)


def at_least(tensors: Any, ndim: int, place: Any) -> Any:
    """Tensors (one, several, or a list) with dimensions added until they have ``ndim``."""
    made = tuple(place(each) if each._array.ndim < ndim else each for each in unpacked(tensors))
    return made[0] if len(tensors) == 1 and isinstance(tensors[0], TensorBase) else made


def unpacked(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a call that gives them one by one, or as one sequence."""
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors


@composite()
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Give tensors without dimensions one dimension.

    Examples
    --------
    >>> weft.atleast_1d(weft.tensor(1.0))
    tensor([1.])
    """
    return at_least(tensors, 1, lambda each: reshape(each, 1))


@composite()
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Give tensors at least 2 dimensions; new ones are added in front.

    Examples
    --------
    >>> weft.atleast_2d(weft.tensor([1, 2]))
    tensor([[1, 2]])
    """
    return at_least(tensors, 2, lambda each: reshape(each, (1,) * (2 - each.ndim) + tuple(each.shape)))


@composite()
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Give tensors at least 3 dimensions; the third is added behind.

    Examples
    --------
    >>> weft.atleast_3d(weft.zeros(2, 3)).shape
    weft.Size([2, 3, 1])
    """
    shapes = {0: lambda s: (1, 1, 1), 1: lambda s: (1, s[0], 1), 2: lambda s: (s[0], s[1], 1)}
    return at_least(tensors, 3, lambda each: reshape(each, shapes[each.ndim](tuple(each.shape))))


def listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, Tensor) else list(value)


@composite(out="apart", error_type=TypeError)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors horizontally: along dimension 1, or 0 if they have one dimension.

    Examples
    --------
    >>> weft.hstack([weft.zeros(2, 1), weft.ones(2, 1)])
    tensor([[0., 1.],
            [0., 1.]])
    """
    found = listed(atleast_1d(as_list("hstack", tensors)))
    return cat(found, 0 if found[0].ndim == 1 else 1)


@composite(out="apart", error_type=TypeError)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors vertically, along dimension 0; vectors are rows.

    Examples
    --------
    >>> weft.vstack([weft.tensor([1, 2]), weft.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat(listed(atleast_2d(as_list("vstack", tensors))), 0)


row_stack = vstack


@composite(out="apart", error_type=TypeError)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate tensors depthwise, along dimension 2.

    Examples
    --------
    >>> weft.dstack([weft.zeros(2, 3), weft.ones(2, 3)]).shape
    weft.Size([2, 3, 2])
    """
    return cat(listed(atleast_3d(as_list("dstack", tensors))), 2)


@composite(out="apart", error_type=TypeError)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate vectors, as columns, and matrices horizontally.

    Examples
    --------
    >>> weft.column_stack([weft.tensor([1, 2]), weft.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    return cat(
        [reshape(each, (each.numel(), 1)) if each.ndim <= 1 else each for each in as_list("column_stack", tensors)], 1
    )


@composite()
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Broadcast tensors to their common shape: views.

    Examples
    --------
    >>> row, column = weft.broadcast_tensors(weft.zeros(1, 3), weft.zeros(2, 1))
    >>> row.shape, column.shape
    (weft.Size([2, 3]), weft.Size([2, 3]))
    """
    given = unpacked(tensors)
    shape = broadcast_shapes_of("broadcast_tensors", given)
    return tuple(each if each._array.shape == shape else expand(each, shape) for each in given)


def broadcast_shapes_of(name: str, tensors: Any) -> tuple[int, ...]:
    return broadcast_shapes(name, [each._array.shape for each in tensors])


@composite()
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Make grids of coordinates from vectors.

    Parameters
    ----------
    tensors : Tensor
        Of 0 or 1 dimension and one dtype.
    indexing : {"ij", "xy"}
        Whether the first vector runs along dimension 0, as the rows of a matrix, or along dimension 1. To leave it
        out is deprecated and means "ij".

    Returns
    -------
    tuple of Tensor
        One grid for each vector, all of the shape of the vectors' sizes; views of them.

    Examples
    --------
    >>> rows, columns = weft.meshgrid(weft.arange(2), weft.arange(3), indexing="ij")
    >>> rows
    tensor([[0, 0, 0],
            [1, 1, 1]])
    >>> columns
    tensor([[0, 1, 2],
            [0, 1, 2]])
    """
    given = unpacked(tensors)
    if indexing is None:
        warn_caller_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if not given:
        raise RuntimeError("meshgrid: meshgrid expects a non-empty TensorList")
    element = given[0]._key.dtype
    for each in given:
        if each._array.ndim > 1:
            raise RuntimeError(f"meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(each.shape)}")
        if each._key.dtype is not element:
            raise RuntimeError("meshgrid: expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(given) >= 2
    ordered = [given[1], given[0], *given[2:]] if swap else list(given)
    shape, last = [each._array.size for each in ordered], len(ordered) - 1
    grids = [
        each.reshape(size, *(1,) * (last - place)).expand(shape)
        for place, (each, size) in enumerate(zip(ordered, shape))
    ]
    return (grids[1], grids[0], *grids[2:]) if swap else tuple(grids)


@composite()
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return the Cartesian product of vectors, one combination of elements in a row.

    Examples
    --------
    >>> weft.cartesian_prod(weft.tensor([1, 2]), weft.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for each in tensors:
        if each.ndim != 1:
            raise RuntimeError(f"cartesian_prod: Expect a 1D vector, but got shape {list(each.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(*tensors, indexing="ij")], 1)


@composite()
def block_diag(*tensors: Tensor) -> Tensor:
    """Make a block-diagonal matrix of the given matrices.

    Examples
    --------
    >>> weft.block_diag(weft.tensor([[1, 2]]), weft.tensor([[3]]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    for number, each in enumerate(tensors):
        if each.ndim > 2:
            raise RuntimeError(
                f"block_diag: Input tensors must have 2 or fewer dimensions. Input {number} has {each.ndim} dimensions"
            )
    if not tensors:
        return empty(1, 0)
    blocks = [each if each.ndim == 2 else reshape(each, (1, each.numel())) for each in tensors]
    return diagonal_blocks.op(promoted(blocks))


@op(tensors="blocks", sequence="blocks", dtypes=ALL_DTYPES, name="block_diag", vmap="one_by_one", linear="blocks")
def diagonal_blocks(blocks: Sequence[Tensor]) -> Tensor:
    """Matrices along the diagonal of one of zeros."""
    return diagonal_blocks.op(blocks)


@diagonal_blocks.kernel
def _(xp, blocks):
    rows, columns = builtins.sum([len(each) for each in blocks]), builtins.sum([each.shape[1] for each in blocks])
    whole = xp.zeros((rows, columns), blocks[0].dtype)
    for place, each in zip(block_places([each.shape for each in blocks]), blocks):
        whole[place] = each
    return whole


@diagonal_blocks.onnx
def _(graph, blocks):
    """Each between as many zeros as the blocks before and behind it have columns."""
    columns = [graph.size(each, 1) for each in blocks]
    none, rows = graph.sizes([0]), []
    for number, each in enumerate(blocks):
        widths = [
            graph.ReduceSum(graph.Concat(*part, axis=0)) if part else none
            for part in (columns[:number], columns[number + 1 :])
        ]
        rows.append(graph.Pad(each, graph.Concat(none, widths[0], none, widths[1], axis=0)))
    return graph.Concat(*rows, axis=0)


def block_places(shapes: Any) -> list[tuple[slice, slice]]:
    """Where matrices of these shapes stand in the whole."""
    found, row, column = [], 0, 0
    for height, width in shapes:
        found.append((slice(row, row + height), slice(column, column + width)))
        row, column = row + height, column + width
    return found


@diagonal_blocks.gradient("blocks")
def _(grad, blocks_shape):
    return [grad[place] for place in block_places(blocks_shape)]


# Repeating


@composite("repeat")
def _repeat(self: Tensor, *args: int | Sequence[int], repeats: Sequence[int] | None = None) -> Tensor:
    """Repeat the tensor along each dimension; more repeats than dimensions add some in front.

    Examples
    --------
    >>> weft.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    times = integers("repeat", one_by_one("repeat", args, repeats, "repeats"), "repeats")
    have = self._array.shape
    if len(times) < len(have):
        raise RuntimeError(
            f"repeat: Number of dimensions of repeat dims ({len(times)}) can not be smaller than number of "
            "dimensions of "
            f"tensor ({self.ndim})"
        )
    if builtins.min(times, default=0) < 0:
        raise RuntimeError(f"repeat: Trying to create tensor with negative dimension {builtins.min(times)}")
    shape = (1,) * (len(times) - len(have)) + have
    if builtins.max(times, default=1) == 1 == builtins.min(times, default=1):
        return reshape(contiguous_copy.op(self), shape)  # never the same memory
    pairs = [size for pair in zip(times, shape) for size in pair]
    single = [size for each in shape for size in (1, each)]
    repeated = contiguous_copy.op(self.reshape(single).expand(pairs))
    return repeated.reshape([n * size for n, size in zip(times, shape)])


@composite("tile")
def tile(input: Tensor, *args: int | Sequence[int], dims: Sequence[int] | None = None) -> Tensor:
    """Repeat the tensor along each dimension; missing repeats are 1.

    Parameters
    ----------
    input : Tensor
    dims : int, ..., or a sequence of them
        How often along each dimension; fewer numbers than dimensions count from the last.

    Examples
    --------
    >>> weft.tile(weft.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    times = integers("tile", one_by_one("tile", args, dims, "dims"), "dims")
    return input.repeat((1,) * (input.ndim - len(times)) + times)


@composite("repeat_interleave", data_dependent=True)
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element, or each slice along ``dim``.

    Parameters
    ----------
    input : Tensor
    repeats : int or Tensor of int
        With no other argument ``input`` holds the repeats, and the result the index of each repetition.
    dim : int, optional
        Default: of the flattened tensor.
    output_size : int, optional
        The sum of the repeats, where the caller knows it.

    Raises
    ------
    RuntimeError
        If a repeat is negative, or their number is not that of the slices.

    Examples
    --------
    >>> weft.repeat_interleave(weft.tensor([5, 6]), weft.tensor([1, 2]))
    tensor([5, 6, 6])
    """
    if repeats is None:
        input, repeats = arange(input.numel(), dtype=input.dtype, device=input.device), input
    if dim is None:
        input, dim = reshape(input, -1), 0
    dim = wrap_dim("repeat_interleave", dim, input.ndim)
    size = input.shape[dim]
    if type(repeats) is int and repeats >= 0 and input.ndim and output_size in (None, repeats * size):
        return repeated_evenly(input, repeats, dim)
    if not isinstance(repeats, Tensor):
        repeats = tensor(repeats, device="cpu" if waits(input) else input.device)
    if repeats.is_floating_point():
        raise NotImplementedError(
            f"repeat_interleave: not implemented for '{repeats.dtype.scalar_type_name}'; use int64 repeats"
        )
    if repeats.ndim > 1:
        raise RuntimeError(f"repeat_interleave: repeats must be 0-d or 1-d of int32 or int64, got {repeats.ndim}-d")
    if repeats.numel() != size and repeats.numel() != 1:
        raise RuntimeError(
            f"repeat_interleave: repeats must have the same size as input along dim, but got {repeats.numel()} and "
            f"{size}"
        )
    if repeats.is_meta:
        if output_size is None:
            raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
        return input.index_select(dim, repeats.new_empty(output_size, dtype=int64))
    if waits(repeats) and output_size is not None:
        counts = expand(reshape(repeats, -1), size).to(int64)
        places = positioned("repeat_interleave", RuntimeError, repeated_positions.op, counts, output_size)
        return input.index_select(dim, places)
    if (repeats < 0).any():
        raise RuntimeError(f"repeat_interleave: repeats can not be negative; got {repeats.min().item()}")
    counts = expand(reshape(repeats, -1), size).to(int64)
    total = int(counts.sum()) if counts.numel() == 0 or counts.max() < 2**40 else 2**62
    if output_size is not None and output_size != total:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {total} but got {output_size}")
    rest = [n for d, n in enumerate(input.shape) if d != dim]
    addressable("repeat_interleave", (total, *rest), input.itemsize)
    return input.index_select(dim, repeated_positions.op(counts, total).to(input.device))


def repeated_evenly(input: Any, times: int, dim: int) -> Any:
    """Each slice along a dimension as often as the others: a copy of the tensor, expanded."""
    shape = tuple(input.shape)
    lead, size, rest = shape[:dim], shape[dim], shape[dim + 1 :]
    addressable("repeat_interleave", (*lead, size, times, *rest), input.itemsize)
    whole = input.reshape((*lead, size, 1, *rest)).expand((*lead, size, times, *rest))
    return contiguous_copy.op(whole).reshape((*lead, size * times, *rest))


@op(name="repeat_interleave", tensors="counts", gradient=None)
def repeated_positions(counts: Tensor, total: int) -> Tensor:
    """Each position as often as its count says; ``total`` is the sum of the counts."""
    return repeated_positions.op(counts, total)


@repeated_positions.kernel
def _(xp, counts, total):
    if is_numpy(xp):
        return xp.repeat(xp.arange(counts.size), counts)
    check_positions(xp, "repeat_interleave", counts, 0, total + 1)
    ends = xp.cumsum(counts)
    check_positions(xp, "repeat_interleave", ends[-1:], 0, total + 1)
    return xp.searchsorted(ends, xp.arange(total), side="right")  # without waiting, as a repeat of CuPy's has to


@composite()
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Scalar = 0) -> Tensor:
    """Pad a tensor with one value before and behind it, along its last dimensions.

    Parameters
    ----------
    input : Tensor
    pad : sequence of int
        Before and behind for the last dimension, then for the one before it, and so on; negative numbers crop.
    value : number

    Examples
    --------
    >>> weft.constant_pad_nd(weft.tensor([1, 2]), (1, -1))
    tensor([0, 1])
    """
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise RuntimeError(
            f"constant_pad_nd: Length of pad must be even and at most twice the number of dimensions of the input; "
            f"got {len(pad)} for {input.ndim} dimensions"
        )
    shape = list(input.shape)
    inside = input
    places = []
    for number in range(len(pad) // 2):
        dim = input.ndim - 1 - number
        before, behind = pad[2 * number], pad[2 * number + 1]
        shape[dim] += before + behind
        if shape[dim] < 0:
            raise RuntimeError(
                f"constant_pad_nd: The input size {input.shape[dim]}, plus negative padding {before} and {behind}, "
                f"resulted in a negative output size. Check dimension {dim} of your input"
            )
        start, end = builtins.max(-before, 0), input.shape[dim] - builtins.max(-behind, 0)
        inside = narrow(inside, dim, start, builtins.max(end - start, 0))
        places.append((dim, builtins.max(before, 0)))
    made = input.new_full(shape, value)
    if suggests_channels_last(input._array):
        made = made.contiguous(memory_format=channels_last if input.ndim == 4 else channels_last_3d)
    target = made
    for dim, start in places:
        target = narrow(target, dim, start, inside.shape[dim])
    target.copy_(inside)
    return made


# Rearranging


@op("flip", vmap="along_dims", linear="input")
def flip(input: Tensor, *args: int | Sequence[int], dims: Sequence[int] | None = None) -> Tensor:
    """Reverse the order of elements along some dimensions: a copy.

    Parameters
    ----------
    input : Tensor
    dims : int, ..., or a sequence of them

    Examples
    --------
    >>> weft.flip(weft.tensor([1, 2, 3]), [0])
    tensor([3, 2, 1])
    """
    along = integers("flip", one_by_one("flip", args, dims, "dims"), "dims")
    return flip.op(written_out(input) if repeats(input) else input, wrap_dims("flip", along, input.ndim))


@flip.kernel
def _(xp, input, dims):
    places = [slice(None)] * input.ndim
    for dim in dims if places else ():
        places[dim] = slice(None, None, -1)
    return input[tuple(places)].copy(order="K")


@flip.gradient("input")
def _(grad, dims):
    return flip.op(grad, dims)


@flip.onnx
def _(graph, input, dims):
    reversed_ = graph.Identity(input)
    for dim in dims if input.ndim else ():
        reversed_ = graph.slice(reversed_, dim, None, None, -1)
    return reversed_


@composite("fliplr")
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of the columns.

    Examples
    --------
    >>> weft.fliplr(weft.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"fliplr: Input must be >= 2-d; got {input.ndim}-d")
    return flip(input, 1)


@composite("flipud")
def flipud(input: Tensor) -> Tensor:
    """Reverse the order of the rows.

    Examples
    --------
    >>> weft.flipud(weft.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if input.ndim < 1:
        raise RuntimeError("flipud: Input must be >= 1-d; got 0-d")
    return flip(input, 0)


@op(
    "roll",
    dtypes=ALL_DTYPES,
    linear="input",
    fast_path=Roll(dtypes="any"),
)
def roll(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = ()) -> Tensor:
    """Shift elements along some dimensions; those pushed out come in at the other end.

    Parameters
    ----------
    input : Tensor
    shifts : int or sequence of int
        How far along each of the dims; negative ones towards the front.
    dims : int or sequence of int, optional
        Default: along the flattened tensor.

    Raises
    ------
    RuntimeError
        If there are more or fewer shifts than dims.

    Examples
    --------
    >>> weft.roll(weft.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    steps = integers("roll", (shifts,), "shifts")
    along = () if dims is None else tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not steps:
        raise RuntimeError("roll: `shifts` required: at least one number")
    if (along and len(steps) != len(along)) or (not along and len(steps) != 1):
        raise RuntimeError(f"roll: shifts and dimensions must align. shifts: {len(steps)}, dims:{len(along)}")
    if along and not input.ndim:
        raise IndexError(f"roll: Dimension specified as {along[0]} but tensor has no dimensions")
    return roll.op(input, steps, tuple(wrap_dim("roll", dim, input.ndim) for dim in along))


@roll.kernel
def _(xp, input, shifts, dims):
    if not input.ndim:
        return input.copy()
    if len(dims) == 1:
        return in_order(xp, rolled(xp, input, shifts[0], dims[0]))
    return in_order(xp, xp.roll(input, shifts, axis=dims) if dims else xp.roll(input, shifts[0]))


@roll.onnx
def _(graph, input, shifts, dims):
    if not input.ndim:
        return graph.Identity(input)
    if not dims:
        flat = graph.rolled(graph.Reshape(input, graph.sizes([-1])), shifts[0], 0)
        return graph.Reshape(flat, graph.shape_of(input))
    for shift, dim in zip(shifts, dims):
        input = graph.rolled(input, shift, dim)
    return input


def rolled(xp: Any, input: Any, shift: int, dim: int) -> Any:
    """An array moved along one dimension: its last part, and then its first."""
    size = input.shape[dim]
    before = (slice(None),) * dim
    start = size - shift % max(size, 1)
    return xp.concatenate([input[(*before, slice(start, None))], input[(*before, slice(start))]], dim)


@roll.gradient("input")
def _(grad, shifts, dims):
    return roll.op(grad, tuple(-each for each in shifts), dims)


@roll.vmap
def _(batch):
    input, shifts, dims = batch.with_all()
    if dims:
        return roll.op(input, shifts, tuple(dim + 1 for dim in dims))
    if input.ndim == 1:  # examples of one element
        return input.clone()
    return roll.op(input.flatten(1), shifts, (1,)).reshape(input.shape)


@composite("rot90")
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate a tensor by 90 degrees, k times, in the plane of two dimensions.

    Parameters
    ----------
    input : Tensor, of at least two dimensions
    k : int
        Negative: in the other direction.
    dims : sequence of two ints
        From the first towards the second.

    Examples
    --------
    >>> weft.rot90(weft.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"rot90: expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"rot90: expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = (wrap_dim("rot90", dim, input.ndim) for dim in dims)
    if first == second:
        raise RuntimeError(
            f"rot90: expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turn = k % 4
    if turn == 1:
        return flip(input, second).transpose(first, second)
    if turn == 2:
        return flip(input, first, second)
    return flip(input, first).transpose(first, second) if turn == 3 else contiguous_copy.op(input)


FEW = 4096  # elements of a mask that is kept


def triangle_mask(xp: Any, rows: int, columns: int, diagonal: int, below: bool) -> Any:
    """Which elements of a matrix are on a diagonal and on one side of it; not to be written to."""
    if rows * columns <= FEW:
        given = rows, columns, diagonal, below
        return small_triangle(*given) if is_numpy(xp) else constant(xp, small_triangle, None, *given)
    return on_one_side(xp, rows, columns, diagonal, below)


def on_one_side(xp: Any, rows: int, columns: int, diagonal: int, below: bool) -> Any:
    distance = xp.arange(columns) - xp.arange(rows)[:, None]
    return distance <= diagonal if below else distance >= diagonal


@lru_cache(64)
def small_triangle(rows: int, columns: int, diagonal: int, below: bool) -> Any:
    """`triangle_mask` of a small matrix, which is kept."""
    return on_one_side(numpy, rows, columns, diagonal, below)


TRIANGLE_DOC = """Keep the elements on and {keep} a diagonal of each matrix; set the others to 0.

Parameters
----------
input : Tensor, shape (..., m, n)
diagonal : int
    0 the main one, positive ones above it.

Examples
--------
>>> weft.{name}(weft.ones(2, 2))
{example}
"""


def triangle(name: str, keep: str, example: str) -> Any:
    def function(input: Tensor, diagonal: int = 0) -> Tensor:
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return function_op.op(input, integer(name, diagonal, "diagonal"))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = TRIANGLE_DOC.format(name=name, keep=keep, example=example)
    function_op = op(name, f"{name}_", out="exact shared", vmap="leading", linear="input")(function)

    @function_op.kernel
    def _(xp, input, diagonal):
        result = xp.zeros(input.shape, input.dtype)
        rows, columns = input.shape[-2:]
        xp.copyto(result, input, where=triangle_mask(xp, rows, columns, diagonal, keep == "below"))
        return result

    @function_op.onnx
    def _(graph, input, diagonal):
        return graph.Trilu(input, graph.scalar(diagonal), upper=int(keep != "below"))

    @function_op.gradient("input")
    def _(grad, diagonal):
        return function_op.op(grad, diagonal)

    return function_op


tril = triangle("tril", "below", "tensor([[1., 0.],\n        [1., 1.]])")
triu = triangle("triu", "above", "tensor([[1., 1.],\n        [0., 1.]])")


@composite("diag_embed")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Make matrices with the last dimension of ``input`` on a diagonal and zeros elsewhere.

    Parameters
    ----------
    input : Tensor, shape (..., n)
    offset : int
        Which diagonal: 0 the main one, positive ones above it.
    dim1, dim2 : int
        The places of the rows and the columns in the result.

    Returns
    -------
    Tensor, with ``n + abs(offset)`` rows and columns.

    Examples
    --------
    >>> weft.diag_embed(weft.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    size = input.shape[-1] + builtins.abs(offset)
    ndim = input.ndim + 1
    first, second = wrap_dim("diag_embed", dim1, ndim), wrap_dim("diag_embed", dim2, ndim)
    if first == second:
        raise RuntimeError(f"diag_embed: diagonal dimensions cannot be identical {dim1}, {dim2}")
    rest = iter(input.shape)
    shape = tuple(size if dim in (first, second) else next(rest) for dim in builtins.range(ndim))
    return embed.op(input, shape, diagonal.op.name, (offset, first, second))


@composite("diag", out="exact")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Make a matrix with a vector on a diagonal, or return a diagonal of a matrix.

    Parameters
    ----------
    input : Tensor, of one or two dimensions
    diagonal : int
        0 the main one, positive ones above it.

    Examples
    --------
    >>> weft.diag(weft.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    >>> weft.diag(weft.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim == 2:
        return input.diagonal(diagonal).clone()
    raise RuntimeError(f"diag: diag(): Supports 1D or 2D tensors. Got {input.ndim}D")


@composite("diagflat")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Make a matrix with all elements of a tensor on a diagonal.

    Parameters
    ----------
    input : Tensor
        Is flattened.
    offset : int
        Which diagonal: 0 the main one, positive ones above it.

    Examples
    --------
    >>> weft.diagflat(weft.tensor([1, 2]), 1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
    """
    return diag_embed(reshape(input, -1), offset)


@composite()
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the Vandermonde matrix of a vector: powers of its elements as columns.

    Parameters
    ----------
    x : Tensor, shape (n,)
    N : int, optional
        How many columns; default: n.
    increasing : bool
        Whether the powers grow from left to right.

    Returns
    -------
    Tensor, shape (n, N)

    Examples
    --------
    >>> weft.vander(weft.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError(f"vander: x must be a one-dimensional tensor; got {x.ndim} dimensions")
    count = x.numel() if N is None else N
    if count < 0:
        raise RuntimeError(f"vander: N must be non-negative; got {count}")
    elements("vander", (x.numel(), count), 8)
    wide = x if x.dtype.category >= 2 else x.to(int64)
    if count < 2:
        return wide.new_ones(x.numel(), count)
    powers = cat([wide.new_ones(1, x.numel()), wide.expand(count - 1, -1).cumprod(0)], 0)
    return (powers if increasing else powers.flip(0)).t().contiguous()
