"""Which CUDA devices there are, how they are named, and which of them is meant."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from weft._devices.devices import device as Device
from weft.plugins import backend as find
from weft.plugins import status

__all__ = [
    "backend",
    "can_device_access_peer",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "index_of",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
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
    return find("cuda")


def init() -> None:
    """Load the backend now instead of at the first use.

    Raises
    ------
    RuntimeError
        If there is no CUDA, or this process was forked from one that had used it.
    """
    backend().current_device()


def is_initialized() -> bool:
    """Whether the backend has been loaded; not in a forked process, where it does not work."""
    loaded = any(each.group == "weft.backends" and each.name == "cuda" and each.state == "loaded" for each in status())
    return loaded and not backend().is_forked


def is_in_bad_fork() -> bool:
    """Whether this process was forked from one that had used CUDA."""
    loaded = any(each.group == "weft.backends" and each.name == "cuda" and each.state == "loaded" for each in status())
    return loaded and bool(backend().is_forked)


def is_available() -> bool:
    """Whether tensors can be put on a CUDA device.

    Examples
    --------
    >>> device = "cuda" if weft.cuda.is_available() else "cpu"
    """
    return device_count() > 0


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


def number_of(which: Any) -> int:
    """`index_of`, or that of the current device where none is named."""
    index = index_of(which)
    return current_device() if index is None or index < 0 else index


def set_device(device: Any) -> None:
    """Make a device the one that ``"cuda"`` means."""
    index = index_of(device)
    if index is not None and index >= 0:
        backend().set_device(index)


def synchronize(device: Any = None) -> None:
    """Wait until all that was asked of a device is done, in all its streams."""
    backend().synchronize(index_of(device))


# What a device is ----------------------------------------------------------------------------------------


def get_device_properties(device: Any = None) -> Any:
    """What is known of a device: ``name``, ``major``, ``minor``, ``total_memory``, ``multi_processor_count`` and more.

    Raises
    ------
    RuntimeError
        If there is no such device.
    """
    return backend().device_properties(number_of(device))


def get_device_name(device: Any = None) -> str:
    """The name of a device, as its maker gives it."""
    return str(get_device_properties(device).name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device, ``(9, 0)``."""
    found = get_device_properties(device)
    return found.major, found.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a device can read another's memory without the host.

    Raises
    ------
    ValueError
        If there is no such device.
    """
    for each in (device, peer_device):
        if not 0 <= number_of(each) < device_count():
            raise ValueError(f"can_device_access_peer: Invalid device id {each}; there are {device_count()}")
    return bool(backend().can_access_peer(number_of(device), number_of(peer_device)))


def get_arch_list() -> list[str]:
    """What kernels can be compiled for when they are first called, ``["sm_80", "sm_90"]``; empty without a device."""
    return list(backend().architectures()) if is_available() else []


def get_gencode_flags() -> str:
    """`get_arch_list` as the CUDA compiler's options."""
    numbers = [each.removeprefix("sm_") for each in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{each},code=sm_{each}" for each in numbers)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether tensors of bfloat16 can be computed with: on every CUDA device, and so not where there is none.

    Parameters
    ----------
    including_emulation : bool
        Count devices that have no instructions for it, those of compute capabilities below 8.
    """
    return is_available() and (including_emulation or get_device_properties().major >= 8)


def is_tf32_supported() -> bool:
    """Whether the current device has products in TF32."""
    return is_bf16_supported(including_emulation=False)


class device:
    """Make a device the one that ``"cuda"`` means, for the time of a context.

    Parameters
    ----------
    device : int, str, device or None
        None or a negative number changes nothing.
    """

    def __init__(self, device: Any) -> None:
        index = index_of(device)
        self.idx = -1 if index is None else index
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.prev_idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """Make the device of a tensor or storage the one that ``"cuda"`` means; one that is elsewhere changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)
