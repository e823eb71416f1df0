"""Conversions, and triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.backend_cpu.compiled.codegen.elementwise import run_elementwise, scalar_function
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
