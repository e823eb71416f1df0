"""Blur."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image

import weft
from weft import Tensor
from weft.nn.functional import conv2d, pad
from weft.vision.transforms.functional._types import Picture, checked_picture
from weft.vision.transforms.functional.conversion import pil_to_tensor, to_pil_image

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
    img = checked_picture(img, "gaussian_blur")
    sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
    if len(sizes) != 2 or any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(f"gaussian_blur: kernel_size should have odd and positive integers, got {kernel_size}")
    if sigma is None:
        sigma = [size * 0.15 + 0.35 for size in sizes]
    deviations = (sigma, sigma) if isinstance(sigma, (int, float)) else (sigma[0], sigma[-1])
    if any(deviation <= 0.0 for deviation in deviations):
        raise ValueError(f"gaussian_blur: sigma should have positive values, got {sigma}")
    if isinstance(img, Image.Image):
        return to_pil_image(_blurred(pil_to_tensor(img), sizes, deviations), mode=img.mode)
    return _blurred(img, sizes, deviations)


def _blurred(img: Tensor, sizes: Sequence[int], deviations: Sequence[float]) -> Tensor:
    values = img if img.is_floating_point() else img.to(weft.float32)
    columns, rows = (_gaussian(size, deviation, values) for size, deviation in zip(sizes, deviations))
    flat = values.reshape(-1, 1, *img.shape[-2:])  # each channel alone
    across, down = sizes[0] // 2, sizes[1] // 2
    kernel = (rows[:, None] * columns)[None, None]
    found = conv2d(pad(flat, [across, across, down, down], mode="reflect"), kernel).reshape(img.shape)
    return found if img.is_floating_point() else found.round().to(img.dtype)


def _gaussian(size: int, deviation: float, like: Tensor) -> Tensor:
    """The normal density at ``size`` places about 0, scaled to sum 1."""
    half = (size - 1) * 0.5
    places = weft.linspace(-half, half, size, dtype=like.dtype, device=like.device)
    density = (-0.5 * (places / deviation) ** 2).exp()
    return density / density.sum()
