"""AMD's library of neural-network kernels, which weft does not use: its setting is kept."""

from __future__ import annotations

from contextlib import AbstractContextManager

from weft.backends._context import flags_set, replaced

immediate = False


def set_flags(_immediate: bool | None = None) -> tuple[object, ...]:
    """Set the flag, and return what it was."""
    return tuple(replaced(__name__, {"immediate": _immediate}).values())


def flags(immediate: bool = False) -> AbstractContextManager[None]:
    """Context manager: the flag has this value inside of the block."""
    return flags_set(__name__, {"immediate": immediate})
