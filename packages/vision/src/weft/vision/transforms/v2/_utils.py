"""What transforms ask about a sample, and how they check their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import PIL.Image

from weft.vision import tv_tensors
from weft.vision.transforms.v2.functional._meta import get_dimensions, get_size
from weft.vision.transforms.v2.functional._utils import is_pure_tensor

__all__ = [
    "check_type",
    "get_bounding_boxes",
    "get_keypoints",
    "has_all",
    "has_any",
    "is_pure_tensor",
    "query_chw",
    "query_size",
]

Check = type | Callable[[Any], bool]

_WITH_CHANNELS: tuple[Check, ...] = (is_pure_tensor, tv_tensors.Image, PIL.Image.Image, tv_tensors.Video)
_WITH_SIZE = (*_WITH_CHANNELS, tv_tensors.Mask, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)


def check_type(obj: Any, types_or_checks: tuple[Check, ...]) -> bool:
    """Return whether an object is of one of these types, or passes one of these checks."""
    return any(isinstance(obj, each) if isinstance(each, type) else each(obj) for each in types_or_checks)


def has_any(flat_inputs: list[Any], *types_or_checks: Check) -> bool:
    """Return whether a part of the sample is of one of these types."""
    return any(check_type(each, types_or_checks) for each in flat_inputs)


def has_all(flat_inputs: list[Any], *types_or_checks: Check) -> bool:
    """Return whether the sample has a part of each of these types."""
    return all(has_any(flat_inputs, each) for each in types_or_checks)


def get_bounding_boxes(flat_inputs: list[Any]) -> tv_tensors.BoundingBoxes:
    """Return the boxes of a sample, the first if there are several.

    Raises
    ------
    ValueError
        If there are none.
    """
    for each in flat_inputs:
        if isinstance(each, tv_tensors.BoundingBoxes):
            return each
    raise ValueError("No bounding boxes were found in the sample")


def get_keypoints(flat_inputs: list[Any]) -> tv_tensors.KeyPoints:
    """Return the key points of a sample, the first if there are several.

    Raises
    ------
    ValueError
        If there are none.
    """
    for each in flat_inputs:
        if isinstance(each, tv_tensors.KeyPoints):
            return each
    raise ValueError("No keypoints were found in the sample")


def query_chw(flat_inputs: list[Any]) -> tuple[int, int, int]:
    """Return (channels, height, width), which all images and videos of a sample share.

    Raises
    ------
    TypeError
        If there are none.
    ValueError
        If they differ.
    """
    found = {tuple(get_dimensions(each)) for each in flat_inputs if check_type(each, _WITH_CHANNELS)}
    channels, height, width = _only(found, "No image or video", "CxHxW")
    return channels, height, width


def query_size(flat_inputs: list[Any]) -> tuple[int, int]:
    """Return (height, width), which all images, videos, masks, boxes and key points of a sample share.

    Raises
    ------
    TypeError
        If there are none.
    ValueError
        If they differ.
    """
    found = {tuple(get_size(each)) for each in flat_inputs if check_type(each, _WITH_SIZE)}
    height, width = _only(found, "No image, video, mask, bounding box or keypoint", "HxW")
    return height, width


def _only(found: set[tuple[int, ...]], nothing: str, axes: str) -> tuple[int, ...]:
    if not found:
        raise TypeError(f"{nothing} was found in the sample")
    if len(found) > 1:
        raise ValueError(f"Found multiple {axes} dimensions in the sample: {', '.join(map(str, sorted(found)))}")
    return found.pop()


def setup_fill(fill: Any) -> dict[Any, Any]:
    """Return fills by the type of the input, ``"others"`` for those that are not named.

    Raises
    ------
    TypeError
        If a fill is neither a number nor a sequence of numbers nor None.
    """
    fills = fill if isinstance(fill, dict) else {"others": fill}
    for each in fills.values():
        if not (each is None or isinstance(each, (int, float, tuple, list))):
            raise TypeError(f"Got inappropriate fill arg {each!r}, only numbers, tuples, lists and dicts are allowed.")
    return {of: list(each) if isinstance(each, tuple) else each for of, each in fills.items()}


def fill_for(fills: dict[Any, Any], input_type: type) -> Any:
    """Return the fill for inputs of a type."""
    return fills[input_type] if input_type in fills else fills.get("others")
