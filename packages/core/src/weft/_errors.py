"""Exceptions that programs catch by PyTorch's names."""

from __future__ import annotations

__all__ = ["AcceleratorError", "OutOfMemoryError"]


class OutOfMemoryError(RuntimeError):
    """A device has not the memory for a result; on the CPU it is a plain RuntimeError, as in PyTorch."""

    __module__ = "weft"


class AcceleratorError(RuntimeError):
    """An accelerator's runtime reported an error."""

    __module__ = "weft"
