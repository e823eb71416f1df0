"""Padded pictures; boxes and points of them."""

from __future__ import annotations

from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms.functional._padding import four_sides, pad_tensor
from weft.vision.transforms.functional._padding import pad_image as pad_pil_image
from weft.vision.transforms.v2.functional._boxes import shifted_boxes
from weft.vision.transforms.v2.functional._meta import clamp_bounding_boxes
from weft.vision.transforms.v2.functional._utils import IMAGES_AND_VIDEOS, PIL_IMAGE, Fill, functional, kernel
from weft.vision.tv_tensors import BoundingBoxFormat

__all__ = ["pad", "pad_bounding_boxes", "pad_image", "pad_keypoints", "pad_mask", "pad_video"]

Canvas = tuple[int, int]
Padding = int | list[int]

_MODES = ("constant", "edge", "reflect", "symmetric")


@functional
def pad(inpt: Any, padding: Padding, fill: Fill = None, padding_mode: str = "constant") -> Any:
    """Add pixels around a picture: see `weft.vision.transforms.v2.Pad`."""


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise ValueError(f"`padding_mode` should be either {', '.join(_MODES[:-1])} or {_MODES[-1]}, but got {mode!r}")


@kernel(pad, *IMAGES_AND_VIDEOS)
def pad_image(image: Tensor, padding: Padding, fill: Fill = None, padding_mode: str = "constant") -> Tensor:
    """Return pictures (..., C, H, W), padded; ``fill`` is one value, or one for each channel.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; several values of ``fill`` are for mode "constant".
    """
    sides = four_sides(padding)
    _check_mode(padding_mode)
    if isinstance(fill, (list, tuple)) and len(fill) > 1 and padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported if fill is not scalar")
    return pad_tensor(image, sides, fill, padding_mode)


pad_video = pad_image


@kernel(pad, PIL_IMAGE)
def _pad_image_pil(
    image: PIL.Image.Image, padding: Padding, fill: Fill = None, padding_mode: str = "constant"
) -> PIL.Image.Image:
    sides = four_sides(padding)
    _check_mode(padding_mode)
    return pad_pil_image(image, sides, fill, padding_mode)


@kernel(pad, tv_tensors.Mask)
def pad_mask(mask: Tensor, padding: Padding, fill: Fill = None, padding_mode: str = "constant") -> Tensor:
    """Return masks (..., H, W), padded with one value.

    Raises
    ------
    ValueError
        If ``fill`` has several.
    """
    if isinstance(fill, (tuple, list)):
        raise ValueError("Non-scalar fill value is not supported")
    return pad_image(mask, padding, fill, padding_mode)


def _margins(padding: Padding, padding_mode: str, name: str, canvas_size: Canvas) -> tuple[int, int, Canvas]:
    """Return how far things move to the right and down, and the padded canvas."""
    if padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported with {name}")
    left, top, right, bottom = four_sides(padding)
    return left, top, (canvas_size[0] + top + bottom, canvas_size[1] + left + right)


@kernel(pad, tv_tensors.KeyPoints)
def pad_keypoints(
    keypoints: Tensor, canvas_size: Canvas, padding: Padding, padding_mode: str = "constant"
) -> tuple[Tensor, Canvas]:
    """Return points (..., 2) of a padded canvas, and its size; the mode must be "constant"."""
    left, top, canvas_size = _margins(padding, padding_mode, "KeyPoints", canvas_size)
    return keypoints + weft.tensor([left, top], dtype=keypoints.dtype, device=keypoints.device), canvas_size


@kernel(pad, tv_tensors.BoundingBoxes)
def pad_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Canvas,
    padding: Padding,
    padding_mode: str = "constant",
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Canvas]:
    """Return boxes (..., K) of a padded canvas, and its size; the mode must be "constant"."""
    left, top, canvas_size = _margins(padding, padding_mode, "bounding boxes", canvas_size)
    moved = shifted_boxes(bounding_boxes, format, left, top)
    return clamp_bounding_boxes(moved, format, canvas_size, clamping_mode), canvas_size
