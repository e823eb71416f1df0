"""Images, videos and masks: tensors whose last axes are height and width."""

from __future__ import annotations

from typing import Any

import PIL.Image

from weft import Tensor
from weft.vision.tv_tensors._tv_tensor import TVTensor

__all__ = ["Image", "Mask", "Video"]


def _values(data: Any) -> Any:
    """Return ``data``, a PIL image as a tensor (C, H, W)."""
    if not isinstance(data, PIL.Image.Image):
        return data
    from weft.vision.transforms.functional.conversion import pil_to_tensor  # transforms import tv_tensors

    return pil_to_tensor(data)


class Image(TVTensor):
    """An image, or a batch of them, of shape (..., C, H, W).

    Parameters
    ----------
    data : PIL image, or what `weft.as_tensor` takes
        (H, W) becomes (1, H, W).
    dtype, device
        By default those of ``data``.
    requires_grad : bool, optional
        By default whether ``data`` does.

    Raises
    ------
    ValueError
        If there are fewer than two axes.
    """

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Image:
        tensor = cls._to_tensor(_values(data), dtype=dtype, device=device, requires_grad=requires_grad)
        if tensor.ndim < 2:
            raise ValueError(f"Image: a tensor (..., C, H, W) or (H, W) is needed, got {tensor.ndim}D")
        return (tensor.unsqueeze(0) if tensor.ndim == 2 else tensor).as_subclass(cls)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return self._make_repr()


class Video(TVTensor):
    """A video, or a batch of them, of shape (..., T, C, H, W).

    Parameters are those of `Image`, without PIL images.

    Raises
    ------
    ValueError
        If there are fewer than four axes.
    """

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Video:
        tensor = cls._to_tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
        if tensor.ndim < 4:
            raise ValueError(f"Video: a tensor (..., T, C, H, W) is needed, got {tensor.ndim}D")
        return tensor.as_subclass(cls)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return self._make_repr()


class Mask(TVTensor):
    """A mask of a segmentation, or masks of objects, of shape (..., H, W).

    Parameters are those of `Image`; a PIL image becomes (1, H, W).
    """

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Mask:
        tensor: Tensor = cls._to_tensor(_values(data), dtype=dtype, device=device, requires_grad=requires_grad)
        return tensor.as_subclass(cls)
