"""What a checkpoint names, found without building anything."""

from __future__ import annotations

import os
import pickle
import struct
from pickle import UnpicklingError
from typing import IO

from weft.serialization._archive import ArchiveReader
from weft.serialization._budget import Budget
from weft.serialization._names import Reader
from weft.serialization._reading import length_of
from weft.serialization._safe_globals import full_name
from weft.serialization._unpicklers import allowed

LINES = {*pickle.FLOAT, *pickle.INT, *pickle.LONG, *pickle.STRING, *pickle.UNICODE, *pickle.PERSID}
FIXED = {  # bytes that follow an opcode
    **dict.fromkeys(pickle.PROTO + pickle.BININT1 + pickle.EXT1, 1),
    **dict.fromkeys(pickle.BININT2 + pickle.EXT2, 2),
    **dict.fromkeys(pickle.BININT + pickle.EXT4, 4),
    **dict.fromkeys(pickle.BINFLOAT + pickle.FRAME, 8),
}
COUNTED = {  # how the number of bytes is written that follow an opcode
    **dict.fromkeys(pickle.SHORT_BINSTRING + pickle.SHORT_BINBYTES + pickle.LONG1, struct.Struct("<B")),
    **dict.fromkeys(pickle.BINSTRING + pickle.LONG4 + pickle.BINBYTES, struct.Struct("<I")),
    **dict.fromkeys(pickle.BINBYTES8 + pickle.BYTEARRAY8, struct.Struct("<Q")),
}
TEXTS = {
    pickle.SHORT_BINUNICODE[0]: struct.Struct("<B"),
    pickle.BINUNICODE[0]: struct.Struct("<I"),
    pickle.BINUNICODE8[0]: struct.Struct("<Q"),
}
NUMBERED = {  # how the number is written of what is remembered, or fetched
    pickle.BINPUT[0]: struct.Struct("<B"),
    pickle.LONG_BINPUT[0]: struct.Struct("<I"),
    pickle.BINGET[0]: struct.Struct("<B"),
    pickle.LONG_BINGET[0]: struct.Struct("<I"),
}
FETCHES = pickle.GET + pickle.BINGET + pickle.LONG_BINGET


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """Return the names in a checkpoint that a safe load would refuse.

    Parameters
    ----------
    f : str, path or binary file that can seek

    Returns
    -------
    list of str
        Each ``module.name``, sorted: what `add_safe_globals` would have to list.
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    budget = Budget(length_of(f), "the file")
    data = ArchiveReader(f, "the file", budget).read("data.pkl").tobytes()
    known = allowed(Reader(budget)).values
    try:
        found = _globals(data)
    except (IndexError, struct.error, ValueError) as error:
        raise UnpicklingError(f"get_unsafe_globals_in_checkpoint: the pickle is damaged: {str(error)[:500]}") from error
    return sorted(name for name in found if name not in known)


def _globals(data: bytes) -> set[str]:
    """Names of all GLOBAL opcodes; those of STACK_GLOBAL from the texts, new or remembered, that go before it.

    Nothing is built, so that the time is in proportion to the length. (`pickletools.genops` takes ten times as long.)
    """
    found: set[str] = set()
    before, last = "", ""  # texts
    memo: dict[str, str] = {}
    here: str | None = None  # the text that the latest opcode has put on the stack
    position = count = 0
    while True:
        code = data[position]
        position += 1
        text: str | None = None
        if code == pickle.STOP[0]:
            return found
        if code in FIXED:
            position += FIXED[code]
        elif code in TEXTS:
            form = TEXTS[code]
            (length,) = form.unpack_from(data, position)
            position += form.size + length
            text = data[position - length : position].decode("utf-8", "surrogatepass")
        elif code in COUNTED:
            form = COUNTED[code]
            position += form.size + form.unpack_from(data, position)[0]
        elif code in NUMBERED or code in pickle.PUT + pickle.GET:
            number, position = _number(data, position, NUMBERED.get(code))
            if code in FETCHES:
                text = memo.get(number)
            elif here is not None:
                memo[number] = here
            count += code not in FETCHES
        elif code == pickle.MEMOIZE[0]:
            if here is not None:
                memo[str(count)] = here
            count += 1
        elif code in LINES:
            line, position = _line(data, position)
            text = line if code == pickle.UNICODE[0] else None
        elif code in pickle.GLOBAL + pickle.INST:
            module, position = _line(data, position)
            name, position = _line(data, position)
            found.add(full_name(module, name))
        elif code == pickle.STACK_GLOBAL[0]:
            found.add(full_name(before, last))
        elif code not in PLAIN:
            raise ValueError(f"at byte {position} stands opcode {bytes([code])!r}")
        here = text
        if text is not None:
            before, last = last, text


def _number(data: bytes, position: int, form: struct.Struct | None) -> tuple[str, int]:
    """The number of something remembered, as a text: see `weft.serialization._hashing`."""
    if form is None:
        return _line(data, position)
    return str(form.unpack_from(data, position)[0]), position + form.size


def _line(data: bytes, position: int) -> tuple[str, int]:
    end = data.index(b"\n", position)
    return data[position:end].decode("utf-8", "replace"), end + 1


PLAIN = {  # opcodes that nothing follows
    *b"".join(
        getattr(pickle, name)
        for name in "MARK POP POP_MARK DUP NONE BINPERSID REDUCE APPEND BUILD DICT EMPTY_DICT APPENDS LIST EMPTY_LIST "
        "OBJ SETITEM TUPLE EMPTY_TUPLE SETITEMS NEWOBJ TUPLE1 TUPLE2 TUPLE3 NEWTRUE NEWFALSE EMPTY_SET ADDITEMS "
        "FROZENSET NEWOBJ_EX NEXT_BUFFER READONLY_BUFFER".split()
    )
}
