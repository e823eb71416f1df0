"""Padding: a row of the result at a time, by the places that its parts come from."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from weft.backend import BySize
from weft.backend_cpu.compiled.lists import HEAD, array_at, word_at
from weft.backend_cpu.compiled.moves import LIKE, MOVED, copy_bytes
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.libraries import LEAST, serves

NOWHERE = -1  # the place of an element that has the padding's value


@lru_cache(maxsize=64)
def places(mode: str, size: int, before: int, after: int) -> Any:
    """Where along a dimension each element of the result comes from; not negative amounts but for "constant"."""
    at = np.arange(-before, size + after)
    if mode == "constant":
        at[(at < 0) | (at >= size)] = NOWHERE
    elif mode == "replicate":
        at.clip(0, size - 1, out=at)
    elif mode == "circular":
        at %= size
    else:
        at = np.abs(at)
        at = np.where(at < size, at, 2 * (size - 1) - at)
    at.setflags(write=False)
    return at


@lru_cache(maxsize=64)
def rows_of(mode: str, shape: tuple[int, ...], before: tuple[int, ...], after: tuple[int, ...]) -> Any:
    """Where each row of the result comes from, for the dimensions that rows are counted in."""
    rows = np.zeros(1, np.int64)
    for size, first, last in zip(shape, before, after):
        at = places(mode, size, first, last)
        both = rows[:, None] * size + at
        rows = np.where((rows[:, None] < 0) | (at < 0), NOWHERE, both).reshape(-1)
    rows.setflags(write=False)
    return rows


@loop
def pad_loop(x, y, like, value, images, rows, columns, width, first, stop, lo, hi):
    count, total, size = np.uintp(rows.size), columns.size, like.itemsize
    near = value[0]
    image, row = np.int64(lo // count), lo % count
    for index in range(np.int64(lo), np.int64(hi)):
        target = array_at(y + index * total * size, total, like)
        if rows[row] < 0:
            for i in range(np.uintp(total)):
                target[i] = near
        else:
            begin = x + (image * images + rows[row]) * width * size
            source = array_at(begin, width, like)
            for i in range(first):
                target[i] = source[np.uintp(columns[i])] if columns[i] >= 0 else near
            if stop > first:
                copy_bytes(y + (index * total + first) * size, begin + columns[first] * size, (stop - first) * size)
            for i in range(stop, total):
                target[np.uintp(i)] = source[np.uintp(columns[i])] if columns[i] >= 0 else near
        row += np.uintp(1)
        if row == count:
            image, row = image + 1, np.uintp(0)


@launcher
def pad(x, y, like, value, lead, images, rows, columns, width, first, stop):
    """Pad an array, by identities: ``lead`` images, of so many rows each, of so many elements each."""
    x, y = word_at(x + HEAD), word_at(y + HEAD)
    arguments = (x, y, like, value, images, rows, columns, width, first, stop)
    parallel(pad_loop, arguments, lead * rows.size, lead * rows.size * columns.size * 2)


def padded(x: Any, before: Any, after: Any, mode: str, value: Any) -> Any:
    """The padded array; None where the loop does not do it."""
    shape = tuple([n + b + a for n, b, a in zip(x.shape, before, after)])
    if not x.ndim or not x.size or not x.flags.c_contiguous or x.itemsize not in LIKE or not math.prod(shape):
        return None
    last, outer = x.ndim - 1, 0
    while outer < last and not before[outer] and not after[outer]:
        outer += 1
    made = np.empty(shape, x.dtype)
    rows = rows_of(mode, x.shape[outer:last], tuple(before[outer:last]), tuple(after[outer:last]))
    columns = places(mode, x.shape[last], before[last], after[last])
    first = min(max(before[last], 0), shape[last])
    stop = max(shape[last] - max(after[last], 0), first)
    bits = np.full(1, value, x.dtype).view(f"u{x.itemsize}")
    lead, images = math.prod(x.shape[:outer]), math.prod(x.shape[outer:last])
    pad(id(x), id(made), LIKE[x.itemsize], bits, lead, images, rows, columns, x.shape[last], first, stop)
    return made


@serves("nn::pad_constant", MOVED)
def pad_constant_kernel(generic: Any) -> Any:
    def run(x: Any, before: Any, after: Any, value: Any) -> Any:
        made = padded(x, before, after, "constant", value)
        return generic(x, before, after, value) if made is None else made

    return BySize(generic, run, LEAST)


@serves("nn::pad_inside", MOVED)
def pad_inside_kernel(generic: Any) -> Any:
    def run(x: Any, before: Any, after: Any, mode: str) -> Any:
        made = padded(x, before, after, mode, 0)
        return generic(x, before, after, mode) if made is None else made

    return BySize(generic, run, LEAST)
