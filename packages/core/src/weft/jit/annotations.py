"""Types in annotations: Python's own, under the names by which scripted modules import them."""

from concurrent.futures import Future
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, TypeVar, Union  # noqa: UP035

from weft import Tensor

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Future",
    "List",
    "NamedTuple",
    "Optional",
    "Tensor",
    "Tuple",
    "Union",
]

Element = TypeVar("Element")
# One number, or one for each of so many dimensions: ``BroadcastingList2[int]``.
BroadcastingList1 = Union[Element, list[Element]]  # noqa: UP007
BroadcastingList2 = Union[Element, list[Element]]  # noqa: UP007
BroadcastingList3 = Union[Element, list[Element]]  # noqa: UP007
