"""Where processes meet: by the environment, an address or a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlparse

from weft.distributed.constants import default_pg_timeout
from weft.distributed.stores import TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]


def register_rendezvous_handler(scheme: str, handler: Any) -> None:
    """Register what serves another scheme."""
    raise NotImplementedError(scheme)


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = default_pg_timeout, **kwargs: Any
) -> Iterator[tuple[Any, int, int]]:
    """Meet the others: yields a store, this process's rank and the number of processes."""
    parsed = urlparse(url)
    rank = int(os.environ["RANK"]) if rank < 0 else rank
    world_size = int(os.environ["WORLD_SIZE"]) if world_size < 0 else world_size
    host, port = parsed.hostname, parsed.port
    if parsed.scheme == "env":
        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    assert host is not None
    assert port is not None
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    yield TCPStore(host, port, world_size, rank == 0 and not agent, timeout=timeout), rank, world_size
