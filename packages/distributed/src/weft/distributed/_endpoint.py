"""`Endpoint`: where the other processes reach this one, for connections of its communicators and for questions.

A process has one endpoint for each of its addresses, with one thread, as long as a communicator uses it. A
communicator is known there by a random token, which it publishes with the address in the store of its group. Who
connects says first what for: to open a channel to a communicator (the connection is then handed to it), or to ask what
the communicator is at.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from enum import IntEnum
from typing import Any, Protocol

from weft.distributed._connections import connect, listen, listen_locally
from weft.distributed._errors import DistNetworkError
from weft.distributed._message_server import MessageServer, Peer
from weft.distributed._messages import MessageError, encode, matches, receive_message
from weft.distributed.stores.base import PrefixStore, Store
from weft.distributed.stores.tcp import TCPStore

__all__ = ["Address", "Endpoint", "Member", "Status", "ask_status", "endpoint_for", "is_refused", "open_channel"]

MAX_LENGTH = 4096


class Request(IntEnum):
    """What somebody who connects to an endpoint wants; each begins with the token of a communicator."""

    OPEN = 1  # token, rank, channel -> is it open?
    STATUS = 2  # token -> is it a member?, and its status


Status = tuple[int, str, str]  # of the operation started last: its number, what it is, how it went ("finished")


class Member(Protocol):
    """What an endpoint asks of a communicator, from its thread."""

    def accept(self, rank: int, channel: str, connection: socket.socket) -> None:
        """Take a connection from the process of a rank."""

    def describe(self) -> Status:
        """What it is at."""


class Address:
    """Where a communicator is reached.

    Parameters
    ----------
    host, port : str, int
        From any machine.
    machine, name : str
        A Unix-domain socket, for processes of the same machine; ``"-"`` if there is none.
    token : str
        Which of the endpoint's communicators.
    """

    def __init__(self, host: str, port: int, machine: str, name: str, token: str) -> None:
        self.host, self.port, self.machine, self.name, self.token = host, port, machine, name, token

    def pack(self) -> str:
        """As a string, for a store."""
        return f"{self.host} {self.port} {self.machine} {self.name} {self.token}"

    @classmethod
    def unpack(cls, data: bytes) -> Address:
        """The reverse of `pack`."""
        host, port, machine, name, token = data.decode().split(" ")
        return cls(host, int(port), machine, name, token)

    def nearest(self) -> tuple[str, int] | bytes:
        """What this process connects to: within a machine a Unix-domain socket is several times as fast."""
        is_near = self.name != "-" and self.machine == this_machine()
        return f"\0{self.name}".encode() if is_near else (self.host, self.port)


def this_machine() -> str:
    """What tells apart machines, and the parts of one that do not share a network."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as boot_id:
            return f"{boot_id.read().strip()}/{os.stat('/proc/self/ns/net').st_ino}"
    except OSError:
        return "-"


class Endpoint:
    """The listening sockets and their thread. Use `endpoint_for`.

    Parameters
    ----------
    host : str
        This process's address.
    """

    def __init__(self, host: str) -> None:
        self.host = host
        self.pid = os.getpid()
        self._members: dict[str, Member] = {}
        listener, local = listen(host, 0), listen_locally()
        self._port = listener.getsockname()[1]
        self._name = local[1] if local else "-"
        listeners = [listener, local[0]] if local else [listener]
        self._server = MessageServer(listeners, "weft-endpoint", MAX_LENGTH, self._on_message)
        self._server.start()

    def join(self, member: Member) -> Address:
        """Make a communicator known, and return where others reach it."""
        token = secrets.token_hex(8)
        with _lock:
            self._members[token] = member
        return Address(self.host, self._port, this_machine(), self._name, token)

    def leave(self, address: Address) -> None:
        """Forget a communicator. The last one's endpoint ends."""
        with _lock:
            self._members.pop(address.token, None)
            if self._members:
                return
            if _endpoints.get((self.host, self.pid)) is self:
                del _endpoints[self.host, self.pid]
        self._server.close()

    def _on_message(self, peer: Peer, code: int, fields: list[Any]) -> None:
        member = self._members.get(fields[0]) if fields and isinstance(fields[0], str) else None
        if code == Request.OPEN and matches(fields, str, int, str):
            if member is None:
                self._server.send(peer, encode(code, 0))
                return
            self._server.send(peer, encode(code, 1))
            connection, _ = self._server.detach(peer)
            member.accept(fields[1], fields[2], connection)
        elif code == Request.STATUS and matches(fields, str):
            status = member.describe() if member else (0, "", "")
            self._server.send(peer, encode(code, int(member is not None), *status))
        else:
            raise MessageError(f"no request to an endpoint: {code}")


_endpoints: dict[tuple[str, int], Endpoint] = {}
_lock = threading.RLock()


def endpoint_for(store: Store, member: Member) -> tuple[Endpoint, Address]:
    """The process's endpoint at the address by which it reaches the holder of a store, with a new member."""
    host = local_host(store)
    with _lock:
        key = (host, os.getpid())
        if key not in _endpoints:
            _endpoints[key] = Endpoint(host)
        return _endpoints[key], _endpoints[key].join(member)


def local_host(store: Store) -> str:
    """Return this process's address on the way to the holder of a store; loopback if that is unknown."""
    root = store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store
    return root.local_host if isinstance(root, TCPStore) else "127.0.0.1"


def open_channel(address: Address, rank: int, channel: str, seconds: float, name: str) -> socket.socket:
    """Connect to another process's communicator.

    Parameters
    ----------
    address : Address
        The other's.
    rank : int
        This process's.
    channel : str
        What the connection is for.
    seconds : float
        How long to try.
    name : str
        The other's, for messages.

    Raises
    ------
    DistNetworkError
        If it does not answer, or has closed its group.
    """
    connection = _request(address, seconds, name, encode(Request.OPEN, address.token, rank, channel))
    try:
        _, fields = receive_message(connection)
    except (OSError, MessageError) as error:
        connection.close()
        raise DistNetworkError(f"{name} broke the connection: {error}") from error
    if fields != [1]:
        connection.close()
        raise DistNetworkError(f"{name} has left the group")
    return connection


def ask_status(address: Address, seconds: float, name: str) -> Status | None:
    """Ask what another process's communicator is at: as `Member.describe`; None if it has left the group.

    Raises
    ------
    DistNetworkError
        If it does not answer.
    """
    connection = _request(address, seconds, name, encode(Request.STATUS, address.token))
    with connection:
        try:
            _, fields = receive_message(connection)
        except (OSError, MessageError) as error:
            raise DistNetworkError(f"{name} does not answer: {error}") from error
    if not matches(fields, int, int, str, str):
        raise DistNetworkError(f"{name} does not answer as an endpoint does")
    is_member, *status = fields
    return tuple(status) if is_member else None


def is_refused(error: BaseException) -> bool:
    """Whether nobody listens any more where a process did."""
    return isinstance(error.__cause__, ConnectionRefusedError)


def _request(address: Address, seconds: float, name: str, message: bytes) -> socket.socket:
    connection = connect(address.nearest(), seconds, name)
    try:
        connection.sendall(message)
    except OSError as error:
        connection.close()
        raise DistNetworkError(f"{name} broke the connection: {error}") from error
    return connection
