"""The CUDA backend: CuPy's arrays, with devices, copies between them, and synchronisation.

Importing this module imports nothing of CuPy, and works on every machine; making the backend is what
needs CuPy, a driver and a GPU, and says which of them is missing.
"""

from __future__ import annotations

from weft.backend import Backend
from weft.backend_cuda.availability import why_not
from weft.plugins import hookimpl


@hookimpl
def weft_backend(device: str) -> Backend | None:
    """The backend of the device ``cuda``.

    Raises
    ------
    RuntimeError
        If CuPy, the driver or a GPU is missing; the message says which and how to get it.
    """
    if device != "cuda":
        return None
    reason = why_not()
    if reason:
        raise RuntimeError(reason)
    from weft.backend_cuda.backend import CUDABackend

    return CUDABackend()
