"""CUDABackend: `ArrayNamespaceBackend` over CuPy, for several devices."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, NoReturn

import cupy
import numpy

from weft import dtype
from weft.backend import (
    ArrayNamespaceBackend,
    DeviceAssertions,
    import_scientific,
    index_checks,
    invalidate_kernels,
)
from weft.backend_cuda.devices import DeviceFunctions
from weft.backend_cuda.errors import meant_by, reported
from weft.backend_cuda.philox import MULTIPLIERS, PhiloxStream
from weft.backend_cuda.runtime import cudart
from weft.backend_cuda.sync_debug import SyncDebug
from weft.backend_cuda.transfers import Transfers

ADDRESSABLE = 2**63 - 1  # bytes; CuPy's own product of sizes wraps around


@cache
def own_kernels() -> tuple[Any, ...]:
    """The modules with kernels by what CuPy alone has, which import what CuPy itself does not: when first asked for."""
    from weft.backend_cuda import linear_algebra, orthogonal_polynomials, regions, special_functions

    return linear_algebra, orthogonal_polynomials, regions, special_functions


class CUDABackend(SyncDebug, Transfers, DeviceFunctions, ArrayNamespaceBackend):
    """CuPy on NVIDIA's GPUs.

    An array remembers its device; whatever makes a new one runs with that device as the current one.
    """

    rounds_numbers = False  # nor do PyTorch's kernels on a GPU
    sizes_wrap = True
    is_forked = False  # whether this process was forked from the one that made it

    def __init__(self) -> None:
        super().__init__("cuda", cupy)
        self.assertions = DeviceAssertions(cupy, cupy.asnumpy)
        self._multipliers: dict[int, Any] = {}  # of random streams, on each device
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin_child)

    def begin_child(self) -> None:
        """In a forked process nothing of CUDA works: refuse what is asked from now on, and kernels that were found."""
        self.__class__ = ForkedCUDABackend
        invalidate_kernels()

    def kernel(self, name: str, element: dtype, generic: Callable[..., Any] | None) -> Callable[..., Any] | None:
        found = self.quiet_kernel(name, element, generic)
        return self.telling(name, found) if self.sync_debug_mode and found is not None else found

    def quiet_kernel(self, name: str, element: dtype, generic: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """The kernel of an op, whatever it waits for."""
        if name.startswith(("core::", "vision::")) and generic is not None and name not in self.kernels:
            for module in own_kernels():
                if name in module.NAMES:
                    found: Callable[..., Any] = module.kernel(name, generic)
                    return found
        return super().kernel(name, element, generic)

    def guard(self, index: int | None) -> AbstractContextManager[Any]:
        device: AbstractContextManager[Any] = cupy.cuda.Device(index)
        return device

    def on_device(self, kernel: Callable[..., Any], index: int | None) -> Callable[..., Any]:
        if self.device_count() == 1:
            return kernel

        def guarded(*args: Any, **options: Any) -> Any:
            with cupy.cuda.Device(index):  # CuPy launches on the current device, wherever the arrays are
                return kernel(*args, **options)

        return guarded

    @reported
    def synchronize(self, index: int | None = None) -> None:
        cupy.cuda.Device(index).synchronize()
        self.allocator.release()
        self.assertions.look(self.current_device() if index is None else index)

    @reported
    def empty(self, shape: tuple[int, ...], element: dtype, index: int | None) -> Any:
        if math.prod(shape) * element.itemsize > ADDRESSABLE:
            raise RuntimeError(f"empty: Storage size calculation overflowed with sizes={list(shape)}")
        with self.guard(index):
            return cupy.empty(shape, element.numpy)

    def constant(self, array: numpy.ndarray[Any, Any], index: int | None) -> Any:
        with self.guard(index):
            return cupy.asarray(array, blocking=True)  # other streams do not wait for this one's copy

    def to_numpy(self, array: Any) -> numpy.ndarray[Any, Any]:
        if self.sync_debug_mode:
            self.waits_for("a copy to the host")
        found = super().to_numpy(array)
        index = array.device.id
        self.assertions.look(index, cupy.cuda.get_current_stream(index).ptr)
        return found

    def explain(self, error: Exception) -> Exception | None:
        return meant_by(error)

    def index_checks(self) -> str:
        return index_checks.mode

    def assert_below(
        self, values: Any, bound: int, key: Hashable, error: Callable[[int], Exception], now: bool = True
    ) -> None:
        if now:
            super().assert_below(values, bound, key, error, now)
        elif values.size:
            index = int(values.device.id)
            with cupy.cuda.Device(index):
                self.assertions.below(index, cupy.cuda.get_current_stream(index).ptr, values, bound, key, error)

    def random_stream(self, seed: int, index: int | None) -> PhiloxStream:
        """Philox, with the layout of counters that PyTorch's kernels have on a device of this size."""
        index = self.current_device() if index is None else index
        if index not in self._multipliers:
            self._multipliers[index] = self.constant(MULTIPLIERS, index)
        properties = cupy.cuda.runtime.getDeviceProperties(index)
        threads = properties["multiProcessorCount"] * properties["maxThreadsPerMultiProcessor"]
        return PhiloxStream(cupy, seed, threads, self._multipliers[index])

    def cudart(self) -> type[cudart]:
        """The runtime's functions by its own names."""
        return cudart

    def nvtx(self) -> Any:
        """What writes marks for NVIDIA's profilers."""
        return cupy.cuda.nvtx

    def library_handle(self, library: str) -> int:
        """The address of a library's handle for this thread and the current device."""
        return int(getattr(cupy.cuda.device, f"get_{library}_handle")())

    def scientific(self, module: str) -> Any:
        return import_scientific(f"cupyx.scipy.{module}", "weft-backend-cuda[cupy]")


def refuse(*args: Any, **options: Any) -> NoReturn:
    """Raise for any use of CUDA in a forked process."""
    raise RuntimeError(
        "Cannot re-initialize CUDA in forked subprocess. This process was forked from one that had used CUDA, whose "
        "state a fork does not copy. Start it with the 'spawn' or 'forkserver' method instead "
        "(weft.multiprocessing.set_start_method('spawn'), DataLoader(multiprocessing_context='spawn')), or use CUDA "
        "only after the fork"
    )


class ForkedCUDABackend(CUDABackend):
    """What the backend is in a forked process."""

    is_forked = True
    record_stream = use_stream = join_streams = fork_streams = new_event = new_stream = external_stream = refuse
    current_stream = default_stream = dlpack_stream = kernel = half_kernel = on_device = guard = refuse
    device_count = current_device = set_device = device_properties = can_access_peer = synchronize = refuse
    empty = constant = from_dlpack = from_numpy = copy_from_host = to_numpy = copy_to_host = to_device = refuse
    pinned = is_pinned = memory_info = memory_stats = empty_cache = allocate = refuse
