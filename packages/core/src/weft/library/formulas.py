"""Formulas: elementwise ops as functions of one element.

A formula is a plain Python function, with operators, conditions (``x > 0``, combined by ``&``, ``|`` and ``~``) and the
functions of this module. From it come the kernel for every array namespace, which makes no new array where an old one
can be written over, and the compiled loop of a backend that has a compiler::

    @op(result="same", dtypes="float", compute_dtype="float32", vmap="elementwise", namespace="mylib")
    def capped_exp(input: Tensor, limit: float) -> Tensor:
        return capped_exp.op(input, limit)

    @capped_exp.formula
    def _(input, limit):
        return exp(minimum(input, limit))

Arrays come first. Behind them are numbers, the same for all elements, which are not compared with each other. Arguments
that are annotated as ``str`` or ``bool`` are choices: the formula decides by them in Python, and is another one for
each. Of an op declared with `pointwise`, ``formula=True`` says that the decorated function is the formula.

A ``.kernel`` declared behind the formula replaces it for array namespaces, where it has something better; compilers go
on with the formula. A backend asks `formula_of` for it, and gets a `Program`: what is computed, step by step.
"""

from __future__ import annotations

from weft.ops._expressions import (
    Expression,
    Program,
    clip,
    erf,
    exp,
    expm1,
    log,
    log1p,
    log1pexp,
    maximum,
    minimum,
    sigmoid,
    sqrt,
    tanh,
    where,
)
from weft.ops._formulas import Formula
from weft.ops._registry import registry

__all__ = [
    "Expression",
    "Formula",
    "Program",
    "clip",
    "erf",
    "exp",
    "expm1",
    "formula_of",
    "log",
    "log1p",
    "log1pexp",
    "maximum",
    "minimum",
    "sigmoid",
    "sqrt",
    "tanh",
    "where",
]


def formula_of(name: str) -> Formula | None:
    """The formula of an op; None if it has none, or is not declared.

    Parameters
    ----------
    name : str
        With its namespace, ``"nn::silu"``.

    Examples
    --------
    >>> from weft.library.formulas import formula_of
    >>> [step.function for step in formula_of("nn::silu").program().steps]
    ['negative', 'exp', 'add', 'divide']
    """
    declaration = registry.get(name)
    return None if declaration is None else declaration.formula
