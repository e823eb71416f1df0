"""Resizing and rotating tensors: where each new pixel takes its value from.

Resizing is separable, so it is two matrix products, ``rows @ picture @ columns.T``: the gradient, batches and all
devices come with the product. With ``antialias`` the filters widen with the scale, as Pillow's do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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


def rotate_tensor(
    img: Tensor, angle: float, mode: str, expand: bool, center: Sequence[float] | None, fill: Sequence[float] | None
) -> Tensor:
    """Return ``img`` (..., C, H, W) turned by ``angle`` degrees against the clock."""
    height, width = img.shape[-2:]
    turn = math.radians(angle)
    cos, sin = math.cos(turn), math.sin(turn)
    across, down = (0.0, 0.0) if center is None else (center[0] - width / 2, center[1] - height / 2)
    rows, columns = _rotated_size(height, width, cos, sin, (across, down)) if expand else (height, width)
    # Where each pixel of the result lies in the picture; axes point right and down, the origin is the middle.
    x = np.arange(columns)[None, :] - (columns - 1) / 2 - across
    y = np.arange(rows)[:, None] - (rows - 1) / 2 - down
    source_x = cos * x - sin * y + across + (width - 1) / 2
    source_y = sin * x + cos * y + down + (height - 1) / 2
    return _filled(img, source_y, source_x, mode, fill)


def _filled(img: Tensor, y: Array, x: Array, mode: str, fill: Sequence[float] | None) -> Tensor:
    """The values of ``img`` at (y, x) in its dtype, and ``fill`` for what comes from outside."""
    sampled, inside = _sample(img, y, x, mode)
    if fill is not None:
        color = weft.tensor(list(fill), dtype=sampled.dtype, device=img.device).reshape(-1, 1, 1)
        sampled = sampled * inside + (1 - inside) * color
    return sampled if img.is_floating_point() else sampled.round().to(img.dtype)


def affine_tensor(img: Tensor, inverse: Array, mode: str, fill: Sequence[float] | None) -> Tensor:
    """Return ``img`` (..., C, H, W) where the pixel at (x, y) comes from ``inverse @ (x, y, 1)``.

    Positions are those of the pixels' centres from the middle of the picture.
    """
    height, width = img.shape[-2:]
    x = np.arange(width)[None, :] - (width - 1) / 2
    y = np.arange(height)[:, None] - (height - 1) / 2
    source_x = inverse[0, 0] * x + inverse[0, 1] * y + inverse[0, 2] + (width - 1) / 2
    source_y = inverse[1, 0] * x + inverse[1, 1] * y + inverse[1, 2] + (height - 1) / 2
    return _filled(img, source_y, source_x, mode, fill)


def _rotated_size(height: int, width: int, cos: float, sin: float, center: tuple[float, float]) -> tuple[int, int]:
    """Return the (rows, columns) that hold the whole picture after it was turned about ``center``."""
    x = np.array([-width, -width, width, width]) / 2
    y = np.array([-height, height, height, -height]) / 2
    shift_x = center[0] - (cos * center[0] - sin * center[1])
    shift_y = center[1] - (sin * center[0] + cos * center[1])
    corners_x = cos * x - sin * y + shift_x + width / 2
    corners_y = sin * x + cos * y + shift_y + height / 2
    return _whole_pixels(corners_y), _whole_pixels(corners_x)


def _whole_pixels(corners: Array) -> int:
    """Return how many pixels an interval touches, deaf to rounding errors below 0.0001."""
    least, greatest = round(float(corners.min()), 4), round(float(corners.max()), 4)
    return math.ceil(greatest) - math.floor(least)


def _sample(img: Tensor, y: Array, x: Array, mode: str) -> tuple[Tensor, Tensor]:
    """Return the values of ``img`` at (y, x), zero outside, and which part of each came from inside."""
    values = img if img.is_floating_point() else img.to(weft.float32)
    if mode == "nearest":
        return _gather(values, np.rint(y), np.rint(x), np.ones_like(y))
    top, left = np.floor(y), np.floor(x)
    down, right = y - top, x - left
    corners = [
        _gather(values, top, left, (1 - down) * (1 - right)),
        _gather(values, top, left + 1, (1 - down) * right),
        _gather(values, top + 1, left, down * (1 - right)),
        _gather(values, top + 1, left + 1, down * right),
    ]
    sampled, inside = corners[0]
    for value, weight in corners[1:]:
        sampled, inside = sampled + value, inside + weight
    return sampled, inside


def _gather(values: Tensor, y: Array, x: Array, weight: Array) -> tuple[Tensor, Tensor]:
    """Return ``values[..., y, x] * weight`` and the weight, both zero outside of the picture."""
    height, width = values.shape[-2:]
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    rows = weft.from_numpy(y.clip(0, height - 1).astype(np.int64))
    columns = weft.from_numpy(x.clip(0, width - 1).astype(np.int64))
    part = weft.from_numpy(weight * inside).to(values)
    return values[..., rows, columns] * part, part
