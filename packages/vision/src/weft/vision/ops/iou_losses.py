"""Losses of pairs of boxes: 1 less a generalized intersection over union, which has a gradient where none overlap."""

from __future__ import annotations

import math

import weft
from weft import Tensor

__all__ = ["complete_box_iou_loss", "distance_box_iou_loss", "generalized_box_iou_loss"]


def generalized_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 less the IoU, plus the share of the hull that neither box covers.

    Parameters
    ----------
    boxes1, boxes2 : Tensor, shape (N, 4) or (4,)
        Corners x1, y1, x2, y2; the boxes of a row are compared.
    reduction : "none", "mean" or "sum"
        The mean of no boxes is 0.
    eps : float
        Added to areas that are divided by.

    Returns
    -------
    Tensor, shape (N,), or a number

    Raises
    ------
    ValueError
        For another reduction.

    References
    ----------
    arXiv:1902.09630.

    Examples
    --------
    >>> left, right = weft.tensor([[0.0, 0.0, 1.0, 1.0]]), weft.tensor([[3.0, 0.0, 4.0, 1.0]])
    >>> generalized_box_iou_loss(left, right)
    tensor([1.5000])
    """
    boxes1, boxes2 = in_floats(boxes1), in_floats(boxes2)
    overlap, union = intersection_and_union(boxes1, boxes2)
    width, height = hull(boxes1, boxes2)
    area = width * height
    return reduced(1 - (overlap / (union + eps) - (area - union) / (area + eps)), reduction)


def distance_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 less the IoU, plus the squared distance of the centres in squared diagonals of the hull.

    Parameters
    ----------
    boxes1, boxes2, reduction, eps
        See `generalized_box_iou_loss`, also for the result and errors.

    References
    ----------
    arXiv:1911.08287, equation 7.

    Examples
    --------
    >>> left, right = weft.tensor([[0.0, 0.0, 1.0, 1.0]]), weft.tensor([[3.0, 0.0, 4.0, 1.0]])
    >>> distance_box_iou_loss(left, right)  # 3 apart in a hull of 4 by 1
    tensor([1.5294])
    """
    loss, _ = distance_loss(in_floats(boxes1), in_floats(boxes2), eps)
    return reduced(loss, reduction)


def complete_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """`distance_box_iou_loss`, plus what the difference of the aspect ratios costs.

    The difference's weight has no gradient.

    Parameters
    ----------
    boxes1, boxes2, reduction, eps
        See `generalized_box_iou_loss`, also for the result and errors.

    References
    ----------
    arXiv:1911.08287, equations 8 to 11.

    Examples
    --------
    >>> wide, high = weft.tensor([[0.0, 1.0, 4.0, 3.0]]), weft.tensor([[1.0, 0.0, 3.0, 4.0]])
    >>> complete_box_iou_loss(wide, high)  # one centre: IoU 1/3, and ratios 2 and 1/2
    tensor([0.7004])
    """
    boxes1, boxes2 = in_floats(boxes1), in_floats(boxes2)
    loss, iou = distance_loss(boxes1, boxes2, 1e-7)  # torchvision's own eps, whatever is asked for
    difference = aspect_angle(boxes2) - aspect_angle(boxes1)
    ratio = 4 / math.pi**2 * difference.square()
    with weft.no_grad():
        alpha = ratio / (1 - iou + ratio + eps)
    return reduced(loss + alpha * ratio, reduction)


def in_floats(boxes: Tensor) -> Tensor:
    """Boxes of a floating dtype of at least 32 bits."""
    return boxes if boxes.dtype in (weft.float32, weft.float64) else boxes.float()


def intersection_and_union(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """The areas of the intersection and the union of the boxes of each row; boxes that do not overlap have 0."""
    left, top = weft.maximum(boxes1[..., :2], boxes2[..., :2]).unbind(-1)
    right, bottom = weft.minimum(boxes1[..., 2:], boxes2[..., 2:]).unbind(-1)
    overlap = weft.where((bottom > top) & (right > left), (right - left) * (bottom - top), 0.0)
    areas = [(boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1]) for boxes in (boxes1, boxes2)]
    return overlap, areas[0] + areas[1] - overlap


def hull(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, ...]:
    """Width and height of the smallest box around the boxes of each row."""
    sides = weft.maximum(boxes1[..., 2:], boxes2[..., 2:]) - weft.minimum(boxes1[..., :2], boxes2[..., :2])
    return sides.unbind(-1)


def distance_loss(boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """`distance_box_iou_loss` of each row, and the IoU."""
    overlap, union = intersection_and_union(boxes1, boxes2)
    iou = overlap / (union + eps)
    width, height = hull(boxes1, boxes2)
    diagonal = width.square() + height.square() + eps
    centres = [(boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (boxes1, boxes2)]
    return 1 - iou + (centres[0] - centres[1]).square().sum(-1) / diagonal, iou


def aspect_angle(boxes: Tensor) -> Tensor:
    """The angle of each box's diagonal with the vertical."""
    return ((boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1])).atan()


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The loss of each row, their mean or their sum."""
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean() if loss.numel() else 0.0 * loss.sum()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(
        f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
    )
