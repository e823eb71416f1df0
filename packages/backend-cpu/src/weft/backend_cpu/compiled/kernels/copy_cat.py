"""Copies, flips and rolls, and arrays joined by cat and stack."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from weft.backend import is_channels_last
from weft.backend_cpu.compiled.codegen.array_header import HEAD, word_at
from weft.backend_cpu.compiled.codegen.memory import copy_bytes
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.codegen.strided_copy import (
    DTYPES,
    MIN_VECTOR_BYTES,
    UNSIGNED,
    ordered_copy,
    strided_copy,
)
from weft.backend_cpu.registry import MIN_SIZE, register_kernel

MIN_COPY_BYTES = 64  # bytes of a row that are worth a call of the C library

FORWARD, BACKWARD = slice(None), slice(None, None, -1)


@register_kernel("core::contiguous_copy", dtypes=DTYPES, min_size=MIN_SIZE, bitwise=True)
def contiguous_copy_kernel(generic: Any) -> Any:
    return ordered_copy


@register_kernel("core::assign", dtypes=DTYPES, min_size=MIN_SIZE, checks_size=True)
def assign_kernel(generic: Any) -> Any:
    def run(target: Any, source: Any) -> bool:
        return not np.may_share_memory(target, source) and strided_copy(target, source)

    return run


@register_kernel("core::clone", dtypes=DTYPES, min_size=MIN_SIZE, bitwise=True)
def clone_kernel(generic: Any) -> Any:
    def run(x: Any) -> Any:
        made = np.empty_like(x)
        return made if strided_copy(made, x) else generic(x)

    return run


@loop
def fill_loop(y, value, lo, hi):
    if value == 0:
        for i in range(lo, hi):  # which becomes a call of the C library
            y[i] = 0
    else:
        for i in range(lo, hi):
            y[i] = value


@launcher
def fill(y):
    parallel(fill_loop, (y, y[0]), y.size, y.size)


@register_kernel("core::spread", dtypes=DTYPES, min_size=MIN_SIZE, checks_size=True)
def fill_kernel(generic: Any) -> Any:
    return lambda flat: fill(flat.view(f"u{flat.itemsize}"))  # the first element everywhere


@register_kernel("core::flip", dtypes=DTYPES, min_size=MIN_SIZE, bitwise=True)
def flip_kernel(generic: Any) -> Any:
    def run(x: Any, dims: Any) -> Any:
        turned = x[tuple([BACKWARD if dim in dims else FORWARD for dim in range(x.ndim)])] if x.ndim else x
        made = np.empty_like(x)
        return made if x.ndim and strided_copy(made, turned) else generic(x, dims)

    return run


@loop
def roll_loop(y, x, line, shift, lo, hi):
    place, end = np.int64(lo), np.int64(hi)
    start = place // line * line
    while place < end:
        at = place - start
        wraps = at < shift
        count = min((shift if wraps else line) - at, end - place)
        copy_bytes(y + place, x + start + at - shift + (line if wraps else 0), count)
        place += count
        if place == start + line:
            start = place


@launcher
def roll_lines(y, x, size, line, shift):
    """Copy ``size`` bytes, each line rotated by ``shift`` bytes; arrays by their identities."""
    parallel(roll_loop, (word_at(y + HEAD), word_at(x + HEAD), line, shift), size, size // 4)


@register_kernel("core::roll", dtypes=DTYPES, min_size=MIN_SIZE, bitwise=True)
def roll_kernel(generic: Any) -> Any:
    def run(x: Any, shifts: Any, dims: Any) -> Any:
        if not x.size or not x.ndim or x.itemsize not in UNSIGNED or (not dims and not x.flags.c_contiguous):
            return generic(x, shifts, dims)
        made = np.empty(x.shape, x.dtype)
        if len(shifts) == 1 and x.flags.c_contiguous:
            first = dims[0] if dims else 0
            line = math.prod(x.shape[first:]) * x.itemsize
            if line >= MIN_VECTOR_BYTES:
                step = line // x.shape[first] if dims else x.itemsize
                roll_lines(id(made), id(x), x.nbytes, line, shifts[0] * step % line)
                return made
        target, source = (made, x) if dims else (made.reshape(-1), x.reshape(-1))
        total = dict.fromkeys(dims or (0,), 0)
        for dim, shift in zip(dims or (0,), shifts):
            total[dim] += shift
        cuts = [cut(shift % target.shape[dim], dim) for dim, shift in total.items()]
        for pieces in itertools.product(*cuts):
            to, apart = target, source
            for dim, there, here in pieces:
                to, apart = to[(slice(None),) * dim + (there,)], apart[(slice(None),) * dim + (here,)]
            if not strided_copy(to, apart):
                to[...] = apart
        return made

    return run


def cut(shift: int, dim: int) -> list[tuple[int, slice, slice]]:
    """The pieces of a dimension that is rolled: its target and its source."""
    if not shift:
        return [(dim, slice(None), slice(None))]
    return [(dim, slice(shift, None), slice(None, -shift)), (dim, slice(None, shift), slice(-shift, None))]


@register_kernel("core::cat", dtypes=DTYPES, min_size=MIN_SIZE, bitwise=True)
def cat_kernel(generic: Any) -> Any:
    def run(arrays: Any, dim: int) -> Any:
        first = arrays[0]
        if sum([each.size for each in arrays]) < MIN_SIZE * len(arrays) or all(map(is_channels_last, arrays)):
            return generic(arrays, dim)
        lead, tail = first.shape[:dim], first.shape[dim + 1 :]
        if any(each.shape[:dim] != lead or each.shape[dim + 1 :] != tail for each in arrays):
            return generic(arrays, dim)  # which says so
        made = np.empty((*lead, sum([each.shape[dim] for each in arrays]), *tail), first.dtype)
        return filled(made, dim, arrays) if first.itemsize in UNSIGNED else generic(arrays, dim)

    return run


@loop
def join_rows_loop(y, places, widths, lo, hi):
    target = y + np.int64(lo) * widths.sum()
    for row in range(np.int64(lo), np.int64(hi)):
        for k in range(np.uintp(places.size)):
            copy_bytes(target, places[k] + row * widths[k], widths[k])
            target += widths[k]


@launcher
def join_rows(y, rows, sources):
    """Write rows of arrays side by side. ``sources`` are their identities, and the bytes of a row of each."""
    places, widths = np.empty(len(sources), np.int64), sources[:, 1].copy()
    for k in range(len(sources)):
        places[k] = word_at(sources[k, 0] + HEAD)
    parallel(join_rows_loop, (word_at(y + HEAD), places, widths), rows, rows * widths.sum() // 2)


def filled(made: Any, dim: int, arrays: Any) -> Any:
    """An array with others copied into it, one after the other along a dimension."""
    rows = math.prod(made.shape[:dim])
    wide = rows > 1 and made.nbytes >= rows * len(arrays) * MIN_COPY_BYTES
    if wide and all(each.flags.c_contiguous for each in arrays):
        join_rows(id(made), rows, np.array([(id(each), each.nbytes // rows) for each in arrays]))
        return made
    start, before = 0, (slice(None),) * dim
    for each in arrays:
        stop = start + each.shape[dim]
        target = made[(*before, slice(start, stop))]
        if not strided_copy(target, each):
            target[...] = each
        start = stop
    return made


@register_kernel("core::stack", dtypes=DTYPES, min_size=MIN_SIZE, checks_size=True, bitwise=True)
def stack_kernel(generic: Any) -> Any:
    def run(arrays: Any, dim: int) -> Any:
        first = arrays[0]
        if first.size < MIN_SIZE or first.itemsize not in UNSIGNED:
            return generic(arrays, dim)
        made = np.empty((*first.shape[:dim], len(arrays), *first.shape[dim:]), first.dtype)
        new = (*[FORWARD] * dim, None)  # as `expand_dims`, which takes longer than a row
        return filled(made, dim, [each[new] for each in arrays])

    return run
