"""The CPU backend: kernels on NumPy."""

from __future__ import annotations

import numpy

from weft.backend import ArrayNamespaceBackend, Backend
from weft.plugins import hookimpl


@hookimpl
def weft_backend(device: str) -> Backend | None:
    """The backend of the device ``cpu``."""
    return ArrayNamespaceBackend("cpu", numpy) if device == "cpu" else None
