"""Layer norm, RMS norm and group norm, forward and backward.

The statistics of a row take two passes over it, the second of which finds it in the first cache. The gradients of
weight and bias are sums over rows: they are summed for blocks of rows, then over the blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.float16 import BITS, narrow, rows_at_once, widen
from weft.backend_cpu.compiled.codegen.mathematics import like
from weft.backend_cpu.compiled.codegen.parallel import GRAIN, launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.layouts import contiguous, flat, parameter
from weft.backend_cpu.registry import HALF, MIN_SIZE_FUSED, register_kernel

REAL = "float32 float64"
MAX_BLOCKS = 32


@launcher
def block_count(rows, size):
    """The number of blocks of rows, each with sums of its own."""
    return min(max(size // (4 * GRAIN), 1), min(rows, MAX_BLOCKS))


@loop
def part_of(block, blocks, rows):
    """The first row of a block."""
    return block * np.uintp(rows) // np.uintp(blocks)


# Layer norm


@loop
def layer_norm_rows(x, weight, bias, y, means, inverses, eps, lo, hi):
    size = x.shape[1]
    for row in range(lo, hi):
        mean = like(x[row, 0], 0.0)
        for j in range(size):
            mean += x[row, j]
        mean /= like(mean, size)
        variance = like(mean, 0.0)
        for j in range(size):
            variance += (x[row, j] - mean) * (x[row, j] - mean)
        inverse = like(mean, 1.0) / np.sqrt(variance / like(mean, size) + like(mean, eps))
        for j in range(size):
            y[row, j] = (x[row, j] - mean) * inverse * weight[j] + bias[j]
        means[row] = mean
        inverses[row] = inverse


@launcher
def layer_norm(x, weight, bias, y, means, inverses, eps):
    parallel(layer_norm_rows, (x, weight, bias, y, means, inverses, eps), x.shape[0], x.size)


@register_kernel("nn::layer_norm", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def layer_norm_kernel(generic: Any) -> Any:
    def run(input: Any, weight: Any, bias: Any, count: int, eps: float) -> Any:
        if not input.size or any(each is not None and each.dtype != input.dtype for each in (weight, bias)):
            return generic(input, weight, bias, count, eps)
        shape = input.shape
        split = len(shape) - count
        size = math.prod(shape[split:])
        y = np.empty(shape, input.dtype)
        kept = (*shape[:split], *(1,) * count)
        mean, inverse = np.empty(kept, input.dtype), np.empty(kept, input.dtype)
        weight, bias = parameter(weight, size, 1, input), parameter(bias, size, 0, input)
        x = contiguous(input).reshape(-1, size)
        layer_norm(x, weight, bias, y.reshape(-1, size), mean.reshape(-1), inverse.reshape(-1), float(eps))
        return y, mean, inverse

    return run


@loop
def layer_norm_backward_rows(grad, x, weight, means, inverses, y, by_weight, by_bias, first, stop):
    size = x.shape[1]
    for row in range(first, stop):
        mean, inverse = means[row], inverses[row]
        average, slope = like(mean, 0.0), like(mean, 0.0)
        for j in range(size):
            normal = (x[row, j] - mean) * inverse
            by_weight[j] += grad[row, j] * normal
            by_bias[j] += grad[row, j]
            inner = grad[row, j] * weight[j]
            average += inner
            slope += inner * normal
        average /= like(mean, size)
        slope /= like(mean, size)
        for j in range(size):
            normal = (x[row, j] - mean) * inverse
            y[row, j] = (grad[row, j] * weight[j] - average - normal * slope) * inverse


@loop
def layer_norm_backward_blocks(grad, x, weight, means, inverses, y, sums, lo, hi):
    for block in range(lo, hi):
        sums[block] = 0
        first, stop = part_of(block, sums.shape[0], x.shape[0]), part_of(block + 1, sums.shape[0], x.shape[0])
        by_weight, by_bias = sums[block, 0], sums[block, 1]
        layer_norm_backward_rows(grad, x, weight, means, inverses, y, by_weight, by_bias, first, stop)


@launcher
def layer_norm_backward(grad, x, weight, means, inverses, y, result):
    sums = np.empty((block_count(x.shape[0], x.size), 2, x.shape[1]), x.dtype)
    arguments = (grad, x, weight, means, inverses, y, sums)
    parallel(layer_norm_backward_blocks, arguments, sums.shape[0], 2 * x.size)
    add_up(sums, result)


@loop
def add_up(sums, result):
    """The sums of all blocks."""
    result[:] = 0
    for block in range(sums.shape[0]):
        for k in range(sums.shape[1]):
            for j in range(sums.shape[2]):
                result[k, j] += sums[block, k, j]


@register_kernel("nn::layer_norm_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def layer_norm_gradient_kernel(generic: Any) -> Any:
    def run(grad: Any, input: Any, weight: Any, mean: Any, inverse: Any, count: int) -> Any:
        if not input.size or (weight is not None and weight.dtype != input.dtype) or grad.dtype != input.dtype:
            return generic(grad, input, weight, mean, inverse, count)
        shape = input.shape
        parts = shape[len(shape) - count :]
        size = math.prod(parts)
        y, result = np.empty(shape, input.dtype), np.empty((2, size), input.dtype)
        rows = contiguous(grad).reshape(-1, size), contiguous(input).reshape(-1, size)
        statistics = flat(mean), flat(inverse)
        layer_norm_backward(*rows, parameter(weight, size, 1, input), *statistics, y.reshape(-1, size), result)
        return y, result[0].reshape(parts), result[1].reshape(parts)

    return run


# Layer norm of half precision: by the same loops, a few rows at a time, as float32


@loop
def half_norm_rows(x, weight, bias, y, means, inverses, eps, lo, hi):
    size = np.uintp(weight.size)
    step = rows_at_once(size)
    values, result = np.empty((step, size), np.float32), np.empty((step, size), np.float32)
    for row in range(lo, hi, step):
        count = min(step, hi - row)
        widen(x, row * size, count * size, values)
        parts = means[row : row + count], inverses[row : row + count]
        layer_norm_rows(values, weight, bias, result, parts[0], parts[1], eps, np.uintp(0), count)
        narrow(result, count * size, y, row * size)


@launcher
def half_norm(x, weight, bias, y, means, inverses, eps):
    parallel(half_norm_rows, (x, weight, bias, y, means, inverses, eps), means.size, x.size)


@loop
def half_norm_backward_blocks(grad, x, weight, means, inverses, y, sums, lo, hi):
    size, rows = np.uintp(weight.size), means.size
    step = rows_at_once(size)
    slopes, values = np.empty((step, size), np.float32), np.empty((step, size), np.float32)
    result = np.empty((step, size), np.float32)
    for block in range(lo, hi):
        sums[block] = 0
        by_weight, by_bias, stop = sums[block, 0], sums[block, 1], part_of(block + 1, sums.shape[0], rows)
        for row in range(part_of(block, sums.shape[0], rows), stop, step):
            count = min(step, stop - row)
            widen(grad, row * size, count * size, slopes)
            widen(x, row * size, count * size, values)
            mean, inverse = means[row : row + count], inverses[row : row + count]
            arrays = (slopes, values, weight, mean, inverse, result, by_weight, by_bias)
            layer_norm_backward_rows(*arrays, np.uintp(0), count)
            narrow(result, count * size, y, row * size)


@launcher
def half_norm_backward(grad, x, weight, means, inverses, y, result):
    sums = np.empty((block_count(means.size, x.size), 2, weight.size), np.float32)
    parallel(half_norm_backward_blocks, (grad, x, weight, means, inverses, y, sums), sums.shape[0], 2 * x.size)
    add_up(sums, result)


def bits_of(array: Any) -> Any:
    """An array of half precision as compiled loops take it: flat."""
    return flat(array).view(BITS[array.dtype])


def in_single(array: Any, size: int, default: float) -> Any:
    """A weight, a bias or statistics, flat in float32; where there are none, what does nothing."""
    if array is None:
        return np.full(size, default, np.float32)
    return np.asarray(flat(array), np.float32)


@register_kernel("nn::layer_norm", dtypes=HALF, min_size=MIN_SIZE_FUSED)
def half_norm_kernel(generic: Any) -> Any:
    def run(input: Any, weight: Any, bias: Any, count: int, eps: float) -> Any:
        if not input.size or any(each is not None and each.dtype != input.dtype for each in (weight, bias)):
            return generic(input, weight, bias, count, eps)
        shape, element = input.shape, input.dtype
        split = len(shape) - count
        size = math.prod(shape[split:])
        y, kept = np.empty(shape, element), (*shape[:split], *(1,) * count)
        mean, inverse = np.empty(kept, np.float32), np.empty(kept, np.float32)
        scale, shift = in_single(weight, size, 1), in_single(bias, size, 0)
        half_norm(bits_of(input), scale, shift, bits_of(y), mean.reshape(-1), inverse.reshape(-1), float(eps))
        return y, mean.astype(element), inverse.astype(element)

    return run


@register_kernel("nn::layer_norm_gradient", dtypes=HALF, min_size=MIN_SIZE_FUSED)
def half_norm_gradient_kernel(generic: Any) -> Any:
    def run(grad: Any, input: Any, weight: Any, mean: Any, inverse: Any, count: int) -> Any:
        if not input.size or (weight is not None and weight.dtype != input.dtype) or grad.dtype != input.dtype:
            return generic(grad, input, weight, mean, inverse, count)
        shape, element = input.shape, input.dtype
        parts = shape[len(shape) - count :]
        size = math.prod(parts)
        y, result = np.empty(shape, element), np.empty((2, size), np.float32)
        statistics = in_single(weight, size, 1), in_single(mean, 1, 0), in_single(inverse, 1, 1)
        half_norm_backward(bits_of(grad), bits_of(input), *statistics, bits_of(y), result)
        by_weight, by_bias = result.astype(element)
        return y, by_weight.reshape(parts), by_bias.reshape(parts)

    return run


# RMS norm


@loop
def rms_norm_rows(x, weight, y, inverses, eps, lo, hi):
    size = x.shape[1]
    for row in range(lo, hi):
        square = like(x[row, 0], 0.0)
        for j in range(size):
            square += x[row, j] * x[row, j]
        inverse = like(square, 1.0) / np.sqrt(square / like(square, size) + like(square, eps))
        for j in range(size):
            y[row, j] = x[row, j] * inverse * weight[j]
        inverses[row] = inverse


@launcher
def rms_norm(x, weight, y, inverses, eps):
    parallel(rms_norm_rows, (x, weight, y, inverses, eps), x.shape[0], x.size)


@register_kernel("nn::rms_norm", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def rms_norm_kernel(generic: Any) -> Any:
    def run(input: Any, weight: Any, count: int, eps: float) -> Any:
        if not input.size:
            return generic(input, weight, count, eps)
        shape = input.shape
        split = len(shape) - count
        size = math.prod(shape[split:])
        y, inverse = np.empty(shape, input.dtype), np.empty((*shape[:split], *(1,) * count), input.dtype)
        x = contiguous(input).reshape(-1, size)
        rms_norm(x, parameter(weight, size, 1, input), y.reshape(-1, size), inverse.reshape(-1), float(eps))
        return y, inverse

    return run


@loop
def rms_norm_backward_blocks(grad, x, weight, inverses, y, sums, lo, hi):
    size = x.shape[1]
    for block in range(lo, hi):
        by_weight = sums[block, 0]
        by_weight[:] = 0
        for row in range(part_of(block, sums.shape[0], x.shape[0]), part_of(block + 1, sums.shape[0], x.shape[0])):
            inverse = inverses[row]
            slope = like(inverse, 0.0)
            for j in range(size):
                normal = x[row, j] * inverse
                by_weight[j] += grad[row, j] * normal
                slope += grad[row, j] * weight[j] * normal
            slope /= like(slope, size)
            for j in range(size):
                y[row, j] = (grad[row, j] * weight[j] - x[row, j] * inverse * slope) * inverse


@launcher
def rms_norm_backward(grad, x, weight, inverses, y, result):
    sums = np.empty((block_count(x.shape[0], x.size), 1, x.shape[1]), x.dtype)
    parallel(rms_norm_backward_blocks, (grad, x, weight, inverses, y, sums), sums.shape[0], 2 * x.size)
    add_up(sums, result)


@register_kernel("nn::rms_norm_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def rms_norm_gradient_kernel(generic: Any) -> Any:
    def run(grad: Any, input: Any, weight: Any, inverse: Any, count: int) -> Any:
        if not input.size or grad.dtype != input.dtype:
            return generic(grad, input, weight, inverse, count)
        shape = input.shape
        parts = shape[len(shape) - count :]
        size = math.prod(parts)
        y, result = np.empty(shape, input.dtype), np.empty((1, size), input.dtype)
        rows = contiguous(grad).reshape(-1, size), contiguous(input).reshape(-1, size)
        scale = parameter(weight, size, 1, input)
        rms_norm_backward(*rows, scale, flat(inverse), y.reshape(-1, size), result)
        return y, result.reshape(parts)

    return run


# Group norm: samples (groups, channels of a group, places)


@loop
def group_norm_rows(x, weight, bias, y, means, inverses, eps, lo, hi):
    channels, places = x.shape[2], x.shape[3]
    for row in range(lo, hi):
        sample, group = row // np.uintp(x.shape[1]), row % np.uintp(x.shape[1])
        part = x[sample, group].reshape(channels * places)
        mean = like(part[0], 0.0)
        for j in range(part.size):
            mean += part[j]
        mean /= like(mean, part.size)
        variance = like(mean, 0.0)
        for j in range(part.size):
            variance += (part[j] - mean) * (part[j] - mean)
        inverse = like(mean, 1.0) / np.sqrt(variance / like(mean, part.size) + like(mean, eps))
        for channel in range(channels):
            scale, shift = inverse * weight[group, channel], bias[group, channel]
            for j in range(places):
                y[sample, group, channel, j] = (x[sample, group, channel, j] - mean) * scale + shift
        means[sample, group] = mean
        inverses[sample, group] = inverse


@launcher
def group_norm(x, weight, bias, y, means, inverses, eps):
    parallel(group_norm_rows, (x, weight, bias, y, means, inverses, eps), x.shape[0] * x.shape[1], x.size)


MIN_PLACES = 8  # of a channel that are worth vector code


def grouped(array: Any, groups: int) -> Any:
    """(N, C, ...) as (N, groups, C / groups, places)."""
    batch, channels = array.shape[:2]
    return contiguous(array).reshape(batch, groups, channels // groups, -1)


@register_kernel("nn::group_norm", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def group_norm_kernel(generic: Any) -> Any:
    def run(input: Any, weight: Any, bias: Any, groups: int, eps: float) -> Any:
        if input.size < MIN_PLACES * input.shape[0] * input.shape[1] or not input.size:
            return generic(input, weight, bias, groups, eps)
        batch, channels = input.shape[:2]
        y = np.empty(input.shape, input.dtype)
        mean, inverse = np.empty((batch, groups), input.dtype), np.empty((batch, groups), input.dtype)
        scale, shift = (
            parameter(each, channels, default, input).reshape(groups, -1) for each, default in ((weight, 1), (bias, 0))
        )
        group_norm(grouped(input, groups), scale, shift, grouped(y, groups), mean, inverse, float(eps))
        return y, mean, inverse

    return run


@loop
def group_norm_backward_rows(grad, x, weight, means, inverses, y, sums, lo, hi):
    channels, places = x.shape[2], x.shape[3]
    for row in range(lo, hi):
        sample, group = row // np.uintp(x.shape[1]), row % np.uintp(x.shape[1])
        mean, inverse = means[sample, group], inverses[sample, group]
        average, slope = like(mean, 0.0), like(mean, 0.0)
        for channel in range(channels):
            by_weight, by_bias = like(mean, 0.0), like(mean, 0.0)
            for j in range(places):
                by_weight += grad[sample, group, channel, j] * (x[sample, group, channel, j] - mean)
                by_bias += grad[sample, group, channel, j]
            by_weight *= inverse
            average += weight[group, channel] * by_bias
            slope += weight[group, channel] * by_weight
            sums[sample, 0, group, channel] = by_weight
            sums[sample, 1, group, channel] = by_bias
        average *= inverse / like(mean, channels * places)
        slope *= inverse * inverse / like(mean, channels * places)
        for channel in range(channels):
            scale = inverse * weight[group, channel]
            for j in range(places):
                centred = x[sample, group, channel, j] - mean
                y[sample, group, channel, j] = grad[sample, group, channel, j] * scale - average - centred * slope


@launcher
def group_norm_backward(grad, x, weight, means, inverses, y, result):
    sums = np.empty((x.shape[0], 2, x.shape[1], x.shape[2]), x.dtype)
    arguments = (grad, x, weight, means, inverses, y, sums)
    parallel(group_norm_backward_rows, arguments, x.shape[0] * x.shape[1], 2 * x.size)
    add_up(sums.reshape(x.shape[0], 2, x.shape[1] * x.shape[2]), result)


@register_kernel("nn::group_norm_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def group_norm_gradient_kernel(generic: Any) -> Any:
    def run(grad: Any, input: Any, weight: Any, mean: Any, inverse: Any, groups: int) -> Any:
        if input.size < MIN_PLACES * input.shape[0] * input.shape[1] or not input.size or grad.dtype != input.dtype:
            return generic(grad, input, weight, mean, inverse, groups)
        channels = input.shape[1]
        y, result = np.empty(input.shape, input.dtype), np.empty((2, channels), input.dtype)
        scale = parameter(weight, channels, 1, input).reshape(groups, -1)
        parts = grouped(grad, groups), grouped(input, groups), scale, contiguous(mean), contiguous(inverse)
        group_norm_backward(*parts, grouped(y, groups), result)
        return y, result[0], result[1]

    return run
