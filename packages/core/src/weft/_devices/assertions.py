"""Device assertions: what kernels assert of values in a device's memory, looked at when the host next waits for it.

An assertion is "these integers are below a bound, and none is negative": positions below a size, a solver's info below
1. Without its sign a negative integer is a large one, so that the largest says all. A table of slots in the device's
memory holds the largest that each kind of assertion has seen; to fold another array in takes two launches and no wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

SLOTS = 256  # kinds of assertions in one table: 2 KiB, that one copy brings to the host


class IndexChecks:
    """When a device's positions are checked: what `weft.cuda.set_index_checks` sets."""

    mode = "later"


index_checks = IndexChecks()


def largest(values: Any) -> Any:
    """The largest of some integers without their sign, in an array of one element on their device."""
    values = values[tuple(slice(None, 1) if not stride else slice(None) for stride in values.strides)]  # repeated ones
    unsigned = values.view(f"u{values.dtype.itemsize}")
    return unsigned.reshape(1) if unsigned.size == 1 else unsigned.max()


def signed(value: int, itemsize: int) -> int:
    """An integer of this many bytes, of which the sign was left out."""
    bits = 8 * itemsize
    return value - (1 << bits) if value >> (bits - 1) else value


class Table:
    """Slots in a device's memory, and what each of them is for."""

    def __init__(self, xp: Any) -> None:
        self.slots = xp.zeros(SLOTS, "uint64")
        self.codes: dict[Hashable, int] = {}
        self.views: list[Any] = []
        self.bounds: list[int] = []
        self.errors: list[Callable[[int], Exception]] = []


class DeviceAssertions:
    """The assertions of a backend whose kernels run behind the host.

    Each stream of a device has tables of its own: to fold values in is to read a slot and to write it, which two
    streams must not do at once.

    Parameters
    ----------
    xp : module
        The backend's array namespace.
    to_host : callable
        The NumPy array of a device's one: the wait.

    Examples
    --------
    >>> import numpy
    >>> assertions = DeviceAssertions(numpy, numpy.array)
    >>> wrong = lambda value: IndexError(f"index {value} is out of bounds for size 3")
    >>> assertions.below(0, 0, numpy.array([0, 5]), 3, "select", wrong)
    >>> assertions.look(0)
    Traceback (most recent call last):
    IndexError: index 5 is out of bounds for size 3
    >>> assertions.look(0)
    """

    def __init__(self, xp: Any, to_host: Callable[[Any], Any]) -> None:
        self.xp = xp
        self.to_host = to_host
        self.tables: dict[tuple[int, int], list[Table]] = {}
        self.pending: set[tuple[int, int]] = set()
        self.lock = threading.Lock()

    def below(
        self, index: int, stream: int, values: Any, bound: int, key: Hashable, error: Callable[[int], Exception]
    ) -> None:
        """Assert that integers on a device are below a bound, and not negative, without waiting.

        Parameters
        ----------
        index : int
            Of the device, which is the current one.
        stream : int
            What its current stream is known by.
        values : array of integers, of at least one element
        bound : int
        key : hashable
            The same for assertions of one bound and one error.
        error : callable
            Makes the exception for the largest value, negative ones above all others.
        """
        table, code = self.slot((index, stream), (key, bound, values.dtype.itemsize), bound, error)
        view = table.views[code]
        self.xp.maximum(view, largest(values), out=view)
        self.pending.add((index, stream))

    def slot(
        self, place: tuple[int, int], key: Hashable, bound: int, error: Callable[[int], Exception]
    ) -> tuple[Table, int]:
        """Where assertions of a key are folded into."""
        with self.lock:
            tables = self.tables.setdefault(place, [])
            if not tables or (len(tables[-1].views) == SLOTS and key not in tables[-1].codes):
                tables.append(Table(self.xp))
            table = tables[-1]
            code = table.codes.setdefault(key, len(table.views))
            if code == len(table.views):
                table.views.append(table.slots[code : code + 1])
                table.bounds.append(bound)
                table.errors.append(error)
            return table, code

    def look(self, index: int, stream: int | None = None) -> None:
        """Wait for a device's assertions; those that failed are forgotten.

        Parameters
        ----------
        index : int
            Of the device.
        stream : int, optional
            The one that was waited for: what runs on others may be seen later. Default: all of them were.

        Raises
        ------
        Exception
            That of the first kind which failed.
        """
        for place in [each for each in self.pending if each[0] == index]:
            is_done = stream is None or place[1] == stream
            if is_done:
                self.pending.discard(place)
            for table in list(self.tables[place]):
                found = self.to_host(table.slots)[: len(table.views)].tolist()
                for code, value in enumerate(found):
                    if value >= table.bounds[code]:
                        del self.tables[place]
                        self.pending.discard(place)
                        raise table.errors[code](value)
            if is_done:
                self.forget(place)

    def forget(self, place: tuple[int, int]) -> None:
        """Drop tables of which all assertions hold, but for one that still has slots."""
        with self.lock:
            tables = self.tables[place]
            del tables[:-1]
            if len(tables[0].views) > SLOTS // 2:
                tables.clear()
