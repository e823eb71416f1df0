"""What a program compared sizes with, as nodes: a file that is run at other sizes fails, and gives no wrong numbers.

ONNX has no operator that asserts. `Gather` with an index that is out of range is an error in every runtime, and the
node's name, which is in the message, says what the program was exported for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

import weft
from weft.export._size_guards import Formula, Guard, symbols_in

__all__ = ["checked_zero"]

COMPARISONS = {"eq": "Equal", "lt": "Less"}
ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mul", "pow": "Pow", "truediv": "Div", "min": "Min", "max": "Max"}
ROUNDING = {"floor": "Floor", "ceil": "Ceil", "round": "Round"}


def checked_zero(graph: Any, guards: list[Guard], sizes: Mapping[str, Any]) -> Any:
    """A zero, in one dimension, that is there only at sizes for which all guards hold.

    Parameters
    ----------
    graph : GraphBuilder
    guards : list of Guard
    sizes : dict
        From symbols to their values: int64, in one dimension.
    """
    zero = graph.constant(numpy.array([0], numpy.int64))
    total = None
    for guard in guards:
        fails = graph.cast(unmet(graph, guard, sizes), weft.int64)
        made = graph.Gather(zero, fails, axis=0)
        graph.nodes[-1].name = f"exported for {guard}, as {guard.line} compares"
        total = made if total is None else graph.Add(total, made)
    return total


def unmet(graph: Any, guard: Guard, sizes: Mapping[str, Any]) -> Any:
    """Whether a comparison comes out otherwise than it did."""
    found = graph.emit(COMPARISONS[guard.name], *alike(graph, *(value_of(graph, each, sizes) for each in guard[1:3])))
    return graph.Not(found) if guard.outcome else found


def value_of(graph: Any, formula: Formula, sizes: Mapping[str, Any]) -> Any:
    """A formula as a value: int64 where Python's number is an integer, else float64."""
    if isinstance(formula, str):
        return sizes[formula]
    if not isinstance(formula, tuple):
        kind = weft.float64 if isinstance(formula, float) else weft.int64
        return graph.constant(numpy.array([formula], kind.numpy), dtype=kind)
    name, *operands = formula
    values = [value_of(graph, each, sizes) for each in operands]
    if name in ROUNDING or name == "trunc":
        return rounded(graph, name, values[0])
    if name == "abs":
        return graph.Abs(values[0])
    if name == "truediv" or (name == "pow" and isinstance(operands[1], int) and operands[1] < 0):
        values = [graph.cast(each, weft.float64) for each in values]
    one, two = alike(graph, *values)
    if name in ("floordiv", "mod"):
        return divided(graph, name, one, graph.Max(two, 1) if symbols_in(operands[1]) and is_whole(two) else two)
    return graph.emit(ARITHMETIC[name], one, two)


def rounded(graph: Any, name: str, value: Any) -> Any:
    if is_whole(value):
        return value
    return graph.cast(value if name == "trunc" else graph.emit(ROUNDING[name], value), weft.int64)


def divided(graph: Any, name: str, one: Any, two: Any) -> Any:
    """Python's quotient or remainder, which has the sign of the divisor."""
    if is_whole(one):
        return graph.Mod(one, two) if name == "mod" else graph.floored(one, two)
    quotient = graph.Floor(graph.Div(one, two))
    return quotient if name == "floordiv" else graph.Sub(one, graph.Mul(quotient, two))


def is_whole(value: Any) -> bool:
    return value.dtype is weft.int64


def alike(graph: Any, one: Any, two: Any) -> tuple[Any, Any]:
    """Two numbers in float64 if one of them is."""
    if is_whole(one) and is_whole(two):
        return one, two
    return graph.cast(one, weft.float64), graph.cast(two, weft.float64)
