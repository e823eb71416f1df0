"""The memory of CUDA devices, as far as the backend counts it; without a device everything is 0."""

from __future__ import annotations

from typing import Any

from weft.cuda._devices import backend, current_device, index_of, is_available

__all__ = [
    "empty_cache",
    "ipc_collect",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
]


def memory_stats(device: Any = None) -> dict[str, Any]:
    """What the backend knows of a device's memory, by PyTorch's keys; empty where it keeps no count."""
    if not is_available():
        return {}
    index = index_of(device)
    return dict(sorted(backend().memory_stats(current_device() if index is None else index).items()))


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors take."""
    return int(memory_stats(device).get("allocated_bytes.all.current", 0))


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors took at once."""
    return int(memory_stats(device).get("allocated_bytes.all.peak", 0))


def memory_reserved(device: Any = None) -> int:
    """The bytes that are held, in use or not."""
    return int(memory_stats(device).get("reserved_bytes.all.current", 0))


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were held at once."""
    return int(memory_stats(device).get("reserved_bytes.all.peak", 0))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks begin anew; without a device nothing happens."""
    if is_available():
        backend().reset_peak_memory_stats(index_of(device))


reset_max_memory_allocated = reset_peak_memory_stats  # the older name, of which transformers keeps a table


def empty_cache() -> None:
    """Give memory that is held and not used back to the device; without one nothing happens.

    Examples
    --------
    >>> weft.cuda.empty_cache()
    """
    if is_available():
        backend().empty_cache()


def ipc_collect() -> None:
    """Do nothing: no memory is kept for other processes."""
