"""Blur."""

from __future__ import annotations

from collections.abc import Sequence

from weft.vision.transforms.functional._types import Picture, checked_picture
from weft.vision.transforms.v2.functional import _misc

__all__ = ["gaussian_blur"]


def gaussian_blur(
    img: Picture, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Picture:
    """Blur a picture by a Gaussian; beyond the edges the picture is mirrored.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    kernel_size : int or (int, int)
        The width and height of the kernel, odd.
    sigma : float or (float, float), optional
        The standard deviation in pixels, along the width and the height; by default what suits the kernel's size.

    Raises
    ------
    ValueError
        If a size is even or not positive, or a deviation not positive.

    Examples
    --------
    >>> picture = weft.zeros(1, 5, 5)
    >>> picture[0, 2, 2] = 1.0
    >>> gaussian_blur(picture, 3)[0, 1:4, 1:4].round(decimals=2)
    tensor([[0.0600, 0.1200, 0.0600],
            [0.1200, 0.2700, 0.1200],
            [0.0600, 0.1200, 0.0600]])
    """
    return _misc.gaussian_blur(checked_picture(img, "gaussian_blur"), kernel_size, sigma)
