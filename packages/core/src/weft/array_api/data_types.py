"""Dtypes, their limits, and conversion between them."""

from __future__ import annotations

from typing import Any

import weft
from weft import (
    Tensor,
    complex64,
    complex128,
    dtype,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from weft import bool as bool
from weft._dtypes.dtypes import ALL
from weft.array_api._promotion import result_type

__all__ = [
    "astype",
    "bool",
    "can_cast",
    "complex128",
    "complex64",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "int16",
    "int32",
    "int64",
    "int8",
    "isdtype",
    "result_type",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]

# Of each kind also what weft has beyond the standard: float16 and bfloat16 are real floating.
KINDS = {
    "bool": {bool},
    "signed integer": {each for each in ALL if each.category == 1 and each.is_signed},
    "unsigned integer": {each for each in ALL if each.category == 1 and not each.is_signed},
    "real floating": {each for each in ALL if each.is_floating_point},
    "complex floating": {each for each in ALL if each.is_complex},
}
KINDS["integral"] = KINDS["signed integer"] | KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] | KINDS["real floating"] | KINDS["complex floating"]


def astype(x: Tensor, dtype: dtype, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """The elements converted to another dtype.

    Parameters
    ----------
    x : Tensor
    dtype : dtype
    copy : bool
        False: ``x`` itself where nothing is to do.
    device : device or str, optional

    Raises
    ------
    TypeError
        To make real numbers of complex ones: take ``real(x)``, ``imag(x)`` or ``abs(x)``.
    """
    if x.dtype.is_complex and not dtype.is_complex and dtype is not bool:
        raise TypeError(f"astype: {x.dtype} cannot become {dtype}; take real(x), imag(x) or abs(x) first")
    return x.to(x.device if device is None else device, dtype, copy=copy)


def can_cast(from_: dtype | Tensor, to: dtype, /) -> Any:
    """Whether promotion with ``to`` gives ``to``."""
    element = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return result_type(element, to) is to
    except TypeError:
        return False


class finfo:
    """The limits of a floating-point dtype, or of the parts of a complex one.

    Attributes
    ----------
    bits : int
    eps, max, min, smallest_normal : float
    dtype : dtype
    """

    def __init__(self, type: dtype | Tensor, /) -> None:
        element = (type.dtype if isinstance(type, Tensor) else type).to_real()
        limits = weft.finfo(element)
        self.bits, self.dtype = limits.bits, element
        self.eps, self.max, self.min, self.smallest_normal = limits.eps, limits.max, limits.min, limits.smallest_normal


class iinfo:
    """The limits of an integer dtype.

    Attributes
    ----------
    bits, max, min : int
    dtype : dtype
    """

    def __init__(self, type: dtype | Tensor, /) -> None:
        element = type.dtype if isinstance(type, Tensor) else type
        limits = weft.iinfo(element)
        self.bits, self.max, self.min, self.dtype = limits.bits, limits.max, limits.min, element


def isdtype(dtype: dtype, kind: Any) -> Any:
    """Whether a dtype is of a kind, or of one of a tuple of kinds.

    Parameters
    ----------
    dtype : dtype
    kind : dtype or str or tuple
        ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``,
        ``"complex floating"``, ``"numeric"``, or a dtype.

    Examples
    --------
    >>> from weft import array_api as xp
    >>> xp.isdtype(xp.uint8, ("bool", "integral"))
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: unknown kind {kind!r}; it is one of {', '.join(KINDS)}")
        return dtype in KINDS[kind]
    return dtype is kind
