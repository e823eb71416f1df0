"""The standard's type promotion, which does not ask for the number of dimensions as PyTorch's does."""

from __future__ import annotations

from typing import Any

import numpy

import weft
from weft import Tensor
from weft._dtypes.dtypes import BOOL, COMPLEX, FLOATING, INTEGER, dtype, get_default_dtype, scalar_dtype

__all__ = ["PYTHON_NUMBERS", "promoted", "result_type"]

PYTHON_NUMBERS = (bool, int, float, complex, numpy.generic)
SIGNED = {8: weft.int8, 16: weft.int16, 32: weft.int32, 64: weft.int64}


def result_type(*arrays_and_dtypes: Tensor | dtype | complex) -> dtype:
    """The dtype that an operation on these has by the standard.

    A tensor without dimensions counts as any other. A Python number has the dtype of the arrays beside it where that
    is of its kind or a higher one.

    Parameters
    ----------
    *arrays_and_dtypes : Tensor, dtype or number

    Raises
    ------
    TypeError
        For uint64 with a signed integer dtype, of which no integer dtype holds all values.

    Examples
    --------
    >>> from weft import array_api as xp
    >>> xp.result_type(xp.asarray(1, dtype=xp.int64), xp.ones(2, dtype=xp.int32))
    weft.int64
    >>> xp.result_type(xp.int8, xp.uint8), xp.result_type(xp.float32, 1j)
    (weft.int16, weft.complex64)
    """
    common: dtype | None = None
    number: dtype | None = None
    for each in arrays_and_dtypes:
        if isinstance(each, PYTHON_NUMBERS):
            found = scalar_dtype(each)
            number = found if number is None else wider(number, found)
        elif isinstance(each, (Tensor, dtype)):
            found = each if isinstance(each, dtype) else each.dtype
            common = found if common is None else wider(common, found)
        else:
            raise TypeError(f"result_type: expected tensors, dtypes or numbers, got {type(each).__name__}")
    if common is None and number is None:
        raise ValueError("result_type: at least one array, dtype or number is required")
    if common is None or number is None:
        return common or number  # type: ignore[return-value]
    return beside_number(common, number)


def wider(first: dtype, second: dtype) -> dtype:
    """The dtype of an operation on arrays of two dtypes."""
    if first is second:
        return first
    low, high = sorted((first, second), key=lambda each: each.category)
    if low.category == high.category == INTEGER:
        return wider_integer(first, second)
    if high.category == INTEGER or (high.category == FLOATING and low.category <= INTEGER):
        return high
    if high.category == COMPLEX and low.category <= INTEGER:
        return high
    return weft.promote_types(first, second)


def wider_integer(first: dtype, second: dtype) -> dtype:
    """The smallest integer dtype that holds the values of both.

    Raises
    ------
    TypeError
        If there is none.
    """
    if first.is_signed == second.is_signed:
        return first if first.itemsize > second.itemsize else second
    unsigned, signed = (second, first) if first.is_signed else (first, second)
    bits = 8 * max(2 * unsigned.itemsize, signed.itemsize)
    if bits not in SIGNED:
        raise TypeError(
            f"result_type: no integer dtype holds the values of {first} and {second}; convert one of them first, for "
            "example with astype(x, int64)"
        )
    return SIGNED[bits]


def beside_number(element: dtype, number: dtype) -> dtype:
    """The dtype of an array beside a Python number; what the standard leaves open is as in PyTorch."""
    if number.category <= element.category:
        return element
    if number.category == COMPLEX and element.category == FLOATING:
        return element.to_complex()
    if element.category == BOOL or number.category == COMPLEX:
        return number
    return get_default_dtype()


def promoted(*operands: Any) -> list[Tensor]:
    """Operands as tensors of their common dtype, on the device of the tensors among them.

    Raises
    ------
    TypeError
        If there is no tensor.
    """
    tensors = [each for each in operands if isinstance(each, Tensor)]
    if not tensors:
        raise TypeError(
            "expected at least one array among the operands, got "
            f"{', '.join(type(each).__name__ for each in operands)}; make one with asarray(...)"
        )
    element = result_type(*operands)
    return [
        each.to(element) if isinstance(each, Tensor) else weft.tensor(each, dtype=element, device=tensors[0].device)
        for each in operands
    ]
