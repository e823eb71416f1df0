"""Conversions between dense tensors, coordinates and compressed layouts. Gradients pass through the values."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft._dtypes.dtypes import int64
from weft._tensor.layout import sparse_coo, strided
from weft.ops._positions import in_range
from weft.ops.sorting import counts
from weft.sparse._compressed import (
    BLOCK_LAYOUTS,
    COMPRESSED,
    FUNCTIONS,
    KIND,
    OPPOSITE,
    ROW_LAYOUTS,
    CompressedTensor,
    made,
)
from weft.sparse._tensor import FUNCTIONS as COO_FUNCTIONS
from weft.sparse._tensor import SparseTensor, flat_indices
from weft.sparse._tensor import made as made_coo
from weft.sparse._tensor import to_sparse as dense_to_coo

__all__ = ["coordinates", "to_coo", "to_dense", "to_layout", "transposed"]


def as_blocksize(name: str, blocksize: Any, layout: Any) -> tuple[int, int] | None:
    """The shape of blocks, of an int or a pair; None for layouts without blocks.

    Raises
    ------
    RuntimeError
        If it is missing, is there without need, or is not positive.
    """
    if layout not in BLOCK_LAYOUTS:
        if blocksize is not None:
            raise RuntimeError(f"{name}: conversion to {layout} with blocksize argument given is not supported")
        return None
    if blocksize is None:
        raise RuntimeError(f"{name}: conversion to {layout} without blocksize argument given is not supported")
    pair = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
    if len(pair) != 2 or min(pair) < 1:
        raise RuntimeError(f"{name}: blocksize needs to be a pair of positive numbers, but got {pair}")
    return pair


def to_layout(input: Any, layout: Any, blocksize: Any = None, dense_dim: int | None = None, name: str = "") -> Any:
    """A tensor of any layout, dense or sparse, in another one.

    Raises
    ------
    RuntimeError
        If the conversion is not there, or arguments do not fit the layout.
    """
    name = name or "to_sparse"
    if layout is strided:
        return input.to_dense()
    if layout is sparse_coo:
        return input if isinstance(input, SparseTensor) else to_coo(input)
    if layout not in COMPRESSED:
        raise RuntimeError(f"{name}: layout {layout} is not there")
    if isinstance(input, CompressedTensor) and input.layout is layout and blocksize is None:
        return input
    block = as_blocksize(name, blocksize, layout)
    if isinstance(input, (CompressedTensor, SparseTensor)) and dense_dim not in (None, input.dense_dim()):
        raise RuntimeError(
            f"{name}: conversion of a sparse tensor with {input.dense_dim()} dense dimensions to one with "
            f"dense_dim={dense_dim} is not supported"
        )
    if isinstance(input, CompressedTensor):
        return relaid(name, input, layout, block)
    if isinstance(input, SparseTensor):
        return coo_compressed(name, input, layout, block)
    return dense_compressed(name, input, layout, block, dense_dim or 0)


# Dense tensors


def check_matrix(name: str, size: Any, batch: int, block: tuple[int, int] | None) -> None:
    """Refuse what has no rows and columns, or some that blocks do not divide."""
    if batch < 0:
        raise RuntimeError(f"{name}: expected at least 2 dimensions beside the dense ones, got size {tuple(size)}")
    if block and (size[batch] % block[0] or size[batch + 1] % block[1]):
        raise RuntimeError(
            f"{name}: tensor sparse size ({size[batch]},{size[batch + 1]}) must be divisible by given blocksize "
            f"({block[0]},{block[1]})"
        )


def blocked(input: Any, batch: int, block: tuple[int, int]) -> Any:
    """A dense tensor as (*batch, rows of blocks, columns of blocks, *block, *dense)."""
    height, width = block
    rows, columns = input.shape[batch] // height, input.shape[batch + 1] // width
    split = input.reshape(*input.shape[:batch], rows, height, columns, width, *input.shape[batch + 2 :])
    return split.transpose(batch + 1, batch + 2)


def dense_compressed(name: str, input: Any, layout: Any, block: tuple[int, int] | None, dense_dim: int) -> Any:
    """The elements (or blocks) of a dense tensor that are not zero, compressed."""
    batch = input.ndim - 2 - dense_dim
    check_matrix(name, input.shape, batch, block)
    parts = blocked(input, batch, block) if block else input
    inner = parts.shape[batch + 2 :]
    groups = tuple(input.shape[:batch])
    parts = parts.reshape(math.prod(groups), *parts.shape[batch : batch + 2], *inner)
    there = parts.detach() != 0
    there = there.flatten(3).any(-1) if inner else there
    there = there if layout in ROW_LAYOUTS else there.transpose(1, 2)
    counts = there.sum(-1)
    per_matrix = counts.sum(-1)
    if len(per_matrix) and not bool((per_matrix == per_matrix[0]).all()):
        raise RuntimeError(
            f"{name}: Expect the same number of specified elements per batch, got {per_matrix.tolist()}; convert the "
            "matrices one by one, or use weft.sparse_coo"
        )
    group, major, minor = there.nonzero().unbind(1)
    row, column = (major, minor) if layout in ROW_LAYOUTS else (minor, major)
    values = parts[group, row, column]
    nnz = int(per_matrix[0]) if len(per_matrix) else 0
    return made(
        padded_cumsum(counts).reshape(*groups, -1),
        minor.reshape(*groups, nnz),
        values.reshape(*groups, nnz, *inner),
        input.shape,
        layout,
    )


def padded_cumsum(counts: Any) -> Any:
    """Where each row begins, of how many entries each has: (n, rows) to (n, rows + 1)."""
    return weft.cat([counts.new_zeros((counts.shape[0], 1)), counts.cumsum(-1)], -1)


# Compressed tensors


def majors(input: Any) -> Any:
    """The row of each entry (column, where columns are compressed), of shape (*batch, nnz)."""
    compressed = input._sparse_compressed
    counts = compressed.diff()
    length = counts.shape[-1]
    each = weft.arange(length, dtype=compressed.dtype, device=compressed.device).expand(counts.shape)
    return each.reshape(-1).repeat_interleave(counts.reshape(-1).to(int64)).reshape(input._sparse_plain.shape)


def coordinates(input: Any) -> tuple[Any, Any]:
    """The row and the column of each entry, in blocks where entries are blocks; each of shape (*batch, nnz)."""
    major, minor = majors(input).to(int64), input._sparse_plain.to(int64)
    return (major, minor) if input.layout in ROW_LAYOUTS else (minor, major)


def grid(input: Any) -> tuple[int, int]:
    """How many rows and columns of entries there are."""
    batch = input._sparse_plain.ndim - 1
    height, width = input._blocksize
    return int(input.shape[batch]) // height, int(input.shape[batch + 1]) // width


def group_numbers(input: Any) -> Any:
    """The number of the matrix that each entry is of, of shape (all batches, 1)."""
    return weft.arange(math.prod(input._sparse_plain.shape[:-1]), device=input.device)[:, None]


def to_dense(input: Any) -> Any:
    """All elements of a compressed tensor."""
    row, column = coordinates(input)
    batch, nnz = row.ndim - 1, row.shape[-1]
    rows, columns = grid(input)
    groups = tuple(input.shape[:batch])
    total = math.prod(groups)
    values = input._inner_values
    inner = tuple(values.shape[batch + 1 :])
    place = (group_numbers(input) * rows + row.reshape(total, nnz)) * columns + column.reshape(total, nnz)
    flat = values.new_zeros((total * rows * columns, *inner))
    flat = flat.index_add(0, place.reshape(-1), values.reshape(total * nnz, *inner))
    parts = flat.reshape(*groups, rows, columns, *inner)
    if input.layout in BLOCK_LAYOUTS:
        parts = parts.transpose(batch + 1, batch + 2)
    return parts.reshape(tuple(input.shape))


def elements(input: Any) -> tuple[Any, Any]:
    """The coordinates of each element that a tensor keeps, batch dimensions first, and the elements."""
    row, column = coordinates(input)
    batch = row.ndim - 1
    values = input._inner_values
    inner = tuple(values.shape[batch + 1 :])
    lead = weft.ones(row.shape, dtype=weft.bool, device=row.device).nonzero().t()[:batch]
    row, column = row.reshape(-1), column.reshape(-1)
    values = values.reshape(len(row), *inner)
    if input.layout in BLOCK_LAYOUTS:
        height, width = inner[:2]
        row = row[:, None, None] * height + weft.arange(height, device=row.device)[:, None]
        column = column[:, None, None] * width + weft.arange(width, device=row.device)
        row, column = (each.expand(-1, height, width).reshape(-1) for each in (row, column))
        lead = lead.repeat_interleave(height * width, 1)
        values = values.reshape(len(row), *inner[2:])
    return weft.cat([lead, row[None], column[None]]), values


def to_coo(input: Any) -> Any:
    """Coordinates of a dense or compressed tensor."""
    if not isinstance(input, CompressedTensor):
        return dense_to_coo(input)
    indices, values = elements(input)
    return made_coo(indices, values, input.shape, input.layout in ROW_LAYOUTS and input.layout not in BLOCK_LAYOUTS)


def compress(
    groups: Any,
    layout: Any,
    size: Any,
    sides: tuple[int, int],
    row: Any,
    column: Any,
    values: Any,
    by_rows: bool = False,
) -> Any:
    """Entries in any order (or in order by rows), of shape (all batches, nnz), compressed."""
    total, nnz = row.shape
    major, minor, length, other = (row, column, *sides) if layout in ROW_LAYOUTS else (column, row, sides[1], sides[0])
    lines = weft.arange(total, device=row.device)[:, None] * length + major
    in_order = by_rows and layout in ROW_LAYOUTS
    order = slice(None) if in_order else (lines * other + minor).reshape(-1).argsort()
    per_line = counts.op(lines.reshape(-1), None, total * length).reshape(total, length)
    inner = tuple(values.shape[2:])
    return made(
        padded_cumsum(per_line).reshape(*groups, length + 1),
        minor.reshape(-1)[order].reshape(*groups, nnz),
        values.reshape(total * nnz, *inner)[order].reshape(*groups, nnz, *inner),
        size,
        layout,
    )


def relaid(name: str, input: Any, layout: Any, block: tuple[int, int] | None) -> Any:
    """A compressed tensor in another compressed layout."""
    if input.layout in BLOCK_LAYOUTS:
        if block != input._blocksize:
            wanted = "elements" if block is None else f"blocksize changed from {input._blocksize} to {block}"
            raise RuntimeError(
                f"{name}: conversion from {KIND[input.layout]} to {KIND[layout]} of {wanted} is not supported; take "
                "to_sparse_coo() or to_dense() first"
            )
        if layout is input.layout:
            return input
    elif block is not None:
        if input._sparse_plain.ndim > 1:
            raise RuntimeError(
                f"{name}: conversion from {KIND[input.layout]} to {KIND[layout]} for batched inputs is not supported; "
                "take to_dense() first"
            )
        return coo_compressed(name, to_coo(input), layout, block)
    row, column = coordinates(input)
    batch, nnz = row.ndim - 1, row.shape[-1]
    groups = tuple(input.shape[:batch])
    total = math.prod(groups)
    values = input._inner_values.reshape(total, nnz, *input._inner_values.shape[batch + 1 :])
    found = compress(
        groups, layout, input.shape, grid(input), row.reshape(total, nnz), column.reshape(total, nnz), values
    )
    return with_index_dtype(found, input._sparse_plain.dtype)


def with_index_dtype(input: Any, dtype: Any) -> Any:
    """The same tensor with indices of another dtype."""
    if input._sparse_plain.dtype is dtype:
        return input
    parts = (input._sparse_compressed.to(dtype), input._sparse_plain.to(dtype))
    return made(*parts, input._inner_values, input.shape, input.layout)


def transposed(input: Any, dim0: int, dim1: int) -> Any:
    """A compressed tensor with rows and columns exchanged: the same entries in the opposite layout."""
    batch = input._sparse_plain.ndim - 1
    values = input._inner_values
    size = list(input.shape)
    size[dim0], size[dim1] = size[dim1], size[dim0]
    if min(dim0, dim1) == batch and max(dim0, dim1) == batch + 1:
        values = values.transpose(batch + 1, batch + 2) if input.layout in BLOCK_LAYOUTS else values
        return made(input._sparse_compressed, input._sparse_plain, values, size, OPPOSITE[input.layout])
    if max(dim0, dim1) < batch:
        first, second = (each.transpose(dim0, dim1) for each in (input._sparse_compressed, input._sparse_plain))
        return made(first, second, values.transpose(dim0, dim1), size, input.layout)
    if min(dim0, dim1) >= batch + 2:
        shift = values.ndim - input.ndim
        values = values.transpose(dim0 + shift, dim1 + shift)
        return made(input._sparse_compressed, input._sparse_plain, values, size, input.layout)
    kinds = ["Batch" if dim < batch else "Sparse" if dim < batch + 2 else "Dense" for dim in (dim0, dim1)]
    raise RuntimeError(
        "transpose: can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
        f"{dim0}({kinds[0]}) and {dim1}({kinds[1]})"
    )


# Coordinates


def coo_compressed(name: str, input: Any, layout: Any, block: tuple[int, int] | None) -> Any:
    """Coordinates of a matrix, compressed."""
    if input.sparse_dim() != 2:
        raise RuntimeError(
            f"{name}: conversion from Sparse to {KIND[layout]} for input tensors with sparse_dim()!=2 is not "
            f"supported; got {input.sparse_dim()}"
        )
    check_matrix(name, input.shape, 0, block)
    input = input.coalesce()
    (row, column), values = input._sparse_indices, input._inner_values
    if block is None:
        sides = (input.shape[0], input.shape[1])
        return compress((), layout, input.shape, sides, row[None], column[None], values[None], by_rows=True)
    height, width = block
    sides = (input.shape[0] // height, input.shape[1] // width)
    number, place = weft.unique((row // height) * sides[1] + column // width, return_inverse=True)
    inner = tuple(values.shape[1:])
    blocks = values.new_zeros((len(number) * height * width, *inner))
    within = (place * height + row % height) * width + column % width
    blocks = blocks.index_add(0, within, values).reshape(1, len(number), height, width, *inner)
    row, column = (number // sides[1], number % sides[1]) if len(number) else (number, number)
    return compress((), layout, input.shape, sides, row[None], column[None], blocks, by_rows=True)


def _convert_indices_from_coo_to_csr(input: Any, size: int, *, out_int32: bool = False) -> Any:
    """Where the entries of each of ``size`` rows begin, of the row of each entry, in order."""
    if input.ndim != 1:
        raise RuntimeError(f"_convert_indices_from_coo_to_csr: expected a vector, got shape {tuple(input.shape)}")
    in_range("_convert_indices_from_coo_to_csr", input, size, 0)
    per_row = counts.op(input.to(int64), None, size)
    return padded_cumsum(per_row[None])[0].to(weft.int32 if out_int32 else int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Any, col_indices: Any, *, out_int32: bool = False, transpose: bool = False
) -> Any:
    """The row and the column of each entry, of compressed rows; the other way round for the transpose."""
    rows = weft.arange(len(crow_indices) - 1, device=crow_indices.device)
    parts = [rows.repeat_interleave(crow_indices.diff().to(int64)), col_indices]
    dtype = weft.int32 if out_int32 else int64
    return weft.stack([each.to(dtype) for each in (parts[::-1] if transpose else parts)])


def coo_from_rows(input: Any) -> tuple[Any, Any, Any]:
    """The compressed rows, columns and values of a matrix of coordinates, whose entries may repeat."""
    (row, column), values = input._sparse_indices, input._inner_values
    if not input._sparse_coalesced:
        order = row.argsort(stable=True)
        row, column, values = row[order], column[order], values[order]
    per_row = counts.op(row, None, input.shape[0])
    return padded_cumsum(per_row[None])[0], column, values


def same_places(first: Any, second: Any) -> bool:
    """Whether two compressed tensors of one layout have entries at the same places."""
    return bool(
        first._sparse_plain.shape == second._sparse_plain.shape
        and (first._sparse_compressed == second._sparse_compressed).all()
        and (first._sparse_plain == second._sparse_plain).all()
    )


def flat_places(input: Any) -> Any:
    """One number for each element that a tensor keeps."""
    indices, _ = elements(input)
    return flat_indices(indices, tuple(input.shape)[: len(indices)])


def converter(layout: Any) -> Any:
    """The method that converts to one layout."""
    name = f"to_{layout.name}"
    if layout in BLOCK_LAYOUTS:
        return lambda input, blocksize, dense_dim=None: to_layout(input, layout, blocksize, dense_dim, name)
    return lambda input, dense_dim=None: to_layout(input, layout, None, dense_dim, name)


for functions in (FUNCTIONS, COO_FUNCTIONS):
    functions.update({f"to_{layout.name}": converter(layout) for layout in COMPRESSED})
