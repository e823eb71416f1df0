"""Parts of CUDA's runtime that programs call by its names."""

from __future__ import annotations

from typing import Any

from weft._errors import AcceleratorError
from weft.cuda._devices import backend

__all__ = [
    "CudaError",
    "DeferredCudaCallError",
    "check_error",
    "cudaStatus",
    "cudart",
    "current_blas_handle",
    "current_solver_handle",
]


class cudaStatus:
    """What functions of the runtime return."""

    SUCCESS = 0
    ERROR_NOT_READY = 34


class CudaError(AcceleratorError):
    """A function of the runtime did not return success."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{cudart().cudaGetErrorString(code)} ({code})")


class DeferredCudaCallError(Exception):
    """A call that had waited for CUDA to be initialized failed. weft lets none wait: the name is for who catches it."""


def check_error(res: int) -> None:
    """Raise an error for what a function of the runtime returned, if it is not success.

    Raises
    ------
    CudaError
        With the runtime's words.
    """
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)


def cudart() -> Any:
    """The runtime's functions that PyTorch's module has, by the runtime's names.

    ``cudaProfilerStart``, ``cudaProfilerStop``, ``cudaHostRegister``, ``cudaHostUnregister``, ``cudaStreamCreate``,
    ``cudaStreamDestroy`` return a status; ``cudaMemGetInfo(device)`` the free and the total bytes;
    ``cudaGetErrorString(status)`` words.
    """
    return backend().cudart()


def current_blas_handle() -> int:
    """The address of cuBLAS' handle for this thread and the current device."""
    return int(backend().library_handle("cublas"))


def current_solver_handle() -> int:
    """The address of cuSOLVER's handle for this thread and the current device."""
    return int(backend().library_handle("cusolver"))
