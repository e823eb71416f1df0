"""Sizes; formats of boxes; boxes and points kept inside the picture."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms.v2.functional._utils import (
    IMAGES_AND_VIDEOS,
    PIL_IMAGE,
    functional,
    is_pure_tensor,
    kernel,
    log_use,
)

__all__ = [
    "clamp_bounding_boxes",
    "clamp_keypoints",
    "convert_bounding_box_format",
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

from weft.vision.tv_tensors import BoundingBoxFormat, is_rotated_bounding_format

Canvas = tuple[int, int]


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


def convert_bounding_box_format(
    inpt: Any,
    old_format: BoundingBoxFormat | str | None = None,
    new_format: BoundingBoxFormat | str | None = None,
    inplace: bool = False,
) -> Any:
    """Return boxes in another format.

    Parameters
    ----------
    inpt : BoundingBoxes or Tensor, shape (..., K)
    old_format : BoundingBoxFormat or str
        Of a plain tensor; `BoundingBoxes` know theirs.
    new_format : BoundingBoxFormat or str
        Rotated if the old one is.
    inplace : bool, default False
        Write the result over ``inpt`` where a box has as many numbers in both formats.

    Raises
    ------
    TypeError
        If ``inpt`` is neither, or ``new_format`` is missing.
    ValueError
        If ``old_format`` is missing, or given where it is known, or only one format is rotated.

    Examples
    --------
    >>> convert_bounding_box_format(weft.tensor([[1, 2, 5, 4]]), "XYXY", "XYWH")
    tensor([[1, 2, 4, 2]])
    """
    log_use(convert_bounding_box_format)
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    new_format = _format(new_format)
    if is_pure_tensor(inpt):
        if old_format is None:
            raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
        return _converted(inpt, _format(old_format), new_format, inplace)
    _check_is(inpt, tv_tensors.BoundingBoxes, "bounding box")
    if old_format is not None:
        raise ValueError("For bounding box tv_tensor inputs, `old_format` must not be passed.")
    output = _converted(inpt.as_subclass(Tensor), inpt.format, new_format, inplace)
    return tv_tensors.wrap(output, like=inpt, format=new_format)


def _format(format: BoundingBoxFormat | str) -> BoundingBoxFormat:
    return BoundingBoxFormat[format.upper()] if isinstance(format, str) else format


def _check_is(inpt: Any, wanted: type, name: str) -> None:
    if not isinstance(inpt, wanted):
        raise TypeError(f"Input can either be a plain tensor or a {name} tv_tensor, but got {type(inpt)} instead.")


def _converted(boxes: Tensor, old: BoundingBoxFormat, new: BoundingBoxFormat, inplace: bool = False) -> Tensor:
    if old is new:
        return boxes
    if is_rotated_bounding_format(old) != is_rotated_bounding_format(new):
        raise ValueError("Cannot convert between rotated and unrotated bounding boxes.")
    direct = _DIRECT.get((old, new))
    found = _FROM_HUB[new](_TO_HUB[old](boxes)) if direct is None else direct(boxes)
    return boxes.copy_(found) if inplace and found.shape == boxes.shape else found


def _conversion(run: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Decorator: the conversion may write its result over the boxes."""

    @functools.wraps(run)
    def converted(boxes: Tensor, inplace: bool = False) -> Tensor:
        found = run(boxes)
        return boxes.copy_(found) if inplace else found

    return converted


@_conversion
def _xywh_to_xyxy(boxes: Tensor) -> Tensor:
    xy, wh = boxes[..., :2], boxes[..., 2:]
    return weft.cat([xy, xy + wh], -1)


@_conversion
def _xyxy_to_xywh(boxes: Tensor) -> Tensor:
    xy, end = boxes[..., :2], boxes[..., 2:]
    return weft.cat([xy, end - xy], -1)


def _xyxy_to_keypoints(bounding_boxes: Tensor) -> Tensor:
    """Return the four corners (N, 4, 2) of boxes (N, 4), from the top left one clockwise."""
    return bounding_boxes[:, [[0, 1], [2, 1], [2, 3], [0, 3]]]


@_conversion
def _cxcywh_to_xyxy(boxes: Tensor) -> Tensor:
    values = boxes if boxes.is_floating_point() else boxes.float()  # integers: half a pixel is cut off at the end
    center, wh = values[..., :2], values[..., 2:]
    start = center - wh / 2
    return weft.cat([start, start + wh], -1).to(boxes.dtype)


@_conversion
def _xyxy_to_cxcywh(boxes: Tensor) -> Tensor:
    xy, end = boxes[..., :2], boxes[..., 2:]
    wh = end - xy
    return weft.cat([_halved(xy * 2 + wh), wh], -1)


@_conversion
def _xywh_to_cxcywh(boxes: Tensor) -> Tensor:
    xy, wh = boxes[..., :2], boxes[..., 2:]
    return weft.cat([xy + _halved(wh), wh], -1)


@_conversion
def _cxcywh_to_xywh(boxes: Tensor) -> Tensor:
    if not boxes.is_floating_point():
        return _xyxy_to_xywh(_cxcywh_to_xyxy(boxes))  # both corners are cut off, and the size is what lies between
    center, wh = boxes[..., :2], boxes[..., 2:]
    return weft.cat([center - wh / 2, wh], -1)


def _halved(values: Tensor) -> Tensor:
    return values / 2 if values.is_floating_point() else values.div(2, rounding_mode="floor")


def _directions(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of the angles of boxes (..., 5), of shape (..., 1)."""
    angle = boxes[..., 4:] * math.pi / 180.0
    return angle.cos(), angle.sin()


def _from_corner_to_center(boxes: Tensor) -> Tensor:
    """Return how far the center of boxes (..., 5) is from their first corner: (..., 2)."""
    cos, sin = _directions(boxes)
    half_width, half_height = _halved(boxes[..., 2:4].abs()).split(1, -1)
    return weft.cat([half_width * cos + half_height * sin, half_height * cos - half_width * sin], -1)


def _cxcywhr_to_xywhr(boxes: Tensor) -> Tensor:
    return weft.cat([boxes[..., :2] - _from_corner_to_center(boxes), boxes[..., 2:]], -1)


def _xywhr_to_cxcywhr(boxes: Tensor) -> Tensor:
    return weft.cat([boxes[..., :2] + _from_corner_to_center(boxes), boxes[..., 2:]], -1)


def _xywhr_to_corners(boxes: Tensor) -> Tensor:
    cos, sin = _directions(boxes)
    first, width, height = boxes[..., :2], boxes[..., 2:3], boxes[..., 3:4]
    across = weft.cat([width * cos, -width * sin], -1)
    down = weft.cat([height * sin, height * cos], -1)
    return weft.cat([first, first + across, first + across + down, first + down], -1)


def _corners_to_xywhr(boxes: Tensor) -> Tensor:
    corners = boxes if boxes.dtype in (weft.float32, weft.float64) else boxes.float()  # squares overflow in half
    across, down = corners[..., 2:4] - corners[..., :2], corners[..., 4:6] - corners[..., 2:4]
    angle = weft.atan2(-across[..., 1:], across[..., :1]) / math.pi * 180.0
    width, height = (side.square().sum(-1, keepdim=True).sqrt() for side in (across, down))
    return weft.cat([corners[..., :2], width, height, angle], -1).to(boxes.dtype)


def _same(boxes: Tensor) -> Tensor:
    return boxes


# Unrotated boxes are converted by way of XYXY, rotated ones of XYWHR; those that keep their size, without.
_DIRECT = {
    (BoundingBoxFormat.XYWH, BoundingBoxFormat.CXCYWH): _xywh_to_cxcywh,
    (BoundingBoxFormat.CXCYWH, BoundingBoxFormat.XYWH): _cxcywh_to_xywh,
}
_TO_HUB: dict[BoundingBoxFormat, Callable[[Tensor], Tensor]] = {
    BoundingBoxFormat.XYXY: _same,
    BoundingBoxFormat.XYWH: _xywh_to_xyxy,
    BoundingBoxFormat.CXCYWH: _cxcywh_to_xyxy,
    BoundingBoxFormat.XYWHR: _same,
    BoundingBoxFormat.CXCYWHR: _cxcywhr_to_xywhr,
    BoundingBoxFormat.XYXYXYXY: _corners_to_xywhr,
}
_FROM_HUB: dict[BoundingBoxFormat, Callable[[Tensor], Tensor]] = {
    BoundingBoxFormat.XYXY: _same,
    BoundingBoxFormat.XYWH: _xyxy_to_xywh,
    BoundingBoxFormat.CXCYWH: _xyxy_to_cxcywh,
    BoundingBoxFormat.XYWHR: _same,
    BoundingBoxFormat.CXCYWHR: _xywhr_to_cxcywhr,
    BoundingBoxFormat.XYXYXYXY: _xywhr_to_corners,
}


def clamp_bounding_boxes(
    inpt: Any,
    format: BoundingBoxFormat | None = None,
    canvas_size: Canvas | None = None,
    clamping_mode: str | None = "auto",
) -> Any:
    """Cut boxes at the border of the picture.

    Parameters
    ----------
    inpt : BoundingBoxes or Tensor, shape (..., K)
    format, canvas_size
        Of a plain tensor; `BoundingBoxes` know theirs.
    clamping_mode : {"auto", "soft", "hard", None}
        "auto" is the boxes' own. Unrotated boxes are cut as "soft" and "hard" alike. A rotated box keeps its angle:
        "soft" gives the smallest that holds all that is inside of both, "hard" one without a corner outside of the
        picture. None: no box is cut.

    Raises
    ------
    TypeError, ValueError
        If ``inpt`` is neither, the mode is unknown, or metadata is missing, or given where it is known.
    """
    log_use(clamp_bounding_boxes)
    if clamping_mode not in (None, "soft", "hard", "auto"):
        raise ValueError(f"clamping_mode must be soft, hard, auto or None, got {clamping_mode}")
    if is_pure_tensor(inpt):
        if format is None or canvas_size is None or clamping_mode == "auto":
            raise ValueError("For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed.")
        return _clamped(inpt, format, canvas_size, clamping_mode)
    _check_is(inpt, tv_tensors.BoundingBoxes, "bounding box")
    if format is not None or canvas_size is not None:
        raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed.")
    mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
    return tv_tensors.wrap(_clamped(inpt.as_subclass(Tensor), inpt.format, inpt.canvas_size, mode), like=inpt)


def _clamped(boxes: Tensor, format: BoundingBoxFormat, canvas_size: Canvas, mode: str | None) -> Tensor:
    if mode is None:
        return boxes.clone()
    if is_rotated_bounding_format(format):
        return _clamped_rotated(boxes, _format(format), canvas_size, mode == "hard")
    values = boxes if boxes.is_floating_point() else boxes.float()
    xyxy = _converted(values, _format(format), BoundingBoxFormat.XYXY)
    height, width = canvas_size
    x, y = xyxy[..., 0::2].clamp(0, width), xyxy[..., 1::2].clamp(0, height)
    clamped = weft.stack([x, y], -1).flatten(-2)
    return _converted(clamped, BoundingBoxFormat.XYXY, _format(format)).to(boxes.dtype)


def _clamped_rotated(boxes: Tensor, format: BoundingBoxFormat, canvas_size: Canvas, hard: bool) -> Tensor:
    """Cut each box at the left border; turn all by a right angle; and so on until all borders have been left."""
    corners = _converted(boxes, format, BoundingBoxFormat.XYXYXYXY).reshape(-1, 4, 2)
    x, y = corners.unbind(-1)  # (N, 4)
    uncut_x, uncut_y = x, y
    height, width = canvas_size
    for _ in range(4):
        highest, farthest = (each.abs().amax(1, keepdim=True) for each in (y, x))
        leftmost = (y / highest + x / farthest * 100).min(dim=1).indices  # of two as far left, the upper
        order = (leftmost[:, None] + weft.arange(4, device=x.device)) % 4
        x, y, uncut_x, uncut_y = (each.gather(1, order) for each in (x, y, uncut_x, uncut_y))
        x, y = _cut_at_left(x, y, uncut_x, uncut_y, (height, width), hard)
        # As in torchvision the corners move on once more, and not back: which is first depends on it.
        x, y, uncut_x, uncut_y = (each.gather(1, order) for each in (x, y, uncut_x, uncut_y))
        x, y, uncut_x, uncut_y = y, width - x, uncut_y, width - uncut_x
        height, width = width, height
    cut = weft.stack([x, y], -1).reshape(-1, 8)
    return _converted(cut, BoundingBoxFormat.XYXYXYXY, format).reshape(boxes.shape)


def _cut_at_left(
    x: Tensor, y: Tensor, uncut_x: Tensor, uncut_y: Tensor, canvas_size: Canvas, hard: bool
) -> tuple[Tensor, Tensor]:
    """Cut boxes, whose leftmost corners stand first, at x = 0. All are of shape (N, 4)."""
    slopes, intercepts = _sides(x, y)
    intercepts = _moved_intercepts(slopes, intercepts, _sides(uncut_x, uncut_y)[1], canvas_size, hard)
    cut_x = -(intercepts - intercepts.roll(1, 1)) / (slopes - slopes.roll(1, 1))  # where a side meets the one before
    cut_y = slopes * cut_x + intercepts
    met = (x[:, 0] < 0) & ~(cut_x.isnan() | cut_y.isnan()).any(1)
    x1, x2 = x[:, 0], x[:, 1]
    y1, y2, y3, y4 = y.unbind(1)
    upright = y1.isclose(y2) | y3.isclose(y4)
    gone = (x <= 0).all(1) | y1.isclose(y4) | y2.isclose(y3) | (upright & x1.isclose(x2))
    moved_x = weft.where(weft.tensor([True, False, False, True], device=x.device), x.clamp(min=0), x)
    for found, new_x, new_y in ((met, cut_x, cut_y), (upright, moved_x, y), (gone, None, None)):
        x = weft.where(found[:, None], weft.zeros_like(x) if new_x is None else new_x, x)
        y = weft.where(found[:, None], weft.zeros_like(y) if new_y is None else new_y, y)
    return x, y


def _sides(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return slope and intercept of the line from each corner to the next."""
    slopes = (y.roll(-1, 1) - y) / (x.roll(-1, 1) - x)
    return slopes, y - slopes * x


def _moved_intercepts(slopes: Tensor, intercepts: Tensor, uncut: Tensor, canvas_size: Canvas, hard: bool) -> Tensor:
    """Return the intercepts of the sides, moved so that they meet inside of the canvas."""
    height, width = canvas_size
    b1, b2, b3, b4 = intercepts.unbind(1)
    u1, u2, u3, u4 = uncut.unbind(1)
    b1, b4 = b2.clamp(b1, b3).clamp(0, height), b3.clamp(b2, b4).clamp(0, height)
    if not hard:
        return weft.stack([b1.clamp(u1, u3), b2.clamp(u2, u4), b3.clamp(u1, u3), b4.clamp(u2, u4)], 1)
    a1, a2, a3, a4 = slopes.unbind(1)
    first = (b1 + b4) / 2  # both sides go through this point of the border
    upper = [first * a2 / a1, b3 * a2 / a3, (a1 - a2) * width + first, (a3 - a2) * width + b3]
    b2 = weft.stack(upper, 1).amax(1).minimum(b2)
    lower = [
        height * (1 - a3 / a4) + first * a3 / a4,
        height * (1 - a3 / a2) + b2 * a3 / a2,
        (a2 - a3) * width + b2,
        (a4 - a3) * width + first,
    ]
    b3 = weft.stack(lower, 1).amin(1).maximum(b3)
    first = first.clamp(u1, u3).clamp(u2, u4)
    return weft.stack([first, b2.clamp(u2, u4), b3.clamp(u1, u3), first], 1)


def clamp_keypoints(inpt: Any, canvas_size: Canvas | None = None) -> Any:
    """Move points that are outside of the picture to its nearest pixel.

    Parameters
    ----------
    inpt : KeyPoints or Tensor, shape (..., 2)
    canvas_size : (int, int)
        Height and width, of a plain tensor; `KeyPoints` know theirs.

    Raises
    ------
    TypeError, ValueError
        If ``inpt`` is neither, or ``canvas_size`` is missing, or given where it is known.

    Examples
    --------
    >>> clamp_keypoints(weft.tensor([[-1, 9]]), canvas_size=(8, 8))
    tensor([[0, 7]])
    """
    log_use(clamp_keypoints)
    if is_pure_tensor(inpt):
        if canvas_size is None:
            raise ValueError("For pure tensor inputs, `canvas_size` has to be passed.")
        return _clamped_points(inpt, canvas_size)
    _check_is(inpt, tv_tensors.KeyPoints, "keypoints")
    if canvas_size is not None:
        raise ValueError("For keypoints tv_tensor inputs, `canvas_size` must not be passed.")
    return tv_tensors.wrap(_clamped_points(inpt.as_subclass(Tensor), inpt.canvas_size), like=inpt)


def _clamped_points(points: Tensor, canvas_size: Canvas) -> Tensor:
    height, width = canvas_size
    return weft.stack([points[..., 0].clamp(0, width - 1), points[..., 1].clamp(0, height - 1)], -1)
