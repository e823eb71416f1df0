"""How elements lie in memory: layouts, and the memory formats that some functions take.

Every tensor of weft is strided. The names are there since programs compare and pass them.
"""

from __future__ import annotations

__all__ = [
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "layout",
    "memory_format",
    "preserve_format",
    "strided",
]


class _Named:
    """An object that is nothing but its name in the namespace; copies and pickles are the object itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"weft.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __copy__(self) -> _Named:
        return self

    def __deepcopy__(self, memo: object) -> _Named:
        return self


class layout(_Named):
    """How a tensor stores its elements; ``weft.strided`` is the only one."""


class memory_format(_Named):
    """In which order the dimensions of a new tensor lie in memory."""


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
