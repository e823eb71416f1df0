"""Rectangles cut out of pictures, resized or not; boxes and points of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms.functional._padding import pad_image as pad_pil_image
from weft.vision.transforms.functional._padding import pad_tensor
from weft.vision.transforms.functional._sizes import height_and_width
from weft.vision.transforms.functional._types import InterpolationMode
from weft.vision.transforms.v2.functional._boxes import parallelogram_to_bounding_boxes, shifted_boxes
from weft.vision.transforms.v2.functional._flip import horizontal_flip, vertical_flip
from weft.vision.transforms.v2.functional._meta import clamp_bounding_boxes, get_size
from weft.vision.transforms.v2.functional._resize import (
    _resize_image_pil,
    resize_bounding_boxes,
    resize_image,
    resize_keypoints,
    resize_mask,
)
from weft.vision.transforms.v2.functional._utils import (
    IMAGES_AND_VIDEOS,
    PICTURES,
    PIL_IMAGE,
    Interpolation,
    functional,
    kernel,
)
from weft.vision.tv_tensors import BoundingBoxFormat

__all__ = [
    "center_crop",
    "center_crop_bounding_boxes",
    "center_crop_image",
    "center_crop_keypoints",
    "center_crop_mask",
    "center_crop_video",
    "crop",
    "crop_bounding_boxes",
    "crop_image",
    "crop_keypoints",
    "crop_mask",
    "crop_video",
    "five_crop",
    "five_crop_image",
    "five_crop_video",
    "resized_crop",
    "resized_crop_bounding_boxes",
    "resized_crop_image",
    "resized_crop_keypoints",
    "resized_crop_mask",
    "resized_crop_video",
    "ten_crop",
    "ten_crop_image",
    "ten_crop_video",
]

Canvas = tuple[int, int]


@functional
def crop(inpt: Any, top: int, left: int, height: int, width: int) -> Any:
    """Cut out a rectangle; what lies outside of the picture is 0: see `weft.vision.transforms.v2.RandomCrop`."""


@functional
def center_crop(inpt: Any, output_size: list[int]) -> Any:
    """Cut out the middle: see `weft.vision.transforms.v2.CenterCrop`."""


@functional
def five_crop(inpt: Any, size: list[int]) -> Any:
    """Cut out the corners and the middle: see `weft.vision.transforms.v2.FiveCrop`."""


@functional
def ten_crop(inpt: Any, size: list[int], vertical_flip: bool = False) -> Any:
    """Cut out the corners and the middle, also of the mirrored picture: see `weft.vision.transforms.v2.TenCrop`."""


@functional
def resized_crop(
    inpt: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: list[int],
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Cut out a rectangle and resize it: see `weft.vision.transforms.v2.RandomResizedCrop`."""


# Rectangles


@kernel(crop, *PICTURES)
def crop_image(image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """Return a rectangle of pictures (..., H, W): a view where it lies inside, else padded with 0."""
    rows, columns = image.shape[-2:]
    bottom, right = top + height, left + width
    if top >= 0 and left >= 0 and bottom <= rows and right <= columns:
        return image[..., top:bottom, left:right]
    inside = image[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    before = max(min(bottom, 0) - top, 0), max(min(right, 0) - left, 0)
    after = max(bottom - max(rows, top), 0), max(right - max(columns, left), 0)
    return pad_tensor(inside, (before[1], before[0], after[1], after[0]), 0, "constant")


crop_video = crop_mask = crop_image


@kernel(crop, PIL_IMAGE)
def _crop_image_pil(image: PIL.Image.Image, top: int, left: int, height: int, width: int) -> PIL.Image.Image:
    return image.crop((left, top, left + width, top + height))


@kernel(crop, tv_tensors.KeyPoints)
def crop_keypoints(keypoints: Tensor, top: int, left: int, height: int, width: int) -> tuple[Tensor, Canvas]:
    """Return points (..., 2) of a rectangle of the canvas, and its size."""
    corner = weft.tensor([left, top], dtype=keypoints.dtype, device=keypoints.device)
    return keypoints - corner, (height, width)


@kernel(crop, tv_tensors.BoundingBoxes)
def crop_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    top: int,
    left: int,
    height: int,
    width: int,
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Canvas]:
    """Return boxes (..., K) of a rectangle of the canvas, and its size."""
    moved = shifted_boxes(bounding_boxes, format, -left, -top)
    if format is BoundingBoxFormat.XYXYXYXY:
        moved = parallelogram_to_bounding_boxes(moved)
    return clamp_bounding_boxes(moved, format, (height, width), clamping_mode), (height, width)


# The middle


def _middle(canvas_size: Any, size: Canvas) -> dict[str, int]:
    """Return the rectangle of this size in the middle of a canvas, as arguments of `crop`."""
    height, width = size
    top, left = round((canvas_size[0] - height) / 2.0), round((canvas_size[1] - width) / 2.0)
    return {"top": top, "left": left, "height": height, "width": width}


def _missing(canvas_size: Any, size: Canvas) -> tuple[int, int, int, int]:
    """Return how many pixels a canvas lacks on each side of a size: (left, top, right, bottom)."""
    rows, columns = (max(wanted - found, 0) for wanted, found in zip(size, canvas_size))
    return columns // 2, rows // 2, (columns + 1) // 2, (rows + 1) // 2


@kernel(center_crop, *PICTURES)
def center_crop_image(image: Tensor, output_size: list[int]) -> Tensor:
    """Return the middle of pictures (..., H, W), padded with 0 where they are smaller."""
    size = height_and_width(output_size, "center_crop")
    if image.numel() == 0:
        return image.reshape(*image.shape[:-2], *size)
    missing = _missing(image.shape[-2:], size)
    if any(missing):
        image = pad_tensor(image, missing, 0, "constant")
    return crop_image(image, **_middle(image.shape[-2:], size))


center_crop_video = center_crop_mask = center_crop_image


@kernel(center_crop, PIL_IMAGE)
def _center_crop_image_pil(image: PIL.Image.Image, output_size: list[int]) -> PIL.Image.Image:
    size = height_and_width(output_size, "center_crop")
    missing = _missing((image.height, image.width), size)
    if any(missing):
        image = pad_pil_image(image, missing, 0, "constant")
    return _crop_image_pil(image, **_middle((image.height, image.width), size))


@kernel(center_crop, tv_tensors.KeyPoints)
def center_crop_keypoints(inpt: Tensor, canvas_size: Canvas, output_size: list[int]) -> tuple[Tensor, Canvas]:
    """Return points (..., 2) of the middle of the canvas, and its size."""
    return crop_keypoints(inpt, **_middle(canvas_size, height_and_width(output_size, "center_crop")))


@kernel(center_crop, tv_tensors.BoundingBoxes)
def center_crop_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Canvas,
    output_size: list[int],
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Canvas]:
    """Return boxes (..., K) of the middle of the canvas, and its size."""
    place = _middle(canvas_size, height_and_width(output_size, "center_crop"))
    return crop_bounding_boxes(bounding_boxes, format, **place, clamping_mode=clamping_mode)


# Corners


def _five(image: Any, size: Any, cut: Callable[..., Any]) -> tuple[Any, ...]:
    height, width = height_and_width(size, "five_crop")
    rows, columns = get_size(image)
    if height > rows or width > columns:
        raise ValueError(f"Requested crop size {(height, width)} is bigger than input size {(rows, columns)}")
    corners = [(top, left) for top in (0, rows - height) for left in (0, columns - width)]
    middle = _middle((rows, columns), (height, width))
    return (*(cut(image, top, left, height, width) for top, left in corners), cut(image, **middle))


@kernel(five_crop, *IMAGES_AND_VIDEOS)
def five_crop_image(image: Tensor, size: list[int]) -> tuple[Tensor, ...]:
    """Return upper left, upper right, lower left, lower right and middle of pictures (..., H, W).

    Raises
    ------
    ValueError
        If they are smaller.
    """
    return _five(image, size, crop_image)


@kernel(five_crop, PIL_IMAGE)
def _five_crop_image_pil(image: PIL.Image.Image, size: list[int]) -> tuple[PIL.Image.Image, ...]:
    return _five(image, size, _crop_image_pil)


@kernel(ten_crop, *IMAGES_AND_VIDEOS)
def ten_crop_image(image: Tensor, size: list[int], vertical_flip: bool = False) -> tuple[Tensor, ...]:
    """Return the five of pictures (..., H, W) and those of the mirrored ones, as `five_crop_image` does."""
    return (*five_crop_image(image, size), *five_crop_image(_mirrored(image, vertical_flip), size))


@kernel(ten_crop, PIL_IMAGE)
def _ten_crop_image_pil(
    image: PIL.Image.Image, size: list[int], vertical_flip: bool = False
) -> tuple[PIL.Image.Image, ...]:
    return (*_five_crop_image_pil(image, size), *_five_crop_image_pil(_mirrored(image, vertical_flip), size))


def _mirrored(image: Any, upside_down: bool) -> Any:
    return vertical_flip(image) if upside_down else horizontal_flip(image)


five_crop_video, ten_crop_video = five_crop_image, ten_crop_image


# Resized rectangles


@kernel(resized_crop, *IMAGES_AND_VIDEOS)
def resized_crop_image(
    image: Tensor,
    top: int,
    left: int,
    height: int,
    width: int,
    size: list[int],
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Tensor:
    """Return a rectangle of pictures (..., C, H, W), resized."""
    part = crop_image(image, top, left, height, width)
    return resize_image(part, size, interpolation=interpolation, antialias=antialias)


resized_crop_video = resized_crop_image


@kernel(resized_crop, PIL_IMAGE)
def _resized_crop_image_pil(
    image: PIL.Image.Image,
    top: int,
    left: int,
    height: int,
    width: int,
    size: list[int],
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> PIL.Image.Image:
    part = _crop_image_pil(image, top, left, height, width)
    return _resize_image_pil(part, size, interpolation=interpolation, antialias=antialias)


@kernel(resized_crop, tv_tensors.Mask)
def resized_crop_mask(mask: Tensor, top: int, left: int, height: int, width: int, size: list[int]) -> Tensor:
    """Return a rectangle of masks (..., H, W), resized."""
    return resize_mask(crop_mask(mask, top, left, height, width), size)


@kernel(resized_crop, tv_tensors.KeyPoints)
def resized_crop_keypoints(
    keypoints: Tensor, top: int, left: int, height: int, width: int, size: list[int]
) -> tuple[Tensor, Canvas]:
    """Return points (..., 2) of a resized rectangle of the canvas, and its size."""
    moved, canvas_size = crop_keypoints(keypoints, top, left, height, width)
    return resize_keypoints(moved, size, canvas_size)


@kernel(resized_crop, tv_tensors.BoundingBoxes)
def resized_crop_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    top: int,
    left: int,
    height: int,
    width: int,
    size: list[int],
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Canvas]:
    """Return boxes (..., K) of a resized rectangle of the canvas, and its size."""
    moved, canvas_size = crop_bounding_boxes(bounding_boxes, format, top, left, height, width, clamping_mode)
    return resize_bounding_boxes(moved, canvas_size, size, format=format, clamping_mode=clamping_mode)
