"""Sets of dispatch keys, by which packages with operators of their own leave out autocast where they have cast."""

from __future__ import annotations

from contextlib import ExitStack
from enum import Enum
from typing import Any

import weft
from weft._interception.torch_dispatch import below_autograd
from weft.library._operators import AUTOCAST, KEYS

__all__ = ["DispatchKey", "DispatchKeySet", "ExcludeDispatchKeyGuard"]

DispatchKey = Enum("DispatchKey", {each: each for each in sorted(KEYS)}, module="weft._C")  # type: ignore[misc]


class DispatchKeySet:
    """Some dispatch keys; ``|`` unites two sets."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(each.name for each in self._keys))})"

    def has(self, key: Any) -> bool:
        """Whether it has a key."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one key more."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(*(self._keys - {key}))

    def names(self) -> list[str]:
        """The names of the keys, in order."""
        return sorted(each.name for each in self._keys)


class ExcludeDispatchKeyGuard:
    """A block in which operators do not look for functions of some keys: those of autocast and of Autograd.

    Parameters
    ----------
    keys : DispatchKeySet

    Raises
    ------
    NotImplementedError
        On entering the block, for any other key.
    """

    def __init__(self, keys: DispatchKeySet) -> None:
        self._keys = keys

    def __enter__(self) -> None:
        self._blocks = ExitStack()
        with ExitStack() as entered:
            for name in self._keys.names():
                entered.enter_context(self._without(name))
            self._blocks = entered.pop_all()

    def __exit__(self, *raised: Any) -> None:
        self._blocks.close()

    def _without(self, name: str) -> Any:
        if name in AUTOCAST:
            return weft.autocast(AUTOCAST[name], enabled=False)
        if name.startswith("Autograd"):
            return below_autograd()
        raise NotImplementedError(f"_ExcludeDispatchKeyGuard: weft leaves out autocast and Autograd, not {name}")
