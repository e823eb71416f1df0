"""Products without sums: outer, cross and Kronecker products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel, rounding_loop
from weft.backend_cpu.registry import MIN_SIZE, MIN_SIZE_FUSED, register_kernel

__all__ = ["outer"]

# A column times a row: NumPy's loop takes twice as long


@loop
def multiply_rows(column, row, result, lo, hi):
    for i in range(lo, hi):
        factor, target = column[i], result[i]
        for j in range(np.uintp(row.size)):
            target[j] = factor * row[j]


@launcher
def multiply_column(column, row, result):
    parallel(multiply_rows, (column, row, result), column.size, result.size)


def outer(column: Any, row: Any) -> Any:
    """The product of a matrix of one column and one of one row, of one real dtype."""
    result = np.empty((column.size, row.size), column.dtype)
    multiply_column(np.ascontiguousarray(column).reshape(-1), np.ascontiguousarray(row).reshape(-1), result)
    return result


# Cross products. Products are rounded before they are subtracted, so that that of a vector and itself is 0.


@rounding_loop
def cross_loop(x, y, z, by_outer, lo, hi):
    first, last = (lo, hi) if by_outer else (np.uintp(0), np.uintp(x.shape[0]))
    left, right = (np.uintp(0), np.uintp(x.shape[2])) if by_outer else (lo, hi)
    for outer in range(first, last):
        a, b, made = x[outer], y[outer], z[outer]
        for i in range(left, right):
            a0, a1, a2 = a[0, i], a[1, i], a[2, i]
            b0, b1, b2 = b[0, i], b[1, i], b[2, i]
            made[0, i] = a1 * b2 - a2 * b1
            made[1, i] = a2 * b0 - a0 * b2
            made[2, i] = a0 * b1 - a1 * b0


@launcher
def cross(x, y, z):
    """Cross products along the second of three dimensions."""
    by_outer = x.shape[0] > 1
    parallel(cross_loop, (x, y, z, by_outer), x.shape[0] if by_outer else x.shape[2], z.size)


@register_kernel("core::linalg_cross", dtypes="float32 float64 int64 int32", min_size=MIN_SIZE_FUSED)
def cross_kernel(generic: Any) -> Any:
    def run(x: Any, y: Any, dim: int) -> Any:
        alike = x.shape == y.shape and x.dtype == y.dtype and x.flags.c_contiguous and y.flags.c_contiguous
        if not alike or not x.size:
            return generic(x, y, dim)
        made = np.empty(x.shape, x.dtype)
        shape = x.size // 3 // (inner := math.prod(x.shape[x.ndim + dim + 1 :])), 3, inner
        cross(x.reshape(shape), y.reshape(shape), made.reshape(shape))
        return made

    return run


# Kronecker products: each element of one matrix times all of another


@loop
def blocks_loop(x, y, z, lo, hi):
    columns, width, height = np.uintp(x.shape[1]), np.uintp(y.shape[1]), np.uintp(y.shape[0])
    for row in range(lo, hi):
        left, right, target = x[row // height], y[row % height], z[row]
        if width < 8:
            for i in range(width):
                factor = right[i]
                for j in range(columns):
                    target[j * width + i] = left[j] * factor
        else:
            for j in range(columns):
                factor, first = left[j], j * width
                for i in range(width):
                    target[first + i] = factor * right[i]


@launcher
def multiply_blocks(x, y, z):
    parallel(blocks_loop, (x, y, z), z.shape[0], z.size)


@register_kernel("core::kron", dtypes="float32 float64 int64 int32", min_size=MIN_SIZE_FUSED, checks_size=True)
def kron_kernel(generic: Any) -> Any:
    def run(x: Any, y: Any) -> Any:
        if x.ndim > 2 or not x.ndim or x.size * y.size < MIN_SIZE or x.dtype != y.dtype or not x.size * y.size:
            return generic(x, y)
        made = np.empty([m * n for m, n in zip(x.shape, y.shape)], x.dtype)
        x, y = (np.ascontiguousarray(each).reshape(-1, each.shape[-1]) for each in (x, y))
        multiply_blocks(x, y, made.reshape(-1, made.shape[-1]))
        return made

    return run
