"""Fast paths of functions that make tensors of no others."""

from __future__ import annotations

from typing import Any, Final

import numpy

from weft._engine.dispatch import make, wrap
from weft._engine.dispatch_keys import LARGEST
from weft._engine.fast_paths import FastPath
from weft._engine.tensor import TensorBase, state

new_zeros: Final[Any] = numpy.zeros
new_empty: Final[Any] = numpy.empty
SMALL: Final = 8192  # elements up to which NumPy makes an array at once; more may be filled by several threads
SOME: Final = 64  # numbers up to which a list is made sooner than an array is computed


class Zeros(FastPath):
    """Zeros of the default dtype on the CPU, where that is the default device."""

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        key = state.new_key
        if key is None or state.intercepting:
            return None
        try:
            return make(new_zeros(values[0], key.array_dtype), key)
        except (MemoryError, ValueError):
            return None


class Ones(FastPath):
    """The same of ones, if there are few."""

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        return filled(values[0], 1.0)


class Full(FastPath):
    """The same of a float."""

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        value: Any = values[1]
        return filled(values[0], value) if type(value) is float and -LARGEST <= value <= LARGEST else None


def filled(shape: tuple[int, ...], value: float) -> Any:
    """A few elements of the default dtype on the CPU, where that is the default device, all of one value."""
    key = state.new_key
    if key is None or state.intercepting or key.itemsize < 4:
        return None
    total = 1
    for size in shape:
        total *= size
    if total > SMALL or len(shape) > 64:  # what NumPy refuses, the declared function explains
        return None
    array = new_empty(shape, key.array_dtype)
    array.fill(value)
    return make(array, key)


class FullLike(FastPath):
    """A few elements of the kind and shape of a dense tensor, all of one value."""

    def __init__(self, value: float) -> None:
        super().__init__(takes="input")
        self.value = value

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        model: TensorBase = values[0]
        key = model._key
        array = model._array
        if key.dtype.is_float8 or type(array) is not numpy.ndarray:
            return None
        size: int = array.size
        if size > SMALL or not array.flags.c_contiguous:
            return None
        made = new_empty(array.shape, array.dtype)
        made.fill(self.value)
        return make(made, key)


class Arange(FastPath):
    """The first few whole numbers."""

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        key = state.new_key
        count, step = values[0], values[2]
        if key is None or state.intercepting or values[1] is not None:
            return None
        if type(count) is not int or type(step) is not int or step != 1:
            return None
        return wrap(numpy.arange(count, dtype=numpy.int64), key) if 0 <= count <= SMALL else None


class Eye(FastPath):
    """A small identity matrix of the default dtype."""

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        key = state.new_key
        rows = values[0]
        columns = rows if values[1] is None else values[1]
        if key is None or state.intercepting or type(columns) is not int:
            return None
        if rows < 0 or columns < 0 or rows * columns > SMALL:
            return None
        array = new_zeros(rows * columns, key.array_dtype)
        array[: columns * columns : columns + 1] = 1
        return make(array.reshape(rows, columns), key)


class Linspace(FastPath):
    """Some evenly spaced numbers of the default dtype, computed from the nearer end."""

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        key = state.new_key
        first, last = values[0], values[1]
        steps: int = values[2]
        if key is None or state.intercepting or key.itemsize < 4 or not 2 <= steps <= SOME:
            return None
        if (type(first) is not float and type(first) is not int) or (type(last) is not float and type(last) is not int):
            return None
        if not -LARGEST <= first <= LARGEST or not -LARGEST <= last <= LARGEST:
            return None
        number: Any = key.array_dtype.type
        start = float(number(first))
        end = float(number(last))
        step = (end - start) / (steps - 1)
        if key.itemsize == 4:
            step = float(number(step))
        half = steps // 2
        found: list[float] = []
        for place in range(half):
            found.append(place * step + start)
        for place in range(steps - half - 1, -1, -1):
            found.append(end - place * step)
        return make(numpy.array(found, key.array_dtype), key)


def vector(data: Any) -> Any:
    """A tensor of a list of Python's floats, under the defaults; None for other data."""
    key = state.new_key
    if key is None or state.intercepting or type(data) is not list or len(data) == 0:
        return None
    for each in data:
        if type(each) is not float:
            return None
    return make(numpy.array(data, key.array_dtype), key)
