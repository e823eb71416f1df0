"""What transforms ask about a sample, and how they check their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import PIL.Image

from weft.vision import tv_tensors
from weft.vision.transforms.v2._labels import labels_by_convention as _find_labels_default_heuristic  # noqa: F401
from weft.vision.transforms.v2.functional._meta import get_dimensions, get_size
from weft.vision.transforms.v2.functional._utils import Fill, is_pure_tensor

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


# Arguments of transforms


def setup_size(size: Any, message: str = "Please provide only two dimensions (h, w) for size.") -> Sequence[int]:
    """Return a size given as one number, or a sequence of one or two, as (height, width)."""
    if isinstance(size, (int, float)):
        return int(size), int(size)
    if not isinstance(size, Sequence):
        raise TypeError(message)
    if len(size) not in (1, 2):
        raise ValueError(message)
    return (size[0], size[0]) if len(size) == 1 else size


def check_sequence(x: Any, name: str, lengths: tuple[int, ...]) -> None:
    """Raise if ``x`` is no sequence of one of these lengths."""
    wanted = " or ".join(str(length) for length in lengths)
    if not isinstance(x, Sequence):
        raise TypeError(f"{name} should be a sequence of length {wanted}, got {x!r}")
    if len(x) not in lengths:
        raise ValueError(f"{name} should be a sequence of length {wanted}, got {x!r}")


def setup_angle(x: Any, name: str, lengths: tuple[int, ...] = (2,)) -> list[float]:
    """Return a range of angles: one number d means (-d, d)."""
    if isinstance(x, (int, float)):
        if x < 0:
            raise ValueError(f"If {name} is a single number, it must be positive, got {x}")
        return [float(-x), float(x)]
    check_sequence(x, name, lengths)
    return [float(each) for each in x]


def setup_number_or_sequence(x: Any, name: str) -> list[float]:
    """Return one number, or a sequence of one or two, as two."""
    if not isinstance(x, (int, float, Sequence)):
        raise TypeError(f"{name} should be a number or a sequence of numbers, got {type(x).__name__}")
    numbers = [x] if isinstance(x, (int, float)) else list(x)
    if len(numbers) not in (1, 2):
        raise ValueError(f"If {name} is a sequence its length should be 1 or 2, got {len(numbers)}")
    for each in numbers:
        if not isinstance(each, (int, float)):
            raise ValueError(f"{name} should be a sequence of numbers, got {type(each).__name__}")
    return [float(numbers[0]), float(numbers[-1])]


def setup_fill(fill: Any) -> dict[Any, Fill]:
    """Return what to fill pictures with by their type; of all others under "others"."""
    if isinstance(fill, dict):
        return {kind: _checked_fill(value) for kind, value in fill.items()}
    return {"others": _checked_fill(fill)}


def _checked_fill(fill: Any) -> Fill:
    if fill is None or isinstance(fill, (int, float)):
        return fill
    if not isinstance(fill, (tuple, list)):
        raise TypeError(f"Got inappropriate fill arg {fill!r}: only numbers, tuples, lists and dicts are allowed")
    return [float(each) for each in fill]


def fill_for(fills: dict[Any, Fill], input_type: type) -> Fill:
    """Return what to fill an input of a type with."""
    return fills[input_type] if input_type in fills else fills.get("others")


def check_padding(padding: Any, padding_mode: Any) -> None:
    """Raise if a padding is not one, two or four int, or its mode is unknown."""
    sides = padding if isinstance(padding, (tuple, list)) else (padding,)
    if len(sides) not in (1, 2, 4) or not all(isinstance(each, int) for each in sides):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element of tuple or list, got {padding}.")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(f"Padding mode should be either constant, edge, reflect or symmetric, got {padding_mode!r}")
