"""What PyTorch's tests ask of the wrappers of its reference functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__: list[str] = []


def _maybe_remove_out_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a wrapper for ``out=`` is around: in weft none is, an op takes ``out=`` itself."""
    return fn
