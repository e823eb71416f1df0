"""`Work`: a collective that is under way."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from weft.futures import Future

__all__ = ["Work"]


class Work:
    """A collective, or a message, that was begun with ``async_op=True``.

    Its tensors may not be read or written before `wait` has returned.
    """

    def __init__(self, name: str, tensors: Sequence[Any] = ()) -> None:
        self._name = name
        self._tensors = list(tensors)
        self._finished = threading.Event()
        self._error: BaseException | None = None
        self._source = -1
        self._future: Future[Any] | None = None
        self._lock = threading.Lock()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Return True when it is done.

        Parameters
        ----------
        timeout : datetime.timedelta, optional
            The group's own, unless this is given, and is not zero.

        Raises
        ------
        DistBackendError
            If it failed.
        RuntimeError
            If it is not done within ``timeout``; it is still under way then.
        """
        seconds = timeout.total_seconds() if timeout else None
        if not self._finished.wait(seconds):
            raise RuntimeError(f"{self._name}: not done after {seconds:g} s")
        if self._error is not None:
            raise self._error
        self._order()
        return True

    def is_completed(self) -> bool:
        """Whether it is done, or has failed."""
        return self._finished.is_set()

    def is_success(self) -> bool:
        """Whether it is done and has not failed."""
        return self._finished.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        """Return what it failed of, or None."""
        return self._error

    def result(self) -> list[Any]:
        """Return the tensors that were written."""
        return self._tensors

    def source_rank(self) -> int:
        """Return the rank of the process that sent what was received."""
        return self._source

    def synchronize(self) -> None:
        """Let the device's current stream wait for it; on the CPU, wait."""
        self.wait()

    def get_future(self) -> Future[Any]:
        """Return a future of the tensors that are written."""
        with self._lock:
            if self._future is None:
                self._future = Future()
                if self._finished.is_set():
                    self._settle()
            return self._future

    def finish(self, error: BaseException | None = None, source: int = -1) -> None:
        """Say that it is done, or what it failed of; called once, by who runs it."""
        with self._lock:
            self._error = error
            self._source = source
            self._finished.set()
            if self._future is not None:
                self._settle()

    def _settle(self) -> None:
        assert self._future is not None
        if self._error is None:
            self._future.set_result(self._tensors)
        else:
            self._future.set_exception(self._error)

    def _order(self) -> None:
        """Order the device's current stream behind it: for engines with streams."""


class StreamWork(Work):
    """What is done when an engine's stream has passed a point: see `Communicator.mark`.

    Parameters
    ----------
    name : str
    tensors : sequence of Tensor
    communicator : Communicator
    source : int
        The rank of who sent what is received.
    keeps : object
        What must not be freed before: a stream may read its memory.
    """

    def __init__(self, name: str, tensors: Sequence[Any], communicator: Any, source: int, keeps: Any) -> None:
        super().__init__(name, tensors)
        self._communicator = communicator
        self._source = source
        self._keeps = keeps
        self.mark = communicator.mark()
        self._finished.set()  # it is queued; what follows in the current stream is ordered behind it by `wait`

    def is_completed(self) -> bool:
        return self._communicator.is_done(self.mark)

    def _order(self) -> None:
        self._communicator.wait_for(self.mark)
        self._keeps = None  # freed from now on behind it, in the order of the current stream
