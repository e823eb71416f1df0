"""Layer norm, RMS norm and group norm, forward and backward.

The statistics of a row take two passes over it, which find it in the first cache after the first. What a backward pass
sums over rows (the gradients of weight and bias) is summed for blocks of rows side by side, then over the blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend import BySize
from weft.backend_cpu.compiled.mathematics import like
from weft.backend_cpu.compiled.parallel import GRAIN, launcher, loop, parallel
from weft.backend_cpu.libraries import LEAST, serves

REAL = "float32 float64"
MOST_BLOCKS = 32


def contiguous(array: Any) -> Any:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def parameter(array: Any, size: int, default: float, like: Any) -> Any:
    """A weight or bias, flat; where there is none, what does nothing."""
    return np.full(size, default, like.dtype) if array is None else contiguous(array).reshape(-1)


@launcher
def block_count(rows, size):
    """How many blocks of rows have sums of their own."""
    return min(max(size // (4 * GRAIN), 1), min(rows, MOST_BLOCKS))


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


@serves("nn::layer_norm", REAL)
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

    return BySize(generic, run, LEAST)


@loop
def layer_norm_backward_blocks(grad, x, weight, means, inverses, y, sums, lo, hi):
    size = x.shape[1]
    for block in range(lo, hi):
        by_weight, by_bias = sums[block, 0], sums[block, 1]
        by_weight[:] = 0
        by_bias[:] = 0
        for row in range(part_of(block, sums.shape[0], x.shape[0]), part_of(block + 1, sums.shape[0], x.shape[0])):
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


@serves("nn::layer_norm_gradient", REAL)
def layer_norm_gradient_kernel(generic: Any) -> Any:
    def run(grad: Any, input: Any, weight: Any, mean: Any, inverse: Any, count: int) -> Any:
        if not input.size or (weight is not None and weight.dtype != input.dtype) or grad.dtype != input.dtype:
            return generic(grad, input, weight, mean, inverse, count)
        shape = input.shape
        parts = shape[len(shape) - count :]
        size = math.prod(parts)
        y, result = np.empty(shape, input.dtype), np.empty((2, size), input.dtype)
        rows = contiguous(grad).reshape(-1, size), contiguous(input).reshape(-1, size)
        statistics = contiguous(mean).reshape(-1), contiguous(inverse).reshape(-1)
        layer_norm_backward(*rows, parameter(weight, size, 1, input), *statistics, y.reshape(-1, size), result)
        return y, result[0].reshape(parts), result[1].reshape(parts)

    return BySize(generic, run, LEAST)
