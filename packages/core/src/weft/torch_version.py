"""TorchVersion: a version that compares as versions do, with strings and with tuples of numbers."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

__all__ = ["TorchVersion"]

_VERSION = re.compile(r"\s*v?(\d+(?:\.\d+)*)[-_.]?(dev|a|b|c|rc|alpha|beta|pre|post)?[-_.]?(\d*)[^+]*(?:\+(.*))?$")
_STAGES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "pre": -1, "": 0, "post": 1}


class TorchVersion(str):
    """A version as a string; ``<`` and its like compare release numbers, not letters.

    Examples
    --------
    >>> version = TorchVersion("2.13.0+cpu")
    >>> version >= "2.2", version >= (1, 8), version.split("+")[0]
    (True, True, '2.13.0')
    """

    __slots__ = ()

    def _compare(self, other: Any) -> int | None:
        """Less than, equal to or more than 0, as self is to other; None if other is no version."""
        if isinstance(other, (tuple, list)):
            other = ".".join(map(str, other))
        ours, theirs = _parts(str(self)), _parts(str(other))
        if ours is None or theirs is None:
            return None
        for mine, yours in zip_longest(ours[0], theirs[0], fillvalue=0):
            if mine != yours:
                return -1 if mine < yours else 1
        return (ours[1:] > theirs[1:]) - (ours[1:] < theirs[1:])

    def __lt__(self, other: Any) -> bool:
        order = self._compare(other)
        return str.__lt__(self, other) if order is None else order < 0

    def __le__(self, other: Any) -> bool:
        order = self._compare(other)
        return str.__le__(self, other) if order is None else order <= 0

    def __gt__(self, other: Any) -> bool:
        order = self._compare(other)
        return str.__gt__(self, other) if order is None else order > 0

    def __ge__(self, other: Any) -> bool:
        order = self._compare(other)
        return str.__ge__(self, other) if order is None else order >= 0

    def __eq__(self, other: object) -> bool:
        order = self._compare(other)
        return str.__eq__(self, other) if order is None else order == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _parts(version: str) -> tuple[list[int], int, int, str] | None:
    """Release numbers, stage, the stage's number and the local label of a version; None if it is none."""
    found = _VERSION.match(version.lower())
    if found is None:
        return None
    release, stage, number, local = found.groups()
    return [int(part) for part in release.split(".")], _STAGES[stage or ""], int(number or 0), local or ""
