"""Functions of each element.

Those of one argument that are computed as the standard says are PyTorch's own. Those of two promote as the standard
says, and take one number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import (
    Tensor,
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    conj,
    cos,
    cosh,
    exp,
    floor,
    imag,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    negative,
    positive,
    real,
    reciprocal,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    trunc,
)
from weft import bitwise_not as bitwise_invert
from weft.array_api._promotion import promoted

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


def binary(name: str) -> Callable[[Any, Any], Tensor]:
    """The function of PyTorch's of this name with the standard's promotion before it."""
    function = getattr(weft, name)

    def promoting(x1: Any, x2: Any, /) -> Tensor:
        if not (isinstance(x1, Tensor) and isinstance(x2, Tensor) and x1.dtype is x2.dtype):
            x1, x2 = promoted(x1, x2)
        return function(x1, x2)

    promoting.__name__ = promoting.__qualname__ = name
    promoting.__doc__ = f"`weft.{name}` of operands in the dtype that the standard says; one of them may be a number."
    return promoting


add = binary("add")
atan2 = binary("atan2")
bitwise_and = binary("bitwise_and")
bitwise_left_shift = binary("bitwise_left_shift")
bitwise_or = binary("bitwise_or")
bitwise_right_shift = binary("bitwise_right_shift")
bitwise_xor = binary("bitwise_xor")
copysign = binary("copysign")
divide = binary("divide")
equal = binary("eq")
greater = binary("greater")
greater_equal = binary("greater_equal")
hypot = binary("hypot")
less = binary("less")
less_equal = binary("less_equal")
logaddexp = binary("logaddexp")
logical_and = binary("logical_and")
logical_or = binary("logical_or")
logical_xor = binary("logical_xor")
maximum = binary("maximum")
minimum = binary("minimum")
multiply = binary("multiply")
nextafter = binary("nextafter")
not_equal = binary("not_equal")
pow = binary("pow")
remainder = binary("remainder")
subtract = binary("subtract")


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Each element, or the bound that it is beyond; of the dtype of ``x``, which the bounds are converted to."""
    if min is None and max is None:
        return x.clone()
    return weft.clamp(x, bound(min, x), bound(max, x))


def bound(given: Any, x: Tensor) -> Tensor | None:
    """A bound in the dtype of what it bounds."""
    if given is None:
        return None
    return given.to(x.dtype) if isinstance(given, Tensor) else weft.tensor(given, dtype=x.dtype, device=x.device)


def expm1(x: Tensor, /) -> Tensor:
    """``exp(x) - 1`` without losing digits near 0; complex zeros and infinities give what `exp` says of them."""
    if not x.is_complex():
        return weft.expm1(x)
    return weft.where(weft.isfinite(x) & (x != 0), weft.expm1(x), weft.exp(x) - 1)


def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """The quotient rounded down; where an operand is infinite the quotient itself, and not nan or -1 as in Python."""
    x1, x2 = promoted(x1, x2)
    rounded = weft.floor_divide(x1, x2)
    if not rounded.is_floating_point():
        return rounded
    return weft.where(weft.isinf(x1) | weft.isinf(x2), x1.detach() / x2.detach(), rounded)


def round(x: Tensor, /) -> Tensor:
    """The nearest whole number, of two the even one; of a complex number both parts are rounded."""
    return weft.complex(weft.round(x.real), weft.round(x.imag)) if x.is_complex() else weft.round(x)


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; nan of nan; of a complex number ``x / abs(x)``."""
    if x.is_complex():
        return weft.sgn(x)
    return weft.where(weft.isnan(x), x, weft.sign(x)) if x.is_floating_point() else weft.sign(x)


def tan(x: Tensor, /) -> Tensor:
    """The tangent; of a complex number as ``-1j * tanh(1j * x)``."""
    if not x.is_complex():
        return weft.tan(x)
    turned = tanh(weft.complex(-x.imag, x.real))
    return weft.complex(turned.imag, -turned.real)


def tanh(x: Tensor, /) -> Tensor:
    """The hyperbolic tangent; its zero imaginary part at an infinite real one has the sign of that of ``x``."""
    if not x.is_complex():
        return weft.tanh(x)
    limit = weft.complex(weft.sign(x.real), weft.copysign(weft.zeros_like(x.imag), x.imag))
    return weft.where(weft.isinf(x.real) & weft.isfinite(x.imag), limit, weft.tanh(x))
