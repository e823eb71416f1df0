"""Who is at the other end of a connection: a process with the shared secret, or one of the same user on this machine.

The side that was connected to sends a greeting, the other answers, and the first confirms::

    greeting      magic, whether a secret is asked for (1 byte), nonce (32 bytes)
    response      magic, nonce (32 bytes), HMAC-SHA256 of both nonces by the secret (32 bytes)
    confirmation  verdict (1 byte), HMAC-SHA256 of both nonces by the secret (32 bytes)

All three are of fixed length, and nothing else is read before they are right. Without a secret, the system is asked
whose the other end's socket is.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import socket
import struct
import sys

from weft.distributed._errors import DistNetworkError

__all__ = ["SECRET_VARIABLE", "Challenge", "authenticate", "shared_secret"]

SECRET_VARIABLE = "WEFT_DISTRIBUTED_SECRET"
MAGIC = b"weft-d1\n"
NONCE = 32
GREETING_LENGTH = len(MAGIC) + 1 + NONCE
RESPONSE_LENGTH = len(MAGIC) + NONCE + hashlib.sha256().digest_size
CONFIRMATION_LENGTH = 1 + hashlib.sha256().digest_size
ACCEPTED, WRONG_SECRET, OTHER_USER = b"\x00", b"\x01", b"\x02"

HOW_TO_SHARE = (
    f"Set {SECRET_VARIABLE} to the same value, which nobody else knows, in all processes (`weft launch` does)."
)


def shared_secret() -> bytes | None:
    """The secret of this process's environment; None if it has none."""
    return os.environ.get(SECRET_VARIABLE, "").encode() or None


class Challenge:
    """The side of the handshake that was connected to, as fixed strings of bytes: for sockets that do not block.

    Parameters
    ----------
    connection : socket.socket
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.secret = shared_secret()
        self.nonce = secrets.token_bytes(NONCE)
        self.greeting = MAGIC + (b"\x01" if self.secret else b"\x00") + self.nonce

    def verdict(self, response: bytes) -> tuple[bool, bytes]:
        """Whether a response is right, and the confirmation to send."""
        magic, nonce, digest = _split(response, len(MAGIC), NONCE)
        if magic != MAGIC:
            return False, b""
        if self.secret is None:
            allowed = is_same_user(self.connection)
            return allowed, (ACCEPTED if allowed else OTHER_USER) + bytes(CONFIRMATION_LENGTH - 1)
        if not hmac.compare_digest(digest, _digest(self.secret, b"client", self.nonce, nonce)):
            return False, WRONG_SECRET + bytes(CONFIRMATION_LENGTH - 1)
        return True, ACCEPTED + _digest(self.secret, b"server", self.nonce, nonce)


def authenticate(connection: socket.socket, peer: str) -> None:
    """Do the handshake on the side that connected.

    Parameters
    ----------
    connection : socket.socket
        With a timeout set.
    peer : str
        What was connected to, for messages.

    Raises
    ------
    DistNetworkError
        If the other side is none of ours, or asks for a secret that this process does not have.
    """
    magic, asks, server_nonce = _split(receive_exactly(connection, GREETING_LENGTH), len(MAGIC), 1)
    if magic != MAGIC:
        raise DistNetworkError(f"{peer} is another program: it does not answer as weft.distributed does")
    secret = shared_secret() if asks == b"\x01" else None
    if asks == b"\x01" and secret is None:
        raise DistNetworkError(f"{peer} asks for a shared secret, and this process has none. {HOW_TO_SHARE}")
    if secret is None and not is_same_user(connection):
        raise DistNetworkError(
            f"{peer} belongs to another user, or to another machine, and asks for no secret. {HOW_TO_SHARE}"
        )
    nonce = secrets.token_bytes(NONCE)
    digest = _digest(secret, b"client", server_nonce, nonce) if secret else bytes(hashlib.sha256().digest_size)
    connection.sendall(MAGIC + nonce + digest)
    verdict, digest = _split(receive_exactly(connection, CONFIRMATION_LENGTH), 1)
    if verdict == WRONG_SECRET:
        raise DistNetworkError(f"{peer} has another secret than this process. {HOW_TO_SHARE}")
    if verdict == OTHER_USER:
        raise DistNetworkError(
            f"{peer} believes only processes of its own user and machine, since it has no shared secret. {HOW_TO_SHARE}"
        )
    if secret and not hmac.compare_digest(digest, _digest(secret, b"server", server_nonce, nonce)):
        raise DistNetworkError(f"{peer} does not know the shared secret")


def receive_exactly(connection: socket.socket, length: int) -> bytes:
    """Read a known number of bytes from a socket that blocks.

    Raises
    ------
    ConnectionError
        If the other side closes it before.
    """
    data = bytearray(length)
    view, filled = memoryview(data), 0
    while filled < length:
        count = connection.recv_into(view[filled:])
        if not count:
            raise ConnectionResetError("the other side closed the connection")
        filled += count
    return bytes(data)


def _digest(secret: bytes, role: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    return hmac.new(secret, role + server_nonce + client_nonce, hashlib.sha256).digest()


def _split(data: bytes, *lengths: int) -> tuple[bytes, ...]:
    parts, start = [], 0
    for length in lengths:
        parts.append(data[start : start + length])
        start += length
    return (*parts, data[start:])


# Whose socket it is


def can_tell_users() -> bool:
    """Whether the system says which user has a socket of this machine."""
    return sys.platform == "linux" and os.path.exists("/proc/net/tcp")


def is_same_user(connection: socket.socket) -> bool:
    """Whether the other end of a connection is a socket of this machine and of this process's user.

    Where the system does not tell users, whether it is of this machine.
    """
    if connection.family == socket.AF_UNIX:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return struct.unpack("3i", credentials)[1] == os.geteuid()
    if not can_tell_users():
        return is_loopback(connection.getpeername()[0])
    return _socket_user(connection.getpeername(), connection.getsockname()) == os.geteuid()


def is_loopback(address: str) -> bool:
    """Whether a numeric address is reached from this machine alone."""
    return address.startswith(("127.", "::ffff:127.")) or address == "::1"


def _socket_user(local: tuple[str, int], remote: tuple[str, int]) -> int | None:
    """The user of the TCP socket that lies between two addresses, by the system's tables; None if there is none."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        wanted = [_row_address(local, table.endswith("6")), _row_address(remote, table.endswith("6"))]
        try:
            with open(table) as rows:
                for row in rows:
                    columns = row.split()
                    if columns[1:3] == wanted:
                        return int(columns[7])
        except OSError:
            continue
    return None


def _row_address(address: tuple[str, int], is_6: bool) -> str:
    """An address as the tables write it: its 4-byte words in hexadecimal, in the machine's order, and its port."""
    host, port = address[:2]
    if is_6:
        packed = socket.inet_pton(socket.AF_INET6, host if ":" in host else f"::ffff:{host}")
    else:
        host = host.removeprefix("::ffff:")
        if ":" in host:
            return ""
        packed = socket.inet_aton(host)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"
