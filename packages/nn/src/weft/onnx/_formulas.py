"""The converter of ops that are formulas of one element: the steps of the formula, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.ops._expressions import FUNCTIONS, Expression

__all__ = ["formula_converter"]

OPERATORS = {
    "absolute": "Abs",
    "add": "Add",
    "clip": "Clip",
    "divide": "Div",
    "equal": "Equal",
    "erf": "Erf",
    "exp": "Exp",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "log": "Log",
    "logical_and": "And",
    "logical_not": "Not",
    "logical_or": "Or",
    "maximum": "Max",
    "minimum": "Min",
    "multiply": "Mul",
    "negative": "Neg",
    "sigmoid": "Sigmoid",
    "sqrt": "Sqrt",
    "subtract": "Sub",
    "tanh": "Tanh",
}


def formula_converter(declaration: Any) -> Any:
    """The converter of an op that has a formula."""

    def convert(graph: Any, **args: Any) -> Any:
        return write_formula(graph, declaration, tuple(args.values()))

    return convert


def write_formula(graph: Any, declaration: Any, args: Sequence[Any]) -> Any:
    """Write what a formula computes of arguments."""
    formula = declaration.formula
    element = graph.element(*args)
    choice, numbers = formula.parted(args[formula.count :])
    program = formula.program(choice, tuple(each == 1 for each in numbers))
    given = [*args[: formula.count], *(each for each in numbers if each != 1)]
    if declaration.result == "float" and not element.is_floating_point:
        given = [graph.floating(each) if hasattr(each, "dtype") else float(each) for each in given]
    values: dict[Expression, Any] = dict(zip(program.arguments, given))
    for step in program.steps:
        operands = [values[each] if isinstance(each, Expression) else each for each in step.operands]
        values[step] = write_step(graph, step, operands)
    return values[program.result]


def write_step(graph: Any, step: Expression, operands: list[Any]) -> Any:
    """The value of one step: a number, where its operands are numbers."""
    if not any(hasattr(each, "dtype") for each in operands):
        return FUNCTIONS[step.function].of_numbers(*operands)
    if step.function == "not_equal":
        return graph.Not(graph.Equal(*operands))
    if step.function == "where":
        return graph.where(*operands)
    if step.function in ("expm1", "log1p"):
        return getattr(graph, step.function)(*operands)
    if step.function == "log1pexp":
        return graph.log1p(graph.Exp(*operands))
    return graph.emit(OPERATORS[step.function], *operands)
