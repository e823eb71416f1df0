"""The names of ``torchvision.transforms.v2``: the transforms of this package, and those that version 2 added.

A picture is a PIL image or a tensor, as ever; boxes and masks are not transformed with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

import weft
from weft import Tensor, nn
from weft.vision import transforms as first
from weft.vision.transforms import *  # noqa: F403
from weft.vision.transforms import __all__ as _first
from weft.vision.transforms import functional as functional
from weft.vision.transforms.functional.geometry import _resized

__all__ = [*_first, "Identity", "RGB", "ToDtype", "ToImage", "ToPureTensor"]


def _sized(img: Tensor, size: tuple[int, int], mode: str, antialias: bool | None) -> Tensor:
    """Bytes resampled in integers, as the second version does; the first goes by float32."""
    flat = img.reshape(-1, *img.shape[-3:])
    found = nn.functional.interpolate(flat, size, mode=mode, align_corners=False, antialias=bool(antialias))
    return found.reshape(*img.shape[:-2], *size)


def _in_bytes(img: Any, interpolation: Any) -> bool:
    """Whether a picture is a tensor of bytes, to be interpolated between."""
    return isinstance(img, Tensor) and img.dtype is weft.uint8 and interpolation.value in ("bilinear", "bicubic")


class Resize(first.Resize):  # type: ignore[no-redef]  # in place of the first version's
    """As `weft.vision.transforms.Resize`; bytes are resampled in integers."""

    def forward(self, img: Any) -> Any:
        """Return the picture, resized."""
        if not _in_bytes(img, self.interpolation):
            return super().forward(img)
        size = _resized(img.shape[-2], img.shape[-1], self.size, self.max_size)
        return _sized(img, size, self.interpolation.value, self.antialias)


class RandomResizedCrop(first.RandomResizedCrop):  # type: ignore[no-redef]  # likewise
    """As `weft.vision.transforms.RandomResizedCrop`; bytes are resampled in integers."""

    def forward(self, img: Any) -> Any:
        """Return a random part of the picture, resized."""
        if not _in_bytes(img, self.interpolation):
            return super().forward(img)
        part = functional.crop(img, *self.get_params(img, self.scale, self.ratio))
        return _sized(part, self.size, self.interpolation.value, self.antialias)


class ToImage(nn.Module):
    """Make a tensor (C, H, W) of a PIL image or an array (H, W, C), with its values as they are."""

    def forward(self, img: Any) -> Any:
        """Return the tensor."""
        if isinstance(img, np.ndarray):
            pixels = np.atleast_3d(img).transpose(2, 0, 1)
            return weft.from_numpy(np.ascontiguousarray(pixels))
        return functional.pil_to_tensor(img) if isinstance(img, Image.Image) else img

    def __repr__(self) -> str:
        return "ToImage()"


class ToDtype(nn.Module):
    """Convert a tensor's dtype; anything else passes.

    Parameters
    ----------
    dtype : dtype
    scale : bool
        Whether the range goes from the one dtype's (0 to 255 for uint8) to the other's (0 to 1).
    """

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.scale = scale

    def forward(self, img: Any) -> Any:
        """Return the tensor."""
        if not isinstance(img, Tensor):
            return img
        return functional.convert_image_dtype(img, self.dtype) if self.scale else img.to(self.dtype)

    def __repr__(self) -> str:
        return f"ToDtype(scale={self.scale})"


class ToPureTensor(nn.Module):
    """Return a tensor without what is known of it: tensors are plain here."""

    def forward(self, img: Any) -> Any:
        """Return what came."""
        return img


class Identity(ToPureTensor):
    """Return what came."""


class RGB(nn.Module):
    """Give a grey picture three equal channels."""

    def forward(self, img: Any) -> Any:
        """Return the picture with three channels."""
        if isinstance(img, Image.Image):
            return img.convert("RGB")
        return img.expand(*img.shape[:-3], 3, *img.shape[-2:]) if img.shape[-3] == 1 else img
