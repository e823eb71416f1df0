"""Non-maximum suppression: of boxes that overlap, the best."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.compiler import is_exporting
from weft.library.declare import op
from weft.library.numerics import is_numpy

__all__ = ["batched_nms", "nms"]

TOGETHER = 4000  # numbers of boxes' coordinates up to which classes are moved apart, instead of one after another
TOGETHER_ON_DEVICE = 100_000  # where each class costs a wait


@op(
    tensors="boxes scores",
    dtypes="float",
    compute_dtype="float32",
    autocast="float32",
    gradient=None,
    namespace="vision",
)
def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices of the boxes to keep, the best first: none overlaps a better one by more than the threshold.

    Parameters
    ----------
    boxes : Tensor, shape (N, 4)
        Corners x1, y1, x2, y2.
    scores : Tensor, shape (N,)
        Of equal scores the first is the better; NaN is the best.
    iou_threshold : float
        An intersection over the union.

    Returns
    -------
    Tensor of int64

    Raises
    ------
    RuntimeError
        If shapes or dtypes do not fit together.

    Examples
    --------
    >>> boxes = weft.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 5.0], [5.0, 5.0, 6.0, 6.0]])
    >>> nms(boxes, weft.tensor([0.5, 0.9, 0.7]), 0.5)
    tensor([1, 2])
    """
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"nms: boxes must be Tensor[N, 4], got shape {tuple(boxes.shape)}")
    if scores.ndim != 1 or scores.shape[0] != boxes.shape[0]:
        raise RuntimeError(f"nms: scores must be Tensor[{boxes.shape[0]}], one for each box, got {tuple(scores.shape)}")
    if boxes.dtype is not scores.dtype:
        raise RuntimeError(
            f"nms: dets should have the same type as scores; got boxes of {boxes.dtype} and scores of {scores.dtype}"
        )
    if boxes.is_quantized:
        boxes, scores = boxes.dequantize(), scores.dequantize()
    return nms.op(boxes, scores, float(iou_threshold))


@nms.kernel
def _(xp, boxes, scores, iou_threshold):
    order = boxes.shape[0] - 1 - xp.argsort(scores[::-1], kind="stable")[::-1]
    boxes = boxes[order]
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    threshold = rounded_down(xp, boxes.dtype, iou_threshold)
    size = 64 if is_numpy(xp) else 1024  # boxes decided together; each time a device is waited for
    kept, left = [], xp.arange(len(order))
    while len(left):
        block, left = left[:size], left[size:]
        block = block[best_of(xp, overlap(xp, boxes, areas, block, block) > threshold)]
        kept.append(block)
        free = [~(overlap(xp, boxes, areas, block, part) > threshold).any(0) for part in parts(left)]
        left = left[xp.concatenate(free)] if free else left
    return order[xp.concatenate(kept)] if kept else order


@nms.onnx
def _(graph, boxes, scores, iou_threshold):
    boxes, scores = graph.Unsqueeze(boxes, graph.sizes([0])), graph.Unsqueeze(scores, graph.sizes([0, 1]))
    most = graph.shape_of(boxes, 1, 2)
    found = graph.NonMaxSuppression(boxes, scores, most, graph.constant(float(iou_threshold), dtype=weft.float32))
    return graph.Gather(found, graph.scalar(2), axis=1)  # of (batch, class, box) the box


def rounded_down(xp: Any, dtype: Any, threshold: float) -> Any:
    """A number of a dtype for which ``x > it`` says the same of each x as ``x > threshold`` in double precision."""
    near = dtype.type(threshold)
    return xp.nextafter(near, dtype.type(-xp.inf)) if float(near) > threshold else near


def overlap(xp: Any, boxes: Any, areas: Any, first: Any, second: Any) -> Any:
    """The IoU of boxes with boxes, (first, second); NaN where a number is, or both are empty."""
    left, top, right, bottom = boxes[first].T[..., None]
    left2, top2, right2, bottom2 = boxes[second].T
    width = xp.minimum(right, right2) - xp.maximum(left, left2)
    height = xp.minimum(bottom, bottom2) - xp.maximum(top, top2)
    inter = xp.maximum(width, 0) * xp.maximum(height, 0)
    return inter / (areas[first][:, None] + areas[second] - inter)


def best_of(xp: Any, overlaps: Any) -> Any:
    """Which of the boxes, the best first, overlap none that is kept."""
    rows = overlaps.tolist()
    gone, kept = [False] * len(rows), []
    for index, row in enumerate(rows):
        if not gone[index]:
            kept.append(index)
            gone = [left or here for left, here in zip(gone, row)]
    return xp.asarray(kept)


def parts(indices: Any) -> list[Any]:
    """So many boxes that their overlaps with a block stay in the cache."""
    return [indices[start : start + 4096] for start in range(0, len(indices), 4096)]


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
    together = TOGETHER if boxes.device.type == "cpu" else TOGETHER_ON_DEVICE
    if is_exporting() or boxes.numel() <= together:  # a graph has one way for any number of boxes
        return _batched_nms_coordinate_trick(boxes, scores, idxs, iou_threshold)
    return _batched_nms_vanilla(boxes, scores, idxs, iou_threshold)


def _batched_nms_coordinate_trick(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """All classes at once, moved so far apart that none overlaps another."""
    if is_exporting():
        largest = weft.cat([boxes.flatten(), boxes.new_zeros(1)]).max()
    elif boxes.numel() == 0:
        return weft.empty((0,), dtype=weft.int64, device=boxes.device)
    else:
        largest = boxes.max()
    apart = idxs.to(boxes) * (largest + 1)
    return nms(boxes + apart[:, None], scores, iou_threshold)


def _batched_nms_vanilla(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """One class after another."""
    kept = weft.zeros_like(scores, dtype=weft.bool)
    for each in idxs.unique():
        index = weft.where(idxs == each)[0]
        kept[index[nms(boxes[index], scores[index], iou_threshold)]] = True
    index = weft.where(kept)[0]
    return index[scores[index].sort(descending=True)[1]]
