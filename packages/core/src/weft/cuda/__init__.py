"""CUDA devices by PyTorch's names; importable, and honest, on a machine without one.

What a device can do comes from the plugin weft-backend-cuda. Asking whether there is one never raises;
using one that is not there says what is missing.
"""

from __future__ import annotations

import importlib
from typing import Any

from weft._errors import AcceleratorError, OutOfMemoryError
from weft._tensor.legacy_types import storage_types, tensor_types
from weft.cuda._devices import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_gencode_flags,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    set_device,
    synchronize,
)
from weft.cuda._devices import is_in_bad_fork as _is_in_bad_fork  # noqa: F401  # PyTorch's name
from weft.cuda._index_checks import get_index_checks, set_index_checks
from weft.cuda._nvml import (
    clock_rate,
    device_memory_used,
    memory_usage,
    power_draw,
    temperature,
    utilization,
)
from weft.cuda._runtime import (
    CudaError,
    DeferredCudaCallError,
    check_error,
    cudart,
    cudaStatus,
    current_blas_handle,
    current_solver_handle,
)
from weft.cuda._sync_debug import get_sync_debug_mode, set_sync_debug_mode
from weft.cuda.memory import (
    caching_allocator_alloc,
    caching_allocator_delete,
    caching_allocator_disabled,
    caching_allocator_enable,
    empty_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    ipc_collect,
    list_gpu_processes,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_host_memory_stats,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_host_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from weft.cuda.random import (
    generator_of,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from weft.cuda.streams import (
    CUDAGraph,
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    get_stream_from_external,
    graph,
    is_current_stream_capturing,
    set_stream,
    stream,
)

__all__ = [
    "AcceleratorError",
    "CUDAGraph",
    "CudaError",
    "DeferredCudaCallError",
    "Event",
    "ExternalStream",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_disabled",
    "caching_allocator_enable",
    "can_device_access_peer",
    "check_error",
    "clock_rate",
    "cudaStatus",
    "cudart",
    "current_blas_handle",
    "current_device",
    "current_solver_handle",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "empty_cache",
    "get_allocator_backend",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_index_checks",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "graph",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "list_gpu_processes",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "memory_usage",
    "power_draw",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_index_checks",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "synchronize",
    "temperature",
    "utilization",
]

has_half = True  # every device computes with float16
has_magma = False


def __getattr__(name: str) -> Any:
    """``weft.cuda.amp``, and the legacy types, ``weft.cuda.FloatTensor``, ``weft.cuda.FloatStorage`` and their like."""
    if name in ("amp", "jiterator", "nvtx", "profiler"):
        return importlib.import_module(f"weft.cuda.{name}")
    if name == "_initialized":  # reversible networks ask it before they keep the generator's state
        return is_initialized()
    if name == "default_generators":
        return tuple(generator_of(index) for index in range(device_count()))
    made: dict[str, Any] = {}
    if name.endswith(("Tensor", "Storage")):
        made = {**tensor_types("cuda", __name__), **storage_types("cuda", __name__)}
    if name not in made:
        raise AttributeError(f"module 'weft.cuda' has no attribute {name!r}")
    globals().update(made)
    return made[name]
