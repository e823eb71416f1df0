"""Running sums, products and extremes along a dimension.

Along the last dimension each sum waits for the one before it, so several rows are computed side by side. Along another
one, lines are added in vectors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.deferred import intrinsic, types
from weft.backend_cpu.compiled.codegen.mathematics import exp, log
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.layouts import contiguous, outer_size_inner
from weft.backend_cpu.compiled.kernels.reductions import LARGEST, SMALLEST
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

REAL = "float32 float64"
SIDE = np.uintp(4)  # rows at a time
WIDTH = np.uintp(1024)  # elements of a line at a time


@loop
def side_by_side(x, y, wide_type, product, row):
    """Four rows side by side, as scalars: to gather them to vectors and scatter these takes longer."""
    a = wide_type.dtype.type(1 if product else 0)
    b, c, d = a, a, a
    first, second, third, fourth = x[row], x[row + 1], x[row + 2], x[row + 3]
    p, q, r, s = y[row], y[row + 1], y[row + 2], y[row + 3]
    for i in range(np.uintp(x.shape[1])):
        if product:
            a, b, c, d = a * first[i], b * second[i], c * third[i], d * fourth[i]
        else:
            a, b, c, d = a + first[i], b + second[i], c + third[i], d + fourth[i]
        p[i], q[i], r[i], s[i] = a, b, c, d


@loop
def line_loop(x, y, wide_type, product, lo, hi):
    for row in range(lo, hi):
        wide = wide_type.dtype.type(1 if product else 0)
        for i in range(np.uintp(x.shape[1])):
            wide = wide * x[row, i] if product else wide + x[row, i]
            y[row, i] = wide


@loop
def rows_loop(x, y, wide_type, product, lo, hi):
    rest = lo + (hi - lo) // SIDE * SIDE
    for row in range(lo, rest, SIDE):
        side_by_side(x, y, wide_type, product, row)
    line_loop(x, y, wide_type, product, rest, hi)


@launcher
def along_rows(x, y, wide_type, product):
    parallel(rows_loop, (x, y, wide_type, product), len(x), x.size * 2)


@loop
def columns_loop(x, y, wide_type, product, by_outer, lo, hi):
    first, last = (lo, hi) if by_outer else (np.uintp(0), np.uintp(x.shape[0]))
    left, right = (np.uintp(0), np.uintp(x.shape[2])) if by_outer else (lo, hi)
    wide = np.empty(x.shape[2], wide_type.dtype)
    for outer in range(first, last):
        for i in range(left, right):
            wide[i] = 1 if product else 0
        for j in range(np.uintp(x.shape[1])):
            source, target = x[outer, j], y[outer, j]
            if product:
                for i in range(left, right):
                    wide[i] *= source[i]
                    target[i] = wide[i]
            else:
                for i in range(left, right):
                    wide[i] += source[i]
                    target[i] = wide[i]


@launcher
def along_columns(x, y, wide_type, product):
    by_outer = x.shape[0] > 1
    parallel(columns_loop, (x, y, wide_type, product, by_outer), x.shape[0] if by_outer else x.shape[2], x.size)


WIDE = {"f": np.empty(0), "i": np.empty(0, np.int64)}  # what sums are computed in, by the kind of dtype


def accumulated(x: Any, dim: int, product: bool) -> Any:
    """Running sums or products, of floating-point numbers in double precision and rounded once; None for nothing."""
    if not x.ndim or not x.size:
        return None
    x, made, wide = contiguous(x), np.empty(x.shape, x.dtype), WIDE[x.dtype.kind]
    outer, size, inner = outer_size_inner(x.shape, dim)
    if inner == 1:
        along_rows(x.reshape(outer, size), made.reshape(outer, size), wide, product)
    else:
        along_columns(x.reshape(outer, size, inner), made.reshape(outer, size, inner), wide, product)
    return made


def scan_kernel(generic: Any, product: bool) -> Any:
    def run(x: Any, dim: int) -> Any:
        made = accumulated(x, dim, product)
        return generic(x, dim) if made is None else made

    return run


@register_kernel("core::cumsum", dtypes=f"{REAL} int64", min_size=MIN_SIZE_FUSED)
def cumsum_kernel(generic: Any) -> Any:
    return scan_kernel(generic, False)


@register_kernel("core::cumprod", dtypes=f"{REAL} int64", min_size=MIN_SIZE_FUSED)
def cumprod_kernel(generic: Any) -> Any:
    return scan_kernel(generic, True)


@loop
def log_sum_loop(x, y, lo, hi):
    inner = np.uintp(x.shape[2])
    for lane in range(lo, hi):
        outer, i = lane // inner, lane % inner
        peak, total = -math.inf, 0.0  # of the exponentials, relative to that of the largest
        for j in range(np.uintp(x.shape[1])):
            new = np.float64(x[outer, j, i])
            if new > peak:
                peak, total = new, total * exp(peak - new) + 1
            else:
                total += 1 if new == peak else exp(new - peak)
            y[outer, j, i] = peak + log(total)


@launcher
def log_sums(x, y):
    parallel(log_sum_loop, (x, y), x.shape[0] * x.shape[2], x.size * 16)


@register_kernel("core::logcumsumexp", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def logcumsumexp_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int) -> Any:
        if not x.ndim or not x.size:
            return generic(x, dim)
        made, shape = np.empty(x.shape, x.dtype), outer_size_inner(x.shape, dim)
        log_sums(contiguous(x).reshape(shape), made.reshape(shape))
        return made

    return run


@intrinsic
def reaches(typingctx: Any, kind: Any, a: Any, b: Any) -> Any:
    """Whether a number is no less (no more) than another one, or it is nan."""
    comparison = ">=" if len(kind) == len(LARGEST) else "<="

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if isinstance(a, types.Float):
            nan = builder.fcmp_unordered("uno", args[1], args[1])
            return builder.or_(builder.fcmp_ordered(comparison, *args[1:]), nan)
        return builder.icmp_signed(comparison, *args[1:])

    return types.boolean(kind, a, a), generate


@loop
def extremes_in_rows(kind, x, y, places, lo, hi):
    size = np.uintp(x.shape[1])
    for row in range(lo, hi):
        j = np.uintp(0)
        while j < size:  # from one extreme to the next: a choice for each element would have to wait for the one before
            value, place = x[row, j], np.int64(j)
            y[row, j], places[row, j] = value, place
            j += np.uintp(1)
            while j < size and not reaches(kind, x[row, j], value):
                y[row, j], places[row, j] = value, place
                j += np.uintp(1)


@loop
def extremes_in_lines(kind, x, y, places, parts, lo, hi):
    for item in range(lo, hi):
        outer, start = item // parts, item % parts * WIDTH
        stop = min(start + WIDTH, np.uintp(x.shape[2]))
        for i in range(start, stop):
            y[outer, 0, i], places[outer, 0, i] = x[outer, 0, i], 0
        for j in range(np.uintp(1), np.uintp(x.shape[1])):
            before = j - np.uintp(1)
            for i in range(start, stop):
                take = reaches(kind, x[outer, j, i], y[outer, before, i])
                y[outer, j, i] = x[outer, j, i] if take else y[outer, before, i]
                places[outer, j, i] = np.int64(j) if take else places[outer, before, i]


@launcher
def extremes_along_rows(kind, x, y, places):
    parallel(extremes_in_rows, (kind, x, y, places), len(x), x.size * 3)


@launcher
def extremes_along_lines(kind, x, y, places):
    parts = (np.uintp(x.shape[2]) + WIDTH - np.uintp(1)) // WIDTH
    parallel(extremes_in_lines, (kind, x, y, places, parts), np.uintp(x.shape[0]) * parts, x.size * 2)


def running_extreme_kernel(name: str, kind: Any) -> None:
    """Register the kernel of running extremes and their places."""

    @register_kernel(name, dtypes=f"{REAL} int8 int16 int32 int64", min_size=MIN_SIZE_FUSED, bitwise=True)
    def make(generic: Any) -> Any:
        def run(x: Any, dim: int) -> Any:
            if not x.ndim or not x.size:
                return generic(x, dim)
            x, made, places = contiguous(x), np.empty(x.shape, x.dtype), np.empty(x.shape, np.int64)
            outer, size, inner = outer_size_inner(x.shape, dim)
            shape = (outer, size) if inner == 1 else (outer, size, inner)
            launch = extremes_along_rows if inner == 1 else extremes_along_lines
            launch(kind, x.reshape(shape), made.reshape(shape), places.reshape(shape))
            return made, places

        return run


running_extreme_kernel("core::cummax", LARGEST)
running_extreme_kernel("core::cummin", SMALLEST)
