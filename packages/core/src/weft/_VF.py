"""The functions of `weft` by the name of PyTorch's module of compiled ones, which layers of libraries call."""

from __future__ import annotations

from typing import Any

import weft
from weft._tensor.base import Tensor


def _add_relu(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``relu(input + alpha * other)``."""
    return weft.relu(weft.add(input, other, alpha=alpha))


def __getattr__(name: str) -> Any:
    """A function of `weft`."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(weft, name)
