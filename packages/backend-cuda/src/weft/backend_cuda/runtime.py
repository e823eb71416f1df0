"""CUDA's runtime by its own names, for programs that call it (`weft.cuda.cudart`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from weft.backend_cuda.errors import reported

SUCCESS = 0


def status_of(function: Callable[..., Any], *args: Any) -> int:
    """What the runtime returns for a call that CuPy makes an exception of."""
    try:
        function(*args)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return int(error.status)
    return SUCCESS


class cudart:
    """The functions that PyTorch's module of this name has."""

    class cudaError:
        """What functions return."""

        success = SUCCESS

    @staticmethod
    def cudaProfilerStart() -> int:
        """Let NVIDIA's profiler begin."""
        return status_of(cupy.cuda.runtime.profilerStart)

    @staticmethod
    def cudaProfilerStop() -> int:
        """Let NVIDIA's profiler end."""
        return status_of(cupy.cuda.runtime.profilerStop)

    @staticmethod
    def cudaHostRegister(ptr: int, size: int, flags: int) -> int:
        """Page-lock memory of the host."""
        return status_of(cupy.cuda.runtime.hostRegister, ptr, size, flags)

    @staticmethod
    def cudaHostUnregister(ptr: int) -> int:
        """Undo `cudaHostRegister`."""
        return status_of(cupy.cuda.runtime.hostUnregister, ptr)

    @staticmethod
    def cudaStreamCreate(ptr: int) -> int:
        """Refuse: the address to write to is C's."""
        raise NotImplementedError("cudaStreamCreate: make a weft.cuda.Stream(), and use its cuda_stream")

    @staticmethod
    def cudaStreamDestroy(ptr: int) -> int:
        """Destroy a stream that was made by the runtime."""
        return status_of(cupy.cuda.runtime.streamDestroy, ptr)

    @staticmethod
    @reported
    def cudaMemGetInfo(device: int) -> tuple[int, int]:
        """The free and the total bytes of a device's memory."""
        with cupy.cuda.Device(device):
            free, total = cupy.cuda.runtime.memGetInfo()
        return int(free), int(total)

    @staticmethod
    def cudaGetErrorString(status: int) -> str:
        """What an error means."""
        return str(cupy.cuda.runtime.CUDARuntimeError(status)) if status else "no error"
