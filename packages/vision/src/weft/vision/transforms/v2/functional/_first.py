"""Transforms as functions, with the names and defaults of ``torchvision.transforms.v2.functional``.

They are the first version's; bytes are resampled in integers, and padding is filled with 0 unless asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

import weft
from weft import Tensor, nn
from weft.vision.transforms import functional as first
from weft.vision.transforms.functional import *  # noqa: F403
from weft.vision.transforms.functional import InterpolationMode, convert_image_dtype, crop, hflip, pil_to_tensor, vflip
from weft.vision.transforms.functional import __all__ as _first
from weft.vision.transforms.functional._sizes import resized_size

__all__ = [
    *_first,
    "get_size",
    "grayscale_to_rgb",
    "horizontal_flip",
    "to_dtype",
    "to_dtype_image",
    "to_image",
    "vertical_flip",
]

BETWEEN = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
horizontal_flip, vertical_flip = hflip, vflip


def resize(
    inpt: Any,
    size: int | Sequence[int] | None,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """As `weft.vision.transforms.functional.resize`; bytes are resampled in integers."""
    interpolation = InterpolationMode(interpolation) if isinstance(interpolation, str) else interpolation
    if not _in_bytes(inpt, interpolation):
        return first.resize(inpt, size, interpolation, max_size, antialias)
    new_size = resized_size(inpt.shape[-2], inpt.shape[-1], size, max_size)
    if new_size == tuple(inpt.shape[-2:]):
        return inpt
    flat = inpt.reshape(-1, *inpt.shape[-3:])
    found = nn.functional.interpolate(
        flat, new_size, mode=interpolation.value, align_corners=False, antialias=bool(antialias)
    )
    return found.reshape(*inpt.shape[:-2], *new_size)


def _in_bytes(inpt: Any, interpolation: Any) -> bool:
    """Whether a picture is a tensor of bytes, to be interpolated between."""
    return isinstance(inpt, Tensor) and inpt.dtype is weft.uint8 and interpolation in BETWEEN


def resized_crop(
    inpt: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Cut a rectangle out of a picture and `resize` it."""
    return resize(crop(inpt, top, left, height, width), size, interpolation, antialias=antialias)


def pad(inpt: Any, padding: int | Sequence[int], fill: Any = None, padding_mode: str = "constant") -> Any:
    """As `weft.vision.transforms.functional.pad`; ``fill`` None is 0."""
    return first.pad(inpt, padding, 0 if fill is None else fill, padding_mode)


def to_image(inpt: Any) -> Any:
    """Make a tensor (C, H, W) of a PIL image or an array (H, W, C), with its values as they are."""
    if isinstance(inpt, np.ndarray):
        pixels = np.atleast_3d(inpt).transpose(2, 0, 1)
        return weft.from_numpy(np.ascontiguousarray(pixels))
    return pil_to_tensor(inpt) if isinstance(inpt, Image.Image) else inpt


def to_dtype(inpt: Tensor, dtype: Any = weft.float32, scale: bool = False) -> Tensor:
    """Convert a tensor's dtype; with ``scale``, from the one dtype's range (0 to 255 for uint8) to the other's."""
    return convert_image_dtype(inpt, dtype) if scale else inpt.to(dtype)


to_dtype_image = to_dtype


def grayscale_to_rgb(inpt: Any) -> Any:
    """Give a grey picture three equal channels."""
    if isinstance(inpt, Image.Image):
        return inpt.convert("RGB")
    return inpt.expand(*inpt.shape[:-3], 3, *inpt.shape[-2:]) if inpt.shape[-3] == 1 else inpt


def get_size(inpt: Any) -> list[int]:
    """Height and width of a picture."""
    return first.get_dimensions(inpt)[1:]
