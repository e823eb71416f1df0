"""Worker processes and where their output goes: `PContext`, of functions and of commands, and `LogsSpecs`."""

from __future__ import annotations

import abc
import contextlib
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntFlag
from multiprocessing.connection import Connection, Pipe
from typing import Any

from weft.distributed.elastic.multiprocessing import _guard
from weft.distributed.elastic.multiprocessing._output import OutputForwarder
from weft.distributed.elastic.multiprocessing.errors import ProcessFailure, record

__all__ = [
    "DefaultLogsSpecs",
    "LogsDest",
    "LogsSpecs",
    "MultiprocessContext",
    "PContext",
    "RunProcsResult",
    "SignalException",
    "Std",
    "SubprocessContext",
    "to_map",
]

GRACE_SECONDS = 3  # between asking and killing: with what goes before, a job has ended after 5


class SignalException(Exception):
    """The launcher was asked to end by a signal.

    Attributes
    ----------
    sigval : signal.Signals
    """

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


class Std(IntFlag):
    """Standard output, standard error, both or neither."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Read ``"3"`` (for all local ranks), or ``"0:1,1:2"`` (by local rank).

        Raises
        ------
        ValueError
            For any other form.
        """
        if re.fullmatch(r"[0-3]", vm):
            return cls(int(vm))
        if re.fullmatch(r"(\d+:[0-3],)*\d+:[0-3]", vm):
            return {int(rank): cls(int(value)) for rank, value in (each.split(":") for each in vm.split(","))}
        raise ValueError(f"{vm} does not match: <^[0123]$> or <^(\\d:[0123],)*(\\d:[0123])$>")


def to_map(val_or_map: Std | dict[int, Std], local_world_size: int) -> dict[int, Std]:
    """Give each local rank its own value; those that a dict does not name get ``Std.NONE``."""
    if isinstance(val_or_map, Std):
        return dict.fromkeys(range(local_world_size), val_or_map)
    return {rank: val_or_map.get(rank, Std.NONE) for rank in range(local_world_size)}


@dataclass
class LogsDest:
    """The files of each local rank; no entry where output goes to the console alone."""

    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)
    tee_stdouts: dict[int, str] = field(default_factory=dict)
    tee_stderrs: dict[int, str] = field(default_factory=dict)
    error_files: dict[int, str] = field(default_factory=dict)


class LogsSpecs(abc.ABC):
    """Where the output of workers goes.

    Parameters
    ----------
    log_dir : str, optional
        By default one in the system's folder of temporary files.
    redirects, tee : Std or dict of int to Std
        By local rank: what goes into files, and what goes into files and to the console.
    local_ranks_filter : set of int, optional
        The local ranks whose output is shown on the console; by default all.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        self._root_log_dir = log_dir
        self._redirects = redirects
        self._tee = tee
        self._local_ranks_filter = local_ranks_filter

    @abc.abstractmethod
    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """Make the folders of one start, and name the files in them."""

    @property
    def root_log_dir(self) -> str | None:
        """The folder of all starts."""
        return self._root_log_dir


class DefaultLogsSpecs(LogsSpecs):
    """``{log_dir}/{run id}_{random}/attempt_{number}/{local rank}/stdout.log``, ``stderr.log`` and ``error.json``."""

    _run_dir: str | None = None

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        some = next(iter(envs.values()), {})
        attempt = self._make_run_dir(some.get("TORCHELASTIC_RUN_ID", "test_run_id")) + (
            f"/attempt_{some.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        )
        shutil.rmtree(attempt, ignore_errors=True)
        redirects, tees = to_map(self._redirects, len(envs)), to_map(self._tee, len(envs))
        found = LogsDest()
        for rank in envs:
            folder = os.path.join(attempt, str(rank))
            os.makedirs(folder)
            redirect, tee = redirects[rank], tees[rank]
            if self._local_ranks_filter is not None and rank not in self._local_ranks_filter:
                redirect, tee = Std.ALL, Std.NONE
            for std, files, tee_files, name in (
                (Std.OUT, found.stdouts, found.tee_stdouts, "stdout.log"),
                (Std.ERR, found.stderrs, found.tee_stderrs, "stderr.log"),
            ):
                if (redirect | tee) & std:
                    files[rank] = os.path.join(folder, name)
                if tee & std:
                    tee_files[rank] = files[rank]
            found.error_files[rank] = os.path.join(folder, "error.json")
        return found

    def _make_run_dir(self, run_id: str) -> str:
        if self._run_dir is None:
            if self._root_log_dir is None:
                self._root_log_dir = tempfile.mkdtemp(prefix="weft-launch-")
                self._keeps_files = bool(self._redirects)
            else:
                os.makedirs(self._root_log_dir, exist_ok=True)
            name = re.sub(r"[^\w.-]", "_", run_id)
            self._run_dir = tempfile.mkdtemp(prefix=f"{name}_", dir=self._root_log_dir)
        return self._run_dir

    _keeps_files = True

    def _clean(self) -> None:
        """Remove the folder, unless somebody asked for what is in it."""
        if self._run_dir is not None and not self._keeps_files and self._root_log_dir is not None:
            shutil.rmtree(self._root_log_dir, ignore_errors=True)
            self._root_log_dir = self._run_dir = None


@dataclass
class RunProcsResult:
    """What the workers returned, or how they failed, by local rank."""

    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)
    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether one has failed."""
        return bool(self.failures)


class Guard:
    """The process that ends the workers if this one is killed; it ends with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, pid: int) -> None:
        """Note a worker that is the leader of its process group."""
        if os.name != "posix":
            return
        if self._process is None:
            command = [sys.executable, "-I", "-S", str(_guard.__file__)]
            silent = subprocess.DEVNULL
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=silent, stderr=silent, start_new_session=True
            )
        self._write(f"+{pid}\n")

    def discard(self, pid: int) -> None:
        """Note that a worker has ended."""
        self._write(f"-{pid}\n")

    def forget(self) -> None:
        """Close the pipe in a forked worker, so that it ends with the launcher."""
        if self._process is not None and self._process.stdin is not None:
            os.close(self._process.stdin.fileno())

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.communicate()
            self._process = None

    def _write(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # somebody has ended it
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


class PContext(abc.ABC):
    """The workers of one start, by local rank; what `start_processes` returns.

    Parameters
    ----------
    name : str
    entrypoint : callable or str
    args : dict of int to tuple
    envs : dict of int to dict
    logs_specs : LogsSpecs
    log_line_prefixes : dict of int to str, optional
    """

    def __init__(
        self,
        name: str,
        entrypoint: Callable[..., Any] | str,
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
    ) -> None:
        self.name = name
        self.entrypoint = entrypoint
        self.args = args
        self.envs = envs
        self.nprocs = len(args)
        self._files = logs_specs.reify(envs)
        self._prefixes = log_line_prefixes or {rank: f"[{name}{rank}]:" for rank in args}
        self._output = OutputForwarder()
        self._guard = Guard()
        self._ended: dict[int, int] = {}  # exit codes
        self._returned: dict[int, Any] = {}
        self._failures: dict[int, ProcessFailure] = {}
        self._is_closed = False

    @property
    def error_files(self) -> dict[int, str]:
        """Where each worker writes its exception."""
        return self._files.error_files

    def start(self) -> None:
        """Start the workers.

        Raises
        ------
        ValueError
            If that was done already.
        """
        if self.pids():
            raise ValueError("The process context already initialized. Most likely the start method got called twice.")
        for rank in range(self.nprocs):
            env = self.envs[rank] | {"TORCHELASTIC_ERROR_FILE": self._files.error_files[rank]}
            with contextlib.ExitStack() as opened:
                self._start(rank, env, *(opened.enter_context(self._target(rank, std)) for std in (Std.OUT, Std.ERR)))
            self._guard.add(self.pids()[rank])
        self._output.start()

    @contextlib.contextmanager
    def _target(self, rank: int, std: Std) -> Iterator[str | Connection | None]:
        """Where a worker's output goes: a file's path, the forwarder's pipe, or None, the console."""
        outwards = std is Std.OUT
        files, tees = (
            (self._files.stdouts, self._files.tee_stdouts)
            if outwards
            else (self._files.stderrs, self._files.tee_stderrs)
        )
        if rank in tees:
            console = sys.stdout if outwards else sys.stderr
            yield self._output.open(self._prefixes[rank], console, files[rank])
        else:
            yield files.get(rank)

    def wait(self, timeout: float = -1, period: float = 1) -> RunProcsResult | None:
        """Wait until all have ended, or one has failed; then the others are ended.

        Parameters
        ----------
        timeout : float
            Seconds: 0 to look once, -1 without end.
        period : float
            Seconds between looks.

        Returns
        -------
        RunProcsResult
            None if the time is over.
        """
        deadline = time.monotonic() + timeout
        while True:
            self._look()
            if self._failures or len(self._ended) == self.nprocs:
                self.close()
                values = {} if self._failures else dict(sorted(self._returned.items()))
                return RunProcsResult(values, self._failures, self._files.stdouts, self._files.stderrs)
            if timeout >= 0 and time.monotonic() >= deadline:
                return None
            time.sleep(period if timeout < 0 else max(0.0, min(period, deadline - time.monotonic())))

    def close(self, death_sig: signal.Signals | None = None, timeout: int = GRACE_SECONDS) -> None:
        """End the workers: by a signal, SIGTERM if none is given, and SIGKILL after ``timeout`` seconds."""
        if self._is_closed:
            return
        self._is_closed = True
        has_failed = bool(self._failures) or len(self._ended) < self.nprocs
        try:
            if has_failed:
                self._signal_groups(death_sig or signal.SIGTERM)
                deadline = time.monotonic() + timeout
                while len(self._ended) < len(self.pids()) and time.monotonic() < deadline:
                    time.sleep(0.02)
                    self._look(is_closing=True)
        finally:  # also when a second signal interrupts this
            if has_failed:
                self._signal_groups(getattr(signal, "SIGKILL", signal.SIGTERM))
                while len(self._ended) < len(self.pids()):
                    time.sleep(0.01)
                    self._look(is_closing=True)
            self._output.close()
            self._guard.close()
            self._release()

    def _look(self, is_closing: bool = False) -> None:
        """Note who has ended. One that ends by the signal that it was sent has not failed."""
        for rank in self.pids():
            if rank in self._ended:
                continue
            code = self._poll(rank)
            if code is None:
                continue
            self._ended[rank] = code
            self._guard.discard(self.pids()[rank])
            if code != 0 and (not is_closing or os.path.exists(self._files.error_files[rank])):
                self._failures[rank] = ProcessFailure(rank, self.pids()[rank], code, self._files.error_files[rank])

    def _signal_groups(self, number: int) -> None:
        """Signal each worker and what it has started."""
        for rank, pid in self.pids().items():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.name == "posix" and self._leads_group(pid):
                    os.killpg(pid, number)
                elif rank not in self._ended:
                    os.kill(pid, number)

    def _leads_group(self, pid: int) -> bool:
        """Whether a worker has its own process group by now; one that has ended left it to what it started."""
        try:
            return os.getpgid(pid) == pid
        except ProcessLookupError:
            return True

    @abc.abstractmethod
    def pids(self) -> dict[int, int]:
        """The process ids, by local rank."""

    @abc.abstractmethod
    def _start(
        self, rank: int, env: dict[str, str], stdout: str | Connection | None, stderr: str | Connection | None
    ) -> None:
        """Start one worker."""

    @abc.abstractmethod
    def _poll(self, rank: int) -> int | None:
        """The exit code of a worker that has ended."""

    def _release(self) -> None:  # noqa: B027  # commands leave nothing
        """Free what is left when all have ended."""


class SubprocessContext(PContext):
    """Workers that are commands."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def pids(self) -> dict[int, int]:
        return {rank: process.pid for rank, process in self._processes.items()}

    def _start(
        self, rank: int, env: dict[str, str], stdout: str | Connection | None, stderr: str | Connection | None
    ) -> None:
        command = [str(self.entrypoint), *map(str, self.args[rank])]
        with contextlib.ExitStack() as files:
            descriptors = [
                files.enter_context(open(each, "wb")) if isinstance(each, str) else each for each in (stdout, stderr)
            ]
            self._processes[rank] = subprocess.Popen(
                command,
                env=os.environ | env,
                stdout=descriptors[0],  # type: ignore[arg-type]  # a Connection has a fileno, which is what is asked
                stderr=descriptors[1],  # type: ignore[arg-type]
                start_new_session=os.name == "posix",
            )

    def _poll(self, rank: int) -> int | None:
        code = self._processes[rank].poll()
        if code is not None:
            self._returned[rank] = None
        return code


class MultiprocessContext(PContext):
    """Workers that are functions; `wait` gives what they return.

    Parameters
    ----------
    start_method : str
        ``"spawn"``, ``"fork"`` or ``"forkserver"``.
    """

    def __init__(
        self,
        name: str,
        entrypoint: Callable[..., Any],
        args: dict[int, tuple[Any, ...]],
        envs: dict[int, dict[str, str]],
        logs_specs: LogsSpecs,
        log_line_prefixes: dict[int, str] | None = None,
        start_method: str = "spawn",
    ) -> None:
        super().__init__(name, entrypoint, args, envs, logs_specs, log_line_prefixes)
        self.start_method = start_method
        self._processes: dict[int, Any] = {}
        self._results: dict[int, Connection] = {}

    def pids(self) -> dict[int, int]:
        return {rank: process.pid for rank, process in self._processes.items()}

    def _start(
        self, rank: int, env: dict[str, str], stdout: str | Connection | None, stderr: str | Connection | None
    ) -> None:
        context = multiprocessing.get_context(self.start_method)
        receiver, sender = Pipe(duplex=False)
        forget = self._guard if self.start_method == "fork" else None
        process = context.Process(  # type: ignore[attr-defined]
            target=_run, args=(self.entrypoint, self.args[rank], env, (stdout, stderr), sender, forget)
        )
        process.start()
        sender.close()
        self._processes[rank], self._results[rank] = process, receiver

    def _poll(self, rank: int) -> int | None:
        with contextlib.suppress(EOFError, OSError):  # an end without a result
            if self._results[rank].poll():
                self._returned[rank] = self._results[rank].recv()
        code: int | None = self._processes[rank].exitcode
        return code

    def _release(self) -> None:
        for rank, process in self._processes.items():
            process.join()
            self._results[rank].close()


def _run(
    entrypoint: Callable[..., Any],
    args: tuple[Any, ...],
    env: Mapping[str, str],
    outputs: tuple[str | Connection | None, str | Connection | None],
    sender: Connection,
    guard: Guard | None,
) -> None:
    """What runs in a worker that is a function."""
    if hasattr(os, "setsid"):
        os.setsid()
    if guard is not None:
        guard.forget()
    for number in (signal.SIGTERM, signal.SIGINT):  # a forked worker has the launcher's handlers
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler)
    os.environ.update(env)
    for output, descriptor in zip(outputs, (1, 2)):
        _redirect(output, descriptor)
    sender.send(record(entrypoint)(*args))


def _redirect(output: str | Connection | None, descriptor: int) -> None:
    """Let a file or a pipe stand in the place of standard output or standard error."""
    if output is None:
        return
    (sys.stdout if descriptor == 1 else sys.stderr).flush()
    if isinstance(output, str):
        with open(output, "wb") as file:
            os.dup2(file.fileno(), descriptor)
    else:
        os.dup2(output.fileno(), descriptor)
        output.close()
