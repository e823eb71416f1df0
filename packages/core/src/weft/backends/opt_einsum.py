"""The library that plans products of many tensors: `weft.einsum` multiplies from left to right; settings are kept."""

from __future__ import annotations

from contextlib import AbstractContextManager

from weft.backends._context import flags_set, replaced

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False: the library is not used."""
    return False


def get_opt_einsum() -> None:
    """None: the library is not used."""


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[object, ...]:
    """Set both at once, and return what they were; None leaves one as it is."""
    return tuple(replaced(__name__, {"enabled": _enabled, "strategy": _strategy}).values())


def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]:
    """Context manager: the settings have these values inside of the block."""
    return flags_set(__name__, {"enabled": enabled, "strategy": strategy})
