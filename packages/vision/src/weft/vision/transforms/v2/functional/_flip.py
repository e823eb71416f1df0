"""Mirrored pictures, boxes and points."""

from __future__ import annotations

import math
from typing import Any

import PIL.Image

from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms.v2.functional._utils import PICTURES, PIL_IMAGE, functional, kernel
from weft.vision.tv_tensors import BoundingBoxFormat, is_rotated_bounding_format

__all__ = [
    "hflip",
    "horizontal_flip",
    "horizontal_flip_bounding_boxes",
    "horizontal_flip_image",
    "horizontal_flip_keypoints",
    "horizontal_flip_mask",
    "horizontal_flip_video",
    "vertical_flip",
    "vertical_flip_bounding_boxes",
    "vertical_flip_image",
    "vertical_flip_keypoints",
    "vertical_flip_mask",
    "vertical_flip_video",
    "vflip",
]


@functional
def horizontal_flip(inpt: Any) -> Any:
    """Mirror left to right: see `weft.vision.transforms.v2.RandomHorizontalFlip`."""


@functional
def vertical_flip(inpt: Any) -> Any:
    """Mirror top to bottom: see `weft.vision.transforms.v2.RandomVerticalFlip`."""


@kernel(horizontal_flip, *PICTURES)
def horizontal_flip_image(image: Tensor) -> Tensor:
    """Return pictures (..., H, W) mirrored left to right."""
    return image.flip(-1)


@kernel(vertical_flip, *PICTURES)
def vertical_flip_image(image: Tensor) -> Tensor:
    """Return pictures (..., H, W) mirrored top to bottom."""
    return image.flip(-2)


horizontal_flip_mask = horizontal_flip_video = horizontal_flip_image
vertical_flip_mask = vertical_flip_video = vertical_flip_image


@kernel(horizontal_flip, PIL_IMAGE)
def _horizontal_flip_image_pil(image: PIL.Image.Image) -> PIL.Image.Image:
    return image.transpose(PIL.Image.Transpose.FLIP_LEFT_RIGHT)


@kernel(vertical_flip, PIL_IMAGE)
def _vertical_flip_image_pil(image: PIL.Image.Image) -> PIL.Image.Image:
    return image.transpose(PIL.Image.Transpose.FLIP_TOP_BOTTOM)


@kernel(horizontal_flip, tv_tensors.KeyPoints)
def horizontal_flip_keypoints(keypoints: Tensor, canvas_size: tuple[int, int]) -> Tensor:
    """Return points (..., 2) mirrored left to right: the middle of the last column becomes 0."""
    return _mirrored_points(keypoints, 0, canvas_size[1] - 1)


@kernel(vertical_flip, tv_tensors.KeyPoints)
def vertical_flip_keypoints(keypoints: Tensor, canvas_size: tuple[int, int]) -> Tensor:
    """Return points (..., 2) mirrored top to bottom: the middle of the last row becomes 0."""
    return _mirrored_points(keypoints, 1, canvas_size[0] - 1)


def _mirrored_points(keypoints: Tensor, axis: int, last: int) -> Tensor:
    flipped = keypoints.clone()
    flipped[..., axis] = last - keypoints[..., axis]
    return flipped


@kernel(horizontal_flip, tv_tensors.BoundingBoxes)
def horizontal_flip_bounding_boxes(
    bounding_boxes: Tensor, format: BoundingBoxFormat, canvas_size: tuple[int, int]
) -> Tensor:
    """Return boxes (..., K) mirrored left to right."""
    return _mirrored_boxes(bounding_boxes, format, 0, canvas_size[1])


@kernel(vertical_flip, tv_tensors.BoundingBoxes)
def vertical_flip_bounding_boxes(
    bounding_boxes: Tensor, format: BoundingBoxFormat, canvas_size: tuple[int, int]
) -> Tensor:
    """Return boxes (..., K) mirrored top to bottom."""
    return _mirrored_boxes(bounding_boxes, format, 1, canvas_size[0])


def _mirrored_boxes(boxes: Tensor, format: BoundingBoxFormat, axis: int, length: int) -> Tensor:
    """Return boxes mirrored along x (axis 0) or y (axis 1) of a canvas of this length."""
    if format is BoundingBoxFormat.XYXYXYXY:
        mirrored = boxes.clone()
        mirrored[..., axis::2] = length - boxes[..., axis::2]
        return mirrored[..., [2, 3, 0, 1, 6, 7, 4, 5]]  # corners go round in the same direction as before
    flipped = boxes.clone()
    if format is BoundingBoxFormat.XYXY:
        flipped[..., [axis, axis + 2]] = length - boxes[..., [axis + 2, axis]]
        return flipped
    if format is BoundingBoxFormat.XYWHR:
        # The first corner becomes the second: a width away, in the direction of the angle.
        angle = boxes[..., 4] * math.pi / 180
        flipped[..., 0] += boxes[..., 2] * angle.cos()
        flipped[..., 1] -= boxes[..., 2] * angle.sin()
        flipped[..., axis] = length - flipped[..., axis]
    else:
        first = boxes[..., axis]
        flipped[..., axis] = length - (first + boxes[..., axis + 2] if format is BoundingBoxFormat.XYWH else first)
    if is_rotated_bounding_format(format):
        flipped[..., 4] = -boxes[..., 4] if axis == 0 else 180 - boxes[..., 4]
    return flipped


hflip = horizontal_flip
vflip = vertical_flip
