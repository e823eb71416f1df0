"""Transforms of clips, tensors of shape (C, T, H, W): the deprecated functions that video programs import."""

from __future__ import annotations

from collections.abc import Sequence

import weft
from weft import Tensor
from weft.nn.functional import interpolate


def _check_clip(clip: Tensor) -> None:
    if not isinstance(clip, Tensor):
        raise TypeError(f"clip should be Tensor. Got {type(clip)}")
    if clip.ndim != 4:
        raise ValueError(f"clip should be 4D. Got {clip.ndim}D")


def crop(clip: Tensor, i: int, j: int, h: int, w: int) -> Tensor:
    """Return rows i to i + h and columns j to j + w: a view.

    Raises
    ------
    TypeError, ValueError
        If the clip is no tensor of four dims, here and in the other functions.
    """
    _check_clip(clip)
    return clip[..., i : i + h, j : j + w]


def resize(clip: Tensor, target_size: Sequence[int], interpolation_mode: str) -> Tensor:
    """Return the clip resampled to (height, width), without antialiasing; the mode is one of `interpolate`."""
    if len(target_size) != 2:
        raise ValueError(f"target size should be tuple (height, width), instead got {target_size}")
    return interpolate(clip, size=tuple(target_size), mode=interpolation_mode, align_corners=False)


def resized_crop(
    clip: Tensor, i: int, j: int, h: int, w: int, size: Sequence[int], interpolation_mode: str = "bilinear"
) -> Tensor:
    """Return a `crop`, resized."""
    return resize(crop(clip, i, j, h, w), size, interpolation_mode)


def center_crop(clip: Tensor, crop_size: Sequence[int]) -> Tensor:
    """Return the middle of the clip, of a size that it must have at least."""
    _check_clip(clip)
    height, width = crop_size
    rows, columns = clip.shape[-2] - height, clip.shape[-1] - width
    if rows < 0 or columns < 0:
        raise ValueError(
            f"height and width must be no smaller than crop_size {crop_size}, got {tuple(clip.shape[-2:])}"
        )
    return crop(clip, round(rows / 2), round(columns / 2), height, width)


def to_tensor(clip: Tensor) -> Tensor:
    """Return bytes (T, H, W, C) as floats from 0 to 1, (C, T, H, W)."""
    _check_clip(clip)
    if clip.dtype is not weft.uint8:
        raise TypeError(f"clip tensor should have data type uint8. Got {clip.dtype}")
    return clip.float().permute(3, 0, 1, 2) / 255.0


def normalize(clip: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """Return ``(clip - mean) / std`` for each channel."""
    _check_clip(clip)
    center, scale = (
        weft.as_tensor(each, dtype=clip.dtype, device=clip.device)[:, None, None, None] for each in (mean, std)
    )
    return (clip if inplace else clip.clone()).sub_(center).div_(scale)


def hflip(clip: Tensor) -> Tensor:
    """Return the clip with left and right exchanged."""
    _check_clip(clip)
    return clip.flip(-1)
