"""Processes that run names, so that one that hangs or dies costs only its own column."""

import contextlib
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

MEMORY_LIMIT = 12 * 2**30


@dataclass
class Plan:
    """How names are run."""

    library: str
    dtypes: set[str] | None = None
    seeds: int = 1
    limit: float = 120.0


def work(connection: Connection, plan: Plan) -> None:
    """Body of a process: for each (name, columns) received send the tally of each column, then None."""
    from harness import columns, other_devices  # noqa: F401  # the second adds columns
    from harness.translate import Library

    _restrict()
    try:
        library = Library(plan.library)
    except Exception as error:  # nothing can be run: every column says why
        _refuse(connection, f"import {plan.library}: {type(error).__name__}: {error}")
        return
    # The two may share an OpenMP. On two threads PyTorch's max_unpool2d writes to one position twice in either order.
    library.module.set_num_threads(1)
    while (job := connection.recv()) is not None:
        name, wanted = job
        for column in wanted:
            connection.send(("start", column, None))
            try:
                tally = columns.run(columns.COLUMNS[column], name, library, plan.dtypes, plan.seeds)
                connection.send(("end", column, {**vars(tally), "status": tally.status}))
            except Exception as error:  # of the harness itself: shown, and the other columns go on
                connection.send(("end", column, _lost(f"harness: {type(error).__name__}: {error}")))
        connection.send(None)


def _refuse(connection: Connection, reason: str) -> None:
    """Answer each job with the reason why it cannot be run."""
    while (job := connection.recv()) is not None:
        for column in job[1]:
            connection.send(("end", column, _lost(reason)))
        connection.send(None)


def _restrict() -> None:
    """One thread, no output, and an error rather than the machine's last memory for a huge allocation."""
    import torch

    torch.set_num_threads(1)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@dataclass
class Worker:
    """One process, what it is at, and until when it may be."""

    plan: Plan
    process: Any = None
    connection: Any = None
    name: str = ""
    pending: list[str] = field(default_factory=list)
    deadline: float = 0.0

    def give(self, name: str, columns: list[str]) -> None:
        """Have a name run, in a new process if there is none."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, theirs = context.Pipe()
            self.process = context.Process(target=work, args=(theirs, self.plan), daemon=True)
            self.process.start()
            theirs.close()
            self.deadline = time.monotonic() + 120  # the first name also waits for the imports
        self.name, self.pending = name, list(columns)
        self.deadline = max(self.deadline, time.monotonic() + self.plan.limit)
        self.connection.send((name, columns))

    def stop(self) -> int | None:
        """End the process; its exit code."""
        if self.process is None:
            return None
        self.process.join(1)
        code = self.process.exitcode
        self.process.kill()
        self.process.join()
        self.connection.close()
        self.process = self.connection = None
        return code


def _lost(reason: str) -> dict[str, Any]:
    """Tally of a column whose process did not come back."""
    return {"passed": 0, "failed": 1, "unjudged": 0, "causes": {reason: reason}, "status": "fail"}


class Pool:
    """Run names in ``jobs`` processes."""

    def __init__(self, plan: Plan, jobs: int = 1) -> None:
        self.plan = plan
        self.workers = [Worker(plan) for _ in range(jobs)]

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self.workers:
            worker.stop()

    def run(
        self, columns: Mapping[str, list[str]], progress: Callable[[int], None] = lambda done: None
    ) -> dict[str, dict[str, Any]]:
        """``{name: {column: tally}}`` for the columns wanted of each name."""
        results: dict[str, dict[str, Any]] = {name: {} for name in columns}
        queue = deque(columns.items())
        busy: list[Worker] = []
        idle, done = list(self.workers), 0
        while queue or busy:
            while queue and idle:
                worker = idle.pop()
                worker.give(*queue.popleft())
                busy.append(worker)
            ready = wait([w.connection for w in busy], timeout=1.0)
            for worker in list(busy):
                if self._attend(worker, worker.connection in ready, results, queue):
                    busy.remove(worker)
                    idle.append(worker)
                    done += 1
                    progress(done)
        return results

    def _attend(self, worker: Worker, ready: bool, results: Any, queue: Any) -> bool:
        """Take what a worker sent, or end it; whether it is free again."""
        if ready:
            try:
                message = worker.connection.recv()
            except (EOFError, OSError):
                code = worker.stop()
                return self._bury(worker, f"the process ended with code {code}", results, queue)
            if message is None:
                return True
            kind, column, tally = message
            worker.deadline = time.monotonic() + self.plan.limit
            if kind == "end":
                results[worker.name][column] = tally
                worker.pending.remove(column)
            return False
        if time.monotonic() > worker.deadline:
            worker.stop()
            return self._bury(worker, f"more than {self.plan.limit:.0f} s", results, queue)
        return False

    def _bury(self, worker: Worker, reason: str, results: Any, queue: Any) -> bool:
        """Note the column that a process died of, and have the rest of its name run again."""
        if worker.pending:
            results[worker.name][worker.pending.pop(0)] = _lost(reason)
        if worker.pending:
            queue.append((worker.name, list(worker.pending)))
        return True
