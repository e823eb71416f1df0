"""The ops of core, one file for each family."""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
    "special",
    "activation",
    "distance",
    "random",
    "random",
)


def functions() -> dict[str, Any]:
    """The functions that core's families offer, by name."""
    from weft.ops._declare import public_functions

    return public_functions(import_module(f"weft.ops.{family}") for family in FAMILIES)
