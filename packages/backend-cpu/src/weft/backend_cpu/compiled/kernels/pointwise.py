"""Arithmetic, comparisons and functions, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.backend import KernelBySize
from weft.backend_cpu.compiled.codegen import mathematics
from weft.backend_cpu.compiled.codegen.contiguous import quick
from weft.backend_cpu.compiled.codegen.elementwise import operation, results
from weft.backend_cpu.compiled.codegen.float16 import HALVES
from weft.backend_cpu.compiled.codegen.mathematics import like
from weft.backend_cpu.libraries import FEW, HALF, LEAST, serves, serves_large

KERNELS: dict[tuple[str, str], Any] = {}  # of `serve` too, whoever calls it
REAL, NUMBERS, ALL = "float32 float64", "float32 float64 int32 int64", "float32 float64 int32 int64 bool"
SIMPLE = 8 * LEAST  # from which NumPy, which has vector code for all that is simple, loses to several threads
BOOL, BITS = np.dtype(bool), np.dtype(np.uint16)


def operands_of(args: tuple[Any, ...], rounds: bool = False) -> list[Any] | None:
    """Arrays of one dtype, and numbers, perhaps rounded to it. None if there are others."""
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
    """Arrays of one dtype, and numbers in it: what is compared are numbers that both have."""
    return operands_of(args, rounds=True)


def element_of(arrays: list[Any]) -> Any:
    """The dtype of what is not a condition."""
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
    """The kernel that runs an operation of so many operands; ``generic`` has the rest, and `serve` the parameters."""

    def others(args: tuple[Any, ...]) -> Any:
        arrays = operands(args[:count])
        if arrays is None:
            return generic(*args)
        out = args[count] if len(args) > count else None
        made = results(key, arrays, result or element_of(arrays), cost, out, order)
        return generic(*args) if made is None else made

    return quick(key, count, result, cost, operands, others)


def serve(name: str, formula: Callable[..., Any], dtypes: str = REAL, *, least: int = SIMPLE, **options: Any) -> None:
    """Serve an op by a formula of its operands' elements, halves too. In place, the result comes behind them.

    Parameters
    ----------
    name : str
        Of the op, ``"core::add"``.
    formula : callable
        Takes an element of each array, and numbers in their dtype.
    dtypes : str
        Those that are served beside halves.
    least : int
        The number of elements from which it is faster than NumPy.
    **options
        cost, result, order : of `results`; ``result`` is None for that of the last array.
        operands : a function that makes arrays and floats of an op's arguments, or None of those not to be served.
    """
    key, count = operation(name, formula), formula.__code__.co_argcount

    @serves_large(name, dtypes, least)
    def make(generic: Any) -> Any:
        return run_of(key, count, generic, **options)


# Arithmetic


def at_least(a, b):
    return a if a >= b or a != a else b


def at_most(a, b):
    return a if a <= b or a != a else b


serve("core::add", lambda a, b: a + b, NUMBERS)
serve("core::sub", lambda a, b: a - b, NUMBERS)
serve("core::mul", lambda a, b: a * b, NUMBERS)
serve("core::div", lambda a, b: a / b)
serve("core::neg", lambda a: -a, NUMBERS)
serve("core::abs", lambda a: abs(a))
serve("core::square", lambda a: a * a, NUMBERS)
serve("core::sqrt", lambda a: math.sqrt(a), cost=2, least=LEAST)
serve("core::rsqrt", lambda a: like(a, 1.0) / math.sqrt(a), cost=3, least=LEAST)
serve("core::reciprocal", lambda a: like(a, 1.0) / a, cost=2)
serve("core::maximum", at_least)
serve("core::minimum", at_most)


def between_two(a, b, c):
    return a + c * (b - a) if abs(c) < like(c, 0.5) else b - (b - a) * (like(c, 1.0) - c)


serve("core::lerp", between_two, least=LEAST)
serve("core::add_scaled", lambda a, b, alpha: a + alpha * b, least=LEAST)
serve("core::addcmul", lambda a, b, c, value: a + value * (b * c), least=LEAST)
serve("core::addcdiv", lambda a, b, c, value: a + value * b / c, least=LEAST)


def serve_bits(name: str, formula: Callable[..., Any]) -> None:
    """Serve an op on halves by a formula of an element's bits."""
    key = operation(f"{name} of halves", formula)

    @serves(name, HALF)
    def make(generic: Any) -> Any:
        def run(x: Any) -> Any:
            made = results(key, [x.view(BITS)], BITS)
            return generic(x) if made is None else made.view(x.dtype)

        return KernelBySize(generic, run, FEW)


serve_bits("core::neg", lambda a: a ^ 0x8000)
serve_bits("core::abs", lambda a: a & 0x7FFF)

# Functions, with vector code of their own

for function in ("exp", "expm1", "log", "log1p", "tanh", "sigmoid"):
    serve(f"core::{function}", getattr(mathematics, function).py_func, cost=3, least=LEAST)
serve("core::erf", mathematics.erf.py_func, cost=3, least=LEAST)

# Comparisons and choices

serve("core::eq", lambda a, b: a == b, NUMBERS, result=BOOL, operands=compared)
serve("core::ne", lambda a, b: a != b, NUMBERS, result=BOOL, operands=compared)
serve("core::lt", lambda a, b: a < b, NUMBERS, result=BOOL, operands=compared)
serve("core::le", lambda a, b: a <= b, NUMBERS, result=BOOL, operands=compared)
serve("core::gt", lambda a, b: a > b, NUMBERS, result=BOOL, operands=compared)
serve("core::ge", lambda a, b: a >= b, NUMBERS, result=BOOL, operands=compared)


def choice(args: tuple[Any, ...]) -> list[Any] | None:
    """A condition, and two arrays of one dtype."""
    condition, *values = args
    same = values[0].dtype == values[1].dtype and condition.dtype == BOOL and values[0].dtype.char in "fdilq?eE"
    return [condition, *values] if same else None


serve("core::where", lambda a, b, c: b if a else c, ALL, operands=choice, least=LEAST)


@serves_large("core::masked_fill", ALL, LEAST)
def masked_fill_kernel(generic: Any) -> Any:
    key = operation("core::masked_fill", lambda a, b, c: c if b else a)

    def run(x: Any, mask: Any, value: Any) -> Any:
        if not x.flags.c_contiguous or mask.dtype != BOOL:  # the results' dimensions are in order in memory
            return generic(x, mask, value)
        made = results(key, [x, mask, np.asarray(value, x.dtype)], x.dtype)
        return generic(x, mask, value) if made is None else made

    return run


@mathematics.function
def limited(a, b, c):
    """``a`` but at least ``b``, and of that at most ``c``; nan if one of them is."""
    a = b if a < b or b != b else a  # of a number, whether it is nan is asked once
    return c if a > c or c != c else a


@serves_large("core::clamp", REAL, SIMPLE)
def clamp_kernel(generic: Any) -> Any:
    least = operation("core::clamp min", at_least)
    most = operation("core::clamp max", at_most)
    both = operation("core::clamp both", lambda a, b, c: limited(a, b, c))

    of_least = run_of(least, 2, lambda x, low: generic(x, low, None))
    of_most = run_of(most, 2, lambda x, high: generic(x, None, high))
    of_both = run_of(both, 3, generic)

    def run(x: Any, low: Any, high: Any) -> Any:
        if low is not None and high is not None:
            return of_both(x, low, high)
        return of_most(x, high) if low is None else of_least(x, low)

    return run


POWERS = {  # exponents whose powers need no logarithm
    2.0: lambda a: a * a,
    3.0: lambda a: a * a * a,
    4.0: lambda a: (a * a) * (a * a),
    -1.0: lambda a: like(a, 1.0) / a,
    -2.0: lambda a: like(a, 1.0) / (a * a),
    0.5: lambda a: math.sqrt(a),
}


@serves_large("core::pow", REAL, LEAST)
def pow_kernel(generic: Any) -> Any:
    keys = {exponent: operation(f"pow {exponent}", formula) for exponent, formula in POWERS.items()}

    def run(x: Any, exponent: Any) -> Any:
        made = None
        if isinstance(exponent, float | int) and exponent in keys:
            made = results(keys[exponent], [x], x.dtype)
        return generic(x, exponent) if made is None else made

    return run
