"""Functions for which an array library has none, or several passes over memory, or a call for each number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.backend import BySize
from weft.backend_cpu.compiled import mathematics, pointwise
from weft.backend_cpu.compiled.elementwise import operation, results
from weft.backend_cpu.compiled.mathematics import (
    erfc,
    erfcx,
    floor,
    function,
    fused,
    like,
    log,
    log1p,
    logaddexp,
    next_to,
    truncated,
    whole,
)
from weft.backend_cpu.compiled.pointwise import HALF, REAL, element_of, operands_of, serve
from weft.backend_cpu.libraries import FEW, serves

KERNELS = pointwise.__dict__["KERNELS"]  # where `serve` declares them

WHOLE = "int32 int64"
FLOATS = "float32 float64"

# Signs, and numbers that are none

serve("core::sign", lambda a: like(a, (1 if a > 0 else 0) - (1 if a < 0 else 0)), f"{REAL} {WHOLE}", least=FEW)
serve("core::sgn", lambda a: like(a, (1 if a > 0 else 0) - (1 if a < 0 else 0)), f"{REAL} {WHOLE}", least=FEW)
serve("core::angle", lambda a: a if a != a else like(a, math.pi if a < 0 else 0.0), REAL, least=FEW)
serve("core::copysign", lambda a, b: math.copysign(a, b), REAL, least=FEW)
serve("core::frac", lambda a: a - truncated(a), REAL, least=FEW)


@function
def neighbour(a, b):
    """The number next to ``a`` in the direction of ``b``."""
    value = next_to(a, (a < b) == (a > 0))
    value = next_to(math.copysign(like(a, 0.0), b), True) if a == 0 else value
    value = b if a == b else value
    return value if a == a and b == b else a + b


serve("core::nextafter", lambda a, b: neighbour(a, b), FLOATS, least=FEW)


@function
def replaced(a, nan, most, least):
    """The element, or what stands for it if it is no finite number."""
    return nan if a != a else most if a == like(a, math.inf) else least if a == like(a, -math.inf) else a


@serves("core::nan_to_num", f"{REAL} {HALF}")
def nan_to_num_kernel(generic: Any) -> Any:
    key = operation("nan_to_num", lambda a, b, c, d: replaced(a, b, c, d))

    def run(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
        numbers = [float(each) for each in (nan or 0.0, posinf, neginf)]
        made = results(key, [x, *numbers], x.dtype)
        return generic(x, nan, posinf, neginf) if made is None else made

    return BySize(generic, run, FEW)


# Functions of one number, and of two


def serve_function(name: str, formula: Callable[..., Any], cost: int) -> None:
    """Serve a function of floating-point numbers."""
    serve(f"core::{name}", formula, cost=cost, least=FEW)


serve_function("exp2", lambda a: mathematics.exp2(a), 3)
serve_function("erfc", lambda a: erfc(a), 6)
serve_function("erfcx", lambda a: erfcx(a), 8)
serve_function("erfinv", lambda a: mathematics.erfinv(a), 8)
serve_function("ndtr", lambda a: mathematics.normal_below(a), 6)
serve_function("lgamma", lambda a: mathematics.lgamma(np.float64(a)), 16)
serve_function("digamma", lambda a: mathematics.digamma(np.float64(a)), 16)
serve_function("hypot", lambda a, b: mathematics.hypot(a, b), 3)
serve_function("logaddexp", lambda a, b: logaddexp(a, b), 5)


@function
def logaddexp2(a, b):
    most = a if a > b or a != a else b
    apart = abs(a - b)
    rest = mathematics.softplus(like(a, -0.6931471805599453) * apart) * like(a, 1.4426950408889634)
    return a + like(a, 1.0) if a == b else most + (rest if apart < like(a, math.inf) else like(a, 0.0))


serve_function("logaddexp2", lambda a, b: logaddexp2(a, b), 5)
serve_function("xlogy", lambda a, b: like(a, 0.0) if a == 0 and b == b else a * log(b), 4)
serve_function("xlog1py", lambda a, b: like(a, 0.0) if a == 0 and b == b else a * log1p(b), 4)
serve_function("entr", lambda a: like(a, 0.0) if a == 0 else like(a, -math.inf) if a < 0 else -a * log(a), 4)


@function
def log_normal_below(a):
    """The logarithm of the probability that a standard normal number is below a."""
    z = a * like(a, 0.7071067811865476)
    tail = log(like(a, 0.5) * erfcx(-z)) - like(a, 0.5) * a * a
    body = log1p(-mathematics.normal_below(-a))
    return tail if z < like(a, -1.0) else body


serve_function("log_ndtr", lambda a: log_normal_below(a), 16)


@serves("core::polygamma", FLOATS)
def polygamma_kernel(generic: Any) -> Any:
    first = operation("digamma", lambda a: mathematics.digamma(np.float64(a)))
    second = operation(
        "trigamma", lambda a: mathematics.trigamma(np.float64(a), np.float64(a * like(a, 3.141592653589793)))
    )

    def run(x: Any, n: int) -> Any:
        return results(first if n == 0 else second, [x], x.dtype, 16) if n < 2 else generic(x, n)

    return with_rest(generic, run)


# What the formulas leave out: they give nan for numbers that are too far apart, or too large, which the op's own kernel
# then computes one by one.


def with_rest(generic: Any, run: Callable[..., Any]) -> Any:
    """A kernel whose results that are nan are computed again by the generic one, as is what it returns None for."""

    def complete(*args: Any) -> Any:
        made = run(*args)
        if made is None:
            return generic(*args)
        wrong = np.isnan(made)
        if wrong.any():
            again = [np.broadcast_to(x, made.shape)[wrong] if isinstance(x, np.ndarray) else x for x in args]
            made[wrong] = generic(*again)
        return made

    return BySize(generic, complete, FEW)


def serve_nearly(name: str, formula: Callable[..., Any], dtypes: str, cost: int) -> None:
    """Serve an op by a formula that is nan where it does not apply."""
    key, count = operation(name, formula), formula.__code__.co_argcount

    @serves(name, dtypes)
    def make(generic: Any) -> Any:
        def run(*args: Any) -> Any:
            arrays = operands_of(args) if len(args) == count else None
            return None if arrays is None else results(key, arrays, element_of(arrays), cost)

        return with_rest(generic, run)


serve_nearly("core::sin", lambda a: mathematics.sine(a), "float64", 6)
serve_nearly("core::cos", lambda a: mathematics.cosine(a), "float64", 6)


@function
def rest_of(a, b):
    """What is left of the division of float64, rounded towards 0; nan where the quotient has more digits."""
    quotient = a / b
    rest = fused(-whole(quotient), b, a)
    rest = rest + math.copysign(b, a) if rest != 0 and (rest < 0) != (a < 0) else rest
    rest = math.copysign(rest, a) if rest == 0 else rest
    rest = a if abs(b) == math.inf and abs(a) < math.inf else rest
    return rest if abs(quotient) < 2.0**51 else math.nan


@function
def modulus(a, b):
    """What is left of the division of float64, rounded down; nan where the quotient has more digits."""
    rest = rest_of(a, b)
    other = rest + b if (rest < 0) != (b < 0) else rest
    return math.copysign(0.0, b) if rest == 0 else other


@function
def floor_of(a, b):
    """The quotient, rounded down."""
    quotient = a / b
    value = floor(quotient)
    rest = fused(-value, b, a)
    value = value - like(a, 1.0) if rest != 0 and (rest < 0) != (b < 0) else value
    apart = like(a, -1.0) if a != 0 and (a < 0) != (b < 0) else quotient
    value = apart if abs(b) == math.inf else value
    value = value if abs(a) < like(a, math.inf) else like(a, math.nan)
    return quotient if b == 0 else value


serve_nearly("core::fmod", lambda a, b: rest_of(np.float64(a), np.float64(b)), FLOATS, 4)
serve_nearly("core::remainder", lambda a, b: modulus(np.float64(a), np.float64(b)), FLOATS, 4)
for op in ("floor_divide", "div_floor"):
    serve_function(op, lambda a, b: floor_of(a, b), 3)


# Whole numbers


@function
def quotient_of(a, b):
    """The quotient of integers, rounded down: by that of floating-point numbers, twice for the digits that it lacks."""
    x, y = np.float64(a), np.float64(b)
    quotient = x / y
    value = np.int64(truncated(quotient if quotient < 9223372036854774784.0 else 9223372036854774784.0))
    rest = a - value * b
    second = np.int64(floor(np.float64(rest) / y))
    value += second
    rest -= second * b
    beyond = rest >= b if b > 0 else rest <= b
    below = rest < 0 if b > 0 else rest > 0
    return value + (1 if beyond else 0) - (1 if below else 0)


@function
def quotient_of_short(a, b):
    """As `quotient_of`, of integers of 32 bits, where one quotient has all digits."""
    return np.int64(floor(np.float64(a) / np.float64(b)))


@function
def towards_zero(a, b, value):
    """The quotient rounded towards 0, from that rounded down."""
    return value + (1 if value < 0 and value * b != a else 0)


def whole_operands(args: tuple[Any, ...]) -> list[Any] | None:
    """Arrays of one dtype, and integers in it; None if there are others, or a divisor of 0."""
    element = next((each.dtype for each in args if isinstance(each, np.ndarray)), None)
    arrays = [np.asarray(each, element) if type(each) is int else each for each in args]
    return arrays if all(isinstance(each, np.ndarray) and each.dtype == element for each in arrays) else None


def serve_whole(name: str, formula: Callable[..., Any], dtypes: str, cost: int = 1, divides: bool = False) -> None:
    """Serve an op of integers; one that divides leaves a divisor of 0 to the generic kernel, which refuses it."""
    key = operation(name, formula)

    @serves(f"core::{name}", dtypes)
    def make(generic: Any) -> Any:
        def run(*args: Any) -> Any:
            arrays = whole_operands(args)
            if arrays is None or (divides and (arrays[1] == 0).any()):
                return generic(*args)
            made = results(key, arrays, arrays[0].dtype, cost)
            return generic(*args) if made is None else made

        return BySize(generic, run, FEW)


for op in ("floor_divide", "div_floor"):
    serve_whole(op, lambda a, b: quotient_of(a, b), "int64", 8, True)
    serve_whole(op, lambda a, b: quotient_of_short(a, b), "int32", 4, True)
serve_whole("div_trunc", lambda a, b: towards_zero(a, b, quotient_of(a, b)), "int64", 8, True)
serve_whole("div_trunc", lambda a, b: towards_zero(a, b, quotient_of_short(a, b)), "int32", 4, True)
serve_whole("remainder", lambda a, b: a - b * quotient_of(a, b), "int64", 8, True)
serve_whole("remainder", lambda a, b: a - b * quotient_of_short(a, b), "int32", 4, True)
serve_whole("fmod", lambda a, b: a - b * towards_zero(a, b, quotient_of(a, b)), "int64", 8, True)
serve_whole("fmod", lambda a, b: a - b * towards_zero(a, b, quotient_of_short(a, b)), "int32", 4, True)
serve_whole("bitwise_left_shift", lambda a, b: a << b if 0 <= b < 64 else like(a, 0), "int64")
serve_whole("bitwise_right_shift", lambda a, b: a >> (b if 0 <= b < 63 else 63), "int64")
serve_whole("bitwise_left_shift", lambda a, b: like(a, a << b) if 0 <= b < 32 else like(a, 0), "int32")
serve_whole("bitwise_right_shift", lambda a, b: like(a, a >> (b if 0 <= b < 31 else 31)), "int32")
