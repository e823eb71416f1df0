"""The CPU by the names that other devices' modules have, so that programs need not tell them apart."""

from __future__ import annotations

import importlib
from types import TracebackType
from typing import Any

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """Stands for a queue of work; what runs on the CPU is done when the call returns."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: the other stream's work is done."""

    def record_event(self) -> None:
        """Do nothing: the work is done."""

    def synchronize(self) -> None:
        """Do nothing: the work is done."""


class Event:
    """Stands for a mark in a queue of work, which is reached as soon as it is made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what other devices' events take."""

    def record(self, stream: Any = None) -> None:
        """Do nothing: the work is done."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing: the work is done."""

    def synchronize(self) -> None:
        """Do nothing: the work is done."""

    def query(self) -> bool:
        """True: the work is done."""
        return True


class StreamContext:
    """Makes a stream the current one for a block."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        global _current
        self.before = _current
        if self.stream is not None:
            _current = self.stream

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _current
        _current = self.before


_current = Stream()


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def synchronize(device: Any = None) -> None:
    """Do nothing: what was called is done."""


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def device_count() -> int:
    """1."""
    return 1


def set_device(device: Any) -> None:
    """Do nothing: there is one."""


def current_stream(device: Any = None) -> Stream:
    """The stream that `stream` set, or the one that is always there."""
    return _current


def stream(stream: Stream) -> StreamContext:
    """Make a stream the current one for a ``with`` block."""
    return StreamContext(stream)


def __getattr__(name: str) -> Any:
    """``weft.cpu.amp``."""
    if name == "amp":
        return importlib.import_module("weft.cpu.amp")
    raise AttributeError(f"module 'weft.cpu' has no attribute {name!r}")
