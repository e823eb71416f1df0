"""Lists of names in messages, and enumerations that find a member by its name."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, EnumMeta, auto
from typing import Any

__all__ = ["StrEnum", "StrEnumMeta", "sequence_to_str"]


class StrEnumMeta(EnumMeta):
    """The class of `StrEnum`."""

    auto = auto

    def from_str(self, member: str) -> Any:
        """Return the member of a name.

        Raises
        ------
        ValueError
            If there is none.
        """
        if member not in self.__members__:
            raise ValueError(f"Unknown value '{member}' for {self.__name__}.")
        return self[member]


class StrEnum(Enum, metaclass=StrEnumMeta):
    """The base of enumerations with `StrEnumMeta.from_str`."""


def sequence_to_str(seq: Sequence[Any], separate_last: str = "") -> str:
    """Return the items in single quotes, with commas between them.

    Parameters
    ----------
    seq : sequence
    separate_last : str, default ""
        What stands before the last of several: ``"or "``.

    Examples
    --------
    >>> sequence_to_str(["a", "b", "c"], separate_last="or ")
    "'a', 'b', or 'c'"
    """
    *head, last = [f"'{item}'" for item in seq] or [""]
    if not head:
        return last
    comma = "" if separate_last and len(head) == 1 else ","
    return f"{', '.join(head)}{comma} {separate_last}{last}"
