"""Exceptions that are raised again in another thread or process than the one that caught them."""

from __future__ import annotations

import pickle
import sys
import traceback
from types import TracebackType
from typing import Any

__all__ = ["ExceptionWrapper"]

ExceptionInfo = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


class KeyErrorMessage(str):
    """A message that a KeyError shows as it is, with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception in a form that crosses processes: its type, and its traceback as text.

    torchdata's nodes pass it from their threads, the workers of `weft.utils.data.DataLoader` from their processes.

    Parameters
    ----------
    exc_info : tuple, optional
        As `sys.exc_info` gives it; by default the exception that is being handled.
    where : str
        Where it was caught, for the message.
    """

    def __init__(self, exc_info: ExceptionInfo | None = None, where: str = "in background") -> None:
        kind, exception, trace = exc_info or sys.exc_info()
        self.name = kind.__name__ if kind else None
        self.exc_type: Any = kind if can_pickle(kind) else RuntimeError
        self.exc_msg = "".join(traceback.format_exception(kind, exception, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same type, with the original traceback in its message.

        A type that cannot be made from a message is replaced by RuntimeError.
        """
        text = f"Caught {self.name} {self.where}.\nOriginal {self.exc_msg}"
        message = KeyErrorMessage(text) if self.exc_type is KeyError else text
        try:
            exception = self.exc_type(message)
        except Exception:
            exception = None
        if not isinstance(exception, BaseException):
            raise RuntimeError(message)
        raise exception


def can_pickle(kind: Any) -> bool:
    """Whether a class is found again where a pickle of it is read."""
    try:
        return pickle.loads(pickle.dumps(kind)) is kind
    except Exception:
        return False
