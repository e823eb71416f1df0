"""Arithmetic, comparisons and functions, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.backend_cpu.compiled.codegen import mathematics
from weft.backend_cpu.compiled.codegen.contiguous import contiguous_kernel
from weft.backend_cpu.compiled.codegen.elementwise import run_elementwise, scalar_function
from weft.backend_cpu.compiled.codegen.float16 import HALVES
from weft.backend_cpu.compiled.codegen.instructions import HAS_INSTRUCTIONS
from weft.backend_cpu.compiled.codegen.mathematics import like, single_power
from weft.backend_cpu.registry import HALF, MIN_SIZE, MIN_SIZE_FUSED, register_kernel

REAL, NUMBERS, ALL = "float32 float64", "float32 float64 int32 int64", "float32 float64 int32 int64 bool"
MIN_SIZE_SIMPLE = (
    8 * MIN_SIZE
)  # elements from which NumPy, with vector code for all that is simple, loses to several threads
BOOL, BITS = np.dtype(bool), np.dtype(np.uint16)


def operands_of(args: tuple[Any, ...], rounds: bool = False) -> list[Any] | None:
    """Arrays of one dtype, and numbers, rounded to it if so; None for other operands."""
    element = next((each.dtype for each in args if isinstance(each, np.ndarray)), BOOL)
    found: list[Any] = []
    for each in args:
        if isinstance(each, np.ndarray):
            if each.dtype != element:
                return None
            found.append(each)
        elif isinstance(each, float | int) and (element.kind == "f" or element in HALVES):
            found.append(float(element.type(each) if rounds and element in HALVES else each))
        else:
            return None
    return found


def compared(args: tuple[Any, ...]) -> list[Any] | None:
    """As `operands_of`, with numbers rounded to the dtype, in which they are compared."""
    return operands_of(args, rounds=True)


def element_of(arrays: list[Any]) -> Any:
    """The dtype of the last array, which is no condition."""
    return next(each.dtype for each in reversed(arrays) if isinstance(each, np.ndarray))


def run_of(
    key: str,
    count: int,
    generic: Any,
    *,
    cost: int = 1,
    result: Any = None,
    operands: Callable[[tuple[Any, ...]], Any] = operands_of,
    order: int = 0,
) -> Any:
    """The kernel that runs a scalar function of so many operands, as `elementwise_kernel` has the parameters."""

    def fallback(args: tuple[Any, ...]) -> Any:
        arrays = operands(args[:count])
        if arrays is None:
            return generic(*args)
        out = args[count] if len(args) > count else None
        made = run_elementwise(key, arrays, result or element_of(arrays), cost, out, order)
        return generic(*args) if made is None else made

    return contiguous_kernel(key, count, result, cost, operands, fallback)


class ScalarCall(NamedTuple):
    """What computes an element of a call's result: a scalar function, by its key, and its operands."""

    key: str
    operands: list[Any]


scalar_calls: dict[tuple[str, str], Callable[..., ScalarCall | None]] = {}
"""By op and dtype, what makes a `ScalarCall` of the arguments of a call; None for those that are not taken."""


def scalar_call(name: str, dtypes: str) -> Callable[[Any], Any]:
    """Register what makes a `ScalarCall` of the arguments of an op's kernel, where that runs a scalar function."""

    def register(function: Any) -> Any:
        scalar_calls.update(((name, element), function) for element in dtypes.split())
        return function

    return register


def elementwise_kernel(
    name: str,
    formula: Callable[..., Any],
    dtypes: str = REAL,
    *,
    min_size: int = MIN_SIZE_SIMPLE,
    bitwise: bool = False,
    **options: Any,
) -> None:
    """Register the kernel of an op by a formula of its operands' elements, for halves too.

    Parameters
    ----------
    name : str
        Of the op, ``"core::add"``.
    formula : callable
        Takes an element of each array, and numbers in their dtype.
    dtypes, min_size, bitwise
        See `weft.backend_cpu.registry.register_kernel`; halves come on top.
    **options
        cost, result, order : of `run_elementwise`; ``result`` is None for the dtype of the last array.
        operands : a function from an op's arguments to arrays and floats, or to None where the generic kernel runs.
    """
    key, count = scalar_function(name, formula), formula.__code__.co_argcount
    given = options.get("operands", operands_of)

    @scalar_call(name, f"{dtypes} {HALF}")
    def call_of(*args: Any) -> ScalarCall | None:
        found = given(args) if len(args) == count else None
        return None if found is None else ScalarCall(key, found)

    @register_kernel(name, dtypes=dtypes, min_size=min_size, halves=True, bitwise=bitwise)
    def make(generic: Any) -> Any:
        return run_of(key, count, generic, **options)


# Arithmetic


def at_least(a, b):
    return a if a >= b or a != a else b


def at_most(a, b):
    return a if a <= b or a != a else b


elementwise_kernel("core::add", lambda a, b: a + b, NUMBERS, bitwise=True)
elementwise_kernel("core::sub", lambda a, b: a - b, NUMBERS, bitwise=True)
elementwise_kernel("core::mul", lambda a, b: a * b, NUMBERS, bitwise=True)
elementwise_kernel("core::div", lambda a, b: a / b, bitwise=True)
elementwise_kernel("core::neg", lambda a: -a, NUMBERS, bitwise=True)
elementwise_kernel("core::abs", lambda a: abs(a), bitwise=True)
elementwise_kernel("core::square", lambda a: a * a, NUMBERS, bitwise=True)
elementwise_kernel("core::sqrt", lambda a: math.sqrt(a), cost=2, min_size=MIN_SIZE, bitwise=True)
elementwise_kernel("core::rsqrt", lambda a: like(a, 1.0) / math.sqrt(a), cost=3, min_size=MIN_SIZE)
elementwise_kernel("core::reciprocal", lambda a: like(a, 1.0) / a, cost=2, bitwise=True)
elementwise_kernel("core::maximum", at_least)
elementwise_kernel("core::minimum", at_most)


def between_two(a, b, c):
    return a + c * (b - a) if abs(c) < like(c, 0.5) else b - (b - a) * (like(c, 1.0) - c)


elementwise_kernel("core::lerp", between_two, min_size=MIN_SIZE)
elementwise_kernel("core::add_scaled", lambda a, b, alpha: a + alpha * b, min_size=MIN_SIZE)
elementwise_kernel("core::addcmul", lambda a, b, c, value: a + value * (b * c), min_size=MIN_SIZE)
elementwise_kernel("core::addcdiv", lambda a, b, c, value: a + value * b / c, min_size=MIN_SIZE)


def half_bits_kernel(name: str, formula: Callable[..., Any]) -> None:
    """Register the kernel for halves by a formula of an element's bits."""
    key = scalar_function(f"{name} of halves", formula)

    @register_kernel(name, dtypes=HALF, min_size=MIN_SIZE_FUSED, bitwise=True)
    def make(generic: Any) -> Any:
        def run(x: Any) -> Any:
            made = run_elementwise(key, [x.view(BITS)], BITS)
            return generic(x) if made is None else made.view(x.dtype)

        return run


half_bits_kernel("core::neg", lambda a: a ^ 0x8000)
half_bits_kernel("core::abs", lambda a: a & 0x7FFF)

# Functions, with vector code of their own

for function in ("exp", "expm1", "log", "log1p", "tanh", "sigmoid"):
    elementwise_kernel(f"core::{function}", getattr(mathematics, function).py_func, cost=3, min_size=MIN_SIZE)
elementwise_kernel("core::erf", mathematics.erf.py_func, cost=3, min_size=MIN_SIZE)

# Comparisons and choices

elementwise_kernel("core::eq", lambda a, b: a == b, NUMBERS, result=BOOL, operands=compared, bitwise=True)
elementwise_kernel("core::ne", lambda a, b: a != b, NUMBERS, result=BOOL, operands=compared, bitwise=True)
elementwise_kernel("core::lt", lambda a, b: a < b, NUMBERS, result=BOOL, operands=compared, bitwise=True)
elementwise_kernel("core::le", lambda a, b: a <= b, NUMBERS, result=BOOL, operands=compared, bitwise=True)
elementwise_kernel("core::gt", lambda a, b: a > b, NUMBERS, result=BOOL, operands=compared, bitwise=True)
elementwise_kernel("core::ge", lambda a, b: a >= b, NUMBERS, result=BOOL, operands=compared, bitwise=True)


def choice(args: tuple[Any, ...]) -> list[Any] | None:
    """A condition, and two arrays of one dtype."""
    condition, *values = args
    same = values[0].dtype == values[1].dtype and condition.dtype == BOOL and values[0].dtype.char in "fdilq?eE"
    return [condition, *values] if same else None


elementwise_kernel("core::where", lambda a, b, c: b if a else c, ALL, operands=choice, min_size=MIN_SIZE, bitwise=True)


FILL = scalar_function("core::masked_fill", lambda a, b, c: c if b else a)


@register_kernel("core::masked_fill", dtypes=ALL, min_size=MIN_SIZE, halves=True, bitwise=True)
def masked_fill_kernel(generic: Any) -> Any:
    def run(x: Any, mask: Any, value: Any) -> Any:
        if not x.flags.c_contiguous or mask.dtype != BOOL:  # the results' dimensions are in order in memory
            return generic(x, mask, value)
        made = run_elementwise(FILL, [x, mask, np.asarray(value, x.dtype)], x.dtype)
        return generic(x, mask, value) if made is None else made

    return run


@scalar_call("core::masked_fill", f"{REAL} {HALF}")
def fill_call(x: Any, mask: Any, value: Any) -> ScalarCall | None:
    filled = operands_of((x, value))
    return ScalarCall(FILL, [x, mask, filled[1]]) if filled is not None and mask.dtype == BOOL else None


@mathematics.function
def limited(a, b, c):
    """``a`` but at least ``b``, and of that at most ``c``; nan if one of them is."""
    a = b if a < b or b != b else a  # of a number, whether it is nan is asked once
    return c if a > c or c != c else a


AT_LEAST = scalar_function("core::clamp min", at_least)
AT_MOST = scalar_function("core::clamp max", at_most)
BETWEEN = scalar_function("core::clamp both", lambda a, b, c: limited(a, b, c))


@scalar_call("core::clamp", f"{REAL} {HALF}")
def clamp_call(x: Any, low: Any, high: Any) -> ScalarCall | None:
    key = BETWEEN if low is not None and high is not None else AT_MOST if low is None else AT_LEAST
    operands = operands_of(tuple(each for each in (x, low, high) if each is not None))
    return None if operands is None else ScalarCall(key, operands)


@register_kernel("core::clamp", dtypes=REAL, min_size=MIN_SIZE_SIMPLE, halves=True)
def clamp_kernel(generic: Any) -> Any:
    of_least = run_of(AT_LEAST, 2, lambda x, low: generic(x, low, None))
    of_most = run_of(AT_MOST, 2, lambda x, high: generic(x, None, high))
    of_both = run_of(BETWEEN, 3, generic)

    def run(x: Any, low: Any, high: Any) -> Any:
        if low is not None and high is not None:
            return of_both(x, low, high)
        return of_most(x, high) if low is None else of_least(x, low)

    return run


FORMULAS_OF_POWERS: dict[float, Any] = {  # for exponents whose powers need no logarithm
    2.0: lambda a: a * a,
    3.0: lambda a: a * a * a,
    4.0: lambda a: (a * a) * (a * a),
    -1.0: lambda a: like(a, 1.0) / a,
    -2.0: lambda a: like(a, 1.0) / (a * a),
    0.5: lambda a: math.sqrt(a),
}
POWERS = {exponent: scalar_function(f"pow {exponent}", formula) for exponent, formula in FORMULAS_OF_POWERS.items()}


@scalar_call("core::pow", f"{REAL} {HALF}")
def power_call(x: Any, exponent: Any) -> ScalarCall | None:
    return ScalarCall(POWERS[exponent], [x]) if type(exponent) in (float, int) and exponent in POWERS else None


def is_single(x: Any) -> bool:
    """Whether these are numbers of float32 whose powers take the loops: with AVX-512, NumPy has vector code too."""
    return not HAS_INSTRUCTIONS and x.dtype == np.float32


@register_kernel("core::pow", dtypes=REAL, min_size=MIN_SIZE, halves=True)
def pow_kernel(generic: Any) -> Any:
    of_single = run_of(scalar_function("core::pow", lambda a, b: single_power(a, b)), 2, generic, cost=20)

    def run(x: Any, exponent: Any) -> Any:
        made = None
        if isinstance(exponent, float | int):
            if exponent in POWERS:
                made = run_elementwise(POWERS[exponent], [x], x.dtype)
            elif is_single(x):
                made = of_single(x, exponent)
        elif is_single(exponent) and (isinstance(x, float | int) or is_single(x)):
            made = of_single(x, exponent)
        return generic(x, exponent) if made is None else made

    return run
