"""Size: the shape of a tensor, a tuple that knows its number of elements."""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any, SupportsIndex, overload

from weft import _display_name


class Size(tuple[int, ...]):
    """The shape of a tensor.

    Examples
    --------
    >>> weft.zeros(2, 3).shape
    weft.Size([2, 3])
    >>> weft.Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        """Make one of an iterable of integers.

        Raises
        ------
        TypeError
            For anything but integers, and integer tensors of one element.
        ValueError
            For more than 64 bits.
        """
        checked = []
        for place, each in enumerate(sizes):
            try:
                size = int(operator.index(each))
            except TypeError:
                if getattr(each, "is_symbolic", False):  # a ragged dimension's size, see `weft.nested`
                    checked.append(each)
                    continue
                raise TypeError(
                    f"{_display_name.name}.Size() takes an iterable of 'int' (item {place} is '{type(each).__name__}')"
                ) from None
            if not -(1 << 63) <= size < 1 << 63:
                raise ValueError(f"{_display_name.name}.Size(): item {place} overflows 64 bits: {size}")
            checked.append(size)
        return tuple.__new__(cls, checked)

    def numel(self) -> int:
        """The product of the sizes."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"{_display_name.name}.Size([{', '.join(map(repr, self))}])"

    def __add__(self, other: Any) -> Size:  # type: ignore[override]
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        if hasattr(other, "__radd__"):
            return NotImplemented
        kind = type(other).__name__
        raise TypeError(f"can only concatenate tuple (not {kind}) to {_display_name.name}.Size")

    def __radd__(self, other: Any) -> Size:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Size:
        return size_of(tuple.__mul__(self, times))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> Size: ...

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return size_of(found) if isinstance(index, slice) else found

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


size_of = partial(tuple.__new__, Size)  # of what is known to be integers, as an array's shape is, without a frame
