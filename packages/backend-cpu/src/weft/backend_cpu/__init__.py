"""The CPU backend: kernels on NumPy."""

from __future__ import annotations

from typing import Any

import numpy

from weft.backend import ArrayNamespaceBackend, Backend, import_scientific
from weft.backend_cpu.memory import keep_freed_memory
from weft.backend_cpu.threads import available_processors, blas_threads
from weft.backend_cpu.transposition import contiguous_copy
from weft.plugins import hookimpl


class CPUBackend(ArrayNamespaceBackend):
    """NumPy on the CPU; the memory of freed arrays stays in the process."""

    def __init__(self) -> None:
        super().__init__("cpu", numpy)
        self.kernels["core::contiguous_copy"] = contiguous_copy
        self.keeps_memory = keep_freed_memory()
        self._blas = blas_threads()
        self._threads = available_processors()  # for a BLAS that cannot be asked

    def num_threads(self) -> int:
        """How many threads NumPy's BLAS uses."""
        return self._threads if self._blas is None else self._blas[0]()

    def set_num_threads(self, num: int) -> None:
        """Set how many threads NumPy's BLAS uses."""
        self._threads = num
        if self._blas is not None:
            self._blas[1](num)

    def scientific(self, module: str) -> Any:
        """SciPy's module of this name: the extra ``[scientific]``."""
        return import_scientific(f"scipy.{module}", "weft-backend-cpu[scientific]")


@hookimpl
def weft_backend(device: str) -> Backend | None:
    """The backend of the device ``cpu``."""
    return CPUBackend() if device == "cpu" else None
