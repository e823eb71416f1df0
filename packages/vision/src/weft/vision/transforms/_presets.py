"""Transforms that published weights need before their models: what ``weights.transforms()`` makes."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.transforms import functional as F
from weft.vision.transforms.functional import InterpolationMode

__all__ = ["ImageClassification", "ObjectDetection", "OpticalFlow", "SemanticSegmentation", "VideoClassification"]


def _floats(img: Any) -> Tensor:
    """A picture as a float tensor from 0 to 1."""
    return F.convert_image_dtype(img if isinstance(img, Tensor) else F.pil_to_tensor(img), weft.float32)


class _Preset(nn.Module):
    """A transform whose repr shows its settings, one on a line."""

    settings: tuple[str, ...] = ()
    takes = "a ``PIL.Image`` or a tensor (..., C, H, W)"

    def __repr__(self) -> str:
        lines = [f"    {name}={getattr(self, name)}" for name in self.settings]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"]) if lines else f"{type(self).__name__}()"

    def describe(self) -> str:
        """The settings in one line of text, for documentation."""
        return f"Takes {self.takes}; {', '.join(self._steps())}."

    def _steps(self) -> list[str]:
        return ["scales to [0, 1]"]


class _Resized(_Preset):
    """Resize and normalize."""

    settings: tuple[str, ...] = ("crop_size", "resize_size", "mean", "std", "interpolation")

    def _steps(self) -> list[str]:
        steps = [f"resizes to ``resize_size={self.resize_size}`` with ``interpolation={self.interpolation}``"]
        if "crop_size" in self.settings:
            steps.append(f"crops the center of ``crop_size={self.crop_size}``")
        return [*steps, *super()._steps(), f"normalizes with ``mean={self.mean}`` and ``std={self.std}``"]


class ObjectDetection(_Preset):
    """Make a float tensor from 0 to 1 of a picture."""

    def forward(self, img: Any) -> Tensor:
        """Return the tensor (C, H, W)."""
        return _floats(img)


class ImageClassification(_Resized):
    """Resize a picture, crop its center, and normalize.

    Parameters
    ----------
    crop_size, resize_size : int
    mean, std : tuple of float
        Of each channel, from 0 to 1.
    interpolation : InterpolationMode
    antialias : bool
    """

    def __init__(
        self,
        *,
        crop_size: int,
        resize_size: int = 256,
        mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.crop_size, self.resize_size = [crop_size], [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def forward(self, img: Any) -> Tensor:
        """Return the tensor (C, crop_size, crop_size)."""
        img = F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        return F.normalize(_floats(F.center_crop(img, self.crop_size)), mean=self.mean, std=self.std)


class VideoClassification(_Resized):
    """Resize a video's frames, crop their center, normalize, and put the channels first.

    Parameters
    ----------
    crop_size : tuple of two int
    resize_size : tuple of one or two int
    mean, std : tuple of float
    interpolation : InterpolationMode
    """

    takes = "a tensor (..., T, C, H, W)"

    def __init__(
        self,
        *,
        crop_size: tuple[int, int],
        resize_size: tuple[int] | tuple[int, int],
        mean: tuple[float, ...] = (0.43216, 0.394666, 0.37645),
        std: tuple[float, ...] = (0.22803, 0.22145, 0.216989),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    ) -> None:
        super().__init__()
        self.crop_size, self.resize_size = list(crop_size), list(resize_size)
        self.mean, self.std = list(mean), list(std)
        self.interpolation = interpolation

    def _steps(self) -> list[str]:
        return [*super()._steps(), "returns (..., C, T, H, W)"]

    def forward(self, vid: Tensor) -> Tensor:
        """Return the tensor (..., C, T, H, W) of a video (..., T, C, H, W)."""
        frames = vid.reshape(-1, *vid.shape[-3:])  # (N T, C, H, W)
        # the models were trained on frames that were resized without antialiasing
        frames = F.resize(frames, self.resize_size, interpolation=self.interpolation, antialias=False)
        frames = F.normalize(_floats(F.center_crop(frames, self.crop_size)), mean=self.mean, std=self.std)
        return frames.reshape(*vid.shape[:-2], *self.crop_size).transpose(-4, -3)


class SemanticSegmentation(_Resized):
    """Resize a picture and normalize.

    Parameters
    ----------
    resize_size : int or None
        None leaves the size as it is.
    mean, std : tuple of float
    interpolation : InterpolationMode
    antialias : bool
    """

    settings = ("resize_size", "mean", "std", "interpolation")

    def __init__(
        self,
        *,
        resize_size: int | None,
        mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def forward(self, img: Any) -> Tensor:
        """Return the tensor (C, H, W)."""
        if self.resize_size is not None:
            img = F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        return F.normalize(_floats(img), mean=self.mean, std=self.std)


class OpticalFlow(_Preset):
    """Make float tensors from -1 to 1 of two pictures."""

    def _steps(self) -> list[str]:
        return ["scales to [-1, 1]"]

    def forward(self, img1: Any, img2: Any) -> tuple[Tensor, Tensor]:
        """Return the two tensors."""
        half = [0.5, 0.5, 0.5]
        first, second = (F.normalize(_floats(img), mean=half, std=half).contiguous() for img in (img1, img2))
        return first, second
