"""The names that programs for several processes ask, answered for a world of one.

A program that may run alone finds out here that it does: `is_initialized` is False, ranks are 0, and after
`init_process_group` with one process every collective is the identity. More than one process is refused.
"""

from __future__ import annotations

import os
from typing import Any

from weft.distributed._several import OfSeveral
from weft.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = [
    "DeviceMesh",
    "ProcessGroup",
    "ReduceOp",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "get_backend",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "init_device_mesh",
    "init_process_group",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "reduce",
]

_backend: str | None = None


class ReduceOp:
    """How values of all processes are joined: names of the ways, which are one where there is one process."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"


class ProcessGroup(OfSeveral):
    """Some of the processes: functions take None, which is all of them."""


def is_available() -> bool:
    """True: the names are there, for one process."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return _backend is not None


def is_nccl_available() -> bool:
    """False: there is no communication between processes."""
    return False


is_gloo_available = is_mpi_available = is_torchelastic_launched = is_nccl_available


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    **kwargs: Any,
) -> None:
    """Begin the world of one process.

    Parameters
    ----------
    backend : str, optional
        Is what `get_backend` says.
    world_size : int
        Default: what the environment's ``WORLD_SIZE`` says, or 1.

    Raises
    ------
    NotImplementedError
        For more than one process.
    """
    global _backend
    size = world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", "1"))
    if size != 1:
        raise NotImplementedError(
            f"init_process_group: a world of {size} processes; weft trains in one process: start the program without a "
            "launcher, or with world_size=1"
        )
    _backend = backend or "gloo"


def destroy_process_group(group: Any = None) -> None:
    """End it."""
    global _backend
    _backend = None


def begun(name: str) -> None:
    """Raise ValueError unless `init_process_group` was called."""
    if _backend is None:
        raise ValueError(f"{name}: Default process group has not been initialized, please call init_process_group()")


def get_backend(group: Any = None) -> str:
    """What `init_process_group` was given."""
    begun("get_backend")
    return str(_backend)


def get_rank(group: Any = None) -> int:
    """0: the only process."""
    begun("get_rank")
    return 0


def get_world_size(group: Any = None) -> int:
    """1: the only process."""
    begun("get_world_size")
    return 1


def barrier(*args: Any, **kwargs: Any) -> None:
    """Wait for nobody."""
    begun("barrier")


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> None:
    """Leave the tensor: it is the sum, the mean or the largest of all processes' already."""
    begun("all_reduce")


def reduce(tensor: Any, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> None:
    """Leave the tensor."""
    begun("reduce")


def broadcast(tensor: Any, src: int = 0, group: Any = None, async_op: bool = False) -> None:
    """Leave the tensor."""
    begun("broadcast")


def broadcast_object_list(object_list: Any, src: int = 0, group: Any = None, device: Any = None) -> None:
    """Leave the list."""
    begun("broadcast_object_list")


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> None:
    """Copy the tensor into the list's only one."""
    begun("all_gather")
    tensor_list[0].copy_(tensor)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> None:
    """Copy the input, in the output's shape."""
    begun("all_gather_into_tensor")
    output_tensor.copy_(input_tensor.reshape(output_tensor.shape))


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> None:
    """Copy what this process sends to itself: all of the input."""
    begun("all_to_all_single")
    output.copy_(input)


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The only rank."""
    begun("get_process_group_ranks")
    return [0]


def all_gather_object(object_list: Any, obj: Any, group: Any = None) -> None:
    """Put the object in the list's only place."""
    begun("all_gather_object")
    object_list[0] = obj
