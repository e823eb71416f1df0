"""Conversions to a dtype by its name, such as ``float(x)``: weft's methods, called with the tensor."""

from __future__ import annotations

from typing import Any

import weft
from weft._tensor.base import Tensor


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        for home in (Tensor, weft):  # `weft.float` is a dtype
            if hasattr(home, name):
                return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
