"""Sizes; formats of boxes; boxes and points kept inside the picture."""

from __future__ import annotations

from typing import Any

import PIL.Image

from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms.v2.functional._utils import IMAGES_AND_VIDEOS, PIL_IMAGE, functional, kernel

__all__ = [
    "get_dimensions",
    "get_dimensions_image",
    "get_dimensions_video",
    "get_image_num_channels",
    "get_num_channels",
    "get_num_channels_image",
    "get_num_channels_video",
    "get_num_frames",
    "get_num_frames_video",
    "get_size",
    "get_size_bounding_boxes",
    "get_size_image",
    "get_size_keypoints",
    "get_size_mask",
    "get_size_video",
]


@functional
def get_dimensions(inpt: Any) -> Any:
    """Return [channels, height, width] of an image or a video."""


@functional
def get_num_channels(inpt: Any) -> Any:
    """Return the number of channels of an image or a video."""


@functional
def get_size(inpt: Any) -> Any:
    """Return [height, width] of a picture, or of the canvas of boxes or points."""


@functional
def get_num_frames(inpt: Any) -> Any:
    """Return the number of frames of a video (..., T, C, H, W)."""


get_image_num_channels = get_num_channels


@kernel(get_dimensions, *IMAGES_AND_VIDEOS, tv_tensor_wrapper=False)
def get_dimensions_image(image: Tensor) -> list[int]:
    """Return [channels, height, width]; (H, W) has one channel."""
    if image.ndim < 2:
        raise TypeError(f"Input tensor should have at least two dimensions, but got {image.ndim}")
    return [1, *image.shape] if image.ndim == 2 else list(image.shape[-3:])


@kernel(get_num_channels, *IMAGES_AND_VIDEOS, tv_tensor_wrapper=False)
def get_num_channels_image(image: Tensor) -> int:
    """Return the number of channels; (H, W) has one."""
    return get_dimensions_image(image)[0]


@kernel(get_size, *IMAGES_AND_VIDEOS, tv_tensors.Mask, tv_tensor_wrapper=False)
def get_size_image(image: Tensor) -> list[int]:
    """Return [height, width] of (..., H, W)."""
    return get_dimensions_image(image)[1:]


get_dimensions_video = get_dimensions_image
get_num_channels_video = get_num_channels_image
get_size_video = get_size_mask = get_size_image


@kernel(get_dimensions, PIL_IMAGE)
def _get_dimensions_image_pil(image: PIL.Image.Image) -> list[int]:
    return [len(image.getbands()), image.height, image.width]


@kernel(get_num_channels, PIL_IMAGE)
def _get_num_channels_image_pil(image: PIL.Image.Image) -> int:
    return len(image.getbands())


@kernel(get_size, PIL_IMAGE)
def _get_size_image_pil(image: PIL.Image.Image) -> list[int]:
    return [image.height, image.width]


@kernel(get_size, tv_tensors.BoundingBoxes, tv_tensor_wrapper=False)
def get_size_bounding_boxes(bounding_box: tv_tensors.BoundingBoxes) -> list[int]:
    """Return [height, width] of the canvas."""
    return list(bounding_box.canvas_size)


@kernel(get_size, tv_tensors.KeyPoints, tv_tensor_wrapper=False)
def get_size_keypoints(keypoints: tv_tensors.KeyPoints) -> list[int]:
    """Return [height, width] of the canvas."""
    return list(keypoints.canvas_size)


@kernel(get_num_frames, Tensor, tv_tensors.Video, tv_tensor_wrapper=False)
def get_num_frames_video(video: Tensor) -> int:
    """Return the number of frames of a video (..., T, C, H, W)."""
    return video.shape[-4]
