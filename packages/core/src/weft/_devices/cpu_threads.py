"""How many threads the CPU's kernels spread their work over: one number for all the libraries that have a pool."""

from __future__ import annotations

from typing import Any

from weft._plugins.access import plugins

__all__ = ["get_num_interop_threads", "get_num_threads", "set_num_interop_threads", "set_num_threads"]


def get_num_threads() -> int:
    """How many threads one operation on the CPU may use."""
    count: int = cpu().num_threads()
    return count


def set_num_threads(num: int) -> None:
    """Set how many threads one operation on the CPU may use, in every library of the CPU backend.

    Raises
    ------
    RuntimeError
        If ``num`` is not a positive int.
    """
    cpu().set_num_threads(positive("set_num_threads", num))


def get_num_interop_threads() -> int:
    """How many operations may run beside each other: one, since each is run where it is called."""
    return 1


def set_num_interop_threads(num: int) -> None:
    """Accept what PyTorch accepts; operations do not run beside each other.

    Raises
    ------
    RuntimeError
        If ``num`` is not a positive int.
    """
    positive("set_num_interop_threads", num)


def cpu() -> Any:
    """The CPU backend, loaded when first asked for."""
    return plugins().backend("cpu")


def positive(name: str, num: object) -> int:
    """The argument, if it is a positive int."""
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"{name}: expects an int, but got {type(num).__name__}")
    if not 1 <= num < 1 << 31:
        raise RuntimeError(f"{name}: expects a positive integer of 32 bits, got {num}")
    return num
