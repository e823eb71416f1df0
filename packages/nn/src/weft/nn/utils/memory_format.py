"""The order in which convolutions keep the dimensions of their weights in memory."""

from __future__ import annotations

from typing import Any, TypeVar

from weft.nn.convolution import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from weft.nn.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lay out the weights of all 2-D convolutions in ``module`` anew.

    Parameters
    ----------
    module : Module
        Its ``Conv2d`` and ``ConvTranspose2d``, transitively, are changed in place.
    memory_format : memory_format
        ``weft.channels_last``, so that images of that format are convolved as they are, or ``weft.contiguous_format``.

    Returns
    -------
    Module
        ``module``

    Examples
    --------
    >>> layer = convert_conv2d_weight_memory_format(weft.nn.Conv2d(2, 3, 5), weft.channels_last)
    >>> layer.weight.is_contiguous(memory_format=weft.channels_last)
    True
    """
    return _converted(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lay out the weights of all 3-D convolutions in ``module`` anew.

    Parameters
    ----------
    module : Module
        Its ``Conv3d`` and ``ConvTranspose3d``, transitively, are changed in place.
    memory_format : memory_format
        ``weft.channels_last_3d``, so that volumes of that format are convolved as they are, or
        ``weft.contiguous_format``.

    Returns
    -------
    Module
        ``module``

    Examples
    --------
    >>> layer = convert_conv3d_weight_memory_format(weft.nn.Conv3d(2, 3, 5), weft.channels_last_3d)
    >>> layer.weight.is_contiguous(memory_format=weft.channels_last_3d)
    True
    """
    return _converted(module, (Conv3d, ConvTranspose3d), memory_format)


def _converted(module: M, kinds: tuple[type[Module], ...], memory_format: Any) -> M:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().clone(memory_format=memory_format)
    return module
