"""Running sums, products and extremes along a dimension of contiguous arrays.

Along the last dimension each number waits for the one before it; so several rows are gone through side by side. Along
another one the elements behind it are, in vectors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend import BySize
from weft.backend_cpu.compiled.mathematics import exp, log
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.libraries import LEAST, serves

REAL = "float32 float64"
SIDE = 8  # rows side by side


@loop
def rows_loop(x, y, product, lo, hi):
    wide = np.empty(SIDE)
    for first in range(lo, hi, np.uintp(SIDE)):
        count = min(np.uintp(SIDE), hi - first)
        for k in range(SIDE):
            wide[k] = 1 if product else 0
        for i in range(np.uintp(x.shape[1])):
            if product:
                for k in range(count):
                    wide[k] *= x[first + k, i]
                    y[first + k, i] = wide[k]
            else:
                for k in range(count):
                    wide[k] += x[first + k, i]
                    y[first + k, i] = wide[k]


@loop
def line_loop(x, y, product, lo, hi):
    for row in range(lo, hi):
        wide = 1.0 if product else 0.0
        for i in range(np.uintp(x.shape[1])):
            wide = wide * x[row, i] if product else wide + x[row, i]
            y[row, i] = wide


@launcher
def along_rows(x, y, product):
    if len(x) < SIDE:
        parallel(line_loop, (x, y, product), len(x), x.size * 2)
    else:
        parallel(rows_loop, (x, y, product), len(x), x.size * 2)


@loop
def columns_loop(x, y, product, by_outer, lo, hi):
    first, last = (lo, hi) if by_outer else (np.uintp(0), np.uintp(x.shape[0]))
    left, right = (np.uintp(0), np.uintp(x.shape[2])) if by_outer else (lo, hi)
    wide = np.empty(x.shape[2])
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
def along_columns(x, y, product):
    by_outer = x.shape[0] > 1
    parallel(columns_loop, (x, y, product, by_outer), x.shape[0] if by_outer else x.shape[2], x.size)


def parts(shape: tuple[int, ...], dim: int) -> tuple[int, int, int]:
    """The shape with three dimensions: those before one, that one, those behind it."""
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])


def accumulated(x: Any, dim: int, product: bool) -> Any:
    """Running sums or products, in double precision and rounded once; None for arrays that are not contiguous."""
    if not x.ndim or not x.size or not x.flags.c_contiguous:
        return None
    made = np.empty(x.shape, x.dtype)
    outer, size, inner = parts(x.shape, dim)
    if inner == 1:
        along_rows(x.reshape(outer, size), made.reshape(outer, size), product)
    else:
        along_columns(x.reshape(outer, size, inner), made.reshape(outer, size, inner), product)
    return made


def scan_kernel(generic: Any, product: bool) -> Any:
    def run(x: Any, dim: int) -> Any:
        made = accumulated(x, dim, product)
        return generic(x, dim) if made is None else made

    return BySize(generic, run, LEAST)


@serves("core::cumsum", REAL)
def cumsum_kernel(generic: Any) -> Any:
    return scan_kernel(generic, False)


@serves("core::cumprod", REAL)
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


@serves("core::logcumsumexp", REAL)
def logcumsumexp_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int) -> Any:
        if not x.ndim or not x.size or not x.flags.c_contiguous:
            return generic(x, dim)
        made, shape = np.empty(x.shape, x.dtype), parts(x.shape, dim)
        log_sums(x.reshape(shape), made.reshape(shape))
        return made

    return BySize(generic, run, LEAST)


@loop
def extreme_loop(x, y, places, sign, lo, hi):
    inner = np.uintp(x.shape[2])
    for lane in range(lo, hi):
        outer, i = lane // inner, lane % inner
        value, place = x[outer, 0, i], 0
        for j in range(x.shape[1]):
            new = x[outer, j, i]
            if new != new or new * sign >= value * sign:
                value, place = value if new == value else new, j
            y[outer, j, i], places[outer, j, i] = value, place


@launcher
def extremes(x, y, places, sign):
    parallel(extreme_loop, (x, y, places, sign), x.shape[0] * x.shape[2], x.size * 3)


def extreme_kernel(generic: Any, sign: int) -> Any:
    def run(x: Any, dim: int) -> Any:
        if not x.ndim or not x.size or not x.flags.c_contiguous:
            return generic(x, dim)
        made, places = np.empty(x.shape, x.dtype), np.empty(x.shape, np.int64)
        shape = parts(x.shape, dim)
        extremes(x.reshape(shape), made.reshape(shape), places.reshape(shape), x.dtype.type(sign))
        return made, places

    return BySize(generic, run, LEAST)


@serves("core::cummax", REAL)
def cummax_kernel(generic: Any) -> Any:
    return extreme_kernel(generic, 1)


@serves("core::cummin", REAL)
def cummin_kernel(generic: Any) -> Any:
    return extreme_kernel(generic, -1)
