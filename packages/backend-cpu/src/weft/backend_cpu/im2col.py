"""Small convolutions by im2col: all windows become one matrix, which is multiplied by the weight.

To start a library's convolution takes longer.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy

from weft.backend import KernelBySize, small_arrays
from weft.backend_cpu.blas import product_of

__all__ = ["convolving"]

Sizes = tuple[int, ...]

MAX_SIZE = 4096
"""The elements of all windows up to which this is the quickest way (measured)."""


def convolving(kernel: Any) -> KernelBySize:
    """A kernel of convolutions, and im2col for small ones."""
    generic = small_arrays.small_of(kernel)

    def small(input: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
        found = None
        if groups == 1 and input.dtype.char in "fd" and input.flags.c_contiguous and weight.flags.c_contiguous:
            found = window_places(input.shape, weight.shape, stride, padding, dilation)
        if found is None:
            return generic(input, weight, bias, stride, padding, dilation, groups)
        places, shape = found
        flat = input.reshape(-1)
        if any(padding):
            flat = numpy.concatenate([flat, numpy.zeros(1, flat.dtype)])
        rows = weight.reshape(len(weight), -1)
        result = product_of(rows)(rows, flat.take(places))  # (O, N * out)
        if bias is not None:
            result += bias[:, None]
        if shape[0] == 1:
            return result.reshape(shape)
        images = result.reshape(shape[1], shape[0], -1).swapaxes(0, 1)
        return numpy.ascontiguousarray(images).reshape(shape)

    return small_arrays.beside(small, kernel)


@lru_cache(64)
def window_places(
    input: Sizes, weight: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> tuple[Any, Sizes] | None:
    """The positions of the windows' elements, (C * kernel, N * out), and the shape of the result.

    Positions in the padding are one past the last element. None if there are more than `MAX_SIZE`, or no windows.
    """
    kernel, (batch, channels, *spatial) = weight[2:], input
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(spatial, kernel, stride, padding, dilation)]
    if min(batch, channels, len(weight), *weight, *out) < 1 or batch * prod(out) * prod(weight[1:]) > MAX_SIZE:
        return None
    end = prod(input)
    whole = numpy.full((batch, channels, *[n + 2 * p for n, p in zip(spatial, padding)]), end)
    inner: Any = (..., *[slice(p, p + n) for p, n in zip(padding, spatial)])
    whole[inner] = numpy.arange(end).reshape(input)
    images, planes, *steps = whole.strides
    windows = numpy.lib.stride_tricks.as_strided(
        whole,
        (channels, *kernel, batch, *out),
        (
            planes,
            *[step * d for step, d in zip(steps, dilation)],
            images,
            *[step * s for step, s in zip(steps, stride)],
        ),
    )
    return windows.reshape(prod(weight[1:]), -1), (batch, weight[0], *out)
