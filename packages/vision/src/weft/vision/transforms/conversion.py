"""From PIL images and arrays to tensors and back; dtype, range and scale of the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from weft import Tensor, nn
from weft.vision.transforms import functional as F

__all__ = ["ConvertImageDtype", "LinearTransformation", "Normalize", "PILToTensor", "ToPILImage", "ToTensor"]


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


class LinearTransformation(nn.Module):
    """Flatten a tensor picture, subtract a mean, multiply by a square matrix (whitening, say) and restore the shape.

    Parameters
    ----------
    transformation_matrix : Tensor, shape (C * H * W, C * H * W)
    mean_vector : Tensor, shape (C * H * W,)

    Raises
    ------
    ValueError
        If shapes, dtypes or devices do not suit each other, or the picture.
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        check_linear_transformation(transformation_matrix, mean_vector)
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor: Tensor) -> Tensor:
        """Return the transformed picture."""
        return linearly_transformed(tensor, self.transformation_matrix, self.mean_vector)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(transformation_matrix={self.transformation_matrix.tolist()}, "
            f"mean_vector={self.mean_vector.tolist()})"
        )


def check_linear_transformation(matrix: Tensor, mean: Tensor) -> None:
    """Raise if `LinearTransformation` cannot have these arguments."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"LinearTransformation: transformation_matrix should be square, got {tuple(matrix.shape)}")
    if mean.shape[0] != matrix.shape[0]:
        raise ValueError(
            f"LinearTransformation: mean_vector should have the same length as the matrix {tuple(matrix.shape)}, "
            f"got {mean.shape[0]}"
        )
    if matrix.device != mean.device:
        raise ValueError(
            f"LinearTransformation: Input tensors should be on the same device, got {matrix.device} and {mean.device}"
        )
    if matrix.dtype is not mean.dtype:
        raise ValueError(
            f"LinearTransformation: Input tensors should have the same dtype, got {matrix.dtype} and {mean.dtype}"
        )


def linearly_transformed(picture: Tensor, matrix: Tensor, mean: Tensor) -> Tensor:
    """Return (..., C, H, W) after `LinearTransformation`."""
    shape = picture.shape
    if shape[-3] * shape[-2] * shape[-1] != matrix.shape[0]:
        raise ValueError(
            "LinearTransformation: Input tensor and transformation matrix have incompatible shape: "
            f"{tuple(shape[-3:])} and {tuple(matrix.shape)}"
        )
    if picture.device.type != matrix.device.type:
        raise ValueError(
            "LinearTransformation: Input tensor should be on the same device as transformation matrix and mean vector, "
            f"got {picture.device} and {matrix.device}"
        )
    centered = picture.reshape(-1, matrix.shape[0]) - mean
    return (centered @ matrix.to(centered.dtype)).reshape(shape)
