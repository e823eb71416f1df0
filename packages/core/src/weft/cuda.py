"""CUDA devices by PyTorch's names; importable, and honest, on a machine without one.

What a device can do comes from the plugin weft-backend-cuda. Asking whether there is one never raises;
using one that is not there says what is missing.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from weft._devices import device as Device
from weft._errors import AcceleratorError, OutOfMemoryError

__all__ = [
    "AcceleratorError",
    "OutOfMemoryError",
    "current_device",
    "device",
    "device_count",
    "get_device_name",
    "init",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "set_device",
    "synchronize",
]


def backend() -> Any:
    """The CUDA backend.

    Raises
    ------
    RuntimeError
        If its package, CuPy, the driver or a GPU is missing; the message says which.
    """
    from weft.plugins import backend as find

    return find("cuda")


def is_available() -> bool:
    """Whether tensors can be put on a CUDA device.

    Examples
    --------
    >>> device = "cuda" if weft.cuda.is_available() else "cpu"
    """
    try:
        return bool(backend().device_count())
    except RuntimeError:
        return False


def device_count() -> int:
    """How many CUDA devices there are; 0 where CUDA cannot be used."""
    try:
        return int(backend().device_count())
    except RuntimeError:
        return 0


def current_device() -> int:
    """The index of the device that ``"cuda"`` means."""
    return int(backend().current_device())


def index_of(which: Any) -> int | None:
    """The index of a device that is given as a number, a name or a device."""
    if which is None or isinstance(which, int):
        return which
    found = Device(which)
    if found.type != "cuda":
        raise ValueError(f"cuda: expected a cuda device, but got: {found}")
    return found.index


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


def init() -> None:
    """Load the backend now instead of at the first use."""
    backend()


def is_initialized() -> bool:
    """Whether the backend has been loaded."""
    from weft.plugins import status

    return any(each.group == "weft.backends" and each.name == "cuda" and each.state == "loaded" for each in status())


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device; without one nothing happens."""
    if is_available():
        from weft.random import default_generator_of

        default_generator_of(Device("cuda", current_device())).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all CUDA devices."""
    from weft.random import default_generator_of

    for index in range(device_count()):
        default_generator_of(Device("cuda", index)).manual_seed(seed)


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
    """The legacy types of tensors on a CUDA device, ``weft.cuda.FloatTensor`` and its like."""
    from weft._legacy import tensor_types

    made = tensor_types("cuda", __name__) if name.endswith("Tensor") else {}
    if name not in made:
        raise AttributeError(f"module 'weft.cuda' has no attribute {name!r}")
    globals().update(made)
    return made[name]
