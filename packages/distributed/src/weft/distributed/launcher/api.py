"""`elastic_launch`: workers on this machine, with those of others, as a function that returns when they have ended."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from weft.distributed._authentication import SECRET_VARIABLE
from weft.distributed.elastic.agent.server.api import WorkerSpec
from weft.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from weft.distributed.elastic.multiprocessing.api import DefaultLogsSpecs, LogsSpecs, SignalException, Std
from weft.distributed.elastic.multiprocessing.errors import ChildFailedError
from weft.distributed.elastic.rendezvous.api import RendezvousParameters
from weft.distributed.elastic.rendezvous.store_rendezvous import StoreRendezvous

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

BACKENDS = ("static", "c10d")


@dataclass
class LaunchConfig:
    """How workers are launched.

    Parameters
    ----------
    min_nodes, max_nodes : int
        Of machines.
    nproc_per_node : int
        Workers on this one.
    logs_specs : LogsSpecs, optional
    run_id : str
        The job's name, the same on all machines; by default a random one.
    role : str
    rdzv_endpoint : str
        ``host:port`` of the machine that holds the store.
    rdzv_backend : str
        ``"static"`` (machines have numbers) or ``"c10d"`` (they get them).
    rdzv_configs : dict
        Of `StoreRendezvous`.
    rdzv_timeout : int
        Seconds to wait for other machines; -1 leaves it to ``rdzv_configs``.
    max_restarts : int
        How often the workers are started again after a failure.
    monitor_interval : float
        Seconds between looks at them.
    start_method : str
        Of workers that are functions.
    log_line_prefix_template, local_addr, signals_to_handle, virtual_local_rank, shutdown_timeout
        As the options of the same names of `weft launch`.
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        elif "timeout" not in self.rdzv_configs:
            self.rdzv_configs["timeout"] = 900
        if self.rdzv_backend not in BACKENDS:
            raise ValueError(f"LaunchConfig: rdzv_backend is one of {', '.join(BACKENDS)}; got {self.rdzv_backend!r}")
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs(tee=Std.NONE, redirects=Std.NONE)


class elastic_launch:
    """Run a function or a command in several workers, with ``elastic_launch(config, entrypoint)(*args)``.

    Parameters
    ----------
    config : LaunchConfig
    entrypoint : callable or str
        A function, or a program's path; None is this Python.

    Returns
    -------
    dict of int to Any
        What each worker of this machine returned, by global rank.

    Raises
    ------
    ChildFailedError
        If workers have failed, and were not to be started again.
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config = config
        self._entrypoint = entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any]) -> dict[int, Any]:
    """Run the agent of this machine; what `elastic_launch` does."""
    logs_specs = config.logs_specs or DefaultLogsSpecs()
    rendezvous = StoreRendezvous(_parameters(config))
    spec = WorkerSpec(
        role=config.role,
        local_world_size=config.nproc_per_node,
        rdzv_handler=rendezvous,
        entrypoint=entrypoint or sys.executable,
        args=tuple(args),
        max_restarts=config.max_restarts,
        monitor_interval=config.monitor_interval,
        local_addr=config.local_addr,
        virtual_local_rank=config.virtual_local_rank,
    )
    agent = LocalElasticAgent(
        spec,
        logs_specs,
        config.start_method,
        log_line_prefix_template=config.log_line_prefix_template,
        shutdown_timeout=config.shutdown_timeout,
    )
    try:
        with _secret(config.max_nodes), _signals_raised(config.signals_to_handle):
            result = agent.run()
        if result.is_failed():
            rendezvous.set_closed()
            raise ChildFailedError(_name(spec.get_entrypoint_name(), args), result.failures)
        return result.return_values
    except SignalException:
        rendezvous.set_closed()
        raise
    finally:
        rendezvous.shutdown()
        if isinstance(logs_specs, DefaultLogsSpecs):
            logs_specs._clean()


def _parameters(config: LaunchConfig) -> RendezvousParameters:
    """The rendezvous of the configuration; one machine alone holds a store at a port that is free."""
    backend, endpoint = config.rdzv_backend, config.rdzv_endpoint
    if not endpoint:
        if config.max_nodes > 1:
            raise ValueError("LaunchConfig: several nodes need rdzv_endpoint, the host:port of one of them")
        backend, endpoint = "c10d", "localhost:0"
    run_id = config.run_id or str(uuid.uuid4())
    return RendezvousParameters(
        backend, endpoint, run_id, config.min_nodes, config.max_nodes, config.local_addr, **config.rdzv_configs
    )


def _name(entrypoint: str, args: list[Any]) -> str:
    """What the summary calls the program: the script, where Python runs one."""
    if entrypoint == sys.executable:
        words = iter(str(each) for each in args)
        for word in words:
            if word == "-m":
                module = next(words, word)
                if module != "weft":
                    return module
                next(words, None)  # run
            elif not word.startswith("-"):
                return word
    return os.path.basename(entrypoint)


@contextlib.contextmanager
def _secret(max_nodes: int) -> Iterator[None]:
    """A block in which workers inherit a secret: one for this job, if it has one machine and none was given."""
    if max_nodes > 1 or SECRET_VARIABLE in os.environ:
        yield
        return
    os.environ[SECRET_VARIABLE] = secrets.token_hex(32)
    try:
        yield
    finally:
        del os.environ[SECRET_VARIABLE]


@contextlib.contextmanager
def _signals_raised(names: str) -> Iterator[None]:
    """A block in which signals raise SignalException; in other threads than the main one they are left alone."""

    def raise_signal(number: int, frame: FrameType | None) -> None:
        raise SignalException(f"process {os.getpid()} got signal {number}", signal.Signals(number))

    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in names.split(","):
            number = getattr(signal, name.strip(), None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                previous[number] = signal.signal(number, raise_signal)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
