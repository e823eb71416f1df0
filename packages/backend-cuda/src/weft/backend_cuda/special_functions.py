"""Special functions that CuPy has a kernel of its own for, where it agrees with PyTorch's to the edges.

Others are computed by core's formulas: CuPy's ``gammaln`` is -inf at -inf, its ``i0e`` and ``k0e`` are products of 0
and infinity from 90 on in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from cupyx.scipy import special

UFUNCS = {
    "core::erf": "erf",
    "core::erfc": "erfc",
    "core::erfcx": "erfcx",
    "core::erfinv": "erfinv",
    "core::ndtr": "ndtr",
    "core::ndtri": "ndtri",
    "core::digamma": "digamma",
    "core::zeta": "zeta",
    "core::i0": "i0",
    "core::i1": "i1",
    "core::modified_bessel_i0": "i0",
    "core::modified_bessel_i1": "i1",
}
NAMES = frozenset({*UFUNCS, "core::polygamma"})


def kernel(name: str, generic: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of a special function, from the declared one."""
    if name == "core::polygamma":
        return partial(polygamma, generic)
    found: Callable[..., Any] = getattr(special, UFUNCS[name])
    return found


def polygamma(generic: Callable[..., Any], input: Any, n: int) -> Any:
    """The derivatives of digamma from the second on by Hurwitz's zeta function."""
    if n == 0:
        return special.digamma(input)
    if n == 1:
        return generic(input, n)
    size = math.gamma(n + 1) if n < 171 else math.inf
    return ((-1.0) ** (n + 1) * size * special.zeta(n + 1.0, input.astype("float64"))).astype(input.dtype)
