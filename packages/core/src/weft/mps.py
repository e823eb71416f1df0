"""Apple's graphics processors by PyTorch's names, for programs that ask: a plugin must bring the device ``mps``."""

from __future__ import annotations

from typing import Any

from weft.accelerator import usable

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    """Whether tensors can be put on such a device.

    Examples
    --------
    >>> device = "mps" if weft.mps.is_available() else "cpu"
    """
    return usable("mps") is not None


def device_count() -> int:
    """How many there are; 0 where there is none."""
    found = usable("mps")
    return 0 if found is None else int(found.device_count())


def backend() -> Any:
    """The backend.

    Raises
    ------
    RuntimeError
        If no plugin brings one, or it lacks something; the message says what.
    """
    from weft.plugins import backend as find

    return find("mps")


def current_device() -> int:
    """The index of the device that ``"mps"`` means."""
    return int(backend().current_device())


def synchronize(device: Any = None) -> None:
    """Wait until all that was asked of a device is done."""
    from weft.accelerator import index_of

    found = backend()
    found.synchronize(index_of(found, device, "synchronize"))


def empty_cache() -> None:
    """Give memory that is held and not used back to the device; without one nothing happens."""
    if is_available():
        backend().empty_cache()


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device; without one nothing happens."""
    if is_available():
        from weft._devices import device as Device
        from weft.random import default_generator_of

        default_generator_of(Device("mps", current_device())).manual_seed(seed)
