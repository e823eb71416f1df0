"""An exception that nobody catches: written for the launcher, printed after its cause, told to the other processes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

from weft.distributed._errors import DistError

__all__ = ["on_uncaught"]

FORWARDING_SECONDS = 0.3  # which mpiexec gets to forward a traceback
CAUSE_SECONDS = 0.5  # what the process that failed first may take to print its traceback


def on_uncaught(tell_others: Callable[[], None]) -> None:
    """Let an exception that ends this program be told to the others.

    Parameters
    ----------
    tell_others : callable
        Called when the traceback has been printed.
    """
    show = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        from weft.distributed.elastic.multiprocessing.errors import get_error_handler  # seldom needed

        with contextlib.suppress(OSError):
            get_error_handler().record_exception(error)
        if issubclass(kind, DistError):
            wait_for_cause()
        show(kind, error, traceback)
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        tell_others()
        end_mpi_job()

    sys.excepthook = excepthook


def wait_for_cause() -> None:
    """Wait a moment before a failure is printed that follows from another's; a launcher may end the wait by SIGTERM."""
    ended = threading.Event()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
    ended.wait(CAUSE_SECONDS)


def end_mpi_job() -> None:
    """Have MPICH's ``mpiexec`` end the other processes; of those that use another engine it asks nobody's exit status.

    Its processes speak PMI with it, by lines of text. Where MPI is in use, its engine ends the job.
    """
    channel = os.environ.get("PMI_FD", "")
    if channel.isdecimal() and "mpi4py.MPI" not in sys.modules:
        time.sleep(FORWARDING_SECONDS)
        with contextlib.suppress(OSError):
            os.write(int(channel), b"cmd=abort exitcode=1\n")
