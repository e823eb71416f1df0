"""CUDABackend: `ArrayNamespaceBackend` over CuPy, for several devices."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Any

import cupy
import numpy

from weft import dtype
from weft.backend import ArrayNamespaceBackend, DeviceAssertions, import_scientific, index_checks
from weft.backend_cuda.philox import DEFAULT_THREADS, PhiloxStream


class CUDABackend(ArrayNamespaceBackend):
    """CuPy on NVIDIA's GPUs.

    An array remembers its device; whatever makes a new one runs with that device as the current one.
    """

    rounds_numbers = False  # nor do PyTorch's kernels on a GPU

    def __init__(self) -> None:
        super().__init__("cuda", cupy)
        self.assertions = DeviceAssertions(cupy, cupy.asnumpy)

    def kernel(self, name: str, element: dtype, generic: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if name.startswith("core::linalg_") and generic is not None and name not in self.kernels:
            from weft.backend_cuda import linear_algebra  # CuPy's, and what it imports, when first asked for

            if name in linear_algebra.NAMES:
                return linear_algebra.kernel(name, generic)
        return super().kernel(name, element, generic)

    def device_count(self) -> int:
        return int(cupy.cuda.runtime.getDeviceCount())

    def current_device(self) -> int:
        return int(cupy.cuda.runtime.getDevice())

    def set_device(self, index: int) -> None:
        cupy.cuda.runtime.setDevice(index)

    def device_name(self, index: int | None = None) -> str:
        properties = cupy.cuda.runtime.getDeviceProperties(self.current_device() if index is None else index)
        found: str = properties["name"].decode()
        return found

    def guard(self, index: int | None) -> AbstractContextManager[Any]:
        device: AbstractContextManager[Any] = cupy.cuda.Device(index)
        return device

    def on_device(self, kernel: Callable[..., Any], index: int | None) -> Callable[..., Any]:
        if self.device_count() == 1:
            return kernel

        def guarded(*args: Any) -> Any:
            with cupy.cuda.Device(index):  # CuPy launches on the current device, wherever the arrays are
                return kernel(*args)

        return guarded

    def synchronize(self, index: int | None = None) -> None:
        cupy.cuda.Device(index).synchronize()
        self.assertions.look(self.current_device() if index is None else index)

    def empty(self, shape: tuple[int, ...], element: dtype, index: int | None) -> Any:
        with self.guard(index):
            return cupy.empty(shape, element.numpy)

    def from_numpy(self, array: numpy.ndarray[Any, Any], index: int | None) -> Any:
        with self.guard(index):
            return cupy.asarray(array)

    def constant(self, array: numpy.ndarray[Any, Any], index: int | None) -> Any:
        with self.guard(index):
            return cupy.asarray(array, blocking=True)  # other streams do not wait for this one's copy

    def to_numpy(self, array: Any) -> numpy.ndarray[Any, Any]:
        found: numpy.ndarray[Any, Any] = cupy.asnumpy(array)
        self.assertions.look(array.device.id)
        return found

    def to_device(self, array: Any, index: int | None) -> Any:
        with self.guard(index):
            return cupy.array(array)  # a copy, over the link between the devices if there is one

    def index_checks(self) -> str:
        return index_checks.mode

    def assert_below(
        self, values: Any, bound: int, key: Hashable, error: Callable[[int], Exception], now: bool = True
    ) -> None:
        if now:
            super().assert_below(values, bound, key, error, now)
        elif values.size:
            self.assertions.below(values.device.id, values, bound, key, error)

    def random_stream(self, seed: int, index: int | None) -> PhiloxStream:
        """Philox, with the layout of counters that PyTorch's kernels have on a device of this size."""
        properties = cupy.cuda.runtime.getDeviceProperties(self.current_device() if index is None else index)
        processors, threads = (properties.get(name) for name in ("multiProcessorCount", "maxThreadsPerMultiProcessor"))
        return PhiloxStream(cupy, seed, processors * threads if processors and threads else DEFAULT_THREADS)

    def scientific(self, module: str) -> Any:
        return import_scientific(f"cupyx.scipy.{module}", "weft-backend-cuda[cupy]")

    def describe(self) -> dict[str, str]:
        return {
            "arrays": f"cupy {cupy.__version__}",
            "device": self.device_name(),
            "devices": str(self.device_count()),
        }
