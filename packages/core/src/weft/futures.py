"""Results that are not there yet: what another thread will set, and what is to be done then."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from weft._devices.devices import device

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result that some thread sets once, and others wait for.

    Parameters
    ----------
    devices : sequence, optional
        The devices of the tensors in the result, on which `wait` would have to synchronize; not used.

    Examples
    --------
    >>> future = weft.futures.Future()
    >>> doubled = future.then(lambda done: done.value() * 2)
    >>> future.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        for each in devices or ():
            if device(each).index is None:
                raise ValueError(f"Future: Expected devices to have indices, got {each}")
        self._condition = threading.Condition()
        self._callbacks: list[Callable[[], None]] | None = []  # None once there is a result
        self._result: Any = None
        self._error: BaseException | None = None

    def __reduce__(self) -> NoReturn:
        """Raise: threads that wait cannot be written.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError("Can not pickle weft.futures.Future: threads wait for it; wait() for its result instead")

    def done(self) -> bool:
        """Whether there is a result or an error."""
        return self._callbacks is None

    def wait(self) -> T:
        """The result, as soon as it is there; an error that was set is raised."""
        with self._condition:
            self._condition.wait_for(self.done)
        return self.value()

    def value(self) -> T:
        """The result, which is there.

        Raises
        ------
        RuntimeError
            If it is not; use `wait`.
        """
        if not self.done():
            raise RuntimeError("Future.value: there is no result yet; wait() waits for it")
        if self._error is not None:
            raise self._error
        result: T = self._result
        return result

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of ``callback(self)``, which is called once there is a result: at once, if it is there."""
        check_callable("then", callback)
        following: Future[S] = Future()

        def run() -> None:
            try:
                result = callback(self)
            except Exception as error:
                told = RuntimeError(
                    f"Got the following error when running the callback: {type(error).__name__}: {error}"
                )
                told.__cause__ = error
                following._complete(None, told)
            else:
                following._complete(result, None)

        self._when_done(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(self)`` once there is a result: at once, if it is there. What it raises is only printed."""
        check_callable("add_done_callback", callback)

        def run() -> None:
            try:
                callback(self)
            except Exception as error:
                message = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                print(message, file=sys.stderr)

        self._when_done(run)

    def set_result(self, result: T) -> None:
        """Set the result, once, and run what waits for it.

        Raises
        ------
        RuntimeError
            If there is one.
        """
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` and `value` raise."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, result: Any, error: BaseException | None) -> None:
        with self._condition:
            if self._callbacks is None:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._result, self._error = result, error
            callbacks, self._callbacks = self._callbacks, None
            self._condition.notify_all()
        for callback in callbacks:
            callback()

    def _when_done(self, callback: Callable[[], None]) -> None:
        with self._condition:
            if self._callbacks is not None:
                self._callbacks.append(callback)
                return
        callback()


def check_callable(name: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(f"{name}(): the callback must be callable, not {type(callback).__name__}")


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list of some futures, which is there when all of them are done; the first error is its own."""
    waiting = list(futures)
    for each in waiting:
        if not isinstance(each, Future):
            raise TypeError(f"collect_all: expected Futures, got {type(each).__name__}")
    collected: Future[list[Future[Any]]] = Future()
    if not waiting:
        collected.set_result(waiting)
        return collected
    lock = threading.Lock()
    left = len(waiting)

    def one_is_done() -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            collected._complete(waiting, next((each._error for each in waiting if each._error is not None), None))

    for each in waiting:
        each._when_done(one_is_done)
    return collected


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The results of some futures, when all are there; the first error is raised."""
    return [each.wait() for each in collect_all(futures).wait()]
