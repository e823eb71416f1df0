"""Matrix products by NumPy's BLAS, by the calls that are fastest; of integers too, as floats."""

from __future__ import annotations

import math
import sys
from threading import RLock
from typing import Any

import numpy

from weft.backend import hold_during_fork, in_order
from weft.backend_cpu import libraries, threads
from weft.backend_cpu.compiled.prebuilt import unless_missing
from weft.backend_cpu.registry import MIN_SIZE

__all__ = ["addmm", "linear", "matmul", "one_row", "wide_product"]

MAX_INTEGER_LOOP = 512
"""Multiplications up to which NumPy's own loop over integers is no slower (measured)."""

MIN_SIZE_BY_VECTOR = 2**17 if MIN_SIZE else 1
"""Elements of a matrix from which its product with a vector is faster in threads than NumPy's, in one (measured)."""

MAX_EXACT = 2.0**52
"""Integers up to this are exact in float64, and so are their sums, whatever their order."""

MAX_TERMS_SINGLE = 2**24 // 2**16
"""So many products of integers of 8 bits have a sum that is exact in float32."""


def matmul(input: Any, other: Any) -> Any:
    """The product of two matrices, of batches of them, or of vectors."""
    if (
        input.dtype.kind in "iu"
        and input.ndim > 1
        and other.ndim > 1
        and input.size * other.shape[-1] > MAX_INTEGER_LOOP
    ):
        return integer_product(input, other)
    if max(input.size, other.size) >= MIN_SIZE_BY_VECTOR and (product := by_vector(input, other)) is not None:
        return product
    if input.ndim == 2 and other.ndim == 2:
        if input.shape[1] == 1:
            return outer(input, other)
        return in_turn(numpy.dot, input, other)  # half the time of numpy.matmul where they are small
    if other.ndim == 2 and input.ndim > 2 and other.size:  # one product of all rows, where NumPy has one for each batch
        rows = input.reshape(-1, input.shape[-1])
        return in_turn(product_of(rows), rows, other).reshape(*input.shape[:-1], other.shape[-1])
    return in_turn(numpy.matmul, input, other)


def product_of(rows: Any) -> Any:
    """The function to multiply by: ``numpy.dot`` scales by a single number, and makes 0 of 0 times nan."""
    return numpy.matmul if rows.shape[1] == 1 else numpy.dot


blas_turn = RLock()
"""Held while the BLAS uses several threads. It has one pool, so that products take turns anyway; and OpenBLAS ends the
threads before a fork, so that a product would wait for them for ever."""
hold_during_fork(sys.modules[__name__], "blas_turn", is_inner=True)

MAX_SERIAL = 2**18
"""Multiplications up to which OpenBLAS uses the calling thread alone."""


def in_turn(product: Any, left: Any, right: Any) -> Any:
    """A product by the BLAS; those that it computes in several threads one at a time."""
    if threads.blas_is_serial or left.size * right.shape[-1] < MAX_SERIAL:
        return product(left, right)
    with blas_turn:
        return product(left, right)


def by_vector(input: Any, other: Any) -> Any:
    """The product by a vector, or by a row or a column in each matrix of a batch, in compiled loops; else None."""
    if input.dtype.char not in "fd" or not input.size or not other.size or (found := loops()) is None:
        return None
    shape: tuple[int, ...] = (-1,)
    if other.ndim == 1 < input.ndim:
        matrix, vector = input, other
    elif input.ndim == 1 < other.ndim:
        matrix, vector = other.swapaxes(-1, -2), input
    elif 1 < other.ndim <= input.ndim and other.shape[-1] == 1 < input.shape[-1]:
        matrix, vector, shape = input, other[..., 0], (-1, 1)
    elif 1 < input.ndim <= other.ndim and input.shape[-2] == 1 < input.shape[-1]:
        matrix, vector, shape = other.swapaxes(-1, -2), input[..., 0, :], (1, -1)
    else:
        return None
    made = unless_missing(found.product, matrix, vector)
    return made if made is None or len(shape) == 1 else made.reshape(*made.shape[:-1], *shape)


found_loops: Any = None  # once they are imported: products of small arrays do not ask again


def loops() -> Any:
    """The compiled loops: imported when they are first wanted; None without."""
    global found_loops
    if found_loops is None and libraries.import_loops():
        from weft.backend_cpu.compiled.kernels import matrix_vector

        found_loops = matrix_vector
    return found_loops


def one_row(row: Any, weight: Any, bias: Any) -> Any:
    """`linear` of a single row in a compiled loop that reads the weight once; None where NumPy's is no slower."""
    if weight.size < (MIN_SIZE_BY_VECTOR if weight.itemsize > 2 else MIN_SIZE) or row.dtype != weight.dtype:
        return None
    found = loops()
    return None if found is None else unless_missing(found.row_product, row, weight, bias)


def linear(input: Any, weight: Any, bias: Any) -> Any:
    """``input @ weight.T + bias``, all but the last dimension of the input being rows."""
    if input.size == weight.shape[1] and (product := one_row(input, weight, bias)) is not None:
        return product
    rows = input
    if input.ndim != 2:
        *shape, size = input.shape
        rows = in_order(numpy, input).reshape(math.prod(shape), size)
    if rows.shape[1] == 1 or rows.size * weight.shape[0] >= MAX_SERIAL:
        product = in_turn(product_of(rows), rows, weight.T)
    else:
        product = numpy.dot(rows, weight.T)
    if bias is not None:
        product += bias
    return product if input.ndim == 2 else product.reshape(*input.shape[:-1], weight.shape[0])


def addmm(input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    """``beta * input + alpha * (a @ b)``."""
    product = matmul(a, b)
    number = product.dtype.type
    if alpha != 1:
        product *= number(alpha)
    product += input if beta == 1 else input * number(beta)
    return product


def outer(column: Any, row: Any) -> Any:
    """The product of a matrix of one column and one of one row."""
    if column.size * row.size >= MIN_SIZE and column.dtype.char in "fd" and libraries.import_loops():
        from weft.backend_cpu.compiled.kernels.outer_products import outer as compiled

        made = unless_missing(compiled, column, row)
        if made is not None:
            return made
    return numpy.multiply(column, row)


def integer_product(input: Any, other: Any) -> Any:
    """The product of integers by floats, where these are exact: NumPy's own loops take thirty times as long.

    No sum of products is larger than the operands' norms multiplied with each other, by Cauchy and Schwarz: it is exact
    in float64 if that is small enough.
    """
    element = input.dtype
    if element.itemsize < 4:  # what is beyond its range goes around, as sums do
        return wide_product(input, other).astype(element)
    a, b = input.astype(numpy.float64), other.astype(numpy.float64)
    flat = a.reshape(-1), b.reshape(-1)
    if numpy.dot(flat[0], flat[0]) * numpy.dot(flat[1], flat[1]) >= MAX_EXACT * MAX_EXACT:
        return numpy.matmul(input, other)
    product = matmul(a, b).astype(numpy.int64)
    return product if product.dtype == element else product.astype(element)


def wide_product(input: Any, other: Any) -> Any:
    """The product of matrices of 8 bits in int32, of 16 bits in int64."""
    if input.itemsize > 1:
        return matmul(input.astype(numpy.float64), other.astype(numpy.float64)).astype(numpy.int64)
    real = numpy.float32 if input.shape[-1] <= MAX_TERMS_SINGLE else numpy.float64
    return matmul(input.astype(real), other.astype(real)).astype(numpy.int64).astype(numpy.int32)
