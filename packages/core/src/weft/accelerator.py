"""The device that computes beside the CPU, whichever an installed backend brings: for programs that name none.

The accelerator is the first device, in alphabetical order, that has a backend, is not the CPU, and is there on this
machine.

Examples
--------
>>> device = weft.accelerator.current_accelerator() if weft.accelerator.is_available() else "cpu"
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from weft._devices.devices import cpu
from weft._devices.devices import device as Device
from weft._dtypes.dtypes import ALL
from weft._settings import get_device_module
from weft.plugins import backend, backends

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def usable(device_type: str) -> Any:
    """The backend of a device type that has at least one device on this machine; None if there is none."""
    try:
        found = backend(device_type)
        return found if found.device_count() else None
    except RuntimeError:  # not installed, or it says what it lacks
        return None


def backend_in_use() -> Any:
    """The accelerator's backend, or None."""
    names = (name for name in backends() if name != cpu.type)
    return next((found for found in map(usable, names) if found is not None), None)


def needed(asked: str) -> Any:
    """The accelerator's backend.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    found = backend_in_use()
    if found is None:
        raise RuntimeError(
            f"accelerator.{asked}: Cannot access accelerator device when none is available. Ask "
            "accelerator.is_available() first; `weft doctor` says what is missing"
        )
    return found


def index_of(found: Any, device: Any, asked: str) -> int:
    """The index of a device that is given as a number, a name or a device; by default the current one.

    Raises
    ------
    ValueError
        If it is a device of another type.
    """
    if isinstance(device, int):
        return device
    if device is None:
        return int(found.current_device())
    given = Device(device)
    if given.type != found.device_type:
        raise ValueError(
            f"accelerator.{asked}: {given.type} doesn't match the current accelerator {found.device_type}; "
            "give the index alone, or a device of that type"
        )
    return int(found.current_device()) if given.index is None else given.index


def is_available() -> bool:
    """Whether there is an accelerator that tensors can be put on."""
    return backend_in_use() is not None


def current_accelerator(check_available: bool = False) -> Device | None:
    """The accelerator as a device without an index; None if there is none.

    Parameters
    ----------
    check_available : bool
        Accepted: what is not there on this machine is never named.
    """
    found = backend_in_use()
    return None if found is None else Device(found.device_type)


def device_count() -> int:
    """How many accelerators there are; 0 where there is none."""
    found = backend_in_use()
    return 0 if found is None else int(found.device_count())


def current_device_index() -> int:
    """The index of the accelerator that its bare type means."""
    return int(needed("current_device_index").current_device())


def set_device_index(device: Any, /) -> None:
    """Make an accelerator the one that its bare type means; a negative index changes nothing."""
    found = needed("set_device_index")
    index = index_of(found, device, "set_device_index")
    if index >= 0:
        found.set_device(index)


current_device_idx = current_device_index
set_device_idx = set_device_index


def synchronize(device: Any = None, /) -> None:
    """Wait until all that was asked of an accelerator is done."""
    found = needed("synchronize")
    found.synchronize(index_of(found, device, "synchronize"))


class device_index:
    """Make an accelerator the current one for the time of a context.

    Parameters
    ----------
    device : int or None
        None changes nothing, and needs no accelerator.
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


# What a device's own module offers ------------------------------------------------------------------------


def from_module(asked: str) -> Any:
    """A function of the module of the accelerator's type, as ``weft.cuda.current_stream``.

    Raises
    ------
    NotImplementedError
        If the module has none of the name.
    """
    found = needed(asked)
    try:
        return getattr(get_device_module(found.device_type), asked)
    except (RuntimeError, AttributeError) as error:
        raise NotImplementedError(
            f"accelerator.{asked}: weft.{found.device_type} has no {asked}; the backend does not offer it"
        ) from error


def current_stream(device: Any = None, /) -> Any:
    """The queue of work that is used on an accelerator."""
    return from_module("current_stream")(device)


def set_stream(stream: Any) -> None:
    """Make a queue of work the one that is used on its accelerator."""
    from_module("set_stream")(stream)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """What an accelerator can do: under ``"supported_dtypes"`` the dtypes of its tensors."""
    needed("get_device_capability")
    return {"supported_dtypes": set(ALL)}


# Memory ---------------------------------------------------------------------------------------------------


def statistics(device: Any, asked: str) -> dict[str, Any]:
    found = needed(asked)
    return dict(found.memory_stats(index_of(found, device, asked)))


def memory_stats(device_index: Any = None, /) -> dict[str, Any]:
    """What the backend knows of an accelerator's memory, by PyTorch's keys; empty where it keeps no count.

    The functions that tell one number of it tell 0 then.
    """
    return dict(sorted(statistics(device_index, "memory_stats").items()))


def memory_allocated(device_index: Any = None, /) -> int:
    """The bytes that tensors take, see `memory_stats`."""
    return int(statistics(device_index, "memory_allocated").get("allocated_bytes.all.current", 0))


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that tensors took at once, see `memory_stats`."""
    return int(statistics(device_index, "max_memory_allocated").get("allocated_bytes.all.peak", 0))


def memory_reserved(device_index: Any = None, /) -> int:
    """The bytes that are held, in use or not, see `memory_stats`."""
    return int(statistics(device_index, "memory_reserved").get("reserved_bytes.all.current", 0))


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that were held at once, see `memory_stats`."""
    return int(statistics(device_index, "max_memory_reserved").get("reserved_bytes.all.peak", 0))


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """The free and the total bytes of an accelerator's memory."""
    return tuple(from_module("mem_get_info")(device_index))  # type: ignore[return-value]


def empty_cache() -> None:
    """Give memory that is held and not used back to the device, where the backend holds any."""
    needed("empty_cache").empty_cache()


def empty_host_cache() -> None:
    """Do nothing but ask for an accelerator: no memory of the host is held for copies."""
    needed("empty_host_cache")


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """Do nothing but ask for an accelerator: what was summed up stays in `memory_stats`."""
    needed("reset_accumulated_memory_stats")


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Let the peaks in `memory_stats` begin anew, where the backend counts them."""
    found = needed("reset_peak_memory_stats")
    found.reset_peak_memory_stats(index_of(found, device_index, "reset_peak_memory_stats"))
