"""Padding, a row of the result at a time, by a table of where its elements come from."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from weft.backend_cpu.compiled.codegen.array_header import HEAD, array_at, word_at
from weft.backend_cpu.compiled.codegen.deferred import njit
from weft.backend_cpu.compiled.codegen.memory import copy_bytes
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.codegen.strided_copy import DTYPES, UNSIGNED, copy_item
from weft.backend_cpu.registry import MIN_SIZE, register_kernel

NOWHERE = -1  # the place of an element that has the padding's value


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
    return at


def rows_of(mode: str, shape: tuple[int, ...], before: tuple[int, ...], after: tuple[int, ...]) -> Any:
    """Where each row of the result comes from, for the dimensions that rows are counted in."""
    rows = np.zeros(1, np.int64)
    for size, first, last in zip(shape, before, after):
        at = places(mode, size, first, last)
        both = rows[:, None] * size + at
        rows = np.where((rows[:, None] < 0) | (at < 0), NOWHERE, both).reshape(-1)
    return rows


class Plan(NamedTuple):
    """A padding of arrays of some shape. The table has the words below, where rows come from, and where elements do."""

    shape: tuple[int, ...]
    table: Any
    address: int


LEAD, IMAGES, WIDTH, FIRST, STOP, INSIDE, ROWS, COLUMNS, PLACES = range(9)


@lru_cache(maxsize=256)
def plan_of(mode: str, shape: tuple[int, ...], before: tuple[int, ...], after: tuple[int, ...]) -> Plan | None:
    """The plan; None for an array that has no elements, or whose result has none."""
    made = tuple([n + b + a for n, b, a in zip(shape, before, after)])
    if not shape or not math.prod(shape) or not math.prod(made):
        return None
    last, outer = len(shape) - 1, 0
    while outer < last and not before[outer] and not after[outer]:
        outer += 1
    rows = rows_of(mode, shape[outer:last], before[outer:last], after[outer:last])
    columns = places(mode, shape[last], before[last], after[last])
    first = min(max(before[last], 0), made[last])
    stop = max(made[last] - max(after[last], 0), first)
    lead, images = math.prod(shape[:outer]), math.prod(shape[outer:last])
    words = lead, images, shape[last], first, stop, mode != "constant", len(rows), len(columns)
    table = np.concatenate([words, rows, columns]).astype(np.int64)
    return Plan(made, table, table.ctypes.data)


@njit(fastmath={"reassoc", "contract"}, error_model="numpy", forceinline=True)
def put(target, source, like, near, columns, first, stop):
    """Copy some elements of a row one by one, from their places in a row of the source."""
    for i in range(first, stop):
        column = word_at(columns + 8 * i)
        copy_item(target + i * like.itemsize, source + column * like.itemsize if column >= 0 else near, like)


@njit(fastmath={"reassoc", "contract"}, error_model="numpy", forceinline=True)
def put_value(target, like, near, count):
    """Write the padding's value ``count`` times."""
    for _ in range(count):
        copy_item(target, near, like)
        target += like.itemsize


@loop
def pad_loop(x, y, like, near, table, lo, hi):
    images, width, count = word_at(table + 8 * IMAGES), word_at(table + 8 * WIDTH), word_at(table + 8 * ROWS)
    first, stop, total = word_at(table + 8 * FIRST), word_at(table + 8 * STOP), word_at(table + 8 * COLUMNS)
    inside = word_at(table + 8 * INSIDE) != 0
    size, rows, columns = like.itemsize, table + 8 * PLACES, table + 8 * (PLACES + count)
    begin, value = word_at(columns + 8 * first) if stop > first else 0, array_at(near, 1, like)[0]
    image = np.int64(lo) // count
    row, target = np.int64(lo) - image * count, y + np.int64(lo) * total * size
    for _ in range(np.int64(lo), np.int64(hi)):
        place = word_at(rows + 8 * row)
        if place < 0:
            made = array_at(target, total, like)
            for i in range(np.uintp(total)):
                made[i] = value
        else:
            source = x + (image * images + place) * width * size
            copy_bytes(target + first * size, source + begin * size, (stop - first) * size)
            if inside:
                put(target, source, like, near, columns, 0, first)
                put(target, source, like, near, columns, stop, total)
            else:
                put_value(target, like, near, first)
                put_value(target + stop * size, like, near, total - stop)
        target += total * size
        row += 1
        if row == count:
            image, row = image + 1, np.int64(0)


@launcher
def pad(x, y, like, value, table):
    """Pad an array by a plan's table, arrays by their identities."""
    rows = word_at(table + 8 * LEAD) * word_at(table + 8 * ROWS)
    arguments = (word_at(x + HEAD), word_at(y + HEAD), like, word_at(value + HEAD), table)
    parallel(pad_loop, arguments, rows, rows * word_at(table + 8 * COLUMNS) * 2)


def padded(x: Any, before: Any, after: Any, mode: str, value: Any) -> Any:
    """The padded array; None where the loop does not do it."""
    like = UNSIGNED.get(x.itemsize)
    plan = plan_of(mode, x.shape, tuple(before), tuple(after)) if like is not None and x.flags.c_contiguous else None
    if plan is None:
        return None
    made = np.empty(plan.shape, x.dtype)
    near = np.zeros(1, x.dtype) if type(value) is int and value == 0 else np.full(1, value, x.dtype)
    pad(id(x), id(made), like, id(near), plan.address)
    return made


@register_kernel("nn::pad_constant", dtypes=DTYPES, min_size=MIN_SIZE, bitwise=True)
def pad_constant_kernel(generic: Any) -> Any:
    def run(x: Any, before: Any, after: Any, value: Any) -> Any:
        made = padded(x, before, after, "constant", value)
        return generic(x, before, after, value) if made is None else made

    return run


@register_kernel("nn::pad_inside", dtypes=DTYPES, min_size=MIN_SIZE, bitwise=True)
def pad_inside_kernel(generic: Any) -> Any:
    def run(x: Any, before: Any, after: Any, mode: str) -> Any:
        made = padded(x, before, after, mode, 0)
        return generic(x, before, after, mode) if made is None else made

    return run
