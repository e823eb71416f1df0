"""Shapes, and arrays joined, repeated and moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor
from weft.array_api._promotion import promoted

__all__ = [
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]

Axes = int | tuple[int, ...]


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The arrays as views of their common shape."""
    return list(weft.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """A view of another shape, in which elements are repeated along new axes and axes of size 1."""
    return weft.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The arrays one after another along an axis; ``None``: of all of them flattened."""
    operands = promoted(*arrays)
    if axis is None:
        operands, axis = [each.reshape(-1) for each in operands], 0
    return weft.cat(operands, axis)


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """A view with a new axis of size 1 at this place of the result."""
    return x.unsqueeze(axis)


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """The elements in reverse order along some axes, or all."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return x.flip(tuple(axes))


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """A view in which some axes are at other places; the others keep their order."""
    return weft.movedim(x, source, destination)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """A view with its axes in another order."""
    return x.permute(tuple(axes))


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element several times along an axis; ``None``: of the array flattened.

    Parameters
    ----------
    x : Tensor
    repeats : int or Tensor
        How many times: all of them, or each, or the only one number for all.
    axis : int, optional
    """
    if isinstance(repeats, Tensor):
        size = x.numel() if axis is None else x.shape[axis]
        repeats = repeats.to(x.device, weft.int64).expand(size)
    return weft.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape.

    Parameters
    ----------
    x : Tensor
    shape : tuple of int
        One size may be -1: what is left.
    copy : bool, optional
        True: always copy. False: raise where a copy is needed. Default: where needed.

    Raises
    ------
    ValueError
        If ``copy`` is False and no view of ``x`` has this shape.
    """
    if copy:
        return x.clone(memory_format=weft.contiguous_format).reshape(tuple(shape))
    if copy is None:
        return x.reshape(tuple(shape))
    try:
        return x.view(tuple(shape))
    except RuntimeError as error:
        raise ValueError(f"reshape: no view of the array has shape {tuple(shape)}; leave out copy=False") from error


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """The elements moved along axes; those that fall out at one end come in at the other."""
    if axis is None:
        return x.roll(shift)
    if isinstance(shift, int) and not isinstance(axis, int):
        shift = (shift,) * len(axis)
    return x.roll(shift, axis)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """A view without some axes of size 1.

    Raises
    ------
    ValueError
        If one has another size.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(f"squeeze: axis {each} has size {x.shape[each]}, and only those of size 1 can be left out")
    return x.squeeze(axes)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape one after another along a new axis."""
    return weft.stack(promoted(*arrays), axis)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """Copies of an array beside each other, so many along each axis."""
    return x.tile(tuple(repetitions))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The views of an array at each index of an axis."""
    return tuple(x.unbind(axis))
