"""Blur by a random width, and sharpness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft import nn
from weft.vision.transforms import functional as F
from weft.vision.transforms.color import RandomlyApplied

__all__ = ["GaussianBlur", "RandomAdjustSharpness"]


class GaussianBlur(nn.Module):
    """Blur the picture by a Gaussian whose width is drawn.

    Parameters
    ----------
    kernel_size : int or (int, int)
        The height and width of the kernel, odd.
    sigma : float or (float, float)
        The range of the standard deviation, in pixels.

    Raises
    ------
    ValueError
        If a size is even or not positive, or the range holds what is not positive.
    """

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = odd_sizes(kernel_size, "GaussianBlur")
        if isinstance(sigma, (int, float)) and sigma <= 0:
            raise ValueError(f"GaussianBlur: If sigma is a single number, it must be positive, got {sigma}")
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)
        if len(self.sigma) != 2 or not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"GaussianBlur: sigma values should be positive and of the form (min, max), got {sigma}")

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """Draw the deviation."""
        return float(weft.empty(1).uniform_(sigma_min, sigma_max).item())

    def forward(self, img: Any) -> Any:
        """Return the picture, blurred."""
        deviation = self.get_params(self.sigma[0], self.sigma[1])
        return F.gaussian_blur(img, self.kernel_size, [deviation, deviation])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, sigma={self.sigma})"


class RandomAdjustSharpness(RandomlyApplied):
    """Change the sharpness by a factor (0 gives a smooth picture, 1 the same), with probability ``p``."""

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def _transformed(self, img: Any) -> Any:
        return F.adjust_sharpness(img, self.sharpness_factor)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sharpness_factor={self.sharpness_factor},p={self.p})"


def odd_sizes(kernel_size: int | Sequence[int], name: str) -> tuple[int, int]:
    """Return the size of a kernel, given as one number or as a pair.

    Raises
    ------
    ValueError
        If a number is even or not positive.
    """
    sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
    if len(sizes) not in (1, 2):
        raise ValueError(f"{name}: Kernel size should be a tuple/list of two integers, got {kernel_size}")
    if any(size <= 0 or size % 2 == 0 for size in sizes):
        raise ValueError(f"{name}: Kernel size value should be an odd and positive number, got {kernel_size}")
    return sizes[0], sizes[-1]
