"""From PIL images and arrays to tensors and back; dtype, range and scale of the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from weft import Tensor, nn
from weft.vision.transforms import functional as F

__all__ = ["ConvertImageDtype", "Normalize", "PILToTensor", "ToPILImage", "ToTensor"]


class ToTensor:
    """A PIL image or an (H, W[, C]) array becomes a (C, H, W) tensor, 8-bit values scaled to 0..1."""

    def __call__(self, pic: Image.Image | np.ndarray[Any, Any]) -> Tensor:
        """Return the tensor."""
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """A PIL image becomes a (C, H, W) tensor of its own values, neither scaled nor cast."""

    def __call__(self, pic: Image.Image) -> Tensor:
        """Return the tensor."""
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToPILImage:
    """A (C, H, W) tensor or (H, W[, C]) array becomes a PIL image, of mode ``mode`` or the usual one."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Tensor | np.ndarray[Any, Any]) -> Image.Image:
        """Return the image."""
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class ConvertImageDtype(nn.Module):
    """A tensor picture gets another dtype, its values scaled to that dtype's range (floating: 0..1)."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        """Return the picture in the dtype."""
        return F.convert_image_dtype(image, self.dtype)


class Normalize(nn.Module):
    """``(picture - mean) / std``, with one mean and deviation for each channel of a floating tensor.

    Parameters
    ----------
    mean, std : sequence of float, one for each channel
    inplace : bool, default False
        Overwrite the picture.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: Tensor) -> Tensor:
        """Return the normalized picture."""
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"
