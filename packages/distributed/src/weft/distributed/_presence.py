"""`Presence`: what a process tells the others of a group about itself, and learns from them when it waits in vain."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from weft.distributed._endpoint import Address, Status, ask_status, endpoint_for, is_refused
from weft.distributed._errors import DistError

__all__ = ["Presence"]

ANSWER_SECONDS = 2.0  # of a process that has ended one knows at once
MAX_QUESTIONS = 32  # at the same time


class Presence:
    """A process's place in a group, whatever engine carries the group's messages.

    Parameters
    ----------
    store : Store
        Of the group.
    rank : int
        In the group.
    ranks : sequence of int
        The global ranks of the group's processes, for messages.
    status : callable
        What this process is at: the number of the last operation that it started, what that is, and how it went.
    """

    def __init__(self, store: Any, rank: int, ranks: Sequence[int], status: Callable[[], Status]) -> None:
        self._store = store
        self._rank = rank
        self._ranks = ranks
        self._status = status
        self._endpoint, self._address = endpoint_for(store, self)
        store.set(f"presence/{rank}", self._address.pack())

    def who_is_missing(self, sequence: int) -> str:
        """Ask all others what they are at, and say who has not come to an operation or failed in it.

        Parameters
        ----------
        sequence : int
            The operation that this process waits in.
        """
        others = [rank for rank in range(len(self._ranks)) if rank != self._rank]
        with ThreadPoolExecutor(min(MAX_QUESTIONS, max(1, len(others)))) as pool:
            reports = list(pool.map(partial(self._report, sequence), others))
        return "; ".join(report for report in reports if report)

    def close(self) -> None:
        """Answer no more."""
        self._endpoint.leave(self._address)

    def _report(self, sequence: int, rank: int) -> str:
        name = f"rank {self._ranks[rank]}"
        try:
            key = f"presence/{rank}"
            if not self._store.check([key]):
                return f"{name} has not called any collective of the group"
            address = Address.unpack(self._store.get(key))
        except DistError:
            return f"{name} cannot be asked: the store does not answer"
        try:
            status = ask_status(address, ANSWER_SECONDS, name)
        except DistError as error:
            return f"{name} is gone (its process ended?)" if is_refused(error) else f"{name} does not answer"
        if status is None:
            return f"{name} has left the group"
        last, description, state = status
        if last == 0:
            return f"{name} has not called any collective of the group"
        if last < sequence:
            return f"{name} has not called #{sequence} (its last: {description}, {state})"
        return "" if state in ("finished", "not finished") else f"{name} {state} in {description}"

    # What the endpoint asks

    def describe(self) -> Status:
        """What this process is at."""
        return self._status()

    def accept(self, rank: int, channel: str, connection: socket.socket) -> None:
        """Nobody connects for anything but questions."""
        connection.close()
