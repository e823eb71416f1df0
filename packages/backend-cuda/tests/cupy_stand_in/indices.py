"""Indices as CuPy takes them: out of range they wrap around, lists are sent to the device, masks are waited for."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from cupy_stand_in.events import note


def as_numpy_index(key: Any, array: numpy.ndarray, kind: type) -> tuple[tuple[Any, ...], int]:
    """The index for NumPy's array, and how many masks are in it.

    Parameters
    ----------
    key : object
        What stands in the brackets.
    array : numpy.ndarray
        What is indexed.
    kind : type
        The stand-in's class of arrays.
    """
    parts = [on_device(part, kind) for part in (key if isinstance(key, tuple) else (key,))]
    used = sum(axes_of(part, kind) for part in parts)
    found: list[Any] = []
    axis = masks = 0
    for part in parts:
        if isinstance(part, kind):
            masks += part.dtype.kind == "b"
            found.append(positions(part.host, array, axis))
        elif part is None or part is Ellipsis or isinstance(part, slice):
            found.append(checked_slice(part, kind) if isinstance(part, slice) else part)
        else:
            found.append(operator.index(part))
        axis += array.ndim - used if part is Ellipsis else axes_of(part, kind)
    return tuple(found), masks


def on_device(part: Any, kind: type) -> Any:
    """Lists and NumPy's arrays become arrays of the device."""
    if not isinstance(part, list | numpy.ndarray | bool | numpy.bool_):
        return part
    note("upload", f"an index that is {type(part).__name__}")
    sent = numpy.asarray(part) if numpy.size(part) else numpy.asarray(part, numpy.int64)
    return kind.of(sent)  # type: ignore[attr-defined]


def axes_of(part: Any, kind: type) -> int:
    """How many axes a part of an index takes."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, kind) and part.dtype.kind == "b" else 1


def positions(index: numpy.ndarray, array: numpy.ndarray, axis: int) -> numpy.ndarray:
    """An array of positions, wrapped around; a mask as it is."""
    if index.dtype.kind == "b":
        return index
    if index.dtype.kind not in "iu":
        raise IndexError(f"arrays used as indices must be of integer or boolean type. (actual: {index.dtype.type})")
    size = array.shape[axis] if axis < array.ndim else 0
    if size and index.size:
        if index.min() < -size or index.max() >= size:
            note("silent", "an index out of range wraps around")
        return numpy.asarray(index % size)
    return index


def checked_slice(part: slice, kind: type) -> slice:
    """A slice by numbers; arrays have no ``__index__``."""
    if any(isinstance(each, kind) for each in (part.start, part.stop, part.step)):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return part
