"""Kernels of oneDNN, Intel's library for deep learning, through its C API.

`library` finds and loads it and declares its functions; `primitives` builds, keeps and runs them. Each other module is
a family of kernels.
"""

from __future__ import annotations

MISSING = "not installed: pip install 'weft[fast]', or set WEFT_ONEDNN to a libdnnl.so.3"


def is_available() -> bool:
    """Whether the library is there."""
    from weft.backend_cpu.onednn.library import load

    return load() is not None


def version() -> str:
    """Of the library."""
    from weft.backend_cpu.onednn.library import version

    return f"oneDNN {version()}"
