"""Resized pictures, boxes and points."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.nn.functional import interpolate
from weft.vision import tv_tensors
from weft.vision.transforms.functional._sizes import pil_modes_mapping, resized_size
from weft.vision.transforms.functional._types import InterpolationMode
from weft.vision.transforms.v2.functional._boxes import parallelogram_to_bounding_boxes
from weft.vision.transforms.v2.functional._meta import clamp_bounding_boxes, convert_bounding_box_format
from weft.vision.transforms.v2.functional._utils import (
    IMAGES_AND_VIDEOS,
    PIL_IMAGE,
    Interpolation,
    functional,
    interpolation_mode,
    kernel,
)
from weft.vision.tv_tensors import BoundingBoxFormat, is_rotated_bounding_format

__all__ = ["resize", "resize_bounding_boxes", "resize_image", "resize_keypoints", "resize_mask", "resize_video"]

Canvas = tuple[int, int]
NewSize = int | Sequence[int] | None

_NEAREST = (InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT)
_BETWEEN = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.LANCZOS)


@functional
def resize(
    inpt: Any,
    size: NewSize,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Change the size: see `weft.vision.transforms.v2.Resize`."""


@kernel(resize, *IMAGES_AND_VIDEOS)
def resize_image(
    image: Tensor,
    size: NewSize,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Tensor:
    """Return pictures (..., C, H, W), resized.

    Bytes are resampled in integers, other integers in float32 and rounded.

    Raises
    ------
    ValueError
        If a size or mode cannot be used; LANCZOS is for ``antialias=True``.
    """
    mode = interpolation_mode(interpolation)
    if mode is InterpolationMode.LANCZOS and not antialias:
        raise ValueError("InterpolationMode.LANCZOS requires antialias=True")
    old_size = image.shape[-2], image.shape[-1]
    new_size = resized_size(*old_size, size, max_size)
    if new_size == old_size:
        return image
    shape = (*image.shape[:-2], *new_size)
    if image.numel() == 0:
        return image.reshape(shape)
    flat = image.reshape(-1, *image.shape[-3:])
    found = _resampled(flat, new_size, mode, bool(antialias))
    if _is_channels_last(flat):  # of one image `interpolate` cannot tell
        found = found.contiguous(memory_format=weft.channels_last)
    return found.reshape(shape)


def _is_channels_last(image: Tensor) -> bool:
    """Return whether the channels of pictures (N, C, H, W) are innermost in memory, and not also outermost."""
    channels, height, width = image.shape[1:]
    return channels > 1 and height * width > 1 and image.stride()[1:] == (1, width * channels, channels)


def _resampled(image: Tensor, size: Canvas, mode: InterpolationMode, antialias: bool) -> Tensor:
    """Return pictures (N, C, H, W) in another size, in their dtype."""
    values = image
    if image.dtype not in (weft.float32, weft.float64) and not _in_integers(image, mode):
        values = image.to(weft.float32)
    if mode in _BETWEEN:
        found = interpolate(values, size, mode=mode.value, align_corners=False, antialias=antialias)
    else:
        found = interpolate(values, size, mode=mode.value)
    if values is image:
        return found
    if image.dtype is weft.uint8 and mode is not InterpolationMode.BILINEAR:
        found = found.clamp(0, 255)  # a cubic overshoots
    return (found if image.is_floating_point() else found.round()).to(image.dtype)


def _in_integers(image: Tensor, mode: InterpolationMode) -> bool:
    """Return whether `interpolate` has a way for the bytes of an image."""
    return image.dtype is weft.uint8 and (mode in _NEAREST or image.device.type == "cpu")


resize_video = resize_image


@kernel(resize, PIL_IMAGE)
def _resize_image_pil(
    image: PIL.Image.Image,
    size: NewSize,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> PIL.Image.Image:
    if antialias is False:
        warnings.warn(
            "Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.", stacklevel=4
        )
    height, width = resized_size(image.height, image.width, size, max_size)
    mode = interpolation_mode(interpolation)
    return image if (width, height) == image.size else image.resize((width, height), pil_modes_mapping[mode])


@kernel(resize, tv_tensors.Mask)
def resize_mask(
    mask: Tensor,
    size: NewSize,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    max_size: int | None = None,
) -> Tensor:
    """Return masks (..., H, W), resized; modes other than the two nearest mean nearest."""
    mode = interpolation_mode(interpolation)
    mode = mode if mode in _NEAREST else InterpolationMode.NEAREST
    if mask.ndim < 3:
        return resize_image(mask[None], size, mode, max_size)[0]
    return resize_image(mask, size, mode, max_size)


@kernel(resize, tv_tensors.KeyPoints)
def resize_keypoints(
    keypoints: Tensor, size: NewSize, canvas_size: Canvas, max_size: int | None = None
) -> tuple[Tensor, Canvas]:
    """Return points (..., 2) of a resized canvas, and its size."""
    new_size = resized_size(*canvas_size, size, max_size)
    if new_size == tuple(canvas_size):
        return keypoints, canvas_size
    return _scaled(keypoints, canvas_size, new_size), new_size


def _scaled(points: Tensor, old_size: Canvas, new_size: Canvas) -> Tensor:
    """Return coordinates x, y, x, … (..., K), scaled and in their dtype."""
    ratios = [new_size[1] / old_size[1], new_size[0] / old_size[0]] * (points.shape[-1] // 2)
    return (points * weft.tensor(ratios, device=points.device)).to(points.dtype)


@kernel(resize, tv_tensors.BoundingBoxes)
def resize_bounding_boxes(
    bounding_boxes: Tensor,
    canvas_size: Canvas,
    size: NewSize,
    max_size: int | None = None,
    format: BoundingBoxFormat = BoundingBoxFormat.XYXY,
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Canvas]:
    """Return boxes (..., K) of a resized canvas, and its size; rotated ones stay rectangles, and are clamped."""
    new_size = resized_size(*canvas_size, size, max_size)
    if new_size == tuple(canvas_size):
        return bounding_boxes, canvas_size
    if not is_rotated_bounding_format(format):
        return _scaled(bounding_boxes, canvas_size, new_size), new_size
    by_corners = BoundingBoxFormat.XYXYXYXY
    corners = convert_bounding_box_format(bounding_boxes, format, by_corners).reshape(-1, 8)
    scaled = parallelogram_to_bounding_boxes(_scaled(corners, canvas_size, new_size))
    scaled = clamp_bounding_boxes(scaled, by_corners, new_size, clamping_mode)
    found = convert_bounding_box_format(scaled, by_corners, format)
    return found.to(bounding_boxes.dtype).reshape(bounding_boxes.shape), new_size
