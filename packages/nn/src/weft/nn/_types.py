"""Names for the types that many signatures share, and the expansion of sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import weft

DeviceLike: TypeAlias = weft.device | str | int | None
DType: TypeAlias = weft.dtype | None
Size1: TypeAlias = int | tuple[int]
Size2: TypeAlias = int | tuple[int, int]
Size3: TypeAlias = int | tuple[int, int, int]
SizeAny: TypeAlias = int | tuple[int, ...]


def expanded(value: Any, count: int) -> tuple[Any, ...]:
    """Return ``value`` as a tuple: itself if it is iterable, else ``count`` times.

    Examples
    --------
    >>> expanded(3, 2), expanded([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * count
