"""Orthogonal polynomials of degrees in a device's memory: each thread goes as far as its own element's degree.

The recurrences of `weft.ops.orthogonal_polynomials` for all elements at once go to the largest degree, which the host
would have to wait for. One degree for all, a number, needs no kernel but these.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import cupy

from weft.library.checks import assert_none
from weft.library.numerics import array_of

STEPS = 100_000  # as on the CPU


class Recurrence(NamedTuple):
    """A family of polynomials, in CUDA C++: ``x`` is the point, and ``next`` the polynomial of degree k + 1.

    Parameters
    ----------
    first : str
        The polynomial of degree 1.
    next : str
        From ``k`` and the polynomials of degree k and k - 1, ``current`` and ``previous``.
    known : str
        Where the recurrence is not needed, and ``value`` of degrees from 1 on there.
    value : str
    """

    first: str
    next: str
    known: str
    value: str


def hermite(factor: int) -> Recurrence:
    """Hermite polynomials, which PyTorch computes up to a degree from which on they overflow."""
    step = f"rounded(T({factor}) * x, current, T({factor} * k) * previous)"
    return Recurrence(f"T({factor}) * x", step, "degree > (sizeof(T) == 4 ? 128 : 512)", 'T(nan(""))')


RECURRENCES = {
    "core::hermite_polynomial_h": hermite(2),
    "core::hermite_polynomial_he": hermite(1),
    "core::laguerre_polynomial_l": Recurrence(
        "T(1) - x", "rounded(T(2 * k) + (T(1) - x), current, T(k) * previous) / T(k + 1)", "x == T(0)", "T(1)"
    ),
    "core::legendre_polynomial_p": Recurrence(
        "x",
        "rounded(T(2 * k + 1) * x, current, T(k) * previous) / T(k + 1)",
        "x == T(1) || x == T(-1)",
        "x > T(0) || degree % 2 == 0 ? T(1) : T(-1)",
    ),
}
NAMES = frozenset(RECURRENCES)

PREAMBLE = """
template <typename T>
__device__ T rounded(T a, T b, T c) {  // a * b - c, in single precision rounded once
    return T(double(a) * double(b) - double(c));
}
"""
BODY = """
T previous = 1, current = {first};
long long k = 1;
if (degree < 1) {{
    current = T(degree == 0);
}} else if ({known}) {{
    current = {value};
}} else {{
    for (; k < degree && k < {steps} && current == current; ++k) {{  // nan stays nan
        T next = {next};
        previous = current;
        current = next;
    }}
}}
y = current;
unfinished = k == {steps} && k < degree;
"""


@cache
def compiled(name: str) -> Any:
    """The kernel of one family."""
    body = BODY.format(steps=STEPS, **RECURRENCES[name]._asdict())
    own = f"weft_{name.removeprefix('core::')}"
    return cupy.ElementwiseKernel("T x, int64 degree", "T y, bool unfinished", body, own, preamble=PREAMBLE)


def kernel(name: str, generic: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of a polynomial, from the declared one."""
    return partial(evaluate, name, generic)


def evaluate(name: str, generic: Callable[..., Any], input: Any, n: Any) -> Any:
    """The polynomials of degrees in an array; of a number the declared kernel's."""
    if not hasattr(n, "dtype"):
        return generic(input, n)
    x = array_of(cupy, input, getattr(input, "dtype", n.dtype))
    y, unfinished = compiled(name)(x, n.astype("int64", copy=False))
    words = f"a degree takes more than {STEPS} steps, as many as are made. Lower n"
    assert_none(cupy, name.removeprefix("core::"), unfinished, words)
    return y
