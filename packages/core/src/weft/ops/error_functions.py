"""The error functions and the normal distribution's, on an array library that has none of them."""

from __future__ import annotations

import math
from typing import Any

from weft._dtypes.dtypes import float64
from weft.ops._declare import pointwise
from weft.ops._expressions import log, log1p, where
from weft.ops._numerics import REAL, doubly, in_blocks, is_numpy, pieces, polynomial

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
    x = xp.minimum(x, 30.0)  # erfc(27) is 0, and a square must not overflow
    return exp_minus_square(xp, x) * erfcx_positive(xp, x)


def erfcx_positive(xp: Any, x: Any) -> Any:
    """``exp(x * x) * erfc(x)`` for x above 0.46875."""

    def near(value: Any) -> Any:
        return polynomial(value, ERFC_ABOVE) / polynomial(value, ERFC_BELOW)

    def far(value: Any) -> Any:
        inverse = 1 / (value * value)
        rest = inverse * polynomial(inverse, TAIL_ABOVE) / polynomial(inverse, TAIL_BELOW)
        return (1 / math.sqrt(math.pi) - rest) / value

    return pieces(xp, x, (x <= 4, near), (x > 4, far))


def exp_minus_square(xp: Any, x: Any) -> Any:
    """``exp(-x * x)``, from a square that is exact and a rest: else the rounding of the square would be magnified."""
    head = xp.trunc(x * 16) / 16
    return xp.exp(-head * head) * xp.exp(-(x - head) * (x + head))


def erfc_array(xp: Any, x: Any) -> Any:
    """``1 - erf(x)`` of an array of float64."""
    size = xp.absolute(x)

    def outer(value: Any) -> Any:
        tail = erfc_positive(xp, xp.absolute(value))
        return xp.where(value < 0, 2 - tail, tail)

    return pieces(xp, x, (size <= 0.46875, lambda value: 1 - erf_inner(value)), (size > 0.46875, outer))


def erfcx_array(xp: Any, x: Any) -> Any:
    """``exp(x * x) * erfc(x)`` of an array of float64."""

    def inner(value: Any) -> Any:
        return xp.exp(value * value) * (1 - erf_inner(value))

    def negative(value: Any) -> Any:
        value = xp.minimum(-value, 30.0)  # infinite from -27 on
        return 2 / exp_minus_square(xp, value) - erfcx_positive(xp, value)

    return pieces(
        xp,
        x,
        (xp.absolute(x) <= 0.46875, inner),
        (x > 0.46875, lambda value: erfcx_positive(xp, value)),
        (x < -0.46875, negative),
    )


def normal_quantile(xp: Any, q: Any, tail: Any) -> Any:
    """The point below which the standard normal distribution has the probability ``0.5 + q``.

    Parameters
    ----------
    q : array of float64, between -0.5 and 0.5
    tail : function
        The probability ``0.5 - abs(q)`` of the smaller side: of the elements at an index.
    """

    def centre(value: Any) -> Any:
        r = 0.180625 - value * value
        return value * polynomial(r, CENTRE_ABOVE) / polynomial(r, CENTRE_BELOW)

    def outer(value: Any, small: Any) -> Any:
        r = xp.sqrt(-xp.log(small))
        near, far = r - 1.6, r - 5
        size = xp.where(
            r <= 5,
            polynomial(near, NEAR_ABOVE) / polynomial(near, NEAR_BELOW),
            polynomial(far, FAR_ABOVE) / polynomial(far, FAR_BELOW),
        )
        return xp.copysign(xp.where(xp.isinf(r), xp.inf, size), value)

    size = xp.absolute(q)
    outside = (size > 0.425) & (size <= 0.5)
    if not is_numpy(xp):
        return xp.where(outside, outer(q, tail(...)), xp.where(size <= 0.425, centre(q), xp.nan))
    result = pieces(xp, q, (size <= 0.425, centre))
    if xp.any(outside):
        result[outside] = outer(q[outside], tail(outside))
    return result


def normal_quantile_nodes(graph: Any, q: Any, small: Any) -> Any:
    """`normal_quantile` in an ONNX graph, of values in float64; ``small`` is the probability of the smaller side."""

    def horner(value: Any, factors: tuple[float, ...]) -> Any:
        total = graph.full_like(value, factors[0])
        for factor in factors[1:]:
            total = graph.Add(graph.Mul(total, value), factor)
        return total

    def quotient(value: Any, above: tuple[float, ...], below: tuple[float, ...]) -> Any:
        return graph.Div(horner(value, above), horner(value, below))

    centre = graph.Mul(q, quotient(graph.Sub(0.180625, graph.Mul(q, q)), CENTRE_ABOVE, CENTRE_BELOW))
    r = graph.Sqrt(graph.Neg(graph.Log(small)))
    near = quotient(graph.Sub(r, 1.6), NEAR_ABOVE, NEAR_BELOW)
    size = graph.where(graph.LessOrEqual(r, 5.0), near, quotient(graph.Sub(r, 5.0), FAR_ABOVE, FAR_BELOW))
    size = graph.where(graph.IsInf(r), graph.constant(math.inf, r), size)
    outer = graph.Mul(size, graph.Sign(q))
    return graph.where(graph.LessOrEqual(graph.Abs(q), 0.425), centre, outer)


@pointwise("erf", "erf_", result="float", dtypes=REAL, onnx="Erf")
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


@pointwise("erfc", "erfc_", result="float", dtypes=REAL)
def erfc(xp, input):
    """``1 - erf(x)``, without loss of precision for large x."""
    return doubly(xp, erfc_array, input)


@erfc.gradient("input")
def _(grad, input):
    return grad * (-input * input).exp() * (-2 / math.sqrt(math.pi))


@erfc.onnx
def _(graph, input):
    return graph.Sub(1.0, graph.Erf(graph.floating(input)))


@pointwise(name="erfcx", result="float", dtypes=REAL)
def erfcx(xp, input):
    """``exp(x * x) * erfc(x)`` of each element x: `erfc` without its decay.

    Examples
    --------
    >>> weft.special.erfcx(weft.tensor([0.0, 100.0]))
    tensor([1.0000, 0.0056])
    """
    return doubly(xp, erfcx_array, input)


@erfcx.gradient("input")
def _(grad, input, output):
    return grad * (2 * input * output - 2 / math.sqrt(math.pi))


@pointwise("erfinv", "erfinv_", result="float", dtypes=REAL)
def erfinv(xp, input):
    """The number whose `erf` is the element; infinite at -1 and 1, nan outside."""
    return doubly(xp, erfinv_array, input)


@erfinv.onnx
def _(graph, input):
    input = graph.floating(input)
    half = graph.Mul(graph.cast(input, float64), 0.5)
    found = normal_quantile_nodes(graph, half, graph.Sub(0.5, graph.Abs(half)))
    return graph.cast(graph.Mul(found, math.sqrt(0.5)), input.dtype)


def erfinv_array(xp: Any, x: Any) -> Any:
    half = xp.atleast_1d(x) / 2
    quantile = normal_quantile(xp, half, lambda mask: 0.5 - xp.absolute(half[mask]))
    return (quantile / math.sqrt(2)).reshape(x.shape)


@erfinv.gradient("input")
def _(grad, input):
    return grad * erfinv(input).square().exp() * (math.sqrt(math.pi) / 2)


# The standard normal distribution


@pointwise(name="ndtr", result="float", dtypes=REAL)
def ndtr(xp, input):
    """The probability that a standard normal number is below each element.

    Examples
    --------
    >>> weft.special.ndtr(weft.tensor([0.0, 1.96]))
    tensor([0.5000, 0.9750])
    """
    return doubly(xp, lambda xp, x: erfc_array(xp, x * -math.sqrt(0.5)) / 2, input)


@ndtr.gradient("input")
def _(grad, input):
    return grad * (input * input * -0.5).exp() / math.sqrt(2 * math.pi)


@ndtr.onnx
def _(graph, input):
    return graph.Mul(graph.Add(graph.Erf(graph.Mul(graph.floating(input), math.sqrt(0.5))), 1.0), 0.5)


@pointwise(name="log_ndtr", result="float", dtypes=REAL)
def log_ndtr(xp, input):
    """The logarithm of `ndtr`, exact where that is too small to be represented."""
    return doubly(xp, log_ndtr_array, input)


def log_ndtr_array(xp: Any, x: Any) -> Any:
    x = x * math.sqrt(0.5)

    def tail(value: Any) -> Any:
        return xp.log(erfcx_array(xp, -value) / 2) - value * value

    def body(value: Any) -> Any:
        return xp.log1p(-erfc_array(xp, value) / 2)

    return pieces(xp, x, (x < -1, tail), (x >= -1, body))


@log_ndtr.gradient("input")
def _(grad, input):
    return grad / erfcx(input * -math.sqrt(0.5)) * math.sqrt(2 / math.pi)


@pointwise(name="ndtri", result="float", dtypes=REAL)
def ndtri(xp, input):
    """The inverse of `ndtr`: the point below which a standard normal number is with this probability.

    Infinite at 0 and 1, nan outside.
    """
    return doubly(xp, ndtri_array, input)


@ndtri.onnx
def _(graph, input):
    input = graph.floating(input)
    share = graph.cast(input, float64)
    found = normal_quantile_nodes(graph, graph.Sub(share, 0.5), graph.Min(share, graph.Sub(1.0, share)))
    return graph.cast(found, input.dtype)


def ndtri_array(xp: Any, probability: Any) -> Any:
    p = xp.atleast_1d(probability)

    def smaller(mask: Any) -> Any:
        return xp.minimum(p[mask], 1 - p[mask])

    return normal_quantile(xp, p - 0.5, smaller).reshape(probability.shape)


@ndtri.gradient("input")
def _(grad, output):
    return grad * (output * output / 2).exp() * math.sqrt(2 * math.pi)


# Entropy


@pointwise(name="entr", formula=True, result="float", dtypes=REAL)
def entr(input):
    """``-x * log(x)`` of each element x; 0 at 0, minus infinity below."""
    return where(input == 0, 0, where(input < 0, -math.inf, -input * log(input)))


@entr.gradient("input")
def _(grad, input):
    return grad * (-input.log() - 1)


@pointwise(name="xlog1py", formula=True, result="float", dtypes=REAL)
def xlog1py(input, other):
    """``input * log1p(other)``, 0 where input is 0 (and other is no nan).

    Parameters
    ----------
    input, other : Tensor or number (not both numbers) of real dtype, broadcastable to each other

    Examples
    --------
    >>> weft.special.xlog1py(weft.tensor([0.0, 2.0]), weft.tensor([-1.0, 1e-8]))
    tensor([0.0000e+00, 2.0000e-08])
    """
    return where((input == 0) & (other == other), 0, input * log1p(other))


@xlog1py.gradient("input")
def _(grad, input, other):
    return xlog1py(grad, other).masked_fill((input == 0) & (other <= -1), 0)


@xlog1py.gradient("other")
def _(grad, input, other):
    return grad * input / (other + 1)
