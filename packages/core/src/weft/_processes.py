"""Starting processes."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet_fork"]


@contextmanager
def quiet_fork() -> Iterator[None]:
    """A block that may fork a process, without the warning that is meant for programs with threads of their own.

    Python warns of a fork with several threads, counting those of native libraries. A fork is unsafe if another thread
    holds a lock: with one Python thread that could be only a library's own, and those (OpenBLAS) prepare for forks
    themselves. With more Python threads the warning is left to be seen.
    """
    with warnings.catch_warnings():
        if threading.active_count() == 1:
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        yield
