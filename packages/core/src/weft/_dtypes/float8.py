"""The 8-bit floating-point dtypes: how numbers are rounded to them.

They are for storage. What is computed with them is computed in float32 (comparisons, tests) or refused.
"""

from __future__ import annotations

from typing import Any

import numpy

from weft._dtypes.dtypes import dtype

__all__ = ["assigned", "converted", "is_float8", "refuse_float8", "rounded_number", "widened"]

LARGEST_E4M3FN = 448.0
SMALLEST_E8M0FNU = 2.0**-127


def converted(array: Any, target: Any) -> Any:
    """An array in another dtype, one of the two of 8-bit floats, rounded as PyTorch does.

    By way of float32, to the nearest, of two to the even one. What is too large becomes: in float8_e4m3fn the largest
    number, in float8_e5m2 an infinity, in the others nan. float8_e8m0fnu has powers of two alone, without a sign and
    without zero: the sign is dropped, and 2**-127 stands for all that is smaller.

    Parameters
    ----------
    array : array
        Of any dtype; of complex numbers the real parts are taken.
    target : numpy.dtype
    """
    if array.dtype == target:
        return array.copy()
    if array.dtype.kind == "c":
        array = array.real
    single = widened(array)
    name = target.name
    if not name.startswith("float8"):
        return single.astype(target)
    if name == "float8_e4m3fn":
        single = single.clip(-LARGEST_E4M3FN, LARGEST_E4M3FN)
    elif name == "float8_e8m0fnu":
        single = abs(single).clip(SMALLEST_E8M0FNU, None)
    made = single.astype(target)
    if name == "float8_e5m2":  # nan has all its bits set in PyTorch, and in ml_dtypes not the last
        made.view(numpy.uint8)[single != single] |= 1
    return made


def widened(array: Any) -> Any:
    """An array in float32; nan has no sign in the dtypes that have one nan alone, and gets none."""
    single = array.astype(numpy.float32)
    if array.dtype.itemsize == 1 and array.dtype.name.endswith("fnuz"):
        single[single != single] = numpy.nan
    return single


def is_float8(array_dtype: Any) -> bool:
    """Whether a dtype of NumPy is one of the 8-bit floats."""
    return array_dtype.itemsize == 1 and array_dtype.kind not in "biu"


def rounded_number(value: Any, element: dtype) -> Any:
    """A number as one of NumPy's of an 8-bit dtype."""
    return converted(numpy.asarray([value]), element.numpy)[0]


def assigned(target: Any, array: Any) -> Any:
    """What to assign to an array, if it or what is assigned may be of 8-bit floats."""
    if target.dtype == array.dtype or not (is_float8(target.dtype) or is_float8(array.dtype)):
        return array
    return converted(array, target.dtype)


def computed(kernel: Any, element: dtype, to_element: bool) -> Any:
    """A kernel that computes in float32 for arrays of an 8-bit dtype, to which numbers are rounded first."""

    def wide(arg: Any) -> Any:
        if isinstance(arg, (int, float)) or getattr(arg, "ndim", None) == 0:
            arg = rounded_number(arg, element)
        return widened(numpy.asarray(arg))

    def run(*args: Any) -> Any:
        result = kernel(*[wide(arg) for arg in args])
        return converted(numpy.asarray(result), element.numpy) if to_element else result

    return run


def refuse_float8(name: str, element: dtype) -> None:
    """A function computes the numbers that it returns.

    Raises
    ------
    NotImplementedError
        For the 8-bit floating-point dtypes.
    """
    if element.is_float8:
        raise NotImplementedError(
            f"{name}: not implemented for '{element.scalar_type_name}' ({element}), which is for storage; use another "
            "dtype, and "
            f"convert the result with .to({element})"
        )
