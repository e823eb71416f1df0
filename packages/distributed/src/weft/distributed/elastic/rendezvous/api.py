"""`RendezvousHandler`, what an agent asks to find the other machines' agents, and its errors."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

from weft.distributed.stores.base import Store

__all__ = [
    "RendezvousClosedError",
    "RendezvousConnectionError",
    "RendezvousError",
    "RendezvousGracefulExitError",
    "RendezvousHandler",
    "RendezvousInfo",
    "RendezvousParameters",
    "RendezvousStateError",
    "RendezvousStoreInfo",
    "RendezvousTimeoutError",
]


class RendezvousError(Exception):
    """Base of the errors of a rendezvous."""


class RendezvousClosedError(RendezvousError):
    """The job has ended, or has failed on another machine."""


class RendezvousTimeoutError(RendezvousError):
    """Too few machines came in time."""


class RendezvousConnectionError(RendezvousError):
    """The machine that holds the store cannot be reached."""


class RendezvousStateError(RendezvousError):
    """What the store has is not what this job wrote."""


class RendezvousGracefulExitError(RendezvousError):
    """The machine is not needed; no failure."""


class RendezvousParameters:
    """What the options of the launcher say of a rendezvous.

    Parameters
    ----------
    backend : str
        ``"static"`` or ``"c10d"``.
    endpoint : str
        ``host:port`` of the store.
    run_id : str
        Of the job.
    min_nodes, max_nodes : int
    local_addr : str, optional
        This machine's own address.
    **kwargs
        The pairs of ``--rdzv-conf``.

    Raises
    ------
    ValueError
        If the numbers of machines make no range, or the backend has no name.
    """

    def __init__(
        self,
        backend: str,
        endpoint: str,
        run_id: str,
        min_nodes: int,
        max_nodes: int,
        local_addr: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if min_nodes < 1:
            raise ValueError(f"The minimum number of nodes must be greater than zero, but got {min_nodes}.")
        if max_nodes < min_nodes:
            raise ValueError(
                f"The maximum number of nodes ({max_nodes}) must be greater than or equal to the minimum ({min_nodes})."
            )
        self.backend = backend
        self.endpoint = endpoint
        self.run_id = run_id
        self.min_nodes = min_nodes
        self.max_nodes = max_nodes
        self.local_addr = local_addr
        self.config = kwargs

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a pair of ``--rdzv-conf``."""
        return self.config.get(key, default)

    def get_as_int(self, key: str, default: int | None = None) -> int | None:
        """The same as a whole number."""
        value = self.get(key, default)
        return None if value is None else int(value)

    def get_as_bool(self, key: str, default: bool | None = None) -> bool | None:
        """The same as True (1, true, t, yes, y) or False (0, false, f, no, n)."""
        value = str(self.get(key, default)).lower()
        if value == "none":
            return default
        if value not in ("1", "true", "t", "yes", "y", "0", "false", "f", "no", "n"):
            raise ValueError(f"The rendezvous configuration option '{key}' does not represent a valid boolean value.")
        return value in ("1", "true", "t", "yes", "y")


@dataclass
class RendezvousStoreInfo:
    """Where the workers find the store."""

    master_addr: str
    master_port: int


@dataclass
class RendezvousInfo:
    """What a rendezvous has settled.

    Attributes
    ----------
    store : Store
        Of this start alone.
    rank, world_size : int
        Of machines.
    bootstrap_store_info : RendezvousStoreInfo
    """

    store: Store
    rank: int
    world_size: int
    bootstrap_store_info: RendezvousStoreInfo


class RendezvousHandler(abc.ABC):
    """How an agent finds the others."""

    @abc.abstractmethod
    def get_backend(self) -> str:
        """``"static"`` or ``"c10d"``."""

    @abc.abstractmethod
    def next_rendezvous(self) -> RendezvousInfo:
        """Wait for the others, at the first start and at each restart.

        Raises
        ------
        RendezvousClosedError
            If the job has ended.
        RendezvousTimeoutError
            If too few come.
        RendezvousConnectionError
            If the store cannot be reached.
        """

    @abc.abstractmethod
    def is_closed(self) -> bool:
        """Whether the job has ended."""

    @abc.abstractmethod
    def set_closed(self) -> None:
        """End the job: nobody is let in any more."""

    @abc.abstractmethod
    def num_nodes_waiting(self) -> int:
        """How many machines would be let in by a restart."""

    @abc.abstractmethod
    def get_run_id(self) -> str:
        """The job's name."""

    @abc.abstractmethod
    def shutdown(self) -> bool:
        """Free what the rendezvous holds."""

    @property
    def use_agent_store(self) -> bool:
        """Whether workers use the agents' store as theirs."""
        return False
