"""Memory formats and layouts: names that programs pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft import _display_name
from weft._interception.profiling import copies


class memory_format:
    """An order of dimensions in memory."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{_display_name.name}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class layout(memory_format):
    """How elements are stored."""


contiguous_format = legacy_contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
strided = layout("strided")
# Of tensors that keep some of their elements (`weft.sparse`), or tensors of several sizes (`weft.nested`).
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")


def is_strided(name: str, wanted: Any, sparse: bool = False) -> bool:
    """Whether a new tensor is to be strided; where ``sparse`` tensors of zeros can be had, False for those.

    Raises
    ------
    TypeError
        For what is no layout.
    NotImplementedError
        For a layout that the function has no tensors of.
    """
    if wanted is strided:
        return True
    if type(wanted) is not layout:
        raise TypeError(f"{name}(): argument 'layout' must be {_display_name.name}.layout, not {type(wanted).__name__}")
    if not sparse or wanted not in (sparse_coo, sparse_csr, sparse_csc):
        raise NotImplementedError(
            f"{name}: not implemented for layout {wanted}; make it without, and take to_sparse() of it"
        )
    return False


NEEDS = {channels_last: 4, channels_last_3d: 5}  # how many dimensions


def in_order(xp: Any, array: Any) -> Any:
    """An array with its last dimension innermost in memory, where NumPy's functions follow their input's order.

    What is no such array is copied; profiles show how often.
    """
    if array.flags.c_contiguous:
        return array
    copies.add(array)
    return xp.ascontiguousarray(array)


def is_channels_last(array: Any) -> bool:
    """Whether an array of images or volumes has its channels innermost in memory, and not also its last dimension."""
    if array.ndim not in (4, 5) or array.flags.c_contiguous:
        return False
    flags: Any = array.transpose((0, *range(2, array.ndim), 1)).flags
    return bool(flags.c_contiguous)


def suggests_channels_last(array: Any) -> bool:
    """Whether results computed from an array are to have their channels innermost, as PyTorch decides by its strides.

    Rows may lie apart, as where a part of images is taken; of a single image, whose first stride may be anything, only
    a stride that a batch would have counts.
    """
    if array.ndim not in (4, 5) or array.strides[1] == 0:
        return False
    least = 0
    for dim in (1, *range(array.ndim - 1, 1, -1), 0):
        size, stride = array.shape[dim], array.strides[dim]
        if size == 0 or stride < least or (dim == 0 and least == array.strides[1]):
            return False
        least = stride * max(size, 1)
    return True


def order_of(name: str, format: Any, ndim: int) -> tuple[int, ...] | None:
    """The order of dimensions in memory that a format asks for; None for the tensor's own order.

    Raises
    ------
    TypeError
        If it is no memory format.
    RuntimeError
        For a format that needs another number of dimensions.
    """
    if format is not None and not isinstance(format, memory_format):
        raise TypeError(f"{name}(): argument 'memory_format' must be weft.memory_format, not {type(format).__name__}")
    if format in NEEDS:
        need = NEEDS[format]
        if ndim != need:
            raise RuntimeError(
                f"{name}: required rank {need} tensor to use {format.name} format; got {ndim} dimensions"
            )
        return (0, *range(2, ndim), 1)
    return None


def order_of_result(ndim: int, operands: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[int]:
    """The order of dimensions in which NumPy's iterator lays out a new result of operands, the outermost first.

    Parameters
    ----------
    ndim : int
        Of the result.
    operands : sequence of (shape, strides)
        They are broadcast; what is repeated has no say.
    """
    steps = [aligned_strides(ndim, shape, strides) for shape, strides in operands]
    order: list[int] = []  # the innermost first, as the iterator sorts them
    for dim in reversed(range(ndim)):
        place = len(order)
        for position in reversed(range(len(order))):
            outer = is_outer(steps, order[position], dim)
            if outer is None:
                continue
            if not outer:
                break
            place = position
        order.insert(place, dim)
    return order[::-1]


def aligned_strides(ndim: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a broadcast operand: 0 along what is repeated."""
    own = tuple([0 if size == 1 else stride for size, stride in zip(shape, strides)])
    return (0,) * (ndim - len(shape)) + own


def is_outer(steps: Sequence[tuple[int, ...]], inner: int, dim: int) -> bool | None:
    """Whether a dimension is to lie outside of another; None if the operands do not say.

    Where they disagree, C order wins.
    """
    found: bool | None = None
    for strides in steps:
        if strides[dim] and strides[inner]:
            if abs(strides[inner]) <= abs(strides[dim]):
                found = False
            elif found is None:
                found = True
    return found
