"""Orthogonal polynomials, each element of its own degree: by recurrence, or in closed form where there is one.

Degrees are rounded towards 0 to integers; a polynomial of negative degree is 0. There are no gradients, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from weft._tensor.base import Tensor
from weft.ops._declare import op
from weft.ops._numerics import REAL, array_of, in_blocks, is_numpy, wide
from weft.types import Number

LOW = 1000  # one degree for all up to here is low: see `is_low`
STEPS = 100_000  # a recurrence that would take more is refused: it would seem to hang

polynomial = partial(
    op,
    tensors="input n",
    promotes=True,
    result="float",
    compute_dtype="float32",
    dtypes=REAL,
    gradient=None,
    out=True,
    vmap="elementwise",
)


def evaluated(xp: Any, function: Any, name: str, input: Any, n: Any) -> Any:
    """A function of the array namespace, the op's name, points and integer degrees: broadcast, or one for all.

    For a device's points a degree that is a number stays one.
    """
    dtype = getattr(input, "dtype", None) or n.dtype
    x = array_of(xp, input, dtype)
    if not hasattr(n, "dtype") and not is_numpy(xp):
        return function(xp, name, x, int(n)).astype(dtype)
    degree = xp.asarray(n).astype(xp.int64)
    if degree.ndim:
        return function(xp, name, *xp.broadcast_arrays(x, degree)).astype(dtype)
    return in_blocks(xp, lambda block: function(xp, name, block, degree).astype(dtype), x)


def recurrence(xp: Any, name: str, degree: Any, first: Any, step: Callable[[int, Any, Any], Any]) -> Any:
    """The polynomial of each element's degree.

    Parameters
    ----------
    degree : array of int64, or int
    first : array
        The polynomials of degree 1; that of degree 0 is 1.
    step : function
        The polynomials of degree k + 1, given k and those of degree k and k - 1.
    """
    if isinstance(degree, int):
        return of_one_degree(xp, name, degree, first, step)
    top = int(xp.max(degree)) if degree.size else 0
    previous, current = xp.ones_like(first), first
    result = xp.where(degree < 0, 0, xp.where(degree == 0, previous, first))
    for k in range(1, top):
        previous, current = current, step(k, current, previous)
        result = xp.where(degree > k, current, result) if degree.ndim else current
        if k % 64 == 0 and not xp.any((degree > k) & (current == current)):
            break  # nan stays nan
        refuse_long(name, k, top)
    return result


def of_one_degree(xp: Any, name: str, degree: int, first: Any, step: Callable[[int, Any, Any], Any]) -> Any:
    """`recurrence` to a degree that is the same for all elements."""
    if degree < 1:
        return xp.full_like(first, float(degree == 0))
    previous, current = xp.ones_like(first), first
    for k in range(1, degree):
        previous, current = current, step(k, current, previous)
        refuse_long(name, k, degree)
    return current


def refuse_long(name: str, k: int, top: int) -> None:
    """Raise after too many steps."""
    if k == STEPS:
        raise RuntimeError(f"{name}: degree {top} takes as many steps; at most {STEPS} are made. Lower n")


def fused(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b - c``, in single precision rounded once: recurrences lose digits, and PyTorch's lose just these."""
    if a.dtype.itemsize == 8:
        return a * b - c
    return (a.astype(xp.float64) * b - c).astype(a.dtype)


def chebyshev(
    xp: Any, name: str, x: Any, degree: Any, first: Any, ends: Any, inside: Any, outside: Any, high: int = 8
) -> Any:
    """A Chebyshev polynomial.

    Parameters
    ----------
    ends : pair of arrays
        The values at 1 and at -1.
    inside : function
        The values between, from the degree and the angle ``acos(x)``: for degrees above ``high``.
    outside : function
        The values beyond, but for their sign, from the degree, ``acosh(abs(x))`` and whether x is negative.
    """

    def step(k: int, current: Any, previous: Any) -> Any:
        return fused(xp, 2 * x, current, previous)

    if not is_numpy(xp):
        return closed_form(xp, name, x, degree, first, step, ends, inside, outside, high)
    if not degree.ndim and degree <= high:
        return recurrence(xp, name, degree, first, step)
    size = xp.absolute(x)
    closed = (degree > high) & (size < 1)
    angle = xp.arccos(xp.where(closed, x, 0))
    steps = xp.where(closed | (size == 1), 0, degree)
    result = recurrence(xp, name, steps, first, step)
    result = xp.where(closed, inside(degree.astype(x.dtype), angle), result)
    at_end = xp.where(x > 0, *ends)
    return xp.where((size == 1) & (degree >= 0), at_end, xp.where(degree < 0, 0, result))


def closed_form(
    xp: Any,
    name: str,
    x: Any,
    degree: Any,
    first: Any,
    step: Any,
    ends: Any,
    inside: Any,
    outside: Any,
    high: int,
) -> Any:
    """`chebyshev` on a device: no recurrence that would have to be told the largest degree, which would be to wait."""
    if isinstance(degree, int) and degree <= high:
        return recurrence(xp, name, degree, first, step)
    point = wide(xp, x)
    size, negative = xp.absolute(point), point < 0
    angle, distance = xp.arccos(xp.clip(point, -1, 1)), xp.arccosh(xp.maximum(size, 1))
    sign = xp.where(negative, alternating(xp, degree), 1)
    result = xp.where(size < 1, inside(degree, angle), outside(degree, distance, negative) * sign)
    result = xp.where(size == 1, xp.where(negative, ends[1], ends[0]), result)
    if isinstance(degree, int):
        return result
    previous, current = xp.ones_like(first), first
    few = xp.where(degree == 0, previous, first)
    for k in range(1, high):
        previous, current = current, step(k, current, previous)
        few = xp.where(degree > k, current, few)
    return xp.where(degree > high, result, xp.where(degree < 0, 0, few))


def alternating(xp: Any, degree: Any) -> Any:
    """``(-1) ** degree``."""
    return 1 - 2 * (degree % 2)


def chebyshev_t(xp: Any, name: str, x: Any, n: Any) -> Any:
    ends = (1, alternating(xp, n))

    def inside(n: Any, angle: Any) -> Any:
        return xp.cos(n * angle)

    def outside(n: Any, t: Any, negative: Any) -> Any:
        return xp.cosh(n * t)

    return chebyshev(xp, name, x, n, x, ends, inside, outside, high=6)


def chebyshev_u(xp: Any, name: str, x: Any, n: Any) -> Any:
    ends = (n + 1, alternating(xp, n) * (n + 1))

    def inside(n: Any, angle: Any) -> Any:
        return xp.sin((n + 1) * angle) / xp.sin(angle)

    def outside(n: Any, t: Any, negative: Any) -> Any:
        return xp.sinh((n + 1) * t) / xp.sinh(t)

    return chebyshev(xp, name, x, n, 2 * x, ends, inside, outside)


def ratio(xp: Any, function: str, n: Any, angle: Any) -> Any:
    """The function of ``(n + 1 / 2) * angle``, divided by that of half the angle."""
    return getattr(xp, function)((n + 0.5) * angle) / getattr(xp, function)(angle / 2)


def chebyshev_v(xp: Any, name: str, x: Any, n: Any) -> Any:
    ends = (1, alternating(xp, n) * (2 * n + 1))

    def outside(n: Any, t: Any, negative: Any) -> Any:
        return xp.where(negative, ratio(xp, "sinh", n, t), ratio(xp, "cosh", n, t))

    return chebyshev(xp, name, x, n, 2 * x - 1, ends, partial(ratio, xp, "cos"), outside)


def chebyshev_w(xp: Any, name: str, x: Any, n: Any) -> Any:
    ends = (2 * n + 1, alternating(xp, n))

    def outside(n: Any, t: Any, negative: Any) -> Any:
        return xp.where(negative, ratio(xp, "cosh", n, t), ratio(xp, "sinh", n, t))

    return chebyshev(xp, name, x, n, 2 * x + 1, ends, partial(ratio, xp, "sin"), outside)


@polynomial(name="chebyshev_polynomial_t")
def chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Chebyshev polynomials of the first kind: ``cos(n * acos(x))``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.chebyshev_polynomial_t(weft.tensor([0.5, 2.0]), 3)
    tensor([-1., 26.])
    """
    return chebyshev_polynomial_t.op(input, n)


@chebyshev_polynomial_t.kernel
def _(xp, input, n):
    return evaluated(xp, chebyshev_t, "chebyshev_polynomial_t", input, n)


@polynomial(name="chebyshev_polynomial_u")
def chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Chebyshev polynomials of the second kind: ``sin((n + 1) * acos(x)) / sin(acos(x))``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.chebyshev_polynomial_u(weft.tensor([0.5, 2.0]), 2)
    tensor([ 0., 15.])
    """
    return chebyshev_polynomial_u.op(input, n)


@chebyshev_polynomial_u.kernel
def _(xp, input, n):
    return evaluated(xp, chebyshev_u, "chebyshev_polynomial_u", input, n)


@polynomial(name="chebyshev_polynomial_v")
def chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Chebyshev polynomials of the third kind: ``cos((n + 1 / 2) * acos(x)) / cos(acos(x) / 2)``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.chebyshev_polynomial_v(weft.tensor([0.5, 2.0]), 2)
    tensor([-1., 11.])
    """
    return chebyshev_polynomial_v.op(input, n)


@chebyshev_polynomial_v.kernel
def _(xp, input, n):
    return evaluated(xp, chebyshev_v, "chebyshev_polynomial_v", input, n)


@polynomial(name="chebyshev_polynomial_w")
def chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Chebyshev polynomials of the fourth kind: ``sin((n + 1 / 2) * acos(x)) / sin(acos(x) / 2)``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.chebyshev_polynomial_w(weft.tensor([0.5, 2.0]), 2)
    tensor([ 1., 19.])
    """
    return chebyshev_polynomial_w.op(input, n)


@chebyshev_polynomial_w.kernel
def _(xp, input, n):
    return evaluated(xp, chebyshev_w, "chebyshev_polynomial_w", input, n)


# Shifted to the interval from 0 to 1


def shifted(polynomial: Any) -> Any:
    return lambda xp, name, x, n: polynomial(xp, name, 2 * x - 1, n)


@polynomial(name="shifted_chebyshev_polynomial_t")
def shifted_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Chebyshev polynomials of the first kind at ``2 * x - 1``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.shifted_chebyshev_polynomial_t(weft.tensor([0.5, 1.0]), 2)
    tensor([-1.,  1.])
    """
    return shifted_chebyshev_polynomial_t.op(input, n)


@shifted_chebyshev_polynomial_t.kernel
def _(xp, input, n):
    return evaluated(xp, shifted(chebyshev_t), "shifted_chebyshev_polynomial_t", input, n)


@polynomial(name="shifted_chebyshev_polynomial_u")
def shifted_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Chebyshev polynomials of the second kind at ``2 * x - 1``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.shifted_chebyshev_polynomial_u(weft.tensor([0.5, 1.0]), 2)
    tensor([-1.,  3.])
    """
    return shifted_chebyshev_polynomial_u.op(input, n)


@shifted_chebyshev_polynomial_u.kernel
def _(xp, input, n):
    return evaluated(xp, shifted(chebyshev_u), "shifted_chebyshev_polynomial_u", input, n)


@polynomial(name="shifted_chebyshev_polynomial_v")
def shifted_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Chebyshev polynomials of the third kind at ``2 * x - 1``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.shifted_chebyshev_polynomial_v(weft.tensor([0.5, 1.0]), 2)
    tensor([-1.,  1.])
    """
    return shifted_chebyshev_polynomial_v.op(input, n)


@shifted_chebyshev_polynomial_v.kernel
def _(xp, input, n):
    return evaluated(xp, shifted(chebyshev_v), "shifted_chebyshev_polynomial_v", input, n)


@polynomial(name="shifted_chebyshev_polynomial_w")
def shifted_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Chebyshev polynomials of the fourth kind at ``2 * x - 1``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.shifted_chebyshev_polynomial_w(weft.tensor([0.5, 1.0]), 2)
    tensor([-1.,  5.])
    """
    return shifted_chebyshev_polynomial_w.op(input, n)


@shifted_chebyshev_polynomial_w.kernel
def _(xp, input, n):
    return evaluated(xp, shifted(chebyshev_w), "shifted_chebyshev_polynomial_w", input, n)


# Others


@polynomial(name="hermite_polynomial_h")
def hermite_polynomial_h(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Hermite polynomials of physicists: ``H(n + 1) = 2 * x * H(n) - 2 * n * H(n - 1)``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.hermite_polynomial_h(weft.tensor([0.5, 2.0]), 2)
    tensor([-1., 14.])
    """
    return hermite_polynomial_h.op(input, n)


@hermite_polynomial_h.kernel
def _(xp, input, n):
    return evaluated(xp, partial(hermite, factor=2), "hermite_polynomial_h", input, n)


@polynomial(name="hermite_polynomial_he")
def hermite_polynomial_he(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Hermite polynomials of probabilists: ``He(n + 1) = x * He(n) - n * He(n - 1)``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.hermite_polynomial_he(weft.tensor([0.5, 2.0]), 2)
    tensor([-0.7500,  3.0000])
    """
    return hermite_polynomial_he.op(input, n)


@hermite_polynomial_he.kernel
def _(xp, input, n):
    return evaluated(xp, partial(hermite, factor=1), "hermite_polynomial_he", input, n)


def hermite(xp: Any, name: str, x: Any, degree: Any, *, factor: int) -> Any:
    """Hermite polynomials; nan from the degree on for which PyTorch has nan, since they overflow soon."""
    beyond = degree > (128 if x.dtype.itemsize == 4 else 512)
    if beyond is True:
        return xp.full_like(x, xp.nan)

    def step(k: int, current: Any, previous: Any) -> Any:
        return fused(xp, factor * x, current, factor * k * previous)

    if isinstance(degree, int):
        return recurrence(xp, name, degree, factor * x, step)
    steps = xp.where(beyond, 0, degree)
    return xp.where(beyond, xp.nan, recurrence(xp, name, steps, factor * x, step))


def is_low(xp: Any, degree: Any) -> bool:
    """Whether it is one degree for all that needs no look at the points which take no steps."""
    return isinstance(degree, int) or bool(is_numpy(xp) and not degree.ndim and degree <= LOW)


@polynomial(name="laguerre_polynomial_l")
def laguerre_polynomial_l(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Laguerre polynomials: ``(n + 1) * L(n + 1) = (2 * n + 1 - x) * L(n) - n * L(n - 1)``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.laguerre_polynomial_l(weft.tensor([1.0, 2.0]), 2)
    tensor([-0.5000, -1.0000])
    """
    return laguerre_polynomial_l.op(input, n)


@laguerre_polynomial_l.kernel
def _(xp, input, n):
    return evaluated(xp, laguerre, "laguerre_polynomial_l", input, n)


def laguerre(xp: Any, name: str, x: Any, degree: Any) -> Any:
    def step(k: int, current: Any, previous: Any) -> Any:
        return fused(xp, 2 * k + (1 - x), current, k * previous) / (k + 1)

    if not is_low(xp, degree):
        degree = xp.where((x == 0) & (degree > 0), 0, degree)  # it is 1
    return recurrence(xp, name, degree, 1 - x, step)


@polynomial(name="legendre_polynomial_p")
def legendre_polynomial_p(input: Tensor | Number, n: Tensor | Number) -> Tensor:
    """Legendre polynomials: ``(n + 1) * P(n + 1) = (2 * n + 1) * x * P(n) - n * P(n - 1)``.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number
        The degrees.

    Examples
    --------
    >>> weft.special.legendre_polynomial_p(weft.tensor([0.5, 2.0]), 2)
    tensor([-0.1250,  5.5000])
    """
    return legendre_polynomial_p.op(input, n)


@legendre_polynomial_p.kernel
def _(xp, input, n):
    return evaluated(xp, legendre, "legendre_polynomial_p", input, n)


def legendre(xp: Any, name: str, x: Any, degree: Any) -> Any:
    def step(k: int, current: Any, previous: Any) -> Any:
        return fused(xp, (2 * k + 1) * x, current, k * previous) / (k + 1)

    if is_low(xp, degree):
        return recurrence(xp, name, degree, x, step)
    at_end = (xp.absolute(x) == 1) & (degree >= 0)
    result = recurrence(xp, name, xp.where(at_end, 0, degree), x, step)
    return xp.where(at_end, xp.where(x > 0, 1, alternating(xp, degree)), result)
