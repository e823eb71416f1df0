"""Combining values into an array at positions that may repeat: ``ufunc.at`` for every array library.

CuPy has ``at`` of a few ufuncs for integers of four and eight bytes and for floats, by atomic operations, whose order
changes from run to run. Everything else is done in a dtype that has it, or by sorting.
"""

from __future__ import annotations

from typing import Any

import numpy

from weft._dtypes.dtypes import BY_NUMPY
from weft._settings import state as settings
from weft.ops._numerics import array_of, is_numpy

__all__ = ["combine_at", "value_for"]

ADDED_IN = {"b": "int32", "i": "int32", "u": "int32"}  # integers of one or two bytes and bool, by NumPy's kinds
LARGEST = {4: (1 << 31) - 1, 8: (1 << 63) - 1}


def value_for(xp: Any, target: Any, value: Any) -> Any:
    """A value as it is written at positions of an array: CuPy sends a number there, where it can be filled in."""
    return value if is_numpy(xp) else array_of(xp, value, target.dtype)


def combine_at(xp: Any, ufunc: Any, target: Any, key: tuple[Any, ...], values: Any) -> None:
    """``ufunc.at(target, key, values)`` for a contiguous target.

    Halves are combined in float32 and rounded once: a sum of many that is rounded each time stops to grow.

    Parameters
    ----------
    xp : module
    ufunc : ufunc
        ``xp.add``, ``multiply``, ``maximum`` or ``minimum``. Those of the latter two are nan where an element is.
    target : array
    key : tuple of full slices and arrays of int64
    values : array or number
    """
    if type(ufunc) is not numpy.ufunc and not is_numpy(xp):
        combine_on_device(xp, ufunc, target, key, array_of(xp, values, target.dtype))
        return
    flat = flat_positions(xp, target.shape, key)  # 30 times faster with rows than the key
    if not isinstance(values, (int, float, complex)):
        values = xp.broadcast_to(values, flat.shape).reshape(-1)
    if not BY_NUMPY[target.dtype].is_half:
        ufunc.at(target.reshape(-1), flat.reshape(-1), values)
        return
    wide = target.astype(xp.float32)
    if hasattr(values, "dtype"):
        values = values.astype(xp.float32)
    ufunc.at(wide.reshape(-1), flat.reshape(-1), values)
    target[...] = wide


def flat_positions(xp: Any, shape: tuple[int, ...], key: tuple[Any, ...]) -> Any:
    """Where the elements that a key of full slices and index arrays picks lie in the flattened array."""
    used = [dim for dim, each in enumerate(key) if not isinstance(each, slice)]
    joint = max(key[dim].ndim for dim in used)
    adjacent = used[-1] - used[0] + 1 == len(used)
    first = used[0] if adjacent else 0  # where numpy puts the dimensions of the index
    rest = [dim for dim in range(len(shape)) if dim not in used]
    axes = {dim: place if place < first else place + joint for place, dim in enumerate(rest)}
    ndim = len(rest) + joint
    total: Any = 0
    stride = 1
    for dim in reversed(range(len(shape))):
        if dim in axes:
            part = xp.arange(shape[dim]).reshape((-1,) + (1,) * (ndim - axes[dim] - 1))
        else:
            index = key[dim]
            part = xp.where(index < 0, index + shape[dim], index).reshape(index.shape + (1,) * (ndim - first - joint))
        total = total + part * stride
        stride *= shape[dim]
    return total


def combine_on_device(xp: Any, ufunc: Any, target: Any, key: tuple[Any, ...], values: Any) -> None:
    """`combine_at` by atomic operations in a dtype that has them, or else by sorting."""
    element, name = target.dtype, ufunc.__name__.rpartition("_")[2]  # CuPy's are cupy_add and the like
    is_half = BY_NUMPY[element].is_half
    if is_half or (element.kind in ADDED_IN and element.itemsize < 4):
        wide = target.astype("float32" if is_half else ADDED_IN[element.kind])
        combine_on_device(xp, ufunc, wide, key, values.astype(wide.dtype))
        target[...] = wide
    elif name == "multiply" or (settings["debug_mode"] and element.kind in "fc"):
        combine_sorted(xp, ufunc, target, key, values)
    elif element.kind == "c":
        xp.add.at(target.real, key, values.real)
        xp.add.at(target.imag, key, values.imag)
    elif name == "add" or element.kind != "f":
        ufunc.at(target, key, values)
    else:
        least = name == "minimum"
        ordered = in_integers(xp, target, least)
        ufunc.at(ordered, key, in_integers(xp, values, least))
        target[...] = from_integers(ordered, element)


def in_integers(xp: Any, values: Any, least: bool) -> Any:
    """Integers that are ordered as floats are, nan beyond all others: CuPy's atomic maximum leaves nan out."""
    most = LARGEST[values.dtype.itemsize]
    bits = from_integers(values.view(f"i{values.dtype.itemsize}"), None)
    return xp.where(xp.isnan(values), -most - 1 if least else most, bits)


def from_integers(ordered: Any, element: Any) -> Any:
    """The floats of `in_integers`; without a dtype their bits: negative ones have all others turned."""
    bits = ordered ^ ((ordered >> (8 * ordered.dtype.itemsize - 1)) & LARGEST[ordered.dtype.itemsize])
    return bits if element is None else bits.view(element)


def combine_sorted(xp: Any, ufunc: Any, target: Any, key: tuple[Any, ...], values: Any) -> None:
    """`combine_at` by a scan of the sorted positions, always in one order, in log2(n) rounds.

    Each round combines what is twice as far apart, if it has the same position; then the last of each position has all.
    """
    flat = flat_positions(xp, target.shape, key)
    values = xp.broadcast_to(values, flat.shape).reshape(-1)
    order = xp.argsort(flat.reshape(-1), kind="stable")
    flat, values = flat.reshape(-1)[order], values[order]
    if not flat.size:
        return
    step = 1
    while step < flat.size:
        before = xp.where(flat[step:] == flat[:-step], ufunc(values[:-step], values[step:]), values[step:])
        values = xp.concatenate([values[:step], before])
        step *= 2
    is_last = xp.concatenate([flat[1:] != flat[:-1], xp.ones(1, bool)])
    joined = xp.concatenate([target.reshape(-1), xp.empty(1, target.dtype)])
    place = xp.where(is_last, flat, target.size)  # the others go to the end, which nobody reads
    joined[place] = ufunc(joined[place], values)
    target[...] = joined[:-1].reshape(target.shape)
