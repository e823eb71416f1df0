"""The consumer's side of the worker processes: starting, asking, listening, and ending them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from weft.backend import quiet_fork
from weft.utils.data._utils.shared_memory import SegmentReader, dumps, make_folders, remove_folders
from weft.utils.data._utils.worker import End, Job, Reset, Task, run_worker

__all__ = ["WorkerPool"]

_check_seconds = 5.0
_stop_seconds = 5.0
# The pipe to a worker holds at least this much whatever the system, so that sending never blocks: were both sides to
# block in sending, neither would ever read.
_pipe_bytes = 16384


class _Worker:
    """One process, its pipe, and the tasks that it has not answered."""

    def __init__(self, process: Any, connection: Connection, reader: SegmentReader) -> None:
        self.process = process
        self.pid: int = process.pid
        self.connection = connection
        self.reader = reader
        self.in_pipe: deque[int] = deque()  # the sizes of unanswered messages
        self.waiting: deque[Any] = deque()  # indices that do not fit into the pipe yet
        self.answers_due = 0

    def ask(self, index: Any) -> None:
        self.waiting.append(index)
        self.answers_due += 1
        self._flush()

    def _flush(self) -> None:
        while self.waiting:
            released = self.reader.released[:]
            message = dumps(Task(self.waiting[0], released))
            if self.in_pipe and sum(self.in_pipe) + len(message) > _pipe_bytes:
                return
            del self.reader.released[: len(released)]
            self.waiting.popleft()
            self.in_pipe.append(len(message))
            self.connection.send_bytes(message)

    def receive(self) -> Any:
        """The next answer, packed."""
        answer = self.connection.recv()
        self.in_pipe.popleft()
        self.answers_due -= 1
        self._flush()
        return answer


class WorkerPool:
    """The processes of one loader's iterator.

    They end with :meth:`close`, with the pool's last reference, or with the interpreter, whichever is first.

    Parameters
    ----------
    context : multiprocessing context
    make_job : callable
        From a worker's number and the folders for its segments to its job.
    num_workers : int
    """

    def __init__(self, context: Any, make_job: Callable[[int, list[str]], Job], num_workers: int) -> None:
        folders = make_folders()
        workers: list[_Worker] = []
        self._workers = workers
        self._finalizer = weakref.finalize(self, _stop, os.getpid(), folders, workers)
        try:
            for worker_id in range(num_workers):
                workers.append(_start(context, make_job(worker_id, folders), workers))
        except BaseException:
            self.close()
            raise

    @property
    def is_closed(self) -> bool:
        """Whether the processes have been ended."""
        return not self._finalizer.alive

    @property
    def pids(self) -> list[int]:
        """The process ids."""
        return [worker.pid for worker in self._workers]

    def ask(self, worker_id: int, index: Any) -> None:
        """Give a worker one more task."""
        self._check_open()
        with self._reporting_deaths():
            self._workers[worker_id].ask(index)

    def reset(self) -> None:
        """Wait for the answers that are due, drop them, and begin a new epoch."""
        self._check_open()
        for worker_id, worker in enumerate(self._workers):
            worker.answers_due -= len(worker.waiting)
            worker.waiting.clear()
            while worker.answers_due:
                self.receive([worker_id], 0)
            with self._reporting_deaths():
                worker.connection.send_bytes(dumps(Reset()))

    def answers_due(self, worker_id: int) -> int:
        """The number of tasks that a worker has not answered."""
        return self._workers[worker_id].answers_due

    def receive(self, worker_ids: list[int], timeout: float) -> tuple[int, Any]:
        """The next answer of any of these workers.

        Parameters
        ----------
        worker_ids : list of int
        timeout : float
            In seconds; 0 waits forever.

        Returns
        -------
        (int, Any)
            The worker, and a batch, an ExceptionWrapper, or End.

        Raises
        ------
        RuntimeError
            If a worker has died, or the time is over.
        """
        self._check_open()
        connections = {self._workers[i].connection: i for i in worker_ids}
        deadline = time.monotonic() + timeout if timeout > 0 else None
        while True:
            ready = self._wait(list(connections), deadline)
            if ready:
                worker_id = connections[ready[0]]
                worker = self._workers[worker_id]
                with self._reporting_deaths():
                    answer = worker.receive()
                return worker_id, answer if isinstance(answer, End) else worker.reader.unpack(answer)
            self._check_alive()
            if deadline is not None and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")

    def _wait(self, connections: list[Connection], deadline: float | None) -> list[Connection]:
        if len(connections) == 1 and connections[0].poll(0):  # it has come already: the common case when data keeps up
            return connections
        seconds = _check_seconds if deadline is None else min(_check_seconds, max(deadline - time.monotonic(), 0))
        sentinels = [worker.process.sentinel for worker in self._workers]
        ready = wait([*connections, *sentinels], seconds)
        return [connection for connection in connections if connection in ready]

    @contextlib.contextmanager
    def _reporting_deaths(self) -> Iterator[None]:
        """Turn a broken pipe into the error that names the dead worker."""
        try:
            yield
        except (EOFError, ConnectionError) as error:
            self._check_alive(_check_seconds)  # the pipe may close a moment before the process ends
            raise RuntimeError("DataLoader worker exited unexpectedly: its connection is closed") from error

    def _check_open(self) -> None:
        if self.is_closed:
            raise RuntimeError("DataLoader: the workers of this pass have ended; begin another with iter(loader)")

    def _check_alive(self, seconds: float = 0) -> None:
        """Raise if a worker is dead, or dies within this time."""
        ended = wait([worker.process.sentinel for worker in self._workers], seconds)
        dead = [worker for worker in self._workers if worker.process.sentinel in ended or not worker.process.is_alive()]
        if not dead:
            return
        for worker in dead:
            worker.process.join(_check_seconds)  # to have the exit code
        pids = ", ".join(str(worker.pid) for worker in dead)
        causes = "; ".join(
            f"{_cause_of_death(each.process.exitcode)} (worker {self._workers.index(each)})" for each in dead
        )
        self.close()
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {causes}")

    def close(self) -> None:
        """End all processes and forget what they have sent."""
        self._finalizer()


def _start(context: Any, job: Job, earlier: list[_Worker]) -> _Worker:
    ours, theirs = context.Pipe(duplex=True)
    # Only a fork copies what the parent has open.
    inherited = [ours, *(worker.connection for worker in earlier)] if context.get_start_method() == "fork" else []
    process = context.Process(target=run_worker, args=(job, theirs, inherited), daemon=True)
    try:
        with quiet_fork(), _interrupts_held_back():
            process.start()
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return _Worker(process, ours, SegmentReader())


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Start a process with interrupts blocked: it lets them in when it is ready to end quietly."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cause_of_death(exitcode: int | None) -> str:
    if exitcode is None or exitcode >= 0:
        return f"exit code {exitcode}"
    try:
        name = signal.Signals(-exitcode).name
    except ValueError:
        name = str(-exitcode)
    hint = {"SIGKILL": ", perhaps for want of memory", "SIGBUS": ", perhaps for want of shared memory"}.get(name, "")
    return f"killed by signal {name}{hint}"


def _stop(owner: int, folders: list[str], workers: list[_Worker]) -> None:
    """End the workers: ask, wait a little, then insist."""
    if os.getpid() != owner:  # in a child that was forked while the pool was alive: nothing here is its own
        return
    for worker in workers:
        with contextlib.suppress(OSError, ValueError):
            worker.connection.send(None)
        worker.connection.close()
    deadline = time.monotonic() + _stop_seconds
    for insist in (None, "terminate", "kill"):
        for worker in workers:
            if insist is not None and worker.process.is_alive():
                getattr(worker.process, insist)()
        for worker in workers:
            worker.process.join(max(deadline - time.monotonic(), 0) if insist is None else 1.0)
    for worker in workers:
        with contextlib.suppress(ValueError):  # still running: beyond what can be done
            worker.process.close()
    remove_folders(folders)
