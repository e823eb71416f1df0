"""Batch norm in training and its gradients, and by given statistics.

Where the channels come first, the rows of a channel stay in the second cache while its statistics are found and used,
so that memory is read once. Where they are innermost (also in a batch of vectors), a few channels at a time do. Sums
over rows are kept in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.backend import is_channels_last
from weft.backend_cpu import threads
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.layouts import contiguous, new_images, parameter
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]
REAL = "float32 float64"
BLOCK = 256  # channels side by side, at most, where they are innermost
CHUNK = 32  # rows that are summed in the arrays' own precision


# Channels first: arrays are (N, C, places).


@loop
def forward_loop(x, weight, bias, y, means, variances, eps, lo, hi):
    """The channels from lo to hi."""
    images, places = x.shape[0], x.shape[2]
    for c in range(lo, hi):
        total = 0.0
        for n in range(images):
            row = x.dtype.type(0)
            for i in range(places):
                row += x[n, c, i]
            total += row
        mean = x.dtype.type(total / (images * places))
        total = 0.0
        for n in range(images):
            row = x.dtype.type(0)
            for i in range(places):
                row += (x[n, c, i] - mean) * (x[n, c, i] - mean)
            total += row
        variance = x.dtype.type(total / (images * places))
        scale = weight[c] / np.sqrt(variance + x.dtype.type(eps))
        shift = bias[c]
        for n in range(images):
            for i in range(places):
                y[n, c, i] = (x[n, c, i] - mean) * scale + shift
        means[c], variances[c] = mean, variance


@launcher
def forward(x, weight, bias, y, means, variances, eps):
    """All channels."""
    parallel(forward_loop, (x, weight, bias, y, means, variances, eps), x.shape[1], 2 * x.size)


@loop
def backward_loop(grad, x, weight, means, variances, y, by_weight, by_bias, eps, lo, hi):
    """The channels from lo to hi."""
    images, places = x.shape[0], x.shape[2]
    for c in range(lo, hi):
        mean = means[c]
        inverse = x.dtype.type(1) / np.sqrt(variances[c] + x.dtype.type(eps))
        total, slope = 0.0, 0.0
        for n in range(images):
            row, product = x.dtype.type(0), x.dtype.type(0)
            for i in range(places):
                row += grad[n, c, i]
                product += grad[n, c, i] * (x[n, c, i] - mean)
            total += row
            slope += product
        average = x.dtype.type(total / (images * places))
        tilt = x.dtype.type(slope * inverse * inverse / (images * places))
        scale = inverse * weight[c]
        for n in range(images):
            for i in range(places):
                y[n, c, i] = (grad[n, c, i] - average - (x[n, c, i] - mean) * tilt) * scale
        by_weight[c], by_bias[c] = slope * inverse, total


@launcher
def backward(grad, x, weight, means, variances, y, by_weight, by_bias, eps):
    """All channels."""
    arrays = (grad, x, weight, means, variances, y, by_weight, by_bias, eps)
    parallel(backward_loop, arrays, x.shape[1], 3 * x.size)


# Channels innermost: arrays are (rows, C).


def width_of(channels: int) -> int:
    """The number of channels side by side: many, as memory is read in pieces, but some for each thread."""
    each = -(-channels // threads.count())
    return min(max(-(-each // 16) * 16, 64), BLOCK)


@loop
def statistics_of(x, start, size, mean, total):
    """The means of some channels, and the sums of their squared distances from these; memory is read once.

    They are found for chunks of rows, which stay in the cache, and merged by the formulas of Chan, Golub and LeVeque
    (1979).
    """
    rows, zero = np.uintp(x.shape[0]), x.dtype.type(0)
    centre, part = np.empty(BLOCK, x.dtype), np.empty(BLOCK, x.dtype)
    for i in range(size):
        mean[i], total[i] = 0, 0
    for first in range(np.uintp(0), rows, np.uintp(CHUNK)):
        stop = min(first + np.uintp(CHUNK), rows)
        count, seen = np.float64(stop - first), np.float64(first)
        for i in range(size):
            centre[i] = zero
        for r in range(first, stop):
            for i in range(size):
                centre[i] += x[r, start + i]
        for i in range(size):
            centre[i] = centre[i] / count
            part[i] = zero
        for r in range(first, stop):
            for i in range(size):
                distance = x[r, start + i] - centre[i]
                part[i] += distance * distance
        for i in range(size):
            way = centre[i] - mean[i]
            mean[i] += way * (count / (seen + count))
            total[i] += part[i] + way * way * (seen * count / (seen + count))


@loop
def forward_last_loop(x, weight, bias, y, means, variances, eps, width, lo, hi):
    """The blocks of channels from lo to hi."""
    rows = np.uintp(x.shape[0])
    centre, total = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.float64)
    mean, scale, shift = np.empty(BLOCK, x.dtype), np.empty(BLOCK, x.dtype), np.empty(BLOCK, x.dtype)
    for block in range(lo, hi):
        start = block * width
        size = min(np.uintp(x.shape[1]) - start, width)
        statistics_of(x, start, size, centre, total)
        for i in range(size):
            c = start + i
            mean[i], variances[c] = centre[i], total[i] / rows
            means[c] = mean[i]
            scale[i] = weight[c] / np.sqrt(variances[c] + x.dtype.type(eps))
            shift[i] = bias[c]
        for r in range(rows):
            for i in range(size):
                y[r, start + i] = (x[r, start + i] - mean[i]) * scale[i] + shift[i]


@launcher
def forward_last(x, weight, bias, y, means, variances, eps, width):
    """All blocks."""
    arguments = (x, weight, bias, y, means, variances, eps, np.uintp(width))
    parallel(forward_last_loop, arguments, (x.shape[1] + width - 1) // width, 2 * x.size)


@loop
def backward_last_loop(grad, x, weight, means, variances, y, by_weight, by_bias, eps, width, lo, hi):
    """The blocks of channels from lo to hi."""
    rows = np.uintp(x.shape[0])
    total, slope = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.float64)
    part, product = np.empty(BLOCK, x.dtype), np.empty(BLOCK, x.dtype)
    mean, average, tilt = np.empty(BLOCK, x.dtype), np.empty(BLOCK, x.dtype), np.empty(BLOCK, x.dtype)
    scale = np.empty(BLOCK, x.dtype)
    for block in range(lo, hi):
        start = block * width
        size = min(np.uintp(x.shape[1]) - start, width)
        for i in range(size):
            mean[i], total[i], slope[i] = means[start + i], 0, 0
        for first in range(np.uintp(0), rows, np.uintp(CHUNK)):
            part[:] = 0
            product[:] = 0
            for r in range(first, min(first + np.uintp(CHUNK), rows)):
                for i in range(size):
                    part[i] += grad[r, start + i]
                    product[i] += grad[r, start + i] * (x[r, start + i] - mean[i])
            for i in range(size):
                total[i] += part[i]
                slope[i] += product[i]
        for i in range(size):
            c = start + i
            inverse = x.dtype.type(1) / np.sqrt(variances[c] + x.dtype.type(eps))
            average[i], tilt[i] = total[i] / rows, slope[i] * inverse * inverse / rows
            scale[i] = inverse * weight[c]
            by_weight[c], by_bias[c] = slope[i] * inverse, total[i]
        for r in range(rows):
            for i in range(size):
                c = start + i
                y[r, c] = (grad[r, c] - average[i] - (x[r, c] - mean[i]) * tilt[i]) * scale[i]


@launcher
def backward_last(grad, x, weight, means, variances, y, by_weight, by_bias, eps, width):
    """All blocks."""
    arguments = (grad, x, weight, means, variances, y, by_weight, by_bias, eps, np.uintp(width))
    parallel(backward_last_loop, arguments, (x.shape[1] + width - 1) // width, 3 * x.size)


# By given statistics: each channel times a number, plus another one


@loop
def affine_loop(x, scale, shift, y, lo, hi):
    for row in range(lo, hi):
        c = row % np.uintp(len(scale))
        factor, summand = scale[c], shift[c]
        for i in range(np.uintp(x.shape[1])):
            y[row, i] = x[row, i] * factor + summand


@loop
def affine_last_loop(x, scale, shift, y, lo, hi):
    for row in range(lo, hi):
        for c in range(np.uintp(x.shape[1])):
            y[row, c] = x[row, c] * scale[c] + shift[c]


@launcher
def affine(x, scale, shift, y):
    parallel(affine_loop, (x, scale, shift, y), len(x), x.size)


@launcher
def affine_last(x, scale, shift, y):
    parallel(affine_last_loop, (x, scale, shift, y), len(x), x.size)


# Kernels


def is_last(array: Array) -> bool:
    """Whether the channels are innermost."""
    return array.ndim == 2 or is_channels_last(array)


def with_places(array: Array) -> Array:
    """A contiguous (N, C, *spatial) as (N, C, places)."""
    return array.reshape(array.shape[0], array.shape[1], -1)


def as_rows(array: Array) -> Array:
    """An array with the channels innermost as (rows, C), in C order."""
    return contiguous(array.transpose(0, *range(2, array.ndim), 1).reshape(-1, array.shape[1]))


def is_uniform(input: Array, *others: Array | None) -> bool:
    """Whether there is something to compute, in one dtype."""
    return bool(input.size) and all(each is None or each.dtype == input.dtype for each in others)


@register_kernel("nn::batch_norm_training", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def batch_norm_training(generic: Kernel) -> Kernel:
    """The input normalized by channel, with the means and biased variances."""

    def run(input: Array, weight: Array | None, bias: Array | None, eps: float) -> Any:
        if not is_uniform(input, weight, bias):
            return generic(input, weight, bias, eps)
        scale, shift = parameter(weight, input.shape[1], 1, input), parameter(bias, input.shape[1], 0, input)
        mean, variance = np.empty(input.shape[1], input.dtype), np.empty(input.shape[1], input.dtype)
        if is_last(input):
            result = new_images(input.shape, input.dtype, True)
            arrays = as_rows(input), scale, shift, as_rows(result), mean, variance
            forward_last(*arrays, float(eps), width_of(len(mean)))
        else:
            result = np.empty(input.shape, input.dtype)
            x = with_places(contiguous(input))
            forward(x, scale, shift, with_places(result), mean, variance, float(eps))
        return result, mean, variance

    return run


@register_kernel("nn::batch_norm_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def batch_norm_gradient(generic: Kernel) -> Kernel:
    """The gradients with respect to input, weight and bias."""

    def run(grad: Array, input: Array, weight: Array | None, mean: Array, variance: Array, eps: float) -> Any:
        if not is_uniform(input, grad, weight, mean, variance):
            return generic(grad, input, weight, mean, variance, eps)
        scale = parameter(weight, input.shape[1], 1, input)
        by_weight, by_bias = np.empty(input.shape[1], input.dtype), np.empty(input.shape[1], input.dtype)
        statistics = contiguous(mean), contiguous(variance)
        if is_last(input):
            result = new_images(input.shape, input.dtype, True)
            rows = as_rows(grad), as_rows(input)
            results = as_rows(result), by_weight, by_bias
            backward_last(*rows, scale, *statistics, *results, float(eps), width_of(len(by_bias)))
        else:
            result = np.empty(input.shape, input.dtype)
            arrays = with_places(contiguous(grad)), with_places(contiguous(input)), scale, *statistics
            backward(*arrays, with_places(result), by_weight, by_bias, float(eps))
        return result, by_weight, by_bias

    return run


def by_numbers(input: Array, scale: Array, shift: Array) -> Array:
    """The input times a number for each channel, plus another one."""
    if is_last(input):
        result = new_images(input.shape, input.dtype, True)
        affine_last(as_rows(input), scale, shift, as_rows(result))
    else:
        result = np.empty(input.shape, input.dtype)
        places = input.size // (len(input) * len(scale))
        affine(contiguous(input).reshape(-1, places), scale, shift, result.reshape(-1, places))
    return result


@register_kernel("nn::channel_affine", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def channel_affine(generic: Kernel) -> Kernel:
    """The input times a number for each channel, plus another one or none."""

    def run(input: Array, scale: Array, shift: Array | None) -> Any:
        if not is_uniform(input, scale, shift):
            return generic(input, scale, shift)
        return by_numbers(input, contiguous(scale), parameter(shift, input.shape[1], 0, input))

    return run


@register_kernel("nn::normalized", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def normalized(generic: Kernel) -> Kernel:
    """The input normalized with given statistics."""

    def run(input: Array, mean: Array, variance: Array, weight: Any, bias: Any, eps: float) -> Any:
        if not is_uniform(input, mean, variance, weight, bias):
            return generic(input, mean, variance, weight, bias, eps)
        scale = np.sqrt(variance + variance.dtype.type(eps))
        np.divide(1 if weight is None else weight, scale, out=scale)
        shift = mean * scale
        np.subtract(0 if bias is None else bias, shift, out=shift)
        return by_numbers(input, scale, shift)

    return run
