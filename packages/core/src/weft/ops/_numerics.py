"""What kernels are written with: constants, polynomials, blocks and branches, and what some array libraries lack."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy

from weft.backend import NoEquivalentError, owners_of, scientific

REAL = "bool int float"
BLOCK = 1 << 14  # elements whose temporaries stay in the first caches


def is_numpy(xp: Any) -> bool:
    """Whether a namespace's arrays are NumPy's: their values can be read without waiting for a device."""
    return xp is numpy or getattr(xp, "ndarray", None) is numpy.ndarray


def constant(xp: Any, value: Any, dtype: Any = None, *key: Any) -> Any:
    """An array that is the same at each call, kept in each device's memory: it is sent there once.

    Numbers that a function of arrays takes beside an array need none.

    Parameters
    ----------
    value : number, tuple or callable
        Numbers in nested tuples, or a function of ``key`` that makes a NumPy array. It is told from others by its
        identity, and has to be a module's.
    dtype : NumPy dtype, optional
        Default: that of the array which a function makes.
    *key : hashable
        The arguments of the function.

    Returns
    -------
    array, not to be written to
    """
    if is_numpy(xp):
        return kept(xp, 0, value, dtype, key)
    owner = owners_of(xp)[0]
    return kept(xp, owner.current_device(), value, dtype, key)


@lru_cache(1024, typed=True)
def kept(xp: Any, index: int, value: Any, dtype: Any, key: tuple[Any, ...]) -> Any:
    """An array of `constant` on a device, made when first asked for."""
    array = numpy.asarray(value(*key) if callable(value) else value, dtype)
    if is_numpy(xp):
        array.flags.writeable = False
        return array
    return owners_of(xp)[0].constant(array, index)


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
    if not is_numpy(xp) or first.size <= BLOCK or not all(each.flags.c_contiguous for each in arrays):
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
    """Each branch's function, computed only where its condition holds; of several that hold the last one's.

    On a device it is computed everywhere, and chosen from: to see where it is needed would be to wait. There may be
    several arrays x of one shape, in a tuple.
    """
    arrays = x if isinstance(x, tuple) else (xp.asarray(x),)
    if not is_numpy(xp):
        return chosen_from(xp, arrays, branches)
    result, like = None, arrays[0]
    for chosen, function in branches:
        if xp.all(chosen):
            result = function(*arrays)
        elif xp.any(chosen):
            if result is None or result is like:
                result = xp.full_like(like, xp.nan) if result is None else like.copy()
            result[chosen] = function(*[each[chosen] for each in arrays])
    return xp.full_like(like, xp.nan) if result is None else result


def chosen_from(xp: Any, arrays: tuple[Any, ...], branches: tuple[tuple[Any, Any], ...]) -> Any:
    """The branches of `pieces`, all computed everywhere."""
    result = math.nan
    for chosen, function in branches:
        result = xp.where(chosen, function(*arrays), result)
    return result


def array_of(xp: Any, value: Any, dtype: Any) -> Any:
    """An array of an array or of a number, which is filled in on the device and not sent there."""
    if is_numpy(xp) or hasattr(value, "dtype"):
        return xp.asarray(value, dtype)
    return xp.full((), value, dtype)


def select(xp: Any, condition: Any, first: Any, second: Any, dtype: Any) -> Any:
    """``xp.where`` for operands of a dtype, or numbers: CuPy's makes float32 of bfloat16, and of numbers int64."""
    found = xp.where(condition, first, second)
    return found if found.dtype == dtype else found.astype(dtype)


# What CuPy and others lack of NumPy's reductions


def peaks(xp: Any, input: Any, axis: Any, least: bool = False) -> Any:
    """The largest (or least) of floating-point elements along axes that are kept; where there are none, -inf (inf)."""
    first = math.inf if least else -math.inf
    if type(input) is numpy.ndarray:  # quicker with a first value than without
        ufunc: Any = numpy.minimum if least else numpy.maximum
        return ufunc.reduce(input, axis, None, None, True, first)
    if not input.size:
        dims = all_axes(axis, input.ndim)
        shape = [1 if d in dims else size for d, size in enumerate(input.shape)]
        return xp.full(shape, first, input.dtype)
    return (xp.min if least else xp.max)(input, axis=axis, keepdims=True)


def all_axes(axis: Any, ndim: int) -> list[int]:
    """The axes of a reduction as numbers from 0 on; None is all."""
    return list(range(ndim)) if axis is None else [d % ndim for d in (axis if isinstance(axis, tuple) else (axis,))]


def scan(xp: Any, function: Callable[..., Any], input: Any, axis: int) -> Any:
    """The running results of an associative function along an axis, in a new array: ``ufunc.accumulate``.

    Only NumPy has it for all ufuncs. Elsewhere each round doubles how many elements a result takes in, from the left:
    log2(n) rounds.

    Parameters
    ----------
    xp : module
    function : callable
        Of two arrays of one shape, the earlier elements first, and of ``out``: ``xp.maximum`` for example.
    input : array
        With one dimension at least.
    axis : int
    """
    if type(function) is numpy.ufunc:
        return function.accumulate(input, axis=axis)
    found, step = xp.moveaxis(input, axis, 0).copy(), 1
    spare = xp.empty(found.shape, found.dtype)
    while step < found.shape[0]:
        spare[:step] = found[:step]
        function(found[:-step], found[step:], out=spare[step:])
        found, spare, step = spare, found, 2 * step
    return xp.ascontiguousarray(xp.moveaxis(found, 0, axis))


def fold(xp: Any, function: Callable[[Any, Any], Any], input: Any, axis: Any, keepdims: bool = False) -> Any:
    """The elements along axes combined by an associative and commutative function: ``ufunc.reduce``.

    Only NumPy has it for all ufuncs. Elsewhere each round combines the two halves of what is left: log2(n) rounds.

    Parameters
    ----------
    xp : module
    function : callable
        Of two arrays of one shape, ``xp.bitwise_xor`` for example.
    input : array
    axis : int, tuple of int, or None
        Of not less than one element; None is all.
    keepdims : bool
    """
    if type(function) is numpy.ufunc:
        return function.reduce(input, axis=axis, keepdims=keepdims)
    dims = all_axes(axis, input.ndim)
    kept = [d for d in range(input.ndim) if d not in dims]
    shape = [input.shape[d] for d in kept]
    rows = input.transpose(*dims, *kept).reshape(math.prod([input.shape[d] for d in dims]), *shape)
    while rows.shape[0] > 1:
        half = rows.shape[0] // 2
        combined = function(rows[:half], rows[half : 2 * half])
        if rows.shape[0] % 2:
            combined[:1] = function(combined[:1], rows[-1:])
        rows = combined
    return rows[0].reshape([1 if d in dims else size for d, size in enumerate(input.shape)] if keepdims else shape)


def wide(xp: Any, value: Any) -> Any:
    """An array in double precision, which single precision is rounded from."""
    return array_of(xp, value, xp.float64)


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
