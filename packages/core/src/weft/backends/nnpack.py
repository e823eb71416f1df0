"""A library of kernels for phones' processors, which weft does not use: its setting is kept."""

from __future__ import annotations

from contextlib import AbstractContextManager

from weft.backends._context import flags_set, replaced

enabled = True


def is_available() -> bool:
    """False: the library is not used."""
    return False


def set_flags(_enabled: bool) -> tuple[object, ...]:
    """Set the flag, and return what it was."""
    return tuple(replaced(__name__, {"enabled": _enabled}).values())


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Context manager: the flag has this value inside of the block."""
    return flags_set(__name__, {"enabled": enabled})
