"""The rows of the tables in this folder: bad calls, and hard ones that have to succeed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A call, with the library as ``w`` so that the same row can be tried on PyTorch, and what has to come of it."""

    title: str
    call: Callable[[Any], Any]
    error: type[BaseException] | None  # None: it has to return True
    says: tuple[str, ...]

    def __str__(self) -> str:
        return self.title


def bad(title: str, call: Callable[[Any], Any], error: type[BaseException], *says: str) -> Row:
    """A call that has to raise ``error``, with a message that holds all of ``says``, in any case."""
    return Row(title, call, error, says)


def hard(title: str, call: Callable[[Any], Any]) -> Row:
    """A call that is legal, and has to return True within the limits."""
    return Row(title, call, None, ())


def unharmed(call: Callable[[], Any], *tensors: Any) -> Any:
    """Make the call; where it raises, nothing may have been written to the tensors before."""
    before = [each.tolist() for each in tensors]
    try:
        return call()
    except Exception as error:
        if [each.tolist() for each in tensors] != before:
            raise AssertionError(f"the tensor was written to before {error!r}") from error
        raise
