"""Distributions sampled by rejection, many candidates for each element at once, so that nothing waits for the outcome.

Each function takes uniforms from (0, 1) of shape (4 * rounds, elements) and the elements' parameters, all in float64.
So many rounds are drawn that once in 10**10 elements none of the candidates is taken; such an element gets the mode.

References
----------
W. Hormann, "The transformed rejection method for generating Poisson random variables" (PTRS), Insurance: Mathematics
and Economics 12 (1993); "The generation of binomial random variates" (BTRS), J. Stat. Comput. Simul. 46 (1993).
G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
"""

from __future__ import annotations

import math
from typing import Any, Final

POISSON_ROUNDS: Final = 12
GAMMA_ROUNDS: Final = 10
BINOMIAL_ROUNDS: Final = 16
SMALLEST: Final = 2.0**-33  # of the uniforms


def first_taken(xp: Any, taken: Any, candidates: Any, otherwise: Any) -> Any:
    """Of candidates along the first axis the first that is taken; if none is, which is once in 10**10, another."""
    chosen = xp.take_along_axis(candidates, xp.argmax(taken, axis=0)[None], axis=0)[0]
    return xp.where(taken.any(axis=0), chosen, otherwise)


def log_factorial(xp: Any, k: Any) -> Any:
    """The logarithms of the factorials of whole numbers from 0 on, by Stirling's series at k + 8."""
    x = k + 8.0
    below = x - 1.0
    for step in range(2, 8):
        below *= x - float(step)
    square = 1.0 / (x * x)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x
    return (x - 0.5) * xp.log(x) - x + 0.5 * math.log(2 * math.pi) + series - xp.log(below)


def poisson_samples(xp: Any, uniforms: Any, rates: Any) -> Any:
    """Counts by multiplying uniforms (Knuth TAOCP 3.4.1) or, for rates from 10, by Hormann's PTRS (1993)."""
    products = xp.cumsum(xp.log(uniforms), axis=0)
    few = (products > -rates).sum(axis=0).astype(xp.float64)
    rate = xp.maximum(rates, 10.0)
    u, v = uniforms[0::2] - 0.5, uniforms[1::2]
    b = 0.931 + 2.53 * xp.sqrt(rate)
    a = -0.059 + 0.02483 * b
    us = xp.maximum(0.5 - xp.absolute(u), SMALLEST)
    count = xp.floor((2 * a / us + b) * u + rate + 0.43)
    squeezed = xp.logical_and(us >= 0.07, v <= 0.9277 - 3.6224 / (b - 2))
    possible = xp.logical_and(count >= 0, xp.logical_or(us >= 0.013, v <= us))
    height = xp.log(v) + xp.log(1.1239 + 1.1328 / (b - 3.4)) - xp.log(a / (us * us) + b)
    bound = count * xp.log(rate) - rate - log_factorial(xp, xp.maximum(count, 0.0))
    taken = xp.logical_or(squeezed, xp.logical_and(possible, height <= bound))
    return xp.where(rates < 10, few, first_taken(xp, taken, count, xp.floor(rate)))


def gamma_samples(xp: Any, uniforms: Any, shapes: Any) -> Any:
    """Samples by Marsaglia and Tsang's method (2000); shapes below 1 by way of shape + 1."""
    boost, radius, angle, u = uniforms[0], uniforms[1::4], uniforms[2::4], uniforms[3::4]
    small = shapes < 1
    d = xp.where(small, shapes + 1.0, shapes) - (1 / 3)
    x = xp.sqrt(-2.0 * xp.log(radius)) * xp.sin(angle * (2 * math.pi))
    v = 1.0 + x / xp.sqrt(9.0 * d)
    positive = v > 0
    v = xp.where(positive, v * v * v, 1.0)
    taken = xp.logical_and(positive, xp.log(u) < 0.5 * x * x + d * (1.0 - v + xp.log(v)))
    result = d * first_taken(xp, taken, v, 1.0)
    return xp.where(small, result * xp.exp(xp.log(boost) / xp.where(shapes > 0, shapes, 1.0)), result)


def binomial_samples(xp: Any, uniforms: Any, counts: Any, p: Any) -> Any:
    """Counts by waiting times or, where counts * p is at least 10, by Hormann's BTRS (1993)."""
    often = p > 0.5
    q = xp.where(often, 1.0 - p, p)
    usual = xp.logical_and(q > 0, counts > 0)
    q = xp.where(usual, q, 0.25)
    waiting = xp.cumsum(xp.ceil(xp.log(uniforms) / xp.log1p(-q)), axis=0)
    few = (waiting <= counts).sum(axis=0).astype(xp.float64)
    many = counts * q >= 10
    found = xp.where(many, by_btrs(xp, uniforms, xp.where(many, counts, 40.0), xp.where(many, q, 0.25)), few)
    found = xp.where(usual, found, 0.0)
    found = xp.where(often, xp.maximum(counts, 0.0) - found, found)
    return xp.where(xp.logical_or(xp.isnan(counts), xp.isnan(p)), xp.nan, found)


def by_btrs(xp: Any, uniforms: Any, counts: Any, p: Any) -> Any:
    """Counts of a mean of at least 10 and p up to 1/2; the names are those of Hormann's paper."""
    u, v = uniforms[0::2] - 0.5, uniforms[1::2]
    spread = xp.sqrt(counts * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    mode = xp.floor((counts + 1.0) * p)
    us = xp.maximum(0.5 - xp.absolute(u), SMALLEST)
    k = xp.floor((2 * a / us + b) * u + counts * p + 0.5)
    possible = xp.logical_and(k >= 0, k <= counts)
    squeezed = xp.logical_and(us >= 0.07, v <= 0.92 - 4.2 / b)
    height = xp.log(v * (2.83 + 5.1 / b) * spread / (a / (us * us) + b))
    inside = xp.clip(k, 0.0, counts)
    bound = log_factorial(xp, mode) + log_factorial(xp, counts - mode)
    bound = bound - log_factorial(xp, inside) - log_factorial(xp, counts - inside)
    bound = bound + (inside - mode) * xp.log(p / (1.0 - p))
    taken = xp.logical_and(possible, xp.logical_or(squeezed, height <= bound))
    return first_taken(xp, taken, k, mode)
