"""Frames of videos."""

from __future__ import annotations

from typing import Any

from weft.vision import tv_tensors
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2._transform import Transform
from weft.vision.transforms.v2.functional._utils import is_pure_tensor

__all__ = ["UniformTemporalSubsample"]


class UniformTemporalSubsample(Transform):
    """Take ``num_samples`` frames (..., T, C, H, W) at equal distances, the first and the last among them."""

    _transformed_types = (is_pure_tensor, tv_tensors.Video)

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.uniform_temporal_subsample, inpt, num_samples=self.num_samples)
