"""When positions in a device's memory are checked."""

from __future__ import annotations

from weft._devices.assertions import index_checks

__all__ = ["get_index_checks", "set_index_checks"]


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
