"""The names of ``torchvision.transforms.v2``: the transforms of this package, and those that version 2 added.

A picture is a PIL image or a tensor, as ever; boxes and masks are not transformed with it.
"""

from __future__ import annotations

from typing import Any

from weft import Tensor, nn
from weft.vision import transforms as first
from weft.vision.transforms import *  # noqa: F403
from weft.vision.transforms import __all__ as _first
from weft.vision.transforms.v2.functional import grayscale_to_rgb, resize, to_dtype, to_image

__all__ = [*_first, "Identity", "RGB", "ToDtype", "ToImage", "ToPureTensor"]


class Resize(first.Resize):  # type: ignore[no-redef]  # in place of the first version's
    """As `weft.vision.transforms.Resize`; bytes are resampled in integers."""

    def forward(self, img: Any) -> Any:
        """Return the picture, resized."""
        return resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class RandomResizedCrop(first.RandomResizedCrop):  # type: ignore[no-redef]  # likewise
    """As `weft.vision.transforms.RandomResizedCrop`; bytes are resampled in integers."""

    def forward(self, img: Any) -> Any:
        """Return a random part of the picture, resized."""
        part = first.functional.crop(img, *self.get_params(img, self.scale, self.ratio))
        return resize(part, self.size, self.interpolation, antialias=self.antialias)


class ToImage(nn.Module):
    """Make a tensor (C, H, W) of a PIL image or an array (H, W, C), with its values as they are."""

    def forward(self, img: Any) -> Any:
        """Return the tensor."""
        return to_image(img)

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
        return to_dtype(img, self.dtype, self.scale) if isinstance(img, Tensor) else img

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
        return grayscale_to_rgb(img)
