"""Formats of boxes.

Upright boxes are converted by their corners; rotated ones by their first corner, sides and angle. An angle is in
degrees, counterclockwise as seen, about the first corner: y points down.
"""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Tensor

__all__ = ["ROTATED", "UPRIGHT", "box_convert"]

UPRIGHT = ("xyxy", "xywh", "cxcywh")
ROTATED = ("xywhr", "cxcywhr", "xyxyxyxy")


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Convert boxes between formats.

    Parameters
    ----------
    boxes : Tensor, shape (..., K)
    in_fmt, out_fmt : str
        Of four numbers: ``"xyxy"`` corners; ``"xywh"`` corner and size; ``"cxcywh"`` centre and size. Of rotated boxes:
        ``"xywhr"`` and ``"cxcywhr"`` with an angle, in degrees counterclockwise, as a fifth; ``"xyxyxyxy"`` four
        corners, from the top left one clockwise.

    Returns
    -------
    Tensor, shape (..., K)
        Of the dtype of ``boxes`` where both formats are rotated; whole numbers are rounded.

    Raises
    ------
    ValueError
        For another format.
    NotImplementedError
        Between a rotated format and one that is not.

    Examples
    --------
    >>> box_convert(weft.tensor([[0.0, 0.0, 2.0, 4.0]]), "xyxy", "cxcywh")
    tensor([[1., 2., 2., 4.]])
    >>> box_convert(weft.tensor([[2.0, 1.0, 4.0, 2.0, 90.0]]), "cxcywhr", "xyxyxyxy").round()
    tensor([[ 1.,  3.,  1., -1.,  3., -1.,  3.,  3.]])
    """
    if not {in_fmt, out_fmt} <= {*UPRIGHT, *ROTATED}:
        raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
    if (in_fmt in ROTATED) != (out_fmt in ROTATED):
        raise NotImplementedError(
            f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}"
        )
    if in_fmt == out_fmt:
        return boxes.clone()
    for convert in (TO_CORNERS.get(in_fmt), FROM_CORNERS.get(out_fmt)):
        if convert is not None:
            converted = weft.stack(convert(*boxes.unbind(-1)), dim=-1)
            boxes = rounded(converted, boxes) if in_fmt in ROTATED else converted
    return boxes


def rounded(converted: Tensor, boxes: Tensor) -> Tensor:
    """In the dtype of the boxes."""
    return converted if boxes.is_floating_point() else converted.round().to(boxes.dtype)


def corners_of_xywh(x, y, w, h):
    return x, y, x + w, y + h


def corners_of_cxcywh(cx, cy, w, h):
    return cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h


def xywh_of_corners(x1, y1, x2, y2):
    return x1, y1, x2 - x1, y2 - y1


def cxcywh_of_corners(x1, y1, x2, y2):
    return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1


def axes(angle):
    """Cosine and sine of an angle in degrees."""
    radians = angle * math.pi / 180.0
    return radians.cos(), radians.sin()


def xywhr_of_centre(cx, cy, w, h, r):
    cos, sin = axes(r)
    return cx - w / 2 * cos - h / 2 * sin, cy - h / 2 * cos + w / 2 * sin, w, h, r


def centre_of_xywhr(x, y, w, h, r):
    cos, sin = axes(r)
    return x + w / 2 * cos + h / 2 * sin, y - w / 2 * sin + h / 2 * cos, w, h, r


def xywhr_of_corners(x1, y1, x2, y2, x3, y3, x4, y4):
    angle = weft.atan2(y1 - y2, x2 - x1) * 180 / math.pi
    return x1, y1, ((x2 - x1) ** 2 + (y1 - y2) ** 2).sqrt(), ((x3 - x2) ** 2 + (y3 - y2) ** 2).sqrt(), angle


def corners_of_xywhr(x, y, w, h, r):
    cos, sin = axes(r)
    right, down = x + w * cos, y - w * sin  # the second corner
    return x, y, right, down, right + h * sin, down + h * cos, x + h * sin, y + h * cos


# Each format to the one that all of its kind are converted by, and back.
TO_CORNERS: dict[str, Any] = {
    "xywh": corners_of_xywh,
    "cxcywh": corners_of_cxcywh,
    "cxcywhr": xywhr_of_centre,
    "xyxyxyxy": xywhr_of_corners,
}
FROM_CORNERS: dict[str, Any] = {
    "xywh": xywh_of_corners,
    "cxcywh": cxcywh_of_corners,
    "cxcywhr": centre_of_xywhr,
    "xyxyxyxy": corners_of_xywhr,
}
