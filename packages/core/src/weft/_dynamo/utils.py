"""What programs ask of PyTorch's compiler before they rely on it."""

from __future__ import annotations

from typing import Any

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: Any) -> bool:
    """False: `weft.compile` runs a function as it is written. torchvision asks it before it calls its slower form."""
    return False
