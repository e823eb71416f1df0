"""Polynomials, blocks and branches: what the special functions' kernels are written with."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy

from weft.backend import NoEquivalentError, scientific

REAL = "bool int float"
BLOCK = 1 << 14  # elements whose temporaries stay in the first caches


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """The polynomial with these coefficients (highest power first) at each element, in new memory."""
    first, *others, last = numbers_in(x.dtype, coefficients) if type(x) is numpy.ndarray else coefficients
    value = x * first
    for each in others:
        value += each
        value *= x
    value += last
    return value


@lru_cache(256)
def numbers_in(dtype: Any, numbers: tuple[float, ...]) -> list[Any]:
    """Numbers as arrays without dimensions, which NumPy takes in half the time of Python's."""
    return [numpy.array(each, dtype) for each in numbers]


def in_blocks(xp: Any, function: Any, *arrays: Any) -> Any:
    """A function of equally shaped arrays, applied to pieces whose temporaries fit a processor's cache."""
    first = arrays[0]
    if xp.ndarray is not numpy.ndarray or first.size <= BLOCK or not all(each.flags.c_contiguous for each in arrays):
        return function(*arrays)
    result = xp.empty(first.shape, first.dtype)
    flat, target = [each.reshape(-1) for each in arrays], result.reshape(-1)
    for start in range(0, first.size, BLOCK):
        stop = start + BLOCK
        target[start:stop] = function(*[each[start:stop] for each in flat])
    return result


def doubly(xp: Any, function: Any, x: Any) -> Any:
    """A function of an array of float64, of an array of another dtype: its result is rounded to that."""
    return in_blocks(xp, lambda block: function(xp, wide(xp, block)).astype(block.dtype), xp.asarray(x))


def pieces(xp: Any, x: Any, *branches: tuple[Any, Any]) -> Any:
    """Each branch's function, computed only where its condition holds; of several that hold the last one's."""
    x = xp.asarray(x)
    result = None
    for chosen, function in branches:
        if xp.all(chosen):
            result = function(x)
        elif xp.any(chosen):
            if result is None or result is x:
                result = xp.full_like(x, xp.nan) if result is None else x.copy()
            result[chosen] = function(x[chosen])
    return xp.full_like(x, xp.nan) if result is None else result


def wide(xp: Any, value: Any) -> Any:
    """An array in double precision, which single precision is rounded from."""
    return xp.asarray(value, dtype=xp.float64)


def scipy_function(xp: Any, op: str, name: str) -> Any:
    """A function of ``scipy.special`` for the arrays of a namespace.

    Raises
    ------
    ImportError
        If SciPy (or its equivalent for the device) is not installed.
    NoEquivalentError
        If the equivalent lacks the function.
    """
    found = getattr(scientific(xp, "special", op), name, None)
    if found is None:
        raise NoEquivalentError(f"{op}: not on this device, whose scipy.special has no {name}; use .to('cpu')")
    return found
