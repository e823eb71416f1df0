"""Transforms as functions of a picture: a PIL image, or a tensor of shape (..., C, H, W)."""

from weft.vision.transforms.functional._types import (
    InterpolationMode,
    get_dimensions,
    get_image_num_channels,
    get_image_size,
)
from weft.vision.transforms.functional.color import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    erase,
    rgb_to_grayscale,
    to_grayscale,
)
from weft.vision.transforms.functional.conversion import (
    convert_image_dtype,
    normalize,
    pil_to_tensor,
    to_pil_image,
    to_tensor,
)
from weft.vision.transforms.functional.filtering import gaussian_blur
from weft.vision.transforms.functional.geometry import (
    affine,
    center_crop,
    crop,
    hflip,
    pad,
    resize,
    resized_crop,
    rotate,
    vflip,
)

__all__ = [
    "InterpolationMode",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "to_tensor",
    "pil_to_tensor",
    "to_pil_image",
    "convert_image_dtype",
    "normalize",
    "resize",
    "pad",
    "crop",
    "center_crop",
    "resized_crop",
    "hflip",
    "vflip",
    "rotate",
    "affine",
    "gaussian_blur",
    "rgb_to_grayscale",
    "to_grayscale",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_saturation",
    "adjust_hue",
    "erase",
]
