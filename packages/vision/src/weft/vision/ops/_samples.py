"""Samples of the operations of vision, for the suite of every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import weft
from weft.testing import call
from weft.testing import samples as samples_of

__all__: list[str] = []

Calls = Iterator[tuple[tuple[Any, ...], dict[str, Any]]]


def samples(*names: str) -> Callable[[Any], Any]:
    """Declare the samples of functions of `weft.vision.ops`, which know no complex numbers."""

    def declare(generator: Callable[[Any], Calls]) -> Any:
        return samples_of(*[f"vision.ops.{name}" for name in names])(
            lambda make: () if make.dtype.is_complex else generator(make)
        )

    return declare


def boxes_of(make: Any, count: int) -> Any:
    """Boxes by corners, in a picture of 6 by 6."""
    corners = make(count, 2, low=0, high=3)
    return weft.cat([corners, corners + make(count, 2, low=1, high=3)], 1)


@samples("box_area")
def _(make: Any) -> Calls:
    yield from (call(boxes_of(make, 4)), call(make(0, 4)))


@samples("box_iou", "complete_box_iou", "distance_box_iou", "generalized_box_iou")
def _(make: Any) -> Calls:
    yield from (call(boxes_of(make, 4), boxes_of(make, 3)), call(make(0, 4), boxes_of(make, 3)))


@samples("complete_box_iou_loss", "distance_box_iou_loss", "generalized_box_iou_loss")
def _(make: Any) -> Calls:
    yield from (call(boxes_of(make, 4), boxes_of(make, 4)), call(boxes_of(make, 2), boxes_of(make, 2), "mean"))
    yield call(make(0, 4), make(0, 4), reduction="sum")


@samples("box_convert")
def _(make: Any) -> Calls:
    for there in ("xywh", "cxcywh"):
        yield from (call(boxes_of(make, 4), "xyxy", there), call(boxes_of(make, 4), there, "xyxy"))


@samples("clip_boxes_to_image")
def _(make: Any) -> Calls:
    yield call(make(4, 4, low=-2, high=8), (4, 6))


@samples("remove_small_boxes")
def _(make: Any) -> Calls:
    yield call(boxes_of(make, 5), 2.0)


@samples("masks_to_boxes")
def _(make: Any) -> Calls:
    masks = weft.zeros(2, 5, 6).to(make.dtype)
    masks[0, 1:3, 2:5] = masks[1, 4, 0] = 1
    yield call(masks)


@samples("nms")
def _(make: Any) -> Calls:
    yield from (call(boxes_of(make, 6), make.distinct(6), 0.3), call(make(0, 4), make(0), 0.5))


@samples("batched_nms")
def _(make: Any) -> Calls:
    yield call(boxes_of(make, 6), make.distinct(6), make.index(6, below=2), 0.3)


@samples("sigmoid_focal_loss")
def _(make: Any) -> Calls:
    x, target = make(3, 4), make(3, 4, low=0, high=1)
    yield from (call(x, target), call(x, target, -1, 1.5, "mean"), call(x, target, reduction="sum"))


@samples("roi_align")
def _(make: Any) -> Calls:
    x, boxes = make(2, 3, 6, 6), boxes_of(make, 3)
    yield from (call(x, [boxes, boxes[:1]], 2, 1.0, 2), call(x, [boxes[:1], boxes], (2, 3), 0.5, 2, True))
    yield call(x, [boxes, boxes[:1]], 2)


@samples("drop_block2d")
def _(make: Any) -> Calls:
    x = make(2, 2, 5, 5)
    yield from (call(x, 0.5, 3, training=False), call(x, 0.0, 3), call(make(1, 2, 3, 3), 1.0, 3))


@samples("drop_block3d")
def _(make: Any) -> Calls:
    yield from (call(make(2, 1, 4, 5, 4), 0.5, 3, training=False), call(make(1, 2, 3, 3, 3), 1.0, 5))


@samples("roi_pool")
def _(make: Any) -> Calls:
    x, boxes = make.distinct(2, 3, 6, 6), boxes_of(make, 3)
    yield from (call(x, [boxes, boxes[:1]], 2), call(x, [boxes[:1], boxes], (2, 3), 0.5))


@samples("ps_roi_align", "ps_roi_pool")
def _(make: Any) -> Calls:
    x, boxes = make(2, 12, 6, 6), boxes_of(make, 3)
    yield from (call(x, [boxes, boxes[:1]], 2), call(x, [boxes[:1], boxes], (2, 3), 0.5))


@samples("deform_conv2d")
def _(make: Any) -> Calls:
    x, weight, bias = make(2, 4, 5, 4), make(6, 2, 3, 2), make(6)
    offset, mask = make(2, 24, 3, 3, low=-1.4, high=1.4), make(2, 12, 3, 3)
    yield call(x, offset, weight, bias, mask=mask)
    yield call(x, make(2, 12, 3, 4, low=-1.4, high=1.4), weight, None, (2, 1), 1, (1, 2))


@samples("stochastic_depth")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4), 0.5, "row", False), call(make(3, 4), 0.0, "batch"), call(make(3, 4), 1.0, "row"))
