"""Rearrangements between channels and pixels."""

from __future__ import annotations

from weft import Tensor
from weft.nn import functional as F
from weft.nn.module import Module

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Rearrange channels into pixels: each image grows by ``upscale_factor``.

    Parameters
    ----------
    upscale_factor : int
        r.

    Shapes
    ------
    input : (..., C * r**2, H, W)
    output : (..., C, H * r, W * r)

    Raises
    ------
    RuntimeError
        If the channels are not divisible by r**2.

    References
    ----------
    arXiv:1609.05158.

    Examples
    --------
    >>> weft.nn.PixelShuffle(2)(weft.arange(4.0).reshape(4, 1, 1))
    tensor([[[0., 1.],
             [2., 3.]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Rearrange ``input``."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Rearrange pixels into channels: the inverse of `PixelShuffle`.

    Parameters
    ----------
    downscale_factor : int
        r.

    Shapes
    ------
    input : (..., C, H * r, W * r)
    output : (..., C * r**2, H, W)

    Raises
    ------
    RuntimeError
        If height or width are not divisible by r.

    Examples
    --------
    >>> weft.nn.PixelUnshuffle(3)(weft.zeros(1, 12, 12)).shape
    weft.Size([9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Rearrange ``input``."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Reorder the channels so that neighbours come from different groups.

    Parameters
    ----------
    groups : int

    Shapes
    ------
    input, output : (N, C, ...)

    Raises
    ------
    RuntimeError
        If the channels are not divisible by ``groups``.

    References
    ----------
    arXiv:1707.01083.

    Examples
    --------
    >>> weft.nn.ChannelShuffle(2)(weft.arange(6.0).reshape(1, 6, 1)).flatten()
    tensor([0., 3., 1., 4., 2., 5.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Rearrange ``input``."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Return the number of groups."""
        return f"groups={self.groups}"
