"""The memory of CUDA devices: what is in use, what was at most, what is free; without a device everything is 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from weft.cuda._devices import backend, is_available, number_of
from weft.cuda._nvml import list_gpu_processes

__all__ = [
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_disabled",
    "caching_allocator_enable",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "ipc_collect",
    "list_gpu_processes",
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
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]


def memory_stats(device: Any = None) -> dict[str, Any]:
    """What the backend knows of a device's memory, by PyTorch's keys; empty where it keeps no count.

    ``allocated_bytes`` are those of tensors, in the pool's units; ``active_bytes`` also those that streams still use;
    ``reserved_bytes`` all that the pool holds. Of each there is ``all.current`` and ``all.peak``, of the first two also
    the sums ``all.allocated`` and ``all.freed``.
    """
    if not is_available():
        return {}
    return dict(sorted(backend().memory_stats(number_of(device)).items()))


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """`memory_stats` with a dictionary for each part of a key."""
    nested: dict[str, Any] = {}
    for key, value in memory_stats(device).items():
        *parts, last = key.split(".")
        inner = nested
        for part in parts:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


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


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved  # their older names


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks begin anew; without a device nothing happens."""
    if is_available():
        backend().reset_peak_memory_stats(number_of(device))


reset_max_memory_allocated = reset_peak_memory_stats  # the older name, of which transformers keeps a table
reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Let the sums of `memory_stats` begin anew; without a device nothing happens."""
    if is_available():
        backend().reset_accumulated_memory_stats(number_of(device))


def host_memory_stats() -> dict[str, Any]:
    """Nothing: page-locked memory of the host is not counted."""
    return {}


host_memory_stats_as_nested_dict = host_memory_stats


def reset_peak_host_memory_stats() -> None:
    """Do nothing: page-locked memory of the host is not counted."""


reset_accumulated_host_memory_stats = reset_peak_host_memory_stats


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and the total bytes of a device's memory, all processes considered."""
    free, total = backend().memory_info(number_of(device))
    return free, total


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let this process have a part of a device's memory; an allocation beyond it is an `OutOfMemoryError`.

    Raises
    ------
    ValueError
        If it is not from 0 to 1.
    TypeError
        If it is not a float.
    """
    if not isinstance(fraction, float):
        raise TypeError(f"Invalid type for fraction argument, must be `float`, not {type(fraction).__name__}")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    backend().set_memory_fraction(number_of(device), fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The part of a device's memory that this process may have."""
    return float(backend().memory_fraction(number_of(device)))


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Take memory for another library, and return its address; `caching_allocator_delete` gives it back.

    Parameters
    ----------
    size : int
        In bytes.
    device : device, str or int, optional
    stream : Stream or int, optional
        The one that uses it. Default: the current one.
    """
    found, index = backend(), number_of(device)
    if stream is None:
        native = found.current_stream(index)
    elif isinstance(stream, int):
        native = found.external_stream(stream, index)
    elif hasattr(stream, "_native"):
        native = stream._native
    else:
        raise TypeError(
            "Invalid type for stream argument, must be `weft.cuda.Stream` or `int` representing a pointer to an "
            f"existing stream, not {type(stream).__name__}"
        )
    return int(found.allocate(size, native))


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give memory back that `caching_allocator_alloc` took."""
    backend().deallocate(mem_ptr)


def caching_allocator_enable(value: bool = True) -> None:
    """Take memory from the pool, or else from the device itself at each allocation."""
    if is_available():
        backend().use_pool(value)


@contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Take memory from the device itself in a block, at each allocation."""
    caching_allocator_enable(False)
    try:
        yield
    finally:
        caching_allocator_enable(True)


def get_allocator_backend() -> str:
    """``"native"``: memory is pooled by the process, not by the driver."""
    return "native"


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> NoReturn:
    """Refuse: the pool does not tell which blocks it has.

    Raises
    ------
    NotImplementedError
        Always; `memory_stats` has the sums.
    """
    raise NotImplementedError(
        "memory_snapshot: the pool does not tell which blocks it has; memory_stats() and memory_summary() have the sums"
    )


ROWS = (
    ("Allocated memory", "allocated_bytes", True),
    ("Active memory", "active_bytes", True),
    ("Requested memory", "requested_bytes", True),
    ("GPU reserved memory", "reserved_bytes", True),
    ("Allocations", "allocation", False),
    ("Active allocs", "active", False),
)
COLUMNS = ("current", "peak", "allocated", "freed")


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """`memory_stats` as a table for people to read.

    Parameters
    ----------
    device : device, str or int, optional
    abbreviated : bool
        Has no effect: there are no details to leave out.
    """
    stats = memory_stats(device)
    index = number_of(device) if stats else 0
    width = 76
    rule = "=" * (width - 2)
    lines = [f"|{rule}|", f"|{f'weft CUDA memory summary, device ID {index}':^{width - 2}}|", f"|{'-' * (width - 2)}|"]
    problems = f"CUDA OOMs: {stats.get('num_ooms', 0)}   |   Retries: {stats.get('num_alloc_retries', 0)}"
    lines += [f"|{problems:^{width - 2}}|", f"|{rule}|"]
    titles = ("Metric", "Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")
    lines += [row_of(titles), f"|{'-' * (width - 2)}|"]
    for title, key, is_bytes in ROWS:
        show = readable if is_bytes else str
        cells = [show_or_blank(stats.get(f"{key}.all.{column}"), show) for column in COLUMNS]
        lines.append(row_of((title, *cells)))
    return "\n".join([*lines, f"|{rule}|", ""])


def row_of(cells: tuple[str, ...]) -> str:
    """A line of the table."""
    first, *others = cells
    return f"| {first:<20} | " + " | ".join(f"{each:>10}" for each in others) + " |"


def show_or_blank(value: Any, show: Callable[[Any], str]) -> str:
    """A number for people; nothing where there is none."""
    return "" if value is None else show(value)


def readable(size: int) -> str:
    """A number of bytes in the largest unit of which there are many."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    amount = float(size)
    while amount >= 768 * 8 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{amount:.0f} {units[0]}"


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
