"""Elements in order."""

from __future__ import annotations

import weft
from weft import Tensor

__all__ = ["argsort", "sort"]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that put the elements in order along an axis."""
    return weft.argsort(x, axis, descending, stable)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis."""
    return weft.sort(x, axis, descending, stable).values
