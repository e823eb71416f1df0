"""What compressed tensors do for the functions and methods of Tensor: each is declared by their names."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft._dtypes.dtypes import int64
from weft._tensor.base import Tensor
from weft._tensor.layout import sparse_coo, sparse_csr, strided
from weft.ops._geometry import check_index, wrap_dim, wrap_dims
from weft.sparse._compressed import BLOCK_LAYOUTS, FUNCTIONS, KIND, CompressedTensor, implements, made
from weft.sparse._conversions import (
    compress,
    coordinates,
    elements,
    flat_places,
    grid,
    same_places,
    to_coo,
    to_dense,
    to_layout,
    transposed,
)
from weft.sparse._functions import IN_PLACE, LINEAR, OF_VALUES, refused
from weft.sparse._tensor import SparseTensor
from weft.sparse._tensor import made as made_coo

__all__: list[str] = []

# Elementwise


def of_values(name: str) -> Any:
    """A function of each value, by its name."""

    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        own = input._inner_values
        args = tuple(each._inner_values if isinstance(each, type(input)) else each for each in args)
        values = getattr(own, name)(*args, **kwargs)
        return input if values is own else with_moved(input, values)

    return function


def with_moved(input: Any, values: Any) -> Any:
    """Other values, and the indices on their device."""
    compressed, plain = (each.to(values.device) for each in (input._sparse_compressed, input._sparse_plain))
    return made(compressed, plain, values, input.shape, input.layout)


def in_place(name: str) -> Any:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        getattr(input._inner_values, name)(*args, **kwargs)
        return input

    return function


NAMES = {*OF_VALUES, *LINEAR, "angle"} - {"contiguous", "clone", "detach"}
FUNCTIONS.update({name: of_values(name) for name in NAMES})
FUNCTIONS.update({name: in_place(name) for name in (*IN_PLACE, "detach_")})
FUNCTIONS["conj"] = of_values("conj_physical")
FUNCTIONS.update(dict.fromkeys(("is_conj", "is_neg", "is_inference"), lambda input: False))
FUNCTIONS.update(dict.fromkeys(("resolve_conj", "resolve_neg"), lambda input: input))


@implements("clone")
def cloned(input: Any, *, memory_format: Any = None) -> Any:
    parts = (input._sparse_compressed.clone(), input._sparse_plain.clone(), input._inner_values.clone())
    return made(*parts, input.shape, input.layout)


@implements("detach")
def detached(input: Any) -> Any:
    return input.with_values(input._inner_values.detach())


@implements("mul multiply __mul__ __rmul__")
def multiplied(input: Any, other: Any) -> Any:
    """By a number, or by a tensor that broadcasts: what is zero in one of them is zero."""
    if not isinstance(input, CompressedTensor):
        input, other = other, input
    if not isinstance(other, Tensor) or (not is_sparse(other) and other.ndim == 0):
        return input.with_values(input._inner_values * other)
    if is_sparse(other):
        if isinstance(other, CompressedTensor) and same_structure(input, other):
            return input.with_values(input._inner_values * other._inner_values)
        return to_layout(to_coo(input) * to_layout(other, sparse_coo), input.layout, block_of(input))
    return input.with_values(input._inner_values * picked(other.expand(tuple(input.shape)), input))


def is_sparse(input: Any) -> bool:
    return isinstance(input, (CompressedTensor, SparseTensor))


def block_of(input: Any) -> tuple[int, int] | None:
    return input._blocksize if input.layout in BLOCK_LAYOUTS else None


def same_structure(input: Any, other: Any) -> bool:
    return (
        input.layout is other.layout
        and input.shape == other.shape
        and input._inner_values.shape == other._inner_values.shape
        and same_places(input, other)
    )


def picked(dense: Any, mask: Any) -> Any:
    """The elements of a dense tensor at the places of a compressed one, in the shape of its values."""
    batch = mask._sparse_plain.ndim - 1
    row, column = coordinates(mask)
    rows, columns = grid(mask)
    parts = dense
    if mask.layout in BLOCK_LAYOUTS:
        height, width = mask._blocksize
        parts = dense.reshape(*dense.shape[:batch], rows, height, columns, width, *dense.shape[batch + 2 :])
        parts = parts.transpose(batch + 1, batch + 2)
    total, nnz = math.prod(row.shape[:-1]), row.shape[-1]
    group = weft.arange(total, device=row.device)[:, None].expand(total, nnz)
    found = parts.reshape(total, *parts.shape[batch:])[group, row.reshape(total, nnz), column.reshape(total, nnz)]
    return found.reshape(*row.shape, *found.shape[2:])


@implements("div divide true_divide __truediv__")
def divided(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """By a number: anything else would divide zeros."""
    if not isinstance(input, CompressedTensor) or is_sparse(other) or (isinstance(other, Tensor) and other.ndim):
        raise RuntimeError("div: a sparse tensor can only be divided by a scalar, and divides nothing")
    return input.with_values(weft.div(input._inner_values, other, rounding_mode=rounding_mode))


@implements("add __add__ __radd__")
def addition(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Sum of two tensors: compressed if both are sparse, with entries where either has one."""
    for each in (input, other):
        if not isinstance(each, Tensor) or tuple(each.shape) != tuple(input.shape):
            size = tuple(each.shape) if isinstance(each, Tensor) else each
            raise RuntimeError(
                f"add: expected 'self' and 'other' to have the same size {tuple(input.shape)}, but got {size} "
                "(additions with sparse tensors do not broadcast)"
            )
    if not is_sparse(input) or not is_sparse(other):
        return weft.add(*(each.to_dense() if is_sparse(each) else each for each in (input, other)), alpha=alpha)
    if not isinstance(input, CompressedTensor):
        return weft.add(input, to_coo(other), alpha=alpha)
    if isinstance(other, CompressedTensor) and same_structure(input, other):
        return input.with_values(weft.add(input._inner_values, other._inner_values, alpha=alpha))
    found = weft.add(to_coo(input), to_layout(other, sparse_coo), alpha=alpha)
    return to_layout(found, input.layout, block_of(input))


@implements("sub subtract __sub__")
def subtraction(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return addition(input, other, alpha=-alpha)


# In place


def take_over(input: Any, found: Any) -> Any:
    """Put the parts of another tensor into a tensor."""
    if found.dtype is not input.dtype:
        raise RuntimeError(f"result type {found.dtype} can't be cast to the desired output type {input.dtype}")
    input.replace_values(found._inner_values)
    for name in ("_array", "_sparse_compressed", "_sparse_plain", "_sparse_layout"):
        setattr(input, name, getattr(found, name))
    return input


@implements("mul_ multiply_ __imul__")
def multiply_in_place(input: Any, other: Any) -> Any:
    if isinstance(input, CompressedTensor) and not is_sparse(other):
        input._inner_values.mul_(picked(other.expand(tuple(input.shape)), input) if has_dims(other) else other)
        return input
    return take_over(input, multiplied(input, other))


def has_dims(other: Any) -> bool:
    return isinstance(other, Tensor) and other.ndim > 0


@implements("div_ divide_ __itruediv__")
def divide_in_place(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    return take_over(input, divided(input, other, rounding_mode=rounding_mode))


@implements("add_ __iadd__")
def add_in_place(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    if not is_sparse(input):
        return input.add_(other.to_dense(), alpha=alpha)
    if not is_sparse(other):
        raise RuntimeError("add_: cannot add a dense tensor to a sparse one in place; take add(dense, sparse)")
    return take_over(input, addition(input, other, alpha=alpha))


@implements("sub_ subtract_ __isub__")
def subtract_in_place(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return add_in_place(input, other, alpha=-alpha)


@implements("copy_")
def copy_in_place(input: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take over the elements of another tensor of the same layout and size; a dense one takes those of any layout."""
    if not is_sparse(input):
        return input.copy_(src.to_dense())
    if not is_sparse(src) or src.layout is not input.layout or src.shape != input.shape:
        raise RuntimeError(
            f"copy_: expected a tensor of layout {input.layout} and size {tuple(input.shape)}, got {tuple(src.shape)} "
            f"with layout {src.layout}"
        )
    return take_over(input, src.to(input.dtype).clone())


@implements("zero_")
def zeroed(input: Any) -> Any:
    return take_over(input, empty(input, tuple(input.shape), input.dtype))


def empty(input: Any, size: Any, dtype: Any) -> Any:
    """A tensor of the layout and the block size of another one, without entries."""
    batch = input._sparse_plain.ndim - 1
    groups = tuple(size[:batch])
    lines = 0 if input.layout in (sparse_csr, weft.sparse_bsr) else 1
    inner = (*(input._blocksize if input.layout in BLOCK_LAYOUTS else ()), *size[batch + 2 :])
    return made(
        input._sparse_compressed.new_zeros((*groups, size[batch + lines] // input._blocksize[lines] + 1)),
        input._sparse_plain.new_zeros((*groups, 0)),
        input._inner_values.new_zeros((*groups, 0, *inner), dtype=dtype),
        size,
        input.layout,
    )


@implements("zeros_like")
def zeros_like(input: Any, *, dtype: Any = None, layout: Any = None, **options: Any) -> Any:
    """A tensor of zeros, of the same layout or another one."""
    found = empty(input, tuple(input.shape), dtype or input.dtype)
    if layout in (None, input.layout):
        return found
    if (layout in BLOCK_LAYOUTS) is (input.layout in BLOCK_LAYOUTS):
        return to_layout(found, layout, block_of(input))
    return to_layout(found, sparse_coo if layout is sparse_coo else strided).to_sparse(layout=layout)


@implements("empty_like")
def empty_like(input: Any, *, dtype: Any = None, **options: Any) -> Any:
    """A tensor with the same places, whose values are not set."""
    return cloned(input).with_values(weft.empty_like(input._inner_values, dtype=dtype))


@implements("resize_as_sparse_")
def resize_as(input: Any, the_template: Any) -> Any:
    return take_over(input, empty(the_template, tuple(the_template.shape), input.dtype))


# Conversions


@implements("to_dense")
def dense(input: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    found = to_dense(input)
    return found if dtype is None else found.to(dtype)


@implements("to_sparse")
def to_sparse(
    input: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Any:
    """The same elements in another sparse layout, by default as coordinates."""
    if sparse_dim not in (None, 2) or (sparse_dim is not None and layout is not None):
        raise RuntimeError(
            f"to_sparse: conversion from {KIND[input.layout]} to Sparse with sparse_dim argument !=2 is not supported; "
            f"got sparse_dim={sparse_dim}, layout={layout}"
        )
    return to_layout(input, layout or sparse_coo, blocksize, dense_dim)


@implements("to_sparse_coo")
def to_sparse_coo(input: Any) -> Any:
    return to_coo(input)


@implements("values_copy")
def values_copy(input: Any) -> Any:
    return input._inner_values.clone()


# Size and order


@implements("transpose swapaxes swapdims transpose_copy")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    first, second = wrap_dim("transpose", dim0, input.ndim), wrap_dim("transpose", dim1, input.ndim)
    return input if first == second else transposed(input, first, second)


@implements("t")
def matrix_transposed(input: Any) -> Any:
    if input.ndim != 2:
        raise RuntimeError(f"t: expected a matrix, got {input.ndim} dimensions; use transpose(dim0, dim1)")
    return transposed(input, 0, 1)


@implements("adjoint")
def adjoint(input: Any) -> Any:
    return transpose(input, -2, -1).conj()


@implements("permute")
def permuted(input: Any, *dims: Any) -> Any:
    order = wrap_dims("permute", dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims, input.ndim)
    if tuple(order) == tuple(range(input.ndim)):
        return input
    if tuple(order) == (1, 0):
        return transposed(input, 0, 1)
    raise RuntimeError("permute: of a compressed tensor is not there; use transpose(dim0, dim1)")


# Selection


@implements("select")
def selected(input: Any, dim: int, index: int) -> Any:
    """One matrix of a batch; or one row or column of a matrix, as coordinates."""
    dim = wrap_dim("select", dim, input.ndim)
    index = check_index("select", index, input.shape[dim], dim)
    batch = input._sparse_plain.ndim - 1
    size = [*input.shape[:dim], *input.shape[dim + 1 :]]
    if dim < batch:
        parts = (input._sparse_compressed, input._sparse_plain, input._inner_values)
        compressed, plain, values = (each.select(dim, index) for each in parts)
        return made(compressed, plain, values, size, input.layout)
    if dim >= batch + 2:
        values = input._inner_values
        return made(
            input._sparse_compressed,
            input._sparse_plain,
            values.select(dim + values.ndim - input.ndim, index),
            size,
            input.layout,
        )
    if batch:
        raise RuntimeError("select: selecting sparse dimensions is not supported for batched sparse compressed tensors")
    return chosen_line(input, dim, index, size)


def chosen_line(input: Any, dim: int, index: int, size: Any) -> Any:
    """A row or a column of a matrix: the compressed indices say where it is, or all entries are looked at."""
    along_rows = input.layout is sparse_csr
    if input.layout not in BLOCK_LAYOUTS and (dim == 0) == along_rows:
        begin, end = input._sparse_compressed[index : index + 2].tolist()
        return made_coo(input._sparse_plain[begin:end].to(int64)[None], input._inner_values[begin:end], size, True)
    return to_coo(input).coalesce().select(dim, index)


@implements("__getitem__ getitem index")
def item(input: Any, index: Any) -> Any:
    """By numbers, one after the other."""
    entries = index if isinstance(index, tuple) else (index,)
    entries = tuple(entry for entry in entries if entry is not Ellipsis)
    if any(not isinstance(entry, int) for entry in entries):
        raise RuntimeError(
            f"getitem: a {input.layout} tensor takes numbers only, got {index!r}; take to_sparse_coo() for slices and "
            "tensors of indices"
        )
    for entry in entries:
        input = input.select(0, entry)
    return input


@implements("sparse_mask")
def masked(input: Any, mask: Any) -> Any:
    """The elements at the places of a compressed tensor (or coordinates, of a compressed input)."""
    if tuple(input.shape) != tuple(mask.shape):
        raise RuntimeError(
            f"sparse_mask: operands have incompatible sizes; self has size {tuple(input.shape)} but mask has size "
            f"{tuple(mask.shape)}"
        )
    if not isinstance(mask, CompressedTensor):
        return to_coo(input).coalesce().sparse_mask(mask)
    if not is_sparse(input):
        return mask.with_values(picked(input, mask))
    return mask.with_values(found_at(to_layout(input, sparse_coo).coalesce(), mask))


def found_at(input: Any, mask: Any) -> Any:
    """The elements of coordinates at the places of a compressed tensor, 0 where there is none."""
    wanted = flat_places(mask)
    sizes = tuple(input.shape)[: input.sparse_dim()]
    there = weft.zeros(len(input._sparse_indices[0]), dtype=int64, device=wanted.device)
    for row, size in zip(input._sparse_indices, sizes):
        there = there * size + row
    values = input._inner_values
    if not len(there):
        return values.new_zeros(mask._inner_values.shape)
    place = weft.searchsorted(there, wanted).clamp_max(len(there) - 1)
    hit = (there[place] == wanted).reshape(-1, *[1] * (values.ndim - 1))
    return weft.where(hit, values[place], values.new_zeros(())).reshape(mask._inner_values.shape)


# Reductions


@implements("sum")
def summed(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all elements; or of a CSR matrix over some dimensions, which stay with size 1."""
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = int64
    if dim is None:
        return input._inner_values.sum(dtype=dtype)
    gone = set(wrap_dims("sum", (dim,) if isinstance(dim, int) else dim, input.ndim))
    if input.layout is not sparse_csr:
        raise RuntimeError(
            "sum: Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout "
            f"{KIND[input.layout]}; take to_sparse_coo() first"
        )
    if not keepdim:
        raise RuntimeError(
            "sum: reduction operations on CSR tensors with keepdim=False is unsupported; pass keepdim=True"
        )
    if input.ndim != 2:
        raise RuntimeError(
            f"sum: CSR tensors have sums over 2 dimensions only, got {input.ndim}; take to_sparse_coo() first"
        )
    (row, column), values = elements(input)
    values = values if dtype is None else values.to(dtype)
    size = [1 if each in gone else length for each, length in enumerate(input.shape)]
    row, column = row * (0 not in gone), column * (1 not in gone)
    number, place = weft.unique(row * size[1] + column, return_inverse=True)
    sums = values.new_zeros(len(number)).index_add(0, place, values)
    sides = (size[0], size[1])
    return compress((), sparse_csr, size, sides, (number // sides[1])[None], (number % sides[1])[None], sums[None])


@implements("backward")
def backward(input: Any, gradient: Any = None, *arguments: Any, **options: Any) -> None:
    """Backward from a compressed tensor: from its values."""
    if not isinstance(input, CompressedTensor):
        weft.autograd.backward(input, gradient.to_dense(), *arguments, **options)
        return
    if gradient is None or not isinstance(gradient, CompressedTensor) or not same_structure(input, gradient):
        raise RuntimeError("backward: expected a gradient with the layout and the entries of the tensor")
    weft.autograd.backward(input._inner_values, gradient._inner_values, *arguments, **options)


# What compressed tensors have not

for names, error, message in (
    ("numpy __array__", TypeError, "can't convert a sparse layout tensor to numpy; take to_dense() first"),
    ("stride", RuntimeError, "stride: sparse compressed tensors do not have strides"),
    ("is_contiguous contiguous", RuntimeError, "contiguous: sparse compressed tensors have no memory format"),
    ("reshape view", RuntimeError, "reshape: is not there for sparse compressed tensors; take to_dense() first"),
    ("expand expand_as", RuntimeError, "expand: is not there for sparse compressed tensors; take to_dense() first"),
    ("data_ptr", RuntimeError, "data_ptr: a sparse tensor has no memory of its own; its values() have"),
    ("storage untyped_storage", NotImplementedError, "storage: a sparse tensor has no storage; its values() have"),
    ("is_nonzero __bool__", RuntimeError, "Boolean value of a sparse tensor is ambiguous; take to_dense() first"),
    ("coalesce is_coalesced indices", RuntimeError, "coalesce, indices: expected sparse coordinate tensor layout"),
):
    FUNCTIONS.update(dict.fromkeys(names.split(), refused(error, message)))
