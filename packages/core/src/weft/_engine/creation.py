"""Calls that programs make most of functions that make tensors of no others.

They are made and named as those in `functions`.
"""

from __future__ import annotations

from typing import Any

import numpy

from weft._engine.dispatch import make, wrap
from weft._engine.dispatch_keys import LARGEST
from weft._engine.methods import whole_numbers
from weft._engine.tensor import TensorBase, state

SMALL = 8192  # elements up to which NumPy makes an array at once; more may be filled by several threads


def zeros(args: tuple[Any, ...]) -> Any:
    """Zeros of the default dtype on the CPU, where that is the default device."""
    key = state.new_key
    if key is None or state.intercepting:
        return None
    shape = whole_numbers(args, 0)
    if shape is None or len(args) == 0:
        return None
    try:
        return make(numpy.zeros(shape, key.dtype.numpy), key)
    except (MemoryError, ValueError):
        return None


def constant(value: float) -> Any:
    """A few elements of the default dtype on the CPU, where that is the default device, all of one value."""

    def quick(args: tuple[Any, ...]) -> Any:
        shape = whole_numbers(args, 0)
        return None if shape is None or len(args) == 0 else full_of(shape, value)

    return quick


def full(args: tuple[Any, ...]) -> Any:
    """The same of a shape and a float."""
    if len(args) != 2 or type(args[1]) is not float:
        return None
    size, value = args
    shape = whole_numbers((size,), 0)
    if shape is None or not -LARGEST <= value <= LARGEST:
        return None
    return full_of(shape, value)


def full_of(shape: tuple[int, ...], value: float) -> Any:
    key = state.new_key
    if key is None or state.intercepting or key.dtype.itemsize < 4:
        return None
    total = 1
    for size in shape:
        total *= size
    if total > SMALL or len(shape) > 64:  # what NumPy refuses, the declared function explains
        return None
    array = numpy.empty(shape, key.dtype.numpy)
    array.fill(value)
    return make(array, key)


def constant_like(value: float) -> Any:
    """A few elements of the kind and shape of a dense tensor, all of one value."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 1:
            return None
        model = args[0]
        if not isinstance(model, TensorBase):
            return None
        key = model._key
        array = model._array
        if not key.fast_path or not key.is_real_float or key.dtype.is_float8 or type(array) is not numpy.ndarray:
            return None
        size: int = array.size
        if size > SMALL or not array.flags.c_contiguous:
            return None
        made = numpy.empty(array.shape, array.dtype)
        made.fill(value)
        return make(made, key)

    return quick


def counting(args: tuple[Any, ...]) -> Any:
    """The first few whole numbers."""
    key = state.new_key
    if key is None or state.intercepting or len(args) != 1 or type(args[0]) is not int or not 0 <= args[0] <= SMALL:
        return None
    return wrap(numpy.arange(args[0], dtype=numpy.int64), key)


def identity(args: tuple[Any, ...]) -> Any:
    """A small identity matrix of the default dtype."""
    key = state.new_key
    if key is None or state.intercepting or len(args) == 0 or len(args) > 2:
        return None
    rows = args[0]
    columns = args[-1]
    if type(rows) is not int or type(columns) is not int or rows < 0 or columns < 0 or rows * columns > SMALL:
        return None
    array = numpy.zeros(rows * columns, key.dtype.numpy)
    array[: columns * columns : columns + 1] = 1
    return make(array.reshape(rows, columns), key)


SOME = 64  # numbers up to which a list is made sooner than an array is computed


def spaced(args: tuple[Any, ...]) -> Any:
    """Some evenly spaced numbers of the default dtype, computed from the nearer end."""
    key = state.new_key
    if key is None or state.intercepting or len(args) != 3 or key.dtype.itemsize < 4:
        return None
    first, last, steps = args
    if (type(first) is not float and type(first) is not int) or (type(last) is not float and type(last) is not int):
        return None
    if type(steps) is not int or not 2 <= steps <= SOME or not -LARGEST <= first <= LARGEST:
        return None
    if not -LARGEST <= last <= LARGEST:
        return None
    number: Any = key.dtype.numpy.type
    start = float(number(first))
    end = float(number(last))
    step = (end - start) / (steps - 1)
    if key.dtype.itemsize == 4:
        step = float(number(step))
    half = steps // 2
    values: list[float] = []
    for place in range(half):
        values.append(place * step + start)
    for place in range(steps - half - 1, -1, -1):
        values.append(end - place * step)
    return make(numpy.array(values, key.dtype.numpy), key)


def vector(data: Any) -> Any:
    """A tensor of a list of Python's floats, under the defaults; None for other data."""
    key = state.new_key
    if key is None or state.intercepting or type(data) is not list or len(data) == 0:
        return None
    for each in data:
        if type(each) is not float:
            return None
    return make(numpy.array(data, key.dtype.numpy), key)
