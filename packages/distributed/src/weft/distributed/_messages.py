"""Messages of stores and endpoints: a code, a length, and typed fields; nothing that is received is executed.

::

    message  code (1 byte), length of the fields (4 bytes), fields
    field    "n" | "i" int64 | "b" length bytes | "s" length UTF-8 | "l" number of fields, fields (no lists)
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from weft.distributed._authentication import receive_exactly

__all__ = ["HEADER", "MAX_LENGTH", "MessageError", "decode", "encode", "receive_message"]

HEADER = struct.Struct("!BI")
MAX_LENGTH = 1 << 28
_INTEGER = struct.Struct("!q")
_LENGTH = struct.Struct("!I")


class MessageError(ValueError):
    """Received bytes are no message."""


def encode(code: int, *fields: Any) -> bytes:
    """Make a message of None, integers, bytes, strings, and lists of these.

    Raises
    ------
    ValueError
        If it is longer than `MAX_LENGTH`.
    """
    body = b"".join(part for field in fields for part in _encode_field(field))
    if len(body) > MAX_LENGTH:
        raise ValueError(f"a message to a store has at most {MAX_LENGTH} bytes; got {len(body)}")
    return HEADER.pack(code, len(body)) + body


def _encode_field(field: Any) -> Iterator[bytes]:
    if field is None:
        yield b"n"
    elif isinstance(field, int):
        yield b"i" + _INTEGER.pack(field)
    elif isinstance(field, str):
        data = field.encode()
        yield b"s" + _LENGTH.pack(len(data)) + data
    elif isinstance(field, bytes | bytearray | memoryview):
        yield b"b" + _LENGTH.pack(len(field))
        yield bytes(field)
    else:
        yield b"l" + _LENGTH.pack(len(field))
        for item in field:
            yield from _encode_field(item)


def decode(body: bytes) -> list[Any]:
    """The fields of a message.

    Raises
    ------
    MessageError
        If the bytes are no fields.
    """
    fields, position = [], 0
    while position < len(body):
        field, position = _decode_field(body, position)
        fields.append(field)
    return fields


def _decode_field(body: bytes, position: int, in_list: bool = False) -> tuple[Any, int]:
    kind, position = body[position : position + 1], position + 1
    if kind == b"n":
        return None, position
    try:
        if kind == b"i":
            return _INTEGER.unpack_from(body, position)[0], position + _INTEGER.size
        if kind not in (b"s", b"b", b"l") or (in_list and kind == b"l"):
            raise MessageError(f"no field begins with {kind!r}")
        (length,) = _LENGTH.unpack_from(body, position)
    except struct.error:
        raise MessageError("a field ends too soon") from None
    position += _LENGTH.size
    if length > len(body) - position:
        raise MessageError(f"a field of length {length} in a message of {len(body)} bytes")
    if kind == b"l":
        return _decode_list(body, position, length)
    data = body[position : position + length]
    if kind == b"b":
        return data, position + length
    try:
        return data.decode(), position + length
    except UnicodeDecodeError as error:
        raise MessageError("a string is not UTF-8") from error


def _decode_list(body: bytes, position: int, length: int) -> tuple[list[Any], int]:
    items = []
    for _ in range(length):
        item, position = _decode_field(body, position, in_list=True)
        items.append(item)
    return items, position


def receive_message(connection: socket.socket) -> tuple[int, list[Any]]:
    """Read one message from a socket that blocks: its code and its fields.

    Raises
    ------
    MessageError
        If the bytes are no message.
    ConnectionError
        If the other side closed the connection.
    """
    code, length = HEADER.unpack(receive_exactly(connection, HEADER.size))
    if length > MAX_LENGTH:
        raise MessageError(f"a message of {length} bytes")
    return code, decode(receive_exactly(connection, length))


def matches(fields: Sequence[Any], *types: type | tuple[type, ...]) -> bool:
    """Whether fields are of these types, one by one."""
    return len(fields) == len(types) and all(map(isinstance, fields, types))
