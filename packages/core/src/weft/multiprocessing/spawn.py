"""Several processes for one function: started, waited for, and ended together where one of them fails."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import connection
from typing import Any

from weft._processes import quiet_fork

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

_kill_seconds = 3.0  # what a process that is asked to end may take
_cause_seconds = 0.5  # what one may take to tell of its failure when others have noticed that it is gone


class ProcessException(Exception):
    """A process of :func:`spawn` has failed.

    Attributes
    ----------
    msg : str
    error_index : int
        The process's number, from 0.
    error_pid : int
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    @property
    def pid(self) -> int:
        """The older name of ``error_pid``."""
        return self.error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception in a process; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process was killed by a signal, or left with an exit code.

    Attributes
    ----------
    exit_code : int
        Negative for a signal.
    signal_name : str or None
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


class ProcessContext:
    """Processes that run one function; what :func:`spawn` returns with ``join=False``.

    Attributes
    ----------
    processes : list of Process
    error_files : list of str
        Where each process leaves the traceback of its exception.
    """

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for the next processes to end.

        Parameters
        ----------
        timeout : float, optional
            In seconds; by default without end.
        grace_period : float, optional
            The seconds that the others may go on after one has failed, before they are ended.

        Returns
        -------
        bool
            Whether all have ended. Where not, call again.

        Raises
        ------
        ProcessRaisedException, ProcessExitedException
            If one has failed; the others are ended first.
        """
        if not self.sentinels:
            return True
        failed = []
        for sentinel in connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)  # type: ignore[arg-type]  # sentinels went in
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed.append(index)
        if not failed:
            if not self.sentinels:
                self._remove_files()
            return not self.sentinels
        first = self._first_of(failed)
        self._end_all(grace_period)
        failure = self._failure(first)
        self._remove_files()
        raise failure

    def _first_of(self, failed: list[int]) -> int:
        """Whose failure made the others fail: one that was killed, or else the first to write an exception.

        A process that misses another may end before the other has come to its own end.
        """
        deadline = time.monotonic() + _cause_seconds
        while not (causes := self._causes(failed)) and self.sentinels and time.monotonic() < deadline:
            for sentinel in connection.wait(list(self.sentinels), max(deadline - time.monotonic(), 0)):
                index = self.sentinels.pop(sentinel)  # type: ignore[arg-type]
                self.processes[index].join()
                if self.processes[index].exitcode != 0:
                    failed.append(index)
        return (causes or self._written())[0]

    def _causes(self, failed: list[int]) -> list[int]:
        """Who failed by itself, the first before the others."""
        written = self._written()
        killed = [index for index in failed if index not in written]
        return killed + [index for index in written if not self._read_error(index)[1]]

    def _written(self) -> list[int]:
        """Who has left an exception, the first before the others."""
        written = [index for index, path in enumerate(self.error_files) if os.path.getsize(path)]
        return sorted(written, key=lambda index: os.stat(self.error_files[index]).st_mtime_ns)

    def _read_error(self, index: int) -> tuple[str, bool]:
        """The traceback of a process's exception, and whether it follows from another process's failure."""
        with open(self.error_files[index], "rb") as file:
            text, is_consequence = pickle.load(file)
        return text, is_consequence

    def _end_all(self, grace_period: float | None) -> None:
        """Wait a little, ask, then insist."""
        for seconds, insist in ((grace_period or 0.0, "terminate"), (_kill_seconds, "kill")):
            deadline = time.monotonic() + seconds
            for process in self.processes:
                process.join(max(deadline - time.monotonic(), 0))
            for process in self.processes:
                if process.is_alive():
                    getattr(process, insist)()
        for process in self.processes:
            process.join()
        self.sentinels.clear()

    def _failure(self, index: int) -> ProcessException:
        process = self.processes[index]
        if os.path.getsize(self.error_files[index]):
            message = f"\n\n-- Process {index} terminated with the following error:\n{self._read_error(index)[0]}"
            return ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code >= 0:
            return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        return ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)

    def _remove_files(self) -> None:
        for path in self.error_files:
            for each in (path, f"{path}.part"):
                with contextlib.suppress(OSError):
                    os.unlink(each)

    __del__ = _remove_files


SpawnContext = ProcessContext  # its older name


def _run(fn: Callable[..., Any], index: int, args: Sequence[Any], error_file: str) -> None:
    """What runs in a process: the function, whose exception goes into a file."""
    _end_with_parent()
    try:
        fn(index, *args)
    except KeyboardInterrupt:  # of the whole group: the parent says it
        pass
    except Exception as error:
        with open(f"{error_file}.part", "wb") as file:
            pickle.dump((traceback.format_exc(), getattr(error, "is_consequence", False)), file)
        os.replace(f"{error_file}.part", error_file)  # it is whole when it is there
        sys.exit(1)


def _end_with_parent() -> None:
    """Have the system interrupt this process when the parent is gone, where it can."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGINT)
        parent = multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():  # it went before
            signal.raise_signal(signal.SIGINT)


def start_processes(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in ``nprocs`` processes, with i from 0.

    Parameters
    ----------
    fn : callable
        Defined at the top level of a module, unless the processes are forked.
    args : tuple
        Tensors in it share their memory.
    nprocs : int
    join : bool
        Wait until all have ended.
    daemon : bool
        Daemons end with this process, and cannot have children of their own.
    start_method : str
        ``"spawn"``, ``"fork"`` or ``"forkserver"``.

    Returns
    -------
    ProcessContext
        With ``join=False``; otherwise None.

    Raises
    ------
    ProcessRaisedException, ProcessExitedException
        If a process fails, with its traceback or how it ended; the others are ended.
    """
    context = multiprocessing.get_context(start_method)
    running = ProcessContext([], [])
    try:
        for index in range(nprocs):
            descriptor, path = tempfile.mkstemp(prefix="weft-spawn-")
            os.close(descriptor)
            running.error_files.append(path)
            process = context.Process(target=_run, args=(fn, index, args, path), daemon=daemon)  # type: ignore[attr-defined]
            with quiet_fork():
                process.start()
            running.processes.append(process)
            running.sentinels[process.sentinel] = index
    except BaseException:
        running._end_all(None)
        raise
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in ``nprocs`` new interpreters; :func:`start_processes` for other ways to start.

    The program must guard what it runs by ``if __name__ == "__main__":``, since each process imports it.
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}). To use a different start_method use: "
            "weft.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
