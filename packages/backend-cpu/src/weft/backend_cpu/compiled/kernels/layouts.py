"""Shapes and memory layouts as the loops of several families take them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend import in_order

__all__ = ["contiguous", "flat", "flat_channels_last", "new_images", "outer_size_inner", "parameter", "three"]

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]


def outer_size_inner(shape: Sizes, dim: int) -> tuple[int, int, int]:
    """A shape as three dimensions: all before ``dim``, that one, all behind it."""
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])


def three(values: Sizes, missing: int) -> Sizes:
    """Sizes of three dimensions, with a value for missing ones in front."""
    return (*(missing,) * (3 - len(values)), *values)


def contiguous(array: Array) -> Array:
    """The array in C order, copied only if it is not so."""
    found: Array = in_order(np, array)
    return found


def flat(array: Array) -> Array:
    """The elements in C order, copied only if they are not so."""
    return contiguous(array).reshape(-1)


def flat_channels_last(array: Array) -> Array:
    """The elements of an array (N, C, *spatial) with the channels innermost, in the order of memory."""
    return array.transpose(0, *range(2, array.ndim), 1).reshape(-1)


def new_images(shape: Sizes, element: Any, channels_last: bool) -> Array:
    """A new array (N, C, *spatial), with the channels innermost in memory if so."""
    if not channels_last:
        return np.empty(shape, element)
    made = np.empty((shape[0], *shape[2:], shape[1]), element)
    return made.transpose(0, len(shape) - 1, *range(1, len(shape) - 1))


def parameter(array: Array | None, size: int, default: float, like: Array) -> Array:
    """A weight or bias, flat; where there is none, what does nothing."""
    return np.full(size, default, like.dtype) if array is None else flat(array)
