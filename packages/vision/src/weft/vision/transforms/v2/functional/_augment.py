"""Erased rectangles, and the traces of JPEG compression."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image

import weft
from weft import Tensor
from weft.vision.transforms.functional.conversion import pil_to_tensor, to_pil_image
from weft.vision.transforms.v2.functional._utils import IMAGES_AND_VIDEOS, PIL_IMAGE, functional, kernel

__all__ = ["erase", "erase_image", "erase_video", "jpeg", "jpeg_image", "jpeg_video"]


@functional
def erase(inpt: Any, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Any:
    """Overwrite the rectangle with the upper left corner (i, j), of h rows and w columns, by ``v``."""


@functional
def jpeg(image: Any, quality: int) -> Any:
    """Compress by JPEG and decompress; ``quality`` is from 1 to 100."""


@kernel(erase, *IMAGES_AND_VIDEOS)
def erase_image(image: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """Return images (..., H, W) with ``v``, of a shape that broadcasts to (..., h, w), in a rectangle."""
    erased = image if inplace else image.clone()
    erased[..., i : i + h, j : j + w] = v.to(image.dtype)  # converted while it is small
    return erased


erase_video = erase_image


@kernel(erase, PIL_IMAGE)
def _erase_image_pil(image: Image.Image, i: int, j: int, h: int, w: int, v: Tensor) -> Image.Image:
    return to_pil_image(erase_image(pil_to_tensor(image), i, j, h, w, v), mode=image.mode)


@kernel(jpeg, *IMAGES_AND_VIDEOS)
def jpeg_image(image: Tensor, quality: int) -> Tensor:
    """Return images (..., C, H, W) of bytes, C 1 or 3, as JPEG leaves them.

    Raises
    ------
    ValueError
        If the number of channels or the quality is another.
    RuntimeError
        If the values are no bytes.
    """
    if not 1 <= quality <= 100:
        raise ValueError(f"jpeg: Image quality should be a positive number between 1 and 100, got {quality}")
    if image.dtype is not weft.uint8:
        raise RuntimeError(f"jpeg: an image must be of dtype uint8, got {image.dtype}")
    if image.shape[-3] not in (1, 3):
        raise ValueError(f"jpeg: an image must have 1 or 3 channels, (..., C, H, W), got {tuple(image.shape)}")
    images = image.reshape(-1, *image.shape[-3:])
    compressed = [pil_to_tensor(_jpeg_image_pil(to_pil_image(each), quality)) for each in images]
    return weft.stack(compressed).reshape(image.shape).to(image.device) if compressed else image


jpeg_video = jpeg_image


@kernel(jpeg, PIL_IMAGE)
def _jpeg_image_pil(image: Image.Image, quality: int) -> Image.Image:
    file = io.BytesIO()
    image.save(file, format="JPEG", quality=quality)
    file.seek(0)
    return Image.open(file).copy()  # a plain image, and none that reads the file later
