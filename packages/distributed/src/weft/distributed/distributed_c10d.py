"""The names of process groups and collectives, gathered from the modules that have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import weft
from weft.distributed._backends import Backend, BackendConfig, is_backend_available
from weft.distributed._collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
    supports_complex,
)
from weft.distributed._collectives import stop_at as breakpoint
from weft.distributed._debug import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from weft.distributed._errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from weft.distributed._group_methods import (
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from weft.distributed._groups import (
    GroupMember,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    shrink_group,
    split_group,
)
from weft.distributed._groups import _get_default_group as _get_default_group
from weft.distributed._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from weft.distributed._point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from weft.distributed._process_group import ProcessGroup
from weft.distributed._reduce_ops import PremulSum, ReduceOp
from weft.distributed._work import Work
from weft.distributed.constants import default_pg_timeout as default_pg_timeout
from weft.distributed.rendezvous import register_rendezvous_handler, rendezvous
from weft.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore

__all__ = [
    "AllToAllOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "Backend",
    "BackendConfig",
    "BarrierOptions",
    "BroadcastOptions",
    "DebugLevel",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "QueueEmptyError",
    "DistStoreError",
    "FileStore",
    "GatherOptions",
    "GroupMember",
    "GroupName",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "ReduceOp",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "breakpoint",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "record_comm",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "register_rendezvous_handler",
    "rendezvous",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "shrink_group",
    "split_group",
    "supports_complex",
]

reduce_op = ReduceOp
GroupName = str  # groups are named by strings


@contextmanager
def record_comm(name: str) -> Iterator[None]:
    """Show what is done in the block under this name in profiles."""
    with weft.profiler.record_function(name):
        yield


def is_available() -> bool:
    """Whether there are process groups: True, weft-distributed is installed."""
    return True


def is_gloo_available() -> bool:
    """Whether the name ``gloo`` can be asked for: True, it stands for the CPU's engine."""
    return True


def is_mpi_available() -> bool:
    """Whether there is an MPI: mpi4py, with a library beside it."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """Whether there is NCCL: CuPy, with NVIDIA's library beside it."""
    try:
        from cupy.cuda import nccl
    except ImportError:
        return False
    return bool(nccl.available)


def is_ucc_available() -> bool:
    """Whether there is UCC: False, weft has no such engine."""
    return False


is_xccl_available = is_ucc_available


def is_torchelastic_launched() -> bool:
    """Whether this process was started by `weft launch` or ``torchrun``."""
    import os

    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def _make_nccl_premul_sum(factor: Any) -> PremulSum:
    """``PREMUL_SUM`` with its factor, a number or tensor."""
    return PremulSum(factor)
