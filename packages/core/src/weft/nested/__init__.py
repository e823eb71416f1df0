"""Nested tensors: batches of tensors that differ in size, without padding.

With ``layout=weft.jagged`` they differ in one dimension: their elements stand one after the other in one tensor, and
elementwise functions, projections, reductions and attention run on all at once. The strided layout, PyTorch's default,
takes components of any sizes, and has fewer functions.
"""

from importlib import import_module
from typing import Any

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def __getattr__(name: str) -> Any:
    # a class that overrides functions costs every call a check: it comes when it is first asked for
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("weft.nested._construction"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
