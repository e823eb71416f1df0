"""Tensors that know what they are: images, videos, masks, boxes and key points, which transforms treat each in its way.

An op on one of them returns a plain tensor, but for `clone`, `to`, `detach`, `requires_grad_` and `pin_memory`; `wrap`
gives a tensor the class of another, and `set_return_type` lets all ops keep it.
"""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.vision.tv_tensors._bounding_boxes import BoundingBoxes as BoundingBoxes
from weft.vision.tv_tensors._bounding_boxes import BoundingBoxFormat as BoundingBoxFormat
from weft.vision.tv_tensors._bounding_boxes import is_rotated_bounding_format as is_rotated_bounding_format
from weft.vision.tv_tensors._image import Image as Image
from weft.vision.tv_tensors._image import Mask as Mask
from weft.vision.tv_tensors._image import Video as Video
from weft.vision.tv_tensors._keypoints import KeyPoints as KeyPoints
from weft.vision.tv_tensors._tv_tensor import TVTensor as TVTensor
from weft.vision.tv_tensors._tv_tensor import set_return_type as set_return_type

__all__ = [
    "BoundingBoxFormat",
    "BoundingBoxes",
    "Image",
    "KeyPoints",
    "Mask",
    "TVTensor",
    "Video",
    "is_rotated_bounding_format",
    "set_return_type",
    "wrap",
]


def wrap(wrappee: Tensor, *, like: Any, **kwargs: Any) -> Any:
    """Return a tensor as one of the class of ``like``, sharing its memory.

    Parameters
    ----------
    wrappee : Tensor
    like : TVTensor
        Whose class and metadata the result has.
    **kwargs
        Metadata in place of that of ``like``: ``format``, ``canvas_size`` and ``clamping_mode`` of boxes,
        ``canvas_size`` of key points.

    Examples
    --------
    >>> boxes = BoundingBoxes([[0, 0, 4, 2]], format="XYXY", canvas_size=(8, 8))
    >>> wrap(boxes * 2, like=boxes, canvas_size=(16, 16)).canvas_size
    (16, 16)
    """
    by_class = getattr(type(like), "wrap", None)
    return wrappee.as_subclass(type(like)) if by_class is None else by_class(wrappee, like, **kwargs)
