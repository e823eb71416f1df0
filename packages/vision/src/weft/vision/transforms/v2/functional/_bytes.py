"""Arithmetic of integer images in one pass, where a backend has a kernel for it."""

from __future__ import annotations

import numpy

from weft import Tensor
from weft.library.declare import op

__all__ = ["LUMA", "blend_integers", "luma_of_integers"]

LUMA = (0.2989, 0.587, 0.114)  # ITU-R BT.601-7, section 2.5.1


@op(tensors="image", dtypes="bool int", gradient=None, namespace="vision")
def luma_of_integers(image: Tensor) -> Tensor:
    """Return the grey (..., 1, H, W) of (..., 3, H, W), summed in float32 and cut off.

    Parameters
    ----------
    image : Tensor of integers, shape (..., 3, H, W)

    Returns
    -------
    Tensor, shape (..., 1, H, W), of the same dtype

    Examples
    --------
    >>> luma_of_integers(weft.full((3, 1, 1), 100)).flatten()
    tensor([99])
    """
    if image.ndim < 3 or image.shape[-3] != 3:
        raise RuntimeError(f"luma_of_integers: image must be (..., 3, H, W), got {tuple(image.shape)}")
    return luma_of_integers.op(image)


@luma_of_integers.kernel
def _(xp, image):
    red, green, blue = (image[..., channel, :, :].astype(xp.float32) for channel in range(3))
    red *= LUMA[0]
    red += green * LUMA[1]
    red += blue * LUMA[2]
    return red.astype(image.dtype)[..., None, :, :]


@op(tensors="image other", dtypes="bool int float", gradient=None, namespace="vision")
def blend_integers(image: Tensor, other: Tensor, share: float, white: int) -> Tensor:
    """Return ``share * image + (1 - share) * other``, kept in 0..white and cut off.

    The first product is rounded to float32, and the sum once, as a fused multiply-add does: otherwise bytes would
    differ by one wherever the sum is a whole number.

    Parameters
    ----------
    image : Tensor of integers, shape (..., C, H, W)
    other : Tensor of float32, shape (..., 1 or C, H, W) or (..., 1, 1, 1)
    share : float
    white : int

    Returns
    -------
    Tensor, of the shape and dtype of image

    Examples
    --------
    >>> blend_integers(weft.full((1, 1, 1), 100), weft.zeros(1, 1, 1), 0.5, 255).item()
    50
    """
    return blend_integers.op(image, other, float(share), int(white))


@blend_integers.kernel
def _(xp, image, other, share, white):
    mixed = (image.astype(xp.float32) * share).astype(xp.float64)
    mixed += float(numpy.float32(1.0 - share)) * other.astype(xp.float64)
    return mixed.astype(xp.float32).clip(0, white).astype(image.dtype)
