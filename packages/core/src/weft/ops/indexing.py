"""Reading and writing by index: ``x[...]``, gather and scatter, masks, and searches for positions."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy

from weft._devices.devices import backend_of, cpu, on_device_of
from weft._dtypes.dtypes import bool_, dtype, int64, scalar_dtype, uint64
from weft._engine.dispatch import make
from weft._engine.fast_paths import OutOfRange
from weft._engine.functions import Gather, IndexSelect
from weft._engine.methods import declared_methods
from weft._engine.tensor import TensorBase, local, state
from weft._interception.interceptors import intercepted, is_watched
from weft._interception.torch_function import call_override, overriding
from weft._interception.transforms import stands_for_batch
from weft._settings import warn_caller_once
from weft._tensor.base import Tensor, add_members
from weft._tensor.interop import as_tensor, tensor
from weft._tensor.layout import in_order
from weft.ops._batching import one_by_one
from weft.ops._declare import ALL_DTYPES, composite, op
from weft.ops._geometry import broadcast_shapes, check_index, require_tensors, wrap_dim, wrap_dims
from weft.ops._inplace import (
    Write,
    bump,
    check_out,
    check_writable,
    copy_watched,
    fill_array,
    refuse_shared,
    write_array,
    write_inplace,
    write_of,
    write_out,
)
from weft.ops._numerics import array_of
from weft.ops._positions import assert_below, check_all_positions, check_positions, in_range, placed, positioned, waits
from weft.ops._scatter import combine_at, value_for
from weft.ops.comparison import fill_where, filling
from weft.ops.creation import arange, element_of, fill, fitting
from weft.ops.views import basic, basic_embed, expand, reshape
from weft.types import Scalar

INDEX_DTYPES = ("int64", "int32", "int16", "int8", "uint8", "bool")
NUMBERS_ONLY = ("int16", "int8")  # those that are positions where they have no dimensions


# x[...]


def getitem(self: Tensor, index: Any) -> Tensor:
    """Elements by position: numbers, slices, None, Ellipsis, and tensors or lists of numbers or bool.

    Raises
    ------
    IndexError
        For a position out of range, too many indices, or an index of another type.
    """
    if type(index) is int:  # the most frequent case
        shape = self._array.shape
        if not shape:
            raise IndexError(
                "index: invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to "
                "a number"
            )
        return basic.op(self, (check_index("index", index, shape[0], 0), ...))
    if type(index) is Tensor and index._key.dtype is int64 and index._key.plain:  # rows at some positions
        if index._array.ndim and self._array.ndim and index._key.device is self._key.device:
            return positioned("index", IndexError, advanced.op, self, [index])
    if type(index) is Tensor and index._key.dtype is bool_ and not (self._requires_grad and local.grad_enabled):
        found = masked_few(self, index)
        if found is not None:
            return found
    try:
        key, indices = parse(self, index)
    except (IndexError, TypeError) as error:
        return overridden("__getitem__", error, self, index)
    if indices is None:
        return basic.op(self, (*key, ...))
    whole = all(type(each) is slice and each == FULL for each in key)
    return take_at(self if whole else basic.op(self, (*key, ...)), indices)


FULL = slice(None)
MANY = 4096  # elements from which on a mask is best turned into positions


def masked_few(self: Any, mask: Tensor) -> Any:
    """The elements where a mask is true, of which NumPy makes few soonest; None where another way is to be taken."""
    key, array, where = self._key, self._array, mask._array
    if (
        not key.fast_path
        or not mask._key.fast_path
        or type(array) is not numpy.ndarray
        or type(where) is not numpy.ndarray
    ):
        return None
    if array.size > MANY or not where.ndim or array.shape[: where.ndim] != where.shape:
        return None
    taken = array[where]
    return make(taken if taken.flags.c_contiguous else taken.copy(), key)


def parse(self: Any, index: Any, numbers: bool = True) -> tuple[list[Any], list[Any] | None]:
    """Divide an index: a complete basic key, and for the view that it gives one index tensor (or None) a dimension.

    With ``numbers`` an index tensor of no dimensions is a number, and so part of the key.
    """
    return divide(self, [as_index(each, self, numbers) for each in parts_of(index)])


def parts_of(index: Any) -> list[Any]:
    """The parts of an index: those of a tuple, and of a sequence that holds more than numbers, which warns."""
    if isinstance(index, tuple):
        return list(index)
    if not isinstance(index, Sequence) or isinstance(index, (str, bytes)) or len(index) >= LIKE_A_TUPLE:
        return [index]
    if not any(each is None or each is Ellipsis or isinstance(each, PARTS) for each in index):
        return [index]
    warnings.warn(
        "index: Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed; use "
        "x[tuple(seq)] instead of x[seq], or x[weft.tensor(seq)] for an array of positions",
        UserWarning,
        stacklevel=4,
    )
    return list(index)


LIKE_A_TUPLE = 32  # parts from which on a sequence is positions, whatever is in it: as in PyTorch, and in old NumPy
PARTS = (TensorBase, slice, numpy.ndarray, Sequence)


def divide(self: Any, parts: list[Any], written: Any = None) -> tuple[list[Any], list[Any] | None]:
    """`parse`, of parts that went through `as_index`; ``written``: the value that is written there."""
    shape = self._array.shape
    consumed = sum(dims_of(each) for each in parts)
    if consumed > len(shape):
        raise IndexError(
            f"index: too many indices for tensor of dimension {len(shape)}: got {consumed} for shape {list(shape)}"
        )
    gaps = [place for place, each in enumerate(parts) if each is Ellipsis]
    if len(gaps) > 1:
        raise IndexError("index: an index can only have a single ellipsis ('...')")
    fill = [FULL] * (len(shape) - consumed)
    place = gaps[0] if gaps else len(parts)
    parts[place : place + 1] = fill
    key: list[Any] = []
    indices: list[Any] = []
    dim = 0
    for each in parts:
        if each is None:
            key.append(None)
            indices.append(None)
        elif isinstance(each, slice):
            key.append(checked_slice(each))
            indices.append(None)
            dim += 1
        elif isinstance(each, Tensor):
            if each._key.dtype is bool_:
                for size, have in zip(each._array.shape, shape[dim:]):
                    if size != have:
                        raise IndexError(
                            f"index: The shape of the mask {list(each._array.shape)} at index {dim} does not match "
                            "the shape of "
                            f"the indexed tensor {list(shape)} at index {dim}"
                        )
                if not each._array.ndim:  # True or False: a new dimension of size 1 or 0
                    key.append(None)
                    indices.append(each.reshape(1).nonzero()[:, 0])
                    continue
                key.extend([FULL] * each._array.ndim)
                indices.extend(positions_in(each, self, written))
                dim += each._array.ndim
            else:
                key.append(FULL)
                indices.append(each)
                dim += 1
        else:
            key.append(check_index("index", each, shape[dim], dim))
            dim += 1
    return key, indices if any(each is not None for each in indices) else None


def positions_in(mask: Any, target: Any, written: Any) -> tuple[Any, ...]:
    """Where a mask is true; on the meta device, which does not know, at as many places as there are values to write."""
    if written is None or not mask.is_meta:
        found: tuple[Any, ...] = mask.nonzero(as_tuple=True)
        return found
    rest = max(target._array.ndim - mask._array.ndim, 0)
    shape = written._array.shape
    count = shape[len(shape) - rest - 1] if len(shape) > rest else 1
    return tuple(mask.new_empty(count, dtype=int64) for _ in range(mask._array.ndim))


def as_index(value: Any, like: Any, numbers: bool = True) -> Any:
    """One part of an index: an int, a slice, None, Ellipsis, or a tensor of bool or int64."""
    if value is None or value is Ellipsis or isinstance(value, slice):
        return value
    if isinstance(value, bool):
        return like.new_full((), value, dtype=bool_, device="cpu" if waits(like) else None)
    if isinstance(value, (str, bytes)):
        raise TypeError(f"index: invalid data type '{type(value).__name__}': text is no position")
    if isinstance(value, (Sequence, numpy.ndarray)):
        if isinstance(value, numpy.ndarray):
            if value.dtype.kind in "iu" and value.dtype != numpy.uint8:  # bytes are a mask, as in a tensor
                value = value.astype(numpy.int64)
        elif not isinstance(value, (list, tuple)):
            value = list(value)
        value = tensor(value, device="cpu" if waits(like) else like.device)  # where it can be checked at once
        if not value.numel() and value.dtype is not bool_:
            value = value.to(int64)
    if isinstance(value, TensorBase):
        name = value._key.dtype.name
        if name not in INDEX_DTYPES:
            raise IndexError(
                f"index: tensors used as indices must be long, int, byte or bool tensors; got {value._key.dtype}"
            )
        if name == "uint8" and not value._array.ndim:
            return value.to(bool_)  # type: ignore[attr-defined]
        if name == "uint8":
            warnings.warn(
                "index: indexing with dtype weft.uint8 is now deprecated, please use a dtype weft.bool instead",
                UserWarning,
                stacklevel=4,
            )
            return value.to(bool_)  # type: ignore[attr-defined]
        number = numbers and not value._array.ndim and name != "bool"
        if number and not (value._key.wrapped and stands_for_batch(value)):
            return int(value.item())  # type: ignore[attr-defined]
        if name in NUMBERS_ONLY and not number:
            raise IndexError(
                f"index: tensors used as indices must be long, int, byte or bool tensors; got {value._key.dtype}, "
                "which is taken without dimensions only. Convert with .long()"
            )
        return value if name in ("bool", "int64") else value.to(int64)  # type: ignore[attr-defined]
    try:
        return operator.index(value)
    except TypeError:
        raise IndexError(
            "index: only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
            "indices (got "
            f"{type(value).__name__})"
        ) from None


def dims_of(part: Any) -> int:
    """How many dimensions a part of an index takes."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, TensorBase) and part._key.dtype is bool_:
        return int(part._array.ndim)
    return 1


def checked_slice(value: slice) -> slice:
    try:
        ends = [None if each is None else operator.index(each) for each in (value.start, value.stop, value.step)]
    except TypeError:
        raise TypeError(
            f"index: slice indices must be integers or None or have an __index__ method; got {value}"
        ) from None
    if ends[2] is not None and ends[2] <= 0:
        raise ValueError(f"index: step must be greater than zero; got {value.step}. Use flip() for reverse order")
    return slice(*ends)


# x[...] with tensors: a copy


@op(tensors="input indices", sequence="indices", dtypes=ALL_DTYPES, name="index", linear="input")
def advanced(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Elements at the positions that index tensors give, one (or None) for each dimension."""
    return advanced.op(input, indices)


@advanced.kernel
def _(xp, input, indices):
    key = tuple(FULL if each is None else each for each in indices)
    if type(input) is not numpy.ndarray:
        check_all_positions(xp, "index", input.shape, indices)
        return in_order(xp, input[key])
    try:
        return in_order(xp, input[key])
    except IndexError:  # NumPy's, which has looked at all of them
        check_all_positions(xp, "index", input.shape, indices)
        raise


@advanced.gradient("input")
def _(grad, input_shape, indices):
    return put.op(grad.new_zeros(input_shape), indices, grad, True)


@advanced.vmap
def _(batch):
    input, indices = batch.args
    places = [at for at, each in enumerate(indices) if each is not None]
    adjacent = places[-1] - places[0] + 1 == len(places)  # otherwise the dimensions of the indices come first
    if any(batch.flags[1]):
        return advanced_by_example(batch, places[0] if adjacent else 0)
    found = advanced.op(input, [None, *indices])
    return found if adjacent else found.movedim(max(indices[at].ndim for at in places), 0)


@advanced.onnx
def _(graph, input, indices):
    return graph.indexed(input, indices)


def advanced_by_example(batch: Any, first: int) -> Any:
    """Positions of each example's own; `first` is where their dimensions stand in the result of one example."""
    input, indices = batch.args
    joint = max(each.ndim - flag for each, flag in zip(indices, batch.flags[1]) if each is not None)
    indices = [
        each.reshape(batch.size, *(1,) * (joint + 1 - each.ndim), *each.shape[1:]) if flag else each
        for each, flag in zip(indices, batch.flags[1])
    ]
    if not batch.flags[0]:
        return advanced.op(input, indices).movedim(first, 0)
    number = arange(batch.size, device=input.device).reshape(-1, *(1,) * joint)
    found = advanced.op(input, [number, *indices])  # (size, dimensions of the indices, the others)
    return found.movedim(tuple(range(1, 1 + joint)), tuple(range(1 + first, 1 + first + joint)))


def take_at(input: Any, indices: list[Any]) -> Any:
    """`advanced` with its indices on the tensor's device and checked to be broadcastable."""
    here = placed("index", input, indices)
    try:
        broadcast_shapes("index", [each._array.shape for each in here if each is not None])
    except RuntimeError:
        shapes = ", ".join(str(list(each._array.shape)) for each in here if each is not None)
        raise IndexError(
            f"index: shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    return positioned("index", IndexError, advanced.op, input, here)


@op(
    tensors="input indices values",
    sequence="indices",
    dtypes=ALL_DTYPES,
    name="index_put",
    linear="input values",
)
def put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool) -> Tensor:
    """A copy of ``input`` with values written (or added) at positions."""
    return put.op(input, indices, values, accumulate)


@put.kernel
def _(xp, input, indices, values, accumulate):
    key = tuple(FULL if each is None else each for each in indices)
    result = xp.array(input, order="C")
    if accumulate:
        check_all_positions(xp, "index_put", input.shape, indices)
        combine_at(xp, xp.add, result, key, values)
    else:
        write_at(xp, result, indices, key, values)
    return result


@put.onnx
def _(graph, input, indices, values, accumulate):
    return graph.written(input, indices, values, accumulate)


def write_at(xp: Any, target: Any, indices: Any, key: tuple[Any, ...], values: Any) -> None:
    """Write values at positions, whose key has full slices in place of None."""
    if type(target) is not numpy.ndarray:
        check_all_positions(xp, "index_put", target.shape, indices)
        target[key] = values
        return
    try:
        target[key] = values
    except IndexError:  # NumPy's, which has looked at all of them and written nothing
        check_all_positions(xp, "index_put", target.shape, indices)
        raise


@put.gradient("input")
def _(grad, indices, accumulate):
    return grad if accumulate else put.op(grad, indices, grad.new_zeros(()), False)


@put.gradient("values")
def _(grad, indices, values_shape):
    return advanced.op(grad, indices).sum_to_size(values_shape)


@put.vmap
def _(batch):
    input, indices, values, accumulate = batch.args
    if any(batch.flags[1]) or not batch.flags[0]:
        return one_by_one(batch)
    places = [at for at, each in enumerate(indices) if each is not None]
    if batch.flags[2] and places[-1] - places[0] + 1 != len(places):
        return one_by_one(batch)
    if batch.flags[2]:
        rank = len(advanced_shape(input, [None, *indices]))
        values = values.reshape(batch.size, *(1,) * (rank - values.ndim), *values.shape[1:])
    return put.op(input, [None, *indices], values, accumulate)


@composite("index_put", "index_put_")
def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """Copy ``input`` and write ``values`` at the positions that a tuple of index tensors gives.

    Parameters
    ----------
    input : Tensor
    indices : sequence of Tensor
        Of integers, one for each of the first dimensions, broadcast to one shape; or one mask of bool.
    values : Tensor of input's dtype, broadcastable to the positions
    accumulate : bool
        Add, so that repeated positions count each time.

    Raises
    ------
    IndexError
        If a position is out of range.

    Examples
    --------
    >>> weft.index_put(weft.zeros(3), (weft.tensor([0, 2, 2]),), weft.tensor(1.0), accumulate=True)
    tensor([1., 0., 2.])
    """
    if isinstance(indices, TensorBase):
        raise TypeError("index_put(): argument 'indices' (position 1) must be tuple of Tensors, not Tensor")
    require_tensors("index_put", input=input, values=values)
    for place, each in enumerate(indices):
        if not isinstance(each, TensorBase):
            raise TypeError(
                f"index_put(): expected Tensor as element {place} in argument 0, but got {type(each).__name__}"
            )
    return put_at("index_put", input, tuple(indices), values, accumulate)


def put_at(name: str, input: Any, indices: tuple[Any, ...], values: Any, accumulate: bool) -> Any:
    """`index_put`, also with None for dimensions that have no index."""
    parts = [as_index(FULL if each is None else each, input, numbers=False) for each in indices]
    if waits(input) and not accumulate and is_filling(input, parts, values):
        return fill_where.op(input, leading(parts[0], input), converted_value(input, values, True).reshape(()))
    _, parsed = divide(input, parts, values)
    if parsed is None:
        raise RuntimeError(f"{name}: at least one index must be provided, and be a tensor")
    parsed = placed(name, input, parsed)
    place = advanced_shape(input, parsed)
    check_sizes(input, parsed)
    found = [each for each in parts if isinstance(each, TensorBase)]
    if not accumulate and len(found) == 1 and is_mask(found[0]) and values._array.size == 1:
        values = converted_value(input, values, True).reshape(())
    check_same_dtype(name, input, values)
    check_broadcastable(values._array.shape, place)
    if not values._array.ndim and values._key.device.type == "cpu":
        values = values.to(input.device)  # a number goes everywhere
    return positioned(name, IndexError, put.op, input, parsed, values, accumulate)


@composite()
def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: Scalar) -> Tensor:
    """``input[indices]`` where ``mask`` is true, else ``fill``; positions out of range matter only where it is true.

    Parameters
    ----------
    input : Tensor
    mask : Tensor of bool
        Of the shape of the result, or broadcastable to it.
    indices : sequence of Tensor or None
        Of int64 or int32; what is out of range is moved to the nearest end.
    fill : number
    """
    places = within("_unsafe_masked_index", input, indices)
    if input.numel():
        found = getitem(input, places)
    else:  # no position is in range
        found = input.new_zeros(advanced_shape(input, parse(input, places)[1] or []))
    return found.masked_fill(mask.logical_not(), fill)


@composite()
def _unsafe_masked_index_put_accumulate(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor
) -> Tensor:
    """A copy of ``input`` with ``values`` added at positions where ``mask`` is true, see `_unsafe_masked_index`."""
    if not input.numel():
        return input.clone()
    places = within("_unsafe_masked_index_put_accumulate", input, indices)
    return put_at("index_put", input, places, values.masked_fill(mask.logical_not(), 0), True)


def within(name: str, input: Any, indices: Any) -> tuple[Any, ...]:
    """An index of positions moved into range, with full slices for what is None.

    Raises
    ------
    TypeError
        If it is no sequence.
    IndexError, RuntimeError
        If there are too many, or one is of another dtype.
    """
    if isinstance(indices, TensorBase):
        raise TypeError(f"{name}(): argument 'indices' (position 3) must be tuple of Tensors, not Tensor")
    if len(indices) > input.ndim:
        raise IndexError(f"{name}: too many indices for tensor of dimension {input.ndim}: got {len(indices)}")
    for each in indices:
        if each is not None and each.dtype.name not in ("int64", "int32"):
            raise RuntimeError(f"{name}: found unexpected index type {each.dtype}; int64 or int32 is wanted")
    sizes = input._array.shape
    return tuple(FULL if each is None else each.clamp(-n, n - 1) for each, n in zip(indices, sizes))


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write elements by position."""
    number = type(value) in (int, float, bool)
    if hasattr(value, "_inner_values"):  # a sparse or nested tensor, whose own array has none of its elements
        call_override(Tensor.__setitem__, overriding((self, value)), (self, index, value), {})
        return
    if not number and not isinstance(value, TensorBase):
        if hasattr(type(value), "__torch_function__"):
            error = TypeError(f"__setitem__: can't assign a {type(value).__name__} to a Tensor")
            overridden("__setitem__", error, self, index, value)
            return
        value = as_value(value, self)
    elsewhere = type(self._array) is not numpy.ndarray and waits(self)
    if (elsewhere or (state.intercepting and is_watched())) and fill_chosen(self, index, value):
        return  # without positions, whose number no recording knows
    try:
        target, indices, masked = written_to(self, index, value)
    except (IndexError, TypeError) as error:
        overridden("__setitem__", error, self, index, value)
        return
    if number and indices is None and not target._key.wrapped and not (local.grad_enabled and target._requires_grad):
        check_writable("copy_", target, False)
        value = written_number(value, target._key.dtype)
        if state.intercepting and is_watched():
            run = partial(fill_array, target._array, value, target._key)
            intercepted(write_of("fill_", fill), {"input": target, "value": value}, run)
        else:
            fill_array(target._array, value, target._key)
        bump(target, "copy_")
        return
    value = as_value(value, self) if number else value
    if indices is None:
        shape = target._array.shape
        value = without_leading_ones(value, len(shape))
        if value._array.shape != shape:
            check_enlarges("copy_", shape, value._array.shape)
            value = expand(value, shape)  # here, so that rows of the tensor itself may be spread over it
        copy_values(target, value, "copy_")
        return
    if masked and value._array.size == 1 and value._version_counter is target._version_counter is not None:
        value = value.clone()  # an element of the tensor, which the write may change
    refuse_shared("index_put_", target, (value, *[each for each in indices if each is not None]), True)
    indices = placed("index_put_", target, indices)
    place = advanced_shape(target, indices)
    check_sizes(target, indices)
    if value._key is not self._key:
        value = converted_value(target, value, masked)
    value = without_leading_ones(value, len(place))
    check_broadcastable(value._array.shape, place)
    wrapped = not all(each is None or each._key.plain for each in (target, value, *indices))
    if wrapped or (local.grad_enabled and (target._requires_grad or value._requires_grad)):
        write_inplace("index_put_", target, put_written, (tuple(indices), value), {})
        return
    check_writable("index_put_", target, False)
    if state.intercepting and is_watched():
        run = partial(write_at_positions, target, indices, value)
        args = {"input": target, "indices": tuple(indices), "values": value}
        intercepted(index_put_operation, args, run)
    else:
        write_at_positions(target, indices, value)
    bump(self, "index_put_")


def fill_chosen(self: Any, index: Any, value: Any) -> bool:
    """Write one value where a mask on a device is true, without waiting for its positions; False if it is not that."""
    parts = index if type(index) is tuple else (index,)
    if not parts or not isinstance(parts[0], TensorBase) or not is_filling(self, parts, value):
        return False
    value = as_value(value, self) if not isinstance(value, TensorBase) else value
    if value._version_counter is self._version_counter is not None:
        value = value.clone()  # an element of the tensor, which the write may change
    self.masked_fill_(leading(parts[0], self), converted_value(self, value, True).reshape(()))
    return True


def is_filling(target: Any, parts: Sequence[Any], value: Any) -> bool:
    """Whether one value is written where one mask, of a device's first dimensions, is true."""
    if len(parts) != 1 or not isinstance(parts[0], TensorBase) or parts[0]._key.dtype is not bool_:
        return False
    mask: Any = parts[0]
    if isinstance(value, TensorBase) and value._array.size != 1:
        return False
    shape = mask._array.shape
    return mask.device is target.device and target._array.shape[: len(shape)] == shape


def leading(mask: Any, target: Any) -> Any:
    """A mask of the first dimensions of a target, with the others."""
    return reshape(mask, (*mask._array.shape, *(1,) * (target._array.ndim - mask._array.ndim)))


def write_at_positions(target: Any, indices: Sequence[Any], value: Any) -> None:
    """Write values where tensors of indices say, in the memory of a target."""
    arrays = [None if each is None else each._array for each in indices]
    if not written_by_backend(target, arrays, value):
        key_arrays = tuple(FULL if each is None else each for each in arrays)
        xp = numpy if type(target._array) is numpy.ndarray else backend_of(target._key.device).xp
        write = write_at if xp is numpy else on_device_of(target._key, write_at)
        positioned("index_put", IndexError, write, xp, target._array, arrays, key_arrays, value._array)


def without_leading_ones(value: Any, ndim: int) -> Any:
    """A value without its first dimensions of size 1, where it has more than the place that it is written to."""
    while value._array.ndim > ndim and value._array.shape[0] == 1:
        value = value[0]
    return value


def put_written(input: Any, indices: tuple[Any, ...], values: Any, accumulate: bool = False) -> Any:
    return put_at("index_put_", input, indices, values, accumulate)


# Of `Tensor.index_put_` and of ``tensor[indices] = values``, which has None for dimensions without an index.
index_put_operation = Write("core::index_put_", put_written)


def converted_value(target: Any, value: Any, masked: bool) -> Any:
    """A tensor of another kind as it is written at positions of a target.

    One element that a single mask takes may be of any dtype: it is a number then, with which the places are filled.

    Raises
    ------
    RuntimeError
        If the dtypes differ otherwise, or the target's has no such number.
    """
    if masked and value._array.size == 1:
        if value._key.plain and value._key.dtype is not target._key.dtype:
            fitting("index_put_", value.detach(), target._key.dtype)
        return value.to(target.device, target.dtype)
    check_same_dtype("index_put_", target, value)
    return value.to(target.device)


def check_same_dtype(name: str, target: Any, value: Any) -> None:
    if value._key.dtype is not target._key.dtype:
        raise RuntimeError(
            f"{name}: Index put requires the source and destination dtypes match, got "
            f"{target._key.dtype.scalar_type_name} for "
            f"the destination and {value._key.dtype.scalar_type_name} for the source. Convert the source with "
            f".to({target.dtype})"
        )


def check_sizes(target: Any, indices: Sequence[Any]) -> None:
    """There are positions only along dimensions that have some.

    Raises
    ------
    IndexError
        If one of size 0 has some, and none of the indices is empty.
    """
    if target._array.size or any(index is not None and not index._array.size for index in indices):
        return
    for dim, index in enumerate(indices):
        if index is not None and not target._array.shape[dim]:
            raise IndexError(f"index: index is out of bounds for dimension {dim} with size 0")


def written_to(self: Any, index: Any, value: Any) -> tuple[Any, list[Any] | None, bool]:
    """The view of a tensor that an index begins with, what is left of it (see `parse`), and whether that is a mask."""
    if type(self) is Tensor:
        parts: Any = index if type(index) is tuple else (index,)
        if all(type(each) is slice or type(each) is int or each is ... for each in parts):
            return self[index], None, False  # as the engine does it
        if len(parts) == 1 and type(index) is Tensor and index._key.dtype is int64 and index._key.plain:
            if index._array.ndim and self._array.ndim:
                return self, [index], False
    if index is True:
        return self.unsqueeze(0), None, False
    asked = [as_index(each, self) for each in parts_of(index)]
    found = [each for each in asked if isinstance(each, TensorBase)]
    key, indices = divide(self, asked, value if isinstance(value, TensorBase) else as_value(value, self))
    return basic.op(self, (*key, ...)), indices, len(found) == 1 and is_mask(found[0])


def is_mask(index: Any) -> bool:
    return index._key.dtype is bool_ and index._array.ndim > 0


def advanced_shape(target: Any, indices: list[Any]) -> tuple[int, ...]:
    """The shape that reading at these positions would have."""
    if len(indices) == 1:
        return tuple(indices[0]._array.shape) + tuple(target._array.shape[1:])
    shapes = [each._array.shape for each in indices if each is not None]
    try:
        joint = broadcast_shapes("index_put", shapes)
    except RuntimeError:
        raise IndexError(
            "index_put: shape mismatch: indexing tensors could not be broadcast together with shapes "
            f"{[list(each) for each in shapes]}"
        ) from None
    used = [dim for dim, each in enumerate(indices) if each is not None]
    shape = target._array.shape
    adjacent = used[-1] - used[0] + 1 == len(used)
    rest_before = tuple(shape[d] for d in range(used[0]))
    rest = tuple(shape[d] for d in range(len(shape)) if d not in used)
    return rest_before + joint + rest[len(rest_before) :] if adjacent else joint + rest


def check_broadcastable(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    lead = len(target) - len(shape)
    if lead < 0 or any(have not in (1, want) for have, want in zip(shape, target[lead:])):
        raise RuntimeError(
            f"index_put: shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing result "
            "of shape "
            f"{list(target)}"
        )


def written_number(value: Any, element: dtype) -> Any:
    """A number as one element of a tensor that it is written into.

    Raises
    ------
    ValueError
        For an integer that int64 does not have, as where a tensor is made of it.
    RuntimeError
        If the dtype has no such number.
    """
    if type(value) is int and element is not uint64 and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"index_put_: Overflow when unpacking long long: {value} does not fit int64")
    return element_of("index_put_", value, element)


def as_value(value: Any, like: Any) -> Any:
    if isinstance(value, (int, float, complex, numpy.generic)):
        return like.new_full((), written_number(value, like._key.dtype))
    return as_tensor(value, dtype=like.dtype, device=like.device)


def overridden(name: str, error: Exception, self: Any, index: Any, *value: Any) -> Any:
    """What the override of an argument's class makes of a call that indexing ended with an error."""
    parts = index if type(index) is tuple else (index,)
    types = [each for each in overriding((*parts, *value)) if not issubclass(each, Tensor)]
    if not types:
        raise error
    return call_override(getattr(Tensor, name), types, (self, index, *value), {})


declared_methods["__getitem__"] = getitem
declared_methods["__setitem__"] = setitem


def copy_values(target: Any, source: Any, name: str, non_blocking: bool = False) -> Any:
    """Write a tensor's values into another, converted and broadcast."""
    if not isinstance(source, TensorBase):
        source = as_value(source, target)
    if source._requires_grad and not target._key.is_differentiable:
        source = source.detach()  # type: ignore[attr-defined]  # integers have no gradient to hand on
    check_writable(name, target, source._requires_grad)
    refuse_shared(name, target, (source,))
    shape = target._array.shape
    have = source._array.shape
    if have != shape:
        check_enlarges(name, shape, have)
        source = expand(source, shape)
    wrapped = target._key.wrapped or source._key.wrapped
    if wrapped or (local.grad_enabled and (target._requires_grad or source._requires_grad)):
        return write_inplace(name, target, _replaced, (source,), {})
    if source._key.device is not target._key.device:
        if non_blocking and copied_later(target, source):
            bump(target, name)
            return target
        later = non_blocking and target._key.device is not cpu
        source = source.to(target.device, non_blocking=later)  # type: ignore[attr-defined]
    if state.intercepting and is_watched():
        copy_watched(target, source, partial(move_values, target, source))
    else:
        move_values(target, source)
    bump(target, name)
    return target


def copied_later(target: Any, source: Any) -> bool:
    """Try to have a device write into the host's memory while the program goes on; True if it will."""
    if target._key.device is not cpu or source._key.dtype is not target._key.dtype or source._key.bits:
        return False
    backend = backend_of(source._key.device)
    return bool(backend.copy_into_host(target._array, source._array))


def move_values(target: Any, source: Any) -> None:
    """Write a tensor's values into one of the same shape."""
    if source._key is not target._key or not moved_by_backend(target, source._array):
        write_array(target, source._array)


def check_enlarges(name: str, shape: tuple[int, ...], have: tuple[int, ...]) -> None:
    """What is copied into a tensor has no more dimensions than it.

    Raises
    ------
    RuntimeError
        If it has.
    """
    if len(have) > len(shape):
        joint = broadcast_shapes(name, [shape, have])
        raise RuntimeError(f"{name}: output with shape {list(shape)} doesn't match the broadcast shape {list(joint)}")


LARGE = 8192  # elements from which a backend's own way of copying is asked for
LARGE_OF_ONE = 1 << 20  # the same where all are one element, which NumPy writes fast


def moved_by_backend(target: Any, array: Any) -> bool:
    """Copy an array of a tensor's dtype and shape into its memory as its backend does it best, if it has a way."""
    if target._key.bits or array.size < LARGE or (array.flags.c_contiguous and target._array.flags.c_contiguous):
        return False
    if array.size < LARGE_OF_ONE and not any(array.strides):
        return False
    assign = backend_of(target.device).kernel("core::assign", target._key.dtype, None)
    return assign is not None and assign(target._array, array) is True


def written_by_backend(target: Any, arrays: list[Any], value: Any) -> bool:
    """Write values at positions in a tensor's memory as its backend does it best, if it has a way."""
    if target._key.bits or target._array.size < LARGE or any(each is not None for each in arrays[:-1]):
        return False
    write = backend_of(target.device).kernel("core::assign_at", target._key.dtype, None)
    return write is not None and write(target._array, arrays, value._array) is True


@op(
    tensors="input source",
    dtypes=ALL_DTYPES,
    name="copy",
    vmap="leading",
    linear="input source",
)
def replaced(input: Tensor, source: Tensor) -> Tensor:
    """``source`` in place of ``input``."""
    return replaced.op(input, source)


replaced.declaration.label = "CopyBackwards"


@replaced.kernel
def _(xp, input, source):
    return xp.array(source, input.dtype, copy=True)


@replaced.gradient("input")
def _(grad):
    return grad.new_zeros(grad.shape)  # it was overwritten, which is not the same as never used


@replaced.gradient("source")
def _(grad):
    return grad


@replaced.onnx
def _(graph, input, source):
    return graph.Expand(graph.cast(source, input.dtype), graph.shape_of(input))


def _replaced(input: Any, source: Any) -> Any:
    return replaced.op(input, source.to(input.device, input.dtype))


def copy_(self: Tensor, other: Tensor | Scalar, non_blocking: bool = False) -> Tensor:
    """Write the values of another tensor, converted to this dtype and device, and broadcast.

    Parameters
    ----------
    other : Tensor
        Of a shape that broadcasts to this one's.
    non_blocking : bool
        Let the program go on while a copy between page-locked memory of the CPU and a device runs; see `Tensor.to`.

    Examples
    --------
    >>> weft.zeros(2, dtype=weft.int64).copy_(weft.tensor(1.7))
    tensor([1, 1])
    """
    copied: Tensor = copy_values(self, other, "copy_", non_blocking)
    return copied


add_members(copy_=copy_)


# Along one dimension


def index_tensor(name: str, index: Any, *, ndim: int | None = None) -> Any:
    """An index of int64.

    Raises
    ------
    RuntimeError, IndexError
        For another dtype, or too many dimensions.
    """
    if not isinstance(index, TensorBase):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index._key.dtype is not int64 and index._key.dtype.name != "int32":
        raise RuntimeError(f"{name}: Expected dtype int32/int64 for index; got {index._key.dtype}")
    if ndim is not None and index._array.ndim > ndim:
        raise IndexError(f"{name}: Index is supposed to be a vector, but got dim: {index._array.ndim}")
    return index if index._key.dtype is int64 else index.to(int64)  # type: ignore[attr-defined]


@op(
    "index_select",
    tensors="input index",
    out="exact",
    dtypes=ALL_DTYPES,
    linear="input",
    fast_path=IndexSelect(dtypes="any", index="int64"),
)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Select the slices at some positions along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, of at most 1 dimension
        Positions from 0 on; negative ones are out of range.

    Raises
    ------
    IndexError or RuntimeError
        If a position is out of range: in dimension 0, or in another.

    Examples
    --------
    >>> weft.index_select(weft.tensor([[1, 2], [3, 4], [5, 6]]), 0, weft.tensor([2, 0]))
    tensor([[5, 6],
            [1, 2]])
    """
    ndim = input._array.ndim
    dim = wrap_dim("index_select", dim, ndim)
    index = index_tensor("index_select", index, ndim=1)
    if not ndim and index.numel() != 1:
        raise RuntimeError(f"index_select: Index to scalar can have only 1 value, got {index.numel()} value(s)")
    flat = index if index._array.ndim else index.reshape(-1)
    if ndim > 1 and not input._array.shape[dim] and flat._array.size:
        raise RuntimeError(
            f"index_select: self indexing axis dim should be positive; dimension {dim} is empty, and {flat.numel()} "
            "positions were asked for"
        )
    if dim == 0:
        return positioned("index_select", IndexError, index_select.op, input, dim, flat)
    try:
        return index_select.op(input, dim, flat)
    except OutOfRange as wrong:  # PyTorch has another loop for these, with an error of its own
        raise RuntimeError(f"index_select: {wrong}: INDICES element is out of DATA bounds") from None


@index_select.kernel
def _(xp, input, dim, index):
    check_positions(xp, "index_select", index, dim, input.shape[dim] if input.ndim else 1)
    if not input.ndim:
        return input.copy()
    taken = input.take(index, dim) if type(input) is numpy.ndarray else xp.take(input, index, axis=dim)
    return in_order(xp, taken)


@index_select.gradient("input")
def _(grad, input_shape, dim, index):
    if not input_shape:
        return grad.sum()
    return grad.new_zeros(input_shape).index_add(dim, index, grad)


@index_select.vmap
def _(batch):
    input, dim, index = batch.args
    if not batch.rank():
        return one_by_one(batch)
    if not batch.flags[2]:
        return index_select.op(input, dim + 1, index)
    input = batch.with_all()[0]
    shape = [batch.size, *[1] * (input.ndim - 1)]
    shape[dim + 1] = index.shape[1]
    return gather.op(input, dim + 1, index.reshape(shape).expand(*input.shape[: dim + 1], -1, *input.shape[dim + 2 :]))


@index_select.onnx
def _(graph, input, dim, index):
    return graph.Gather(input, index, axis=dim) if input.ndim else graph.Identity(input)


@op(
    "gather",
    tensors="input index",
    out="exact",
    vmap="along_dims",
    linear="input",
    fast_path=Gather(dtypes="any", index="int64"),
)
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Gather one element for each position in ``index``: ``out[i][j] = input[index[i][j]][j]`` for dim 0.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32
        Of as many dimensions as input, and not larger except along ``dim``; the result has its shape.
    sparse_grad : bool
        Whether the gradient of ``input`` is a sparse tensor.

    Raises
    ------
    RuntimeError
        If an index is out of range, or larger than input in another dimension.

    Examples
    --------
    >>> scores = weft.tensor([[0.1, 0.7], [0.4, 0.2]])
    >>> weft.gather(scores, 1, weft.tensor([[1], [0]]))
    tensor([[0.7000],
            [0.4000]])
    """
    dim = wrap_dim("gather", dim, input._array.ndim)
    index = checked_along("gather", input, dim, index)
    if sparse_grad and local.grad_enabled and input._requires_grad and not input._key.wrapped:
        from weft.sparse._gather import Gather

        return Gather.apply(input, dim, index)
    return positioned("gather", RuntimeError, gather.op, input, dim, index)


@gather.onnx
def _(graph, input, dim, index):
    if not input.ndim or not index.ndim:
        return graph.Gather(graph.Reshape(input, graph.sizes([-1])), index, axis=0)
    if input.ndim != index.ndim:  # no positions
        return graph.full_like(index, 0, input.dtype)
    return graph.GatherElements(input, index, axis=dim)


def checked_along(name: str, input: Any, dim: int, index: Any, src: Any = None) -> Any:
    """An index for gather or scatter: as many dimensions as input, no larger but along ``dim``."""
    if not isinstance(index, TensorBase):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index._key.dtype.name not in ("int64", "int32") and index._array.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index; got {index._key.dtype}")
    shape, have = index._array.shape or (1,), input._array.shape or (1,)
    dim = wrap_dim(name, dim, input.ndim)
    if not index._array.size:
        return index.to(int64)  # type: ignore[attr-defined]
    for other, what in ((input, "input" if name == "gather" else "self"), (src, "src")):
        if other is not None and max(other._array.ndim, 1) != len(shape):
            raise RuntimeError(
                f"{name}: Index tensor must have the same number of dimensions as {what} tensor; got index "
                f"{list(index._array.shape)} and {what} {list(other._array.shape)}"
            )
    for d, size in enumerate(shape):
        if (d != dim and size > have[d]) or (src is not None and size > (src._array.shape or (1,))[d]):
            raise RuntimeError(
                f"{name}: Size does not match at dimension {d} expected index {list(shape)} to be no larger than self "
                f"{list(have)} apart from dimension {dim}"
                + ("" if src is None else f" and to be no larger size than src {list(src._array.shape)}")
            )
    return index if index._key.dtype is int64 else index.to(int64)  # type: ignore[attr-defined]


def places(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """The key of all elements that gather or scatter touch: ``index`` along dim, their own place elsewhere."""
    return tuple(
        index if d == dim else xp.arange(size).reshape(-1, *(1,) * (index.ndim - d - 1))
        for d, size in enumerate(index.shape)
    )


@gather.kernel
def _(xp, input, dim, index):
    check_positions(xp, "gather", index, dim, input.shape[dim] if input.ndim else 1)
    if not input.ndim or not index.ndim:
        return xp.reshape(xp.take(input.reshape(-1), index.reshape(-1)), index.shape)
    if not index.size:
        return xp.empty(index.shape, input.dtype)
    if index.size <= FEW and type(input) is numpy.ndarray and input.flags.c_contiguous:
        step, starts = starts_along(input.shape, index.shape, dim)
        return input.reshape(-1).take((index if step == 1 else index * step) + starts)
    return in_order(xp, input[places(xp, index, dim)])


FEW = 512  # elements whose places in memory are kept


@lru_cache(256)
def starts_along(shape: tuple[int, ...], chosen: tuple[int, ...], dim: int) -> tuple[int, Any]:
    """How far apart elements along a dimension of a contiguous array are, and where those at position 0 are."""
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    starts = numpy.zeros(chosen, numpy.int64)
    for d, (size, step) in enumerate(zip(chosen, steps)):
        if d != dim:
            starts += numpy.arange(0, size * step, step).reshape(-1, *(1,) * (len(shape) - d - 1))
    return steps[dim], starts


@gather.gradient("input")
def _(grad, input_shape, dim, index):
    if not input_shape or not index.ndim:
        return grad.new_zeros(input_shape).scatter_add(dim, index, grad)
    return gather_backward.op(grad, input_shape, dim, index)


@op(tensors="output_grad index", name="gather_backward", linear="output_grad")
def gather_backward(output_grad: Tensor, shape: tuple[int, ...], dim: int, index: Tensor) -> Tensor:
    """Zeros of a shape, to which gradients are added at positions along a dimension."""
    return gather_backward.op(output_grad, shape, dim, index)


@gather_backward.kernel
def _(xp, output_grad, shape, dim, index):
    check_positions(xp, "gather", index, dim, shape[dim])
    whole = xp.zeros(shape, output_grad.dtype)
    if index.size:
        combine_at(xp, xp.add, whole, places(xp, index, dim), output_grad)
    return whole


@gather_backward.gradient("output_grad")
def _(grad, dim, index):
    return gather(grad, dim, index)


@gather_backward.vmap
def _(batch):
    grad, shape, dim, index = batch.args
    grad, index = batch.spread(grad, batch.flags[0]), batch.spread(index, batch.flags[3])
    return gather_backward.op(grad, (batch.size, *shape), dim + 1, index)


@composite("take_along_dim", out="exact")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Gather elements at positions along a dimension, broadcasting the others.

    Parameters
    ----------
    input : Tensor
    indices : Tensor of int64
        Of as many dimensions as input; what `argsort` and `argmax` with ``keepdim=True`` give.
    dim : int, optional
        Default: positions of the flattened tensor.

    Raises
    ------
    RuntimeError
        If a position is out of range, or the shapes do not broadcast.

    Examples
    --------
    >>> x = weft.tensor([[3, 1], [5, 9]])
    >>> weft.take_along_dim(x, x.argmax(1, keepdim=True), 1)
    tensor([[3],
            [9]])
    """
    if indices.dtype is not int64:
        raise RuntimeError(f"take_along_dim: dtype of indices should be Long but got {indices.dtype.scalar_type_name}")
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            f"take_along_dim: input and indices should have the same number of dimensions, but got {input.ndim} "
            "dimensions for "
            f"input, and {indices.ndim} dimensions for indices"
        )
    if not input.ndim:
        raise IndexError(f"take_along_dim: Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim("take_along_dim", dim, input.ndim)
    size = input.shape[dim]
    shape = broadcast_shapes(
        "take_along_dim",
        [
            tuple(1 if d == dim else n for d, n in enumerate(input.shape)),
            tuple(1 if d == dim else n for d, n in enumerate(indices.shape)),
        ],
    )
    in_range("take_along_dim", indices, size, dim, RuntimeError, -size)
    indices = indices + (indices < 0) * size
    data = expand(input, [input.shape[dim] if d == dim else n for d, n in enumerate(shape)])
    where = expand(indices, [indices.shape[dim] if d == dim else n for d, n in enumerate(shape)])
    return gather(data, dim, where)


@op(tensors="input index src", name="scatter", vmap="along_dims", numbers="src")
def scattered(input: Tensor, dim: int, index: Tensor, src: Tensor | Scalar, adds: bool) -> Tensor:
    """A copy of ``input`` with ``src`` written or added at positions along a dimension."""
    return scattered.op(input, dim, index, src, adds)


@scattered.kernel
def _(xp, input, dim, index, src, adds):
    return scattered_array(xp, "scatter_add" if adds else "scatter", input, dim, index, src, xp.add if adds else None)


@scattered.onnx
def _(graph, input, dim, index, src, adds):
    return graph.scattered(input, dim, index, src, "add" if adds else None)


def scattered_array(xp: Any, name: str, input: Any, dim: int, index: Any, src: Any, combine: Any) -> Any:
    """A copy of an array with a source, or what a ufunc makes of it and what is there, at positions."""
    result = xp.array(input, order="C")
    if not index.size:
        return result
    flat = not input.ndim
    target = result.reshape(1) if flat else result
    check_positions(xp, name, index, dim, target.shape[dim])
    index = index.reshape(1) if not index.ndim else index
    key = places(xp, index, dim)
    if hasattr(src, "dtype"):
        src = src.reshape(1) if not src.ndim else src
        src = src[tuple(slice(n) for n in index.shape)]
    if combine is None:
        target[key] = value_for(xp, target, src)
    else:
        combine_at(xp, combine, target, key, src)
    return result


@scattered.gradient("input")
def _(grad, dim, index, adds):
    return grad if adds else scattered.op(grad, dim, index, 0, False)


@scattered.gradient("src")
def _(grad, dim, index, src_shape):
    taken = gather(grad, dim, index)
    if taken.shape == src_shape:
        return taken
    return basic_embed(taken, src_shape)


@scattered.forward
def _(input_tangent, dim, index, src_tangent, adds):
    return scattered.op(input_tangent, dim, index, src_tangent, adds)


@op(tensors="input index src", name="scatter_product", vmap="along_dims", numbers="src")
def multiplied_at(input: Tensor, dim: int, index: Tensor, src: Tensor | Scalar) -> Tensor:
    """A copy of ``input`` with ``src`` multiplied to what is at positions along a dimension."""
    return multiplied_at.op(input, dim, index, src)


@multiplied_at.kernel
def _(xp, input, dim, index, src):
    return scattered_array(xp, "scatter", input, dim, index, src, xp.multiply)


@multiplied_at.gradient("input")
def _(grad, dim, index, src):
    return grad * multiplied_at.op(grad.new_ones(grad.shape), dim, index, src)


@multiplied_at.gradient("src")
def _(grad):
    raise RuntimeError(
        "scatter: the derivative of src is not implemented with reduce='multiply'; use scatter_reduce with 'prod'"
    )


@multiplied_at.onnx
def _(graph, input, dim, index, src):
    return graph.scattered(input, dim, index, src, "mul")


@composite("scatter", "scatter_", out="exact shared")
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Scalar | None = None,
    *,
    value: Scalar | None = None,
    reduce: str | None = None,
) -> Tensor:
    """Copy ``input`` and write ``src`` (a Tensor or a number) at the positions of ``index`` along a dimension.

    For dim 0: ``out[index[i][j]][j] = src[i][j]``, the opposite of `gather`.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32
        Of as many dimensions as input, and not larger except along ``dim``.
    src : Tensor of input's dtype, or number
        Not smaller than index in any dimension.
    value : number, optional
        Another name for ``src``.
    reduce : {"add", "multiply"}, optional
        Combine with what is there. With a tensor as ``src`` it is deprecated, see `scatter_reduce`.

    Raises
    ------
    RuntimeError
        If a position is out of range, or a shape or dtype does not fit.

    Examples
    --------
    >>> weft.scatter(weft.zeros(2, 3), 1, weft.tensor([[2], [0]]), 1.0)
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"scatter: reduce argument must be either add or multiply; got {reduce!r}")
    src = value if src is None else src
    if src is None:
        raise TypeError('scatter() missing 1 required positional arguments: "src"')
    if reduce is not None and isinstance(src, TensorBase):
        warn_caller_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
            "PyTorch release. Use torch.scatter_reduce instead for more reduction options."
        )
    return checked_scatter("scatter", input, dim, index, src, reduce)


def checked_scatter(name: str, input: Any, dim: Any, index: Any, src: Any, reduce: str | None) -> Any:
    """`scattered` or `multiplied_at`, with the arguments checked in the name of the function that was called."""
    tensor_src = src if isinstance(src, TensorBase) else None
    if tensor_src is not None and tensor_src._key.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype; got {input.dtype} and {tensor_src._key.dtype}"
        )
    index = checked_along(name, input, dim, index, tensor_src)
    if tensor_src is None:
        src = fitting(name, src, input.dtype)
    dim = wrap_dim(name, dim, input.ndim)
    if reduce == "multiply":
        return positioned(name, RuntimeError, multiplied_at.op, input, dim, index, src)
    return positioned(name, RuntimeError, scattered.op, input, dim, index, src, reduce == "add")


@composite("scatter_add", "scatter_add_", out="exact shared")
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Copy ``input`` and add ``src`` at the positions of ``index`` along a dimension.

    For dim 0: ``out[index[i][j]][j] += src[i][j]``; repeated positions count each time.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32
        Of as many dimensions as input, and not larger except along ``dim``.
    src : Tensor of input's dtype
        Not smaller than index in any dimension.

    Raises
    ------
    RuntimeError
        If a position is out of range, or a shape or dtype does not fit.

    Examples
    --------
    >>> weft.scatter_add(weft.zeros(3), 0, weft.tensor([0, 2, 2]), weft.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 5.])
    """
    require_tensors("scatter_add", input=input, src=src)
    return checked_scatter("scatter_add", input, dim, index, src, "add")


@op(tensors="input index source", name="index_add", linear="input source")
def index_added(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Scalar) -> Tensor:
    """A copy of ``input`` with the slices of ``source`` added at positions along a dimension."""
    return index_added.op(input, dim, index, source, alpha)


@index_added.kernel
def _(xp, input, dim, index, source, alpha):
    result = xp.array(input, order="C")
    target = result if input.ndim else result.reshape(1)
    check_positions(xp, "index_add", index, dim, target.shape[dim])
    source = source if source.ndim else source.reshape(1)
    key = tuple(index if d == dim else FULL for d in range(target.ndim))
    combine_at(xp, xp.add, target, key, source if alpha == 1 else source * array_of(xp, alpha, source.dtype))
    return result


@index_added.gradient("input")
def _(grad):
    return grad


@index_added.gradient("source")
def _(grad, dim, index, alpha, source_shape):
    return (index_select(grad, dim, index) * alpha).reshape(source_shape)


@index_added.vmap
def _(batch):
    if batch.flags[2]:
        return one_by_one(batch)
    input, dim, index, source, alpha = batch.args
    input, source = batch.spread(input, batch.flags[0]), batch.spread(source, batch.flags[3])
    return index_added.op(input, dim + 1, index, source, alpha)


@index_added.onnx
def _(graph, input, dim, index, source, alpha):
    source = source if alpha == 1 else graph.Mul(source, alpha)
    if not input.ndim:
        return graph.Add(input, graph.ReduceSum(source, keepdims=0))
    places = graph.Expand(graph.by_dim(index, dim, input.ndim), graph.shape_of(source))
    return graph.ScatterElements(input, places, source, axis=dim, reduction="add")


def index_write(name: str, input: Any, dim: int, index: Any, source: Any) -> tuple[int, Any]:
    """The dim and the index of index_add and its like.

    Raises
    ------
    IndexError
        If a source without dimensions has another number of indices than one.
    RuntimeError
        If the source has another dtype.
    """
    require_tensors(name, input=input, index=index, source=source)
    dim = wrap_dim(name, dim, input.ndim)
    index = index_tensor(name, index, ndim=1).reshape(-1)
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}_(): self ({input.dtype.scalar_type_name}) and source ({source.dtype.scalar_type_name}) must have "
            "the same scalar type"
            if name == "index_add"
            else f"{name}(): self and source expected to have the same dtype, but got (self) "
            f"{input.dtype.scalar_type_name} and (source) {source.dtype.scalar_type_name}"
        )
    if not source.ndim and index.numel() != 1:
        raise IndexError(f"{name}(): a source without dimensions takes one index, not {index.numel()}")
    return dim, index


def check_slices(name: str, input: Any, dim: int, index: Any, source: Any) -> None:
    """The source has a slice of the input for each index."""
    expected = list(input.shape)
    if expected:
        expected[dim] = index.numel()
    if name == "index_add" and 0 < source.ndim != input.ndim:
        raise RuntimeError(
            "index_add_(): source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )
    if list(source.shape) != expected:
        raise RuntimeError(
            f"{name}_(): Number of indices ({index.numel()}) should be equal to source.size(dim): "
            f"({source.shape[dim] if source.ndim > dim else None}), for dim: {dim}; the shape of source is "
            f"{list(source.shape)}, and that of self {list(input.shape)}"
        )


@composite("index_add", "index_add_", out="exact shared")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """Copy ``input`` and add ``alpha * source`` to the slices at some positions along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, shape (n,)
        Repeated positions count each time.
    source : Tensor of input's dtype
        Of input's shape, but for size n along ``dim``.
    alpha : number

    Raises
    ------
    IndexError or RuntimeError
        If a position is out of range, or the shapes do not fit.

    Examples
    --------
    >>> weft.index_add(weft.zeros(3), 0, weft.tensor([0, 2, 2]), weft.ones(3), alpha=10)
    tensor([10.,  0., 20.])
    """
    outside = RuntimeError if input.ndim > 1 else IndexError  # as in PyTorch, which has two loops
    dim, index = index_write("index_add", input, dim, index, source)
    check_slices("index_add", input, dim, index, source)
    alpha = fitting("index_add", alpha, input.dtype)
    return positioned("index_add", outside, index_added.op, input, dim, index, source, alpha)


@composite("index_copy", "index_copy_", out="exact shared")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Copy ``input`` and write the slices of ``source`` at some positions along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64, shape (n,)
    source : Tensor of input's dtype
        Of input's shape, but for size n along ``dim``.

    Raises
    ------
    IndexError or RuntimeError
        If a position is out of range, or the shapes do not fit.

    Examples
    --------
    >>> weft.index_copy(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([5.0, 6.0]))
    tensor([6., 0., 5.])
    """
    if isinstance(index, TensorBase) and index._key.dtype is not int64:
        raise RuntimeError(f"index_copy: Expected a long tensor for index, but got {index._key.dtype.scalar_type_name}")
    dim, index = index_write("index_copy", input, dim, index, source)
    mine, theirs = ([n for d, n in enumerate(each.shape) if d != dim] for each in (input, source))
    if mine != theirs and not (input.ndim and source.ndim and input.ndim != source.ndim):
        raise RuntimeError(f"index_copy: source/destination tensor must have same slice shapes; got {theirs}, {mine}")
    if (mine != theirs) or (source.ndim and source.shape[dim] != index.numel()):
        raise IndexError(
            f"index_copy: Number of indices ({index.numel()}) and shape of source {list(source.shape)} must match self "
            f"{list(input.shape)} apart from dimension {dim}"
        )
    if not input.ndim and not index.numel():
        return input.clone()
    in_range("index_copy", index, input.shape[dim] if input.ndim else 1, dim, IndexError)  # `put` takes negative ones
    if not input.ndim:
        return replaced.op(input, source.reshape(()))
    return put.op(input, [None] * dim + [index], source, False)


@composite("index_fill", "index_fill_")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Scalar | Tensor) -> Tensor:
    """Copy ``input`` and fill the slices at some positions along a dimension with one value.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64, of at most 1 dimension
    value : number or 0-d Tensor

    Raises
    ------
    IndexError
        If a position is out of range.

    Examples
    --------
    >>> weft.index_fill(weft.zeros(2, 2), 1, weft.tensor([0]), 7)
    tensor([[7., 0.],
            [7., 0.]])
    """
    dim = wrap_dim("index_fill", dim, input.ndim)
    if isinstance(index, TensorBase) and index._key.dtype is not int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index; got {index._key.dtype}")
    index = index_tensor("index_fill", index, ndim=1).reshape(-1)
    number = value.dtype if isinstance(value, TensorBase) else scalar_dtype(value)
    if number.is_complex and not input.is_complex():
        raise RuntimeError(f"index_fill: Converting complex Scalar to non-complex type is not supported; got {value}")
    size = input.shape[dim] if input.ndim else 1
    true = input.new_full((), True, dtype=bool_)
    chosen = positioned("index_fill", IndexError, put.op, input.new_zeros(size, dtype=bool_), [index], true, False)
    chosen = chosen.reshape([-1 if d == dim else 1 for d in range(input.ndim)])
    return fill_where.op(input, chosen, filling("index_fill", input, value))


@composite("take", out="exact")
def take(input: Tensor, index: Tensor) -> Tensor:
    """Select elements at positions of the flattened tensor.

    Parameters
    ----------
    input : Tensor
    index : Tensor of int64
        The result has its shape.

    Raises
    ------
    IndexError
        If a position is out of range.

    Examples
    --------
    >>> weft.take(weft.tensor([[1, 2], [3, 4]]), weft.tensor([0, -1]))
    tensor([1, 4])
    """
    if index.dtype is not int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype.scalar_type_name}")
    return positioned("take", IndexError, advanced.op, input.reshape(-1), [index])


@composite("put", "put_")
def _put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Copy the tensor and write ``source`` at positions of the flattened copy.

    Parameters
    ----------
    input : Tensor
    index : Tensor of int64
    source : Tensor of input's dtype
        With as many elements as index.
    accumulate : bool
        Add, so that repeated positions count each time.

    Raises
    ------
    IndexError
        If a position is out of range.

    Examples
    --------
    >>> weft.zeros(2, 2).put(weft.tensor([1, 2]), weft.tensor([5.0, 6.0]))
    tensor([[0., 5.],
            [6., 0.]])
    """
    if index._key.dtype is not int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index._key.dtype.scalar_type_name}")
    if source._key.dtype is not input._key.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got (self) "
            f"{input._key.dtype.scalar_type_name} and "
            f"(source) {source._key.dtype.scalar_type_name}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got {source.numel()} and "
            f"{index.numel()}"
        )
    flat = reshape(input, -1)
    written = positioned("put_", IndexError, put.op, flat, [index.reshape(-1)], source.reshape(-1), accumulate)
    return reshape(written, input.shape)


# Masks and positions


@composite("masked_select", out="exact")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Select the elements where the mask is true, as one dimension.

    Parameters
    ----------
    input : Tensor
    mask : Tensor of bool
        Input and mask are broadcast to one shape.

    Examples
    --------
    >>> x = weft.tensor([[1, 2], [3, 4]])
    >>> weft.masked_select(x, x > 2)
    tensor([3, 4])
    """
    if mask.dtype is not bool_:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask; got {mask.dtype}")
    shape = broadcast_shapes("masked_select", [input._array.shape, mask._array.shape])
    where = expand(mask, shape).nonzero(as_tuple=True) if shape else (expand(mask, (1,)).nonzero()[:, 0],)
    return advanced.op(expand(input, shape or (1,)), list(where))


@composite("masked_scatter", "masked_scatter_")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Copy ``input`` and write the elements of ``source``, one after the other, where the mask is true.

    Parameters
    ----------
    input : Tensor
    mask : Tensor of bool
        Input and mask are broadcast to one shape.
    source : Tensor of input's dtype
        With at least as many elements as the mask has true ones.

    Raises
    ------
    RuntimeError
        If the source has too few elements.

    Examples
    --------
    >>> weft.masked_scatter(weft.zeros(3), weft.tensor([True, False, True]), weft.tensor([5.0, 6.0]))
    tensor([5., 0., 6.])
    """
    if mask.dtype is not bool_:
        if mask.dtype.name == "uint8":
            warn_caller_once("masked_scatter_ received a mask with dtype weft.uint8; pass a mask of weft.bool instead")
        raise RuntimeError(f"masked_scatter_ only supports boolean masks; got {mask.dtype}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype.scalar_type_name} and "
            f"{source.dtype.scalar_type_name}"
        )
    shape = broadcast_shapes("masked_scatter", [input._array.shape, mask._array.shape])
    if waits(input) or stands_for_batch(mask):
        return scattered_where(input, mask, source, shape)
    where = list(positions_in(expand(mask, shape or (1,)), mask, reshape(source, -1)))
    count = where[0].numel()
    if source.numel() < count:
        raise RuntimeError(f"masked_scatter: source nElements {source.numel()} must be >= mask `1` elements {count}")
    whole = expand(input, shape or (1,))
    return reshape(put.op(whole, where, reshape(source, -1)[:count], False), shape)


def scattered_where(input: Any, mask: Any, source: Any, shape: tuple[int, ...]) -> Any:
    """`masked_scatter` without knowing the number of places, which is asserted: on a device, in a batch."""
    mask, input, source = expand(mask, shape), expand(input, shape), reshape(source, -1)
    if not mask.numel():
        return input.clone()
    size = source.numel()
    order = reshape(mask, -1).cumsum(0)  # from 1 on
    assert_below("masked_scatter", order[-1:], size + 1, f"source nElements {size} must be >= mask `1` elements {{}}")
    source = source if size else source.new_zeros(1)
    places = reshape(order - 1, shape).clamp(0, source.numel() - 1)
    return advanced.op(source, [places]).where(mask, input)


@op(name="nonzero", gradient=None, vmap="dynamic")
def positions(input: Tensor) -> Tensor:
    """The positions of elements that are not 0, one in a row."""
    return positions.op(input)


@positions.kernel
def rows_of_positions(xp, input):
    if not input.ndim:
        return xp.empty((int(input != 0), 0), xp.int64)
    return xp.stack(xp.nonzero(input), axis=0).astype(xp.int64).T  # the positions of one dimension lie together


@positions.onnx
def positions_onnx(graph, input):
    return graph.Transpose(graph.NonZero(input), perm=[1, 0])


@composite("nonzero")
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Tensor | tuple[Tensor, ...]:
    """Find the positions of elements that are not 0, in the order of the elements.

    Parameters
    ----------
    input : Tensor
    as_tuple : bool
        One tensor for each dimension, which index the elements: ``input[input.nonzero(as_tuple=True)]``.
    out : Tensor of int64, optional

    Returns
    -------
    Tensor of int64, shape (count, ndim), or with ``as_tuple`` one tensor for each dimension.

    Examples
    --------
    >>> weft.nonzero(weft.tensor([[0, 5], [6, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    if out is not None:
        check_out("nonzero", out)
        if as_tuple:
            raise RuntimeError("nonzero: nonzero does not support the out kwarg when as_tuple is True")
        return write_out("nonzero", out, positions.op(input), True, apart=(input,))
    if not as_tuple:
        return positions.op(input)
    found = positions.op(input if input.ndim else reshape(input, 1))
    return tuple(found[:, dim] for dim in range(found.shape[1]))


@composite("nonzero_static", out="exact")
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Find the positions of the first ``size`` elements that are not 0; missing ones are ``fill_value``.

    The shape of the result does not depend on the elements, unlike that of `nonzero`.

    Parameters
    ----------
    input : Tensor
    size : int
    fill_value : int

    Returns
    -------
    Tensor of int64, shape (size, input.ndim)

    Examples
    --------
    >>> weft.nonzero_static(weft.tensor([0, 5]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer; got {size}")
    if input.is_meta:
        return input.new_empty((size, input.ndim), dtype=int64)
    if waits(input) or stands_for_batch(input):
        return first_nonzero.op(input, size, fill_value)
    found = positions.op(input)[:size]
    made = found.new_full((size, input.ndim), fill_value)
    made[: found.shape[0]] = found
    return made


@op(name="nonzero_static", gradient=None, vmap="one_by_one")
def first_nonzero(input: Tensor, size: int, fill_value: int) -> Tensor:
    """`nonzero_static`, without waiting for the number of elements that are not 0."""
    return first_nonzero.op(input, size, fill_value)


@first_nonzero.kernel
def _(xp, input, size, fill_value):
    found = xp.full((size + 1, input.ndim), fill_value, xp.int64)
    chosen = input.reshape(-1) != 0
    row = xp.where(chosen, xp.minimum(xp.cumsum(chosen) - 1, size), size)  # the last row is dropped
    for dim, length in enumerate(input.shape):
        found[row, dim] = xp.arange(chosen.size) // math.prod(input.shape[dim + 1 :]) % length
    return found[:size]


@op("argwhere", gradient=None, vmap="one_by_one")
def argwhere(input: Tensor) -> Tensor:
    """The positions of elements that are not 0, one in a row.

    `vmap` takes examples with equally many.

    Examples
    --------
    >>> weft.argwhere(weft.tensor([[0, 5], [6, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return argwhere.op(input)


argwhere.kernel(rows_of_positions)
argwhere.onnx(positions_onnx)


@op("count_nonzero", gradient=None, vmap="along_dims")
def count_nonzero(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Count the elements that are not 0, along some dimensions or in all.

    Parameters
    ----------
    input : Tensor
    dim : int or sequence of int, optional

    Returns
    -------
    Tensor of int64

    Examples
    --------
    >>> weft.count_nonzero(weft.tensor([[0, 5], [6, 7]]), dim=1)
    tensor([1, 2])
    """
    return count_nonzero.op(input, wrap_dims("count_nonzero", dim if dim != () else None, input.ndim))


@count_nonzero.kernel
def _(xp, input, dim):
    if not input.ndim:
        return xp.asarray(input != 0).astype(xp.int64)
    if len(dim) == input.ndim:
        return xp.asarray(xp.count_nonzero(input), xp.int64)
    return in_order(xp, xp.sum(input != 0, axis=dim, dtype=xp.int64))


@count_nonzero.onnx
def _(graph, input, dim):
    return graph.reduce(
        "ReduceSum", graph.cast(graph.truth(input), int64), range(input.ndim) if dim is None else dim, False
    )
