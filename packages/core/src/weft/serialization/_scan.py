"""What a checkpoint names, found without building anything."""

from __future__ import annotations

import os
from pickle import UnpicklingError
from typing import IO, Any

from weft.serialization._safe_globals import full_name


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
    from weft.serialization._archive import ArchiveReader
    from weft.serialization._names import Reader
    from weft.serialization._reading import allowed

    data = ArchiveReader(f, "the file").read("data.pkl").tobytes()
    known = allowed(Reader()).values
    return sorted(name for name in _globals(data) if name not in known)


def _globals(data: bytes) -> set[str]:
    """Names of all GLOBAL opcodes; those of STACK_GLOBAL from the texts, new or remembered, that go before it."""
    import pickletools

    try:
        operations = list(pickletools.genops(data))
    except (ValueError, KeyError, AttributeError) as error:
        raise UnpicklingError(f"get_unsafe_globals_in_checkpoint: the pickle is damaged: {str(error)[:500]}") from error
    found: set[str] = set()
    texts: list[Any] = []
    memo: dict[Any, Any] = {}
    last: Any = None
    for opcode, argument, _ in operations:
        last, before = None, last
        if opcode.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            found.add(full_name(module, name))
        elif opcode.name == "STACK_GLOBAL":
            found.add(full_name(*["", "", *texts][-2:]))
        elif "UNICODE" in opcode.name:
            last = argument
            texts.append(last)
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = before
        elif "PUT" in opcode.name:
            memo[argument] = before
        elif "GET" in opcode.name and isinstance(memo.get(argument), str):
            last = memo[argument]
            texts.append(last)
    return found
