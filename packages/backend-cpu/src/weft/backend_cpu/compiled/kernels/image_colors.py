"""Colours of images of bytes: grey values, and blends with another image or a value."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.parallel import launcher, parallel, rounding_loop
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

Array = np.ndarray[Any, Any]
Kernel = Any

LUMA = tuple(np.float32(each) for each in (0.2989, 0.587, 0.114))

# Bytes are cut off after sums that others round one by one: products are not contracted into multiply-adds.


@rounding_loop
def luma_loop(red, green, blue, grey, weights, lo, hi):
    """The grey values of the pixels from lo to hi."""
    for i in range(lo, hi):
        value = np.float32(red[i]) * weights[0]
        value = value + np.float32(green[i]) * weights[1]
        value = value + np.float32(blue[i]) * weights[2]
        grey[i] = np.uint8(np.int32(value))


@launcher
def luma(image, grey, weights):
    """The grey values of images (N, 3, pixels)."""
    for n in range(len(image)):
        arguments = (image[n, 0], image[n, 1], image[n, 2], grey[n], weights)
        parallel(luma_loop, arguments, grey.shape[1], grey.shape[1])


@register_kernel("vision::luma_of_integers", dtypes="uint8", min_size=MIN_SIZE_FUSED, bitwise=True)
def luma_kernel(generic: Kernel) -> Kernel:
    """The grey values of bytes."""

    def run(image: Array) -> Array:
        *outer, _, height, width = image.shape
        grey = np.empty((*outer, 1, height, width), np.uint8)
        pixels = height * width
        luma(image.reshape(prod(outer), 3, pixels), grey.reshape(prod(outer), pixels), LUMA)
        return grey

    return run


@rounding_loop
def blend_loop(plane, other, result, share, factor, white, lo, hi):
    """The blends of the pixels from lo to hi with those of another plane."""
    for i in range(lo, hi):
        value = np.float64(np.float32(plane[i]) * share) + factor * np.float64(other[i])
        result[i] = np.uint8(np.int32(min(max(np.float32(value), np.float32(0)), white)))


@rounding_loop
def blend_value_loop(plane, other, result, share, factor, white, lo, hi):
    """The blends of the pixels from lo to hi with one value."""
    product = factor * np.float64(other[0])
    for i in range(lo, hi):
        value = np.float64(np.float32(plane[i]) * share) + product
        result[i] = np.uint8(np.int32(min(max(np.float32(value), np.float32(0)), white)))


@launcher
def blend(image, other, result, share, factor, white):
    """The blends of images (N, C, pixels) with planes (N, pixels), or values (N, 1)."""
    pixels = image.shape[2]
    for n in range(len(image)):
        for channel in range(image.shape[1]):
            arguments = (image[n, channel], other[n], result[n, channel], share, factor, white)
            if other.shape[1] == pixels:
                parallel(blend_loop, arguments, pixels, pixels)
            else:
                parallel(blend_value_loop, arguments, pixels, pixels)


@register_kernel("vision::blend_integers", dtypes="uint8", min_size=MIN_SIZE_FUSED, bitwise=True)
def blend_kernel(generic: Kernel) -> Kernel:
    """Bytes blended with a grey image, or with a value for each image."""

    def run(image: Array, other: Array, share: float, white: int) -> Array:
        *outer, channels, height, width = image.shape
        planes = [(*outer, 1, height, width), (*outer, 1, 1, 1)]
        if other.dtype != np.float32 or other.shape not in planes:
            return generic(image, other, share, white)  # type: ignore[no-any-return]
        result = np.empty(image.shape, np.uint8)
        flat = (prod(outer), channels, height * width)
        values = np.ascontiguousarray(other).reshape(flat[0], -1)
        factor = np.float64(np.float32(1.0 - share))
        blend(image.reshape(flat), values, result.reshape(flat), np.float32(share), factor, np.float32(white))
        return result

    return run
