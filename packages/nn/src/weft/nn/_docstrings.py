"""Docstrings that layers share: what repeats for each number of axes, and in each loss, is written once."""

from __future__ import annotations

import inspect

from weft.library.declare import documented as documented

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


def sections_of(base: type) -> str:
    """What the docstring of a base class says behind its first paragraph, for the docstrings of its subclasses."""
    return inspect.cleandoc(base.__doc__ or "").partition("\n\n")[2]
