"""Kernels of small NumPy arrays, compiled with the engine: their arithmetic costs less than a frame of Python.

Each is made from the kernel that it stands before, which takes what it does not. A backend whose arrays are NumPy's may
put them there.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy

from weft._engine.dispatch_keys import KernelBySize
from weft._engine.tensor import is_compiled

FEW: Final = 4096  # elements below which an array is small

dot: Final[Any] = getattr(numpy.dot, "__wrapped__", numpy.dot)  # without the look for other classes of arrays
concatenate: Final[Any] = getattr(numpy.concatenate, "__wrapped__", numpy.concatenate)
new_array: Final[Any] = numpy.ndarray
sum_along: Final[Any] = numpy.add.reduce
highest_along: Final[Any] = numpy.maximum.reduce
add: Final[Any] = numpy.add
array: Final[Any] = numpy.asarray
divide: Final[Any] = numpy.divide
exp: Final[Any] = numpy.exp
log: Final[Any] = numpy.log
multiply: Final[Any] = numpy.multiply
product: Final[Any] = numpy.matmul
reciprocal: Final[Any] = numpy.reciprocal
sqrt: Final[Any] = numpy.sqrt
subtract: Final[Any] = numpy.subtract
units: Final[dict[str, Any]] = {char: numpy.ones(FEW, char) for char in "fd"}  # ones, by the character of their dtype


def least_of(kernel: Any) -> int:
    """From how many elements on an array is too large to be small for a kernel, and here."""
    return min(kernel.least, FEW) if isinstance(kernel, KernelBySize) else FEW


def small_of(kernel: Any) -> Any:
    """The kernel of small arrays so far."""
    return kernel.small if isinstance(kernel, KernelBySize) else kernel


def beside(small: Any, kernel: Any) -> KernelBySize:
    """The kernel with another one for calls that begin with an array which is small for it."""
    if isinstance(kernel, KernelBySize):
        return KernelBySize(small, kernel.large, kernel.least)
    return KernelBySize(small, kernel, FEW)


def row_sums(rows: Any, keep: bool) -> Any:
    """The sums of the rows of a matrix of float32 or float64, in a column if kept: its product with ones."""
    ones = units.get(rows.dtype.char)
    size: int = rows.shape[1]
    if ones is None or size > FEW or not rows.flags.c_contiguous:
        return sum_along(rows, 1, rows.dtype, None, keep)
    sums = dot(rows, ones[:size])
    return sums[:, None] if keep else sums


class Joining:
    """Arrays end to end: joined as bytes, which takes half the time of ``numpy.concatenate``.

    There is no arithmetic, hence no warning, so that the engine calls `join` as it is.
    """

    def __init__(self, generic: Any) -> None:
        self.generic = generic
        self.least = least_of(generic)

    def __call__(self, arrays: list[Any], dim: int) -> Any:
        return self.join(arrays, dim)

    def join(self, arrays: list[Any], dim: int) -> Any:
        """The array of a list of them along a dimension."""
        first = arrays[0]
        if not is_compiled and first.size < self.least:  # the lines below would cost more than they save
            joined = concatenate(arrays, dim)
            return joined if joined.flags.c_contiguous else self.generic(arrays, dim)
        shape: tuple[Any, ...] = first.shape
        ndim = len(shape)
        if dim != 0 or ndim == 0 or elements(shape) >= self.least:
            return self.generic(arrays, dim)
        rows: int = shape[0]
        for place in range(1, len(arrays)):
            other: tuple[Any, ...] = arrays[place].shape
            if other != shape and (len(other) != ndim or other[1:] != shape[1:]):
                return self.generic(arrays, dim)
            count: int = other[0]
            rows += count
        try:
            memory = bytearray().join(arrays)
        except (BufferError, TypeError, ValueError):  # not contiguous, or of a dtype that others do not know
            return self.generic(arrays, dim)
        made: Any = rows if ndim == 1 else (rows, shape[1]) if ndim == 2 else (rows, *shape[1:])
        return new_array(made, first.dtype, memory)


def elements(shape: tuple[Any, ...]) -> int:
    """How many an array of this shape has: to ask it itself takes longer."""
    count = 1
    for size in shape:
        length: int = size
        count *= length
    return count


class Stacking(Joining):
    """Arrays of one shape along a new dimension, in the same way."""

    def join(self, arrays: list[Any], dim: int) -> Any:
        first = arrays[0]
        shape: tuple[Any, ...] = first.shape
        if dim != 0 or elements(shape) >= self.least:
            return self.generic(arrays, dim)
        try:
            memory = bytearray().join(arrays)
        except (BufferError, TypeError, ValueError):
            return self.generic(arrays, dim)
        return new_array((len(arrays), *shape), first.dtype, memory)


def summing(kernel: Any) -> KernelBySize:
    """The sum of an array of float32 or float64: its product with ones, begun in half the time."""
    generic = small_of(kernel)

    def small(input: Any, dim: Any, keepdim: Any) -> Any:
        if keepdim or len(dim) != input.ndim:
            return generic(input, dim, keepdim)
        ones = units.get(input.dtype.char)
        size: int = input.size
        if ones is None or not 8 <= size <= FEW:  # fewer are added one by one, so that they are rounded as everywhere
            return generic(input, dim, keepdim)
        return dot(input.reshape(size), ones[:size])

    return beside(small, kernel)


def multiplying(kernel: Any) -> KernelBySize:
    """The product of two matrices by ``numpy.dot``, which takes half the time of ``numpy.matmul``."""
    generic = small_of(kernel)

    def small(left: Any, right: Any) -> Any:
        size: int = left.size
        if left.ndim != 2 or right.ndim != 2 or left.dtype.char not in units:
            return generic(left, right)
        columns: int = right.shape[1]
        if size == 1 or (columns == 1 and right.shape[0] == 1):  # `numpy.dot` scales by one number, and leaves 0 out
            return multiply(left, right)
        return dot(left, right) if size * columns <= FEW else generic(left, right)

    return beside(small, kernel)


def rows_of(input: Any, dim: int) -> Any:
    """A contiguous array of float32 or float64 as a matrix whose rows are along its last dim; None for another."""
    shape: tuple[Any, ...] = input.shape
    ndim = len(shape)
    if ndim == 0 or dim != ndim - 1 or input.dtype.char not in units or not input.flags.c_contiguous:
        return None
    size: int = shape[dim]
    if not 0 < size <= FEW:
        return None
    return input if ndim == 2 else input.reshape(-1, size)


def softmax(kernel: Any) -> KernelBySize:
    """The softmax along the last dim: with sums as products with ones, and few frames between NumPy's functions."""
    generic = small_of(kernel)

    def small(input: Any, dim: Any) -> Any:
        rows = rows_of(input, dim)
        if rows is None:
            return generic(input, dim)
        flat = rows.reshape(-1)
        if dot(flat, flat) <= MODERATE:  # not so for nan
            result = exp(rows)
        else:
            result = subtract(rows, highest_along(rows, 1, None, None, True, -math.inf))
            exp(result, result)
        divide(result, row_sums(result, True), result)
        return result if rows is input else result.reshape(input.shape)

    return beside(small, kernel)


MODERATE: Final = 32.0**2  # of numbers whose squares have this sum the exponentials, and their sums, are in range


def log_softmax(kernel: Any) -> KernelBySize:
    """The logarithm of the softmax along the last dim, in the same way."""
    generic = small_of(kernel)

    def small(input: Any, dim: Any) -> Any:
        rows = rows_of(input, dim)
        if rows is None:
            return generic(input, dim)
        result = subtract(rows, highest_along(rows, 1, None, None, True, -math.inf))
        sums = row_sums(exp(result), True)
        subtract(result, log(sums, sums), result)
        return result if rows is input else result.reshape(input.shape)

    return beside(small, kernel)


def layer_norm(kernel: Any) -> KernelBySize:
    """The layer norm over the last dim, in the same way, with the means and inverse deviations."""
    generic = small_of(kernel)

    def small(input: Any, weight: Any, bias: Any, count: Any, eps: Any) -> Any:
        shape: tuple[Any, ...] = input.shape
        rows = rows_of(input, len(shape) - 1) if count == 1 else None
        if rows is None:
            return generic(input, weight, bias, count, eps)
        number = input.dtype.type
        if rows.shape[0] == 1:
            return normalized_row(input, rows, weight, bias, float(eps), number)
        size = number(shape[-1])
        mean = row_sums(rows, True)
        divide(mean, size, mean)
        normal = subtract(rows, mean)
        inverse = row_sums(multiply(normal, normal), True)
        divide(inverse, size, inverse)
        add(inverse, number(eps), inverse)
        sqrt(inverse, inverse)
        reciprocal(inverse, inverse)
        multiply(normal, inverse, normal)
        if weight is not None:
            multiply(normal, weight, normal)
        if bias is not None:
            add(normal, bias, normal)
        if rows is input:
            return normal, mean, inverse
        kept = (*shape[:-1], 1)
        return normal.reshape(shape), mean.reshape(kept), inverse.reshape(kept)

    return beside(small, kernel)


def normalized_row(input: Any, row: Any, weight: Any, bias: Any, eps: float, number: Any) -> tuple[Any, Any, Any]:
    """The layer norm of a single row, whose statistics are numbers: they cost less than arrays."""
    size: int = row.shape[1]
    flat = row.reshape(size)
    mean = number(float(dot(flat, units[input.dtype.char][:size])) / size)
    normal = subtract(input, mean)
    flat = normal.reshape(size)
    inverse = number(inverse_root(float(dot(flat, flat)) / size + eps))
    multiply(normal, inverse, normal)
    if weight is not None:
        multiply(normal, weight, normal)
    if bias is not None:
        add(normal, bias, normal)
    kept = (1,) * input.ndim
    return normal, array(mean).reshape(kept), array(inverse).reshape(kept)


def inverse_root(value: float) -> float:
    """``1 / sqrt(value)`` with NumPy's results where Python has errors."""
    if value > 0.0:
        return 1.0 / math.sqrt(value)
    return math.inf if value == 0.0 else math.nan


def rms_norm(kernel: Any) -> KernelBySize:
    """The RMS norm over the last dim, with the inverses of the root mean squares."""
    generic = small_of(kernel)

    def small(input: Any, weight: Any, count: Any, eps: Any) -> Any:
        shape: tuple[Any, ...] = input.shape
        rows = rows_of(input, len(shape) - 1) if count == 1 else None
        if rows is None:
            return generic(input, weight, count, eps)
        number = input.dtype.type
        size: int = shape[-1]
        inverse: Any
        if rows.shape[0] == 1:
            flat = rows.reshape(size)
            root = number(inverse_root(float(dot(flat, flat)) / size + float(eps)))
            normal = multiply(input, root)
            inverse = array(root)
        else:
            inverse = row_sums(multiply(rows, rows), True)
            divide(inverse, number(size), inverse)
            add(inverse, number(eps), inverse)
            sqrt(inverse, inverse)
            reciprocal(inverse, inverse)
            normal = multiply(rows, inverse).reshape(shape)
        if weight is not None:
            multiply(normal, weight, normal)
        return normal, inverse.reshape((*shape[:-1], 1))

    return beside(small, kernel)


def attention(kernel: Any) -> KernelBySize:
    """Attention without a mask, whose result is a product of what has the sums of the exponentials as well."""
    generic = small_of(kernel)

    def small(query: Any, key: Any, value: Any, mask: Any, drawn: Any, factor: Any, is_causal: Any) -> Any:
        if mask is not None or drawn is not None or is_causal or query.dtype.char not in units or query.ndim < 2:
            return generic(query, key, value, mask, drawn, factor, is_causal)
        keys: int = key.shape[-2]
        if keys == 0 or query.size * keys > FEW * value.shape[-1]:
            return generic(query, key, value, mask, drawn, factor, is_causal)
        scores = product(multiply(query, query.dtype.type(factor)), key.swapaxes(-1, -2))
        flat = scores.reshape(-1)
        most: Any = None
        if not dot(flat, flat) <= MODERATE:  # or nan
            most = highest_along(scores, -1, None, None, True, -math.inf)
            subtract(scores, most, scores)
        exp(scores, scores)
        total = sum_along(scores, -1, None, None, True)
        result = product(scores, value)
        divide(result, total, result)
        log(total, total)
        if most is not None:
            add(total, most, total)
        return result, total.reshape(query.shape[:-1])

    return beside(small, kernel)
