"""What a store holds, and its operations, none of which waits: for the stores that lie in the memory of a process."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from weft.distributed._errors import QueueEmptyError

__all__ = ["Values", "as_bytes"]


class Values:
    """Values by key, and queues of values by key. Who shares one among threads locks it."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._queues: dict[str, deque[bytes]] = {}

    def set(self, key: str, value: bytes) -> None:
        self._values[key] = value

    def get(self, key: str) -> bytes:
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        total = self.number(key) + amount
        self._values[key] = str(total).encode()
        return total

    def number(self, key: str) -> int:
        """A counter's value, 0 at first; ValueError if the value is no number."""
        value = self._values.get(key, b"0")
        try:
            return int(value)
        except ValueError:
            raise ValueError(f"add: the value of {key!r} is no number, but {value[:40]!r}") from None

    def append(self, key: str, value: bytes) -> None:
        self._values[key] = self._values.get(key, b"") + value

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        current = self._values.get(key)
        if current == expected or (current is None and not expected):
            self._values[key] = current = desired
        return expected if current is None else current

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Those of the keys that have neither a value nor a queue with values."""
        return [key for key in keys if key not in self._values and not self._queues.get(key)]

    def delete(self, key: str) -> bool:
        has_value = self._values.pop(key, None) is not None
        return self._queues.pop(key, None) is not None or has_value

    def keys(self) -> list[str]:
        return list(self._values)

    def push(self, key: str, value: bytes) -> None:
        self._queues.setdefault(key, deque()).append(value)

    def pop(self, key: str) -> bytes:
        queue = self._queues.get(key)
        if not queue:
            raise QueueEmptyError(f"the queue {key!r} is empty")
        value = queue.popleft()
        if not queue:
            del self._queues[key]
        return value

    def queue_len(self, key: str) -> int:
        return len(self._queues.get(key, ()))


def as_bytes(value: str | bytes) -> bytes:
    """A value as stores keep it: strings in UTF-8."""
    return value.encode() if isinstance(value, str) else bytes(value)
