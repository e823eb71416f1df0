"""`TCPStore`: a store that one process holds and others reach by TCP."""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from weft.distributed._connections import connect, listen
from weft.distributed._errors import DistNetworkError, DistStoreError, QueueEmptyError
from weft.distributed._messages import MessageError, encode, receive_message
from weft.distributed.stores._server import Reply, Request, StoreServer
from weft.distributed.stores._values import as_bytes
from weft.distributed.stores.base import Store

__all__ = ["TCPStore"]

ANSWER_SECONDS = 30.0  # beyond what a request may wait for, until the server is taken for dead


class TCPStore(Store):
    """A `Store` that one process holds, the master, and others reach by TCP.

    It listens on the address of ``host_name`` alone. Processes of the same user on the master's machine are let in;
    others only with the secret of the environment variable ``WEFT_DISTRIBUTED_SECRET``, which every process must have
    then. Messages are typed and length-checked, and nothing in them is executed.

    Parameters
    ----------
    host_name : str
        Where the master is.
    port : int
        Of the master. 0 in the master: one that is free, which `port` tells.
    world_size : int, optional
        How many processes will use the store.
    is_master : bool
    timeout : datetime.timedelta
        How long to wait for the master, for the ``world_size`` processes, and later for keys.
    wait_for_workers : bool
        The master waits until ``world_size`` processes have come.
    multi_tenant : bool
        A process that is the master twice, with one port, holds one set of values.
    master_listen_fd : int, optional
        A listening socket that the master shall use.
    use_libuv : bool
        Accepted for PyTorch's programs, without effect.

    Raises
    ------
    DistNetworkError
        If the port is in use, nobody answers in time, or the master does not let this process in.
    DistStoreError
        If fewer than ``world_size`` processes have come in time.

    Examples
    --------
    >>> store = weft.distributed.TCPStore("localhost", 0, is_master=True)
    >>> client = weft.distributed.TCPStore("localhost", store.port)
    >>> client.set("a", "b")
    >>> store.get("a")
    b'b'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        self.timeout = timeout
        self._server = _serve(host_name, port, multi_tenant, master_listen_fd) if is_master else None
        self._connect(host_name, self._server.port if self._server else port)
        if world_size is not None and world_size > 0:
            self._meet(world_size, is_master and wait_for_workers)

    def _connect(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._pid = os.getpid()
        self._idle: list[socket.socket] = []  # each request has a connection of its own, so that none waits for others
        self._lock = threading.Lock()
        first = connect((host, port), self.timeout.total_seconds(), f"the store at {host}:{port}", retry=True)
        self.local_host: str = first.getsockname()[0]  # this process's address on the way to the master
        self._idle.append(first)
        self._finalizer = weakref.finalize(self, _close_all, self._idle)

    def _meet(self, world_size: int, wait: bool) -> None:
        """Count this process; wait for the last one's message, which goes through a queue since those are no keys."""
        if self.add("init/", 1) == world_size:
            self.queue_push("init/last", b"")
        if not wait:
            return
        try:
            self.queue_pop("init/last")
        except DistStoreError:
            count = self.add("init/", 0)
            raise DistStoreError(
                f"TCPStore: after {self.timeout.total_seconds():g} s {count} of {world_size} processes have come"
            ) from None

    @property
    def host(self) -> str:
        """Where the master is."""
        return self._host

    @property
    def port(self) -> int:
        """The port of the master."""
        return self._port

    @property
    def libuvBackend(self) -> bool:
        """False: there is one backend, Python's sockets."""
        return False

    # Requests

    def set(self, key: str, value: str | bytes) -> None:
        self._ask(Request.SET, key, as_bytes(value))

    def get(self, key: str) -> bytes:
        return self.multi_get([key])[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._ask(Request.GET, list(keys), _milliseconds(self.timeout), wait=self.timeout)[0]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        _check_lengths(keys, values)
        self._ask(Request.MULTI_SET, list(keys), [as_bytes(value) for value in values])

    def add(self, key: str, amount: int) -> int:
        return self._ask(Request.ADD, key, int(amount))[0]

    def append(self, key: str, value: str | bytes) -> None:
        self._ask(Request.APPEND, key, as_bytes(value))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self._ask(Request.COMPARE_SET, key, as_bytes(expected), as_bytes(desired))[0]

    def check(self, keys: Sequence[str]) -> bool:
        return bool(self._ask(Request.CHECK, list(keys))[0])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        timeout = self.timeout if timeout is None else timeout
        self._ask(Request.WAIT, list(keys), _milliseconds(timeout), wait=timeout)

    def delete_key(self, key: str) -> bool:
        return bool(self._ask(Request.DELETE, key)[0])

    def num_keys(self) -> int:
        return len(self._ask(Request.KEYS)[0])

    def list_keys(self) -> list[str]:
        return self._ask(Request.KEYS)[0]

    def queue_push(self, key: str, value: str | bytes) -> None:
        self._ask(Request.QUEUE_PUSH, key, as_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        milliseconds = _milliseconds(self.timeout) if block else None
        return self._ask(Request.QUEUE_POP, key, milliseconds, wait=self.timeout)[0]

    def queue_len(self, key: str) -> int:
        return self._ask(Request.QUEUE_LEN, key)[0]

    def has_extended_api(self) -> bool:
        return True

    def clone(self) -> TCPStore:
        other = object.__new__(type(self))
        other.timeout = self.timeout
        other._server = self._server
        other._connect(self._host, self._port)
        return other

    # Connections

    def _ask(self, request: Request, *fields: Any, wait: timedelta = timedelta(0)) -> list[Any]:
        message = encode(request, *fields)
        connection = self._take_connection()
        try:
            connection.settimeout(wait.total_seconds() + ANSWER_SECONDS)
            connection.sendall(message)
            code, reply = receive_message(connection)
        except (OSError, MessageError) as error:
            connection.close()
            raise DistNetworkError(
                f"the store at {self._host}:{self._port} does not answer: {error}; has the process that holds it ended?"
            ) from error
        except BaseException:
            connection.close()  # a reply may still come, which nobody waits for
            raise
        with self._lock:
            self._idle.append(connection)
        if code != Reply.DONE:
            _raise(code, reply, wait)
        return reply

    def _take_connection(self) -> socket.socket:
        if self._pid != os.getpid():
            self._pid = os.getpid()  # the parent goes on to use its connections; this process makes its own
            self._lock = threading.Lock()
            _close_all(self._idle)
        with self._lock:
            if self._idle:
                return self._idle.pop()
        address = (self._host, self._port)
        return connect(address, ANSWER_SECONDS, f"the store at {self._host}:{self._port}")


def _raise(code: int, reply: list[Any], wait: timedelta) -> None:
    message = str(reply[0]) if reply else ""
    if code == Reply.TIMED_OUT:
        raise DistStoreError(f"wait timeout after {_milliseconds(wait)}ms, keys that nobody has set: {message}")
    if code == Reply.QUEUE_EMPTY:
        raise QueueEmptyError(message)
    raise ValueError(message)


def _milliseconds(time: timedelta) -> int:
    return round(time.total_seconds() * 1000)


def _check_lengths(keys: Sequence[str], values: Sequence[str | bytes]) -> None:
    if len(keys) != len(values):
        raise DistStoreError(f"multi_set: {len(keys)} keys, but {len(values)} values")


def _close_all(connections: list[socket.socket]) -> None:
    while connections:
        connections.pop().close()


# The servers of this process


class _HeldServer:
    """A server that ends with the last store that holds it: its thread refers to the server itself."""

    def __init__(self, server: StoreServer) -> None:
        self.port = server.port
        self._finalizer = weakref.finalize(self, server.close)


_servers: weakref.WeakValueDictionary[int, _HeldServer] = weakref.WeakValueDictionary()


def _serve(host: str, port: int, is_shared: bool, listen_fd: int | None) -> _HeldServer:
    held = _servers.get(port) if is_shared else None
    if held is None:
        listener = listen(host, port) if listen_fd is None else socket.socket(fileno=listen_fd)
        held = _HeldServer(StoreServer(listener))
        if is_shared:
            _servers[held.port] = held
    return held
