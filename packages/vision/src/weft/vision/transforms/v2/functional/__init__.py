"""Transforms as functions, each of any input that it has a kernel for.

An input is an image (a PIL image, a plain tensor or an `Image`), a `Video`, a `Mask`, `BoundingBoxes` or `KeyPoints` of
`weft.vision.tv_tensors`. ``f`` calls the kernel for the type: ``f_image``, ``f_mask``, … are those for plain tensors.
`register_kernel` adds kernels for classes of the user's.

Modules are by family, and imported when a name of theirs is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.vision.transforms.v2.functional._flip import *
    from weft.vision.transforms.v2.functional._meta import *

# Which module of this folder has which names.
_NAMES = {
    "_utils": "is_pure_tensor register_kernel",
    "_meta": (
        "clamp_bounding_boxes clamp_keypoints convert_bounding_box_format "
        "get_dimensions get_dimensions_image get_dimensions_video get_image_num_channels get_num_channels "
        "get_num_channels_image get_num_channels_video get_num_frames get_num_frames_video get_size "
        "get_size_bounding_boxes get_size_image get_size_keypoints get_size_mask get_size_video"
    ),
    "_flip": (
        "hflip horizontal_flip horizontal_flip_bounding_boxes horizontal_flip_image horizontal_flip_keypoints "
        "horizontal_flip_mask horizontal_flip_video vertical_flip vertical_flip_bounding_boxes vertical_flip_image "
        "vertical_flip_keypoints vertical_flip_mask vertical_flip_video vflip"
    ),
    "_first": (
        "affine center_crop convert_image_dtype crop erase gaussian_blur get_image_size grayscale_to_rgb normalize pad "
        "pil_to_tensor resize resized_crop rgb_to_grayscale rotate to_dtype to_dtype_image to_grayscale to_image "
        "to_pil_image to_tensor adjust_brightness adjust_contrast adjust_hue adjust_saturation InterpolationMode"
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
_SUBMODULES = frozenset({*_NAMES, "_geometry"})

__all__ = [name for name in _MODULES if name != "is_pure_tensor"]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
