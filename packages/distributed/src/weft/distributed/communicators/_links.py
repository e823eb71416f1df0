"""Links: connections to the other processes of a group, and the loops that move arrays over several at once."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy

from weft.distributed._errors import DistBackendError

__all__ = [
    "Deadline",
    "Flow",
    "Incoming",
    "Link",
    "LinkTimeoutError",
    "Outgoing",
    "PeerGoneError",
    "as_bytes",
    "exchange",
]

SEND_BYTES = 1 << 19  # at most, in one call, so that both processes send and receive by turns
RECEIVE_BYTES = 1 << 18  # likewise; what was received is still in the cache when it is added
SPIN_SECONDS = 6e-5  # looks before a thread sleeps: waking it up takes as long, and the scheduler then often puts both
# processes on one core (all-reduce of 1 KiB by two: 16 us, without 60 us; of 10 MiB: 2.2 ms, without 5 ms)
give_way = getattr(os, "sched_yield", lambda: None)  # to the other process, where they do share a core


class PeerGoneError(DistBackendError):
    """A process has closed its connection."""


class LinkTimeoutError(DistBackendError):
    """No message came within the timeout."""


class Deadline:
    """When a call that waits for others ends."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end: float | None = None

    def remaining(self) -> float:
        """How many seconds are left; they run from the first time that this is asked."""
        now = time.monotonic()
        if self._end is None:
            self._end = now + self.seconds
        return self._end - now

    def wait(self, events: dict[Link, int]) -> None:
        """Wait until one of the links can do what is wanted of it.

        Raises
        ------
        LinkTimeoutError
            When the time is over.
        """
        poll = select.poll()
        for link, wanted in events.items():
            poll.register(link.number, wanted)
        spin_end = time.perf_counter() + SPIN_SECONDS
        while time.perf_counter() < spin_end:
            if poll.poll(0):
                return
            give_way()
        if not poll.poll(max(0.0, 1000 * self.remaining())):
            ranks = ", ".join(str(link.rank) for link in sorted(events, key=attrgetter("rank")))
            raise LinkTimeoutError(f"nothing from rank {ranks} within {self.seconds:g} s")


class Link:
    """A connection to the process of a rank, which does not block."""

    __slots__ = ("number", "rank", "socket")

    def __init__(self, connection: socket.socket, rank: int) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.rank = rank
        self.number = connection.fileno()

    def send_some(self, parts: Sequence[Any]) -> int:
        """Send what the connection takes now, and return how many bytes that were."""
        try:
            return self.socket.sendmsg(parts) if len(parts) > 1 else self.socket.send(parts[0])
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self._gone() from error

    def receive_some(self, parts: Sequence[Any]) -> int:
        """Receive what has come, and return how many bytes that were."""
        try:
            count = self.socket.recvmsg_into(parts)[0] if len(parts) > 1 else self.socket.recv_into(parts[0])
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self._gone() from error
        if not count and any(map(len, parts)):
            raise self._gone()
        return count

    def send_all(self, data: Any, deadline: Deadline) -> None:
        """Send bytes."""
        data = memoryview(data)
        sent = self.send_some([data])
        while sent < len(data):
            deadline.wait({self: select.POLLOUT})
            sent += self.send_some([data[sent:]])

    def receive_all(self, into: memoryview, deadline: Deadline) -> None:
        """Receive as many bytes as there is room for."""
        filled = self.receive_some([into])
        while filled < len(into):
            deadline.wait({self: select.POLLIN})
            filled += self.receive_some([into[filled:]])

    def shutdown(self) -> None:
        """Let whoever waits for the link, here or in the other process, see its end."""
        with contextlib.suppress(OSError):  # the other process was first
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def _gone(self) -> PeerGoneError:
        return PeerGoneError(f"rank {self.rank} closed its connection (its process ended?)")


def as_bytes(array: numpy.ndarray[Any, Any]) -> memoryview:
    """The memory of a flat array; those of extension dtypes give none themselves."""
    return array.view(numpy.uint8).data


class Outgoing:
    """A header and an array that go to a link."""

    def __init__(self, link: Link, header: bytes, data: memoryview) -> None:
        self.link = link
        self._parts: list[Any] = [header, data] if len(data) else [header]

    def move(self) -> bool:
        """Send what the connection takes now; whether that was the rest."""
        count = self.link.send_some(self._parts)
        if count >= len(self._parts[0]) and len(self._parts) == 2:
            count -= len(self._parts[0])
            del self._parts[0]
        self._parts[0] = self._parts[0][count:]
        return len(self._parts) == 1 and not len(self._parts[0])


class Incoming:
    """A header and an array that come from a link.

    Parameters
    ----------
    check : callable
        ``(header, rank)``, called as soon as the header is there, which raises if another was expected.
    """

    def __init__(self, link: Link, length: int, data: memoryview, check: Callable[[bytes, int], None]) -> None:
        self.link = link
        self._header = bytearray(length)
        self._parts = [memoryview(self._header), data] if len(data) else [memoryview(self._header)]
        self._missing = length  # of the header
        self._check = check

    def move(self) -> bool:
        """Receive what has come; whether that was the rest."""
        count = self.link.receive_some(self._parts)
        if self._missing:
            of_header = min(count, self._missing)
            self._missing -= of_header
            count -= of_header
            self._parts[0] = self._parts[0][of_header:]
            if self._missing:
                return False
            self._check(bytes(self._header), self.link.rank)
            del self._parts[0]
        if self._parts:
            self._parts[0] = self._parts[0][count:]
        return not self._parts or not len(self._parts[0])


def exchange(sends: Sequence[Outgoing], receives: Sequence[Incoming], deadline: Deadline) -> None:
    """Send to some links and receive from some, all at the same time.

    When a process is gone, what the others have sent is still looked at: it may say why.
    """
    gone: list[PeerGoneError] = []
    unsent, unfilled = _move(sends, gone), list(receives)
    while (unsent or unfilled) and not gone:
        events = {transfer.link: select.POLLIN for transfer in unfilled}
        for transfer in unsent:
            events[transfer.link] = events.get(transfer.link, 0) | select.POLLOUT
        deadline.wait(events)
        unsent, unfilled = _move(unsent, gone), _move(unfilled, gone)
    if gone:
        _move(unfilled, gone)
        raise gone[0]


def _move(transfers: Sequence[Any], gone: list[PeerGoneError]) -> list[Any]:
    """Move what can be moved now; the transfers that are not done. Processes that are gone are noted."""
    pending = []
    for transfer in transfers:
        try:
            if not transfer.move():
                pending.append(transfer)
        except PeerGoneError as error:
            gone.append(error)
    return pending


class Flow:
    """A stream of arrays that comes from one link and goes on to another, each piece as soon as it has come.

    What is sent is first ``ready`` bytes that are there from the start, and then what is received, in its order.

    Parameters
    ----------
    source : Link or None
    incoming : list of arrays
        Where to put what comes.
    to : Link or None
    outgoing : list of arrays
        What to send.
    ready : int
        How many bytes of ``outgoing`` need not be received before.
    header : bytes
        Goes before the first array, and comes before it.
    check : callable
        ``(header, rank)``, which raises if another header was expected from a rank.
    combine : callable, optional
        ``(into, other)``: joins the pieces of the first ``num_combined`` incoming arrays with what is there.
    """

    def __init__(
        self,
        source: Link | None,
        incoming: Sequence[Any],
        to: Link | None,
        outgoing: Sequence[Any],
        ready: int,
        header: bytes,
        check: Callable[[bytes, int], None],
        combine: Callable[[Any, Any], None] | None = None,
        num_combined: int = 0,
    ) -> None:
        self._source, self._to = source, to
        self._header = header
        self._first = None if source is None else Incoming(source, len(header), memoryview(b""), check)
        self._incoming = [array for array in incoming if array.size]
        self._num_combined = sum(1 for array in incoming[:num_combined] if array.size)
        self._outgoing = [as_bytes(array) for array in outgoing if array.size]
        self._combine = combine
        self._ready = ready  # bytes that may be sent and were not
        self._filled = 0  # bytes of the first incoming array
        self._sent = 0  # bytes of the first outgoing array
        self._scratch: Any = None

    def run(self, deadline: Deadline) -> None:
        """Move everything."""
        if self._to is not None:
            self._to.send_all(self._header, deadline)
        while self._first is not None or self._incoming or self._outgoing:
            moved = self._send() if self._outgoing and self._ready else 0
            if self._first is not None:
                moved += self._receive_header()
            elif self._incoming:
                moved += self._receive()
            if not moved:
                deadline.wait(self._wanted())

    def _receive_header(self) -> bool:
        """Receive what has come of the header; whether that was the rest."""
        assert self._first is not None
        is_whole = self._first.move()
        if is_whole:
            self._first = None
        return is_whole

    def _wanted(self) -> dict[Link, int]:
        events: dict[Link, int] = {}
        if (self._incoming or self._first is not None) and self._source is not None:
            events[self._source] = select.POLLIN
        if self._outgoing and self._ready and self._to is not None:
            events[self._to] = events.get(self._to, 0) | select.POLLOUT
        return events

    def _send(self) -> int:
        assert self._to is not None
        data = self._outgoing[0]
        count = self._to.send_some([data[self._sent : self._sent + min(self._ready, SEND_BYTES)]])
        self._sent += count
        self._ready -= count
        if self._sent == len(data):
            self._outgoing.pop(0)
            self._sent = 0
        return count

    def _receive(self) -> int:
        assert self._source is not None
        array = self._incoming[0]
        is_combined = self._num_combined > 0
        count = self._receive_to_combine(array) if is_combined else self._receive_in_place(array)
        if self._filled == array.nbytes:
            self._incoming.pop(0)
            self._filled = 0
            self._num_combined -= is_combined
        return count

    def _receive_in_place(self, array: Any) -> int:
        assert self._source is not None
        count = self._source.receive_some([as_bytes(array)[self._filled : self._filled + RECEIVE_BYTES]])
        self._filled += count
        self._ready += count
        return count

    def _receive_to_combine(self, array: Any) -> int:
        """Receive into scratch memory, at the same offset within an item, and join the items that are whole."""
        assert self._source is not None
        assert self._combine is not None
        size = array.itemsize
        if self._scratch is None or self._scratch.dtype != array.dtype:
            self._scratch = numpy.empty(
                min(RECEIVE_BYTES // size, max(part.size for part in self._incoming)), array.dtype
            )
        offset = self._filled % size
        room = min(self._scratch.nbytes - offset, array.nbytes - self._filled)
        scratch = as_bytes(self._scratch)
        count = self._source.receive_some([scratch[offset : offset + room]])
        if not count:
            return 0
        first, whole = self._filled // size, (offset + count) // size
        self._filled += count
        if whole:
            self._combine(array[first : first + whole], self._scratch[:whole])
            scratch[: (offset + count) % size] = bytes(scratch[whole * size : offset + count])
        self._ready += whole * size
        return count
