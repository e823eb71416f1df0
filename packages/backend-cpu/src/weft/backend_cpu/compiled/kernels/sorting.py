"""The k largest or smallest elements of rows, and counts and histograms of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

MAX_SORTED = 64  # elements that are kept sorted while a row is read


@loop
def top_loop(x, values, places, sign, lo, hi):
    count = values.shape[1]
    for row in range(lo, hi):
        best, at, source = values[row], places[row], x[row]
        kept, edge = 0, sign
        for i in range(np.uintp(x.shape[1])):
            new = source[i]
            if kept == count:
                if new * sign <= edge:  # as most are; false for nan
                    continue
                last = best[count - 1]
                if not new * sign > last * sign and (new == new or last != last or sign < 0):
                    if not (sign < 0 and last != last and new == new):
                        continue
                kept -= 1
            # nan is the largest; of equal elements the first comes first
            place = kept
            while place > 0:
                other = best[place - 1]
                before = new * sign > other * sign or (new != new and other == other and sign > 0)
                if not (before or (sign < 0 and other != other and new == new)):
                    break
                best[place], at[place] = other, at[place - 1]
                place -= 1
            best[place], at[place] = new, i
            kept += 1
            edge = best[kept - 1] * sign


@launcher
def top(x, values, places, sign):
    parallel(top_loop, (x, values, places, sign), len(x), x.size * 2)


@register_kernel("core::topk", dtypes="float32 float64 int32 int64", min_size=MIN_SIZE_FUSED, bitwise=True)
def topk_kernel(generic: Any) -> Any:
    def run(x: Any, k: int, dim: int, largest: bool, in_order: bool) -> Any:
        size = x.shape[dim] if x.ndim else 0
        fits = 0 < 8 * k <= size and (k <= MAX_SORTED or MAX_SORTED * k <= size)
        if not fits or not x.size or (x.dtype.kind == "i" and not largest):  # the least integer has no negative
            return generic(x, k, dim, largest, in_order)
        rows = np.ascontiguousarray(np.moveaxis(x, dim, -1))
        shape = (*rows.shape[:-1], k)
        values, places = np.empty(shape, x.dtype), np.empty(shape, np.int64)
        sign = x.dtype.type(1 if largest else -1)
        top(rows.reshape(-1, size), values.reshape(-1, k), places.reshape(-1, k), sign)
        if dim == x.ndim - 1:
            return values, places
        return tuple(np.ascontiguousarray(np.moveaxis(each, -1, dim)) for each in (values, places))

    return run


@launcher
def extent(x):
    """The smallest and the largest element."""
    low, high = x[0], x[0]
    for i in range(x.size):
        low, high = min(low, x[i]), max(high, x[i])
    return low, high


@launcher
def count_each(x, counts):
    other = np.zeros_like(counts)  # two, as adding to the one that was just added to waits
    for i in range(np.uintp(x.size // 2)):
        counts[np.uintp(x[np.uintp(2) * i])] += 1
        other[np.uintp(x[np.uintp(2) * i + np.uintp(1)])] += 1
    if x.size % 2:
        counts[np.uintp(x[x.size - 1])] += 1
    for i in range(np.uintp(counts.size)):
        counts[i] += other[i]


@launcher
def add_each(x, weights, sums):
    for i in range(np.uintp(x.size)):
        sums[np.uintp(x[i])] += weights[i]


@register_kernel("core::bincount", dtypes="int64", min_size=MIN_SIZE_FUSED)
def bincount_kernel(generic: Any) -> Any:
    def run(x: Any, weights: Any, minlength: int) -> Any:
        if not x.size or not x.flags.c_contiguous or (weights is not None and weights.dtype != np.float64):
            return generic(x, weights, minlength)
        low, high = extent(x)
        if low < 0:
            return generic(x, weights, minlength)
        found = np.zeros(max(high + 1, minlength), np.int64 if weights is None else np.float64)
        if weights is None:
            count_each(x, found)
        else:
            add_each(x, np.ascontiguousarray(weights), found)
        return found

    return run


@launcher
def count_within(x, low, high, scale, counts):
    last = counts.size - 1
    for i in range(x.size):
        value = np.float64(x[i])
        if low <= value <= high:
            counts[np.uintp(min(np.int64((value - low) * scale), last))] += 1


@register_kernel("core::histc", dtypes="float32 float64", min_size=MIN_SIZE_FUSED)
def histc_kernel(generic: Any) -> Any:
    def run(x: Any, bins: int, low: float, high: float) -> Any:
        if not x.size or not x.flags.c_contiguous:
            return generic(x, bins, low, high)
        found = np.zeros(bins, np.int64)
        count_within(x.reshape(-1), low, high, bins / (high - low), found)
        return found

    return run
