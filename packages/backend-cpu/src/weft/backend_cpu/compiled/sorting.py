"""The few largest or smallest elements of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backend import BySize
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.libraries import FEW, serves

MOST = 64  # elements that are kept in order while a row is gone through


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


@serves("core::topk", "float32 float64 int32 int64")
def topk_kernel(generic: Any) -> Any:
    def run(x: Any, k: int, dim: int, largest: bool, in_order: bool) -> Any:
        size = x.shape[dim] if x.ndim else 0
        fits = 0 < 8 * k <= size and (k <= MOST or MOST * k <= size)
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

    return BySize(generic, run, FEW)
