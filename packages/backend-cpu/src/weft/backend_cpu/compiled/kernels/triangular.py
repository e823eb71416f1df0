"""Lower and upper triangles of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.codegen.strided_copy import ordered_copy
from weft.backend_cpu.registry import MIN_SIZE, register_kernel

ALL = "float32 float64 int64 int32 bool uint8 int8 int16 float16 bfloat16"


@loop
def triangle_loop(x, y, diagonal, lower, lo, hi):
    rows, columns = x.shape[1], x.shape[2]
    for copy_item in range(lo, hi):
        matrix, row = copy_item // np.uintp(rows), copy_item % np.uintp(rows)
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
        x = x if x.flags.c_contiguous else ordered_copy(x)
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
