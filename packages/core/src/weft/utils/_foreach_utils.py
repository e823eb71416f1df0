"""Which devices have functions over lists of tensors in one launch, as PyTorch's tests of optimizers ask."""

from __future__ import annotations


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The types of devices on which optimizers choose such functions by themselves."""
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The types of devices on which optimizers take ``fused=True``."""
    return ["cpu", "cuda"]
