"""The process's part of a `TCPStore` that holds the values: one thread, which answers all clients."""

from __future__ import annotations

import socket
import time
from collections import defaultdict
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from weft.distributed._message_server import MessageServer, Peer
from weft.distributed._messages import MAX_LENGTH, MessageError, encode
from weft.distributed.stores._values import Values

__all__ = ["Reply", "Request", "StoreServer"]


class Request(IntEnum):
    """What a client asks; the comment has the fields, and those of the reply."""

    SET = 1  # key, value
    GET = 2  # keys, milliseconds -> values
    WAIT = 3  # keys, milliseconds
    ADD = 4  # key, amount -> sum
    CHECK = 5  # keys -> 1 or 0
    COMPARE_SET = 6  # key, expected, desired -> value
    DELETE = 7  # key -> 1 or 0
    KEYS = 8  # -> keys
    APPEND = 9  # key, value
    MULTI_SET = 10  # keys, values
    QUEUE_PUSH = 11  # key, value
    QUEUE_POP = 12  # key, milliseconds (None: do not wait) -> value
    QUEUE_LEN = 13  # key -> length


class Reply(IntEnum):
    """How a request ended; all but DONE have one field, the message."""

    DONE = 0
    TIMED_OUT = 1
    QUEUE_EMPTY = 2
    WRONG_VALUE = 3


class _Waiting:
    """A request that waits for keys."""

    def __init__(self, peer: Peer, code: int, keys: list[str], milliseconds: int) -> None:
        self.peer, self.code, self.keys = peer, code, keys
        self.deadline = time.monotonic() + milliseconds / 1000


class StoreServer:
    """The values of a `TCPStore`, served at a listening socket."""

    def __init__(self, listener: socket.socket) -> None:
        self._values = Values()
        self._waiting: defaultdict[str, list[_Waiting]] = defaultdict(list)  # by the first key that is missing
        self._answers: dict[int, tuple[tuple[Any, ...], Callable[..., Any]]] = {
            Request.SET: ((str, bytes), self._set),
            Request.ADD: ((str, int), self._add),
            Request.CHECK: ((list,), lambda keys: [int(not self._values.missing(_strings(keys)))]),
            Request.COMPARE_SET: ((str, bytes, bytes), self._compare_set),
            Request.DELETE: ((str,), lambda key: [int(self._values.delete(key))]),
            Request.KEYS: ((), lambda: [self._values.keys()]),
            Request.APPEND: ((str, bytes), self._append),
            Request.MULTI_SET: ((list, list), self._multi_set),
            Request.QUEUE_PUSH: ((str, bytes), self._queue_push),
            Request.QUEUE_LEN: ((str,), lambda key: [self._values.queue_len(key)]),
        }
        self.port: int = listener.getsockname()[1]
        self._server = MessageServer(
            [listener], "weft-store", MAX_LENGTH, self._on_message, on_tick=self._on_tick, on_end=self._on_end
        )
        self._server.start()

    def close(self) -> None:
        """End the thread and all connections."""
        self._server.close()

    def _on_message(self, peer: Peer, code: int, fields: list[Any]) -> None:
        if code in (Request.GET, Request.WAIT, Request.QUEUE_POP):
            self._wait(peer, code, fields)
            return
        if code not in self._answers:
            raise MessageError(f"no request has the code {code}")
        types, answer = self._answers[code]
        _check(fields, types)
        try:
            reply = encode(Reply.DONE, *(answer(*fields) or ()))
        except (ValueError, OverflowError) as error:
            if isinstance(error, MessageError):
                raise
            reply = encode(Reply.WRONG_VALUE, str(error))
        self._server.send(peer, reply)

    # Requests that change values, and so may end the waiting of others

    def _set(self, key: str, value: bytes) -> None:
        self._values.set(key, value)
        self._changed(key)

    def _add(self, key: str, amount: int) -> list[int]:
        total = self._values.add(key, amount)
        self._changed(key)
        return [total]

    def _compare_set(self, key: str, expected: bytes, desired: bytes) -> list[bytes]:
        value = self._values.compare_set(key, expected, desired)
        self._changed(key)
        return [value]

    def _append(self, key: str, value: bytes) -> None:
        self._values.append(key, value)
        self._changed(key)

    def _multi_set(self, keys: list[Any], values: list[Any]) -> None:
        _check(values, (bytes,) * len(keys))
        for key, value in zip(_strings(keys), values, strict=True):
            self._set(key, value)

    def _queue_push(self, key: str, value: bytes) -> None:
        self._values.push(key, value)
        self._changed(key)

    # Requests that wait

    def _wait(self, peer: Peer, code: int, fields: list[Any]) -> None:
        if code == Request.QUEUE_POP:
            _check(fields, (str, (int, type(None))))
            keys, milliseconds = [fields[0]], fields[1]
            if milliseconds is None and not self._values.queue_len(fields[0]):
                self._server.send(peer, encode(Reply.QUEUE_EMPTY, f"the queue {fields[0]!r} is empty"))
                return
        else:
            _check(fields, (list, int))
            keys, milliseconds = _strings(fields[0]), fields[1]
        self._answer_or_wait(_Waiting(peer, code, keys, milliseconds or 0))

    def _answer_or_wait(self, waiting: _Waiting) -> None:
        if waiting.code == Request.QUEUE_POP:
            missing = [] if self._values.queue_len(waiting.keys[0]) else waiting.keys
        else:
            missing = self._values.missing(waiting.keys)
        if missing:
            self._waiting[missing[0]].append(waiting)
        else:
            self._server.send(waiting.peer, self._answer(waiting))

    def _answer(self, waiting: _Waiting) -> bytes:
        if waiting.code == Request.WAIT:
            return encode(Reply.DONE)
        if waiting.code == Request.QUEUE_POP:
            return encode(Reply.DONE, self._values.pop(waiting.keys[0]))
        try:
            return encode(Reply.DONE, [self._values.get(key) for key in waiting.keys])
        except (KeyError, ValueError) as error:
            return encode(Reply.WRONG_VALUE, f"get: {error}")

    def _changed(self, key: str) -> None:
        for waiting in self._waiting.pop(key, ()):
            self._answer_or_wait(waiting)

    def _on_tick(self) -> float | None:
        """Answer those whose time is over; return how long the next has."""
        if not self._waiting:
            return None
        now, first = time.monotonic(), None
        for key, all_waiting in list(self._waiting.items()):
            for waiting in [waiting for waiting in all_waiting if waiting.deadline <= now]:
                all_waiting.remove(waiting)
                self._server.send(waiting.peer, encode(Reply.TIMED_OUT, ", ".join(self._missing(waiting))))
            for waiting in all_waiting:
                first = waiting.deadline if first is None else min(first, waiting.deadline)
            if not self._waiting[key]:
                del self._waiting[key]
        return None if first is None else max(0.0, first - now)

    def _missing(self, waiting: _Waiting) -> list[str]:
        return waiting.keys if waiting.code == Request.QUEUE_POP else self._values.missing(waiting.keys)

    def _on_end(self, peer: Peer) -> None:
        for key, all_waiting in list(self._waiting.items()):
            self._waiting[key] = [waiting for waiting in all_waiting if waiting.peer is not peer]
            if not self._waiting[key]:
                del self._waiting[key]


def _check(fields: list[Any], types: tuple[Any, ...]) -> None:
    if len(fields) != len(types) or not all(map(isinstance, fields, types)):
        raise MessageError("the fields of a request are of other types")


def _strings(keys: list[Any]) -> list[str]:
    _check(keys, (str,) * len(keys))
    return keys
