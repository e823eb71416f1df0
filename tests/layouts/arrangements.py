"""How the elements of a tensor may lie in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

import weft

SENTINEL = 0x5B  # each byte of memory around the elements

Array = np.ndarray[Any, Any]
Arrange = Callable[[Array], Array | None]


class Laid(NamedTuple):
    """A tensor, and the memory that it lies in."""

    tensor: Any
    memory: Array | None  # bytes; None where nothing is around the elements
    array: Array


def room(count: int, like: Array, lead: int = 0) -> Array:
    """New memory for so many elements, full of sentinels, that begins ``lead`` bytes behind an aligned address."""
    memory = np.full(count * like.itemsize + 128, SENTINEL, np.uint8)
    start = -memory.ctypes.data % 64 + lead
    return memory[start : start + count * like.itemsize].view(like.dtype)


def strided(values: Array, shape: tuple[int, ...], strides: tuple[int, ...], lead: int = 0) -> Array:
    """An array of these strides (in elements) with some values; those that share a place get the last."""
    count = 1 + sum((n - 1) * step for n, step in zip(shape, strides) if n) if prod(shape) else 0
    memory = room(max(count, 1), values, lead)
    made = np.lib.stride_tricks.as_strided(memory, shape, [step * values.itemsize for step in strides])
    made[...] = values
    return made


def packed(shape: tuple[int, ...], order: list[int] | None = None, step: int = 1) -> tuple[int, ...]:
    """The strides of dimensions from the outermost to the innermost, whose elements are ``step`` apart."""
    strides = [0] * len(shape)
    for dim in reversed(range(len(shape)) if order is None else order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def contiguous(x: Array) -> Array:
    return strided(x, x.shape, packed(x.shape))


def transposed(x: Array) -> Array | None:
    if x.ndim < 2:
        return None
    return strided(x, x.shape, packed(x.shape, list(reversed(range(x.ndim)))))


def last_two_transposed(x: Array) -> Array | None:
    if x.ndim < 3:
        return None
    return strided(x, x.shape, packed(x.shape, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]))


def spaced(step: int) -> Arrange:
    """Every ``step``-th element along the last dimension."""
    return lambda x: strided(x, x.shape, packed(x.shape, step=step)) if x.ndim else None


def rows_apart(x: Array) -> Array | None:
    """A part of each row of a wider matrix."""
    if x.ndim < 2:
        return None
    return strided(x, x.shape, (*packed((*x.shape[:-1], x.shape[-1] + 3))[:-1], 1))


def every_other_row(x: Array) -> Array | None:
    if x.ndim < 2:
        return None
    return strided(x, x.shape, (2 * x.shape[-1] * prod(x.shape[1:-1]), *packed(x.shape)[1:]))


def expanded(*dims: int) -> Arrange:
    """The first element along some dimensions, again and again."""

    def arrange(x: Array) -> Array | None:
        chosen = [dim for dim in dims if -x.ndim <= dim < x.ndim]
        if not chosen or not x.size:
            return None
        index: list[Any] = [slice(None)] * x.ndim
        for dim in chosen:
            index[dim] = slice(0, 1)
        return np.broadcast_to(contiguous(x[tuple(index)]), x.shape)

    return arrange


def expanded_whole(x: Array) -> Array | None:
    return np.broadcast_to(contiguous(x[(slice(0, 1),) * x.ndim]), x.shape) if x.ndim and x.size else None


def odd_ones(x: Array) -> Array | None:
    """Strides without meaning in dimensions of one element."""
    if 1 not in x.shape:
        return None
    strides = [13 if n == 1 else step for n, step in zip(x.shape, packed(x.shape))]
    return strided(x, x.shape, tuple(strides))


def offset(x: Array) -> Array:
    """From the second element of the memory on: at an address that no vector begins at."""
    return strided(x, x.shape, packed(x.shape), x.itemsize)


def misaligned(x: Array) -> Array:
    """At an odd address, as fields of a file may be."""
    return strided(x, x.shape, packed(x.shape), 1)


def overlapping(x: Array) -> Array | None:
    """A window that goes over the memory in steps of one element."""
    if x.ndim < 2 or not x.size:
        return None
    strides = list(packed(x.shape))
    strides[-2] = 1
    return strided(x, x.shape, tuple(strides))


def read_only(x: Array) -> Array:
    made = contiguous(x)
    made.flags.writeable = False
    return made


def channels_last(x: Array) -> Array | None:
    if x.ndim < 3:
        return None
    return strided(x, x.shape, packed(x.shape, [0, *range(2, x.ndim), 1]))


ARRANGEMENTS: dict[str, Arrange] = {
    "contiguous": contiguous,
    "transposed": transposed,
    "last two transposed": last_two_transposed,
    "strided by 2": spaced(2),
    "strided by 3": spaced(3),
    "strided by 4": spaced(4),
    "rows apart": rows_apart,
    "every other row": every_other_row,
    "expanded rows": expanded(0),
    "expanded columns": expanded(-1),
    "expanded whole": expanded_whole,
    "odd strides of ones": odd_ones,
    "offset": offset,
    "misaligned": misaligned,
    "overlapping": overlapping,
    "read-only": read_only,
    "channels last": channels_last,
}
SHARED = {"expanded rows", "expanded columns", "expanded whole", "overlapping"}  # elements share memory: no writing
WRITABLE = [name for name in ARRANGEMENTS if name not in SHARED | {"read-only"}]


def lay(tensor: Any, name: str) -> Laid | None:
    """A tensor of the same values (of some of them, where elements share memory) that lies so; None if none can."""
    array = tensor.detach()._array
    made = ARRANGEMENTS[name](array)
    if made is None:
        return None
    memory = made
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that read-only memory cannot be written to
        laid = weft.from_numpy(made)
    return Laid(laid.requires_grad_(tensor.requires_grad), memory if memory.dtype == np.uint8 else None, made)


def written_beside(laid: Laid, before: Array) -> bool:
    """Whether memory around the elements has changed since ``before``, a copy of all of it."""
    memory, array = laid.memory, laid.array
    if memory is None:
        return False
    start = array.ctypes.data - memory.ctypes.data
    restored = memory.copy()
    for bytes_ in (restored, before):
        if array.size:
            view = np.ndarray(array.shape, np.dtype((np.void, array.itemsize)), bytes_, start, array.strides)
            view[...] = np.zeros(1, view.dtype)
    return restored.tobytes() != before.tobytes()
