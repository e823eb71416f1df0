"""Half precision in compiled loops: read as float32, and rounded once when it is written. Numba has no such numbers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from weft import bfloat16, float16

__all__ = ["HALVES", "loaded", "rounded"]

I16, I32, SINGLE = ir.IntType(16), ir.IntType(32), ir.FloatType()

HALVES = {each.numpy: each.name for each in (bfloat16, float16)}
"""Their names, by the dtypes of arrays."""


def loaded(builder: Any, name: str, place: Any) -> tuple[Any, Any]:
    """The instruction that reads from a place, and the number in float32."""
    bits = builder.load(builder.bitcast(place, I16.as_pointer()))
    if name == "float16":
        return bits, builder.fpext(builder.bitcast(bits, ir.HalfType()), SINGLE)
    return bits, builder.bitcast(builder.shl(builder.zext(bits, I32), I32(16)), SINGLE)


def rounded(builder: Any, name: str, value: Any) -> Any:
    """The bits of the number nearest to one of float32, of two the even one; nan stays nan, with its sign."""
    if name == "float16":
        return builder.bitcast(builder.fptrunc(value, ir.HalfType()), I16)
    bits = builder.bitcast(value, I32)
    high = builder.lshr(bits, I32(16))
    nearest = builder.lshr(builder.add(builder.add(bits, I32(0x7FFF)), builder.and_(high, I32(1))), I32(16))
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.trunc(builder.select(is_nan, builder.or_(high, I32(0x40)), nearest), I16)
