"""The families of ops: their functions at the top level and the methods of `Tensor`, and which may be overridden."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

from weft._interception.torch_function import OWN, offer_when_armed
from weft._lazy import of_portions
from weft._tensor.base import Tensor
from weft.ops._declare import public_functions
from weft.ops._lazy_names import METHODS as LATER_METHODS

FAMILIES = (
    "creation",
    "pointwise",
    "comparison",
    "reductions",
    "views",
    "joining",
    "indexing",
    "matrices",
    "sorting",
    "cumulative",
    "softmax",
    "error_functions",
    "gamma_functions",
    "activation",
    "copies",
    "queries",
)

# Families that are imported when one of their functions or methods is first asked for; ops/_lazy_names.py lists those.
LAZY_FAMILIES = (
    "random",
    "bessel_functions",
    "distance",
    "linear_systems",
    "decompositions",
    "matrix_functions",
    "low_rank",
    "fourier",
    "windows",
    "statistics",
    "segments",
    "older_linalg",
)

# Methods that are functions too: those that write into their first argument, and what a tensor is.
METHODS = """
abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_ ceil_
clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_
floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_
reciprocal_ relu_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ squeeze_ t_ tan_ tanh_ transpose_
trunc_ unsqueeze_ xlogy_ zero_
put
""".split()


def functions() -> dict[str, Any]:
    """The functions of core's families that are there at once, by name; of the others the methods know their place."""
    found = public_functions(import_module(f"weft.ops.{family}") for family in FAMILIES)
    for family, names in LATER_METHODS.items():
        for name in names.split():
            setattr(Tensor, name, later_method(family, name))
    methods = {name: getattr(Tensor, name) for name in METHODS if hasattr(Tensor, name)}
    return methods | found


def later_method(family: str, name: str) -> Any:
    """A method that imports the family, which puts the real one in its place, and calls that."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        import_module(f"weft.ops.{family}")
        return getattr(Tensor, name)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    return method


def all_functions() -> dict[str, Any]:
    """The functions of all families, by name."""
    found = public_functions(import_module(f"weft.ops.{family}") for family in (*FAMILIES, *LAZY_FAMILIES))
    return {name: getattr(Tensor, name) for name in METHODS} | found


@cache
def computations() -> frozenset[str]:
    """The functions at the top level that compute with tensors, and are no switches or questions of the process."""
    return frozenset([*all_functions(), *of_portions(), "tensor", "as_tensor", "from_numpy"]) - OWN


@offer_when_armed
def overridable() -> list[tuple[Any, Iterable[str]]]:
    """The functions at the top level, and the methods of tensors, that may be overridden."""
    weft = sys.modules["weft"]
    for name in all_functions():
        getattr(weft, name)  # those that were not asked for yet are found now
    known = computations()
    functions = [*(name for name in vars(weft) if name in known), *known.difference(vars(weft))]
    methods = [name for name in vars(Tensor) if not name.startswith("_") and name not in OWN]
    return [(weft, functions), (Tensor, [*methods, "__rdiv__"])]  # which ``number / tensor`` is, as in PyTorch
