"""Bessel and Airy functions."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from weft.ops._declare import pointwise
from weft.ops._numerics import REAL, doubly, pieces, polynomial, scipy_function

# The modified functions of the first kind: below this the power series, whose terms are all positive; from it on
# Hankel's asymptotic series, whose smallest term is then below the rounding.
FAR = 20.0


@cache
def power_series(order: int) -> tuple[float, ...]:
    """The coefficients of ``(x / 2) ** (2 * k)`` in ``I(order, x) / (x / 2) ** order``, highest power first."""
    return tuple(1 / (math.factorial(k) * math.factorial(k + order)) for k in reversed(range(40)))


@cache
def hankel_series(order: int) -> tuple[float, ...]:
    """The coefficients of ``(1 / x) ** k`` in ``sqrt(2 * pi * x) * exp(-x) * I(order, x)``, highest power first."""
    coefficients = [1.0]
    for k in range(1, 24):
        coefficients.append(coefficients[-1] * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k))
    return tuple(reversed(coefficients))


def scaled_modified(xp: Any, order: int, x: Any) -> Any:
    """``exp(-abs(x)) * I(order, x)`` of an array of float64, for the orders 0 and 1."""

    def near(size: Any) -> Any:
        half = size / 2
        return polynomial(half * half, power_series(order)) * half**order * xp.exp(-size)

    def far(size: Any) -> Any:
        inverse = 1 / size
        return polynomial(inverse, hankel_series(order)) * xp.sqrt(inverse / (2 * math.pi))

    size = xp.absolute(x)
    value = pieces(xp, size, (size < FAR, near), (size >= FAR, far))
    return xp.copysign(value, x) if order else value


def modified(xp: Any, order: int, x: Any) -> Any:
    """The modified Bessel function of the first kind of an array of float64, for the orders 0 and 1."""
    half = xp.exp(xp.absolute(x) / 2)  # the whole would overflow before the result does
    return scaled_modified(xp, order, x) * half * half


@pointwise("i0", "i0_", result="float", dtypes=REAL)
def i0(xp, input):
    """The modified Bessel function of the first kind of order 0.

    Examples
    --------
    >>> weft.i0(weft.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
    return doubly(xp, lambda xp, x: modified(xp, 0, x), input)


@i0.gradient("input")
def _(grad, input):
    return grad * i1(input)


@pointwise(name="i0e", result="float", dtypes=REAL)
def i0e(xp, input):
    """``exp(-abs(x)) * i0(x)`` of each element x."""
    return doubly(xp, lambda xp, x: scaled_modified(xp, 0, x), input)


@i0e.gradient("input")
def _(grad, input, output):
    return grad * (i1e(input) - input.sgn() * output)


@pointwise(name="i1", result="float", dtypes=REAL)
def i1(xp, input):
    """The modified Bessel function of the first kind of order 1."""
    return doubly(xp, lambda xp, x: modified(xp, 1, x), input)


@i1.gradient("input")
def _(grad, input, output):
    return grad * slope(i0(input), output / away_from_zero(input), input)


@pointwise(name="i1e", result="float", dtypes=REAL)
def i1e(xp, input):
    """``exp(-abs(x)) * i1(x)`` of each element x."""
    return doubly(xp, lambda xp, x: scaled_modified(xp, 1, x), input)


@i1e.gradient("input")
def _(grad, input, output):
    return grad * slope(i0e(input), output * (input.sgn() + 1 / away_from_zero(input)), input)


def away_from_zero(input: Any) -> Any:
    """The input, and 1 where it is 0: what is divided by it is replaced there."""
    return input.masked_fill(input == 0, 1)


def slope(first: Any, second: Any, input: Any) -> Any:
    """The difference of two terms; at 0 its limit."""
    return (first - second).masked_fill(input == 0, 0.5)


# Without gradients, as in PyTorch


@pointwise(name="modified_bessel_i0", result="float", dtypes=REAL, gradient=None)
def modified_bessel_i0(xp, input):
    """`i0`, without a gradient."""
    return doubly(xp, lambda xp, x: modified(xp, 0, x), input)


@pointwise(name="modified_bessel_i1", result="float", dtypes=REAL, gradient=None)
def modified_bessel_i1(xp, input):
    """`i1`, without a gradient."""
    return doubly(xp, lambda xp, x: modified(xp, 1, x), input)


@pointwise(name="bessel_j0", result="float", dtypes=REAL, gradient=None)
def bessel_j0(xp, input):
    """The Bessel function of the first kind of order 0. It needs SciPy."""
    return scipy_function(xp, "bessel_j0", "j0")(input)


@pointwise(name="bessel_j1", result="float", dtypes=REAL, gradient=None)
def bessel_j1(xp, input):
    """The Bessel function of the first kind of order 1. It needs SciPy."""
    return scipy_function(xp, "bessel_j1", "j1")(input)


@pointwise(name="bessel_y0", result="float", dtypes=REAL, gradient=None)
def bessel_y0(xp, input):
    """The Bessel function of the second kind of order 0: nan below 0. It needs SciPy."""
    return scipy_function(xp, "bessel_y0", "y0")(input)


@pointwise(name="bessel_y1", result="float", dtypes=REAL, gradient=None)
def bessel_y1(xp, input):
    """The Bessel function of the second kind of order 1: nan below 0. It needs SciPy."""
    return scipy_function(xp, "bessel_y1", "y1")(input)


@pointwise(name="modified_bessel_k0", result="float", dtypes=REAL, gradient=None)
def modified_bessel_k0(xp, input):
    """The modified Bessel function of the second kind of order 0: nan below 0. It needs SciPy."""
    return scipy_function(xp, "modified_bessel_k0", "k0")(input)


@pointwise(name="modified_bessel_k1", result="float", dtypes=REAL, gradient=None)
def modified_bessel_k1(xp, input):
    """The modified Bessel function of the second kind of order 1: nan below 0. It needs SciPy."""
    return scipy_function(xp, "modified_bessel_k1", "k1")(input)


@pointwise(name="scaled_modified_bessel_k0", result="float", dtypes=REAL, gradient=None)
def scaled_modified_bessel_k0(xp, input):
    """``exp(x) * modified_bessel_k0(x)`` of each element x. It needs SciPy."""
    return scipy_function(xp, "scaled_modified_bessel_k0", "k0e")(input)


@pointwise(name="scaled_modified_bessel_k1", result="float", dtypes=REAL, gradient=None)
def scaled_modified_bessel_k1(xp, input):
    """``exp(x) * modified_bessel_k1(x)`` of each element x. It needs SciPy."""
    return scipy_function(xp, "scaled_modified_bessel_k1", "k1e")(input)


@pointwise(name="spherical_bessel_j0", result="float", dtypes=REAL, gradient=None)
def spherical_bessel_j0(xp, input):
    """The spherical Bessel function of the first kind of order 0: ``sin(x) / x``, 1 at 0."""
    x = xp.asarray(input)
    ordinary = xp.where((x == 0) | xp.isinf(x), 1, x)
    return xp.where(xp.isinf(x), 0, xp.where(x == 0, 1, xp.sin(ordinary) / ordinary)).astype(input.dtype)


@pointwise(name="airy_ai", result="float", dtypes=REAL, gradient=None)
def airy_ai(xp, input):
    """Airy's function Ai, the solution of ``y'' = x * y`` that vanishes for large x. It needs SciPy.

    Examples
    --------
    >>> weft.special.airy_ai(weft.tensor([0.0, 1.0]))
    tensor([0.3550, 0.1353])
    """
    ordinary = xp.where((input > 200) & (input < xp.inf), 200, input).astype(input.dtype)  # from 104 on it is 0
    return scipy_function(xp, "airy_ai", "airy")(ordinary)[0]
