"""What the kernels of geometry share for bounding boxes: their corners, and rectangles of warped corners."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor
from weft.vision.transforms.v2.functional._meta import (
    _xyxy_to_keypoints,
    clamp_bounding_boxes,
    convert_bounding_box_format,
)
from weft.vision.tv_tensors import BoundingBoxFormat, is_rotated_bounding_format

__all__ = ["parallelogram_to_bounding_boxes", "shifted_boxes", "warped_boxes"]

_NUMBERS = {BoundingBoxFormat.XYWHR: 5, BoundingBoxFormat.CXCYWHR: 5, BoundingBoxFormat.XYXYXYXY: 8}


def shifted_boxes(boxes: Tensor, format: BoundingBoxFormat, across: int, down: int) -> Tensor:
    """Return boxes (..., K) moved to the right and down."""
    numbers = _NUMBERS.get(format, 4)
    points = {BoundingBoxFormat.XYXY: 2, BoundingBoxFormat.XYXYXYXY: 4}.get(format, 1)
    shift = [across, down] * points + [0] * (numbers - 2 * points)
    return boxes + weft.tensor(shift, dtype=boxes.dtype, device=boxes.device)


def warped_boxes(
    boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: tuple[int, int],
    clamping_mode: str | None,
    move: Callable[[Tensor], Tensor],
) -> Tensor:
    """Return the boxes about their moved corners, clamped to the canvas.

    Parameters
    ----------
    boxes : Tensor, shape (..., K)
    move : function
        From points (M, 2) to points (M, 2), floating.
    """
    rotated = is_rotated_bounding_format(format)
    by_corners = BoundingBoxFormat.XYXYXYXY if rotated else BoundingBoxFormat.XYXY
    corners = convert_bounding_box_format(boxes, format, by_corners).reshape(-1, 8 if rotated else 4)
    if rotated:
        found = parallelogram_to_bounding_boxes(move(corners.reshape(-1, 2)).reshape(-1, 8))
    else:
        moved = move(_xyxy_to_keypoints(corners).reshape(-1, 2)).reshape(-1, 4, 2)
        found = weft.cat([moved.amin(1), moved.amax(1)], 1)
    clamped = clamp_bounding_boxes(found, by_corners, canvas_size, clamping_mode)
    return convert_bounding_box_format(clamped, by_corners, format).reshape(boxes.shape)


def parallelogram_to_bounding_boxes(parallelogram: Tensor) -> Tensor:
    """Return rectangles (..., 8) that have the longer diagonal of parallelograms (..., 8) given by their corners."""
    points = parallelogram if parallelogram.dtype in (weft.float32, weft.float64) else parallelogram.float()
    x1, y1, x2, y2, x3, y3, x4, y4 = points.unbind(-1)
    width, height = ((x2 - x1).square() + (y2 - y1).square()).sqrt(), ((x4 - x1).square() + (y4 - y1).square()).sqrt()
    along_width, along_height = weft.atan2(y1 - y2, x2 - x1), weft.atan2(y1 - y4, x4 - x1)
    between = along_width - along_height
    cos, sin = between.cos() * weft.where(between > math.pi / 2, -1, 1), between.sin()
    # The longer side grows by the projection of the other, the shorter one becomes the other's perpendicular.
    across = weft.where(width < height, width * sin, width + height * cos) / 2
    down = weft.where(width > height, height * sin, height + width * cos) / 2
    angle = weft.where(height > width, along_height + math.pi / 2, along_width)
    cos, sin = angle.cos(), angle.sin()
    center: Any = ((x1 + x3) / 2, (y1 + y3) / 2)
    corners = []
    for right, low in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        corners.append(center[0] + right * across * cos + low * down * sin)
        corners.append(center[1] - right * across * sin + low * down * cos)
    return weft.stack(corners, -1).to(parallelogram.dtype)
