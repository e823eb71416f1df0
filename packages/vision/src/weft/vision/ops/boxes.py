"""Boxes: tensors (N, 4) of corners x1, y1, x2, y2."""

from __future__ import annotations

import math

import weft
from weft import Tensor
from weft.vision.ops._box_convert import ROTATED, UPRIGHT, box_convert
from weft.vision.ops.iou_losses import aspect_angle
from weft.vision.ops.rotated_boxes import rotated_iou
from weft.vision.ops.suppression import _batched_nms_coordinate_trick as _batched_nms_coordinate_trick
from weft.vision.ops.suppression import _batched_nms_vanilla as _batched_nms_vanilla
from weft.vision.ops.suppression import batched_nms, nms

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
]


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """Return the areas of boxes.

    Parameters
    ----------
    boxes : Tensor, shape (..., 4)
    fmt : "xyxy", "xywh" or "cxcywh"
        Corners; corner and size; centre and size.

    Returns
    -------
    Tensor, shape (...)

    Raises
    ------
    ValueError
        For another format.

    Examples
    --------
    >>> box_area(weft.tensor([[0.0, 0.0, 2.0, 3.0]]))
    tensor([6.])
    """
    if fmt not in UPRIGHT:
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    boxes = wide(boxes)
    if fmt == "xyxy":
        return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return boxes[..., 2] * boxes[..., 3]


def wide(boxes: Tensor) -> Tensor:
    """In a dtype whose products do not overflow."""
    if boxes.is_floating_point():
        return boxes if boxes.dtype in (weft.float32, weft.float64) else boxes.float()
    return boxes if boxes.dtype in (weft.int32, weft.int64) else boxes.int()


def corners_of(boxes: Tensor, fmt: str) -> tuple[Tensor, Tensor]:
    """The first and the second corners of boxes, of the format's own dtype."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if fmt == "xyxy":
        return first, second
    if fmt == "xywh":
        return first, first + second
    return first - second / 2, first + second / 2


def _intersection(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> tuple[Tensor, Tensor]:
    """The areas of the intersections and unions of each box with each, (..., N, M)."""
    area1, area2 = box_area(boxes1, fmt), box_area(boxes2, fmt)
    low1, high1 = corners_of(boxes1[..., :, None, :], fmt)
    low2, high2 = corners_of(boxes2[..., None, :, :], fmt)
    size = wide(weft.min(high1, high2) - weft.max(low1, low2)).clamp(min=0)
    inter = size[..., 0] * size[..., 1]
    return inter, area1[..., :, None] + area2[..., None, :] - inter


def _hull(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """The sides of the smallest box around each box with each, (..., N, M, 2)."""
    low = weft.min(boxes1[..., :, None, :2], boxes2[..., None, :, :2])
    high = weft.max(boxes1[..., :, None, 2:], boxes2[..., None, :, 2:])
    return wide(high - low).clamp(min=0)


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """Return the intersection over the union of each box of the first with each of the second.

    Parameters
    ----------
    boxes1, boxes2 : Tensor, shapes (..., N, K) and (..., M, K)
    fmt : str, default "xyxy"
        A format of `box_convert`. Rotated boxes are (N, 5) or (N, 8), and have no gradient.

    Returns
    -------
    Tensor, shape (..., N, M)

    Raises
    ------
    ValueError
        For another format.

    Examples
    --------
    >>> box_iou(weft.tensor([[0.0, 0.0, 2.0, 2.0]]), weft.tensor([[1.0, 0.0, 3.0, 2.0]]))
    tensor([[0.3333]])
    >>> turned = weft.tensor([[1.0, 1.0, 2.0, 2.0, 45.0]])
    >>> box_iou(turned, weft.tensor([[1.0, 1.0, 2.0, 2.0, 0.0]]), fmt="cxcywhr")
    tensor([[0.7071]])
    """
    if fmt in ROTATED:
        return rotated_iou(box_convert(boxes1, fmt, "cxcywhr"), box_convert(boxes2, fmt, "cxcywhr"))
    if fmt not in UPRIGHT:
        raise ValueError(f"box_iou: Unsupported format {fmt!r}; formats are {', '.join(UPRIGHT + ROTATED)}")
    inter, union = _intersection(boxes1, boxes2, fmt)
    return inter / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the IoU less the share of the hull that neither box covers.

    Parameters
    ----------
    boxes1, boxes2 : Tensor, shapes (..., N, 4) and (..., M, 4)
        Corners x1, y1, x2, y2.

    Returns
    -------
    Tensor, shape (..., N, M)
        From -1 to 1.

    References
    ----------
    arXiv:1902.09630.

    Examples
    --------
    >>> left, right = weft.tensor([[0.0, 0.0, 1.0, 1.0]]), weft.tensor([[3.0, 0.0, 4.0, 1.0]])
    >>> generalized_box_iou(left, right)  # no overlap, and half of the hull is empty
    tensor([[-0.5000]])
    """
    inter, union = _intersection(boxes1, boxes2)
    width, height = _hull(boxes1, boxes2).unbind(-1)
    hull = width * height
    return inter / union - (hull - union) / hull


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Return the IoU less the squared distance of the centres in squared diagonals of the hull.

    Parameters
    ----------
    boxes1, boxes2 : Tensor, shapes (..., N, 4) and (..., M, 4)
        Corners x1, y1, x2, y2.
    eps : float
        Added to the squared diagonal.

    Returns
    -------
    Tensor, shape (..., N, M)
        From -1 to 1.

    References
    ----------
    arXiv:1911.08287.

    Examples
    --------
    >>> left, right = weft.tensor([[0.0, 0.0, 1.0, 1.0]]), weft.tensor([[3.0, 0.0, 4.0, 1.0]])
    >>> distance_box_iou(left, right)  # 3 apart in a hull of 4 by 1
    tensor([[-0.5294]])
    """
    boxes1, boxes2 = wide(boxes1), wide(boxes2)
    iou = box_iou(boxes1, boxes2)
    diagonal = _hull(boxes1, boxes2).square().sum(-1) + eps
    centres = [(boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (boxes1, boxes2)]
    distance = (centres[0][..., :, None, :] - centres[1][..., None, :, :]).square().sum(-1)
    return iou - distance / diagonal


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Return `distance_box_iou` less what the difference of the aspect ratios costs; its weight has no gradient.

    Parameters
    ----------
    boxes1, boxes2 : Tensor, shapes (..., N, 4) and (..., M, 4)
        Corners x1, y1, x2, y2.
    eps : float
        Added to what is divided by.

    Returns
    -------
    Tensor, shape (..., N, M)

    References
    ----------
    arXiv:1911.08287.

    Examples
    --------
    >>> level, tall = weft.tensor([[0.0, 1.0, 4.0, 3.0]]), weft.tensor([[1.0, 0.0, 3.0, 4.0]])
    >>> complete_box_iou(level, tall)  # one centre: IoU 1/3, and ratios 2 and 1/2
    tensor([[0.2996]])
    """
    boxes1, boxes2 = wide(boxes1), wide(boxes2)
    iou = box_iou(boxes1, boxes2)
    difference = aspect_angle(boxes1)[..., :, None] - aspect_angle(boxes2)[..., None, :]
    ratio = 4 / math.pi**2 * difference.square()
    with weft.no_grad():
        alpha = ratio / (1 - iou + ratio + eps)
    return distance_box_iou(boxes1, boxes2, eps) - alpha * ratio


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Return the boxes without what is outside of a picture.

    Parameters
    ----------
    boxes : Tensor, shape (..., 4)
        Corners x1, y1, x2, y2.
    size : (int, int)
        Height and width.

    Examples
    --------
    >>> clip_boxes_to_image(weft.tensor([[-1.0, 2.0, 9.0, 5.0]]), (4, 6))
    tensor([[0., 2., 6., 4.]])
    """
    height, width = size
    x = boxes[..., 0::2].clamp(min=0, max=width)
    y = boxes[..., 1::2].clamp(min=0, max=height)
    return weft.stack((x, y), dim=boxes.dim()).reshape(boxes.shape)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Return the indices of the boxes that are large enough.

    Parameters
    ----------
    boxes : Tensor, shape (..., 4)
        Corners x1, y1, x2, y2.
    min_size : float
        What both sides have at least.

    Returns
    -------
    Tensor of int64

    Examples
    --------
    >>> remove_small_boxes(weft.tensor([[0.0, 0.0, 5.0, 1.0], [0.0, 0.0, 5.0, 5.0]]), 2.0)
    tensor([1])
    """
    width, height = (boxes[..., 2:] - boxes[..., :2]).unbind(-1)
    return weft.where((width >= min_size) & (height >= min_size))[0]


def masks_to_boxes(masks: Tensor) -> Tensor:
    """Return the smallest boxes around what is not 0 in masks.

    Parameters
    ----------
    masks : Tensor, shape (N, H, W)

    Returns
    -------
    Tensor of float32, shape (N, 4)
        The first and last columns and rows, x1, y1, x2, y2; 0 for an empty mask.

    Examples
    --------
    >>> masks_to_boxes(weft.tensor([[[0, 1, 1], [0, 1, 0]]]))
    tensor([[1., 0., 2., 1.]])
    """
    if masks.numel() == 0:
        return weft.zeros((0, 4), device=masks.device)
    bounds = []
    for lines in (masks.bool().any(1), masks.bool().any(2)):
        size = lines.shape[1]
        places = weft.arange(size, device=masks.device)
        bounds.append((weft.where(lines, places, size).amin(1), weft.where(lines, places, -1).amax(1)))
    (left, right), (top, bottom) = bounds
    return (weft.stack((left, top, right, bottom), 1) * (right >= 0)[:, None]).float()
