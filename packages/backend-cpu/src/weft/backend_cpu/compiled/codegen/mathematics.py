"""Functions of one number that compile to vector code, in float32 and float64.

Numba has the C library's, which a compiler can only call for one number after another. Here each is a polynomial
without a branch, and a loop of them runs at about the speed of the memory. `exp`, `exp2`, `expm1`, `log` and `log1p`
are right within 2 units in the last place, `tanh` and `sigmoid` within 3, `erf`, `erfc` and `erfinv` within 5, with
infinities, nan, -0.0 and (`exp`, `log`) numbers too small to be normal.

A number that is written in a kernel is a float64 to Numba, and makes float32 arithmetic wide: `like` gives it the type
of another.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.deferred import intrinsic, ir, njit, overload, types
from weft.backend_cpu.compiled.codegen.instructions import HAS_FUSED, HAS_INSTRUCTIONS, power_in, rest_of, times_power
from weft.ops.error_functions import (
    CENTRE_ABOVE,
    CENTRE_BELOW,
    FAR_ABOVE,
    FAR_BELOW,
    NEAR_ABOVE,
    NEAR_BELOW,
)
from weft.ops.gamma_functions import BERNOULLI

__all__ = [
    "between",
    "cosine",
    "digamma",
    "either",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "function",
    "fused",
    "hypot",
    "lgamma",
    "like",
    "log",
    "log1p",
    "log1pexp",
    "logaddexp",
    "maximum",
    "next_to",
    "normal_below",
    "polynomial",
    "sigmoid",
    "single_cosine",
    "single_power",
    "single_sine",
    "sine",
    "sine_of",
    "softplus",
    "tanh",
    "trigamma",
    "truncated",
    "whole",
]

# Nothing is reordered here: what is added and subtracted again, to round a number, must not be found to cancel.
OPTIONS = {"fastmath": {"contract"}, "error_model": "numpy", "forceinline": True, "nogil": True}
function = njit(**OPTIONS)


def format_of(kind: Any) -> tuple[Any, int, int, float]:
    """A type's integer of its size, bits of the fraction, what is added to exponents, and what rounds when it is added.

    The last bit of that number counts one, so that adding it rounds to a whole number.
    """
    if kind == types.float32:
        return ir.IntType(32), 23, 127, 1.5 * 2.0**23
    return ir.IntType(64), 52, 1023, 1.5 * 2.0**52


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
    """The larger number, and any if one is nan: for sums that are nan then in any case.

    A reduction by it is vector code of one instruction, where what keeps nan takes several.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(args[0].type, [args[0].type] * 2)
        function = builder.module.declare_intrinsic("llvm.maxnum", [args[0].type], kind)
        return builder.call(function, args, fastmath=("nnan", "nsz"))

    return a(a, a), generate


def as_llvm_has_it(name: str, count: int) -> Any:
    """A function of LLVM's for numbers of one type, as an intrinsic with so many arguments."""

    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(args[0].type, [args[0].type] * count)
        return builder.call(builder.module.declare_intrinsic(f"llvm.{name}", [args[0].type], kind), args)

    if count == 1:
        return intrinsic(lambda typingctx, x: (x(x), call))
    return intrinsic(lambda typingctx, x, y, z: (x(x, x, x), call))


floor, truncated, whole = (as_llvm_has_it(name, 1) for name in ("floor", "trunc", "rint"))  # `whole` is the nearest
fused = as_llvm_has_it("fma", 3)  # x * y + z, rounded once


@intrinsic
def next_to(typingctx: Any, x: Any, larger: Any) -> Any:
    """The number next to ``x``, which is not 0: that of larger size, or of smaller."""
    word = format_of(x)[0]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        step = builder.select(args[1], word(1), word(-1))
        return builder.bitcast(builder.add(builder.bitcast(args[0], word), step), args[0].type)

    return x(x, types.boolean), generate


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
        return ir.Constant(args[0].type, format_of(x)[3])

    return x(x), generate


@intrinsic
def scaled_by_bits(typingctx: Any, x: Any, shifted: Any) -> Any:
    """As `scaled`, by two factors, of normal numbers."""
    whole, fraction, bias, magic = format_of(x)
    up = bias // 4

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, shifted = args
        bits, zero = builder.bitcast(shifted, whole), builder.bitcast(value.type(magic), whole)
        small = builder.fcmp_ordered("<", shifted, value.type(magic))
        moved = builder.select(small, whole(bias + up), whole(bias - 1))
        first = builder.shl(builder.add(builder.sub(bits, zero), moved), whole(fraction))
        second = builder.select(small, value.type(2.0**-up), value.type(2.0))
        return builder.fmul(builder.fmul(value, builder.bitcast(first, value.type)), second)

    return x(x, x), generate


@intrinsic
def half_power(typingctx: Any, x: Any) -> Any:
    """``2**(k - 1)`` for ``x = k + rounder``, where that is in the range of normal numbers: in two instructions."""
    whole, fraction, bias, magic = format_of(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits, zero = (builder.bitcast(each, whole) for each in (args[0], args[0].type(magic)))
        exponent = builder.add(builder.sub(bits, zero), whole(bias - 1))
        return builder.bitcast(builder.shl(exponent, whole(fraction)), args[0].type)

    return x(x), generate


@function
def scaled_at_once(x, shifted):
    """As `scaled`."""
    return times_power(x, shifted - rounder(x))


scaled = scaled_at_once if HAS_INSTRUCTIONS else scaled_by_bits
"""``x * 2**k`` for ``shifted = k + rounder`` and k up to that of infinity."""


@intrinsic
def exponent(typingctx: Any, x: Any) -> Any:
    """The power of two that leaves a positive number between the roots of 1/2 and 2 when it is divided by it."""
    whole, fraction, _, _ = format_of(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        root = builder.bitcast(args[0].type(math.sqrt(0.5)), whole)
        above = builder.sub(builder.bitcast(args[0], whole), root)
        return builder.sitofp(builder.ashr(above, whole(fraction)), args[0].type)

    return x(x), generate


@intrinsic
def mantissa(typingctx: Any, x: Any) -> Any:
    """A positive number that is not too small to be normal, divided by 2 to the power of its `exponent`."""
    whole, fraction, _, _ = format_of(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits, root = builder.bitcast(args[0], whole), builder.bitcast(args[0].type(math.sqrt(0.5)), whole)
        power = builder.and_(builder.sub(bits, root), whole(-1 << fraction))
        return builder.bitcast(builder.sub(bits, power), args[0].type)

    return x(x), generate


@function
def between(x, low, high):
    """``x``, moved to the nearer limit where it is outside; nan stays."""
    x = high if x > high else x
    return low if x < low else x


@function
def tiny(x):
    """Numbers below this have squares that do not count beside them: functions with the slope 1 at 0 are them."""
    return either(x, 2.0**-25, 2.0**-54)


# The exponential: x = k log(2) + r, and a polynomial of r. The first part of log(2) has few bits, so that its product
# with a whole number is exact; the second is positive, so that no infinities cancel.

LN2_HIGH = 0.693145751953125, 6.93147180369123816490e-01
LN2_LOW = 1.42860682030941723212e-6, 1.90821492927058770002e-10

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
    least, most = either(x, -104.0, -746.0), either(x, 89.0, 710.0)  # beyond which there is 0, and infinity
    some = above(x, least, most)
    shifted = some * like(x, 1.4426950408889634) + rounder(x)
    r = remainder(some, shifted - rounder(x))
    power = scaled(like(x, 1.0) + r * (like(x, 1.0) + r * polynomial(r, EXP_SINGLE, EXP_DOUBLE)), shifted)
    return like(x, 0.0) if x < least else power


@function
def above(x, least, most):
    """``x`` up to a limit; 0 below the other: what is 0 by underflow takes a processor twenty times as long."""
    return like(x, 0.0) if x < least else most if x > most else x


@function
def expm1(x):
    """``exp(x) - 1``, without loss of precision for small x."""
    bounded = between(x, either(x, -30.0, -50.0), either(x, 89.0, 710.0))
    shifted = bounded * like(x, 1.4426950408889634) + rounder(x)
    r = remainder(bounded, shifted - rounder(x))
    half = scaled(like(x, 0.5), shifted)  # of the power of two, which may be out of range itself
    value = half * (r + r * r * polynomial(r, EXP_SINGLE, EXP_DOUBLE)) + (half - like(x, 0.5))
    return x if abs(x) < tiny(x) else value + value


# The logarithm: x = 2**k m, and log(m) by a series, for f = m - 1. In float64 it is 2 atanh(s) for s = f / (2 + f); in
# float32 a longer polynomial, of f, takes less time than the division.

# (log(1 + f) - f + f**2 / 2) / (f**3 / 2) for sqrt(1/2) <= 1 + f <= sqrt(2): to 5.8e-9 of the logarithm.
LOG_SINGLE = (
    -0.152689955,
    0.255231551,
    -0.263203643,
    0.284035158,
    -0.332467147,
    0.400024538,
    -0.500016421,
    0.666666634,
)

# (2 atanh(s) / s - 2) / s**2 as a polynomial of s**2 for |f| < sqrt(2) - 1: to 5e-16.
ATANH_DOUBLE = (
    0.14616576421644387,
    0.15331711346672997,
    0.18182889433757515,
    0.22222211130560726,
    0.28571428626001427,
    0.3999999999989945,
    0.666666666666667,
)


def log_beyond(f, square):
    """``log(1 + f) - f + square`` for ``square = f * f / 2``, in compiled code."""
    raise NotImplementedError


@overload(log_beyond, jit_options=OPTIONS)
def log_beyond_of(f, square):
    if f == types.float32:
        return lambda f, square: f * square * polynomial(f, LOG_SINGLE, LOG_SINGLE)

    def by_division(f, square):
        s = f / (2.0 + f)
        z = s * s
        return s * (square + z * polynomial(z, ATANH_DOUBLE, ATANH_DOUBLE))

    return by_division


@function
def log_of(f, k):
    """``log(1 + f) + k log(2)``."""
    square = like(f, 0.5) * f * f
    low = k * either(f, LN2_LOW[0], LN2_LOW[1])
    return k * either(f, LN2_HIGH[0], LN2_HIGH[1]) - ((square - (log_beyond(f, square) + low)) - f)


@function
def log_by_instructions(x):
    m, k = rest_of(x), power_in(x)
    above = m > like(x, math.sqrt(2))
    m, k = m * like(x, 0.5) if above else m, k + like(x, 1.0) if above else k
    return log_of(m - like(x, 1.0), k)


@function
def log_by_bits(x):
    least = either(x, 2.0**-126, 2.0**-1022)
    up = either(x, 23.0, 52.0)
    normal = x * either(x, 2.0**23, 2.0**52) if x < least else x
    k = exponent(normal)
    value = log_of(mantissa(normal) - like(x, 1.0), k - up if x < least else k)
    value = value if x < like(x, math.inf) else x
    value = like(x, -math.inf) if x == 0 else value
    return like(x, math.nan) if x < 0 else value


log = log_by_instructions if HAS_INSTRUCTIONS else log_by_bits
"""The natural logarithm."""


@function
def log1p(x):
    """``log(1 + x)``, without loss of precision for small x."""
    u = like(x, 1.0) + x
    k = exponent(u)
    lost = scaled(x - (u - like(x, 1.0)), rounder(x) - k)  # of x, when 1 was added
    f = (mantissa(u) - like(x, 1.0)) + lost
    value = log_of(f, k)
    value = like(x, -math.inf) if u == 0 else value
    value = value if x < like(x, math.inf) else x
    return like(x, math.nan) if x < like(x, -1.0) else x if abs(x) < tiny(x) else value


@function
def log1pexp(x):
    """``log(1 + exp(x))`` for ``x <= 0``."""
    y = exp(x)  # 1 + y is between 1 and 2
    above = y > like(y, 0.41421356)
    return log_of(like(y, 0.5) * (y - like(y, 1.0)) if above else y, like(y, 1.0 if above else 0.0))


@function
def softplus(x):
    """``log(1 + exp(x))``, without overflow."""
    return (x if x > 0 else like(x, 0.0)) + log1pexp(-abs(x))


@function
def sigmoid(x):
    """``1 / (1 + exp(-x))``."""
    y = between(-x, either(x, -30.0, -50.0), either(x, 89.0, 710.0))
    shifted = y * like(x, 1.4426950408889634) + rounder(x)
    r = remainder(y, shifted - rounder(x))
    half = half_power(shifted) * (like(x, 1.0) + (r + r * r * polynomial(r, EXP_SINGLE, EXP_DOUBLE)))  # of exp(-x)
    return like(x, 1.0) / (like(x, 1.0) + (half + half))


@function
def tanh(x):
    """``-v / (v + 1)`` for ``v = expm1(-2 * abs(x)) / 2``, with the sign of x."""
    low, y = either(x, -30.0, -50.0), like(x, -2.0) * abs(x)
    y = low if y < low else y
    shifted = y * like(x, 1.4426950408889634) + rounder(x)
    r = remainder(y, shifted - rounder(x))
    half = half_power(shifted)
    v = half * (r + r * r * polynomial(r, EXP_SINGLE, EXP_DOUBLE)) + (half - like(x, 0.5))
    return math.copysign(v / (v + like(x, 1.0)), x)


@function
def exp2(x):
    """``2 ** x``."""
    least, most = either(x, -151.0, -1076.0), either(x, 129.0, 1025.0)  # beyond which there is 0, and infinity
    some = above(x, least, most)
    shifted = some + rounder(x)
    r = (some - (shifted - rounder(x))) * like(x, 0.6931471805599453)
    power = scaled(like(x, 1.0) + r * (like(x, 1.0) + r * polynomial(r, EXP_SINGLE, EXP_DOUBLE)), shifted)
    return like(x, 0.0) if x < least else power


@function
def logaddexp(x, y):
    """``log(exp(x) + exp(y))``."""
    most = x if x > y or x != x else y
    apart = abs(x - y)
    rest = softplus(-apart)
    return x + like(x, 0.6931471805599453) if x == y else most + (rest if apart < like(x, math.inf) else like(x, 0.0))


@function
def hypot(x, y):
    """``sqrt(x * x + y * y)``, of numbers whose squares are out of range too."""
    x, y = abs(x), abs(y)
    k = exponent(x if x > y else y)
    down = rounder(x) - k
    a, b = scaled(x, down), scaled(y, down)
    value = scaled(math.sqrt(fused(a, a, b * b)), rounder(x) + k)
    most = like(x, math.inf)
    return most if x == most or y == most else value


@function
def single_power(x, y):
    """``x`` to the power ``y``, of numbers of float32: by the exponential and the logarithm of float64, as C has it."""
    base, exponent = np.float64(x), np.float64(y)
    half = exponent * 0.5
    size = exp(exponent * log(abs(base)))
    size = 1.0 if abs(base) == 1 else size
    size = math.nan if (base < 0) & (abs(base) < math.inf) & (np.floor(exponent) != exponent) else size
    is_odd = (np.floor(exponent) == exponent) & (np.floor(half) != half)
    size = math.copysign(size, base) if is_odd else size
    return np.float32(1.0 if (y == 0) | (x == 1) else size)


# The sine and the cosine: x = k pi / 2 + r, and polynomials of r * r.

HALF_PI = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33

# (sin(r) / r - 1) / r**2 and (cos(r) - 1 + r**2 / 2) / r**4 for |r| < pi / 4, to 1.3e-16 and 4e-17.
SIN = (
    1.5916726193889336e-10,
    -2.5051112272573243e-08,
    2.755731600817155e-06,
    -0.0001984126983657571,
    0.008333333333330827,
    -0.16666666666666666,
)
COS = (
    -1.1381754653662937e-11,
    2.0876134024090145e-09,
    -2.755731721268659e-07,
    2.4801587298651292e-05,
    -0.0013888888888887322,
    0.041666666666666664,
)


@function
def sine_of(x, quarters):
    """The sine of so many right angles more than ``x``, in float64; nan for an ``x`` that is too large."""
    k = whole(x * 0.6366197723675814)
    high = fused(-k, HALF_PI[0], x)
    r = fused(-k, HALF_PI[1], high)
    low = fused(-k, HALF_PI[1], high - r) + -k * HALF_PI[2]
    square = r * r
    odd = r + (low + r * square * polynomial(square, SIN, SIN))
    half = 0.5 * square
    even = 1.0 - (half - (square * square * polynomial(square, COS, COS) - r * low))
    turn = k + quarters
    turn -= 4.0 * floor(turn * 0.25)
    value = even if turn == 1.0 or turn == 3.0 else odd
    value = -value if turn >= 2.0 else value
    return value if abs(x) < 1e9 else math.nan


@function
def sine(x):
    """The sine, in float64 to 1e9, beyond which it is nan."""
    return x if x == 0 else sine_of(x, 0.0)


@function
def cosine(x):
    """The cosine, in float64 to 1e9, beyond which it is nan."""
    return sine_of(x, 1.0)


# The same in float32, with half a right angle of it in three parts: the polynomials are fits to 3.6e-9 and 1e-10. Up to
# the limit, no product with a part but is subtracted without a rounding, or is as small as one.
HALF_PI_SINGLE = 1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15
SIN_SINGLE = (-0.0001951729896, 0.008332178146, -0.1666665494)
COS_SINGLE = (2.443845155e-05, -0.001388736752, 0.04166664687)
LIMIT_SINGLE = 1e5


@function
def single_sine_of(x, quarters):
    """The sine of so many right angles more than ``x``, in float32; nan for an ``x`` that is too large."""
    k = (x * like(x, 0.6366197723675814) + rounder(x)) - rounder(x)
    r = fused(-k, like(x, HALF_PI_SINGLE[1]), fused(-k, like(x, HALF_PI_SINGLE[0]), x))
    r = fused(-k, like(x, HALF_PI_SINGLE[2]), r)
    square = r * r
    odd = r + r * square * polynomial(square, SIN_SINGLE, SIN_SINGLE)
    even = like(x, 1.0) - square * (like(x, 0.5) - square * polynomial(square, COS_SINGLE, COS_SINGLE))
    turn = np.int32(k) + np.int32(quarters)
    value = even if turn & np.int32(1) else odd
    value = -value if turn & np.int32(2) else value
    return value if abs(x) < like(x, LIMIT_SINGLE) else like(x, math.nan)


@function
def single_sine(x):
    """The sine, in float32 to 1e5, beyond which it is nan."""
    return x if x == 0 else single_sine_of(x, 0)


@function
def single_cosine(x):
    """The cosine, in float32 to 1e5, beyond which it is nan."""
    return single_sine_of(x, 1)


# The error functions. (1 + 2 z) exp(z * z) erfc(z) for z >= 0 is a polynomial of (z - 3.75) / (z + 3.75): to 1.6e-8
# and 2e-16 (M. M. Shepherd and J. G. Laframboise, Chebyshev approximation of (1 + 2x) exp(x**2) erfc x, Math. Comp. 36,
# 1981, where the form is from).

ERFCX_SINGLE = (
    -0.00022874723359088512,
    0.00039670463828002037,
    0.0016886622311157549,
    -0.00984549109495922,
    0.02839648212065821,
    -0.05864598286771255,
    0.09229636796120302,
    -0.10881458496174141,
    0.08227741756036867,
    0.00358631010168885,
    -0.14024060801000693,
    1.2375126184625718,
)
ERFCX_DOUBLE = (
    3.1840161719935736e-10,
    -2.620425589786976e-09,
    -3.787150956031989e-09,
    3.1963886161675214e-08,
    2.3373950304536838e-08,
    -2.485331343640654e-07,
    -5.738007439320983e-08,
    1.7419287151954743e-06,
    -9.734110872465871e-07,
    -1.1438001513426802e-05,
    2.23841500424572e-05,
    5.1646503738744544e-05,
    -0.00029015404560934306,
    0.0002937143873719235,
    0.0017556258441161596,
    -0.009746579685348469,
    0.028362277420301875,
    -0.058693398576378286,
    0.09230432116026314,
    -0.10880393014246267,
    0.08227673849014969,
    0.003585415485479494,
    -0.14024059858554702,
    1.2375126308378275,
)

# erf(x) / x as a polynomial of x * x: for |x| < 1/2, to 1e-09 and 4e-18.
ERF_INNER_SINGLE = (
    0.004719082567218814,
    -0.026757732735015517,
    0.11282831428465862,
    -0.37612609007469805,
    1.1283791656017914,
)
ERF_INNER_DOUBLE = (
    1.4725865480556744e-06,
    -1.4845849259707869e-05,
    0.00012053335124353741,
    -0.0008548297753674966,
    0.00522397737302147,
    -0.026866170632887928,
    0.11283791670925353,
    -0.37612638903183476,
    1.1283791670955126,
)


@function
def erfcx_positive(z):
    """``exp(z * z) * erfc(z)`` for z >= 0."""
    t = (z - like(z, 3.75)) / (z + like(z, 3.75))
    return polynomial(t, ERFCX_SINGLE, ERFCX_DOUBLE) / fused(z, like(z, 2.0), like(z, 1.0))


@function
def exp_minus_square(z, rest):
    """``exp(-(z + rest) ** 2)`` for a small rest: the rounding of the square would be magnified."""
    square = z * z
    lost = fused(z, z, -square) + like(z, 2.0) * z * rest
    value = exp(-square)
    return value - value * lost


@function
def erfc_of(x, rest):
    """``1 - erf(x + rest)``, for a small rest."""
    z = between(abs(x), like(x, 0.0), either(x, 10.2, 27.3))
    tail = exp_minus_square(z, rest if x > 0 else -rest) * erfcx_positive(z)
    outer = like(x, 2.0) - tail if x < 0 else tail
    inner = like(x, 1.0) - x * polynomial(x * x, ERF_INNER_SINGLE, ERF_INNER_DOUBLE)
    return inner if abs(x) < like(x, 0.5) else outer


@function
def erfc(x):
    """``1 - erf(x)``, without loss of precision for large x."""
    return erfc_of(x, like(x, 0.0))


@function
def erfcx(x):
    """``exp(x * x) * erfc(x)``."""
    z = abs(x)
    value = erfcx_positive(z) if z < either(x, 1e18, 1e150) else like(x, 0.5641895835477563) / z
    bounded = between(z, like(x, 0.0), either(x, 10.0, 27.0))
    square = bounded * bounded
    growth = exp(square)
    growth = growth + growth * fused(bounded, bounded, -square) if growth < like(x, math.inf) else growth
    return like(x, 2.0) * growth - value if x < 0 else value if x == x else x


@function
def erf(x):
    """The error function."""
    if not HAS_FUSED:  # the roundings of products would add up to more than five units in the last place
        return like(x, erf_double(np.float64(x)))
    return erf_single(x) if either(x, 1.0, 0.0) else erf_double(x)


@function
def erf_double(x):
    z = between(abs(x), like(x, 0.0), either(x, 4.0, 6.0))
    inner = x * polynomial(x * x, ERF_INNER_SINGLE, ERF_INNER_DOUBLE)
    outer = like(x, 1.0) - exp(-z * z) * erfcx_positive(z)
    return inner if abs(x) < like(x, 0.5) else math.copysign(outer, x)


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
def erf_single(x):
    x = between(x, like(x, -4.0), like(x, 4.0))
    z = x * x
    value = x * (polynomial(z, ERF_ABOVE, ERF_ABOVE) / polynomial(z, ERF_BELOW, ERF_BELOW))
    return between(value, like(x, -1.0), like(x, 1.0))


# The inverse of erf: for w = -log(1 - x * x), erfinv(x) / x is a polynomial of w - 5/2 below 5, of sqrt(w) - 3 above,
# to 6e-9 and 1.9e-8 (M. Giles, Approximating the erfinv function, GPU Computing Gems 2, 2012, where the form is from).
# In float64, it is the quantile of the normal distribution, whose coefficients the op's own kernel has.

ERFINV_NEAR = (
    -8.931925970244222e-09,
    2.3335967195708108e-08,
    4.6813134805534123e-07,
    -3.4639852676333717e-06,
    -4.9724196894547514e-06,
    0.00021834938623976644,
    -0.001252726391773229,
    -0.004177392875203149,
    0.24664027905463662,
    1.501409360450329,
)
ERFINV_FAR = (
    9.938681196763838e-05,
    -0.0002910194704998709,
    -3.4947512337797366e-05,
    0.0014612166941773254,
    -0.0036080064235663465,
    0.005696604704613028,
    -0.0076350984962461205,
    0.009444057350620308,
    1.0016748241116582,
    2.832976824810883,
)


@function
def erfinv(x):
    """The number whose `erf` is x; infinite at -1 and 1, nan outside."""
    value = (
        erfinv_single(x)
        if either(x, 1.0, 0.0)
        else like(x, 0.7071067811865476) * quantile(like(x, 0.5) * x, like(x, 0.5) - like(x, 0.5) * abs(x))
    )
    return math.copysign(like(x, math.inf), x) if abs(x) == like(x, 1.0) else value


@function
def erfinv_single(x):
    w = -log(fused(-x, x, like(x, 1.0)))
    near = polynomial(w - like(x, 2.5), ERFINV_NEAR, ERFINV_NEAR)
    far = polynomial(math.sqrt(w) - like(x, 3.0), ERFINV_FAR, ERFINV_FAR)
    return x * (near if w < like(x, 5.0) else far)


@function
def quantile(q, tail):
    """The point below which a normal number is with the probability ``0.5 + q``; ``tail`` is ``0.5 - abs(q)``."""
    r = fused(-q, q, like(q, 0.180625))
    centre = q * (polynomial(r, CENTRE_ABOVE, CENTRE_ABOVE) / polynomial(r, CENTRE_BELOW, CENTRE_BELOW))
    r = math.sqrt(-log(tail))
    near, far = r - like(q, 1.6), r - like(q, 5.0)
    above = polynomial(near, NEAR_ABOVE, NEAR_ABOVE) if r <= like(q, 5.0) else polynomial(far, FAR_ABOVE, FAR_ABOVE)
    below = polynomial(near, NEAR_BELOW, NEAR_BELOW) if r <= like(q, 5.0) else polynomial(far, FAR_BELOW, FAR_BELOW)
    return centre if abs(q) <= like(q, 0.425) else math.copysign(above / below, q)


ROOT_HALF_LOW = 1.2101617152815436e-08, -4.833646656726457e-17  # what its nearest number in a type lacks


@function
def normal_below(x):
    """The probability that a standard normal number is below x."""
    z = x * like(x, -0.7071067811865476)
    rest = fused(x, like(x, -0.7071067811865476), -z) - x * either(x, ROOT_HALF_LOW[0], ROOT_HALF_LOW[1])
    return like(x, 0.5) * erfc_of(z, rest if abs(z) < like(x, 40.0) else like(x, 0.0))


# The gamma function's logarithm and its derivatives, in float64: Stirling's series after some steps of the recurrence,
# and reflection below 1/2. sin(pi r) / (pi r) and cos(pi r) are polynomials of r * r for |r| <= 1/2, to 3e-19.

STEPS = 7
SINPI = (
    2.4502943624559793e-07,
    -6.972099660851199e-06,
    0.0001484278414189103,
    -0.0023460808954639607,
    0.02614784780555096,
    -0.19075182412149616,
    0.8117424252833393,
    -1.6449340668482264,
    1.0,
)
COSPI = tuple((-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(12, -1, -1))
STIRLING = tuple(b / (2 * k * (2 * k - 1)) for k, b in reversed(tuple(enumerate(BERNOULLI, 1))))
DIGAMMA = tuple(b / (2 * k) for k, b in reversed(tuple(enumerate(BERNOULLI, 1))))
TRIGAMMA = tuple(reversed(BERNOULLI))


@function
def lgamma(x):
    """The logarithm of the gamma function's absolute value, in float64."""
    reflects = x < 0.5
    z = 1.0 - x if reflects else x
    small = z < STEPS
    start = z if small else 1.0
    passed = start
    for k in range(1, STEPS):
        passed *= start + k
    y = z + STEPS if small else z
    inverse = 1.0 / y
    square = inverse * inverse
    rest = inverse * polynomial(square, STIRLING, STIRLING) + 0.4189385332046727  # log(2 pi) / 2 - 1/2
    series = (y - 0.5) * (log(y) - 1.0) + rest
    r = x - whole(x)
    wave = abs(r) * polynomial(r * r, SINPI, SINPI)  # sin(pi r) / pi
    passed = passed if small else 1.0
    tiny = abs(x) < 1e-290
    value = log(abs(x) if tiny else wave / passed if reflects else passed)
    value = -value if tiny else -value - series if reflects else series - value
    value = 0.0 if x == 1 or x == 2 else value
    return abs(x) if abs(x) == math.inf else value


@function
def digamma(x):
    """The derivative of `lgamma`, in float64: nan at the negative whole numbers."""
    z = 1.0 - x if x < 0 else x
    small = z < STEPS
    start = z if small else 1.0
    product, slope = start, 1.0
    for k in range(1, STEPS):
        factor = start + k
        slope = slope * factor + product
        product *= factor
    y = z + STEPS if small else z
    inverse = 1.0 / y
    square = inverse * inverse
    value = log(y) - 0.5 * inverse - square * polynomial(square, DIGAMMA, DIGAMMA)
    value -= slope / product if small else 0.0
    r = x - whole(x)
    square = r * r
    slope = polynomial(square, COSPI, COSPI) / (r * polynomial(square, SINPI, SINPI))
    value = value - slope if x < 0 else value if x < math.inf else x
    value = math.nan if x < 0 and r == 0 else value
    return math.copysign(math.inf, -x) if x == 0 else value


@function
def trigamma(x, angle):
    """The derivative of `digamma`, in float64; ``angle`` is pi x as it is rounded in the dtype of x."""
    z = 1.0 - x if x < 0.5 else x
    small = z < STEPS
    start = z if small else 1.0
    product, slope, curve = start, 1.0, 0.0  # of the steps: the product, its derivative, and half the second one
    for k in range(1, STEPS):
        factor = start + k
        curve = curve * factor + slope
        slope = slope * factor + product
        product *= factor
    first = slope / product
    y = z + STEPS if small else z
    inverse = 1.0 / y
    square = inverse * inverse
    value = (1.0 + 0.5 * inverse + square * polynomial(square, TRIGAMMA, TRIGAMMA)) * inverse
    value += first * first - 2.0 * (curve / product) if small else 0.0
    wave = math.pi / sine_of(angle, 0.0)
    return wave * wave - value if x < 0.5 else value
