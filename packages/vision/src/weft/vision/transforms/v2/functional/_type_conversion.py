"""From PIL images and NumPy arrays to images, and between those and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

import weft
from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms.functional.conversion import pil_to_tensor, to_pil_image

__all__ = ["pil_to_tensor", "to_image", "to_pil_image"]


def to_image(inpt: Any) -> tv_tensors.Image:
    """Make an `Image` (C, H, W) of a PIL image, an array (H, W[, C]) or a tensor, with its values as they are.

    Raises
    ------
    TypeError
        If the input is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> to_image(np.zeros((4, 6, 3), np.uint8)).shape
    weft.Size([3, 4, 6])
    """
    if isinstance(inpt, np.ndarray):
        pixels = np.atleast_3d(inpt).transpose(2, 0, 1)
        return tv_tensors.Image(weft.from_numpy(np.ascontiguousarray(pixels)))
    if isinstance(inpt, Image.Image):
        return tv_tensors.Image(pil_to_tensor(inpt))
    if isinstance(inpt, Tensor):
        return tv_tensors.Image(inpt)
    raise TypeError(
        f"to_image: Input can either be a pure Tensor, a numpy array, or a PIL image, got {type(inpt).__name__}"
    )
