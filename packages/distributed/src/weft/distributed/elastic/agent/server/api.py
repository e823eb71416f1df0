"""What describes workers: `WorkerSpec`, `Worker`, `WorkerGroup`, and `RunResult`, how they ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from weft.distributed.elastic.multiprocessing.errors import ProcessFailure
from weft.distributed.elastic.rendezvous.api import RendezvousHandler

__all__ = ["RunResult", "Worker", "WorkerGroup", "WorkerSpec", "WorkerState"]


@dataclass
class WorkerSpec:
    """The workers of one machine.

    Parameters
    ----------
    role : str
        What they are called.
    local_world_size : int
        How many.
    rdzv_handler : RendezvousHandler
    entrypoint : callable or str
        What they run; ``fn`` is an older name.
    args : tuple
    max_restarts : int
        How often they are started again after a failure.
    monitor_interval : float
        Seconds between looks at them.
    master_addr, master_port, local_addr : optional
        Addresses that are not to be found out.
    virtual_local_rank : bool
        Each worker sees one GPU, and ``LOCAL_RANK=0``.
    """

    role: str
    local_world_size: int
    rdzv_handler: RendezvousHandler
    fn: Callable[..., Any] | None = None
    entrypoint: Callable[..., Any] | str | None = None
    args: tuple[Any, ...] = ()
    max_restarts: int = 3
    monitor_interval: float = 0.1
    master_port: int | None = None
    master_addr: str | None = None
    local_addr: str | None = None
    virtual_local_rank: bool = False

    def __post_init__(self) -> None:
        if self.local_world_size < 1:
            raise ValueError(f"WorkerSpec: local_world_size must be at least 1; got {self.local_world_size}")
        if self.monitor_interval <= 0:
            raise ValueError(f"WorkerSpec: monitor_interval must be positive; got {self.monitor_interval}")
        self.entrypoint = self.entrypoint or self.fn
        if self.entrypoint is None:
            raise ValueError("WorkerSpec: entrypoint is missing, a function or a command")

    def get_entrypoint_name(self) -> str:
        """The function's name, or the command's."""
        return self.entrypoint if isinstance(self.entrypoint, str) else getattr(self.entrypoint, "__qualname__", "")


@dataclass
class Worker:
    """One worker's numbers: in its machine, in all, and among those of its role."""

    local_rank: int
    global_rank: int = -1
    role_rank: int = -1
    world_size: int = -1
    role_world_size: int = -1


class WorkerState(str, Enum):  # noqa: UP042  # as PyTorch's: its str() is the member's name
    """What becomes of the workers of one machine."""

    UNKNOWN = "UNKNOWN"
    INIT = "INIT"
    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


@dataclass
class WorkerGroup:
    """The workers of one machine in one start."""

    spec: WorkerSpec
    workers: list[Worker]
    group_rank: int
    group_world_size: int
    master_addr: str
    master_port: int
    attempt: int


@dataclass
class RunResult:
    """How the workers of one machine ended: what they returned, or how they failed, by global rank."""

    state: WorkerState
    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether they have failed."""
        return self.state is WorkerState.FAILED
