"""CUDA's errors as the core's: what failed, and how to find where."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import cupy

from weft import AcceleratorError

P = ParamSpec("P")
T = TypeVar("T")

CUDA_ERRORS = (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError)


def accelerator_error(error: Exception) -> AcceleratorError | None:
    """The error to raise for one of CUDA's runtime or driver; None for all others.

    A kernel runs after the call that launched it has returned, so that its error comes out of a later call.
    """
    if not isinstance(error, CUDA_ERRORS):
        return None
    found = AcceleratorError(
        f"CUDA error: {error}\nA kernel's error may be reported by a later call than the one that launched it, so that "
        "the lines of the traceback may have nothing to do with it. Run the program again with CUDA_LAUNCH_BLOCKING=1 "
        "in the environment: each call then waits for its kernel, and the one that fails raises"
    )
    found.error_code = error.status  # type: ignore[attr-defined]  # PyTorch's attribute
    return found


def reported(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that calls CUDA raise the core's errors."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except CUDA_ERRORS as error:
            raise accelerator_error(error) or error from error

    return call
