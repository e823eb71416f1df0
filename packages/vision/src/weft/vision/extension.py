"""What programs ask of torchvision's compiled operators: here all are written in Python, and are there always."""

from __future__ import annotations


def _has_ops() -> bool:
    """Whether `weft.vision.ops` can be called: it can."""
    return True


def _assert_has_ops() -> None:
    """Raise nothing, since it can."""


def _check_cuda_version() -> int:
    """Return -1, which says that nothing was compiled for CUDA."""
    return -1
