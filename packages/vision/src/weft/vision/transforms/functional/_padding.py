"""Padded pictures, of tensors and of Pillow; and fills as Pillow wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageOps

import weft
from weft import Tensor

__all__ = ["four_sides", "image_fill", "pad_image", "pad_tensor"]

Sides = tuple[int, int, int, int]


def four_sides(padding: Any) -> Sides:
    """Return (left, top, right, bottom) of one number, two (across, down) or four.

    Raises
    ------
    TypeError, ValueError
        If ``padding`` is something else.
    """
    if not isinstance(padding, (int, tuple, list)):
        raise TypeError(f"`padding` should be an integer or tuple or list of integers, but got {padding}")
    sides = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(sides) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple or list. Found {len(sides)}: {sides}")
    left, top, right, bottom = sides * (4 // len(sides))
    return left, top, right, bottom


def image_fill(img: Image.Image, fill: Any) -> Any:
    """Return ``fill`` as Pillow wants it for this image: one value, or one for each band; None is 0.

    Raises
    ------
    ValueError
        If there is another number of values.
    """
    if isinstance(fill, str):
        return fill
    bands = len(img.getbands())
    values = tuple(fill) if isinstance(fill, Sequence) else (0 if fill is None else fill,)
    if len(values) not in (1, bands):
        raise ValueError(
            "The number of elements in 'fill' does not match the number of channels of the image "
            f"({len(values)} != {bands})"
        )
    values = values * bands if len(values) == 1 else values
    if img.mode != "F":
        values = tuple(int(value) for value in values)
    return values[0] if len(values) == 1 else values


def pad_image(img: Image.Image, sides: Sides, fill: Any, mode: str) -> Image.Image:
    """Return a PIL image, padded; a negative side is cut off."""
    left, top, right, bottom = sides
    if mode == "constant":
        padded = ImageOps.expand(img, border=(left, top, right, bottom), fill=image_fill(img, fill))
        if img.mode == "P":
            padded.putpalette(img.getpalette() or [])
        return padded
    if img.mode == "P":  # positions in a palette may be repeated, and Pillow keeps the palette beside them
        padded = pad_image(Image.fromarray(np.asarray(img)), sides, fill, mode)
        padded.putpalette(img.getpalette() or [])
        return padded
    pixels = np.asarray(img)
    rows = _positions(pixels.shape[0], top, bottom, mode)
    columns = _positions(pixels.shape[1], left, right, mode)
    return Image.fromarray(np.ascontiguousarray(pixels[rows[:, None], columns]))


def pad_tensor(img: Tensor, sides: Sides, fill: Any, mode: str) -> Tensor:
    """Return a picture (..., C, H, W), padded; a negative side is cut off.

    ``fill`` is one value, or a sequence of one for each channel.
    """
    left, top, right, bottom = sides
    height, width = img.shape[-2:]
    if mode != "constant":
        rows = weft.from_numpy(_positions(height, top, bottom, mode)).to(img.device)
        columns = weft.from_numpy(_positions(width, left, right, mode)).to(img.device)
        return img[..., rows[:, None], columns]
    if isinstance(fill, Sequence) and len(fill) == 1:
        fill = fill[0]
    inner = img[..., max(-top, 0) : height - max(-bottom, 0), max(-left, 0) : width - max(-right, 0)]
    top, left = max(top, 0), max(left, 0)
    shape = (*img.shape[:-2], top + inner.shape[-2] + max(bottom, 0), left + inner.shape[-1] + max(right, 0))
    if isinstance(fill, Sequence):
        color = weft.tensor(fill, device=img.device).to(img.dtype).reshape(-1, 1, 1)
        padded = color.expand(shape).clone(memory_format=weft.contiguous_format)
    else:
        padded = img.new_full(shape, fill or 0)
    padded[..., top : top + inner.shape[-2], left : left + inner.shape[-1]] = inner
    return padded


def _positions(length: int, before: int, after: int, mode: str) -> np.ndarray[Any, Any]:
    """Return which position of an axis each position of the padded one repeats.

    Raises
    ------
    RuntimeError
        If so much cannot be mirrored.
    """
    if mode == "reflect" and max(before, after) >= length:
        raise RuntimeError(f"pad: reflect padding ({before}, {after}) must be less than the edge's length, {length}")
    positions = np.pad(np.arange(length), (max(before, 0), max(after, 0)), mode=mode)  # type: ignore[call-overload]
    return np.ascontiguousarray(positions[max(-before, 0) : len(positions) - max(-after, 0)])
