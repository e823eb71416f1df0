"""Pointwise arithmetic and elementary functions, each with its gradient."""

from __future__ import annotations

from typing import Any

from weft._dtypes import result_dtype
from weft._engine.tensor import TensorBase, state
from weft.ops._declare import composite, pointwise

REAL = "bool int float"
NUMBERS = "int float complex"


def conj(value: Any) -> Any:
    """The conjugate of a tensor or number; a real one is itself."""
    if isinstance(value, TensorBase):
        return value.conj() if value.kind.is_complex else value
    return value.conjugate()


@pointwise("__add__ __radd__", "__iadd__", kernel="add", name="add")
def plus(input, other):
    """The sum of each pair of elements, as ``input + other`` computes it."""


@plus.gradient("input")
def _(grad):
    return grad


@plus.gradient("other")
def _(grad):
    return grad


@composite("add", "add_", out=True)
def add(input, other, *, alpha=1):
    """``input + alpha * other``, element by element.

    Parameters
    ----------
    input, other : Tensor or number, broadcastable to each other
    alpha : number
        Multiplies ``other``; an integer unless the result is floating or complex.

    Examples
    --------
    >>> weft.add(weft.tensor([1.0, 2.0]), weft.tensor([10.0, 20.0]), alpha=0.5)
    tensor([ 6., 12.])
    """
    return plus(input, scaled("add", input, other, alpha))


def scaled(name: str, input: Any, other: Any, alpha: Any) -> Any:
    """``alpha * other``, if that does not change the category of the result's dtype."""
    if type(alpha) is int and alpha == 1:
        return other
    common = result_dtype((input, other))
    if isinstance(alpha, bool) and common.name != "bool":
        raise RuntimeError(f"{name}: Boolean alpha only supported for Boolean results; got a result of {common}")
    if isinstance(alpha, float) and common.category < 2:
        raise RuntimeError(f"{name}: For integral input tensors, argument alpha must not be a floating point number")
    if isinstance(alpha, complex) and common.category < 3:
        raise RuntimeError(f"{name}: For non-complex input tensors, argument alpha must not be a complex number")
    return other * alpha


@pointwise("mul multiply __mul__ __rmul__", "mul_ multiply_ __imul__", kernel="multiply")
def mul(input, other):
    """The product of each pair of elements.

    Examples
    --------
    >>> weft.mul(weft.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """


@mul.gradient("input")
def _(grad, other):
    return grad * conj(other)


@mul.gradient("other")
def _(grad, input):
    return grad * conj(input)


@pointwise("exp", "exp_", kernel="exp", result="float")
def exp(input):
    """The exponential of each element."""


@exp.gradient("input")
def _(grad, output):
    return grad * conj(output)


state.add_ = lambda target, other: target.add_(other)
