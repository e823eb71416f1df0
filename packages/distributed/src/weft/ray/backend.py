"""`WeftConfig`: how Ray's workers become a process group, at each start of the workers."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import ray
import weft.distributed as dist
from ray.train import get_context
from ray.train.backend import Backend, BackendConfig
from weft.distributed._authentication import SECRET_VARIABLE

__all__ = ["WeftConfig"]


@dataclass
class WeftConfig(BackendConfig):  # type: ignore[misc]  # Ray may not be installed
    """How the workers of a `WeftTrainer` become a process group.

    Parameters
    ----------
    backend : str, optional
        Of `weft.distributed.init_process_group`. Default: NCCL where the workers have GPUs, else TCP.
    timeout_s : float
        Seconds after which a collective that waits raises.
    """

    backend: str | None = None
    timeout_s: float = 1800

    @property
    def backend_cls(self) -> type[Backend]:
        """What Ray calls."""
        return WeftBackend

    def to_dict(self) -> dict[str, Any]:
        """The fields, for Ray's dashboard."""
        return {"backend": self.backend, "timeout_s": self.timeout_s}


class WeftBackend(Backend):  # type: ignore[misc]
    """Begins and ends the process group of a group of workers."""

    share_cuda_visible_devices = True

    def on_start(self, worker_group: Any, backend_config: WeftConfig) -> None:
        """Let the workers meet at the first one, with a secret that Ray hands to each."""
        if len(worker_group) == 0:
            return
        has_gpus = worker_group.get_resources_per_worker().get("GPU", 0) > 0
        backend = backend_config.backend or ("nccl" if has_gpus else "tcp")
        address = worker_group.execute_single(0, find_address)
        secret = secrets.token_hex(32)
        size = len(worker_group)
        ray.get(
            [
                worker_group.execute_single_async(
                    rank, begin, backend, address, secret, rank, size, backend_config.timeout_s
                )
                for rank in range(size)
            ]
        )

    def on_shutdown(self, worker_group: Any, backend_config: WeftConfig) -> None:
        """End the process group; a worker that is gone has ended its own."""
        worker_group.execute(finish)


def find_address() -> tuple[str, int]:
    """Return the worker's address, and a port that is free."""
    import socket

    from ray.util import get_node_ip_address

    host = get_node_ip_address()
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
        found.bind((host, 0))
        return host, int(found.getsockname()[1])


def begin(backend: str, address: tuple[str, int], secret: str, rank: int, size: int, seconds: float) -> None:
    """Begin the process group in a worker, whose environment says its place as a launcher's would."""
    context = get_context()
    place = {
        "LOCAL_RANK": context.get_local_rank(),
        "LOCAL_WORLD_SIZE": context.get_local_world_size(),
        "MASTER_ADDR": address[0],
        "MASTER_PORT": address[1],
        "NODE_RANK": context.get_node_rank(),
        "RANK": rank,
        "WORLD_SIZE": size,
        SECRET_VARIABLE: secret,
    }
    os.environ.update({name: str(value) for name, value in place.items()})
    dist.init_process_group(backend, "env://", rank=rank, world_size=size, timeout=timedelta(seconds=seconds))


def finish() -> None:
    """End the process group in a worker."""
    if dist.is_initialized():
        dist.destroy_process_group()
