"""Docstrings that layers share: what repeats for each number of axes, and in each loss, is written once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

# What the words for 1, 2 and 3 spatial axes are.
SPATIAL: dict[int, dict[str, str]] = {
    1: {"axes": "1 spatial axis", "size": "int or tuple of 1 int", "spatial": "L", "spatial_out": "L_out"},
    2: {"axes": "2 spatial axes", "size": "int or tuple of 2 ints", "spatial": "H, W", "spatial_out": "H_out, W_out"},
    3: {
        "axes": "3 spatial axes",
        "size": "int or tuple of 3 ints",
        "spatial": "D, H, W",
        "spatial_out": "D_out, H_out, W_out",
    },
}

REDUCTION_ALONE = """\
reduction : "mean", "sum" or "none"
    One number for all elements, or one each."""

REDUCTION = f"""\
size_average, reduce : bool, optional
    Deprecated; they are read into ``reduction``.
{REDUCTION_ALONE}"""


def documented(**pieces: str) -> Callable[[T], T]:
    """Fill in the docstring of a class or function: each ``{name}`` in it becomes the piece of that name.

    Pieces are filled in one after the other, so that one may name those after it.

    Examples
    --------
    >>> @documented(sides="{count} sides", count="3")
    ... class Triangle:
    ...     '''A polygon with {sides}.'''
    >>> Triangle.__doc__
    'A polygon with 3 sides.'
    """

    def fill(target: Any) -> Any:
        text = target.__doc__
        if text is not None:  # python -OO leaves none
            if sys.version_info < (3, 13):  # which takes the indentation away by itself
                text = text.replace("\n    ", "\n")
            for name, piece in pieces.items():
                text = text.replace(f"{{{name}}}", piece)
            target.__doc__ = text
        return target

    return fill
