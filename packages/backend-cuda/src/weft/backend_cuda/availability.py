"""Whether CUDA can be used here, and if not, why."""

from __future__ import annotations

from functools import cache


@cache
def why_not() -> str:
    """Why there is no CUDA device; the empty string if there is one."""
    try:
        import cupy
    except ImportError as error:
        return (
            f"CuPy cannot be imported ({error}). Install it with NVIDIA's libraries: pip install "
            '"weft-backend-cuda[cupy]", or "weft-backend-cuda[cupy-cuda12]" for a driver of CUDA 12'
        )
    except Exception as error:  # a broken installation may raise anything
        return f"CuPy is installed but fails on import: {type(error).__name__}: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy {cupy.__version__} finds no usable GPU: {error}. `nvidia-smi` shows whether the driver runs"
    return "" if count else f"CuPy {cupy.__version__} works, but this machine has no CUDA device"
