"""Bessel and Airy functions."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

from weft.ops._declare import pointwise
from weft.ops._numerics import REAL, doubly, is_numpy, pieces, polynomial, scipy_function

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
    if not is_numpy(xp):
        return doubly(xp, partial(scaled_second, "scaled_modified_bessel_k0", 0), input)
    return scipy_function(xp, "scaled_modified_bessel_k0", "k0e")(input)


@pointwise(name="scaled_modified_bessel_k1", result="float", dtypes=REAL, gradient=None)
def scaled_modified_bessel_k1(xp, input):
    """``exp(x) * modified_bessel_k1(x)`` of each element x. It needs SciPy."""
    if not is_numpy(xp):
        return doubly(xp, partial(scaled_second, "scaled_modified_bessel_k1", 1), input)
    return scipy_function(xp, "scaled_modified_bessel_k1", "k1e")(input)


def scaled_second(name: str, order: int, xp: Any, x: Any) -> Any:
    """``exp(x) * K(order, x)`` of an array of float64, where a library has but that product, of infinity and 0."""

    def far(value: Any) -> Any:
        inverse = 1 / value
        return polynomial(-inverse, hankel_series(order)) * xp.sqrt(inverse * (math.pi / 2))

    near = scipy_function(xp, name, f"k{order}")
    return pieces(xp, x, (x < FAR, lambda value: xp.exp(value) * near(value)), (x >= FAR, far))


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
    if not is_numpy(xp):
        return doubly(xp, airy_array, input)
    ordinary = xp.where((input > 200) & (input < xp.inf), 200, input).astype(input.dtype)  # from 104 on it is 0
    return scipy_function(xp, "airy_ai", "airy")(ordinary)[0]


# S. L. Moshier, Methods and Programs for Mathematical Functions, 1989 (Cephes, airy.c): highest power first.
AIRY_LIMIT = 2.09
DECAY_ABOVE = (
    3.46538101525629032477e-1,
    1.20075952739645805542e1,
    7.62796053615234516538e1,
    1.68089224934630576269e2,
    1.59756391350164413639e2,
    7.05360906840444183113e1,
    1.40264691163389668864e1,
    9.99999999999999995305e-1,
)
DECAY_BELOW = (
    5.67594532638770212846e-1,
    1.47562562584847203173e1,
    8.45138970141474626562e1,
    1.77318088145400459522e2,
    1.64234692871529701831e2,
    7.14778400825575695274e1,
    1.40959135607834029598e1,
    1.00000000000000000470e0,
)
SINE_ABOVE = (
    -1.31696323418331795333e-1,
    -6.26456544431912369773e-1,
    -6.93158036036933542233e-1,
    -2.79779981545119124951e-1,
    -4.91900132609500318020e-2,
    -4.06265923594885404393e-3,
    -1.59276496239262096340e-4,
    -2.77649108155232920844e-6,
    -1.67787698489114633780e-8,
)
SINE_BELOW = (
    1.0,
    1.33560420706553243746e1,
    3.26825032795224613948e1,
    2.67367040941499554804e1,
    9.18707402907259625840e0,
    1.47529146771666414581e0,
    1.15687173795188044134e-1,
    4.40291641615211203805e-3,
    7.54720348287414296618e-5,
    4.51850092970580378464e-7,
)
COSINE_ABOVE = (
    1.97339932091685679179e-2,
    3.91103029615688277255e-1,
    1.06579897599595591108e0,
    9.39169229816650230044e-1,
    3.51465656105547619242e-1,
    6.33888919628925490927e-2,
    5.85804113048388458567e-3,
    2.82851600836737019778e-4,
    6.98793669997260967291e-6,
    8.11789239554389293311e-8,
    3.41551784765923618484e-10,
)
COSINE_BELOW = (
    1.0,
    9.30892908077441974853e0,
    1.98352928718312140417e1,
    1.55646628932864612953e1,
    5.47686069422975497931e0,
    9.54293611618961883998e-1,
    8.64580826352392193095e-2,
    4.12656523824222607191e-3,
    1.01259085116509135510e-4,
    1.17166733214413521882e-6,
    4.91834570062930015649e-9,
)


@cache
def airy_series(start: int) -> tuple[float, ...]:
    """The coefficients of ``x ** (3 * k)`` in the solution of ``y'' = x * y`` that begins with 1 or x."""
    coefficients = [1.0]
    for k in range(1, 20):
        power = 3 * k + start
        coefficients.append(coefficients[-1] / (power * (power - 1)))
    return tuple(reversed(coefficients))


def airy_array(xp: Any, x: Any) -> Any:
    """Airy's function of an array of float64."""

    def near(value: Any) -> Any:
        cube = value * value * value
        first = polynomial(cube, airy_series(0)) * 0.355028053887817239  # Ai(0) and -Ai'(0)
        return first - polynomial(cube, airy_series(1)) * value * 0.258819403792806798

    def decaying(value: Any) -> Any:
        zeta = value * xp.sqrt(value) * (2 / 3)
        ratio = polynomial(1 / zeta, DECAY_ABOVE) / polynomial(1 / zeta, DECAY_BELOW)
        return ratio * xp.exp(-zeta) / (2 * math.sqrt(math.pi) * xp.sqrt(xp.sqrt(value)))

    def oscillating(value: Any) -> Any:
        root = xp.sqrt(-value)
        zeta = value * root * (-2 / 3)
        z = 1 / zeta
        square = z * z
        sine = 1 + square * polynomial(square, SINE_ABOVE) / polynomial(square, SINE_BELOW)
        cosine = z * polynomial(square, COSINE_ABOVE) / polynomial(square, COSINE_BELOW)
        angle = zeta + math.pi / 4
        return (xp.sin(angle) * sine - xp.cos(angle) * cosine) / (math.sqrt(math.pi) * xp.sqrt(root))

    far = xp.minimum(x, 200.0)  # from 104 on it is 0
    value = pieces(
        xp,
        far,
        (xp.absolute(x) < AIRY_LIMIT, near),
        (x >= AIRY_LIMIT, decaying),
        (x <= -AIRY_LIMIT, oscillating),
    )
    return xp.where(xp.isinf(x), xp.nan, value)
