"""Formats of boxes; boxes and points kept inside the picture."""

from __future__ import annotations

from typing import Any

from weft.vision import tv_tensors
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2._transform import Transform

__all__ = ["ClampBoundingBoxes", "ClampKeyPoints", "ConvertBoundingBoxFormat", "SetClampingMode"]


class ConvertBoundingBoxFormat(Transform):
    """Convert boxes to another format.

    Parameters
    ----------
    format : BoundingBoxFormat or str
    """

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, format: str | tv_tensors.BoundingBoxFormat) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Return boxes in the format."""
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """Cut boxes at the border of the picture.

    Parameters
    ----------
    clamping_mode : {"auto", "soft", "hard", None}, default "auto"
        How: as of `functional.clamp_bounding_boxes`.
    """

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Return boxes, cut."""
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Move points that are outside of the picture to its nearest pixel."""

    _transformed_types = (tv_tensors.KeyPoints,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Return points inside of the picture."""
        return F.clamp_keypoints(inpt)


class SetClampingMode(Transform):
    """Choose what the transforms that follow do with boxes that reach out of the picture.

    Parameters
    ----------
    clamping_mode : {"soft", "hard", None}
        As of `weft.vision.tv_tensors.BoundingBoxes`.

    Raises
    ------
    ValueError
        If it is none of these.
    """

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(f"clamping_mode must be soft, hard or None, got {clamping_mode}")
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Return boxes with the mode."""
        boxes = inpt.clone()
        boxes.clamping_mode = self.clamping_mode
        return boxes
