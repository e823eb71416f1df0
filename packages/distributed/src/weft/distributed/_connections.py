"""Listening sockets, and connections to them."""

from __future__ import annotations

import errno
import secrets
import socket
import sys
import time

from weft.distributed._authentication import authenticate
from weft.distributed._errors import DistNetworkError

__all__ = ["connect", "listen", "listen_locally", "prepare"]

BUFFER_BYTES = 1 << 20


def listen(host: str, port: int, backlog: int = 1024) -> socket.socket:
    """Open a listening socket at a host's address; at all of the machine's, if that is not one of them.

    Raises
    ------
    DistNetworkError
        If the port is in use, or there is no such host.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise DistNetworkError(f"the host {host!r} has no address: {error}") from error
    for candidate in (address, (("::" if family == socket.AF_INET6 else "0.0.0.0"), port)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(candidate)
            listener.listen(backlog)
            return listener
        except OSError as error:
            listener.close()
            failure = error
            if error.errno != errno.EADDRNOTAVAIL:
                break
    raise DistNetworkError(f"cannot listen at {host}:{port}: {failure}") from failure


def listen_locally() -> tuple[socket.socket, str] | None:
    """Open a Unix-domain socket that has a name and no file, which Linux alone has, and return it and its name."""
    if sys.platform != "linux":
        return None
    name = f"weft-{secrets.token_hex(8)}"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0{name}")
    listener.listen(1024)
    return listener, name


def connect(address: tuple[str, int] | bytes, seconds: float, name: str, retry: bool = False) -> socket.socket:
    """Connect to a store or an endpoint, and do the handshake.

    Parameters
    ----------
    address : host and port, or name of a Unix-domain socket
    seconds : float
        How long to try.
    name : str
        What is connected to, for messages.
    retry : bool
        Nobody may listen there yet: try again.

    Raises
    ------
    DistNetworkError
        If nobody answers in time, or the other side or this one does not believe the other.
    """
    deadline, pause = time.monotonic() + seconds, 0.01
    while True:
        try:
            return _connect_once(address, max(0.1, deadline - time.monotonic()), name)
        except OSError as error:
            if not retry or time.monotonic() + pause > deadline:
                raise DistNetworkError(f"no connection to {name} within {seconds:g} s: {error}") from error
        time.sleep(pause)
        pause = min(2 * pause, 0.5)


def _connect_once(address: tuple[str, int] | bytes, seconds: float, name: str) -> socket.socket:
    if isinstance(address, bytes):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(seconds)
        connection.connect(address)
    else:
        connection = socket.create_connection(address, seconds)
    try:
        prepare(connection)
        authenticate(connection, name)
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: socket.socket) -> None:
    """Let a connection send at once, and hold much: what a loop over it moves in one call."""
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        connection.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)  # the system may allow less
