"""`Store`, what processes share before they have a process group, and `PrefixStore`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from weft.distributed._errors import DistStoreError

__all__ = ["PrefixStore", "Store"]


class Store:
    """Keys (strings) and values (bytes) that processes share.

    Subclasses write `set`, `get`, `add`, `check`, `wait`, `compare_set`, `delete_key` and `num_keys`, and those of the
    extended API (`append`, `multi_get`, `multi_set`, queues) if `has_extended_api`.

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

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
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

    def list_keys(self) -> list[str]:
        """Return all keys."""
        raise NotImplementedError(f"{type(self).__name__}.list_keys")

    def append(self, key: str, value: str | bytes) -> None:
        """Append to the value of a key, empty at first."""
        raise NotImplementedError(f"{type(self).__name__}.append")

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys, as soon as all are set."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set the values of several keys.

        Raises
        ------
        DistStoreError
            If there are not as many values as keys.
        """
        if len(keys) != len(values):
            raise DistStoreError(f"multi_set: {len(keys)} keys, but {len(values)} values")
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of a queue."""
        raise NotImplementedError(f"{type(self).__name__} has no queues")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, as soon as there is one.

        Raises
        ------
        QueueEmptyError
            If the queue is empty and ``block`` is false.
        DistStoreError
            If nobody has pushed a value within `timeout`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no queues")

    def queue_len(self, key: str) -> int:
        """Return the number of values in a queue."""
        raise NotImplementedError(f"{type(self).__name__} has no queues")

    def has_extended_api(self) -> bool:
        """Whether `append`, `multi_get` and `multi_set` are single requests."""
        return False

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Return as soon as ``world_size`` callers have called it with this key.

        Raises
        ------
        DistStoreError
            If they have not within ``timeout``, by default the store's.
        """
        if self.add(f"{key}/num_members", 1) == world_size:
            self.set(f"{key}/last_member", b"1")
        self.wait([f"{key}/last_member"], timeout)

    def clone(self) -> Store:
        """Return another store of the same keys and values, for another thread."""
        return self

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

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self.underlying_store.compare_set(self._key(key), expected, desired)

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check(self._keys(keys))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self.underlying_store.wait(self._keys(keys), timeout)

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._key(key))

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        start = f"{self.prefix}/"
        return [key.removeprefix(start) for key in self.underlying_store.list_keys() if key.startswith(start)]

    def append(self, key: str, value: str | bytes) -> None:
        self.underlying_store.append(self._key(key), value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self.underlying_store.multi_get(self._keys(keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self.underlying_store.multi_set(self._keys(keys), values)

    def queue_push(self, key: str, value: str | bytes) -> None:
        self.underlying_store.queue_push(self._key(key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self.underlying_store.queue_pop(self._key(key), block)

    def queue_len(self, key: str) -> int:
        return self.underlying_store.queue_len(self._key(key))

    def has_extended_api(self) -> bool:
        return self.underlying_store.has_extended_api()

    def clone(self) -> PrefixStore:
        return PrefixStore(self.prefix, self.underlying_store.clone())

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self.underlying_store
        return store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store

    def set_timeout(self, timeout: timedelta) -> None:
        self.underlying_store.set_timeout(timeout)

    @property
    def timeout(self) -> timedelta:  # type: ignore[override]
        """How long `get` and `wait` wait for a key: as the store that this is a part of."""
        return self.underlying_store.timeout
