"""Where processes meet: by the environment, an address or a file.

======================================= ==================================================================
URL                                     where the store is
======================================= ==================================================================
``env://``                              at ``MASTER_ADDR`` and ``MASTER_PORT``, held by rank 0
``tcp://host:port?rank=0&world_size=2`` there, held by rank 0
``file:///path?rank=0&world_size=2``    in a file, which all processes can write
======================================= ==================================================================

What a URL does not say, and the caller neither, the environment does: ``RANK`` and ``WORLD_SIZE``, or else those of the
program that started the processes (MPI's ``mpiexec``, Slurm's ``srun``).
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import ParseResult, parse_qs, unquote, urlparse

from weft.distributed._errors import DistNetworkError, DistStoreError
from weft.distributed.constants import default_pg_timeout
from weft.distributed.stores import FileStore, PrefixStore, Store, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

Meeting = Iterator[tuple[Store, int, int]]

# By launcher: the variables of the rank, of the number of processes, and of the rank within the machine
LAUNCHERS = (
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)
FIRST_PORT, NUM_PORTS = 20000, 10000  # of jobs whose launcher names none
NUM_TRIED = 8
AGENT_VARIABLE = "WEFT_DISTRIBUTED_AGENT"  # set by the agent of `weft launch`, whose store all processes use


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = default_pg_timeout, **kwargs: Any
) -> Meeting:
    """Meet the other processes.

    Parameters
    ----------
    url : str
        ``env://``, ``tcp://host:port``, ``file:///path``, or of a scheme that was registered.
    rank, world_size : int
        -1: as the URL or the environment says.
    timeout : datetime.timedelta
        Of the store.

    Yields
    ------
    (Store, int, int)
        The store, this process's rank, and the number of processes.

    Raises
    ------
    ValueError
        If neither the URL nor the environment says where to meet, the rank or the number of processes.
    RuntimeError
        If no handler serves the scheme.
    """
    if not isinstance(url, str | bytes):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    parsed = urlparse(url if isinstance(url, str) else url.decode())
    if parsed.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parsed.scheme}:// (there are {', '.join(sorted(_handlers))})")
    query = {key: values[-1] for key, values in parse_qs(parsed.query).items()}
    if rank >= 0:
        query["rank"] = str(rank)
    if world_size >= 0:
        query["world_size"] = str(world_size)
    complete = parsed._replace(query="&".join(f"{key}={value}" for key, value in query.items()))
    return _handlers[parsed.scheme](complete.geturl(), timeout=timeout, **kwargs)


def register_rendezvous_handler(scheme: str, handler: Callable[..., Meeting]) -> None:
    """Let a function meet the others for the URLs of a scheme.

    Parameters
    ----------
    scheme : str
    handler : callable
        ``(url, timeout=..., **kwargs)``; yields a store, the rank and the number of processes.

    Raises
    ------
    RuntimeError
        If the scheme has a handler.
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def _meet_by_environment(url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any) -> Meeting:
    parsed = urlparse(url)
    rank, world_size = _place(url, parsed)
    host, port = master(os.environ)
    yield _tcp_store(host, port, rank, world_size, timeout), rank, world_size


def _meet_by_address(url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any) -> Meeting:
    parsed = urlparse(url)
    if parsed.hostname is None or parsed.port is None:
        raise ValueError(
            f"Error initializing torch.distributed using tcp:// rendezvous: port number missing in {url!r}"
        )
    rank, world_size = _place(url, parsed)
    yield _tcp_store(parsed.hostname, parsed.port, rank, world_size, timeout), rank, world_size


def _meet_by_file(url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any) -> Meeting:
    parsed = urlparse(url)
    path = unquote(parsed.path)
    if not path:
        raise ValueError(f"Error initializing torch.distributed using file:// rendezvous: path missing in {url!r}")
    rank, world_size = _place(url, parsed)
    store = FileStore(path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size


def _tcp_store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    """The store at an address, or that of the agent that started the processes, apart from earlier attempts'."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return TCPStore(host, port, world_size, rank == 0, timeout, multi_tenant=True)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if AGENT_VARIABLE not in os.environ:
        return _store_beside_agent(
            host, f"{os.environ.get('TORCHELASTIC_RUN_ID')}/{port}/{attempt}", rank == 0, timeout
        )
    return PrefixStore(f"/worker/attempt_{attempt}", TCPStore(host, port, world_size, False, timeout))


def _store_beside_agent(host: str, job: str, is_master: bool, timeout: timedelta) -> Store:
    """A store of the processes' own: PyTorch's agent holds one too, whose messages are others.

    It is at the first of a few ports that is free; which they are follows from the job's name, which the store repeats.
    """
    first = FIRST_PORT + zlib.crc32(job.encode()) % NUM_PORTS
    ports = range(first, first + NUM_TRIED)
    end = time.monotonic() + timeout.total_seconds()
    while True:
        for port in ports:
            with contextlib.suppress(DistNetworkError, DistStoreError):
                store = TCPStore(host, port, None, is_master, timeout if is_master else timedelta(seconds=1))
                if is_master:
                    store.set("job", job)
                    return store
                store.wait(["job"])
                if store.get("job") == job.encode():
                    store.set_timeout(timeout)
                    return store
        if is_master or time.monotonic() > end:
            raise DistNetworkError(
                f"rendezvous: {'none is free' if is_master else 'nobody of this job answers'} of the ports {first} to "
                f"{ports[-1]} of {host}"
            )
        time.sleep(0.05)


def _place(url: str, parsed: ParseResult) -> tuple[int, int]:
    """The rank and the number of processes, by the URL or the environment."""
    query = parse_qs(parsed.query)
    values = []
    for name, position in (("rank", 0), ("world_size", 1)):
        value = query[name][-1] if name in query else by_launcher(os.environ, position)
        if value is None:
            raise ValueError(
                f"Error initializing torch.distributed using {parsed.scheme}:// rendezvous: environment variable "
                f"{name.upper()} expected, but not set; or give {name} in the call or in the URL {url!r}"
            )
        values.append(int(value))
    return values[0], values[1]


def by_launcher(environment: Mapping[str, str], position: int) -> str | None:
    """The rank (0), the number of processes (1) or the rank within the machine (2), by what started this process."""
    own = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    for names in (own, *LAUNCHERS):
        if names[0] in environment or (names is own and names[position] in environment):
            return environment.get(names[position])
    return None


def master(environment: Mapping[str, str]) -> tuple[str, int]:
    """Where the store is, by the environment.

    Raises
    ------
    ValueError
        If it does not say.
    """
    host, port = environment.get("MASTER_ADDR"), environment.get("MASTER_PORT")
    job = environment.get("SLURM_JOB_ID", environment.get("SLURM_JOBID"))
    if "RANK" not in environment and job is not None and "SLURM_PROCID" in environment:
        host = host or slurm_master(environment)
        port = port or str(FIRST_PORT + int(re.sub(r"\D", "", job) or 0) % NUM_PORTS)
    for name, value in (("MASTER_ADDR", host), ("MASTER_PORT", port)):
        if not value:
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: environment variable "
                f"{name} expected, but not set; `weft launch` and torchrun set it"
            )
    assert host is not None
    assert port is not None
    return host, int(port)


def slurm_master(environment: Mapping[str, str]) -> str:
    """The first machine of a Slurm job; loopback, if there is one alone."""
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST") or ""
    count = environment.get("SLURM_STEP_NUM_NODES") or environment.get("SLURM_JOB_NUM_NODES") or "1"
    return "127.0.0.1" if count == "1" or not nodes else first_node(nodes)


def first_node(nodes: str) -> str:
    """The first name of a list as Slurm writes it: ``gpu01`` of ``gpu[01-03,07],cpu2``."""
    name = re.match(r"[^,\[]*(?:\[[^\]]*\][^,\[]*)*", nodes)
    assert name is not None
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", name.group())


_handlers: dict[str, Callable[..., Meeting]] = {
    "env": _meet_by_environment,
    "tcp": _meet_by_address,
    "file": _meet_by_file,
}
