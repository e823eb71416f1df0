"""`HashStore`: a store of one process, for its threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta

from weft.distributed._errors import DistStoreError
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
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def set(self, key: str, value: str | bytes) -> None:
        with self._changed:
            self._values[key] = value.encode() if isinstance(value, str) else bytes(value)
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            self._changed.notify_all()
            return total

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        with self._changed:
            if self._values.get(key, b"").decode() == expected:
                self._values[key] = desired.encode()
                self._changed.notify_all()
            return self._values.get(key, expected.encode())

    def check(self, keys: Sequence[str]) -> bool:
        return all(key in self._values for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(keys), seconds):
                missing = [key for key in keys if key not in self._values]
                raise DistStoreError(f"HashStore: after {seconds:g} s nobody has set {missing}")

    def delete_key(self, key: str) -> bool:
        with self._changed:
            return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        return len(self._values)
