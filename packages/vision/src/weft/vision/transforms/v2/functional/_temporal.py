"""Frames of videos."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms.v2.functional._utils import functional, kernel

__all__ = ["uniform_temporal_subsample", "uniform_temporal_subsample_video"]


@functional
def uniform_temporal_subsample(inpt: Any, num_samples: int) -> Any:
    """Take ``num_samples`` frames at equal distances, the first and the last among them."""


@kernel(uniform_temporal_subsample, Tensor, tv_tensors.Video)
def uniform_temporal_subsample_video(video: Tensor, num_samples: int) -> Tensor:
    """Return (..., num_samples, C, H, W) of (..., T, C, H, W); frames repeat where T is less."""
    places = weft.linspace(0, video.shape[-4] - 1, num_samples, device=video.device).long()
    return video.index_select(-4, places)
