"""Streams, events and captured graphs of CUDA devices, by name: weft's work on a device is in one stream.

Programs use the names in annotations and on machines with a device; making one is refused.
"""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["CUDAGraph", "Event", "Stream", "StreamContext", "current_stream", "default_stream", "graph", "stream"]


class Unordered:
    """Base of what orders work on a device. Making one raises."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__}: weft does a device's work in one stream; leave the streams, events or captured "
            "graphs out, weft.cuda.synchronize() waits for all of it"
        )


class Stream(Unordered):
    """A queue of work."""


class Event(Unordered):
    """A mark in a queue of work."""


class CUDAGraph(Unordered):
    """Work that was captured, to be done again."""


class graph(Unordered):
    """Captures the work of a block."""


class StreamContext:
    """What `stream` returns: with None, a plain block."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, *exception: object) -> None:
        """End."""


def stream(stream: Stream | None) -> contextlib.AbstractContextManager[None]:
    """Do the work of a block in a stream: None, there is no other."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Refused: the one stream is not to be had."""
    return Stream()


default_stream = current_stream
