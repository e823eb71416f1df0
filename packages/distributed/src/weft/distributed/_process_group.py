"""`ProcessGroup`: some of the processes, which call collectives in the same order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from weft.distributed._debug import DebugLevel, get_debug_level, verify
from weft.distributed._errors import DistBackendError, DistError, DistNetworkError, DistStoreError, MismatchError
from weft.distributed._group_methods import GroupMethods
from weft.distributed._presence import Presence
from weft.distributed._work import StreamWork, Work
from weft.distributed.communicators.base import Communicator
from weft.distributed.communicators.single import SingleCommunicator
from weft.distributed.stores.base import PrefixStore
from weft.library.interceptors import side_effect

__all__ = ["ProcessGroup", "Status"]

IDLE_SECONDS = 5.0  # after which a thread that has nothing to do ends
MANY_QUEUES = 64  # of messages, beyond which idle ones are dropped: a program may use each tag once

Make = Callable[[Any, int, int, timedelta], Communicator]


@dataclass
class Status:
    """What a group does, for messages about those who wait.

    Attributes
    ----------
    sequence : int
        How many collectives it has begun.
    operation : str
        The name of the last one.
    about : object
        What a message tells of its tensor: dtype and shape.
    finished : bool
        Whether that one is done.
    """

    sequence: int = 0
    operation: str = ""
    about: Any = ""
    finished: bool = True

    def __str__(self) -> str:
        return f"{self.operation} #{self.sequence}" + (f" ({self.about})" if self.about else "")


class ProcessGroup(GroupMethods):
    """Some of the processes of a program, which call collectives in the same order.

    Parameters
    ----------
    ranks : sequence of int
        The global ranks of its processes, by their rank in the group.
    rank : int
        This process's rank in the group.
    backend : str
        The name of the backend, as the program gave it.
    makers : dict
        What makes the communicator of each type of device; ``""`` is for all others.
    store : Store
        Shared by these processes alone.
    timeout : datetime.timedelta
    name, description : str
    """

    def __init__(
        self,
        ranks: Sequence[int],
        rank: int,
        backend: str,
        makers: dict[str, Make],
        store: Any,
        timeout: timedelta,
        name: str,
        description: str = "undefined",
    ) -> None:
        self.ranks = list(ranks)
        self._rank = rank
        self._backend = backend
        self._makers = makers
        self.store = store
        self.timeout = timeout
        self.group_name = name
        self.group_desc = description
        self.status = Status()
        self.monitored_barriers = 0  # which keys in the store are the next one's
        self.bound_device_id: Any = None
        self._communicators: dict[Make, Communicator] = {}
        self._making = threading.Lock()
        self._calls = CallQueue(f"weft group {name}")
        self._messages: dict[Any, CallQueue] = {}  # by direction, rank and tag
        self._failure: BaseException | None = None
        self._presence: Presence | None = None

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_desc!r} of ranks {self.ranks}, {self._backend}>"

    def rank(self) -> int:
        """Return this process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """Return the number of processes."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the name of its backend."""
        return self._backend

    def get_group_store(self) -> Any:
        """Return the store that its processes share."""
        return self.store

    def set_timeout(self, timeout: timedelta) -> None:
        """Set after which time a call that waits raises."""
        self.timeout = timeout
        for communicator in self._communicators.values():
            communicator.timeout = timeout

    def _get_sequence_number_for_group(self) -> int:
        """Return how many collectives it has begun."""
        return self.status.sequence

    def _get_backend_name(self) -> str:
        return self._backend

    def _get_backend(self, device: Any) -> Communicator:
        """Return what carries tensors of a device."""
        return self.communicator(str(getattr(device, "type", device)))

    # What carries the messages

    def communicator(self, device_type: str) -> Communicator:
        """What carries tensors of a type of device, made when first asked for: by all processes at the same call."""
        make = self._makers.get(device_type, self._makers.get(""))
        if make is None:
            raise RuntimeError(
                f"No backend type associated with device type {device_type}: the group's backend is {self._backend!r}"
            )
        with self._making:
            if make not in self._communicators:
                position = list(dict.fromkeys(self._makers.values())).index(make)
                store = PrefixStore(f"engine{position}", self.store) if position else self.store
                engine: Make = SingleCommunicator if self.size() == 1 else make
                self._communicators[make] = engine(store, self._rank, self.size(), self.timeout)
            if self._presence is None and self.size() > 1:
                self._presence = Presence(self.store, self._rank, self.ranks, self._state)
            return self._communicators[make]

    # Running

    def collective(
        self,
        operation: str,
        call: Callable[[Communicator], None],
        device_type: str,
        about: Any = "",
        results: Sequence[Any] = (),
        async_op: bool = False,
    ) -> Work | None:
        """Run a collective in the order in which this process calls them.

        Parameters
        ----------
        operation : str
            For messages: ``"all_reduce"``.
        about : object
            What messages tell of its tensor.
        call : callable
            Gets the communicator; writes the results.
        device_type : str
            Of the tensors.
        results : sequence of Tensor
            What it writes, for `Work.result`.
        async_op : bool
            Return a `Work` before it is done.

        Raises
        ------
        DistBackendError
            If it failed, or an earlier one did.
        """
        side_effect(f"it calls {operation}")
        communicator = self.communicator(device_type)
        if self._failure is not None:
            raise DistBackendError(f"{operation}: the group {self.group_desc!r} failed before: {self._failure}")

        def run() -> int:
            self._run(operation, call, communicator, about)
            return -1

        if communicator.is_stream_ordered:
            work = in_stream(communicator, run, operation, results, call)
            if not async_op:
                work.wait()
            return work if async_op else None
        if async_op:
            return self._calls.submit(run, Work(operation, results))
        self._calls.run(run)
        return None

    def _run(self, operation: str, call: Callable[[Communicator], None], communicator: Any, about: Any) -> None:
        status = self.status
        status.operation, status.about, status.finished = operation, about, False
        status.sequence += 1
        try:
            if self.size() > 1 and get_debug_level() is DebugLevel.DETAIL:
                verify(self)
            call(communicator)
        except Exception as error:
            self._failure = error
            raise self._explained(str(status), error, self._who_is_missing(error)) from error
        status.finished = True

    def _state(self) -> tuple[int, str, str]:
        """What the other processes are told about this one; for the endpoint's thread."""
        status, failure = self.status, self._failure
        if failure is not None:
            return status.sequence, str(status), f"failed ({str(failure)[:500]})"
        return status.sequence, str(status), "finished" if status.finished else "not finished"

    def _who_is_missing(self, error: Exception) -> str:
        """Who did not come, where others are the reason of an error."""
        if self._presence is None or not isinstance(error, DistError) or isinstance(error, MismatchError):
            return ""
        return self._presence.who_is_missing(self.status.sequence)

    def _explained(self, what: str, error: Exception, missing: str = "") -> Exception:
        """The error with what it happened in."""
        if isinstance(error, (TypeError, ValueError)):
            return error
        kind = type(error) if isinstance(error, (DistNetworkError, DistStoreError)) else DistBackendError
        group = f"group {self.group_desc!r}"
        if self.ranks != list(range(self.size())):
            group += f" of ranks {self.ranks}, which it counts from 0"
        return kind(f"rank {self.ranks[self._rank]}: {what} of {group}: {error}" + (f"; {missing}" if missing else ""))

    def message(
        self,
        operation: str,
        call: Callable[[Communicator], int],
        device_type: str,
        peer: Any,
        tag: int,
        tensor: Any,
        async_op: bool,
    ) -> Work | None:
        """Send or receive: beside the collectives, in the order of this direction, peer and tag."""
        side_effect(f"it calls {operation}")
        communicator = self.communicator(device_type)

        def run() -> int:
            try:
                return call(communicator)
            except Exception as error:
                raise self._explained(f"{operation} (peer {peer})", error) from error

        direction = "send" if "send" in operation else "recv"
        if communicator.is_stream_ordered:
            begun = in_stream(communicator, run, operation, [tensor], call, (direction, peer))
            if not async_op:
                begun.wait()
            return begun
        calls = self._queue_of(direction, peer, tag)
        work = Work(operation, [tensor])
        if async_op:
            return calls.submit(run, work)
        source = calls.run(run)
        work.finish(source=source)
        return work

    def _queue_of(self, direction: str, peer: Any, tag: int) -> CallQueue:
        """The messages of a direction, peer and tag: others may overtake them."""
        with self._making:
            if len(self._messages) > MANY_QUEUES:
                self._messages = {key: calls for key, calls in self._messages.items() if not calls.is_idle()}
            key = direction, peer, tag
            if key not in self._messages:
                self._messages[key] = CallQueue(f"weft {direction} {peer} {tag}")
            return self._messages[key]

    # The end

    def shutdown(self) -> None:
        """Wait for what is under way, and give back what the communicators hold."""
        for calls in [self._calls, *self._messages.values()]:
            calls.close(self.timeout.total_seconds() if self._failure is None else 0)
        for communicator in self._communicators.values():
            communicator.close()
        self._communicators.clear()
        if self._presence is not None:
            self._presence.close()
            self._presence = None

    def abort(self) -> None:
        """Let what is under way raise in those who wait."""
        for communicator in self._communicators.values():
            communicator.abort()


def in_stream(
    communicator: Communicator,
    run: Callable[[], int],
    operation: str,
    results: Sequence[Any],
    call: Callable[..., Any],
    channel: Any = None,
) -> StreamWork:
    """Queue a call in the engine's stream, with what is computed before and after it."""
    with communicator.stream_context(channel):
        source = run()
        return StreamWork(operation, results, communicator, source, call)


def begin_together(communicator: Communicator, begin: Callable[[], list[Any]]) -> list[Any]:
    """Begin messages of an engine with streams as one; ``begin`` returns the `Work` of each."""
    with communicator.stream_context():
        with communicator.batch():
            begun = begin()
        mark = communicator.mark()
    for work in begun:
        work.mark = mark
    return begun


class CallQueue:
    """Runs calls one at a time, in the order in which they come: in the caller's thread where none is under way."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._waiting: deque[tuple[Callable[[], int], Work]] = deque()
        self._changed = threading.Condition()
        self._busy = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def run(self, call: Callable[[], int]) -> int:
        """Run a call and return what it returns."""
        with self._changed:
            queued = self._busy or bool(self._waiting)
            self._busy = True if not queued else self._busy
        if queued:
            work = self.submit(call, Work(self._name))
            work.wait()
            return work.source_rank()
        try:
            return call()
        finally:
            with self._changed:
                self._busy = False
                if self._waiting:
                    self._changed.notify_all()

    def submit(self, call: Callable[[], int], work: Work) -> Work:
        """Run a call in a thread of this queue."""
        with self._changed:
            if self._closed:
                raise DistBackendError(f"{self._name}: the process group was destroyed")
            self._waiting.append((call, work))
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return work

    def _serve(self) -> None:
        while True:
            with self._changed:
                ready = lambda: not self._busy and (self._waiting or self._closed)  # noqa: E731
                if not self._changed.wait_for(ready, IDLE_SECONDS) and self._busy:
                    continue
                if not self._waiting:
                    self._thread = None
                    return
                call, work = self._waiting.popleft()
                self._busy = True
            try:
                source = call()
            except BaseException as error:
                work.finish(error)
            else:
                work.finish(source=source)
            finally:
                del call, work  # their tensors are free
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def is_idle(self) -> bool:
        """Whether nothing is under way, and no thread is there."""
        with self._changed:
            return not (self._busy or self._waiting or self._thread)

    def close(self, seconds: float) -> None:
        """Wait for what is queued, and end the thread."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)
