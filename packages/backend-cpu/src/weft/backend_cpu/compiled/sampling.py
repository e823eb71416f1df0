"""Resampling: interpolation and adaptive averages, whose gradients are the same loops with other weights.

Arrays are taken as planes of rows. A row of the result is a sum of rows times weights, and each of its elements a sum
of elements times weights; which of the two comes first depends on where there is less to do. No array of what lies
between the two is made: a thread keeps the few rows that it needs again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from weft._layout import is_channels_last
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.pooling import flat, in_memory
from weft.backend_cpu.libraries import FEW, serves

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]
Sizes = tuple[int, ...]
REAL = "float32 float64"


@loop
def add_row(x, at, y, to, size, weight, is_first):
    """Add a row times a weight to another, or begin it."""
    if is_first:
        for i in range(size):
            y[to + i] = x[at + i] * weight
    else:
        for i in range(size):
            y[to + i] += x[at + i] * weight


@loop
def sum_of_rows(x, at, size, rows, weights, number, limit, y, to):
    """A row that is a sum of rows, those from ``at`` on."""
    is_first = True
    for k in range(np.uintp(rows.shape[0])):
        row = np.uintp(rows[k, number])
        if row < limit:
            add_row(x, at + row * size, y, to, size, weights[k, number], is_first)
            is_first = False
    if is_first:
        for i in range(size):
            y[to + i] = 0


@loop
def along_row(x, columns, weights, lanes, y, to):
    """Elements that are sums of a row's elements; each of these has a number of lanes, which are summed apart."""
    count, out = np.uintp(columns.shape[0]), np.uintp(columns.shape[1])
    if lanes > 1:
        for j in range(out):
            for k in range(count):
                add_row(x, np.uintp(columns[k, j]) * lanes, y, to + j * lanes, lanes, weights[k, j], k == 0)
        return
    for j in range(out):
        y[to + j] = x[columns[0, j]] * weights[0, j]
    for k in range(np.uintp(1), count):
        for j in range(out):
            y[to + j] += x[columns[k, j]] * weights[k, j]


@loop
def copy_row(x, at, size, y):
    for i in range(size):
        y[i] = x[at + i]


@loop
def resample_loop(x, y, height, width, lanes, rows, row_weights, columns, column_weights, span, lo, hi):
    """The rows of the result from lo to hi."""
    size = width * lanes
    out_height = np.uintp(rows.shape[1])
    out = np.uintp(columns.shape[1]) * lanes if columns.shape[0] else size
    line = np.zeros(size + lanes, x.dtype)  # zeros at the end: the element that stands for none
    kept = np.empty(span * out, x.dtype)
    numbers = np.full(span, -1)
    for number in range(lo, hi):
        plane, row = number // out_height, number % out_height
        at, to = plane * height * size, number * out
        if columns.shape[0] == 0:
            sum_of_rows(x, at, size, rows, row_weights, row, height, y, to)
        elif rows.shape[0] == 0:
            copy_row(x, at + row * size, size, line)
            along_row(line, columns, column_weights, lanes, y, to)
        elif span == 0:
            sum_of_rows(x, at, size, rows, row_weights, row, height, line, np.uintp(0))
            along_row(line, columns, column_weights, lanes, y, to)
        else:
            is_first = True
            for k in range(np.uintp(rows.shape[0])):
                source = np.uintp(rows[k, row])
                if source >= height:
                    continue
                place = source % span
                if numbers[place] != plane * height + source:
                    numbers[place] = plane * height + source
                    copy_row(x, at + source * size, size, line)
                    along_row(line, columns, column_weights, lanes, kept, place * out)
                add_row(kept, place * out, y, to, out, row_weights[k, row], is_first)
                is_first = False
            if is_first:
                for i in range(out):
                    y[to + i] = 0


@launcher
def resample_planes(x, y, height, width, lanes, rows, row_weights, columns, column_weights, span):
    """All rows of the result."""
    sizes = np.uintp(height), np.uintp(width), np.uintp(lanes), np.uintp(span)
    count = x.size // (height * width * lanes) * rows.shape[1]
    work = y.size * (1 + rows.shape[0] + columns.shape[0]) + x.size
    arguments = (x, y, sizes[0], sizes[1], sizes[2], rows, row_weights, columns, column_weights, sizes[3])
    parallel(resample_loop, arguments, count, work)


LANES = 16
"""Channels that are innermost in memory and fewer are taken as more elements of the row."""


@lru_cache(256)
def several(taps: Any, lanes: int) -> Any:
    """The numbers of elements, and the weights, for as many elements in place of each."""
    rows = taps.rows[..., None] * lanes + np.arange(lanes, dtype=np.int32)
    return rows.reshape(len(rows), -1), np.repeat(taps.weights, lanes, -1)


def sums_of_planes(x: Array, planes: int, height: int, width: int, lanes: int, rows: Any, columns: Any) -> Array:
    """Resample flat planes of rows of elements of lanes; None leaves a dimension as it is."""
    element = x.dtype
    by_row = (np.empty((0, height), np.int32), np.empty((0, height), element))
    by_column = (np.empty((0, width), np.int32), np.empty((0, width), element))
    span = 0
    if rows is not None:
        by_row = rows.rows, rows.weights.astype(element, copy=False)
        if by_row[0].shape[1] > height:  # rows are met again: each is first brought to its new length
            span = rows.span
    if columns is not None:
        by_column = columns.rows, columns.weights
        if lanes < LANES:
            by_column = several(columns, lanes) if lanes > 1 else by_column
    by_column = by_column[0], by_column[1].astype(element, copy=False)
    if lanes < LANES:
        width, lanes = width * lanes, 1
    out = by_column[0].shape[1] if columns is not None else width
    result = np.empty(planes * by_row[0].shape[1] * out * lanes, element)
    resample_planes(x, result, height, width, lanes, *by_row, *by_column, span)
    return result


@serves("nn::resample", REAL)
def resample(generic: Kernel) -> Kernel:
    """Sums of elements times weights, along each spatial dimension."""

    def run(input: Array, taps: Any) -> Array:
        spatial = list(input.shape[2:])
        out = tuple(n if each is None else each.rows.shape[1] for n, each in zip(spatial, taps))
        if max(input.size, prod(input.shape[:2]) * prod(out)) < FEW or not input.size or max(spatial) >= 1 << 27:
            return generic(input, taps)  # type: ignore[no-any-return]
        last = is_channels_last(input)
        lanes = input.shape[1] if last else 1
        planes = prod(input.shape[:2]) // lanes
        x = in_memory(input) if last else flat(input)
        *depth, rows, columns = (None, *taps) if len(spatial) == 1 else taps
        height, width = (1, *spatial)[-2:]
        x = sums_of_planes(x, planes * prod(spatial[:-2]), height, width, lanes, rows, columns)
        if depth and depth[0] is not None:
            x = sums_of_planes(x, planes, spatial[0], out[1] * out[2] * lanes, 1, depth[0], None)
        if not last:
            return x.reshape(*input.shape[:2], *out)
        return x.reshape(input.shape[0], *out, lanes).transpose(0, len(out) + 1, *range(1, len(out) + 1))

    return run
