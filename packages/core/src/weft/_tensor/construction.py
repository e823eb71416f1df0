"""From numbers in nested sequences to one array: what `weft.tensor` infers."""

from __future__ import annotations

import math
import sys
from functools import reduce
from itertools import chain, islice
from typing import Any

import numpy

from weft._dtypes.dtypes import (
    ALL,
    BY_NUMPY,
    BY_PYTHON,
    COMPLEX,
    FLOATING,
    INTEGER,
    dtype,
    get_default_dtype,
    promote_types,
    uint64,
)
from weft._dtypes.float8 import converted
from weft._engine.tensor import TensorBase, run_quietly
from weft._settings import warn_caller_once, warn_of_history

MAX_DIMS = 64  # NumPy's
NO_SEQUENCES = (str, bytes, dict, set, frozenset)
PYTHON_NUMBERS = frozenset((bool, int, float, complex))
# What each integer dtype takes: negative numbers wrap around in an unsigned one.
LIMITS = {
    element: (-info.max if element.numpy.kind == "u" else info.min, info.max)
    for element, info in ((each, numpy.iinfo(each.numpy)) for each in ALL if each.category == INTEGER)
}


def array_of(data: Any, element: dtype | None = None) -> numpy.ndarray[Any, Any]:
    """Return a new array of numbers, or of numbers in sequences within sequences.

    Parameters
    ----------
    data : number, NumPy number, one-element Tensor, or sequence of any of these or of sequences
    element : dtype, optional
        Default: the promotion of all that the data has. Python floats have the default dtype.

    Raises
    ------
    ValueError
        If sequences beside each other differ in length, or nest without end.
    TypeError
        If something is no number.
    RuntimeError
        If a number does not fit the dtype.
    """
    shape: tuple[int, ...] = ()
    if type(data) in PYTHON_NUMBERS:
        numbers = [data]
    elif (joined := stacked(data, element)) is not None:
        return joined
    else:
        shape, numbers = flatten(data)
    kinds = set(map(type, numbers))
    if not kinds <= PYTHON_NUMBERS:
        numbers, found = python_numbers(numbers, element)
        kinds = set(map(type, numbers))
    elif element is None:
        found = reduce(promote_types, map(default_of, kinds)) if kinds else get_default_dtype()
    else:
        found = element
    array: numpy.ndarray[Any, Any] = run_quietly(convert, numbers, kinds, found).reshape(shape)
    return array


def stacked(data: Any, element: dtype | None) -> numpy.ndarray[Any, Any] | None:
    """Join NumPy arrays of one shape and dtype without looking at each number; None if the data is anything else."""
    if not isinstance(data, list | tuple) or not data or type(data[0]) is not numpy.ndarray:
        return None
    shape, found = data[0].shape, BY_NUMPY.get(data[0].dtype)
    if found is None or element not in (None, found) or not shape:
        return None
    if any(type(each) is not numpy.ndarray or each.shape != shape or each.dtype != data[0].dtype for each in data):
        return None
    warn_of_arrays()
    return numpy.stack(data)


def warn_of_arrays() -> None:
    warn_caller_once(
        "tensor: creating a tensor from a list of numpy.ndarrays is extremely slow; make one array of them first, with "
        "numpy.array()"
    )


def is_sequence(value: Any) -> bool:
    """Whether an element stands for a further dimension."""
    if isinstance(value, list | tuple):
        return True
    if isinstance(value, TensorBase):
        return bool(value._array.size != 1)
    if isinstance(value, NO_SEQUENCES):
        return False
    return hasattr(value, "__len__") and hasattr(value, "__getitem__") and getattr(value, "ndim", 1) != 0


def flatten(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape that the first elements show, and all numbers in order."""
    check_depth(data)
    shape: list[int] = []
    level: list[Any] = [data]
    while level and is_sequence(level[0]):
        size = len(level[0])
        if shape and type(level[0]) is numpy.ndarray:
            warn_of_arrays()
        for each in level:
            if not is_sequence(each):
                raise TypeError(
                    f"tensor: not a sequence: {type(each).__name__} beside one of length {size} at dim {len(shape)}"
                )
            if len(each) != size:
                raise ValueError(f"tensor: expected sequence of length {size} at dim {len(shape)} (got {len(each)})")
        shape.append(size)
        level = list(chain.from_iterable(members(each, size, len(shape)) for each in level))
    return tuple(shape), level


def members(sequence: Any, size: int, dim: int) -> Any:
    """The elements of a sequence; of one that is no list, as many as it says that it has."""
    if isinstance(sequence, list | tuple):
        return sequence
    if size > sys.maxsize >> 10:
        raise RuntimeError(f"tensor: not enough memory for a sequence of length {size} at dim {dim - 1}")
    found = list(islice(sequence, size + 1))
    if len(found) != size:
        raise ValueError(f"tensor: expected sequence of length {size} at dim {dim - 1}, which has another number")
    return found


def check_depth(data: Any) -> None:
    """Refuse a list that contains itself before anything is copied; and text, which is its own first element."""
    first, depth = data, 0
    while is_sequence(first):
        if depth == MAX_DIMS:
            raise ValueError(f"tensor: too many dimensions {type(first).__name__!r}; {MAX_DIMS} is the limit")
        if isinstance(first, TensorBase) and depth:
            raise no_scalar(first)
        if not len(first):
            return
        first, depth = first[0], depth + 1
    if isinstance(first, str | bytes):
        if isinstance(first, str) and depth:
            raise ValueError(f"tensor: too many dimensions {type(first).__name__!r}: text is no number")
        raise TypeError(f"tensor: invalid data type {type(first).__name__!r}: text is no number")


def no_scalar(tensor: Any) -> ValueError:
    """The error for a tensor in a sequence of numbers, if it does not have one element."""
    return ValueError(
        f"tensor: only one element tensors can be converted to Python scalars; got a tensor of shape "
        f"{list(tensor._array.shape)} in a sequence. Use weft.stack to join tensors"
    )


def python_numbers(numbers: list[Any], element: dtype | None) -> tuple[list[Any], dtype]:
    """Replace NumPy's numbers and tensors by Python's, and find the dtype that they have together."""
    converted, found = [], set()
    for number in numbers:
        if isinstance(number, numpy.generic) or (isinstance(number, numpy.ndarray) and number.ndim == 0):
            if number.dtype not in BY_NUMPY:
                raise unsupported("tensor", number.dtype)
            found.add(BY_NUMPY[number.dtype])
            number = number.item()
        elif isinstance(number, TensorBase):
            if number._array.size != 1:
                raise no_scalar(number)
            found.add(number._key.dtype)
            warn_of_history(number)
            number = number.item()  # type: ignore[attr-defined]
        elif isinstance(number, complex | float | int):  # subclasses too, such as IntEnum
            kind: Any = next(kind for kind in (bool, int, float, complex) if isinstance(number, kind))
            found.add(default_of(kind))
            number = kind(number)
        else:
            raise no_number(number, element)
        converted.append(number)
    return converted, reduce(promote_types, found) if element is None else element


def default_of(kind: type) -> dtype:
    """The dtype of one of Python's numbers."""
    default = get_default_dtype()
    return {float: default, complex: default.to_complex()}.get(kind) or BY_PYTHON[kind]


def no_number(value: Any, element: dtype | None) -> Exception:
    """The error for what is no number."""
    name = type(value).__name__
    if isinstance(value, str | bytes):
        return TypeError(f"tensor: invalid data type {name!r}: text is no number")
    if is_sequence(value):
        return TypeError(f"tensor: {name!r} object cannot be interpreted as a number: not all elements are sequences")
    if element is None:
        return RuntimeError(f"tensor: could not infer dtype of {name}")
    return TypeError(f"tensor: must be a number to become {element}, not {name}")


def unsupported(name: str, element: Any) -> TypeError:
    """The error for a NumPy dtype that tensors do not have."""
    return TypeError(
        f"{name}: can't convert a NumPy array of {element}; the supported types are {', '.join(map(str, BY_NUMPY))}. "
        "Convert it with .astype first"
    )


def convert(numbers: list[Any], kinds: set[type], element: dtype) -> numpy.ndarray[Any, Any]:
    """Convert Python numbers as C would, and check that they fit."""
    if not numbers:
        return numpy.empty(0, element.numpy)
    if element.category == COMPLEX:
        return numpy.array(numbers, numpy.complex128).astype(element.numpy)
    if element.numpy.kind == "b":
        return numpy.array(list(map(bool, numbers)), numpy.bool_)
    if complex in kinds:
        raise TypeError(f"tensor: a complex number cannot become {element}, which is real; take its .real first")
    if element.category == FLOATING:
        array = numpy.array(numbers, numpy.float64)
        if element.is_float8:
            return converted(array, element.numpy)
        if element.is_half:  # rounded twice, as PyTorch does
            array = array.astype(numpy.float32)
        return array.astype(element.numpy)
    return integers(numbers, kinds, element)


def integers(numbers: list[Any], kinds: set[type], element: dtype) -> numpy.ndarray[Any, Any]:
    """Cut off fractions, and wrap what `LIMITS` lets pass."""
    if float in kinds:
        if not all(map(math.isfinite, numbers)):
            raise RuntimeError(f"tensor: value cannot be converted to type {element.name} without overflow: not finite")
        if element.numpy.kind == "u" and any(type(number) is float and number < 0 for number in numbers):
            raise RuntimeError(f"tensor: value cannot be converted to type {element.name} without overflow: negative")
        numbers = list(map(int, numbers))
    low, high = min(numbers), max(numbers)
    lowest, highest = LIMITS[element]
    if element is uint64 and (low < 0 or high > highest):
        raise OverflowError(f"tensor: {short(low if low < 0 else high)} is outside the range of uint64")
    if low < lowest or high > highest:
        wrong = low if low < lowest else high
        if float not in kinds and not -(1 << 63) <= wrong < 1 << 63:
            raise ValueError(f"tensor: Overflow when unpacking long long: {short(wrong)} does not fit int64")
        raise RuntimeError(f"tensor: value cannot be converted to type {element.name} without overflow: {short(wrong)}")
    wide = numpy.uint64 if element is uint64 else numpy.int64
    return numpy.array(numbers, wide).astype(element.numpy)


def short(number: int) -> str:
    """Text for a message; Python refuses to print the longest integers."""
    return str(number) if number.bit_length() <= 128 else f"an integer of {number.bit_length()} bits"
