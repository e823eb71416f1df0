"""The error function, the gamma function and their relatives, on an array library that has none of them."""

from __future__ import annotations

import math
from typing import Any

from weft.ops._declare import composite, op, pointwise

REAL = "bool int float"
BLOCK = 1 << 14  # elements whose temporaries stay in the first caches

# erf(x) = tanh(x p(x**2)) to 1.4e-7 where it is below 1 in float32: array libraries have a fast tanh. A fit of the
# smooth function atanh(erf(x)) / x by relative error of erf; highest power first.
ERF32_LIMIT = 4.0
ERF32_INSIDE_TANH = (
    5.421871851e-09,
    2.756912572e-08,
    -4.794538615e-06,
    8.459628539e-05,
    -6.148375864e-04,
    -1.952888371e-04,
    1.027698644e-01,
    1.128379247e00,
)

# W. J. Cody, Rational Chebyshev approximations for the error function, Math. Comp. 23 (1969): |x| <= 0.46875,
# up to 4 (of erfc), and beyond (of the asymptotic series). Highest power first.
ERF_ABOVE = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
ERF_BELOW = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
ERFC_ABOVE = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e0,
    6.61191906371416295e1,
    2.98635138197400131e2,
    8.81952221241769090e2,
    1.71204761263407058e3,
    2.05107837782607147e3,
    1.23033935479799725e3,
)
ERFC_BELOW = (
    1.0,
    1.57449261107098347e1,
    1.17693950891312499e2,
    5.37181101862009858e2,
    1.62138957456669019e3,
    3.29079923573345963e3,
    4.36261909014324716e3,
    3.43936767414372164e3,
    1.23033935480374942e3,
)
TAIL_ABOVE = (
    1.63153871373020978e-2,
    3.05326634961232344e-1,
    3.60344899949804439e-1,
    1.25781726111229246e-1,
    1.60837851487422766e-2,
    6.58749161529837803e-4,
)
TAIL_BELOW = (
    1.0,
    2.56852019228982242e0,
    1.87295284992346725e0,
    5.27905102951428412e-1,
    6.05183413124413191e-2,
    2.33520497626869185e-3,
)

# M. J. Wichura, Algorithm AS 241, Applied Statistics 37 (1988): the normal quantile in three regions.
CENTRE_ABOVE = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
CENTRE_BELOW = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
NEAR_ABOVE = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
NEAR_BELOW = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
FAR_ABOVE = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
)
FAR_BELOW = (
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1.0,
)

# Bernoulli numbers B2, B4, ..., of the asymptotic series.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """The polynomial with these coefficients (highest power first) at each element, in new memory."""
    value = x * coefficients[0]
    for each in coefficients[1:-1]:
        value += each
        value *= x
    value += coefficients[-1]
    return value


def in_blocks(xp: Any, function: Any, *arrays: Any) -> Any:
    """A function of equally shaped arrays, applied to pieces whose temporaries fit the cache."""
    first = arrays[0]
    if first.size <= BLOCK or not all(each.flags.c_contiguous for each in arrays):
        return function(*arrays)
    result = xp.empty(first.shape, first.dtype)
    flat, target = [each.reshape(-1) for each in arrays], result.reshape(-1)
    for start in range(0, first.size, BLOCK):
        stop = start + BLOCK
        target[start:stop] = function(*[each[start:stop] for each in flat])
    return result


def pieces(xp: Any, x: Any, *branches: tuple[Any, Any]) -> Any:
    """Each branch's function, computed only where its condition holds."""
    x = xp.asarray(x)
    result = xp.full(x.shape, xp.nan, x.dtype)
    for condition, function in branches:
        chosen = condition(x) if callable(condition) else condition
        if xp.all(chosen):
            return function(x)
        if xp.any(chosen):
            result[chosen] = function(x[chosen])
    return result


def erf_array(xp: Any, x: Any) -> Any:
    """The error function of an array of float32 or float64."""
    return in_blocks(xp, lambda block: (erf_single if x.dtype.itemsize == 4 else erf_double)(xp, block), x)


def erf_single(xp: Any, x: Any) -> Any:
    """In float32."""
    bounded = xp.clip(x, -ERF32_LIMIT, ERF32_LIMIT)
    bounded *= polynomial(bounded * bounded, ERF32_INSIDE_TANH)
    return xp.tanh(bounded, out=bounded if bounded.ndim else None)


def erf_double(xp: Any, x: Any) -> Any:
    size = xp.absolute(x)

    def outer(value: Any) -> Any:
        return xp.copysign(1 - erfc_positive(xp, xp.absolute(value)), value)

    return pieces(xp, x, (size <= 0.46875, erf_inner), (size > 0.46875, outer))


def erf_inner(x: Any) -> Any:
    square = x * x
    return x * polynomial(square, ERF_ABOVE) / polynomial(square, ERF_BELOW)


def erfc_positive(xp: Any, x: Any) -> Any:
    """``1 - erf(x)`` for x above 0.46875."""

    def near(value: Any) -> Any:
        return exp_minus_square(xp, value) * polynomial(value, ERFC_ABOVE) / polynomial(value, ERFC_BELOW)

    def far(value: Any) -> Any:
        value = xp.minimum(value, 30.0)  # erfc(27) is 0, and a square must not overflow
        inverse = 1 / (value * value)
        rest = inverse * polynomial(inverse, TAIL_ABOVE) / polynomial(inverse, TAIL_BELOW)
        return exp_minus_square(xp, value) * (1 / math.sqrt(math.pi) - rest) / value

    return pieces(xp, x, (x <= 4, near), (x > 4, far))


def exp_minus_square(xp: Any, x: Any) -> Any:
    """``exp(-x * x)``, from a square that is exact and a rest: else the rounding of the square would be magnified."""
    head = xp.trunc(x * 16) / 16
    return xp.exp(-head * head) * xp.exp(-(x - head) * (x + head))


def erfc_array(xp: Any, x: Any) -> Any:
    wide = xp.asarray(x).astype(xp.float64)
    size = xp.absolute(wide)

    def outer(value: Any) -> Any:
        tail = erfc_positive(xp, xp.absolute(value))
        return xp.where(value < 0, 2 - tail, tail)

    result = pieces(xp, wide, (size <= 0.46875, lambda value: 1 - erf_inner(value)), (size > 0.46875, outer))
    return result.astype(x.dtype)


@pointwise("erf", "erf_", result="float", accepts=REAL)
def erf(xp, input):
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t * t)`` from 0 to each element.

    Examples
    --------
    >>> weft.erf(weft.tensor([0.0, 0.5, 10.0]))
    tensor([0.0000, 0.5205, 1.0000])
    """
    return erf_array(xp, input)


@erf.gradient("input")
def _(grad, input):
    return grad * (-input * input).exp() * (2 / math.sqrt(math.pi))


@pointwise("erfc", "erfc_", result="float", accepts=REAL)
def erfc(xp, input):
    """``1 - erf(x)``, without loss of precision for large x."""
    return erfc_array(xp, input)


@erfc.gradient("input")
def _(grad, input):
    return grad * (-input * input).exp() * (-2 / math.sqrt(math.pi))


@pointwise("erfinv", "erfinv_", result="float", accepts=REAL)
def erfinv(xp, input):
    """The number whose `erf` is the element; infinite at -1 and 1, nan outside."""
    wide = xp.asarray(input).astype(xp.float64)
    half = wide / 2

    def centre(q: Any) -> Any:
        r = 0.180625 - q * q
        return q * polynomial(r, CENTRE_ABOVE) / polynomial(r, CENTRE_BELOW)

    def tail(q: Any) -> Any:
        r = xp.sqrt(-xp.log(0.5 - xp.absolute(q)))
        near, far = r - 1.6, r - 5
        value = xp.where(
            r <= 5,
            polynomial(near, NEAR_ABOVE) / polynomial(near, NEAR_BELOW),
            polynomial(far, FAR_ABOVE) / polynomial(far, FAR_BELOW),
        )
        return xp.copysign(xp.where(xp.isinf(r), xp.inf, value), q)

    size = xp.absolute(half)
    quantile = pieces(xp, half, (size <= 0.425, centre), ((size > 0.425) & (size <= 0.5), tail))
    return (quantile / math.sqrt(2)).astype(input.dtype)


@erfinv.gradient("input")
def _(grad, output):
    return grad * (output * output).exp() * (math.sqrt(math.pi) / 2)


# The gamma function


def shifted(xp: Any, x: Any, least: float, step: Any) -> tuple[Any, Any]:
    """Add 1 to each element until it is at least ``least``; ``step(x)`` is summed over what it passes."""
    passed = xp.zeros_like(x)
    while xp.any(small := x < least):
        passed += xp.where(small, step(xp.where(small, x, 1.0)), 0.0)
        x = xp.where(small, x + 1, x)
    return x, passed


def log_gamma_positive(xp: Any, x: Any) -> Any:
    """The logarithm of gamma for x > 0: Stirling's series, after recurrence."""
    factor = xp.ones_like(x)
    while xp.any(small := x < 10):
        factor = xp.where(small, factor * x, factor)
        x = xp.where(small, x + 1, x)
    inverse = 1 / x
    square = inverse * inverse
    series = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1)]
    rest = inverse * polynomial(square, tuple(reversed(series)))
    return (x - 0.5) * xp.log(x) - x + 0.5 * math.log(2 * math.pi) + rest - xp.log(factor)


@pointwise("lgamma", "lgamma_", result="float", accepts=REAL)
def lgamma(xp, input):
    """The logarithm of the gamma function's absolute value; infinite at 0 and the negative integers."""
    wide = xp.asarray(input).astype(xp.float64)
    negative = wide < 0.5
    positive = log_gamma_positive(xp, xp.where(negative, 1 - wide, xp.where(xp.isfinite(wide), wide, 1.0)))
    part = wide - xp.floor(wide)  # the sine of a large multiple of pi would lose its digits
    reflected = math.log(math.pi) - xp.log(xp.absolute(xp.sin(math.pi * part))) - positive
    result = xp.where(negative, reflected, positive)
    result = xp.where(negative & (part == 0) | xp.isinf(wide), xp.inf, xp.where(xp.isnan(wide), wide, result))
    return result.astype(input.dtype)


@lgamma.gradient("input")
def _(grad, input):
    return grad * digamma(input)


def digamma_array(xp: Any, input: Any) -> Any:
    wide = xp.asarray(input).astype(xp.float64)
    negative = wide < 0
    x, passed = shifted(xp, xp.where(negative, 1 - wide, wide), 10, lambda value: 1 / value)
    square = 1 / (x * x)
    series = tuple(reversed([b / (2 * k) for k, b in enumerate(BERNOULLI, 1)]))
    result = xp.log(x) - 0.5 / x - square * polynomial(square, series) - passed
    part = wide - xp.rint(wide)
    result = xp.where(negative, result - math.pi / xp.tan(math.pi * part), result)
    result = xp.where(negative & (part == 0), xp.nan, result)
    result = xp.where(wide == 0, xp.copysign(xp.inf, -wide), result)
    return xp.where(xp.isposinf(wide), wide, result).astype(input.dtype)


@pointwise("digamma", "digamma_", result="float", accepts=REAL)
def digamma(xp, input):
    """The derivative of `lgamma`: nan at the negative integers, infinite at 0."""
    return digamma_array(xp, input)


@digamma.gradient("input")
def _(grad, input):
    return grad * polygamma(1, input)


def hurwitz_zeta(xp: Any, s: int, q: Any) -> Any:
    """The sum of ``(q + k) ** -s`` over all k from 0 on, for q > 0 (Euler and Maclaurin's formula)."""
    x, head = shifted(xp, q, 12, lambda value: value ** (-float(s)))
    total = head + x ** (1.0 - s) / (s - 1) + 0.5 * x ** (-float(s))
    rising, factorial = float(s), 2.0
    for k, bernoulli in enumerate(BERNOULLI, 1):
        total = total + bernoulli * rising / factorial * x ** (1.0 - s - 2 * k)
        rising *= (s + 2 * k - 1) * (s + 2 * k)
        factorial *= (2 * k + 1) * (2 * k + 2)
    return total


@op(name="polygamma", result="float", half="float32", accepts=REAL, tensors="input")
def polygamma_op(input, n):
    """The n-th derivative of `digamma`."""
    return polygamma_op.op(input, n)


@polygamma_op.kernel
def _(xp, input, n):
    if n == 0:
        return digamma_array(xp, input)
    wide = xp.asarray(input).astype(xp.float64)
    sign = (-1.0) ** (n + 1) * math.factorial(n)
    ordinary = xp.where((wide > 0) & xp.isfinite(wide), wide, 1.0)
    value = sign * hurwitz_zeta(xp, n + 1, ordinary)
    if xp.any(wide < 0):
        value = xp.where(wide < 0, reflected_polygamma(xp, n, wide, sign), value)
    pole = (wide <= 0) & (wide == xp.floor(wide))
    value = xp.where(pole, math.copysign(math.inf, sign), value)
    value = xp.where(xp.isposinf(wide), 0.0, value)
    return xp.where(xp.isnan(wide), wide, value).astype(input.dtype)


def reflected_polygamma(xp: Any, n: int, x: Any, sign: float) -> Any:
    """By recurrence from the first positive number that lies whole steps above x."""
    steps = xp.where(x < 0, xp.ceil(-x), 0.0)
    value = hurwitz_zeta(xp, n + 1, xp.where(x + steps > 0, x + steps, 1.0))
    for k in range(int(min(steps.max(initial=0), 10_000))):
        value = value + xp.where(k < steps, (x + k) ** (-float(n + 1)), 0.0)
    return sign * value


@polygamma_op.gradient("input")
def _(grad, input, n):
    return grad * polygamma_op.op(input, n + 1)


@composite(out=True)
def polygamma(n, input):
    """The n-th derivative of `digamma`.

    Parameters
    ----------
    n : int
        0 or above.
    input : Tensor
    """
    if n < 0:
        raise RuntimeError(f"polygamma: polygamma(n, x) does not support negative n, got n={n}")
    return polygamma_op.op(input, int(n))


@composite("polygamma", "polygamma_")
def _polygamma_method(self, n):
    return polygamma(n, self)


@composite("mvlgamma", "mvlgamma_", out=True)
def mvlgamma(input, p):
    """The logarithm of the multivariate gamma function of dimension ``p``.

    Raises
    ------
    RuntimeError
        If p is below 1, or an element is not above ``(p - 1) / 2``.
    """
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got p={p}")
    if not input.kind.is_differentiable:
        input = input.to(lgamma(input.new_empty(0)).dtype)
    steps = input.new_tensor([-0.5 * k for k in range(p)])
    return lgamma(input.unsqueeze(-1) + steps).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)
