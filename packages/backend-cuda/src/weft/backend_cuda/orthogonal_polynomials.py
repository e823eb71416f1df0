"""Orthogonal polynomials of degrees in a device's memory: each thread goes as far as its own element's degree.

The recurrences of `weft.ops.orthogonal_polynomials` for all elements at once go to the largest degree, which the host
would have to wait for, and closed forms are finite where PyTorch's recurrence is nan, of infinities.
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
    """A family of polynomials, in CUDA C++: ``z`` is the point, and ``next`` the polynomial of degree k + 1.

    Parameters
    ----------
    first : str
        The polynomial of degree 1.
    next : str
        From ``k`` and the polynomials of degree k and k - 1, ``current`` and ``previous``.
    known : str
        Where the recurrence is not needed, and ``value`` of degrees from 1 on there.
    value : str
    point : str
        Where the polynomial is taken, of the input ``x``.
    """

    first: str
    next: str
    known: str
    value: str
    point: str = "x"


def hermite(factor: int) -> Recurrence:
    """Hermite polynomials, which PyTorch computes up to a degree from which on they overflow."""
    step = f"rounded(T({factor}) * z, current, T({factor} * k) * previous)"
    return Recurrence(f"T({factor}) * z", step, "degree > (sizeof(T) == 4 ? 128 : 512)", 'T(nan(""))')


def chebyshev_of(first: str, high: int, inside: str, at_one: str, at_minus_one: str) -> Recurrence:
    """Chebyshev polynomials: between -1 and 1 by angles, for degrees above ``high``; at -1 but for their sign."""
    ends = f"(z > T(0) ? {at_one} : (degree % 2 == 0 ? T(1) : T(-1)) * {at_minus_one})"
    known = f"z == T(1) || z == T(-1) || (degree > {high} && z > T(-1) && z < T(1))"
    return Recurrence(
        first, "rounded(T(2) * z, current, previous)", known, f"z == T(1) || z == T(-1) ? {ends} : {inside}"
    )


def half_angles(function: str) -> str:
    """A function of the degree and a half times the angle, by that of half the angle."""
    return f"{function}((T(degree) + T(0.5)) * acos(z)) / {function}(acos(z) / T(2))"


CHEBYSHEV = {
    "t": chebyshev_of("z", 6, "cos(T(degree) * acos(z))", "T(1)", "T(1)"),
    "u": chebyshev_of("T(2) * z", 8, "sin(T(degree + 1) * acos(z)) / sin(acos(z))", "T(degree + 1)", "T(degree + 1)"),
    "v": chebyshev_of("T(2) * z - T(1)", 8, half_angles("cos"), "T(1)", "T(2 * degree + 1)"),
    "w": chebyshev_of("T(2) * z + T(1)", 8, half_angles("sin"), "T(2 * degree + 1)", "T(1)"),
}
RECURRENCES = {
    "core::hermite_polynomial_h": hermite(2),
    "core::hermite_polynomial_he": hermite(1),
    "core::laguerre_polynomial_l": Recurrence(
        "T(1) - z", "rounded(T(2 * k) + (T(1) - z), current, T(k) * previous) / T(k + 1)", "z == T(0)", "T(1)"
    ),
    "core::legendre_polynomial_p": Recurrence(
        "z",
        "rounded(T(2 * k + 1) * z, current, T(k) * previous) / T(k + 1)",
        "z == T(1) || z == T(-1)",
        "z > T(0) || degree % 2 == 0 ? T(1) : T(-1)",
    ),
}
for kind, chebyshev in CHEBYSHEV.items():
    RECURRENCES[f"core::chebyshev_polynomial_{kind}"] = chebyshev
    RECURRENCES[f"core::shifted_chebyshev_polynomial_{kind}"] = chebyshev._replace(point="x * T(2) - T(1)")
NAMES = frozenset(RECURRENCES)

PREAMBLE = """
template <typename T>
__device__ T rounded(T a, T b, T c) {  // a * b - c, in single precision rounded once
    return T(double(a) * double(b) - double(c));
}
"""
BODY = """
T z = {point};
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
    """The polynomials of degrees in an array, or of one; the declared kernel refuses a number of too many steps."""
    if not hasattr(n, "dtype"):
        if n > STEPS:
            return generic(input, n)
        degree = int(n)
    else:
        degree = n.astype("int64", copy=False)
    x = array_of(cupy, input, getattr(input, "dtype", None) or n.dtype)
    y, unfinished = compiled(name)(x, degree)
    words = f"a degree takes more than {STEPS} steps, as many as are made. Lower n"
    assert_none(cupy, name.removeprefix("core::"), unfinished, words)
    return y
