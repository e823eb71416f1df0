"""`HashStore`: a store of one process, for its threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta

from weft.distributed._errors import DistStoreError
from weft.distributed.stores._values import Values, as_bytes
from weft.distributed.stores.base import Store

__all__ = ["HashStore"]


class HashStore(Store):
    """A `Store` in the memory of this process: its threads share it, and a world of one needs no other.

    Examples
    --------
    >>> store = weft.distributed.HashStore()
    >>> store.set("a", "b")
    >>> store.get("a"), store.add("n", 2), store.add("n", 3)
    (b'b', 2, 5)
    """

    def __init__(self) -> None:
        self._values = Values()
        self._changed = threading.Condition()

    def set(self, key: str, value: str | bytes) -> None:
        with self._changed:
            self._values.set(key, as_bytes(value))
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        return self.multi_get([key])[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        with self._changed:
            self.wait(keys)
            return [self._values.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        with self._changed:
            super().multi_set(keys, values)

    def add(self, key: str, amount: int) -> int:
        with self._changed:
            total = self._values.add(key, amount)
            self._changed.notify_all()
            return total

    def append(self, key: str, value: str | bytes) -> None:
        with self._changed:
            self._values.append(key, as_bytes(value))
            self._changed.notify_all()

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        with self._changed:
            value = self._values.compare_set(key, as_bytes(expected), as_bytes(desired))
            self._changed.notify_all()
            return value

    def check(self, keys: Sequence[str]) -> bool:
        with self._changed:
            return not self._values.missing(keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: not self._values.missing(keys), seconds):
                missing = ", ".join(self._values.missing(keys))
                raise DistStoreError(f"wait timeout after {seconds:g} s, keys that nobody has set: {missing}")

    def delete_key(self, key: str) -> bool:
        with self._changed:
            return self._values.delete(key)

    def num_keys(self) -> int:
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        with self._changed:
            return self._values.keys()

    def queue_push(self, key: str, value: str | bytes) -> None:
        with self._changed:
            self._values.push(key, as_bytes(value))
            self._changed.notify_all()

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        with self._changed:
            seconds = self.timeout.total_seconds() if block else 0
            if not self._changed.wait_for(lambda: self._values.queue_len(key), seconds) and block:
                raise DistStoreError(f"wait timeout after {seconds:g} s, the queue {key!r} is empty")
            return self._values.pop(key)

    def queue_len(self, key: str) -> int:
        with self._changed:
            return self._values.queue_len(key)

    def has_extended_api(self) -> bool:
        return True
