"""CUDA's and CuPy's errors as the core's: what failed, and how to find where."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import cupy

from weft import AcceleratorError

P = ParamSpec("P")
T = TypeVar("T")

CUDA_ERRORS = (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError)


def meant_by(error: Exception) -> Exception | None:
    """The error to raise for one of CUDA's runtime or driver, or for a dtype that CuPy has not; None for all others."""
    if isinstance(error, CUDA_ERRORS):
        return accelerator_error(error)
    if isinstance(error, ValueError) and str(error).startswith("Unsupported dtype"):
        name = str(error).rpartition(" ")[2]
        return NotImplementedError(
            f"weft.{name}: CuPy has no arrays of this dtype; keep the tensor on the CPU, or convert it for the device: "
            ".to(weft.bfloat16)"
        )
    return None


def accelerator_error(error: Exception) -> AcceleratorError:
    """The error of a kernel, which runs after the call that launched it has returned: it comes out of a later call."""
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
        except (*CUDA_ERRORS, ValueError) as error:
            raise meant_by(error) or error from error

    return call
