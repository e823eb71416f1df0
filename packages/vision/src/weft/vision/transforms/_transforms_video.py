"""Transforms of clips, tensors of shape (C, T, H, W): the deprecated classes that video programs import."""

from __future__ import annotations

import random
from collections.abc import Sequence

from weft import Tensor
from weft.vision.transforms import _functional_video as F
from weft.vision.transforms.geometry import RandomCrop, RandomResizedCrop

__all__ = [
    "CenterCropVideo",
    "NormalizeVideo",
    "RandomCropVideo",
    "RandomHorizontalFlipVideo",
    "RandomResizedCropVideo",
    "ToTensorVideo",
]


class RandomCropVideo(RandomCrop):
    """Cut a rectangle out of all frames, at a random place."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__(size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class RandomResizedCropVideo(RandomResizedCrop):
    """Cut a random rectangle out of all frames, and resize it without antialiasing."""

    def __init__(
        self,
        size: int | tuple[int, int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation_mode: str = "bilinear",
    ) -> None:
        if isinstance(size, tuple) and len(size) != 2:
            raise ValueError(f"size should be tuple (height, width), instead got {size}")
        super().__init__(size, scale, ratio)
        self.interpolation_mode = interpolation_mode

    def forward(self, img: Tensor) -> Tensor:
        """Return the clip's part."""
        place = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *place, self.size, self.interpolation_mode)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(size={self.size}, interpolation_mode={self.interpolation_mode}, "
            f"scale={self.scale}, ratio={self.ratio})"
        )


class CenterCropVideo:
    """Cut the middle out of all frames."""

    def __init__(self, crop_size: int | Sequence[int]) -> None:
        self.crop_size = (crop_size, crop_size) if isinstance(crop_size, int) else crop_size

    def __call__(self, clip: Tensor) -> Tensor:
        return F.center_crop(clip, self.crop_size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(crop_size={self.crop_size})"


class NormalizeVideo:
    """Subtract a mean and divide by a standard deviation, each of one number for a channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def __call__(self, clip: Tensor) -> Tensor:
        return F.normalize(clip, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std}, inplace={self.inplace})"


class ToTensorVideo:
    """Make floats from 0 to 1, (C, T, H, W), of bytes (T, H, W, C)."""

    def __call__(self, clip: Tensor) -> Tensor:
        return F.to_tensor(clip)

    def __repr__(self) -> str:
        return type(self).__name__


class RandomHorizontalFlipVideo:
    """Exchange left and right with probability ``p``, drawn by `random`."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, clip: Tensor) -> Tensor:
        return F.hflip(clip) if random.random() < self.p else clip

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"
