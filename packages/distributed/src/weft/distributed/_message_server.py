"""`MessageServer`: a thread that accepts connections, finds out whose they are, and answers their messages."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from weft.distributed._authentication import RESPONSE_LENGTH, Challenge
from weft.distributed._connections import prepare
from weft.distributed._messages import HEADER, MessageError, decode

__all__ = ["MessageServer", "Peer"]

HANDSHAKE_SECONDS = 10.0
MAX_STRANGERS = 256  # connections that have not said yet who they are
RECEIVE_BYTES = 1 << 18


class Peer:
    """A connection to a `MessageServer`, from its acceptance to its end."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.challenge: Challenge | None = Challenge(connection)  # None once it was met
        self.deadline = time.monotonic() + HANDSHAKE_SECONDS
        self.received = bytearray()
        self.unsent = bytearray()


class MessageServer:
    """A thread that serves all connections to listening sockets.

    Parameters
    ----------
    listeners : sequence of socket.socket
    name : str
        Of the thread.
    max_length : int
        Of a message. A longer one ends the connection.
    on_message : callable
        ``(peer, code, fields)``, called in the thread. It answers by `send`, or takes the connection by `detach`. A
        `MessageError` ends the connection.
    on_tick : callable, optional
        Called after each round; returns how many seconds may pass until the next, or None.
    on_end : callable, optional
        Called with each peer whose connection has ended.
    """

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        name: str,
        max_length: int,
        on_message: Callable[[Peer, int, list[Any]], None],
        on_tick: Callable[[], float | None] = lambda: None,
        on_end: Callable[[Peer], None] = lambda peer: None,
    ) -> None:
        self.pid = os.getpid()
        self._listeners = list(listeners)
        self._max_length = max_length
        self._on_message, self._on_tick, self._on_end = on_message, on_tick, on_end
        self._peers: dict[socket.socket, Peer] = {}
        self._strangers: dict[socket.socket, Peer] = {}
        self._wake, self._woken = socket.socketpair()
        self._is_closing = False
        self._selector = selectors.DefaultSelector()
        for own in (*listeners, self._woken):
            own.setblocking(False)
            self._selector.register(own, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def start(self) -> None:
        """Begin to answer: called when everything that the functions of the owner use is there."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and all connections. In a forked child, where there is no thread, close the copies."""
        if self._is_closing:
            return
        self._is_closing = True
        if os.getpid() != self.pid:
            self._close_sockets()
            return
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")
        if threading.current_thread() is not self._thread:
            self._thread.join(5)

    def send(self, peer: Peer, message: bytes) -> None:
        """Send a message, now or when the peer can take it; for use in the thread."""
        peer.unsent += message
        self._flush(peer)

    def detach(self, peer: Peer) -> tuple[socket.socket, bytes]:
        """Give a peer's connection away, with what was received and not read yet; for use in the thread."""
        self._selector.unregister(peer.connection)
        del self._peers[peer.connection]
        return peer.connection, bytes(peer.received)

    # The thread

    def _serve(self) -> None:
        try:
            wait: float | None = None
            while not self._is_closing:
                for key, events in self._selector.select(self._until_next(wait)):
                    self._handle(key.fileobj, events)
                self._drop_silent_strangers()
                wait = self._on_tick()
        finally:
            self._close_sockets()

    def _until_next(self, wait: float | None) -> float | None:
        times = [] if wait is None else [wait]
        if self._strangers:
            times.append(next(iter(self._strangers.values())).deadline - time.monotonic())
        return max(0.0, min(times)) if times else None

    def _handle(self, source: Any, events: int) -> None:
        if source in self._listeners:
            self._accept(source)
        elif source is self._woken:
            self._woken.recv(64)
        elif source in self._peers:
            peer = self._peers[source]
            if events & selectors.EVENT_READ:
                self._read(peer)
            if events & selectors.EVENT_WRITE and source in self._peers:
                self._flush(peer)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        prepare(connection)
        if len(self._strangers) >= MAX_STRANGERS:
            self._end(next(iter(self._strangers.values())))
        try:
            peer = Peer(connection)
        except OSError:
            connection.close()
            return
        self._peers[connection] = self._strangers[connection] = peer
        self._selector.register(connection, selectors.EVENT_READ)
        assert peer.challenge is not None
        self.send(peer, peer.challenge.greeting)

    def _read(self, peer: Peer) -> None:
        try:
            data = peer.connection.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end(peer)
            return
        peer.received += data
        try:
            if peer.challenge is None or self._meet_challenge(peer):
                self._read_messages(peer)
        except (MessageError, OSError):  # it is gone already, when the system is asked whose it was
            self._end(peer)

    def _meet_challenge(self, peer: Peer) -> bool:
        assert peer.challenge is not None
        if len(peer.received) < RESPONSE_LENGTH:
            return False
        is_right, confirmation = peer.challenge.verdict(bytes(peer.received[:RESPONSE_LENGTH]))
        del peer.received[:RESPONSE_LENGTH]
        self.send(peer, confirmation)
        if not is_right:
            raise MessageError("the peer was not believed")
        peer.challenge = None
        self._strangers.pop(peer.connection, None)
        return True

    def _read_messages(self, peer: Peer) -> None:
        while len(peer.received) >= HEADER.size and peer.connection in self._peers:
            code, length = HEADER.unpack_from(peer.received)
            if length > self._max_length:
                raise MessageError(f"a message of {length} bytes")
            end = HEADER.size + length
            if len(peer.received) < end:
                return
            body = bytes(peer.received[HEADER.size : end])
            del peer.received[:end]
            self._on_message(peer, code, decode(body))

    def _flush(self, peer: Peer) -> None:
        try:
            while peer.unsent:
                del peer.unsent[: peer.connection.send(peer.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._end(peer)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsent else 0)
        if self._selector.get_key(peer.connection).events != events:
            self._selector.modify(peer.connection, events)

    def _drop_silent_strangers(self) -> None:
        now = time.monotonic()
        for peer in list(self._strangers.values()):
            if peer.deadline > now:
                return
            self._end(peer)

    def _end(self, peer: Peer) -> None:
        self._strangers.pop(peer.connection, None)
        if self._peers.pop(peer.connection, None) is None:
            return
        self._selector.unregister(peer.connection)
        peer.connection.close()
        self._on_end(peer)

    def _close_sockets(self) -> None:
        self._selector.close()
        for own in (*self._listeners, self._wake, self._woken, *self._peers):
            own.close()
        self._peers.clear()
        self._strangers.clear()
