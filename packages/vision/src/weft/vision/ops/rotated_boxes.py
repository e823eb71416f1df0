"""Overlaps of rotated boxes.

The intersection of two boxes is convex. Its corners are among the corners of each box that lie in the other one and the
crossings of their edges: in the order of their angles about a point between them, they give the area by the formula of
the polygon (Green's theorem).
"""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.library.declare import op

__all__: list[str] = []

PAIRS = 1 << 14  # that are compared at once: some 20 MB
TOLERANCE = 1e-6  # of a side: corners on the other box's edge are in it


@op(
    tensors="boxes1 boxes2",
    dtypes="float",
    result="same",
    compute_dtype="float32",
    gradient=None,
    namespace="vision",
    name="box_iou_rotated",
)
def rotated_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the intersection over the union of each rotated box with each.

    Parameters
    ----------
    boxes1, boxes2 : Tensor, shapes (..., N, 5) and (..., M, 5)
        Centre, width, height, and angle in degrees counterclockwise.

    Returns
    -------
    Tensor, shape (..., N, M)

    Raises
    ------
    RuntimeError
        For another number of columns.
    """
    for boxes in (boxes1, boxes2):
        if boxes.ndim < 2 or boxes.shape[-1] != 5:
            raise RuntimeError(f"box_iou: rotated boxes must be (..., N, 5), got {tuple(boxes.shape)}")
    return rotated_iou.op(boxes1, boxes2)


@rotated_iou.kernel
def _(xp, boxes1, boxes2):
    rows = max(PAIRS // max(boxes2[..., 0].size, 1), 1)
    starts = range(0, max(boxes1.shape[-2], 1), rows)
    parts = [overlaps(xp, boxes1[..., start : start + rows, :], boxes2) for start in starts]
    return xp.concatenate(parts, axis=-2).astype(boxes1.dtype)


def overlaps(xp: Any, boxes1: Any, boxes2: Any) -> Any:
    """The IoU of each box with each, in float64."""
    first, second = boxes1[..., :, None, :].astype(xp.float64), boxes2[..., None, :, :].astype(xp.float64)
    areas = first[..., 2] * first[..., 3], second[..., 2] * second[..., 3]
    origin = (first[..., :2] + second[..., :2]) / 2  # numbers near 0 are exact
    polygons = corners(xp, first, origin), corners(xp, second, origin)
    inter = area(xp, *candidates(xp, *polygons))
    union = areas[0] + areas[1] - inter
    empty = (areas[0] < 1e-14) | (areas[1] < 1e-14)
    return xp.where(empty, 0.0, inter / xp.where(empty, 1.0, union))


def corners(xp: Any, boxes: Any, origin: Any) -> Any:
    """The corners of boxes in their order, (..., 4, 2)."""
    angle = boxes[..., 4] * (xp.pi / 180)
    cos, sin = xp.cos(angle) / 2, xp.sin(angle) / 2
    along = xp.stack([boxes[..., 2] * cos, -boxes[..., 2] * sin], axis=-1)
    across = xp.stack([boxes[..., 3] * sin, boxes[..., 3] * cos], axis=-1)
    centre = boxes[..., :2] - origin
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return xp.stack([centre + i * along + j * across for i, j in signs], axis=-2)


def cross(a: Any, b: Any) -> Any:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def candidates(xp: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """Points that may be corners of the intersection, (..., 24, 2), and which of them are, or lie on its border."""
    first, second = xp.broadcast_arrays(first, second)
    edges = [xp.roll(polygon, -1, axis=-2) - polygon for polygon in (first, second)]
    start, edge, other = first[..., :, None, :], edges[0][..., :, None, :], edges[1][..., None, :, :]
    apart = second[..., None, :, :] - start
    slope = cross(edge, other)
    parallel = xp.absolute(slope) < 1e-14
    slope = xp.where(parallel, 1.0, slope)
    at, at_other = cross(apart, other) / slope, cross(apart, edge) / slope
    crossed = ~parallel & (at >= 0) & (at <= 1) & (at_other >= 0) & (at_other <= 1)
    shape = first.shape[:-2]
    crossings = (start + at[..., None] * edge).reshape(*shape, 16, 2)
    points = xp.concatenate([crossings, first, second], axis=-2)
    valid = [crossed.reshape(*shape, 16), within(xp, first, second), within(xp, second, first)]
    return points, xp.concatenate(valid, axis=-1)


def within(xp: Any, points: Any, polygon: Any) -> Any:
    """Whether each of the points is in a box, or on its border."""
    corner = polygon[..., :1, :]
    inside = True
    for side in (polygon[..., 1:2, :] - corner, polygon[..., 3:4, :] - corner):
        length = (side * side).sum(-1)
        share = ((points - corner) * side).sum(-1)
        inside = inside & (share >= -TOLERANCE * length) & (share <= (1 + TOLERANCE) * length)
    return inside


def area(xp: Any, points: Any, valid: Any) -> Any:
    """The area of the convex polygon of the points that are valid."""
    chosen = xp.argmax(valid, axis=-1)[..., None, None]
    points = xp.where(valid[..., None], points, xp.take_along_axis(points, chosen, axis=-2))  # one more often
    points = points - points.mean(axis=-2, keepdims=True)
    order = xp.argsort(xp.arctan2(points[..., 1], points[..., 0]), axis=-1)
    points = xp.take_along_axis(points, order[..., None], axis=-2)
    twice = cross(points, xp.roll(points, -1, axis=-2)).sum(-1)
    return xp.where(valid.any(-1), xp.absolute(twice) / 2, 0.0)
