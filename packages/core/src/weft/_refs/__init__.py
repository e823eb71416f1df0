"""The functions that define what ops compute. In weft an op's own declaration does: each name is weft's own function.

What `weft` has as a method alone is called with the tensor as the first argument, and what it has for PyTorch's
dispatcher alone is found there.
"""

from __future__ import annotations

import importlib
from typing import Any

import weft
from weft._tensor.base import Tensor


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "_conversions":
        return importlib.import_module(f"{__name__}._conversions")
    for home in (weft, Tensor, weft.ops.aten):
        found = getattr(home, name, None)
        if found is not None:
            return found.fget if isinstance(found, property) else found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
