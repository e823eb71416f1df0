"""Kernels of oneDNN, Intel's library for deep learning, through its C API.

`library` finds and loads it and declares its functions; `primitives` builds, keeps and runs them. Each other module is
a family of kernels.
"""

from __future__ import annotations

MISSING = "not installed: pip install 'weft[fast]', or set WEFT_ONEDNN to a libdnnl.so.3"

FAMILIES: dict[str, str] = {}  # module: the ops that it serves
MODULES = {op: f".{module}" for module, ops in FAMILIES.items() for op in ops.split()}


def is_available() -> bool:
    """Whether the library is there."""
    return False


def version() -> str:
    """Of the library."""
    return ""
