"""Boxes: tensors (N, 4) of corners x1, y1, x2, y2."""

from __future__ import annotations

import weft
from weft import Tensor

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
]


def box_area(boxes: Tensor) -> Tensor:
    """Return the areas of boxes.

    Parameters
    ----------
    boxes : Tensor, shape (N, 4)
        Corners x1, y1, x2, y2.

    Returns
    -------
    Tensor, shape (N,)

    Examples
    --------
    >>> box_area(weft.tensor([[0.0, 0.0, 2.0, 3.0]]))
    tensor([6.])
    """
    boxes = wide(boxes)
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def wide(boxes: Tensor) -> Tensor:
    """In a dtype whose products do not overflow."""
    if boxes.is_floating_point():
        return boxes if boxes.dtype in (weft.float32, weft.float64) else boxes.float()
    return boxes if boxes.dtype in (weft.int32, weft.int64) else boxes.int()


def _intersection(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """The areas of the intersections and unions of each box with each, (N, M)."""
    area1, area2 = box_area(boxes1), box_area(boxes2)
    low = weft.max(boxes1[:, None, :2], boxes2[:, :2])
    high = weft.min(boxes1[:, None, 2:], boxes2[:, 2:])
    size = wide(high - low).clamp(min=0)
    inter = size[:, :, 0] * size[:, :, 1]
    return inter, area1[:, None] + area2 - inter


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the intersection over the union of each box of the first with each of the second.

    Parameters
    ----------
    boxes1, boxes2 : Tensor, shapes (N, 4) and (M, 4)
        Corners x1, y1, x2, y2.

    Returns
    -------
    Tensor, shape (N, M)

    Examples
    --------
    >>> box_iou(weft.tensor([[0.0, 0.0, 2.0, 2.0]]), weft.tensor([[1.0, 0.0, 3.0, 2.0]]))
    tensor([[0.3333]])
    """
    inter, union = _intersection(boxes1, boxes2)
    return inter / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the IoU less the share of the hull that neither box covers.

    Parameters
    ----------
    boxes1, boxes2 : Tensor, shapes (N, 4) and (M, 4)
        Corners x1, y1, x2, y2.

    Returns
    -------
    Tensor, shape (N, M)
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
    low = weft.min(boxes1[:, None, :2], boxes2[:, :2])
    high = weft.max(boxes1[:, None, 2:], boxes2[:, 2:])
    size = wide(high - low).clamp(min=0)
    hull = size[:, :, 0] * size[:, :, 1]
    return inter / union - (hull - union) / hull


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Convert boxes between formats.

    Parameters
    ----------
    boxes : Tensor, shape (N, 4)
    in_fmt, out_fmt : "xyxy", "xywh" or "cxcywh"
        Corners; corner and size; centre and size.

    Returns
    -------
    Tensor, shape (N, 4)

    Raises
    ------
    ValueError
        For another format.

    Examples
    --------
    >>> box_convert(weft.tensor([[0.0, 0.0, 2.0, 4.0]]), "xyxy", "cxcywh")
    tensor([[1., 2., 2., 4.]])
    """
    allowed = ("xyxy", "xywh", "cxcywh")
    if in_fmt not in allowed or out_fmt not in allowed:
        raise ValueError(f"box_convert: formats are {', '.join(allowed)}; got {in_fmt!r} and {out_fmt!r}")
    if in_fmt == out_fmt:
        return boxes.clone()
    first, second, third, fourth = boxes.unbind(-1)
    if in_fmt == "xywh":
        first, second, third, fourth = first, second, first + third, second + fourth
    elif in_fmt == "cxcywh":
        first, second = first - 0.5 * third, second - 0.5 * fourth
        third, fourth = first + third, second + fourth
    if out_fmt == "xywh":
        third, fourth = third - first, fourth - second
    elif out_fmt == "cxcywh":
        width, height = third - first, fourth - second
        first, second, third, fourth = (first + third) / 2, (second + fourth) / 2, width, height
    return weft.stack((first, second, third, fourth), dim=-1)


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
    boxes : Tensor, shape (N, 4)
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
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return weft.where((width >= min_size) & (height >= min_size))[0]


def masks_to_boxes(masks: Tensor) -> Tensor:
    """Return the smallest boxes (N, 4) around what is not 0 in masks (N, H, W)."""
    boxes = weft.zeros((masks.shape[0], 4), device=masks.device, dtype=weft.float)
    for box, mask in zip(boxes, masks):
        y, x = weft.where(mask != 0)
        box[0], box[1], box[2], box[3] = x.min(), y.min(), x.max(), y.max()
    return boxes


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices of the boxes to keep, the best first: none overlaps a better one by more than the threshold.

    Parameters
    ----------
    boxes : Tensor, shape (N, 4)
        Corners x1, y1, x2, y2.
    scores : Tensor, shape (N,)
    iou_threshold : float
        An intersection over the union.

    Returns
    -------
    Tensor of int64

    Examples
    --------
    >>> boxes = weft.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 5.0], [5.0, 5.0, 6.0, 6.0]])
    >>> nms(boxes, weft.tensor([0.5, 0.9, 0.7]), 0.5)
    tensor([1, 2])
    """
    order = scores.sort(stable=True, descending=True)[1]
    overlaps = (box_iou(boxes[order], boxes[order]) > iou_threshold).tolist()
    gone = [False] * len(overlaps)
    kept = []
    for index, row in enumerate(overlaps):
        if not gone[index]:
            kept.append(index)
            gone = [left or here for left, here in zip(gone, row)]
    return order[weft.tensor(kept, dtype=weft.int64, device=boxes.device)]


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """`nms` within each class: boxes of different classes do not compete.

    Parameters
    ----------
    boxes : Tensor, shape (N, 4)
        Corners x1, y1, x2, y2.
    scores : Tensor, shape (N,)
    idxs : Tensor, shape (N,)
        Classes.
    iou_threshold : float
        An intersection over the union.

    Returns
    -------
    Tensor of int64

    Examples
    --------
    >>> boxes = weft.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 5.0], [0.0, 0.0, 4.0, 4.0]])
    >>> batched_nms(boxes, weft.tensor([0.5, 0.9, 0.7]), weft.tensor([0, 0, 1]), 0.5)
    tensor([1, 2])
    """
    if boxes.numel() == 0:
        return weft.empty((0,), dtype=weft.int64, device=boxes.device)
    apart = idxs.to(boxes) * (boxes.max() + 1)
    return nms(boxes + apart[:, None], scores, iou_threshold)
