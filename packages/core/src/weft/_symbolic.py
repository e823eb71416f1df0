"""``sym_max`` and its like: arithmetic that tracers replace; on plain numbers it is Python's own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
    "sym_float",
    "sym_fresh_size",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]


class _Symbol:
    """What is not known while a program is traced. There is none: sizes are plain numbers.

    Libraries ask with `isinstance`.

    Raises
    ------
    NotImplementedError
        When one is made.
    """

    def __init__(self, node: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__}: weft traces with the sizes that there are; use a number")


class SymInt(_Symbol):
    """A size that is not known while a program is traced: there is none. The sizes of `weft.nested` are."""


class SymFloat(_Symbol):
    """A number that is not known while a program is traced: there is none."""


class SymBool(_Symbol):
    """A truth value that is not known while a program is traced: there is none."""


def sym_int(a: Any) -> int:
    """A number as an integer, rounded towards 0.

    Examples
    --------
    >>> weft.sym_int(-3.7)
    -3
    """
    return int(a)


def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


def require_numbers(name: str, *values: Any) -> None:
    """All are real numbers.

    Raises
    ------
    AssertionError
        If one is not.
    """
    for value in values:
        if not isinstance(value, int | float | numpy.integer | numpy.floating):
            raise AssertionError(f"{name}: expected int or float, got {type(value)}")


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if one of them is.

    Parameters
    ----------
    a, b : number

    Examples
    --------
    >>> weft.sym_max(3, 2.0)
    3.0
    """
    require_numbers("sym_max", a, b)
    found = max(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if one of them is.

    Parameters
    ----------
    a, b : number

    Examples
    --------
    >>> weft.sym_min(3, 2.5)
    2.5
    """
    require_numbers("sym_min", a, b)
    found = min(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_not(a: Any) -> bool:
    """Whether a value is false."""
    return not a


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """``t`` if ``b``, else ``f``.

    Parameters
    ----------
    b : bool
    t, f : number or bool
        Of one type.

    Raises
    ------
    AssertionError
        If ``b`` is no bool, or the types differ.

    Examples
    --------
    >>> weft.sym_ite(True, 1, 2)
    1
    """
    if not isinstance(b, bool):
        raise AssertionError(f"sym_ite: expected bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"sym_ite: expected values of one type, got {type(t)} and {type(f)}")
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of numbers."""
    return sum(args)


def sym_fresh_size(expr: Any) -> int:
    """A size as an integer."""
    return int(expr)


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a number is in a range, whose ends belong to it.

    Parameters
    ----------
    size : number
    min, max : int, optional

    Raises
    ------
    RuntimeError
        If it is not.

    Examples
    --------
    >>> weft.sym_constrain_range(3, min=1, max=3)
    """
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"sym_constrain_range: Invalid value range for {size} between [{min}, {max}].")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """As `sym_constrain_range`, for a size, which is not negative.

    Parameters
    ----------
    size : int
    min, max : int, optional

    Raises
    ------
    RuntimeError
        If it is not.

    Examples
    --------
    >>> weft.sym_constrain_range_for_size(3, max=4)
    """
    sym_constrain_range(size, min=0 if min is None else min, max=max)
