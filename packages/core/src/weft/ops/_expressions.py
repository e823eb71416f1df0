"""Expressions: what a formula gives of arguments that are expressions, and the program that its steps are.

Code generators read a `Program`: `_formula_kernels` for the functions of an array namespace, a backend for its
compiler.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.lib.mixins import NDArrayOperatorsMixin


class Function(NamedTuple):
    """A function of formulas: of Python's numbers, and what it costs in additions; 0 beside what memory costs."""

    of_numbers: Callable[..., Any]
    cost: int = 0


CONDITIONS: dict[str, Callable[..., Any]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "logical_not": operator.not_,
}
SUMS: dict[str, Callable[..., Any]] = {"add": operator.add, "subtract": operator.sub}
EXACT: dict[str, Callable[..., Any]] = CONDITIONS | {
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    "absolute": abs,
    "maximum": lambda a, b: a if a > b or a != a else b,
    "minimum": lambda a, b: a if a < b or a != a else b,
    "clip": lambda x, low, high: low if x < low else high if x > high else x,
    "where": lambda condition, a, b: a if condition else b,
}
FUNCTIONS = {name: Function(function) for name, function in (SUMS | EXACT).items()} | {
    "sqrt": Function(math.sqrt, 2),
    "exp": Function(math.exp, 3),
    "expm1": Function(math.expm1, 3),
    "log": Function(math.log, 3),
    "log1p": Function(math.log1p, 3),
    "tanh": Function(math.tanh, 3),
    "erf": Function(math.erf, 3),
    "sigmoid": Function(lambda x: 1 / (1 + math.exp(-x)), 3),
    "log1pexp": Function(lambda x: math.log1p(math.exp(x)), 6),
}
"""What formulas are made of, by the array namespace's names, and three more."""

OPERATORS = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "invert": "logical_not"}


class Expression(NDArrayOperatorsMixin):
    """A value in a formula, to compute with as with a number.

    Parameters
    ----------
    steps : dict
        All that the formula has computed, to which it adds what is computed with this.
    function : str
        What it is the value of; ``"argument"`` for an argument.
    operands : tuple
        Expressions and numbers; of an argument its name.
    sort : str
        ``"array"``: each element has its own; ``"number"``: all have the same; ``"mask"``: a condition.
    """

    __slots__ = ("function", "operands", "sort", "steps")
    __hash__ = object.__hash__

    def __init__(self, steps: dict[Any, Expression], function: str, operands: tuple[Any, ...], sort: str) -> None:
        self.steps = steps
        self.function = function
        self.operands = operands
        self.sort = sort

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any) -> Any:
        """The operators, and NumPy's functions by whose names formulas know them."""
        return apply(OPERATORS.get(ufunc.__name__, ufunc.__name__), *operands)

    def __bool__(self) -> bool:
        raise TypeError(
            "a formula is the same for all elements: write where(x > 0, a, b) in place of `a if x > 0 else b`, and "
            "&, | and ~ in place of `and`, `or` and `not`"
        )


def apply(function: str, *operands: Any) -> Any:
    """The value of a function: an expression if an operand is one, else a number.

    Raises
    ------
    TypeError
        If formulas do not have the function, or it is a condition of numbers alone.
    """
    if function not in FUNCTIONS:
        raise TypeError(f"a formula has no {function!r}; it has {', '.join(FUNCTIONS)}")
    given = [each for each in operands if isinstance(each, Expression)]
    if not given:
        return FUNCTIONS[function].of_numbers(*operands)
    if function == "multiply" and is_one(operands[0]):
        return operands[1]
    if function in ("multiply", "divide") and is_one(operands[1]):
        return operands[0]
    sorts = {each.sort for each in given}
    sort = "mask" if function in CONDITIONS else "number" if sorts == {"number"} else "array"
    if sort == "mask" and sorts == {"number"}:
        raise TypeError("a condition in a formula is one of elements, and not of arguments that are numbers alone")
    key = (function, *[id(each) if isinstance(each, Expression) else repr(each) for each in operands])
    return given[0].steps.setdefault(key, Expression(given[0].steps, function, operands, sort))


def is_one(operand: Any) -> bool:
    return isinstance(operand, int | float) and operand == 1


def exp(x: Any) -> Any:
    """The exponential."""
    return apply("exp", x)


def expm1(x: Any) -> Any:
    """``exp(x) - 1``, without loss of precision for small x."""
    return apply("expm1", x)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return apply("log", x)


def log1p(x: Any) -> Any:
    """``log(1 + x)``, without loss of precision for small x."""
    return apply("log1p", x)


def sqrt(x: Any) -> Any:
    """The square root."""
    return apply("sqrt", x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return apply("tanh", x)


def erf(x: Any) -> Any:
    """The error function."""
    return apply("erf", x)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return apply("sigmoid", x)


def log1pexp(x: Any) -> Any:
    """``log(1 + exp(x))`` for ``x <= 0``."""
    return apply("log1pexp", x)


def maximum(a: Any, b: Any) -> Any:
    """The larger number, the second if they are equal; nan if one of them is."""
    return apply("maximum", a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller number, the second if they are equal; nan if one of them is."""
    return apply("minimum", a, b)


def clip(x: Any, low: Any, high: Any) -> Any:
    """``x``, moved to the nearer limit where it is outside; nan stays."""
    return apply("clip", x, low, high)


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``. Both are computed for all elements.

    Parameters
    ----------
    condition : comparison of elements
    a, b : element or number

    Examples
    --------
    >>> from weft.library.formulas import where
    >>> def soft_sign(x):
    ...     return x / where(x < 0, 1 - x, 1 + x)
    >>> soft_sign(-3.0)
    -0.75
    """
    return apply("where", condition, a, b)


class Program(NamedTuple):
    """What a formula computes.

    Attributes
    ----------
    name : str
        Of the op, with what was chosen in it.
    arguments : tuple of Expression
        All but the choices.
    steps : tuple of Expression
        Each behind those that it is computed of.
    result : Expression
    """

    name: str
    arguments: tuple[Expression, ...]
    steps: tuple[Expression, ...]
    result: Expression

    @property
    def cost(self) -> int:
        """Of one element, in additions."""
        return sum(FUNCTIONS[each.function].cost for each in self.steps) or 1

    @property
    def is_exact(self) -> bool:
        """Whether compiled code gives the same bits: there products and sums may be fused, and functions are others."""
        for each in self.steps:
            fused = any(isinstance(other, Expression) and other.function == "multiply" for other in each.operands)
            if each.sort == "number" or not (each.function in EXACT or (each.function in SUMS and not fused)):
                return False
        return True


def steps_of(result: Expression) -> tuple[Expression, ...]:
    """What a value is computed of, and itself; all behind their operands, and without arguments."""
    used, waiting = {result}, [result]
    while waiting:
        found = [each for each in waiting.pop().operands if isinstance(each, Expression) and each not in used]
        used |= set(found)
        waiting += found
    return tuple([each for each in result.steps.values() if each in used])
