"""Kernels of ops that are declared with a formula: its steps as Python code, which Numba compiles to one loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from weft.backend_cpu.compiled.codegen import mathematics
from weft.backend_cpu.compiled.codegen.elementwise import ARRAYS, NUMBERS, scalar_function
from weft.backend_cpu.compiled.kernels.pointwise import ScalarCall, operands_of, run_of
from weft.backend_cpu.registry import MIN_SIZE_FUSED, Registered, from_size
from weft.library.formulas import Expression, Formula, Program

OPERATORS = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "absolute": "abs({})",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "greater": "{} > {}",
    "greater_equal": "{} >= {}",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
    "logical_and": "{} and {}",
    "logical_or": "{} or {}",
    "logical_not": "not {}",
    "where": "{1} if {0} else {2}",
    "maximum": "{0} if {0} > {1} or {0} != {0} else {1}",
    "minimum": "{0} if {0} < {1} or {0} != {0} else {1}",
    "clip": "{1} if {0} < {1} else {2} if {0} > {2} else {0}",
    "sqrt": "math.sqrt({})",
}


def formula_kernel(formula: Formula) -> Registered:
    """The kernel of a formula, as a module of kernels would register it."""

    def make(generic: Any) -> Any:
        @cache
        def kernel_of(choice: tuple[Any, ...]) -> Callable[..., Any]:
            return compiled_kernel(formula, choice, generic)

        def kernel_for(*rest: Any) -> Callable[..., Any]:
            choice, numbers = formula.parted(rest)
            kernel = kernel_of(choice)
            return (lambda *arrays: kernel(*arrays, *numbers)) if numbers else kernel

        return formula.by_rest(kernel_for) if formula.choices else kernel_of(())

    return Registered(from_size(make, MIN_SIZE_FUSED), MIN_SIZE_FUSED, formula.is_exact)


def scalar_call(formula: Formula, *args: Any) -> ScalarCall | None:
    """What computes an element of a call of an op with a formula."""
    choice, numbers = formula.parted(args[formula.count :])
    operands = operands_of((*args[: formula.count], *numbers)) if has_loop(formula, len(numbers)) else None
    if operands is None:
        return None
    program = formula.program(choice)
    return ScalarCall(scalar_function(program.name, function_of(program)), operands)


def compiled_kernel(formula: Formula, choice: tuple[Any, ...], generic: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of arrays and numbers for a choice."""
    program = formula.program(choice)
    count = len(program.arguments)

    def fallback(*args: Any) -> Any:
        return generic(*args[: formula.count], *formula.joined(choice, args[formula.count :]))

    if not has_loop(formula, count - formula.count):
        return fallback if choice else generic
    key, order = scalar_function(program.name, function_of(program)), 0 if formula.broadcasts else -1
    return run_of(key, count, fallback if choice else generic, cost=program.cost, order=order)


def has_loop(formula: Formula, numbers: int) -> bool:
    """Whether a loop can take all operands of a formula with so many numbers."""
    return formula.count <= ARRAYS and numbers <= NUMBERS


def function_of(program: Program) -> Any:
    """The function of one element of each array, and of numbers in their dtype."""
    values = {each: f"x{place}" for place, each in enumerate(program.arguments)}
    first = next(values[each] for each in program.arguments if each.sort == "array")
    lines = [f"def function({', '.join(values.values())}):"]
    names = vars(mathematics) | {"inf": math.inf, "nan": math.nan}
    for step in program.steps:
        operands = [
            values[each] if isinstance(each, Expression) else f"like({first}, {float(each)!r})"  # in the arrays' dtype
            for each in step.operands
        ]
        values[step] = f"v{len(values)}"
        way = OPERATORS.get(step.function, f"{step.function}({{}})")
        lines.append(f"    {values[step]} = {way.format(*operands)}")
    lines.append(f"    return {values[program.result]}")
    exec(compile("\n".join(lines), f"<formula of {program.name}>", "exec"), names)
    return names["function"]
