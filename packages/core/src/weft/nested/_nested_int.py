"""The size of a ragged dimension: a symbol that stands for as many lengths as there are components."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from weft._symbolic import SymInt

__all__ = ["NestedInt", "nested_int_of"]

_numbers = itertools.count(1)
_of_offsets: dict[int, tuple[Any, NestedInt]] = {}  # by the identity of a tensor of offsets


class NestedInt(SymInt):
    """The lengths of components, as one symbol (``j1``), or a multiple of it.

    It equals itself alone: two nested tensors have the same shape if they were made from one another. It is at least
    2 in comparisons, as in PyTorch, and is no number.
    """

    __slots__ = ("factor", "number")
    is_symbolic = True

    def __init__(self, number: int, factor: int = 1) -> None:
        self.number = number
        self.factor = factor

    def __repr__(self) -> str:
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, NestedInt)
        return same and (self.number, self.factor) == (other.number, other.factor)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((NestedInt, self.number, self.factor))

    def __mul__(self, other: Any) -> NestedInt:
        return NestedInt(self.number, self.factor * other) if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def _compare(self, other: Any, largest: int, result: bool) -> bool:
        if isinstance(other, int) and other <= largest:
            return result
        raise ValueError(f"{self}: a ragged dimension has no single size to compare with {other}; see offsets()")

    def __ge__(self, other: Any) -> bool:
        return self == other or self._compare(other, 2, True)

    def __gt__(self, other: Any) -> bool:
        return self != other and self._compare(other, 1, True)

    def __le__(self, other: Any) -> bool:
        return self == other or self._compare(other, 1, False)

    def __lt__(self, other: Any) -> bool:
        return self != other and self._compare(other, 2, False)

    def __index__(self) -> int:
        raise TypeError(f"{self}: a ragged dimension has no single size; see offsets() for that of each component")


def nested_int_of(offsets: Any) -> NestedInt:
    """The symbol of a tensor of offsets: the same for the same tensor."""
    key = id(offsets)
    found = _of_offsets.get(key)
    if found is not None and found[0]() is offsets:
        return found[1]
    symbol = NestedInt(next(_numbers))
    _of_offsets[key] = (weakref.ref(offsets, lambda _: _of_offsets.pop(key, None)), symbol)
    return symbol
