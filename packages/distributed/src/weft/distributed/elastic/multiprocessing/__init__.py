"""Worker processes of one machine: started, their output forwarded, watched, and ended together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.distributed.elastic.multiprocessing.api import (
    DefaultLogsSpecs,
    LogsDest,
    LogsSpecs,
    MultiprocessContext,
    PContext,
    RunProcsResult,
    SignalException,
    Std,
    SubprocessContext,
    to_map,
)
from weft.distributed.elastic.multiprocessing.errors import ProcessFailure

__all__ = [
    "DefaultLogsSpecs",
    "LogsDest",
    "LogsSpecs",
    "MultiprocessContext",
    "PContext",
    "ProcessFailure",
    "RunProcsResult",
    "SignalException",
    "Std",
    "SubprocessContext",
    "start_processes",
    "to_map",
]


def start_processes(
    name: str,
    entrypoint: Callable[..., Any] | str,
    args: dict[int, tuple[Any, ...]],
    envs: dict[int, dict[str, str]],
    logs_specs: LogsSpecs,
    log_line_prefixes: dict[int, str] | None = None,
    start_method: str = "spawn",
) -> PContext:
    """Start a function or a command once for each local rank.

    Parameters
    ----------
    name : str
        What messages and prefixes call it.
    entrypoint : callable or str
        A function (it runs by `multiprocessing`), or a program's path.
    args, envs : dict
        By local rank, from 0: arguments, and what is added to the environment.
    logs_specs : LogsSpecs
        Where output goes.
    log_line_prefixes : dict, optional
        By local rank; by default ``[name0]:``.
    start_method : str
        Of functions: ``"spawn"``, ``"fork"`` or ``"forkserver"``.

    Returns
    -------
    PContext
        Its `wait` returns when all have ended, or one has failed and the others were ended.
    """
    if set(args) != set(range(len(args))) or set(args) != set(envs):
        raise RuntimeError(
            f"start_processes: args and envs must be for the ranks 0 to n-1; got {set(args)}, {set(envs)}"
        )
    context: PContext
    if isinstance(entrypoint, str):
        context = SubprocessContext(name, entrypoint, args, envs, logs_specs, log_line_prefixes)
    else:
        context = MultiprocessContext(name, entrypoint, args, envs, logs_specs, log_line_prefixes, start_method)
    try:
        context.start()
    except BaseException:
        context.close()
        raise
    return context
