"""Switches of the whole process by PyTorch's names.

Everything here computes deterministically and in full precision anyway, so that most of them are only kept and told;
what they change is said where it is so.
"""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

import weft
from weft._devices.devices import device as Device
from weft._devices.devices import get_default_device
from weft._errors import warn_caller

__all__ = [
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_file_path",
    "get_float32_matmul_precision",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
    "init_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_distributed",
    "is_vulkan_available",
    "is_warn_always_enabled",
    "prepare_multiprocessing_environment",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_warn_always",
    "use_deterministic_algorithms",
]

MODES = ("default", "warn", "error")
PRECISIONS = ("highest", "high", "medium")
state: dict[str, Any] = {"debug_mode": 0, "precision": "highest", "warn_always": False}
state.update(warn_only=False, fill_memory=True)  # of deterministic algorithms


def require_bool(name: str, argument: str, value: Any, place: str = "") -> bool:
    """The value, if it is True or False.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name}(): argument '{argument}' {place}must be bool, not {type(value).__name__}")
    return value


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for operations that give the same result in each run; all of weft's on the CPU do.

    What `empty` and its like give, and what `resize_` adds, is then nan, or the largest integer, as long as
    `utils.deterministic.fill_uninitialized_memory` is True.

    Parameters
    ----------
    mode : bool
    warn_only : bool
        Warn, rather than raise, where an operation has no such algorithm.

    Examples
    --------
    >>> weft.use_deterministic_algorithms(True)
    >>> weft.empty(2)
    tensor([nan, nan])
    >>> weft.use_deterministic_algorithms(False)
    """
    require_bool("_set_deterministic_algorithms", "mode", mode, "(position 1) ")
    require_bool("_set_deterministic_algorithms", "warn_only", warn_only)
    state["debug_mode"] = 0 if not mode else 1 if warn_only else 2
    state["warn_only"] = warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic operations were asked for."""
    return state["debug_mode"] != 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether operations without a deterministic algorithm shall only warn."""
    return bool(state["warn_only"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Ask for deterministic operations: "default" (0) not, "warn" (1), or "error" (2) where there is none.

    Raises
    ------
    TypeError
        If it is neither a number nor a word.
    RuntimeError
        If it is another one.
    """
    if not isinstance(debug_mode, int | str):
        raise TypeError(f"set_deterministic_debug_mode: debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in MODES:
            raise RuntimeError(
                "set_deterministic_debug_mode: invalid value of debug_mode, expected one of `default`, `warn`, "
                f"`error`, but got {debug_mode}"
            )
        debug_mode = MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"set_deterministic_debug_mode: invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    state["debug_mode"] = int(debug_mode)
    state["warn_only"] = debug_mode == 1


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, see `set_deterministic_debug_mode`.

    Examples
    --------
    >>> weft.get_deterministic_debug_mode()
    0
    """
    return int(state["debug_mode"])


def set_float32_matmul_precision(precision: str) -> None:
    """Say how precise products of float32 matrices must be; the CPU's are always as for "highest".

    Parameters
    ----------
    precision : {"highest", "high", "medium"}
        Another word gives a warning and changes nothing.

    Raises
    ------
    RuntimeError
        If it is no string.
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision: expects a str, but got {type(precision).__name__}")
    if precision not in PRECISIONS:
        warnings.warn(
            f"set_float32_matmul_precision: {precision} is not one of 'highest', 'high' or 'medium'; the current "
            "setting stays",
            UserWarning,
            stacklevel=2,
        )
        return
    state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """The word that was set; "highest" at first."""
    return str(state["precision"])


def set_flush_denormal(mode: bool) -> bool:
    """Ask for denormal numbers to be taken for 0; returns False: the processor's mode cannot be set from here.

    Raises
    ------
    RuntimeError
        If ``mode`` is no bool.
    """
    if not isinstance(mode, bool):
        raise RuntimeError(f"set_flush_denormal: expects a bool, but got {type(mode).__name__}")
    return False


def set_warn_always(b: bool, /) -> None:
    """Repeat the warnings that are otherwise given once in a process.

    Raises
    ------
    RuntimeError
        If it is no bool.
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"set_warn_always: expects a bool, but got {type(b).__name__}")
    state["warn_always"] = b


_said: set[str] = set()


def warn_once(message: str, stacklevel: int = 2) -> None:
    """Give a warning the first time, or each time where `set_warn_always` asks for that."""
    if is_first(message):
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def warn_caller_once(message: str, subject: str = "") -> None:
    """The same for the first caller outside of weft; one warning for all messages of a subject."""
    if is_first(subject or message):
        warn_caller(message)


def warn_of_lost_part() -> None:
    """Say once that real elements take the real parts of complex ones."""
    warn_caller_once("Casting complex values to real discards the imaginary part. Take x.real where that is meant")


def warn_of_history(tensor: Any) -> None:
    """Say once that a number takes no gradient along, if a tensor requires grad that becomes one."""
    if tensor._requires_grad:
        warn_caller_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
            "tensor.detach() first."
        )


def is_first(subject: str) -> bool:
    """Whether something is to be said: it has not been, or `set_warn_always` asks for it each time."""
    if subject in _said and not state["warn_always"]:
        return False
    _said.add(subject)
    return True


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given; False at first."""
    return bool(state["warn_always"])


# What PyTorch tells of its own build ---------------------------------------------------------------------

has_lapack = has_spectral = True  # NumPy and SciPy have them
has_mkl = has_openmp = False


def compiled_with_cxx11_abi() -> bool:
    """True: there is no C++ library of another ABI."""
    return True


def is_vulkan_available() -> bool:
    """False: no backend is for Vulkan."""
    return False


def is_distributed(input: Any) -> bool:
    """False: tensors are not spread over processes."""
    return False


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device: ``weft.cuda``, ``weft.cpu``.

    Parameters
    ----------
    device : device, str, optional
        Default: the default device.

    Raises
    ------
    RuntimeError
        If there is no such module, or it is no device.

    Examples
    --------
    >>> weft.get_device_module("cpu").device_count()
    1
    """
    if device is not None and not isinstance(device, str | Device):
        raise RuntimeError(f"get_device_module: Invalid value of device {device!r}, expect weft.device, str, or None")
    kind = Device(device or get_default_device()).type
    try:
        return importlib.import_module(f"weft.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(f"get_device_module: device {kind!r} does not have a corresponding module") from None


def get_file_path(*path_components: str) -> str:
    """A path below the folder that weft's own folder is in.

    Examples
    --------
    >>> weft.get_file_path("weft", "py.typed").endswith("py.typed")
    True
    """
    return os.path.join(os.path.dirname(os.path.dirname(str(weft.__file__))), *path_components)


def init_num_threads() -> None:
    """Do nothing: the pools of threads start when they are first used."""


def prepare_multiprocessing_environment(path: str) -> None:
    """Do nothing: a child process needs no preparation."""
