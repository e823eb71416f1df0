"""`Store`, what processes share before they have a process group, and `PrefixStore`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

__all__ = ["PrefixStore", "Store"]


class Store:
    """Keys (strings) and values (bytes) that processes share.

    Subclasses write `set`, `get`, `add`, `check`, `wait`, `compare_set`, `delete_key` and `num_keys`.

    Attributes
    ----------
    timeout : datetime.timedelta
        How long `get` and `wait` wait for a key.
    """

    timeout: timedelta = timedelta(seconds=300)

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        raise NotImplementedError(f"{type(self).__name__}.set")

    def get(self, key: str) -> bytes:
        """Return the value of a key, as soon as somebody has set it.

        Raises
        ------
        DistStoreError
            If nobody has within `timeout`.
        """
        raise NotImplementedError(f"{type(self).__name__}.get")

    def add(self, key: str, amount: int) -> int:
        """Add to a number that is kept under a key, 0 at first, and return the sum."""
        raise NotImplementedError(f"{type(self).__name__}.add")

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Set a key's value if it is ``expected`` (or if that is empty and there is none); return what it is then."""
        raise NotImplementedError(f"{type(self).__name__}.compare_set")

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are set."""
        raise NotImplementedError(f"{type(self).__name__}.check")

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Return as soon as all keys are set.

        Raises
        ------
        DistStoreError
            If they are not within ``timeout``, by default the store's.
        """
        raise NotImplementedError(f"{type(self).__name__}.wait")

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether there was one."""
        raise NotImplementedError(f"{type(self).__name__}.delete_key")

    def num_keys(self) -> int:
        """Return the number of keys."""
        raise NotImplementedError(f"{type(self).__name__}.num_keys")

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait for a key."""
        self.timeout = timeout


class PrefixStore(Store):
    """A part of another store: its keys begin with a prefix.

    Parameters
    ----------
    prefix : str
    store : Store
    """

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix = prefix
        self.underlying_store = store

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def _keys(self, keys: Sequence[str]) -> list[str]:
        return [self._key(key) for key in keys]

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        return self.underlying_store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._key(key), amount)

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        return self.underlying_store.compare_set(self._key(key), expected, desired)

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check(self._keys(keys))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self.underlying_store.wait(self._keys(keys), timeout)

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._key(key))

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def set_timeout(self, timeout: timedelta) -> None:
        self.underlying_store.set_timeout(timeout)

    @property
    def timeout(self) -> timedelta:  # type: ignore[override]
        """How long `get` and `wait` wait for a key: as the store that this is a part of."""
        return self.underlying_store.timeout
