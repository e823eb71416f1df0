"""Checks of values that interceptors see as an op: a captured list makes them again, where a branch would end it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._interception.interceptors import Operation, is_watched
from weft._interception.transforms import values_at_hand

__all__ = ["require_between"]


def require_between(tensor: Any, low: float, high: float, message: str) -> None:
    """Check that each element lies between two numbers, as far as the values are at hand.

    Raises
    ------
    RuntimeError
        With this message, if one does not, or is nan.
    """
    if values_at_hand(tensor):
        args = (tensor, low, high, message)
        between.run(args, {}) if is_watched() else check_between(*args)


def check_between(tensor: Any, low: float, high: float, message: str) -> None:
    """`require_between` where the values are at hand."""
    check_array(tensor._array, low, high, message)


def check_array(array: Any, low: float, high: float, message: str) -> None:
    """The check of an array of NumPy's."""
    if array.size and not (array.min() >= low and array.max() <= high):
        raise RuntimeError(message)


def on_arrays(values: dict[str, Any]) -> Callable[..., None]:
    """For captured lists."""
    return check_array


between = Operation("core::require_between", check_between)
between.array_function = on_arrays
