"""Which CUDA devices there are, and how they are named."""

from __future__ import annotations

from typing import Any

from weft._devices.devices import device as Device
from weft.plugins import backend as find

__all__ = ["backend", "current_device", "index_of", "is_available"]


def backend() -> Any:
    """The CUDA backend.

    Raises
    ------
    RuntimeError
        If its package, CuPy, the driver or a GPU is missing; the message says which.
    """
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
