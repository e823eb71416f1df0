"""Softmax, its logarithm and the gradients of both: along rows, or along columns of blocks of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.float16 import BITS, narrow, rows_at_once, widen
from weft.backend_cpu.compiled.codegen.mathematics import exp, like, log, maximum
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.layouts import contiguous, flat
from weft.backend_cpu.registry import HALF, MIN_SIZE, MIN_SIZE_FUSED, register_kernel

EXP = 3  # simple operations that an exponential counts as, where work is handed out
WIDTH = np.uintp(512)  # columns at a time: their sums stay in the first cache
SIDE = np.uintp(64)  # rows at a time
REAL = "float32 float64"


@loop
def row_maximum(x, row):
    most = x[row, 0]
    for j in range(x.shape[1]):
        most = maximum(most, x[row, j])
    return most


@loop
def softmax_rows(x, y, lo, hi):
    for row in range(lo, hi):
        most = row_maximum(x, row)
        total = like(most, 0.0)
        for j in range(x.shape[1]):
            power = exp(x[row, j] - most)
            y[row, j] = power
            total += power
        share = like(total, 1.0) / total
        for j in range(x.shape[1]):
            y[row, j] *= share


@loop
def log_softmax_rows(x, y, lo, hi):
    most, shift = np.empty(SIDE, x.dtype), np.empty(SIDE, x.dtype)
    for first in range(lo, hi, SIDE):
        count = min(SIDE, hi - first)
        for k in range(count):
            row = first + k
            top = row_maximum(x, row)
            total = like(top, 0.0)
            for j in range(x.shape[1]):
                total += exp(x[row, j] - top)
            most[k], shift[k] = top, total
        for k in range(count):
            shift[k] = log(shift[k])
        for k in range(count):
            row = first + k
            for j in range(x.shape[1]):
                y[row, j] = (x[row, j] - most[k]) - shift[k]


@loop
def softmax_backward_rows(grad, x, y, lo, hi):
    for row in range(lo, hi):
        total = like(x[row, 0], 0.0)
        for j in range(x.shape[1]):
            total += grad[row, j] * x[row, j]
        for j in range(x.shape[1]):
            y[row, j] = x[row, j] * (grad[row, j] - total)


@loop
def log_softmax_backward_rows(grad, x, y, lo, hi):
    for row in range(lo, hi):
        total = like(x[row, 0], 0.0)
        for j in range(x.shape[1]):
            total += grad[row, j]
        for j in range(x.shape[1]):
            y[row, j] = grad[row, j] - exp(x[row, j]) * total


@launcher
def softmax_by_rows(x, y):
    parallel(softmax_rows, (x, y), x.shape[0], EXP * x.size)


@launcher
def log_softmax_by_rows(x, y):
    parallel(log_softmax_rows, (x, y), x.shape[0], EXP * x.size)


@launcher
def softmax_backward_by_rows(grad, x, y):
    parallel(softmax_backward_rows, (grad, x, y), x.shape[0], x.size)


@launcher
def log_softmax_backward_by_rows(grad, x, y):
    parallel(log_softmax_backward_rows, (grad, x, y), x.shape[0], EXP * x.size)


# Along another dimension than the last: blocks (count, inner), some columns at a time.


@loop
def parts_of(x):
    """The number of parts of the columns of a block."""
    return (np.uintp(x.shape[2]) + WIDTH - np.uintp(1)) // WIDTH


@loop
def columns_of(x, part):
    """The block, the first column and the number of columns of a part; unsigned, as indices of vector code are."""
    start = part % parts_of(x) * WIDTH
    return part // parts_of(x), start, min(WIDTH, np.uintp(x.shape[2]) - start)


@loop
def column_maxima(x, block, start, count, most):
    for j in range(count):
        most[j] = x[block, 0, start + j]
    for k in range(1, x.shape[1]):
        for j in range(count):
            most[j] = maximum(most[j], x[block, k, start + j])


@loop
def softmax_columns(x, y, lo, hi):
    most, total = np.empty(WIDTH, x.dtype), np.empty(WIDTH, x.dtype)
    for part in range(lo, hi):
        block, start, count = columns_of(x, part)
        column_maxima(x, block, start, count, most)
        total[:] = 0
        for k in range(x.shape[1]):
            for j in range(count):
                power = exp(x[block, k, start + j] - most[j])
                y[block, k, start + j] = power
                total[j] += power
        for j in range(count):
            total[j] = like(total[j], 1.0) / total[j]
        for k in range(x.shape[1]):
            for j in range(count):
                y[block, k, start + j] *= total[j]


@loop
def log_softmax_columns(x, y, lo, hi):
    most, total = np.empty(WIDTH, x.dtype), np.empty(WIDTH, x.dtype)
    for part in range(lo, hi):
        block, start, count = columns_of(x, part)
        column_maxima(x, block, start, count, most)
        total[:] = 0
        for k in range(x.shape[1]):
            for j in range(count):
                total[j] += exp(x[block, k, start + j] - most[j])
        for j in range(count):
            total[j] = log(total[j])
        for k in range(x.shape[1]):
            for j in range(count):
                y[block, k, start + j] = (x[block, k, start + j] - most[j]) - total[j]


@loop
def softmax_backward_columns(grad, x, y, lo, hi):
    total = np.empty(WIDTH, x.dtype)
    for part in range(lo, hi):
        block, start, count = columns_of(x, part)
        total[:] = 0
        for k in range(x.shape[1]):
            for j in range(count):
                total[j] += grad[block, k, start + j] * x[block, k, start + j]
        for k in range(x.shape[1]):
            for j in range(count):
                y[block, k, start + j] = x[block, k, start + j] * (grad[block, k, start + j] - total[j])


@loop
def log_softmax_backward_columns(grad, x, y, lo, hi):
    total = np.empty(WIDTH, x.dtype)
    for part in range(lo, hi):
        block, start, count = columns_of(x, part)
        total[:] = 0
        for k in range(x.shape[1]):
            for j in range(count):
                total[j] += grad[block, k, start + j]
        for k in range(x.shape[1]):
            for j in range(count):
                y[block, k, start + j] = grad[block, k, start + j] - exp(x[block, k, start + j]) * total[j]


@launcher
def softmax_by_columns(x, y):
    parallel(softmax_columns, (x, y), x.shape[0] * parts_of(x), EXP * x.size)


@launcher
def log_softmax_by_columns(x, y):
    parallel(log_softmax_columns, (x, y), x.shape[0] * parts_of(x), EXP * x.size)


@launcher
def softmax_backward_by_columns(grad, x, y):
    parallel(softmax_backward_columns, (grad, x, y), x.shape[0] * parts_of(x), x.size)


@launcher
def log_softmax_backward_by_columns(grad, x, y):
    parallel(log_softmax_backward_columns, (grad, x, y), x.shape[0] * parts_of(x), EXP * x.size)


# Short rows are transposed to columns, some at a time, for vectors to work on. That is more to compile, and not worth
# it for few of them, which are the last step of most classifiers.

MAX_SHORT_ROW = 32  # elements


@loop
def rows_as_columns(x, side, columns):
    """Some rows of x as columns; where there are too few, the rest stays what it is."""
    first = side * SIDE
    for row in range(first, min(first + SIDE, np.uintp(x.shape[0]))):
        for j in range(np.uintp(x.shape[1])):
            columns[0, j, row - first] = x[row, j]


@loop
def columns_as_rows(columns, side, y):
    """Some columns as rows of y."""
    first = side * SIDE
    for row in range(first, min(first + SIDE, np.uintp(y.shape[0]))):
        for j in range(np.uintp(y.shape[1])):
            y[row, j] = columns[0, j, row - first]


@loop
def softmax_sides(x, y, lo, hi):
    a, b = np.zeros((1, x.shape[1], SIDE), x.dtype), np.empty((1, x.shape[1], SIDE), x.dtype)
    for side in range(lo, hi):
        rows_as_columns(x, side, a)
        softmax_columns(a, b, np.uintp(0), np.uintp(1))
        columns_as_rows(b, side, y)


@loop
def log_softmax_sides(x, y, lo, hi):
    a, b = np.zeros((1, x.shape[1], SIDE), x.dtype), np.empty((1, x.shape[1], SIDE), x.dtype)
    for side in range(lo, hi):
        rows_as_columns(x, side, a)
        log_softmax_columns(a, b, np.uintp(0), np.uintp(1))
        columns_as_rows(b, side, y)


@launcher
def softmax_by_sides(x, y):
    parallel(softmax_sides, (x, y), (np.uintp(x.shape[0]) + SIDE - np.uintp(1)) // SIDE, EXP * x.size)


@launcher
def log_softmax_by_sides(x, y):
    parallel(log_softmax_sides, (x, y), (np.uintp(x.shape[0]) + SIDE - np.uintp(1)) // SIDE, EXP * x.size)


def softmax_kernel(name: str, by_rows: Any, by_columns: Any, by_sides: Any = None) -> None:
    """Register the kernel of an op that takes arrays of one shape, and the dimension."""

    @register_kernel(name, dtypes=REAL, min_size=2 * MIN_SIZE_FUSED)
    def make(generic: Any) -> Any:
        def run(*args: Any) -> Any:
            *arrays, dim = args
            shape = arrays[-1].shape
            if not arrays[-1].size or not shape or any(each.shape != shape for each in arrays):
                return generic(*args)
            inner = math.prod(shape[dim + 1 :])
            view, launch = ((-1, shape[dim]), by_rows) if inner == 1 else ((-1, shape[dim], inner), by_columns)
            if by_sides is not None and inner == 1 and shape[dim] <= MAX_SHORT_ROW and arrays[-1].size >= MIN_SIZE:
                launch = by_sides
            result = np.empty(shape, arrays[-1].dtype)
            ordered = [each if each.flags.c_contiguous else contiguous(each) for each in arrays]
            launch(*[each.reshape(view) for each in ordered], result.reshape(view))
            return result

        return run


softmax_kernel("core::softmax", softmax_by_rows, softmax_by_columns, softmax_by_sides)
softmax_kernel("core::log_softmax", log_softmax_by_rows, log_softmax_by_columns, log_softmax_by_sides)
softmax_kernel("core::softmax_backward", softmax_backward_by_rows, softmax_backward_by_columns)
softmax_kernel("core::log_softmax_backward", log_softmax_backward_by_rows, log_softmax_backward_by_columns)


# Rows of half precision: by the same loops, a few rows at a time, as float32


SOFTMAX, LOG_SOFTMAX, BACKWARD, LOG_BACKWARD = range(4)


@loop
def half_rows(which, grad, x, y, size, lo, hi):
    step = rows_at_once(size)
    values, result = np.empty((step, size), np.float32), np.empty((step, size), np.float32)
    slopes = np.empty((step if which >= BACKWARD else np.uintp(1), size), np.float32)
    for row in range(lo, hi, step):
        count = min(step, hi - row)
        start, total, none = row * np.uintp(size), count * np.uintp(size), np.uintp(0)
        widen(x, start, total, values)
        if which >= BACKWARD:
            widen(grad, start, total, slopes)
        if which == SOFTMAX:
            softmax_rows(values, result, none, count)
        elif which == LOG_SOFTMAX:
            log_softmax_rows(values, result, none, count)
        elif which == BACKWARD:
            softmax_backward_rows(slopes, values, result, none, count)
        else:
            log_softmax_backward_rows(slopes, values, result, none, count)
        narrow(result, total, y, start)


@launcher
def by_half_rows(which, grad, x, y, size):
    parallel(half_rows, (which, grad, x, y, size), x.size // size, EXP * x.size)


def half_softmax_kernel(name: str, which: int) -> None:
    """Register the kernel for halves, along the last dimension."""

    @register_kernel(name, dtypes=HALF, min_size=MIN_SIZE_FUSED)
    def make(generic: Any) -> Any:
        def run(*args: Any) -> Any:
            *arrays, dim = args
            shape, element = arrays[0].shape, arrays[0].dtype
            if not arrays[0].size or not shape or math.prod(shape[dim + 1 :]) != 1:
                return generic(*args)
            if any(each.shape != shape or each.dtype != element for each in arrays):
                return generic(*args)
            result = np.empty(shape, element)
            bits = [flat(each).view(BITS[element]) for each in (*arrays, result)]
            by_half_rows(which, bits[0], *bits[-2:], shape[dim])
            return result

        return run


half_softmax_kernel("core::softmax", SOFTMAX)
half_softmax_kernel("core::log_softmax", LOG_SOFTMAX)
half_softmax_kernel("core::softmax_backward", BACKWARD)
half_softmax_kernel("core::log_softmax_backward", LOG_BACKWARD)
