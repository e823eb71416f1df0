"""The gamma function, its derivatives and relatives, on an array library that has none of them."""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any

import numpy

from weft._dtypes.dtypes import get_default_dtype
from weft._tensor.base import Tensor
from weft.ops._declare import composite, no_gradient, op, pointwise
from weft.ops._geometry import elements, require_tensors
from weft.ops._numerics import REAL, doubly, in_blocks, is_numpy, pieces, polynomial, scipy_function, wide
from weft.ops.creation import arange

EPS = 2.0**-53

# Bernoulli numbers B2, B4, ..., of the asymptotic series.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


# zeta(k) - 1 for k = 2, 3, ..., of the series about the zeros of log gamma.
ZETA = (
    0.6449340668482264, 0.2020569031595943, 0.08232323371113819, 0.03692775514336993, 0.01734306198444914,
    0.008349277381922827, 0.00407735619794434, 0.0020083928260822143, 0.0009945751278180853, 0.0004941886041194645,
    0.0002460865533080483, 0.00012271334757848915, 6.124813505870483e-05, 3.058823630702049e-05,
    1.528225940865187e-05, 7.637197637899763e-06, 3.81729326499984e-06, 1.908212716553939e-06,
    9.539620338727962e-07, 4.769329867878064e-07, 2.38450502727733e-07, 1.1921992596531106e-07,
    5.960818905125948e-08, 2.980350351465228e-08, 1.4901554828365043e-08, 7.45071178983543e-09,
    3.725334024788457e-09, 1.862659723513049e-09, 9.313274324196682e-10,
)  # fmt: skip
ABOUT_TWO = tuple(reversed([(-1) ** k * value / k for k, value in enumerate(ZETA, 2)])) + (1 - 0.5772156649015329,)


FAR = 10  # from here on the asymptotic series are exact; smaller numbers are shifted by as many steps


def series(xp: Any, y: Any, divisor: Any) -> Any:
    """The sum of ``bernoulli(2 k) / divisor(k) / y ** (2 k)`` over the numbers at hand."""
    square = 1 / (y * y)
    return square * polynomial(square, tuple(reversed([b / divisor(k) for k, b in enumerate(BERNOULLI, 1)])))


def log_gamma_positive(xp: Any, x: Any) -> Any:
    """The logarithm of gamma for x > 0: Stirling's series, after recurrence."""
    small = x < FAR
    start = xp.where(small, x, 1.0)
    passed = start.copy()
    for k in range(1, FAR):
        passed *= start + k
    y = xp.where(small, x + FAR, x)
    stirling = (y - 0.5) * xp.log(y) - y + 0.5 * math.log(2 * math.pi)
    stirling += y * series(xp, y, lambda k: 2 * k * (2 * k - 1))
    return stirling - xp.where(small, xp.log(passed), 0.0)


def log_gamma_about_two(xp: Any, z: Any) -> Any:
    """The logarithm of gamma at 2 + z, for z from -0.5 to 0.5: Abramowitz and Stegun, 6.1.33, with the recurrence."""
    return z * polynomial(z, ABOUT_TWO)


def lgamma_array(xp: Any, x: Any) -> Any:
    def reflected(value: Any) -> Any:
        part = value - xp.rint(value)  # the sine of a large multiple of pi would lose its digits
        return math.log(math.pi) - xp.log(xp.absolute(xp.sin(math.pi * part))) - log_gamma_positive(xp, 1 - value)

    return pieces(
        xp,
        x,
        (x >= 0.5, lambda value: log_gamma_positive(xp, value)),
        (x < 0.5, reflected),
        # Near its zeros at 1 and 2 the sum above would have no digits left.
        ((x >= 0.5) & (x <= 1.5), lambda value: log_gamma_about_two(xp, value - 1) - xp.log1p(value - 1)),
        ((x > 1.5) & (x <= 2.5), lambda value: log_gamma_about_two(xp, value - 2)),
        (xp.isinf(x), xp.absolute),
    )


@pointwise("lgamma", "lgamma_", result="float", dtypes=REAL)
def lgamma(xp, input):
    """The logarithm of the gamma function's absolute value; infinite at 0 and the negative integers."""
    return doubly(xp, lgamma_array, input)


@lgamma.gradient("input")
def _(grad, input):
    return grad * digamma(input)


def digamma_positive(xp: Any, x: Any) -> Any:
    """The derivative of the logarithm of gamma, for x > 0."""
    small = x < FAR
    start = xp.where(small, x, 1.0)
    product, slope = start.copy(), xp.ones_like(start)
    for k in range(1, FAR):
        factor = start + k
        slope = slope * factor + product
        product *= factor
    y = xp.where(small, x + FAR, x)
    return xp.log(y) - 0.5 / y - series(xp, y, lambda k: 2 * k) - xp.where(small, slope / product, 0.0)


def digamma_array(xp: Any, x: Any) -> Any:
    def reflected(value: Any) -> Any:
        part = value - xp.rint(value)
        result = digamma_positive(xp, 1 - value) - math.pi / xp.tan(math.pi * part)
        return xp.where(part == 0, xp.nan, result)

    return pieces(
        xp,
        x,
        (x > 0, lambda value: digamma_positive(xp, value)),
        (x < 0, reflected),
        (x == 0, lambda value: xp.copysign(xp.inf, -value)),
        (xp.isposinf(x), lambda value: value),
    )


@pointwise("digamma", "digamma_", result="float", dtypes=REAL)
def digamma(xp, input):
    """The derivative of `lgamma`: nan at the negative integers, infinite at 0."""
    return doubly(xp, digamma_array, input)


@digamma.gradient("input")
def _(grad, input):
    return grad * polygamma(1, input)


# Hurwitz's zeta function, of which the derivatives of digamma are made


# Terms of zeta that matter before q reaches s: ``s * (1 - EPS ** (1 / s))``, which is below 36.8 for any s.
TERMS = 38


def zeta_positive(xp: Any, s: Any, q: Any) -> Any:
    """The sum of ``(q + k) ** -s`` over all k from 0 on, for s > 1 and q > 0.

    Terms one by one while they matter and the formula of Euler and Maclaurin does not converge yet, then that.
    """
    total = xp.zeros_like(q)
    enough = xp.maximum(s, 12.0)
    exhausted = xp.zeros(q.shape, bool)
    for _ in range(TERMS):
        going = (q < enough) & ~exhausted
        if is_numpy(xp) and not xp.any(going):
            break
        term = q**-s
        total = xp.where(going, total + term, total)
        exhausted |= going & (term <= EPS * total)
        q = xp.where(going, q + 1, q)
    rest = q ** (1 - s) / (s - 1) + 0.5 * q**-s
    rising, factorial = s, 2.0
    for k, bernoulli in enumerate(BERNOULLI, 1):
        rest = rest + bernoulli * rising / factorial * q ** (1 - s - 2 * k)
        rising = rising * ((s + 2 * k - 1) * (s + 2 * k))
        factorial *= (2 * k + 1) * (2 * k + 2)
    return total + xp.where(exhausted, 0.0, rest)


def zeta_reflected(xp: Any, s: Any, q: Any) -> Any:
    """The sum for a whole s and q < 0."""
    part = q - xp.floor(q)
    sign = 1 - 2 * (s % 2)
    negative = zeta_positive(xp, s, 1 - part) - zeta_positive(xp, s, 1 - q)
    return sign * negative + zeta_positive(xp, s, part)


def zeta_array(xp: Any, s: Any, q: Any) -> Any:
    """Hurwitz's zeta function of arrays of float64.

    nan at infinity, as in PyTorch. Below 0, where s has to be whole, the negative terms are a sum of the same kind as
    the positive ones.
    """
    s, q = xp.broadcast_arrays(xp.atleast_1d(s), xp.atleast_1d(q))
    whole = q == xp.floor(q)
    valid = (s > 1) & ~((q <= 0) & whole) & (q < xp.inf)
    ordinary = valid & (q > 0)
    reflected = valid & (q < 0) & (s == xp.floor(s))
    result = pieces(xp, (s, q), (ordinary, partial(zeta_positive, xp)), (reflected, partial(zeta_reflected, xp)))
    pole = (s == 1) | ((s > 1) & (q <= 0) & whole)
    return xp.where(pole, xp.inf, result)


@pointwise(name="zeta", result="float", dtypes=REAL)
def zeta(xp, input, other):
    """Hurwitz's zeta function: the sum of ``(other + k) ** -input`` over all k from 0 on.

    Parameters
    ----------
    input, other : Tensor or number (not both numbers) of real dtype, broadcastable to each other

    Returns
    -------
    Tensor; infinite where input is 1 or other is 0 or a negative integer, nan where input is below 1.

    Examples
    --------
    >>> weft.special.zeta(weft.tensor(2.0), 1) * 6
    tensor(9.8696)
    """
    dtype = getattr(input, "dtype", None) or other.dtype
    result = zeta_array(xp, wide(xp, input), wide(xp, other)).astype(dtype)
    return result.reshape(numpy.broadcast_shapes(getattr(input, "shape", ()), getattr(other, "shape", ())))


@zeta.gradient("input")
def _(grad):
    return no_gradient("zeta: input", grad)


@zeta.gradient("other")
def _(grad, input, other):
    return grad * -input * zeta(input + 1, other)


@op(name="polygamma", result="float", compute_dtype="float32", dtypes=REAL, tensors="input", vmap="elementwise")
def polygamma_op(input: Tensor, n: int) -> Tensor:
    """The n-th derivative of `digamma`."""
    return polygamma_op.op(input, n)


@polygamma_op.kernel
def _(xp, input, n):
    if n == 0:
        return doubly(xp, digamma_array, input)
    if n == 1:
        return in_blocks(xp, lambda block: trigamma_array(xp, block), xp.asarray(input))
    values = zeta_array(xp, wide(xp, n + 1.0), wide(xp, input))
    size = math.gamma(n + 1) if n < 171 else math.inf
    return ((-1.0) ** (n + 1) * size * values).astype(input.dtype).reshape(input.shape)


@polygamma_op.meta
def _(xp, input, n):
    return xp.empty(input.shape, input.dtype)


def trigamma_positive(xp: Any, x: Any) -> Any:
    """The derivative of `digamma`, for x > 0."""
    small = x < FAR
    start = xp.where(small, x, 1.0)
    passed = xp.zeros_like(start)
    for k in range(FAR):
        inverse = 1 / (start + k)
        passed += inverse * inverse
    y = xp.where(small, x + FAR, x)
    return (1 + 0.5 / y + series(xp, y, lambda k: 1)) / y + xp.where(small, passed, 0.0)


def trigamma_array(xp: Any, x: Any) -> Any:
    """The derivative of `digamma`.

    By reflection below 0.5, with the angle rounded to the input's precision: what PyTorch has near the poles (and
    its large number instead of infinity on them) is this rounding.
    """
    negative = x < 0.5
    positive = trigamma_positive(xp, wide(xp, xp.where(negative, 1 - x, x)))
    sine = xp.sin(wide(xp, x * x.dtype.type(math.pi)))
    return xp.where(negative, (math.pi / sine) ** 2 - positive, positive).astype(x.dtype)


@polygamma_op.gradient("input")
def _(grad, input, n):
    return grad * polygamma_op.op(input, n + 1)


@composite(out=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of `digamma`.

    Parameters
    ----------
    n : int
        0 or above.
    input : Tensor of real dtype

    Examples
    --------
    >>> weft.polygamma(1, weft.tensor(1.0)) * 6  # pi squared
    tensor(9.8696)
    """
    n = integer("polygamma", "n", n)
    if n < 0:
        raise RuntimeError(f"polygamma: polygamma(n, x) does not support negative n, got n={n}")
    return polygamma_op.op(input, n)


def integer(name: str, argument: str, value: Any) -> int:
    """An argument that has to be an int.

    Raises
    ------
    TypeError
        If it is none.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(value).__name__}") from None


@composite("polygamma", "polygamma_")
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    return polygamma(n, self)


@composite("mvlgamma", "mvlgamma_", out=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``.

    It is the sum of ``lgamma(input - k / 2)`` over k from 0 to p - 1, and ``p * (p - 1) / 4 * log(pi)``.

    Parameters
    ----------
    input : Tensor of real dtype
        Above ``(p - 1) / 2``: elsewhere the function is not defined.
    p : int

    Raises
    ------
    RuntimeError
        If p is below 1.

    Examples
    --------
    >>> weft.mvlgamma(weft.tensor([3.0]), 1), weft.mvlgamma(weft.tensor([3.0]), 2)
    (tensor([0.6931]), tensor([1.5502]))
    """
    p = integer("mvlgamma", "p", p)
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got p={p}")
    require_tensors("mvlgamma", input=input)
    if not input._key.is_differentiable:
        input = input.to(get_default_dtype())
    elements("mvlgamma", (*input.shape, p), input._key.dtype.itemsize)
    steps = arange(p, dtype=input.dtype, device=input.device) * -0.5
    return lgamma(input.unsqueeze(-1) + steps).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


# The incomplete gamma functions


@pointwise("igamma", "igamma_", dtypes="float", numbers="")
def igamma(xp, input, other):
    """The regularized lower incomplete gamma function.

    The integral of ``t ** (input - 1) * exp(-t)`` from 0 to other, divided by ``gamma(input)``; nan where one of them
    is negative. It needs SciPy.

    Parameters
    ----------
    input, other : Tensor of floating-point dtype, broadcastable to each other

    Examples
    --------
    >>> weft.igamma(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 1.0]))
    tensor([0.6321, 0.2642])
    """
    return scipy_function(xp, "igamma", "gammainc")(input, other)


@igamma.gradient("input")
def _(grad):
    return no_gradient("igamma: input", grad)


@igamma.gradient("other")
def _(grad, input, other):
    return grad * gamma_density(input, other)


@pointwise("igammac", "igammac_", dtypes="float", numbers="")
def igammac(xp, input, other):
    """The regularized upper incomplete gamma function, ``1 - igamma(input, other)``. It needs SciPy.

    Parameters
    ----------
    input, other : Tensor of floating-point dtype, broadcastable to each other

    Examples
    --------
    >>> weft.igammac(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 1.0]))
    tensor([0.3679, 0.7358])
    """
    return scipy_function(xp, "igammac", "gammaincc")(input, other)


@igammac.gradient("input")
def _(grad):
    return no_gradient("igammac: input", grad)


@igammac.gradient("other")
def _(grad, input, other):
    return -grad * gamma_density(input, other)


def gamma_density(shape: Any, x: Any) -> Any:
    """The derivative of `igamma` by its second argument."""
    return ((shape - 1) * x.log() - x - lgamma(shape)).exp()
