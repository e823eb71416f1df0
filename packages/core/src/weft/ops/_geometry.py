"""Checks of dims, shapes and indices: the one layer that all declarations use, before any kernel runs."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy

from weft._dtypes.float8 import is_float8
from weft._engine.fast_paths import chosen_dims
from weft._engine.methods import whole_numbers
from weft._engine.tensor import TensorBase

MAX_ELEMENTS = 2**63 - 1
MAX_DIMS = 64  # NumPy's
LEAST = -(1 << 62)  # among the integers that are taken without a closer look
LARGE = 1 << 28  # bytes: below it, it is not worth asking whether there is so much memory


def wrap_dim(name: str, dim: Any, ndim: int, *, argument: str = "dim") -> int:
    """A dim counted from the front. A zero-dimensional tensor is treated as if it had one.

    Raises
    ------
    IndexError
        If it is out of range.
    TypeError
        If it is no integer.
    """
    try:
        if dim is True or dim is False:
            raise TypeError
        index = operator.index(dim)  # `integer` without its frame: most ops come here
    except TypeError:
        raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(dim).__name__}") from None
    size = ndim or 1
    if not -size <= index < size:
        raise IndexError(
            f"{name}: Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {index})"
        )
    return index + size if index < 0 else index


def wrap_dims(name: str, dims: Any, ndim: int) -> tuple[int, ...]:
    """One dim, several, or None (all), counted from the front and without repetition."""
    found = chosen_dims(dims, ndim)
    if found is not None:
        return found
    if dims is None:
        return tuple(range(ndim))
    if not isinstance(dims, (tuple, list)):
        return (wrap_dim(name, dims, ndim),)
    wrapped = tuple(wrap_dim(name, dim, ndim) for dim in dims)
    if len(set(wrapped)) != len(wrapped):
        again = next(dim for dim in wrapped if wrapped.count(dim) > 1)
        raise RuntimeError(f"{name}: dim {again} appears multiple times in the list of dims {tuple(dims)}")
    return wrapped


def require_tensors(name: str, **arguments: Any) -> None:
    """All arguments are tensors, where a number will not do.

    Raises
    ------
    TypeError
        Naming the first that is none.
    """
    for position, (argument, value) in enumerate(arguments.items()):
        if not isinstance(value, TensorBase):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position + 1}) must be Tensor, not "
                f"{type(value).__name__}; make one with weft.as_tensor(...)"
            )


def as_shape(name: str, size: Sequence[Any]) -> tuple[int, ...]:
    """The sizes that a caller gave as numbers or as one sequence; none may be negative."""
    sizes = integers(name, size)
    if len(sizes) > MAX_DIMS:
        raise RuntimeError(f"{name}: a tensor has at most {MAX_DIMS} dimensions; got {len(sizes)}")
    for each in sizes:
        if each < 0:
            raise RuntimeError(
                f"{name}: Trying to create tensor with negative dimension {each}: {list(sizes)}; sizes start at 0"
            )
    elements(name, sizes)
    return sizes


def one_by_one(name: str, args: tuple[Any, ...], value: Any, argument: str) -> tuple[Any, ...]:
    """What a caller gave one by one, or as one sequence under the argument's name.

    Raises
    ------
    TypeError
        If there is neither.
    """
    if value is not None:
        return (value,)
    if not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    return args


def integers(name: str, size: Sequence[Any], argument: str = "size") -> tuple[int, ...]:
    """Integers that a caller gave one by one or as one sequence."""
    plain = whole_numbers(size, LEAST) if type(size) is tuple else None
    if plain is not None:
        return plain
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    elif len(size) == 1 and isinstance(size[0], TensorBase) and size[0]._array.ndim == 1:
        size = size[0].tolist()  # type: ignore[attr-defined]
    try:
        if bool in map(type, size):
            raise TypeError
        return tuple([operator.index(each) for each in size])
    except TypeError:
        raise TypeError(
            f"{name}(): argument '{argument}' must be tuple of ints, but found {type(no_integer(size)).__name__}"
        ) from None


def no_integer(values: Iterable[Any]) -> Any:
    """The first of some values that is no integer."""
    for each in values:
        try:
            operator.index(each)
        except TypeError:
            return each
        if isinstance(each, bool):
            return each
    return None


def integer(name: str, value: Any, argument: str) -> int:
    """One integer that a caller gave.

    Raises
    ------
    TypeError
        If it is none.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(value).__name__}") from None


def elements(name: str, sizes: Iterable[int], itemsize: int = 1) -> int:
    """The number of elements of a shape; an error if it cannot be addressed."""
    count = 1
    for each in sizes:
        count *= each
    if count * itemsize > MAX_ELEMENTS:
        raise RuntimeError(f"{name}: Storage size calculation overflowed with sizes={list(sizes)}")
    return count


def addressable(name: str, sizes: Iterable[int], itemsize: int) -> None:
    """Refuse a shape that exceeds all memory before anything of it is computed.

    Raises
    ------
    RuntimeError
        If it cannot be addressed, or the system has no such memory to give.
    """
    count = elements(name, sizes, itemsize)
    if count * itemsize < LARGE:
        return
    try:
        numpy.empty(count * itemsize, numpy.uint8)  # reserved, not touched, and given back
    except MemoryError as error:
        raise RuntimeError(f"{name}: not enough memory for shape {list(sizes)}: {count * itemsize} bytes") from error


def has_values(array: Any) -> bool:
    """Whether a kernel can read the elements of an array; those of the meta device have none."""
    return getattr(array, "has_values", True)


def broadcast_shapes(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all broadcast to.

    Raises
    ------
    RuntimeError
        Naming the first two shapes that disagree, and where.
    """
    ndim = max((len(shape) for shape in shapes), default=0)
    result = [1] * ndim
    owner: list[tuple[int, ...]] = [()] * ndim
    for shape in shapes:
        for offset in range(1, len(shape) + 1):
            size = shape[-offset]
            if size == 1:
                continue
            if result[-offset] not in (1, size):
                first = owner[-offset]
                raise RuntimeError(
                    f"{name}: The size of tensor a ({result[-offset]}) must match the size of tensor b ({size}) at "
                    f"non-singleton dimension {ndim - offset}; got shapes {list(first)} and {list(shape)}. "
                    "Sizes must be equal, or one of them 1: unsqueeze() or expand() one of the tensors"
                )
            result[-offset] = size
            owner[-offset] = shape
    return tuple(result)


def check_index(name: str, index: int, size: int, dim: int) -> int:
    """One position along a dim, counted from the front.

    Raises
    ------
    IndexError
        If it is out of range.
    """
    if not -size <= index < size:
        raise IndexError(f"{name}: index {index} is out of bounds for dimension {dim} with size {size}")
    return index + size if index < 0 else index


def same_shape_except(name: str, shapes: Sequence[tuple[int, ...]], dim: int) -> None:
    """Sizes must agree but along one dim.

    Raises
    ------
    RuntimeError
        Naming the first that does not.
    """
    first = shapes[0]
    for number, shape in enumerate(shapes):
        if len(shape) != len(first):
            raise RuntimeError(
                f"{name}: Tensors must have same number of dimensions: got {len(first)} and {len(shape)} (shapes "
                f"{list(first)} and {list(shape)}). Sizes of tensors must match except in dimension {dim}"
            )
        if any(a != b for d, (a, b) in enumerate(zip(first, shape)) if d != dim):
            raise RuntimeError(
                f"{name}: Sizes of tensors must match except in dimension {dim}. Expected {list(first)}, but got "
                f"{list(shape)} for tensor number {number} in the list"
            )


# Strides


def with_strides(xp: Any, array: Any, shape: Any, strides: Any) -> Any:
    """``as_strided`` of the array namespace, also for dtypes that it cannot describe, such as float8_e5m2."""
    if not is_float8(array.dtype):
        return xp.lib.stride_tricks.as_strided(array, shape, strides)
    return xp.lib.stride_tricks.as_strided(array.view(xp.uint8), shape, strides).view(array.dtype)
