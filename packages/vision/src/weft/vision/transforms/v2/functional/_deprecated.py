"""Functions that have a better successor, and say so."""

from __future__ import annotations

import warnings
from typing import Any

from weft import Tensor
from weft.vision.transforms.functional import conversion
from weft.vision.transforms.functional._types import get_image_size as image_size

__all__ = ["get_image_size", "to_tensor"]


def to_tensor(inpt: Any) -> Tensor:
    """As `weft.vision.transforms.functional.to_tensor`; use `to_image` and ``to_dtype(scale=True)``."""
    warnings.warn(
        "to_tensor is deprecated and will be removed: use to_image, then to_dtype(..., dtype=weft.float32, scale=True)",
        stacklevel=2,
    )
    return conversion.to_tensor(inpt)


def get_image_size(inpt: Any) -> list[int]:
    """Return [width, height]; use `get_size`, which returns [height, width]."""
    warnings.warn(
        "get_image_size is deprecated and will be removed: use get_size, which returns [height, width]", stacklevel=2
    )
    return image_size(inpt)
