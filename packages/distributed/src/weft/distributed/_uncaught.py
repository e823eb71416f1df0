"""An exception that nobody catches: written for the launcher, printed after its cause, told to the other processes."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable
from types import TracebackType

from weft.distributed._errors import DistError
from weft.distributed.elastic.multiprocessing.errors import get_error_handler

__all__ = ["on_uncaught"]

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
        with contextlib.suppress(OSError):
            get_error_handler().record_exception(error)
        if issubclass(kind, DistError):
            wait_for_cause()
        show(kind, error, traceback)
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        tell_others()

    sys.excepthook = excepthook


def wait_for_cause() -> None:
    """Wait a moment before a failure is printed that follows from another's; a launcher may end the wait by SIGTERM."""
    ended = threading.Event()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
    ended.wait(CAUSE_SECONDS)
