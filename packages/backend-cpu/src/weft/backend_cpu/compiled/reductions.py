"""Reductions over the last dimensions of contiguous arrays, and so over all; sums also over the first.

A row is what becomes one element. It is cut into blocks, which the threads share: a block is reduced in its own dtype,
in vectors, and the results of blocks in float64. So sums lose little, and are the same whatever the number of threads
is. Reductions over other dimensions are NumPy's: it goes through memory in order, as fast as the memory is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend import BySize
from weft.backend_cpu.compiled.mathematics import exp, like
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.libraries import LEAST, serves

REAL = "float32 float64"
BLOCK = 8192

SUM, PRODUCT, SQUARES, DISTANCES, DEVIATIONS, EXPONENTIALS, NONZERO = range(7)


@loop
def span(row_size, item):
    """The row of a block, and from where to where it goes in it."""
    count = (row_size + np.uintp(BLOCK - 1)) // np.uintp(BLOCK)
    first = item % count * np.uintp(BLOCK)
    return item // count, first, min(first + np.uintp(BLOCK), row_size)


@loop
def sum_loop(x, kind, centers, partial, lo, hi):
    for item in range(lo, hi):
        row, first, stop = span(np.uintp(x.shape[1]), item)
        values = x[row]
        center = values.dtype.type(centers[row])
        total = like(center, 1.0 if kind == PRODUCT else 0.0)
        if kind == SUM:
            for i in range(first, stop):
                total += values[i]
        elif kind == PRODUCT:
            for i in range(first, stop):
                total *= values[i]
        elif kind == SQUARES:
            for i in range(first, stop):
                total += values[i] * values[i]
        elif kind == DISTANCES:
            for i in range(first, stop):
                total += abs(values[i])
        elif kind == NONZERO:
            for i in range(first, stop):
                total += like(center, 1.0 if values[i] != 0 else 0.0)
        elif kind == DEVIATIONS:
            for i in range(first, stop):
                total += (values[i] - center) * (values[i] - center)
        else:
            for i in range(first, stop):
                total += exp(values[i] - center)
        partial[item] = total


@launcher
def summed(x, kind, centers, cost):
    """What the blocks of each row of x add up to (or multiply to), in float64."""
    rows, size = x.shape
    count = (size + BLOCK - 1) // BLOCK
    partial, result = np.empty(rows * count), np.empty(rows)
    parallel(sum_loop, (x, kind, centers, partial), rows * count, x.size * cost)
    for row in range(rows):
        total = partial[row * count]
        for i in range(row * count + 1, (row + 1) * count):
            total = total * partial[i] if kind == PRODUCT else total + partial[i]
        result[row] = total
    return result


HEIGHT = 256  # rows that are added up in their own dtype, by which columns are summed


@loop
def columns_loop(x, partial, lo, hi):
    for block in range(lo, hi):
        first, stop = block * np.uintp(HEIGHT), min((block + np.uintp(1)) * np.uintp(HEIGHT), np.uintp(x.shape[0]))
        total = partial[block]
        for i in range(np.uintp(x.shape[1])):
            total[i] = 0
        whole = first + (stop - first) // np.uintp(4) * np.uintp(4)
        for row in range(first, whole, np.uintp(4)):
            a, b, c, d = x[row], x[row + np.uintp(1)], x[row + np.uintp(2)], x[row + np.uintp(3)]
            for i in range(np.uintp(x.shape[1])):
                total[i] += (a[i] + b[i]) + (c[i] + d[i])
        for row in range(whole, stop):
            a = x[row]
            for i in range(np.uintp(x.shape[1])):
                total[i] += a[i]


@launcher
def column_sums(x, partial):
    parallel(columns_loop, (x, partial), len(partial), x.size)


# The ops


def rows_of(x: Any, dims: Any) -> Any:
    """The array with a row for each element of the result; None if the dimensions are not its last ones."""
    rest = x.ndim - len(dims)
    if not x.ndim or not x.size or not x.flags.c_contiguous or sorted(dims) != list(range(rest, x.ndim)):
        return None
    rows = x.reshape(math.prod(x.shape[:rest]), -1)
    return rows if rows.shape[1] >= 64 else None


def shaped(x: Any, dims: Any, keepdim: bool, values: Any) -> Any:
    """The results of rows in the shape of the op's result."""
    shape = [1 if dim in dims else size for dim, size in enumerate(x.shape) if keepdim or dim not in dims]
    return values.astype(x.dtype).reshape(shape)


def added(rows: Any, kind: int = SUM, centers: Any = None, cost: int = 1) -> Any:
    """`summed`, without or with a center for each row."""
    return summed(rows, kind, np.zeros(len(rows)) if centers is None else centers, cost)


def outer_and_inner(x: Any, dims: Any) -> tuple[int, int] | None:
    """How many dimensions to sum over come first, and how many last; None if there are others between them."""
    kept = [dim for dim in range(x.ndim) if dim not in dims]
    if not kept or kept[-1] - kept[0] + 1 != len(kept):
        return None
    return kept[0], x.ndim - 1 - kept[-1]


def sums(x: Any, dims: Any) -> Any:
    """The sums over the last dimensions, or the first and the last, in float64; None if they are not those."""
    rows = rows_of(x, dims)
    if rows is not None:
        return added(rows)
    found = outer_and_inner(x, dims)
    if found is None or not found[0] or not x.size or not x.flags.c_contiguous:
        return None
    first, last = found
    if not last:
        columns = x.reshape(math.prod(x.shape[:first]), -1)
        if len(columns) < 64:
            return None
        partial = np.empty((-(-len(columns) // HEIGHT), columns.shape[1]), x.dtype)
        column_sums(columns, partial)
        return partial.sum(0, dtype=np.float64)
    rows = rows_of(x, range(x.ndim - last, x.ndim))
    return None if rows is None else added(rows).reshape(math.prod(x.shape[:first]), -1).sum(0)


@serves("core::sum", REAL)
def sum_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any, keepdim: bool) -> Any:
        found = sums(x, dim)
        return generic(x, dim, keepdim) if found is None else shaped(x, dim, keepdim, found)

    return BySize(generic, run, 2 * LEAST)


@serves("core::mean", REAL)
def mean_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any, keepdim: bool) -> Any:
        found = sums(x, dim)
        return generic(x, dim, keepdim) if found is None else shaped(x, dim, keepdim, found / (x.size // found.size))

    return BySize(generic, run, 2 * LEAST)


@serves("core::count_nonzero", REAL)
def count_nonzero_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any) -> Any:
        dims = tuple(range(x.ndim)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
        rows = rows_of(x, dims)
        if rows is None:
            return generic(x, dim)
        return added(rows, NONZERO).astype(np.int64).reshape(x.shape[: x.ndim - len(dims)])

    return BySize(generic, run, LEAST)


@serves("core::prod", REAL)
def prod_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any, keepdim: bool) -> Any:
        rows = rows_of(x, dim)
        return generic(x, dim, keepdim) if rows is None else shaped(x, dim, keepdim, added(rows, PRODUCT))

    return BySize(generic, run, LEAST)


@serves("core::var", REAL)
def var_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
        rows = rows_of(x, dim)
        if rows is None:
            return generic(x, dim, correction, keepdim)
        size = rows.shape[1]
        squares = added(rows, DEVIATIONS, added(rows) / size)
        return shaped(x, dim, keepdim, squares / np.float64(max(size - correction, 0)))

    return BySize(generic, run, LEAST)


@serves("core::logsumexp", REAL)
def logsumexp_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any, keepdim: bool) -> Any:
        rows = rows_of(x, dim)
        if rows is None:
            return generic(x, dim, keepdim)
        peaks = rows.max(1).astype(np.float64)
        peaks[~np.isfinite(peaks)] = 0
        return shaped(x, dim, keepdim, np.log(added(rows, EXPONENTIALS, peaks, 3)) + peaks)

    return BySize(generic, run, LEAST)


@serves("core::vector_norm", REAL)
def norm_kernel(generic: Any) -> Any:
    def run(x: Any, ord: float, dim: Any, keepdim: bool) -> Any:
        rows = rows_of(x, dim) if ord in (1, 2) else None
        if rows is None:
            return generic(x, ord, dim, keepdim)
        found = np.sqrt(added(rows, SQUARES)) if ord == 2 else added(rows, DISTANCES)
        return shaped(x, dim, keepdim, found)

    return BySize(generic, run, LEAST)
