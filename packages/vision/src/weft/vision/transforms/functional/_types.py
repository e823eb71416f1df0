"""What a picture is, and how big."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeVar

from PIL import Image

from weft import Tensor

__all__ = ["InterpolationMode", "get_dimensions", "get_image_num_channels", "get_image_size"]

Picture = TypeVar("Picture", Image.Image, Tensor)


class InterpolationMode(Enum):
    """How a value between pixels is found; all six for PIL images, the first four for tensors."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


def checked_picture(img: Picture, op: str) -> Picture:
    """Return ``img`` if it is a picture, as a plain tensor if it is a tv_tensor, and raise otherwise.

    Raises
    ------
    TypeError
        If ``img`` is neither a PIL image nor a tensor with at least the axes (H, W).
    """
    if isinstance(img, Image.Image):
        return img
    if not isinstance(img, Tensor):
        hint = ": convert it first, with to_tensor or to_pil_image" if hasattr(img, "__array__") else ""
        raise TypeError(f"{op}: img should be PIL Image or Tensor, got {type(img).__name__}{hint}")
    if img.dim() < 2:
        raise TypeError(
            f"{op}: Tensor is not a torch image. Its shape must be (..., C, H, W) or (H, W), got {tuple(img.shape)}"
        )
    return img if type(img) is Tensor else img.as_subclass(Tensor)


def checked_image(img: Picture, op: str, channels: Sequence[int] = ()) -> Picture:
    """Return ``img`` if it is a picture with a channel axis, and of these numbers of channels, and raise otherwise.

    Raises
    ------
    TypeError
        If ``img`` is something else.
    """
    img = checked_picture(img, op)
    if isinstance(img, Tensor) and (img.dim() < 3 or (channels and img.shape[-3] not in channels)):
        counts = " or ".join(map(str, channels))
        wanted = f"{counts} channels, shape (..., C, H, W)" if channels else "shape (..., C, H, W)"
        raise TypeError(f"{op}: a tensor must have {wanted}; got {tuple(img.shape)}")
    return img


def get_dimensions(img: Any) -> list[int]:
    """Return [channels, height, width] of a picture."""
    img = checked_picture(img, "get_dimensions")
    if isinstance(img, Image.Image):
        return [len(img.getbands()), img.height, img.width]
    return [1 if img.dim() == 2 else img.shape[-3], img.shape[-2], img.shape[-1]]


def get_image_size(img: Any) -> list[int]:
    """Return [width, height] of a picture."""
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: Any) -> int:
    """Return the number of channels of a picture."""
    return get_dimensions(img)[0]
