"""The CPU backend: kernels on NumPy."""

from __future__ import annotations

import numpy

from weft.backend import ArrayNamespaceBackend, Backend
from weft.backend_cpu.memory import keep_freed_memory
from weft.plugins import hookimpl


class CPUBackend(ArrayNamespaceBackend):
    """NumPy on the CPU; the memory of freed arrays stays in the process."""

    def __init__(self) -> None:
        super().__init__("cpu", numpy)
        self.keeps_memory = keep_freed_memory()


@hookimpl
def weft_backend(device: str) -> Backend | None:
    """The backend of the device ``cpu``."""
    return CPUBackend() if device == "cpu" else None
