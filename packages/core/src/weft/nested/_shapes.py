"""Sizes, views and components of nested tensors."""

from __future__ import annotations

from typing import Any

import weft
from weft._tensor.layout import contiguous_format, preserve_format
from weft.nested._jagged import FUNCTIONS, component_lengths, implements, is_jagged, packed
from weft.nested._nested_int import NestedInt
from weft.nested._pointwise import values_for
from weft.ops._geometry import wrap_dim
from weft.sparse._functions import refused

__all__: list[str] = []


@implements("numel nelement")
def numel(input: Any) -> int:
    if input._nested_lengths is None:
        return int(input._inner_values.numel())
    sizes = list(input._inner_values.shape)
    sizes[input._ragged_idx - 1] = int(input._nested_lengths.sum())
    return int(weft.Size(sizes).numel())


@implements("stride")
def stride(input: Any, dim: int | None = None) -> Any:
    """Steps in the values; that of the batch is the ragged size times the step of a place."""
    steps = input._inner_values.stride()
    ragged = input._ragged_idx
    block = steps[ragged - 1] if ragged == 1 else max(steps)
    found = (input.shape[ragged] * block, *steps)
    return found if dim is None else found[dim]


@implements("is_contiguous")
def is_contiguous(input: Any, memory_format: Any = contiguous_format) -> bool:
    if memory_format is preserve_format:
        return True
    return input._nested_lengths is None and input._inner_values.is_contiguous()


@implements("contiguous")
def contiguous(input: Any, memory_format: Any = contiguous_format) -> Any:
    """The tensor with its components one after the other, and their elements in order."""
    if is_contiguous(input):
        return input
    input = packed(input)
    return input.with_values(input._inner_values.contiguous())


# Components


@implements("unbind")
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The components."""
    if wrap_dim("unbind", dim, input.ndim) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    begins = input._nested_offsets.tolist()[:-1]
    lengths = component_lengths(input).tolist()
    along = input._ragged_idx - 1
    return tuple(input._inner_values.narrow(along, begin, length) for begin, length in zip(begins, lengths))


def inner_dim(name: str, input: Any, dim: int) -> int:
    """The dimension of the values that is meant by one of a nested tensor.

    Raises
    ------
    RuntimeError
        For the batch and the ragged dimension.
    """
    dim = wrap_dim(name, dim, input.ndim)
    if dim == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if dim == input._ragged_idx:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return dim - 1


@implements("select")
def select(input: Any, dim: int, index: int) -> Any:
    """A component, or a slice of each."""
    if wrap_dim("select", dim, input.ndim) == 0:
        return unbind(input)[index]
    along = inner_dim("select", input, dim)
    ragged = input._ragged_idx - (along + 1 < input._ragged_idx)
    return input.with_parts(input._inner_values.select(along, index), ragged)


@implements("narrow")
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    return input.with_values(input._inner_values.narrow(inner_dim("narrow", input, dim), start, length))


@implements("index_select")
def index_select(input: Any, dim: int, index: Any) -> Any:
    return input.with_values(input._inner_values.index_select(inner_dim("index_select", input, dim), index))


@implements("chunk")
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    parts = input._inner_values.chunk(chunks, inner_dim("chunk", input, dim))
    return tuple(input.with_values(part) for part in parts)


@implements("split split_with_sizes")
def split(input: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    parts = input._inner_values.split(split_size, inner_dim("split", input, dim))
    return tuple(input.with_values(part) for part in parts)


@implements("__getitem__ getitem index")
def item(input: Any, index: Any) -> Any:
    """By a number for the batch; by numbers, slices, None and ``...`` behind the ragged dimension."""
    entries = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [each for each in entries if each is Ellipsis]:
        place = next(number for number, each in enumerate(entries) if each is Ellipsis)
        given = sum(each is not None for each in entries) - 1
        entries[place : place + 1] = [slice(None)] * (input.ndim - given)
    first = entries[0]
    if isinstance(first, int):
        component = input.unbind()[first]
        return component[tuple(entries[1:])] if len(entries) > 1 else component
    ragged = input._ragged_idx
    whole = [slice(None), slice(None)]
    before = entries[: ragged + 1]
    if [before[number] if number < len(before) else slice(None) for number in (0, ragged)] != whole:
        inner_dim("slice", input, 0 if first != slice(None) else ragged)
    kept = sum(not isinstance(each, int) for each in entries[1:ragged])
    return input.with_parts(input._inner_values[tuple(entries[1:])], 1 + kept)


@implements("cat concat concatenate")
def cat(tensors: Any, dim: int = 0) -> Any:
    """Components of the same lengths side by side."""
    first = next(each for each in tensors if is_jagged(each))
    along = inner_dim("cat", first, dim)
    return first.with_values(weft.cat([values_for(first, each) for each in tensors], along))


# Order and size


@implements("permute")
def permute(input: Any, *dims: Any) -> Any:
    dims = tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [wrap_dim("permute", dim, input.ndim) for dim in dims]
    if sorted(order) != list(range(input.ndim)):
        raise RuntimeError(f"permute: expected each of {input.ndim} dimensions once, got dims={tuple(dims)}")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    values = input._inner_values.permute([dim - 1 for dim in order[1:]])
    return input.with_parts(values, order.index(input._ragged_idx))


@implements("transpose swapaxes swapdims")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    order = list(range(input.ndim))
    first, second = wrap_dim("transpose", dim0, input.ndim), wrap_dim("transpose", dim1, input.ndim)
    if first != second and 0 in (first, second):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    order[first], order[second] = second, first
    return permute(input, order)


@implements("movedim moveaxis")
def movedim(input: Any, source: int, destination: int) -> Any:
    order = list(range(input.ndim))
    order.insert(wrap_dim("movedim", destination, input.ndim), order.pop(wrap_dim("movedim", source, input.ndim)))
    return permute(input, order)


@implements("unsqueeze")
def unsqueeze(input: Any, dim: int) -> Any:
    dim = wrap_dim("unsqueeze", dim, input.ndim + 1)
    if dim == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return input.with_parts(input._inner_values.unsqueeze(dim - 1), input._ragged_idx + (dim <= input._ragged_idx))


@implements("squeeze")
def squeeze(input: Any, dim: Any = None) -> Any:
    if dim is None:
        raise RuntimeError("squeeze(): for NestedTensor, dim must be set")
    along = inner_dim("squeeze", input, dim)
    values = input._inner_values.squeeze(along)
    gone = values.ndim < input._inner_values.ndim and along + 1 < input._ragged_idx
    return input.with_parts(values, input._ragged_idx - gone)


@implements("view reshape view_as reshape_as")
def view(input: Any, *sizes: Any, shape: Any = ()) -> Any:
    """Another size, in which the batch and the ragged dimension stay: the latter is given as -1 or its symbol."""
    sizes = sizes or tuple(shape)
    if len(sizes) == 1 and is_jagged(sizes[0]):
        sizes = tuple(sizes[0].shape)
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    if sizes[0] not in (len(input), -1):
        raise RuntimeError(f"view(): the batch dimension ({len(input)}) has to stay, got size {sizes}")
    symbols = [place for place, each in enumerate(sizes) if isinstance(each, NestedInt)]
    ragged = symbols[0] if symbols else next((p for p, each in enumerate(sizes) if p and each == -1), None)
    before = input._inner_values.shape[: input._ragged_idx - 1]
    wanted = list(sizes[1:])
    if ragged is None or weft.Size(wanted[: ragged - 1]).numel() != weft.Size(before).numel():
        raise RuntimeError(
            f"view(): the ragged dimension of a nested tensor of shape {tuple(input.shape)} has to stay, as -1 or its "
            f"symbol; got {sizes}"
        )
    wanted[ragged - 1] = input._inner_values.shape[input._ragged_idx - 1]
    return input.with_parts(input._inner_values.reshape(wanted), ragged)


@implements("flatten")
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    first, last = wrap_dim("flatten", start_dim, input.ndim), wrap_dim("flatten", end_dim, input.ndim)
    if first == last:
        return input
    for dim in range(first, last + 1):
        inner_dim("flatten", input, dim)
    ragged = input._ragged_idx - (last - first if last < input._ragged_idx else 0)
    return input.with_parts(input._inner_values.flatten(first - 1, last - 1), ragged)


@implements("unflatten")
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    along = inner_dim("unflatten", input, dim)
    values = input._inner_values.unflatten(along, sizes)
    more = values.ndim - input._inner_values.ndim if along + 1 < input._ragged_idx else 0
    return input.with_parts(values, input._ragged_idx + more)


@implements("expand")
def expand(input: Any, *sizes: Any) -> Any:
    sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    fits = len(sizes) == input.ndim and sizes[0] in (len(input), -1)
    if not fits or sizes[input._ragged_idx] not in (input.shape[input._ragged_idx], -1):
        raise RuntimeError(f"expand(): the batch and the ragged dimension have to stay, got {sizes}")
    return input.with_values(
        input._inner_values.expand(*(-1 if isinstance(each, NestedInt) else each for each in sizes[1:]))
    )


@implements("expand_as")
def expand_as(input: Any, other: Any) -> Any:
    """A dense tensor with the structure of a nested one."""
    return input * weft.ones_like(other) if not is_jagged(input) else expand(input, other.shape)


@implements("is_same_size")
def is_same_size(input: Any, other: Any) -> bool:
    return tuple(input.shape) == tuple(other.shape)


# What nested tensors have not

for names, error, message in (
    ("numpy __array__", RuntimeError, "numpy: is not there for nested tensors; take to_padded_tensor() or unbind()"),
    ("tolist", RuntimeError, "tolist: is not there for nested tensors; take unbind()"),
    ("to_dense", RuntimeError, "to_dense: does not support the layout weft.jagged; take to_padded_tensor()"),
    (
        "stack",
        RuntimeError,
        "stack(): not supported for NestedTensor on dim=0; take as_nested_tensor of components",
    ),
    ("data_ptr", RuntimeError, "data_ptr: is not there for nested tensors; its values() have one"),
    ("is_nonzero __bool__", RuntimeError, "Boolean value of a nested tensor is ambiguous; take all() or any()"),
):
    FUNCTIONS.update(dict.fromkeys(names.split(), refused(error, message)))
