"""What programs ask of PyTorch's compiler before they rely on it."""

from __future__ import annotations

from typing import Any

import weft

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: Any) -> bool:
    """Whether `weft.compile` captures functions of tensors on such devices: on the CPU alone.

    torchvision asks it before it calls the form of roi_align that is written in Python.
    """
    return weft.device(device_type).type == "cpu"
