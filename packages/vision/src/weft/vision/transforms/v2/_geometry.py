"""Size and position, chosen or random."""

from __future__ import annotations

from typing import Any

from weft.vision import transforms as first
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2._transform import RandomApplyTransform

__all__ = ["RandomHorizontalFlip", "RandomVerticalFlip"]


class RandomHorizontalFlip(RandomApplyTransform):
    """Mirror the sample left to right with probability ``p``."""

    _v1_transform_cls = first.RandomHorizontalFlip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Return one part of the sample, mirrored."""
        return self._call_kernel(F.horizontal_flip, inpt)


class RandomVerticalFlip(RandomApplyTransform):
    """Mirror the sample top to bottom with probability ``p``."""

    _v1_transform_cls = first.RandomVerticalFlip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Return one part of the sample, mirrored."""
        return self._call_kernel(F.vertical_flip, inpt)
