"""The module that ``OptimizedModule`` is asked of: accelerate does so of every model."""

from __future__ import annotations

import importlib
from typing import Any

from weft._lazy import load


def __getattr__(name: str) -> Any:
    """``OptimizedModule``, which is a module: of weft-nn."""
    if name == "OptimizedModule":
        load("nn")  # or say how to install it
        return importlib.import_module("weft.nn.compiled").OptimizedModule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
