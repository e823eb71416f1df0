"""The ops of core, one file for each family."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft.ops._lazy_names import METHODS as LATER_METHODS

if TYPE_CHECKING:
    from weft.ops._aten import aten as aten

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

# Families that are imported when one of their functions or methods is first asked for; ops/_later.py lists those.
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
    "norms",
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


if not TYPE_CHECKING:

    def __getattr__(name):
        if name != "aten":
            raise AttributeError(f"module 'weft.ops' has no attribute {name!r}")
        from weft.ops._aten import aten

        globals()[name] = aten
        return aten


def functions() -> dict[str, Any]:
    """The functions of core's families that are there at once, by name; of the others the methods know their place."""
    from weft._tensor.base import Tensor
    from weft.ops._declare import public_functions

    found = public_functions(import_module(f"weft.ops.{family}") for family in FAMILIES)
    for family, names in LATER_METHODS.items():
        for name in names.split():
            setattr(Tensor, name, later_method(family, name))
    methods = {name: getattr(Tensor, name) for name in METHODS if hasattr(Tensor, name)}
    return methods | found


def later_method(family: str, name: str) -> Any:
    """A method that imports the family, which puts the real one in its place, and calls that."""
    from weft._tensor.base import Tensor

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        import_module(f"weft.ops.{family}")
        return getattr(Tensor, name)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    return method


def all_functions() -> dict[str, Any]:
    """The functions of all families, by name."""
    from weft._tensor.base import Tensor
    from weft.ops._declare import public_functions

    found = public_functions(import_module(f"weft.ops.{family}") for family in (*FAMILIES, *LAZY_FAMILIES))
    return {name: getattr(Tensor, name) for name in METHODS} | found
