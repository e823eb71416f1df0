"""Files that one process at a time has locked; the lock is gone when the process is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["exclusive"]

PAUSE = 0.02  # seconds between two attempts


@contextmanager
def exclusive(path: str | os.PathLike[str], seconds: float) -> Iterator[bool]:
    """Hold a lock on a file, which is made if need be; False if it is not to be had in so many seconds.

    Where files cannot be locked, or not be written, there is no lock, and nobody waits for it.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield True
        return
    try:
        yield is_locked(file, time.monotonic() + seconds)
    finally:
        with suppress(OSError):
            os.close(file)  # which lets go of it


def is_locked(file: int, end: float) -> bool:
    """Lock a file; False if another process has it until a time."""
    while True:
        try:
            lock(file)
            return True
        except (BlockingIOError, PermissionError):
            if time.monotonic() >= end:
                return False
            time.sleep(PAUSE)
        except (OSError, ImportError):  # of a file system or a platform without
            return True


def lock(file: int) -> None:
    """Lock a file, without waiting for it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
