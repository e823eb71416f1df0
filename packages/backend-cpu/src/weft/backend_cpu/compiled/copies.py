"""Copies of transposed arrays, conversions to and from half precision, and triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from weft.backend import BySize
from weft.backend_cpu.compiled.elementwise import operation, results
from weft.backend_cpu.compiled.lists import array_at
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.libraries import LEAST, serves

ALL = "float32 float64 int64 int32 bool uint8 int8 int16 float16 bfloat16"
SIDE = 32  # of a tile: its lines of the cache, read and written, fit the first one


@loop
def transpose_loop(source, target, like, starts, ends, rows, columns, apart, between, lo, hi):
    tiles = (rows + np.uintp(SIDE - 1)) // np.uintp(SIDE)
    for item in range(lo, hi):
        at, first = item // tiles, item % tiles * np.uintp(SIDE)
        x = array_at(source + starts[at] * like.itemsize, 1, like)
        y = array_at(target + ends[at] * like.itemsize, 1, like)
        for left in range(np.uintp(0), columns, np.uintp(SIDE)):
            right = min(left + np.uintp(SIDE), columns)
            for row in range(first, min(first + np.uintp(SIDE), rows)):
                for column in range(left, right):
                    y[row * between + column] = x[row + column * apart]


@launcher
def transpose(source, target, like, starts, ends, rows, columns, apart, between):
    """Copy matrices that begin at some elements, whose columns lie in memory, to others whose rows do."""
    sizes = (np.uintp(rows), np.uintp(columns), np.uintp(apart), np.uintp(between))
    tiles = (rows + SIDE - 1) // SIDE
    arguments = (source, target, like, starts, ends, sizes[0], sizes[1], sizes[2], sizes[3])
    parallel(transpose_loop, arguments, len(starts) * tiles, len(starts) * rows * columns * 2)


def places(shape: Any, strides: Any) -> Any:
    """How many elements from the first one all elements of some dimensions are."""
    found = np.zeros(1, np.int64)
    for size, stride in zip(shape, strides):
        found = (found[:, None] + np.arange(size) * stride).reshape(-1)
    return found


@serves("core::contiguous_copy", ALL)
def contiguous_copy_kernel(generic: Any) -> Any:
    def run(x: Any) -> Any:
        last = x.ndim - 1
        dense = next((dim for dim in range(last) if x.strides[dim] == x.itemsize and x.shape[dim] >= 8), None)
        if dense is None or x.shape[last] < 8 or min(x.strides) < 0 or not x.flags.aligned:
            return generic(x)
        made = np.empty(x.shape, x.dtype)
        steps = [stride // x.itemsize for stride in x.strides]
        new_steps = [stride // x.itemsize for stride in made.strides]
        rest = [dim for dim in range(last) if dim != dense]
        shape = [x.shape[dim] for dim in rest]
        starts, ends = (places(shape, [each[dim] for dim in rest]) for each in (steps, new_steps))
        like = np.empty(0, f"u{x.itemsize}")
        sizes = (x.shape[dense], x.shape[last], steps[last], new_steps[dense])
        transpose(x.ctypes.data, made.ctypes.data, like, starts, ends, *sizes)
        return made

    return BySize(generic, run, LEAST)


# Half precision: the bits of numbers as unsigned integers


@intrinsic
def to_half(typingctx: Any, bits: Any) -> Any:
    """The bits of the nearest float16 of a float32's."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(
            builder.fptrunc(builder.bitcast(values[0], ir.FloatType()), ir.HalfType()), ir.IntType(16)
        )

    return types.uint16(types.uint32), generate


@intrinsic
def from_half(typingctx: Any, bits: Any) -> Any:
    """The bits of the float32 that a float16 is."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(builder.fpext(builder.bitcast(values[0], ir.HalfType()), ir.FloatType()), ir.IntType(32))

    return types.uint32(types.uint16), generate


def to_bfloat(a: Any) -> Any:
    """The bits of the nearest bfloat16 of a float32's, of two the even one."""
    nearest = (a + 0x7FFF + ((a >> 16) & 1)) >> 16
    return nearest if (a & 0x7FFFFFFF) <= 0x7F800000 else ((a >> 16) & 0x8000) | 0x7FC0


CONVERSIONS = {  # by dtypes: the operation, and the bytes of the result
    ("float32", "bfloat16"): (operation("to_bfloat", to_bfloat), 2),
    ("bfloat16", "float32"): (operation("from_bfloat", lambda a: np.uint32(a) << 16), 4),
    ("float32", "float16"): (operation("to_half", lambda a: to_half(a)), 2),
    ("float16", "float32"): (operation("from_half", lambda a: from_half(a)), 4),
}


@serves("core::convert", "float32 float16 bfloat16")
def convert_kernel(generic: Any) -> Any:
    def run(x: Any, dtype: Any) -> Any:
        found = CONVERSIONS.get((x.dtype.name, dtype.name))
        if found is None or not x.flags.c_contiguous:
            return generic(x, dtype)
        made = results(found[0], [x.view(f"u{x.itemsize}")], np.dtype(f"u{found[1]}"))
        return generic(x, dtype) if made is None else made.view(dtype.numpy)

    return BySize(generic, run, LEAST)


# Triangles


@loop
def triangle_loop(x, y, diagonal, lower, lo, hi):
    rows, columns = x.shape[1], x.shape[2]
    for item in range(lo, hi):
        matrix, row = item // np.uintp(rows), item % np.uintp(rows)
        source, target = x[matrix, row], y[matrix, row]
        border = np.uintp(min(max(np.int64(row) + diagonal + (1 if lower else 0), 0), columns))
        first, stop = (np.uintp(0), border) if lower else (border, np.uintp(columns))
        for i in range(first):
            target[i] = 0
        for i in range(first, stop):
            target[i] = source[i]
        for i in range(stop, np.uintp(columns)):
            target[i] = 0


@launcher
def triangle(x, y, diagonal, lower):
    parallel(triangle_loop, (x, y, diagonal, lower), x.shape[0] * x.shape[1], x.size)


def triangle_kernel(generic: Any, lower: bool) -> Any:
    def run(x: Any, diagonal: int) -> Any:
        if not x.flags.c_contiguous or not x.size:
            return generic(x, diagonal)
        made, shape = np.empty(x.shape, x.dtype), (math.prod(x.shape[:-2]), *x.shape[-2:])
        bits = f"u{x.itemsize}"
        triangle(x.view(bits).reshape(shape), made.view(bits).reshape(shape), diagonal, lower)
        return made

    return BySize(generic, run, LEAST)


@serves("core::tril", ALL)
def tril_kernel(generic: Any) -> Any:
    return triangle_kernel(generic, True)


@serves("core::triu", ALL)
def triu_kernel(generic: Any) -> Any:
    return triangle_kernel(generic, False)
