"""`Mailbox`: messages between pairs of processes, with tags, for any number of threads."""

from __future__ import annotations

import select
import struct
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from weft.distributed._errors import DistBackendError
from weft.distributed.communicators._dtypes import code_of_dtype, name_of_dtype
from weft.distributed.communicators._links import Deadline, Link, LinkTimeoutError, PeerGoneError, as_bytes

__all__ = ["Mailbox", "send_message"]

HEADER = struct.Struct("!BqQ")  # dtype's code, tag, bytes
MAX_UNEXPECTED_BYTES = 1 << 30  # of messages that nobody has asked for yet
LOOK_SECONDS = 0.02  # between looks at what other threads have read and who has connected


def send_message(link: Link, array: Any, tag: int, deadline: Deadline) -> None:
    """Send an array."""
    header, data = HEADER.pack(code_of_dtype(array.dtype), tag, array.nbytes), as_bytes(array)
    if len(data) <= 1 << 16:
        link.send_all(header + data, deadline)
    else:
        link.send_all(header, deadline)
        link.send_all(data, deadline)


class _Source:
    """What comes from one process."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self.is_read = False  # a thread reads the link
        self.end: PeerGoneError | None = None  # that the process has closed the link
        self.header = bytearray(HEADER.size)
        self.header_filled = 0
        self.unexpected: defaultdict[int, deque[tuple[int, bytes]]] = defaultdict(deque)  # by tag: dtype's code, data


def _without_ended(sources: dict[int, _Source]) -> dict[int, _Source]:
    """Those from which more may come; raises if there are none."""
    left = {rank: source for rank, source in sources.items() if source.end is None}
    if not left:
        end = next(iter(sources.values())).end
        assert end is not None
        raise end
    return left


class Mailbox:
    """What other processes send to this one.

    A thread that waits for a message reads the connection itself. What it reads for others it puts aside, and while
    it reads they wait for it.

    Parameters
    ----------
    rank, size : int
    check : callable
        ``(source)``, called now and then while a process has no connection yet; raises if none can come.
    """

    def __init__(self, rank: int, size: int, check: Callable[[int | None], None]) -> None:
        self._rank = rank
        self._sources = {peer: _Source() for peer in range(size) if peer != rank}
        self._changed = threading.Condition()
        self._unexpected_bytes = 0
        self._check = check

    def connect(self, rank: int, link: Link) -> None:
        """Take the connection by which a process sends."""
        with self._changed:
            old, self._sources[rank].link = self._sources[rank].link, link
            self._changed.notify_all()
        if old is not None:
            old.close()

    def receive(self, array: Any, src: int | None, tag: int, deadline: Deadline) -> int:
        """Fill an array with the next message of a tag, from one process or any, and return whose it is."""
        sources = self._sources if src is None else {src: self._sources[src]}
        while True:
            with self._changed:
                for rank, source in sources.items():
                    if source.unexpected.get(tag):
                        self._take(array, rank, source, tag)
                        return rank
                sources = _without_ended(sources)
                mine = {rank: s for rank, s in sources.items() if s.link is not None and not s.is_read}
                if not mine:
                    self._wait_for_others(sources, deadline)
                    continue
                for source in mine.values():
                    source.is_read = True
            try:
                found = self._read(array, mine, tag, deadline, is_all=len(mine) == len(sources))
            finally:
                with self._changed:
                    for source in mine.values():
                        source.is_read = False
                    self._changed.notify_all()
            if found is not None:
                return found

    def shutdown(self) -> None:
        """Let all who wait see the end."""
        with self._changed:
            for source in self._sources.values():
                if source.link is not None:
                    source.link.shutdown()
            self._changed.notify_all()

    def close(self) -> None:
        """Close the connections."""
        for source in self._sources.values():
            if source.link is not None:
                source.link.close()

    def _wait_for_others(self, sources: dict[int, _Source], deadline: Deadline) -> None:
        """Wait until a process connects, or a thread has read; called with the lock."""
        remaining = deadline.remaining()
        unconnected = [rank for rank, source in sources.items() if source.link is None]
        if remaining <= 0:
            ranks = ", ".join(map(str, sources))
            raise LinkTimeoutError(f"nothing from rank {ranks} within {deadline.seconds:g} s")
        if not self._changed.wait(min(remaining, 1.0)) and unconnected and len(sources) == 1:
            self._changed.release()
            try:
                self._check(unconnected[0])
            finally:
                self._changed.acquire()
        self._check(None)

    def _read(self, array: Any, sources: dict[int, _Source], tag: int, deadline: Deadline, is_all: bool) -> int | None:
        """Read links until a message of the tag has come; None to look again at what others have read."""
        while True:
            links = {source.link: select.POLLIN for source in sources.values() if source.link is not None}
            moved = False
            for rank, source in sources.items():
                try:
                    if not self._read_header(source):
                        continue
                except PeerGoneError as error:
                    source.end = error
                    return None
                moved = True
                code, message_tag, length = HEADER.unpack(source.header)
                source.header_filled = 0
                if message_tag == tag:
                    self._receive_into(array, rank, source, code, length, deadline, tag)
                    return rank
                self._put_aside(rank, source, message_tag, code, length, deadline)
            if moved:
                continue
            if is_all:
                deadline.wait(links)
                continue
            slice_ = Deadline(min(LOOK_SECONDS, max(0.0, deadline.remaining())))
            try:
                slice_.wait(links)
            except LinkTimeoutError:
                if deadline.remaining() <= 0:
                    raise
                return None

    def _read_header(self, source: _Source) -> bool:
        """Read what has come of a header; whether it is whole."""
        assert source.link is not None
        source.header_filled += source.link.receive_some([memoryview(source.header)[source.header_filled :]])
        return source.header_filled == HEADER.size

    def _receive_into(
        self, array: Any, rank: int, source: _Source, code: int, length: int, deadline: Deadline, tag: int
    ) -> None:
        assert source.link is not None
        if length == array.nbytes and code == code_of_dtype(array.dtype):
            self._receive_all(source, as_bytes(array), deadline)
            return
        self._put_aside(rank, source, tag, code, length, deadline)
        with self._changed:
            self._take(array, rank, source, tag)

    def _put_aside(self, rank: int, source: _Source, tag: int, code: int, length: int, deadline: Deadline) -> None:
        assert source.link is not None
        if self._unexpected_bytes + length > MAX_UNEXPECTED_BYTES:
            raise DistBackendError(
                f"recv: rank {self._rank} holds {self._unexpected_bytes} bytes of messages that no recv has asked for, "
                f"and rank {rank} sends {length} more with tag {tag}: receive in the order in which they are sent"
            )
        data = bytearray(length)
        self._receive_all(source, memoryview(data), deadline)
        with self._changed:
            self._unexpected_bytes += length
            source.unexpected[tag].append((code, bytes(data)))
            self._changed.notify_all()

    def _receive_all(self, source: _Source, into: memoryview, deadline: Deadline) -> None:
        assert source.link is not None
        try:
            source.link.receive_all(into, deadline)
        except BaseException as error:
            source.end = PeerGoneError(f"an earlier message of rank {source.link.rank} did not come: {error}")
            raise

    def _take(self, array: Any, rank: int, source: _Source, tag: int) -> None:
        """Fill an array with a message that was put aside; called with the lock."""
        code, data = source.unexpected[tag].popleft()
        if not source.unexpected[tag]:
            del source.unexpected[tag]
        self._unexpected_bytes -= len(data)
        if len(data) != array.nbytes or code != code_of_dtype(array.dtype):
            raise DistBackendError(
                f"recv: rank {rank} sent {len(data)} bytes of {name_of_dtype(code)} with tag {tag}, "
                f"but rank {self._rank} receives {array.nbytes} bytes of {array.dtype}"
            )
        as_bytes(array)[:] = data
