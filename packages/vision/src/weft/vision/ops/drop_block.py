"""DropBlock: leave out squares of feature maps (arXiv:1810.12890)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F

__all__ = ["DropBlock2d", "DropBlock3d", "drop_block2d", "drop_block3d"]


def drop_block2d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06, training: bool = True
) -> Tensor:
    """Set squares of each channel to 0, and scale what is left so that the mean stays.

    Parameters
    ----------
    input : Tensor, shape (N, C, H, W)
    p : float
        The share of elements to leave out.
    block_size : int
        The side of a square, odd; that of the smallest side of the input at most.
    inplace : bool
        Write to the input.
    eps : float
        Added to the number of elements that are left.
    training : bool
        If False the input is returned.

    Raises
    ------
    ValueError
        For a probability outside of 0 to 1, an even block or another number of dimensions.

    Examples
    --------
    >>> output = drop_block2d(weft.ones(1, 1, 3, 3), 1.0, 3)  # the one block that fits
    >>> output.sum().item()
    0.0
    """
    return drop_block(input, p, block_size, inplace, eps, training, 2)


def drop_block3d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06, training: bool = True
) -> Tensor:
    """Set cubes of each channel to 0, and scale what is left so that the mean stays.

    Parameters
    ----------
    input : Tensor, shape (N, C, D, H, W)
    p, block_size, inplace, eps, training
        See `drop_block2d`.

    Raises
    ------
    ValueError
        As `drop_block2d`.

    Examples
    --------
    >>> output = drop_block3d(weft.ones(1, 1, 3, 3, 3), 1.0, 3)  # the one block that fits
    >>> output.sum().item()
    0.0
    """
    return drop_block(input, p, block_size, inplace, eps, training, 3)


def drop_block(
    input: Tensor, p: float, block_size: int, inplace: bool, eps: float, training: bool, dims: int
) -> Tensor:
    """`drop_block2d` of any number of spatial dimensions that has a pooling."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.ndim != dims + 2:
        raise ValueError(f"input should be {dims + 2} dimensional. Got {input.ndim} dimensions.")
    if not training or p == 0.0:
        return input
    kept = kept_elements(input, p, min(block_size, *input.shape[2:]), dims)
    scale = kept.numel() / (eps + kept.sum())
    return input.mul_(kept).mul_(scale) if inplace else input * kept * scale


def kept_elements(input: Tensor, p: float, block_size: int, dims: int) -> Tensor:
    """1 for what stays and 0 for what is in a block around one of the centres that are drawn."""
    if block_size % 2 == 0:
        raise ValueError(f"block size should be odd. Got {block_size} which is even.")
    sizes = [size - block_size + 1 for size in input.shape[2:]]  # of the places where a whole block fits
    gamma = p * math.prod(input.shape[2:]) / (block_size**dims * math.prod(sizes))
    centres = weft.empty((*input.shape[:2], *sizes), dtype=input.dtype, device=input.device).bernoulli_(gamma)
    pool: Callable[..., Any] = F.max_pool2d if dims == 2 else F.max_pool3d
    half = block_size // 2
    return 1 - pool(F.pad(centres, [half] * (2 * dims)), block_size, stride=1, padding=half)


class DropBlock2d(nn.Module):
    """`drop_block2d` as a module."""

    drop = staticmethod(drop_block2d)

    def __init__(self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06) -> None:
        super().__init__()
        self.p = p
        self.block_size = block_size
        self.inplace = inplace
        self.eps = eps

    def forward(self, input: Tensor) -> Tensor:
        """Return the input without some of its blocks."""
        return self.drop(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, inplace={self.inplace})"


class DropBlock3d(DropBlock2d):
    """`drop_block3d` as a module."""

    drop = staticmethod(drop_block3d)
