"""What PyTorch's module of a kind of device offers, for kinds that a plugin may bring."""

from __future__ import annotations

from typing import Any

from weft._devices.devices import device
from weft.accelerator import index_of, usable
from weft.plugins import backend
from weft.random import default_generator_of

__all__ = ["DeviceFunctions"]


class DeviceFunctions:
    """The functions of one kind of device.

    Parameters
    ----------
    kind : str
        ``"mps"``.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def is_available(self) -> bool:
        """Whether tensors can be put on such a device."""
        return usable(self.kind) is not None

    def device_count(self) -> int:
        """How many there are; 0 where there is none."""
        found = usable(self.kind)
        return 0 if found is None else int(found.device_count())

    def backend(self) -> Any:
        """The backend.

        Raises
        ------
        RuntimeError
            If no plugin brings one, or it lacks something; the message says what.
        """
        return backend(self.kind)

    def current_device(self) -> int:
        """The index of the device that the name of the kind alone means."""
        return int(self.backend().current_device())

    def synchronize(self, device: Any = None) -> None:
        """Wait until all that was asked of a device is done."""
        found = self.backend()
        found.synchronize(index_of(found, device, "synchronize"))

    def empty_cache(self) -> None:
        """Give memory that is held and not used back to the device; without one nothing happens."""
        if self.is_available():
            self.backend().empty_cache()

    def manual_seed(self, seed: int) -> None:
        """Seed the generator of the current device; without one nothing happens."""
        if self.is_available():
            default_generator_of(device(self.kind, self.current_device())).manual_seed(seed)
