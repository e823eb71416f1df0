"""The worker process: a loop that fetches the batches it is asked for."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import weft
from weft._exception_wrapper import ExceptionWrapper
from weft.utils.data._utils.fetch import Fetcher, make_fetcher
from weft.utils.data._utils.shared_memory import SegmentWriter, remove_folders

__all__ = ["End", "Job", "Reset", "Task", "WorkerInfo", "get_worker_info", "run_worker"]

PARENT_CHECK_SECONDS = 5.0
_parent_check_seconds = PARENT_CHECK_SECONDS
_parent_end_seconds = 0.3  # what the parent may take to end of a signal that this process got as well


class WorkerInfo:
    """The result of :func:`get_worker_info`: what a worker knows about itself.

    Attributes
    ----------
    id : int
        From 0 to ``num_workers - 1``.
    num_workers : int
    seed : int
        The seed of Python's and weft's generators in this worker.
    dataset : Dataset
        This worker's copy.
    """

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        self.id = id
        self.num_workers = num_workers
        self.seed = seed
        self.dataset = dataset

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset!r})"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a loader, who it is; None in any other process."""
    return _worker_info


@dataclass(frozen=True)
class Task:
    """To a worker: fetch this index; these segments are free again."""

    index: Any
    released: list[str]


@dataclass(frozen=True)
class Reset:
    """To a worker that persists: begin a new epoch."""


@dataclass(frozen=True)
class End:
    """From a worker: its iterable dataset has no more."""


@dataclass(frozen=True)
class Job:
    """All that a worker needs to know."""

    worker_id: int
    num_workers: int
    base_seed: int
    dataset: Any
    dataset_kind: int
    batched: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    init_fn: Callable[[int], Any] | None
    folders: list[str]

    def make_fetcher(self) -> Fetcher:
        """Begin to read the dataset."""
        return make_fetcher(self.dataset_kind, self.dataset, self.batched, self.collate_fn, self.drop_last)


def run_worker(job: Job, connection: Connection, inherited: list[Connection]) -> None:
    """Serve tasks until told to stop (None), until the connection closes, or until the parent is gone.

    Parameters
    ----------
    job : Job
    connection : Connection
    inherited : list of Connection
        The parent's ends that a fork has copied: kept open here, they would hide the parent's end from others.
    """
    for other in inherited:
        other.close()
    with contextlib.suppress(ValueError):  # a handler of the parent's would keep terminate() from working
        signal.signal(signal.SIGTERM, _ending(os.getppid(), job.folders))
    try:
        if hasattr(signal, "pthread_sigmask"):  # blocked while the process was started
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _serve(job, connection)
    except KeyboardInterrupt:  # it reaches all processes; the parent's traceback is enough
        pass
    except (EOFError, ConnectionError):  # the parent was killed before it could say stop, and cannot clean up
        remove_folders(job.folders)
    finally:
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the end is near


def _ending(parent: int, folders: list[str]) -> Callable[[int, Any], None]:
    """Handle termination of a worker: a signal to the whole group ends the parent before it can clean up."""

    def end(number: int, frame: Any) -> None:
        deadline = time.monotonic() + _parent_end_seconds
        while os.getppid() == parent and time.monotonic() < deadline:
            time.sleep(0.01)
        if os.getppid() != parent:
            remove_folders(folders)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return end


def _serve(job: Job, connection: Connection) -> None:
    where = f"in DataLoader worker process {job.worker_id}"
    writer = SegmentWriter(job.folders, str(job.worker_id))
    fetcher: Fetcher | ExceptionWrapper
    try:
        _prepare(job)
        fetcher = job.make_fetcher()
    except Exception:
        fetcher = ExceptionWrapper(where=where)
    parent = os.getppid()
    while True:
        message = _receive(connection, parent)
        if message is None:
            return
        if isinstance(message, Reset):
            try:
                fetcher = job.make_fetcher()
            except Exception:
                fetcher = ExceptionWrapper(where=where)
            continue
        writer.take_back(message.released)
        connection.send(_answer(fetcher, message.index, writer, where))


def _answer(fetcher: Fetcher | ExceptionWrapper, index: Any, writer: SegmentWriter, where: str) -> Any:
    """The packed batch, or the packed exception, or End."""
    if isinstance(fetcher, ExceptionWrapper):
        return writer.pack(fetcher)
    try:
        return writer.pack(fetcher.fetch(index))
    except StopIteration:
        if fetcher.ends:
            return End()
        return writer.pack(ExceptionWrapper(where=where))
    except Exception:
        return writer.pack(ExceptionWrapper(where=where))


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """NumPy's seed for a worker: PyTorch's numbers and name, which tensordict's own workers import."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in np.random.SeedSequence(entropy).generate_state(4)]


def _prepare(job: Job) -> None:
    """Seed the generators, each of them differently in each worker, and run the user's function."""
    global _worker_info
    seed = job.base_seed + job.worker_id
    _worker_info = WorkerInfo(job.worker_id, job.num_workers, seed, job.dataset)
    # One thread for each worker: they work side by side, and a forked child must not enter the parent's thread pool.
    weft.set_num_threads(1)
    random.seed(seed)
    weft.manual_seed(seed)
    # NumPy's global generator is what data sets use; from one seed it would repeat the stream of Python's.
    np.random.seed(_generate_state(job.base_seed, job.worker_id))  # noqa: NPY002
    if job.init_fn is not None:
        job.init_fn(job.worker_id)


def _receive(connection: Connection, parent: int) -> Task | Reset | None:
    while not connection.poll(_parent_check_seconds):
        if os.getppid() != parent:  # others may hold copies of its end of the pipe, which then stays open
            raise EOFError
    message: Task | Reset | None = pickle.loads(connection.recv_bytes())
    return message
