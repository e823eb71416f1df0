"""Between PIL images, NumPy arrays, tensors and tv_tensors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import PIL.Image

import weft
from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms import conversion as first
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2._transform import Transform
from weft.vision.transforms.v2.functional._utils import is_pure_tensor

__all__ = ["ConvertImageDtype", "PILToTensor", "ToImage", "ToPILImage", "ToPureTensor", "ToTensor"]


class PILToTensor(Transform):
    """PIL images become (C, H, W) tensors of their own values, neither scaled nor cast."""

    _transformed_types = (PIL.Image.Image,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return F.pil_to_tensor(inpt)


class ToImage(Transform):
    """PIL images, arrays (H, W[, C]) and tensors become an `Image`, with their values as they are."""

    _transformed_types = (is_pure_tensor, PIL.Image.Image, np.ndarray)

    def transform(self, inpt: Any, params: dict[str, Any]) -> tv_tensors.Image:
        return F.to_image(inpt)


class ToPILImage(Transform):
    """(C, H, W) tensors and (H, W[, C]) arrays become PIL images, of mode ``mode`` or the usual one."""

    _transformed_types = (is_pure_tensor, tv_tensors.Image, np.ndarray)

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> PIL.Image.Image:
        return F.to_pil_image(inpt, mode=self.mode)


class ToPureTensor(Transform):
    """tv_tensors become plain tensors, without what is known of them."""

    _transformed_types = (tv_tensors.TVTensor,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        return inpt.as_subclass(Tensor)


class ToTensor(Transform):
    """PIL images and arrays become (C, H, W) tensors, 8-bit values scaled to 0..1.

    Deprecated: use ``Compose([ToImage(), ToDtype(weft.float32, scale=True)])``.
    """

    _transformed_types = (PIL.Image.Image, np.ndarray)

    def __init__(self) -> None:
        warnings.warn(
            "ToTensor is deprecated and will be removed: "
            "use v2.Compose([v2.ToImage(), v2.ToDtype(weft.float32, scale=True)])",
            stacklevel=2,
        )
        super().__init__()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        from weft.vision.transforms.functional.conversion import to_tensor

        return to_tensor(inpt)


class ConvertImageDtype(Transform):
    """Images get another dtype, their values scaled to its range; `ToDtype` with ``scale=True`` does so, too."""

    _v1_transform_cls = first.ConvertImageDtype

    def __init__(self, dtype: Any = weft.float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self._call_kernel(F.to_dtype, inpt, dtype=self.dtype, scale=True)
