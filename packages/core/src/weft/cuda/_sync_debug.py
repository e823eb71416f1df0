"""Whether the program is told where it waits for a CUDA device."""

from __future__ import annotations

from weft.cuda._devices import backend

__all__ = ["get_sync_debug_mode", "set_sync_debug_mode"]

MODES = ("default", "warn", "error")


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Say what happens where an op, or a copy to the host, makes the program wait for the device.

    Parameters
    ----------
    debug_mode : {"default", "warn", "error"} or {0, 1, 2}
        Nothing, a UserWarning at the line that waits, or a RuntimeError there. `synchronize`, and
        events and streams that the program waits for, are not meant.

    Raises
    ------
    RuntimeError
        If it is another word or number, or there is no CUDA.

    Examples
    --------
    ::

        weft.cuda.set_sync_debug_mode("warn")
        for batch in loader:
            step(batch)  # each .item() and x[mask] warns
    """
    mode = MODES.index(debug_mode) if debug_mode in MODES else debug_mode
    if isinstance(mode, str) or mode not in range(len(MODES)):
        raise RuntimeError(
            f"set_sync_debug_mode: invalid value of debug_mode {debug_mode!r}, expected one of `default`, `warn`, "
            "`error`, or 0, 1, 2"
        )
    backend().set_sync_debug_mode(mode)


def get_sync_debug_mode() -> int:
    """What `set_sync_debug_mode` set: 0, 1 or 2."""
    return int(backend().sync_debug_mode)
