"""Who came to a collective, by way of the store: only waits of some time tell, so that the others cost nothing."""

from __future__ import annotations

from typing import Any

__all__ = ["TELLS_AFTER_SECONDS", "missing", "tell"]

TELLS_AFTER_SECONDS = 1.0


def tell(communicator: Any, sequence: int) -> None:
    """Say in the store that this rank waits in a collective."""
    communicator.store.set(f"waits/{sequence}/{communicator.rank}", b"")


def missing(communicator: Any, sequence: int, seconds: float) -> str:
    """What an error says after a timeout: which ranks do not wait in the collective."""
    others = [rank for rank in range(communicator.size) if rank != communicator.rank]
    absent = [rank for rank in others if not communicator.store.check([f"waits/{sequence}/{rank}"])]
    if not absent:
        return f"not done after {seconds:g} s, though all ranks came"
    return f"after {seconds:g} s rank(s) {', '.join(map(str, absent))} of the group did not come"
