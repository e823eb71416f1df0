"""Strides: what NumPy gives to new arrays and to views, by arithmetic on sizes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

Ints = tuple[int, ...]


def contiguous(shape: Ints, itemsize: int) -> Ints:
    """The strides, in bytes, of an array in C order."""
    strides = []
    step = itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_c_contiguous(shape: Ints, strides: Ints, itemsize: int) -> bool:
    """Whether elements lie in C order without gaps; dimensions of one element say nothing."""
    step = itemsize
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 0:
            return True
        if size != 1 and stride != step:
            return 0 in shape
        step *= size
    return True


def is_f_contiguous(shape: Ints, strides: Ints, itemsize: int) -> bool:
    """The same in Fortran's order."""
    return is_c_contiguous(shape[::-1], strides[::-1], itemsize)


def in_order(shape: Ints, order: Sequence[int], itemsize: int) -> Ints:
    """The strides of a dense array whose dimensions lie in memory in this order, the outermost first."""
    strides = [0] * len(shape)
    step = itemsize
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def order_of_copy(shape: Ints, strides: Ints, itemsize: int) -> Sequence[int]:
    """The order of dimensions that a copy of an array keeps (``order="K"``), the outermost first."""
    ndim = len(shape)
    if is_c_contiguous(shape, strides, itemsize):
        return range(ndim)
    if is_f_contiguous(shape, strides, itemsize):
        return range(ndim - 1, -1, -1)
    return sorted(range(ndim), key=lambda dim: -abs(strides[dim]))


def reshaped(shape: Ints, strides: Ints, new: Ints, itemsize: int) -> Ints | None:
    """The strides of a view under another shape; None if it takes a copy."""
    if math.prod(shape) == 0:
        return contiguous(new, itemsize)
    if is_c_contiguous(shape, strides, itemsize):
        return contiguous(new, itemsize)
    old = [(size, stride) for size, stride in zip(shape, strides) if size != 1]
    found = [0] * len(new)
    first = place = 0
    while first < len(old) and place < len(new):
        start, begin = first, place
        have, want = old[first][0], new[place]
        while have != want:
            if want < have:
                place += 1
                want *= new[place]
            else:
                first += 1
                have *= old[first][0]
        for dim in range(start, first):
            if old[dim][1] != old[dim + 1][0] * old[dim + 1][1]:
                return None
        step = old[first][1]
        for dim in range(place, begin - 1, -1):
            found[dim] = step
            step *= new[dim]
        first, place = first + 1, place + 1
    last = found[place - 1] if place else itemsize
    if place:
        last *= new[place - 1]
    for dim in range(place, len(new)):
        found[dim] = last
    return tuple(found)


def broadcast_shape(*shapes: Ints) -> Ints:
    """The shape that all broadcast to.

    Raises
    ------
    ValueError
        If two disagree, in NumPy's words.
    """
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for place, size in enumerate(shape, ndim - len(shape)):
            if size == 1:
                continue
            if result[place] not in (1, size):
                raise ValueError(f"operands could not be broadcast together with shapes {' '.join(map(str, shapes))}")
            result[place] = size
    return tuple(result)
