"""The error of saving and loading by several processes: who failed, and why."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

__all__ = ["CheckpointException"]

Failure = tuple[BaseException, traceback.StackSummary]


class CheckpointException(BaseException):
    """Raised in all processes when some failed.

    As PyTorch's it derives from BaseException: ``except Exception`` does not catch it.

    Parameters
    ----------
    msg : str
    failures : dict
        From ranks to their exceptions and where these came from.
    """

    def __init__(self, msg: str, failures: dict[int, Failure]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Failure]:
        """From ranks to their exceptions and where these came from."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, trace) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n"
            text += "".join(traceback.format_list(trace))
            text += "".join(traceback.format_exception_only(type(error), error))
        return text


def failure_of(error: BaseException) -> Failure:
    """What is told to the other processes of an exception."""
    return error, traceback.extract_tb(error.__traceback__)


def is_failure(result: Any) -> bool:
    """Whether a process's result is what `failure_of` gave."""
    return (
        isinstance(result, tuple)
        and len(result) == 2
        and isinstance(result[0], BaseException)
        and isinstance(result[1], traceback.StackSummary)
    )


def portable(result: Any) -> Any:
    """A result as it can be sent: an exception that cannot be pickled goes as a RuntimeError of its text."""
    if not is_failure(result):
        return result
    error, trace = result
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}"), trace
    return result
