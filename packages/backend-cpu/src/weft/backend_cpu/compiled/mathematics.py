"""Functions of one number that compile to vector code, in float32 and float64; `erf` in float32 alone.

Numba has the C library's, which a compiler can only call for one number after another. Here each is a polynomial
without a branch, and a loop of them runs at about the speed of the memory. `exp`, `expm1`, `log` and `log1p` are right
within 2 units in the last place, `tanh` and `sigmoid` within 3, `erf` within 5, with infinities, nan, -0.0 and (`exp`,
`log`) numbers too small to be normal.

A number that is written in a kernel is a float64 to Numba, and makes float32 arithmetic wide: `like` gives it the type
of another.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = [
    "erf",
    "exp",
    "expm1",
    "function",
    "like",
    "log",
    "log1p",
    "maximum",
    "polynomial",
    "sigmoid",
    "softplus",
    "tanh",
]

# Nothing is reordered here: what is added and subtracted again, to round a number, must not be found to cancel.
function = njit(fastmath={"contract"}, error_model="numpy", forceinline=True, nogil=True)

# Of a type: the integer of its size, the bits of its fraction, what is added to its exponents, and the number whose
# last bit counts one, so that adding it rounds to a whole number.
FORMATS = {
    types.float32: (ir.IntType(32), 23, 127, 1.5 * 2.0**23),
    types.float64: (ir.IntType(64), 52, 1023, 1.5 * 2.0**52),
}


@intrinsic
def like(typingctx: Any, x: Any, value: Any) -> Any:
    """A number in the type of ``x``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[1], value, x)

    return x(x, value), generate


@intrinsic
def either(typingctx: Any, x: Any, single: Any, double: Any) -> Any:
    """The first number for an ``x`` of float32, the second for one of float64, in that type."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[1 if x == types.float32 else 2], signature.args[1], x)

    return x(x, types.float64, types.float64), generate


@intrinsic
def maximum(typingctx: Any, a: Any, b: Any) -> Any:
    """The larger number, nan if one is nan: a reduction by it is vector code, one by ``>`` is not."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(args[0].type, [args[0].type] * 2)
        return builder.call(builder.module.declare_intrinsic("llvm.maximum", [args[0].type], kind), args)

    return a(a, a), generate


@intrinsic
def polynomial(typingctx: Any, x: Any, single: Any, double: Any) -> Any:
    """A polynomial of ``x``: two global tuples of coefficients, of float32 and of float64, highest power first."""
    place, coefficients = (1, single) if x == types.float32 else (2, double)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def coefficient(i: int) -> Any:
            return context.cast(builder, builder.extract_value(args[place], i), types.float64, x)

        value = coefficient(0)
        for i in range(1, len(coefficients)):
            value = builder.fmul(value, args[0], flags=("contract",))
            value = builder.fadd(value, coefficient(i), flags=("contract",))
        return value

    return x(x, single, double), generate


@intrinsic
def rounder(typingctx: Any, x: Any) -> Any:
    """The number of x's type that, added and subtracted, rounds to a whole number."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(args[0].type, FORMATS[x][3])

    return x(x), generate


@intrinsic
def scaled(typingctx: Any, x: Any, shifted: Any) -> Any:
    """``x * 2**k`` for ``shifted = k + rounder``: by two factors, since one may be out of range."""
    whole, fraction, bias, magic = FORMATS[x]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def power(k: Any) -> Any:
            return builder.bitcast(builder.shl(builder.add(k, whole(bias)), whole(fraction)), args[0].type)

        k = builder.sub(builder.bitcast(args[1], whole), builder.bitcast(args[0].type(magic), whole))
        half = builder.ashr(k, whole(1))
        return builder.fmul(builder.fmul(args[0], power(half)), power(builder.sub(k, half)))

    return x(x, x), generate


@intrinsic
def exponent(typingctx: Any, x: Any) -> Any:
    """The power of two that leaves a positive number between the roots of 1/2 and 2 when it is divided by it."""
    whole, fraction, _, _ = FORMATS[x]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        root = builder.bitcast(args[0].type(math.sqrt(0.5)), whole)
        above = builder.sub(builder.bitcast(args[0], whole), root)
        return builder.sitofp(builder.ashr(above, whole(fraction)), args[0].type)

    return x(x), generate


@function
def between(x, low, high):
    """``x``, moved to the nearer limit where it is outside; nan stays."""
    x = high if x > high else x
    return low if x < low else x


# The exponential: x = k log(2) + r, and a polynomial of r. The first part of log(2) has few bits, so that its product
# with a whole number is exact.

LN2_HIGH = 0.693359375, 6.93147180369123816490e-01
LN2_LOW = -2.12194440054690583e-4, 1.90821492927058770002e-10

# (exp(r) - 1 - r) / r**2 for |r| < log(2) / 2: a fit by relative error of expm1, 1.3e-8; and Taylor's series.
EXP_SINGLE = (0.00138825139056, 0.00836654727079, 0.041667200749, 0.166665434228, 0.499999981495)
EXP_DOUBLE = tuple(1 / math.factorial(k) for k in range(14, 1, -1))


@function
def remainder(x, k):
    """``x - k log(2)``."""
    high = x - k * either(x, LN2_HIGH[0], LN2_HIGH[1])
    return high - k * either(x, LN2_LOW[0], LN2_LOW[1])


@function
def exp(x):
    x = between(x, either(x, -104.0, -746.0), either(x, 89.0, 710.0))
    shifted = x * like(x, 1.4426950408889634) + rounder(x)
    r = remainder(x, shifted - rounder(x))
    return scaled(like(x, 1.0) + (r + r * r * polynomial(r, EXP_SINGLE, EXP_DOUBLE)), shifted)


@function
def expm1(x):
    """``exp(x) - 1``, without loss of precision for small x."""
    bounded = between(x, either(x, -30.0, -50.0), either(x, 89.0, 710.0))
    shifted = bounded * like(x, 1.4426950408889634) + rounder(x)
    r = remainder(bounded, shifted - rounder(x))
    half = scaled(like(x, 0.5), shifted)  # of the power of two, which may be out of range itself
    value = half * (r + r * r * polynomial(r, EXP_SINGLE, EXP_DOUBLE)) + (half - like(x, 0.5))
    return x if x == 0 else value + value


# The logarithm: x = 2**k m, and log(m) = 2 atanh(s) by its series, for f = m - 1 and s = f / (2 + f).

ATANH_SINGLE = tuple(2 / (2 * k + 1) for k in range(5, 0, -1))
ATANH_DOUBLE = tuple(2 / (2 * k + 1) for k in range(11, 0, -1))


@function
def log_of(f, k):
    """``log(1 + f) + k log(2)``."""
    s = f / (like(f, 2.0) + f)
    square = like(f, 0.5) * f * f
    z = s * s
    rest = s * (square + z * polynomial(z, ATANH_SINGLE, ATANH_DOUBLE))
    low = k * either(f, LN2_LOW[0], LN2_LOW[1])
    return k * either(f, LN2_HIGH[0], LN2_HIGH[1]) - ((square - (rest + low)) - f)


@function
def log(x):
    least = either(x, 2.0**-126, 2.0**-1022)
    up = either(x, 23.0, 52.0)
    normal = x * either(x, 2.0**23, 2.0**52) if x < least else x
    k = exponent(normal)
    value = log_of(scaled(normal, rounder(x) - k) - like(x, 1.0), k - up if x < least else k)
    value = value if x < like(x, math.inf) else x
    value = like(x, -math.inf) if x == 0 else value
    return like(x, math.nan) if x < 0 else value


@function
def log1p(x):
    """``log(1 + x)``, without loss of precision for small x."""
    u = like(x, 1.0) + x
    k = exponent(u)
    lost = scaled(x - (u - like(x, 1.0)), rounder(x) - k)  # of x, when 1 was added
    f = (scaled(u, rounder(x) - k) - like(x, 1.0)) + lost
    value = log_of(f, k)
    value = like(x, -math.inf) if u == 0 else value
    value = value if x < like(x, math.inf) else x
    return like(x, math.nan) if x < like(x, -1.0) else x if x == 0 else value


@function
def softplus(x):
    """``log(1 + exp(x))``, without overflow."""
    y = exp(-abs(x))  # 1 + y is between 1 and 2
    above = y > like(y, 0.41421356)
    rest = log_of(like(y, 0.5) * (y - like(y, 1.0)) if above else y, like(y, 1.0 if above else 0.0))
    return (x if x > 0 else like(x, 0.0)) + rest


@function
def sigmoid(x):
    """``1 / (1 + exp(-x))``."""
    return like(x, 1.0) / (like(x, 1.0) + exp(-x))


@function
def tanh(x):
    fall = expm1(like(x, -2.0) * abs(x))
    return math.copysign(-fall / (fall + like(x, 2.0)), x)


# erf(x) / x is a ratio of two polynomials of x * x, to 2.5e-8 for |x| < 4, where it is 1 in float32.
ERF_ABOVE = (
    1.9868152776325587e-06,
    2.8456334257498384e-04,
    3.8832006976008415e-03,
    5.3101301193237305e-02,
    1.9354158639907837e-01,
    1.1283791065216064e00,
)
ERF_BELOW = (
    3.7420391890918836e-05,
    1.1855377815663815e-03,
    1.5206961892545223e-02,
    1.1534857749938965e-01,
    5.0485432147979736e-01,
    1.0,
)


@function
def erf(x):
    """The error function, in float32."""
    x = between(x, like(x, -4.0), like(x, 4.0))
    z = x * x
    value = x * (polynomial(z, ERF_ABOVE, ERF_ABOVE) / polynomial(z, ERF_BELOW, ERF_BELOW))
    return between(value, like(x, -1.0), like(x, 1.0))
