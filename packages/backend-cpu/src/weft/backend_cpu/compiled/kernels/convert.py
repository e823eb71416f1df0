"""Conversions, and triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import weft
from weft.backend_cpu.compiled.codegen.elementwise import run_elementwise, scalar_function
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.copy_cat import copied
from weft.backend_cpu.registry import HALF, MIN_SIZE, MIN_SIZE_FUSED, register_kernel

ALL = "float32 float64 int64 int32 bool uint8 int8 int16 float16 bfloat16"

# Conversions that NumPy has no vector code for

SAME = scalar_function("core::convert", lambda a: a)
TRUTH = scalar_function("core::convert to bool", lambda a: a != 0)
FLOATS = "float32 float64 float16 bfloat16"
CONVERSIONS = {
    (getattr(weft, source).numpy, getattr(weft, target)): key
    for sources, targets, key in (
        (f"{HALF} uint8 int8", "float32", SAME),
        (f"{HALF} float32", HALF, SAME),
        (FLOATS, "bool", TRUTH),
    )
    for source in sources.split()
    for target in targets.split()
}


@register_kernel(
    "core::convert", dtypes="float32 float64 uint8 int8", min_size=MIN_SIZE, checks_size=True, halves=True, bitwise=True
)
def convert_kernel(generic: Any) -> Any:
    def run(x: Any, dtype: Any) -> Any:
        worth = type(x) is np.ndarray and x.size >= MIN_SIZE_FUSED  # NumPy gives scalars for arrays
        key = CONVERSIONS.get((x.dtype, dtype)) if worth else None
        made = None if key is None else run_elementwise(key, [x], dtype.numpy)
        return generic(x, dtype) if made is None else made

    return run


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
        if not x.size:
            return generic(x, diagonal)
        x = x if x.flags.c_contiguous else copied(x)
        made, shape = np.empty(x.shape, x.dtype), (math.prod(x.shape[:-2]), *x.shape[-2:])
        bits = f"u{x.itemsize}"
        triangle(x.view(bits).reshape(shape), made.view(bits).reshape(shape), diagonal, lower)
        return made

    return run


@register_kernel("core::tril", dtypes=ALL, min_size=MIN_SIZE, bitwise=True)
def tril_kernel(generic: Any) -> Any:
    return triangle_kernel(generic, True)


@register_kernel("core::triu", dtypes=ALL, min_size=MIN_SIZE, bitwise=True)
def triu_kernel(generic: Any) -> Any:
    return triangle_kernel(generic, False)
