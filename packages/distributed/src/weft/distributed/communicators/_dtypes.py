"""Codes of dtypes in messages, by which a receiver finds out that another was sent."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["code_of_dtype", "name_of_dtype"]

_NAMES = (
    "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64 complex128 "
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
).split()
_CODES = {name: code for code, name in enumerate(_NAMES, start=1)}


@cache
def code_of_dtype(dtype: Any) -> int:
    """The code of an array's dtype, 0 for those that have none; kept, since NumPy makes the name anew each time."""
    return _CODES.get(dtype.name, 0)


def name_of_dtype(code: int) -> str:
    """The name of the dtype of a code."""
    return _NAMES[code - 1] if 0 < code <= len(_NAMES) else "another dtype"
