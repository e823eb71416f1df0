"""Operations of detection: suppression of boxes and features of regions, beside torchvision's and NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rounds import Effort

from suites import is_weft
from suites.vision import vision_of

EFFORT = Effort(rounds=5, turns=1, seconds=0.05)
BOXES = 10_000


def boxes_of(size: float) -> tuple[Any, Any]:
    """Boxes in a picture of 1000 x 1000, of sides up to a size, and their scores."""
    random = np.random.default_rng(0)
    corners = random.random((BOXES, 2)) * 1000
    boxes = np.concatenate([corners, corners + random.random((BOXES, 2)) * size + 1], 1)
    return boxes.astype(np.float32), random.random(BOXES).astype(np.float32)


def suppression(lib: Any, size: float) -> Callable[[], Any]:
    """The best of boxes that overlap by more than a half."""
    boxes, scores = map(lib.from_numpy, boxes_of(size))
    nms = vision_of(lib).ops.nms
    return lambda: nms(boxes, scores, 0.5)


def suppression_in_numpy(lib: Any, size: float) -> Callable[[], Any]:
    """The same; in PyTorch's place, NumPy, one box after another against all that are left."""
    if is_weft(lib):
        return suppression(lib, size)
    (left, top, right, bottom), scores = boxes_of(size)[0].T, boxes_of(size)[1]
    areas = (right - left) * (bottom - top)

    def suppress() -> Any:
        order, kept = np.argsort(-scores, kind="stable"), []
        while order.size:
            best, rest = order[0], order[1:]
            kept.append(best)
            width = np.minimum(right[best], right[rest]) - np.maximum(left[best], left[rest])
            height = np.minimum(bottom[best], bottom[rest]) - np.maximum(top[best], top[rest])
            inter = np.maximum(width, 0) * np.maximum(height, 0)
            order = rest[inter / (areas[best] + areas[rest] - inter) <= 0.5]
        return np.array(kept)

    return suppress


def regions(lib: Any, backward: bool) -> Callable[[], Any]:
    """The features of 500 regions of a map of 256 channels, and the gradient of the map."""
    random = np.random.default_rng(0)
    features = lib.from_numpy(random.standard_normal((2, 256, 50, 68)).astype(np.float32)).requires_grad_(backward)
    corners = random.random((500, 2)) * 40
    rois = np.concatenate([random.integers(0, 2, (500, 1)), corners, corners + random.random((500, 2)) * 20 + 1], 1)
    boxes, align = lib.from_numpy(rois.astype(np.float32)), vision_of(lib).ops.roi_align

    def run() -> Any:
        pooled = align(features, boxes, 7, 1.0, 2, True)
        if backward:
            features.grad = None
            pooled.sum().backward()
        return pooled

    return run


CASES: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "suppression: 10,000 small boxes": lambda lib: suppression(lib, 30.0),
    "suppression: 10,000 boxes": lambda lib: suppression(lib, 300.0),
    "suppression: 10,000 boxes, beside NumPy": lambda lib: suppression_in_numpy(lib, 300.0),
    "suppression: 10,000 small boxes, beside NumPy": lambda lib: suppression_in_numpy(lib, 30.0),
    "RoI align: 500 regions of 256 channels": lambda lib: regions(lib, False),
    "RoI align: with backward": lambda lib: regions(lib, True),
}
