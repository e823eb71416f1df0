"""When NVIDIA's profiler records: of a program that is run under it, parts alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.cuda._runtime import check_error, cudart

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Let the profiler record from now on."""
    check_error(cudart().cudaProfilerStart())


def stop() -> None:
    """Let the profiler record no more."""
    check_error(cudart().cudaProfilerStop())


@contextmanager
def profile() -> Iterator[None]:
    """Let the profiler record a block.

    Raises
    ------
    RuntimeError
        If there is no CUDA device.
    """
    start()
    try:
        yield
    finally:
        stop()
