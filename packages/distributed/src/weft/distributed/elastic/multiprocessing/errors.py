"""Failures of worker processes: how one leaves its traceback for the launcher, and how the launcher tells of it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_FILE = "TORCHELASTIC_ERROR_FILE"


class ErrorHandler:
    """Writes the exception of a worker into the file that its launcher reads."""

    def initialize(self) -> None:
        """Prepare a worker; nothing has to be."""

    def record_exception(self, e: BaseException) -> None:
        """Write an exception and its traceback into the file that ``TORCHELASTIC_ERROR_FILE`` names, if it is set."""
        path = os.environ.get(_FILE)
        if path is None or os.path.exists(path):  # the first one is the cause of those that follow
            return
        extra = {
            "py_callstack": "".join(traceback.format_exception(e)),
            "timestamp": str(int(time.time())),
            "seconds": time.time(),
            "is_consequence": getattr(e, "is_consequence", False),
        }
        write_json(path, {"message": {"message": f"{type(e).__name__}: {e}", "extraInfo": extra}})

    def override_error_code_in_rootcause_data(
        self, rootcause_error_file: str, rootcause_error: dict[str, Any], error_code: int = 0
    ) -> None:
        """Add an exit code to what a worker has left."""
        if isinstance(rootcause_error.get("message"), dict):
            rootcause_error["message"]["errorCode"] = error_code

    def dump_error_file(self, rootcause_error_file: str, error_code: int = 0) -> None:
        """Copy what a worker has left into this process's own file, for the launcher that started this one."""
        path = os.environ.get(_FILE)
        with open(rootcause_error_file) as file:
            error = json.load(file)
        if error_code:
            self.override_error_code_in_rootcause_data(rootcause_error_file, error, error_code)
        if path is not None:
            write_json(path, error)


def write_json(path: str, value: Any) -> None:
    """Write a file that is whole as soon as it is there."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(f"{path}.part", "w") as file:
        json.dump(value, file)
    os.replace(f"{path}.part", path)


def get_error_handler() -> ErrorHandler:
    """The handler that :func:`record` uses."""
    return ErrorHandler()


@dataclass
class ProcessFailure:
    """How a worker failed.

    Attributes
    ----------
    local_rank, pid : int
    exitcode : int
        Negative for a signal.
    error_file : str
        Where the worker wrote its exception; ``"<N/A>"`` if it did not.
    message : str or dict
    timestamp : int
        Seconds of the epoch: of the exception, or of when the worker was found to have ended.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: Any = field(init=False, default="<EMPTY>")
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self._seconds, self._is_consequence = time.time(), False
        self.timestamp = int(self._seconds)
        with contextlib.suppress(OSError, ValueError), open(self.error_file) as file:
            self.error_file_data = json.load(file)
        if isinstance(self.error_file_data, dict):
            self._read(self.error_file_data["message"])
            return
        self.error_file = "<N/A>"
        if self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        else:
            self.message = "printed by the process itself, to its standard error"

    def _read(self, message: Any) -> None:
        self.message = message
        extra = message.get("extraInfo", {}) if isinstance(message, dict) else {}
        self.timestamp = int(extra.get("timestamp", self.timestamp))
        self._seconds = float(extra.get("seconds", self.timestamp))
        self._is_consequence = bool(extra.get("is_consequence", False))

    def signal_name(self) -> str:
        """The name of the signal that ended the worker; ``"<N/A>"`` if none did."""
        if self.exitcode >= 0:
            return "<N/A>"
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return f"<Unknown signal {-self.exitcode}>"

    def timestamp_isoformat(self) -> str:
        """The local time, as ``2026-01-31_12:00:00``."""
        return time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(self.timestamp))

    def traceback(self) -> str:
        """The traceback, or what else is known; of what only followed from another failure, the message."""
        if isinstance(self.message, dict) and self._is_consequence:
            return str(self.message.get("message"))
        if isinstance(self.message, dict):
            return str(self.message.get("extraInfo", {}).get("py_callstack", self.message.get("message", "<N/A>")))
        return str(self.message)


class ChildFailedError(Exception):
    """Workers have failed. The message lists them, the cause apart from what followed from it.

    Parameters
    ----------
    name : str
        Of the program.
    failures : dict of int to ProcessFailure
        By global rank.
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        if not failures:
            raise ValueError(f"ChildFailedError: {name} has no failures")
        self.name = name
        self.failures = failures
        super().__init__(self.format_msg())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.failures)

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank that failed first, and how; one that only missed another is not the first."""
        rank = min(self.failures, key=lambda each: _order(self.failures[each]))
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """The summary: the failures, and which was the first."""
        root, cause = self.get_first_failure()
        others = [rank for rank in sorted(self.failures) if rank != root]
        listed = [_describe(place, rank, self.failures[rank]) for place, rank in enumerate(others, start=1)]
        lines = [
            f"{self.name} FAILED",
            section_delim * 60,
            "Failures:",
            *(listed or ["  <NO_OTHER_FAILURES>"]),
            section_delim * 60,
            "Root Cause (first observed failure):",
            _describe(0, root, cause),
        ]
        return "\n".join(["", boarder_delim * 60, *lines, boarder_delim * 60])


def _order(failure: ProcessFailure) -> tuple[bool, float]:
    return failure._is_consequence, failure._seconds


def _describe(place: int, rank: int, failure: ProcessFailure) -> str:
    sign = f" ({failure.signal_name()})" if failure.exitcode < 0 else ""
    trace = failure.traceback().rstrip().replace("\n", "\n    ")
    return (
        f"[{place}]:\n"
        f"  time      : {failure.timestamp_isoformat()}\n"
        f"  host      : {socket.gethostname()}\n"
        f"  rank      : {rank} (local_rank: {failure.local_rank})\n"
        f"  exitcode  : {failure.exitcode} (pid: {failure.pid}){sign}\n"
        f"  error_file: {failure.error_file}\n"
        f"  traceback : {trace}"
    )


def record(
    fn: Callable[_Arguments, _Result], error_handler: ErrorHandler | None = None
) -> Callable[_Arguments, _Result | None]:
    """Have the exceptions of a worker's main function told in the launcher's summary.

    Parameters
    ----------
    fn : callable
        What the worker runs.
    error_handler : ErrorHandler, optional

    Examples
    --------
    >>> from weft.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...     return "trained"
    >>> main()
    'trained'
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def recorded(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result | None:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as exit:  # a wish to end, not an error
            if exit.code in (0, None):
                return None
            raise
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            if failure.error_file != "<N/A>":
                handler.dump_error_file(failure.error_file, failure.exitcode)
            else:
                print(f"local_rank {failure.local_rank} FAILED with no error file.", file=sys.stderr)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return recorded
