"""Size: the shape of a tensor, a tuple that knows its number of elements."""

from __future__ import annotations

import math
from typing import Any

from weft import _spoken


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

    def numel(self) -> int:
        """The product of the sizes."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"{_spoken.name}.Size([{', '.join(map(repr, self))}])"

    def __add__(self, other: Any) -> Size:  # type: ignore[override]
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple.__add__(tuple(other), self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)
