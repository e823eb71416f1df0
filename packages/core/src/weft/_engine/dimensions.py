"""Calls that programs make most of functions along dimensions: sums, norms, extremes, orders.

They are made and named as those in `functions`.
"""

from __future__ import annotations

from typing import Any, Final, Optional

from weft._engine.dispatch import Op
from weft._engine.functions import attempt, run, two
from weft._engine.methods import flattened
from weft._engine.tensor import TensorBase

ALL_DIMS: Final[list[tuple[int, ...]]] = [tuple(range(ndim)) for ndim in range(65)]  # by their number, as NumPy's most


# What a call says


def first_of(args: tuple[Any, ...], most: int) -> Optional[TensorBase]:
    """The tensor that a call begins with; None where it begins otherwise, or has more arguments than that."""
    if len(args) == 0 or len(args) > most:
        return None
    first = args[0]
    return first if isinstance(first, TensorBase) else None


def flag_at(args: tuple[Any, ...], place: int) -> Optional[bool]:
    """What a call says at a place, False where that is left out; None for what is no bool."""
    if place >= len(args):
        return False
    value = args[place]
    return True if value is True else False if value is False else None


def chosen_dim(dim: object, ndim: int) -> int:
    """A dim counted from the front; -1 for what is none of so many."""
    if type(dim) is not int:
        return -1
    place: int = dim
    if place < 0:
        place += ndim
    return place if 0 <= place < ndim else -1


def chosen_dims(dim: object, ndim: int) -> Optional[tuple[int, ...]]:
    """All dims for None, or those given, counted from the front; None for what is to be looked at closely."""
    if dim is None:
        return ALL_DIMS[ndim]
    if type(dim) is int:
        place = chosen_dim(dim, ndim)
        return None if place < 0 else (place,)
    if type(dim) is not tuple or len(dim) == 0:
        return None
    dims: list[int] = []
    for each in dim:
        place = chosen_dim(each, ndim)
        if place < 0 or place in dims:
            return None
        dims.append(place)
    return tuple(dims)


def dims_at(args: tuple[Any, ...], place: int, tensor: TensorBase) -> Optional[tuple[int, ...]]:
    """The dims that a call says at a place, all where that is left out; None as of `chosen_dims`."""
    return chosen_dims(args[place] if place < len(args) else None, tensor._array.ndim)


def is_real(tensor: TensorBase) -> bool:
    """Whether it is a plain one of real floating-point numbers."""
    return tensor._key.fast_path and tensor._key.is_real_float


def is_ordered(tensor: TensorBase) -> bool:
    """Whether it is a plain one of integers or real floating-point numbers."""
    return tensor._key.fast_path and 1 <= tensor._key.dtype.category <= 2


def mask_of(tensor: TensorBase) -> int:
    """Which arguments require grad, where the tensor is the only one."""
    return 1 if tensor._requires_grad else 0


# Reductions


def reduction(op: Op, some: bool = False, every: bool = False, single: bool = False) -> Any:
    """A real floating-point tensor over all of its dimensions, or over one or several, which may be kept.

    With ``some`` it must have elements; with ``every`` it may be of any dtype; with ``single`` there is no sequence of
    dimensions.
    """

    def quick(args: tuple[Any, ...]) -> Any:
        tensor = first_of(args, 3)
        if tensor is None or not (tensor._key.fast_path if every else is_real(tensor)):
            return None
        if single and len(args) > 1 and isinstance(args[1], (tuple, list)):
            return None
        array = tensor._array
        dims = dims_at(args, 1, tensor)
        keep = flag_at(args, 2)
        if dims is None or keep is None or (some and array.size == 0):
            return None
        return run(op, tensor._key, (tensor, dims, keep), [array, dims, keep], mask_of(tensor))

    return quick


def variance(op: Op, root: Optional[Op] = None) -> Any:
    """A real floating-point tensor over dimensions, and whether the divisor is one less; perhaps the root of that."""

    def quick(args: tuple[Any, ...]) -> Any:
        tensor = first_of(args, 4)
        if tensor is None or not is_real(tensor):
            return None
        dims = dims_at(args, 1, tensor)
        unbiased: Any = args[2] if len(args) > 2 else None
        keep = flag_at(args, 3)
        if dims is None or keep is None or not (unbiased is None or unbiased is False or unbiased is True):
            return None
        off = 0 if unbiased is False else 1
        shape: tuple[Any, ...] = tensor._array.shape
        count = 1
        for place in dims:
            count *= shape[place]
        if count <= off:  # what there is a warning for
            return None
        found = run(op, tensor._key, (tensor, dims, off, keep), [tensor._array, dims, off, keep], mask_of(tensor))
        return found if root is None else run(root, found._key, (found,), [found._array], mask_of(found))

    return quick


def norm(op: Op) -> Any:
    """A real floating-point tensor, the order of its norm, and dimensions."""

    def quick(args: tuple[Any, ...]) -> Any:
        tensor = first_of(args, 4)
        if tensor is None or not is_real(tensor):
            return None
        order: Any = args[1] if len(args) > 1 else None
        power = 2.0
        if type(order) is float:
            power = order
        elif type(order) is int:
            if not -(1 << 63) <= order < 1 << 64:
                return None
            power = float(order)
        elif order is not None and order != "fro":
            return None
        dims = dims_at(args, 2, tensor)
        keep = flag_at(args, 3)
        if dims is None or keep is None:
            return None
        return run(op, tensor._key, (tensor, power, dims, keep), [tensor._array, power, dims, keep], mask_of(tensor))

    return quick


# Along one dimension


def along(op: Op) -> Any:
    """A real floating-point tensor along a dimension."""

    def quick(args: tuple[Any, ...]) -> Any:
        tensor = first_of(args, 2)
        if tensor is None or len(args) != 2 or not is_real(tensor):
            return None
        array = tensor._array
        dim = chosen_dim(args[1], array.ndim)
        return None if dim < 0 else run(op, tensor._key, (tensor, dim), [array, dim], mask_of(tensor))

    return quick


def position(op: Op) -> Any:
    """Where a tensor of ordered numbers has an extreme: in all, or along a dimension, which may be kept."""

    def quick(args: tuple[Any, ...]) -> Any:
        tensor = first_of(args, 3)
        if tensor is None or not is_ordered(tensor):
            return None
        array = tensor._array
        keep = flag_at(args, 2)
        if keep is None or array.size == 0:
            return None
        dim: Any = None
        if len(args) > 1 and args[1] is not None:
            dim = chosen_dim(args[1], array.ndim)
            if dim < 0:
                return None
        return run(op, tensor._key, (tensor, dim, keep), [array, dim, keep], 0)

    return quick


def extremes(op: Op, whole: Op, pair: Any) -> Any:
    """The extreme of all elements, or along a dimension those with their positions."""

    def quick(args: tuple[Any, ...]) -> Any:
        tensor = first_of(args, 3)
        if tensor is None or not is_ordered(tensor):
            return None
        array = tensor._array
        if array.size == 0:
            return None
        if len(args) == 1:
            return run(whole, tensor._key, args, [array], mask_of(tensor))
        dim = chosen_dim(args[1], array.ndim)
        keep = flag_at(args, 2)
        return None if dim < 0 or keep is None else two(op, tensor._key, (tensor, dim, keep), pair)

    return quick


def ordering(op: Op, pair: Any) -> Any:
    """Elements along a dimension in order, with where they were."""

    def quick(args: tuple[Any, ...]) -> Any:
        tensor = first_of(args, 3)
        if tensor is None or not is_ordered(tensor):
            return None
        dim = chosen_dim(args[1] if len(args) > 1 else -1, tensor._array.ndim)
        descending = flag_at(args, 2)
        return None if dim < 0 or descending is None else two(op, tensor._key, (tensor, dim, descending), pair)

    return quick


def largest(op: Op, pair: Any) -> Any:
    """The k largest elements along a dimension, with where they are."""

    def quick(args: tuple[Any, ...]) -> Any:
        tensor = first_of(args, 3)
        if tensor is None or len(args) < 2 or type(args[1]) is not int or not is_ordered(tensor):
            return None
        array = tensor._array
        dim = chosen_dim(args[2] if len(args) == 3 else -1, array.ndim)
        k: int = args[1]
        if dim < 0 or not 0 <= k <= array.shape[dim]:
            return None
        return two(op, tensor._key, (tensor, k, dim, True, True), pair)

    return quick


def rolling(op: Op) -> Any:
    """A tensor moved along one dimension."""

    def quick(args: tuple[Any, ...]) -> Any:
        tensor = first_of(args, 3)
        if tensor is None or len(args) != 3 or type(args[1]) is not int or not tensor._key.fast_path:
            return None
        array = tensor._array
        dim = chosen_dim(args[2], array.ndim)
        if dim < 0:
            return None
        shifts: tuple[Any, ...] = (args[1],)
        dims: tuple[Any, ...] = (dim,)
        return attempt(op, tensor._key, (tensor, shifts, dims), [array, shifts, dims], mask_of(tensor))

    return quick


# Several as one


def flattening(args: tuple[Any, ...]) -> Any:
    """A tensor whose dimensions from one to another lie so in memory that they can be one."""
    tensor = first_of(args, 3)
    if tensor is None or not tensor._key.fast_views:
        return None
    return flattened(tensor, args[1] if len(args) > 1 else 0, args[2] if len(args) == 3 else -1)
