"""Resized tensors: where each new pixel takes its value from.

Resizing is separable, so it is two matrix products, ``rows @ picture @ columns.T``: the gradient, batches and all
devices come with the product. With ``antialias`` the filters widen with the scale, as Pillow's do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from weft import Tensor

Array = np.ndarray[Any, Any]


def resize_weights(before: int, after: int, mode: str, antialias: bool) -> Array:
    """Return the (after, before) matrix that resamples one axis; its rows sum to 1."""
    scale = before / after
    if mode in ("nearest", "nearest-exact"):
        offset = 0.5 if mode == "nearest-exact" else 0.0
        sources = np.minimum(np.floor((np.arange(after) + offset) * scale).astype(np.int64), before - 1)
        selection: Array = np.eye(before)[sources]
        return selection
    widening = max(scale, 1.0) if antialias else 1.0
    kernel, support = (_triangle, 1) if mode == "bilinear" else (_cubic(-0.5 if antialias else -0.75), 2)
    centers = (np.arange(after)[:, None] + 0.5) * scale - 0.5
    if antialias:
        weights: Array = kernel((np.arange(before) - centers) / widening)  # outside of the picture there is nothing
        weights /= weights.sum(axis=1, keepdims=True)
        return weights
    first = np.floor(centers).astype(np.int64) - support + 1
    taps = first + np.arange(2 * support)  # (after, taps); those outside repeat the border
    weights = np.zeros((after, before))
    rows = np.broadcast_to(np.arange(after)[:, None], taps.shape)
    np.add.at(weights, (rows, taps.clip(0, before - 1)), kernel(taps - centers))
    return weights


def _triangle(x: Array) -> Array:
    return np.asarray(np.maximum(1 - np.abs(x), 0))


def _cubic(a: float) -> Callable[[Array], Array]:
    """Return Keys' cubic convolution kernel (IEEE ASSP 29, 1981, equation 15) with parameter ``a``."""

    def kernel(x: Array) -> Array:
        x = np.abs(x)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x < 1, near, np.where(x < 2, far, 0.0))

    return kernel


def resize_tensor(img: Tensor, height: int, width: int, mode: str, antialias: bool) -> Tensor:
    """Return ``img`` (..., H, W) resampled to (..., height, width), in its dtype."""
    if mode in ("nearest", "nearest-exact"):
        rows = resize_weights(img.shape[-2], height, mode, antialias).argmax(axis=1)
        columns = resize_weights(img.shape[-1], width, mode, antialias).argmax(axis=1)
        return img[..., weft.from_numpy(rows)[:, None], weft.from_numpy(columns)]
    values = img if img.is_floating_point() else img.to(weft.float32)
    down = weft.from_numpy(resize_weights(img.shape[-2], height, mode, antialias)).to(values)
    right = weft.from_numpy(resize_weights(img.shape[-1], width, mode, antialias)).to(values)
    return _as_dtype(down @ values @ right.T, img, mode)


def _as_dtype(values: Tensor, img: Tensor, mode: str) -> Tensor:
    """Return resampled values in the dtype of ``img``; a cubic may have overshot its range."""
    if img.is_floating_point():
        return values
    if mode == "bicubic" and img.dtype is weft.uint8:
        values = values.clamp(0, 255)
    return values.round().to(img.dtype)
