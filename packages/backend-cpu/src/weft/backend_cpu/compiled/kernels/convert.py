"""Conversions, and triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import weft
from weft.backend import KernelBySize
from weft.backend_cpu.compiled.codegen.elementwise import operation, results
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.copy_cat import copied
from weft.backend_cpu.libraries import FEW, HALF, LEAST, serves

ALL = "float32 float64 int64 int32 bool uint8 int8 int16 float16 bfloat16"

# Conversions that NumPy has no vector code for

SAME = operation("core::convert", lambda a: a)
TRUTH = operation("core::convert to bool", lambda a: a != 0)
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


@serves("core::convert", f"{FLOATS} uint8 int8")
def convert_kernel(generic: Any) -> Any:
    def run(x: Any, dtype: Any) -> Any:
        key = CONVERSIONS.get((x.dtype, dtype)) if type(x) is np.ndarray else None  # NumPy gives scalars for arrays
        made = None if key is None else results(key, [x], dtype.numpy)
        return generic(x, dtype) if made is None else made

    return KernelBySize(generic, run, FEW)


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

    return KernelBySize(generic, run, LEAST)


@serves("core::tril", ALL)
def tril_kernel(generic: Any) -> Any:
    return triangle_kernel(generic, True)


@serves("core::triu", ALL)
def triu_kernel(generic: Any) -> Any:
    return triangle_kernel(generic, False)
