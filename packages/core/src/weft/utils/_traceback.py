"""Short forms of where a program is, for logs."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "CapturedTraceback",
    "format_frame",
    "format_traceback_short",
    "report_compile_source_on_error",
    "shorten_filename",
]


@contextmanager
def report_compile_source_on_error() -> Iterator[None]:
    """Do nothing: generated code is registered with `linecache`, so that tracebacks show its lines anyway."""
    yield


def shorten_filename(fn: str, *, base: str | None = None) -> str:
    """A path without what it has in common with a folder; default: with that of weft itself."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) if base is None else base
    try:
        shared = os.path.commonpath([folder, fn])
    except ValueError:  # other drives, or a relative path
        return fn
    return fn[len(shared) :].lstrip(os.sep) if len(shared) > 1 else fn


def format_frame(frame: Any, *, base: str | None = None, line: bool = False) -> str:
    """``file:line in function``, and with ``line`` its text above it."""
    text = f"{shorten_filename(frame.filename, base=base)}:{frame.lineno} in {frame.name}"
    return f"{frame.line}  # {text}" if line else text


def format_traceback_short(tb: Any) -> str:
    """`format_frame` of where an exception was raised."""
    return format_frame(traceback.extract_tb(tb)[-1])


class CapturedTraceback:
    """The calls that led to a place, formatted when they are asked for."""

    def __init__(self, frames: traceback.StackSummary | None) -> None:
        self._frames = frames

    @classmethod
    def extract(cls, *, script: bool = False, cpp: bool = False, skip: int = 0) -> CapturedTraceback:
        """The calls that lead here, without the ``skip`` innermost. TorchScript and C++ have no frames here."""
        return cls(traceback.StackSummary.from_list(traceback.extract_stack()[: -1 - skip]))

    def cleanup(self) -> None:
        """Let go of them."""
        self._frames = None

    def summary(self) -> traceback.StackSummary:
        """The calls, the innermost last."""
        return self._frames if self._frames is not None else traceback.StackSummary()

    def format(self) -> list[str]:
        """Their lines, as tracebacks have them."""
        return traceback.format_list(self.summary())

    @staticmethod
    def format_all(tbs: Iterable[CapturedTraceback]) -> list[list[str]]:
        """The lines of several."""
        return [each.format() for each in tbs]
