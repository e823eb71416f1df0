"""Calls of functions in other processes: not there, as in a PyTorch that was built without them."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["is_available"]


def is_available() -> bool:
    """False."""
    return False


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"weft.distributed.rpc has no attribute {name!r}: calls of functions in other processes are not there "
        "(is_available() is False); use weft.multiprocessing, or concurrent.futures"
    )
