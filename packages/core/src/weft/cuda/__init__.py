"""CUDA devices by PyTorch's names; importable, and honest, on a machine without one.

What a device can do comes from the plugin weft-backend-cuda. Asking whether there is one never raises;
using one that is not there says what is missing.
"""

from __future__ import annotations

import importlib
from types import TracebackType
from typing import Any

from weft._devices.assertions import index_checks
from weft._devices.devices import device as Device
from weft._errors import AcceleratorError, OutOfMemoryError
from weft._tensor.legacy_types import tensor_types
from weft.cuda._devices import backend, current_device, index_of, is_available
from weft.cuda.memory import (
    empty_cache,
    ipc_collect,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
)
from weft.plugins import status
from weft.random import default_generator_of

__all__ = [
    "AcceleratorError",
    "OutOfMemoryError",
    "current_device",
    "device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_index_checks",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_index_checks",
    "set_rng_state",
    "set_rng_state_all",
    "synchronize",
]

STREAMS = {"CUDAGraph", "Event", "Stream", "StreamContext", "current_stream", "default_stream", "graph", "stream"}


def device_count() -> int:
    """How many CUDA devices there are; 0 where CUDA cannot be used."""
    try:
        return int(backend().device_count())
    except RuntimeError:
        return 0


def set_device(device: Any) -> None:
    """Make a device the one that ``"cuda"`` means."""
    index = index_of(device)
    if index is not None and index >= 0:
        backend().set_device(index)


def get_device_name(device: Any = None) -> str:
    """The name of a device, as its maker gives it."""
    return str(backend().device_name(index_of(device)))


def synchronize(device: Any = None) -> None:
    """Wait until all that was asked of a device is done."""
    backend().synchronize(index_of(device))


def set_index_checks(when: str) -> None:
    """Say when positions that tensors on CUDA devices hold are checked: those that indexing, gather and their like get.

    Positions from the host (numbers, lists, tensors on the CPU) are always checked in the call.

    Parameters
    ----------
    when : "now", "later" or "never"
        ``"later"``, the default: on the device, without waiting for it; the error is raised when the host next waits
        (``.item()``, ``.cpu()``, `synchronize`). ``"now"``: the call waits and raises the CPU's error itself.
        Where positions are not checked, or not yet, those out of range wrap around.

    Raises
    ------
    ValueError
        For another word.

    Examples
    --------
    >>> weft.cuda.set_index_checks("now")
    >>> weft.cuda.get_index_checks()
    'now'
    >>> weft.cuda.set_index_checks("later")
    """
    if when not in ("now", "later", "never"):
        raise ValueError(f"set_index_checks: expected 'now', 'later' or 'never', got {when!r}")
    index_checks.mode = when


def get_index_checks() -> str:
    """When positions on CUDA devices are checked, as `set_index_checks` has it."""
    return index_checks.mode


def init() -> None:
    """Load the backend now instead of at the first use."""
    backend()


def is_initialized() -> bool:
    """Whether the backend has been loaded."""
    return any(each.group == "weft.backends" and each.name == "cuda" and each.state == "loaded" for each in status())


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether tensors of bfloat16 can be computed with: on every CUDA device, and so not where there is none."""
    return is_available()


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device; without one nothing happens."""
    if is_available():
        default_generator_of(Device("cuda", current_device())).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all CUDA devices."""
    for index in range(device_count()):
        default_generator_of(Device("cuda", index)).manual_seed(seed)


def generator_of(device: Any) -> Any:
    """The default generator of a device; of the current one if none is named."""
    index = index_of(device)
    return default_generator_of(Device("cuda", current_device() if index is None else index))


def seed() -> None:
    """Seed the generator of the current device by chance; without one nothing happens."""
    if is_available():
        generator_of(None).seed()


def seed_all() -> None:
    """Seed the generators of all CUDA devices by chance."""
    for index in range(device_count()):
        generator_of(index).seed()


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return int(generator_of(None).initial_seed())


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a device's generator, as a tensor of bytes on the CPU."""
    return generator_of(device).get_state()


def get_rng_state_all() -> list[Any]:
    """The states of all CUDA devices' generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of a device's generator."""
    generator_of(device).set_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of all CUDA devices' generators, from what `get_rng_state_all` returned."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


class device:
    """Make a device the one that ``"cuda"`` means, for the time of a context.

    Parameters
    ----------
    device : int, str, device or None
        None or a negative number changes nothing.
    """

    def __init__(self, device: Any) -> None:
        self.index = index_of(device)
        self.before: int | None = None

    def __enter__(self) -> None:
        if self.index is not None and self.index >= 0:
            self.before = current_device()
            set_device(self.index)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.before is not None:
            set_device(self.before)


def __getattr__(name: str) -> Any:
    """``weft.cuda.amp``, names of streams, and the legacy types of tensors, ``weft.cuda.FloatTensor`` and its like."""
    if name == "amp":
        return importlib.import_module("weft.cuda.amp")
    if name == "_initialized":  # reversible networks ask it before they keep the generator's state
        return is_initialized()
    if name in STREAMS:
        return getattr(importlib.import_module("weft.cuda.streams"), name)
    made = tensor_types("cuda", __name__) if name.endswith("Tensor") else {}
    if name not in made:
        raise AttributeError(f"module 'weft.cuda' has no attribute {name!r}")
    globals().update(made)
    return made[name]
