"""Resized tensors."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.nn.functional import interpolate


def resize_tensor(img: Tensor, height: int, width: int, mode: str, antialias: bool) -> Tensor:
    """Return ``img`` (..., C, H, W) or (H, W) resampled in floats to (..., height, width), in its dtype."""
    shape = (*img.shape[:-2], height, width)
    if img.numel() == 0:
        return img.reshape(shape)
    values = img if img.dtype in (weft.float32, weft.float64) else img.to(weft.float32)
    flat = values.reshape(-1, 1, *img.shape[-2:]) if img.dim() < 3 else values.reshape(-1, *img.shape[-3:])
    between = {"align_corners": False, "antialias": antialias} if mode in ("bilinear", "bicubic") else {}
    found = interpolate(flat, (height, width), mode=mode, **between).reshape(shape)
    if values is img:
        return found
    if mode == "bicubic" and img.dtype is weft.uint8:
        found = found.clamp(0, 255)  # a cubic overshoots
    return (found if img.is_floating_point() else found.round()).to(img.dtype)
