"""Depthwise convolutions, where each channel has kernels of its own, and their gradients.

For what oneDNN has no fast kernel for: float64, and three dimensions. They are no matrix products, and NumPy would go
through memory once for each element of a kernel. All shapes are 3-D, with sizes of 1 in front for missing dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.layouts import flat, three
from weft.backend_cpu.compiled.kernels.pooling import first_window, last_window
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]
Sizes = tuple[int, ...]

REAL = "float32 float64"


@loop
def add_products(x, at, step, factor, y, to, count):
    """Add a row times a weight."""
    for i in range(np.uintp(count)):
        y[to + i] += x[at + i * step] * factor


@loop
def spread_products(x, at, factor, y, to, step, count):
    """Add a row times a weight to the elements that it was computed from."""
    for i in range(np.uintp(count)):
        y[to + i * step] += x[at + i] * factor


@loop
def sum_products(x, at, y, to, step, count):
    """The sum of the products of two rows."""
    total = x.dtype.type(0)
    for i in range(np.uintp(count)):
        total += x[at + i] * y[to + i * step]
    return total


@loop
def forward_loop(x, weight, y, outputs, each, spatial, out, kernel, stride, padding, dilation, steps, lo, hi):
    """The rows of the result from lo to hi."""
    step = stride[2]
    for number in range(np.int64(lo), np.int64(hi)):
        plane, a, b = number // (out[0] * out[1]), number // out[1] % out[0], number % out[1]
        source, tap, to = plane // each, plane % outputs * kernel[0] * kernel[1] * kernel[2], number * out[2]
        y[to : to + out[2]] = 0
        for i in range(kernel[0]):
            d = a * stride[0] - padding[0] + i * dilation[0]
            for j in range(kernel[1]):
                h = b * stride[1] - padding[1] + j * dilation[1]
                if d < 0 or d >= spatial[0] or h < 0 or h >= spatial[1]:
                    continue
                row = ((source * spatial[0] + d) * spatial[1] + h) * spatial[2]
                for k in range(kernel[2]):
                    offset = k * dilation[2] - padding[2]
                    start = first_window(offset, step)
                    count = last_window(offset, step, spatial[2], out[2]) - start
                    if count > 0:
                        at, factor = (
                            np.uintp(row + start * step + offset),
                            weight[tap + (i * kernel[1] + j) * kernel[2] + k],
                        )
                        add_products(x, at, np.uintp(len(steps) or step), factor, y, np.uintp(to + start), count)


@launcher
def forward(x, weight, y, outputs, each, spatial, out, kernel, stride, padding, dilation, steps):
    work = y.size * kernel[0] * kernel[1] * kernel[2]
    sizes = (outputs, each, spatial, out, kernel, stride, padding, dilation, steps)
    parallel(forward_loop, (x, weight, y, *sizes), y.size // out[2], work)


@loop
def window_of(place, offset, stride, windows):
    """Which window has a place at this offset; -1 if none has."""
    position = place - offset
    if position < 0 or position % stride or position // stride >= windows:
        return -1
    return position // stride


@loop
def by_input_loop(grad, weight, x, outputs, each, spatial, out, kernel, stride, padding, dilation, steps, lo, hi):
    """The rows of the input's gradient from lo to hi."""
    step = stride[2]
    for number in range(np.int64(lo), np.int64(hi)):
        plane, d, h = number // (spatial[0] * spatial[1]), number // spatial[1] % spatial[0], number % spatial[1]
        row = number * spatial[2]
        x[row : row + spatial[2]] = 0
        for m in range(each * kernel[0] * kernel[1]):
            target, i, j = plane * each + m // (kernel[0] * kernel[1]), m // kernel[1] % kernel[0], m % kernel[1]
            a = window_of(d, i * dilation[0] - padding[0], stride[0], out[0])
            b = window_of(h, j * dilation[1] - padding[1], stride[1], out[1])
            if a < 0 or b < 0:
                continue
            to = ((target * out[0] + a) * out[1] + b) * out[2]
            tap = ((target % outputs * kernel[0] + i) * kernel[1] + j) * kernel[2]
            for k in range(kernel[2]):
                offset = k * dilation[2] - padding[2]
                start = first_window(offset, step)
                count = last_window(offset, step, spatial[2], out[2]) - start
                if count > 0:
                    at = np.uintp(row + start * step + offset)
                    spread_products(
                        grad, np.uintp(to + start), weight[tap + k], x, at, np.uintp(len(steps) or step), count
                    )


@launcher
def by_input(grad, weight, x, outputs, each, spatial, out, kernel, stride, padding, dilation, steps):
    work = grad.size * kernel[0] * kernel[1] * kernel[2]
    sizes = (outputs, each, spatial, out, kernel, stride, padding, dilation, steps)
    parallel(by_input_loop, (grad, weight, x, *sizes), x.size // spatial[2], work)


@loop
def by_weight_loop(grad, x, weight, outputs, each, spatial, out, kernel, stride, padding, dilation, steps, lo, hi):
    """The gradients of the kernels of channels from lo to hi."""
    step, taps = stride[2], kernel[0] * kernel[1] * kernel[2]
    images = grad.size // (outputs * out[0] * out[1] * out[2])
    for number in range(np.int64(lo), np.int64(hi)):
        weight[number * taps : (number + 1) * taps] = 0
        for line in range(images * out[0] * out[1]):
            image, a, b = line // (out[0] * out[1]), line // out[1] % out[0], line % out[1]
            plane = image * outputs + number
            to = ((plane * out[0] + a) * out[1] + b) * out[2]
            for m in range(kernel[0] * kernel[1]):
                d = a * stride[0] - padding[0] + m // kernel[1] * dilation[0]
                h = b * stride[1] - padding[1] + m % kernel[1] * dilation[1]
                if d < 0 or d >= spatial[0] or h < 0 or h >= spatial[1]:
                    continue
                row = ((plane // each * spatial[0] + d) * spatial[1] + h) * spatial[2]
                for k in range(kernel[2]):
                    offset = k * dilation[2] - padding[2]
                    start = first_window(offset, step)
                    count = last_window(offset, step, spatial[2], out[2]) - start
                    if count > 0:
                        at = np.uintp(row + start * step + offset)
                        found = sum_products(grad, np.uintp(to + start), x, at, np.uintp(len(steps) or step), count)
                        weight[number * taps + m * kernel[2] + k] += found


@launcher
def by_weight(grad, x, weight, outputs, each, spatial, out, kernel, stride, padding, dilation, steps):
    work = grad.size * kernel[0] * kernel[1] * kernel[2]
    sizes = (outputs, each, spatial, out, kernel, stride, padding, dilation, steps)
    parallel(by_weight_loop, (grad, x, weight, *sizes), outputs, work)


# With a stride of 1, a zero-padded image is one long row for each element of the kernel: results at the ends of lines,
# where windows wrap around, are computed and dropped.


@loop
def fill(image, x, at, spatial, whole, padding):
    """Copy an image into a zero-padded one."""
    for line in range(spatial[0] * spatial[1]):
        d, h = line // spatial[1] + padding[0], line % spatial[1] + padding[1]
        to = np.uintp((d * whole[1] + h) * whole[2] + padding[2])
        for i in range(np.uintp(spatial[2])):
            image[to + i] = x[np.uintp(at + line * spatial[2]) + i]


@loop
def dense_loop(x, weight, y, outputs, each, spatial, out, kernel, whole, padding, dilation, lo, hi):
    """The images of the result from lo to hi."""
    image = np.zeros(whole[0] * whole[1] * whole[2], x.dtype)
    total = np.empty(out[1] * whole[2], x.dtype)
    count = (out[1] - 1) * whole[2] + out[2]
    for number in range(np.int64(lo), np.int64(hi)):
        fill(image, x, number // each * spatial[0] * spatial[1] * spatial[2], spatial, whole, padding)
        for a in range(out[0]):
            total[:] = 0
            tap = number % outputs * kernel[0] * kernel[1] * kernel[2]
            for m in range(kernel[0] * kernel[1]):
                line = (a + m // kernel[1] * dilation[0]) * whole[1] + m % kernel[1] * dilation[1]
                for k in range(kernel[2]):
                    at = np.uintp(line * whole[2] + k * dilation[2])
                    add_products(image, at, np.uintp(1), weight[tap + m * kernel[2] + k], total, np.uintp(0), count)
            for b in range(out[1]):
                to, at = np.uintp(((number * out[0] + a) * out[1] + b) * out[2]), np.uintp(b * whole[2])
                for i in range(np.uintp(out[2])):
                    y[to + i] = total[at + i]


@launcher
def dense(x, weight, y, outputs, each, spatial, out, kernel, whole, padding, dilation):
    places = out[0] * out[1] * out[2]
    sizes = (outputs, each, spatial, out, kernel, whole, padding, dilation)
    parallel(dense_loop, (x, weight, y, *sizes), y.size // places, y.size * kernel[0] * kernel[1] * kernel[2])


@loop
def dense_by_weight_loop(grad, x, weight, outputs, each, spatial, out, kernel, whole, padding, dilation, lo, hi):
    """The gradients of the kernels of channels from lo to hi."""
    image = np.zeros(whole[0] * whole[1] * whole[2], x.dtype)
    wide = np.zeros(out[1] * whole[2], x.dtype)
    count, taps = (out[1] - 1) * whole[2] + out[2], kernel[0] * kernel[1] * kernel[2]
    for number in range(np.int64(lo), np.int64(hi)):
        weight[number * taps : (number + 1) * taps] = 0
        for plane in range(number, grad.size // (out[0] * out[1] * out[2]), outputs):
            fill(image, x, plane // each * spatial[0] * spatial[1] * spatial[2], spatial, whole, padding)
            for a in range(out[0]):
                for b in range(out[1]):
                    at, to = np.uintp(((plane * out[0] + a) * out[1] + b) * out[2]), np.uintp(b * whole[2])
                    for i in range(np.uintp(out[2])):
                        wide[to + i] = grad[at + i]
                for m in range(taps):
                    i, j, k = m // (kernel[1] * kernel[2]), m // kernel[2] % kernel[1], m % kernel[2]
                    line = (a + i * dilation[0]) * whole[1] + j * dilation[1]
                    at = np.uintp(line * whole[2] + k * dilation[2])
                    weight[number * taps + m] += sum_products(wide, np.uintp(0), image, at, np.uintp(1), count)


@launcher
def dense_by_weight(grad, x, weight, outputs, each, spatial, out, kernel, whole, padding, dilation):
    sizes = (outputs, each, spatial, out, kernel, whole, padding, dilation)
    work = grad.size * kernel[0] * kernel[1] * kernel[2]
    parallel(dense_by_weight_loop, (grad, x, weight, *sizes), outputs, work)


def dense_sizes(
    weight: Sizes, spatial: Sizes, out: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> tuple[Any, ...] | None:
    """The sizes that these loops take; None for negative padding."""
    reach = [d * (k - 1) for k, d in zip(weight[2:], dilation)]
    whole = tuple(max(n + p, o + r) for n, p, o, r in zip(spatial, padding, out, reach))
    if min(padding) < 0:
        return None
    sizes = three(spatial, 1), three(out, 1), three(weight[2:], 1), three(whole, 1), three(padding, 0)
    return weight[0], weight[0] // groups, *sizes, three(dilation, 1)


def is_depthwise(weight: Sizes, groups: int) -> bool:
    """Whether each channel of the input has kernels of its own."""
    return groups > 1 and weight[1] == 1


def sizes_of(
    weight: Sizes, spatial: Sizes, out: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    """The sizes that the loops take."""
    windows = three(weight[2:], 1), three(stride, 1), three(padding, 0), three(dilation, 1)
    steps = (1,) if stride[-1] == 1 else ()  # its length is known to the compiler
    return weight[0], weight[0] // groups, three(spatial, 1), three(out, 1), *windows, steps


@register_kernel("nn::conv1d nn::conv2d nn::conv3d", dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
def convolution(generic: Kernel) -> Kernel:
    """The convolution with its bias."""

    def run(input: Array, weight: Array, bias: Array | None, *geometry: Any) -> Any:
        stride, padding, dilation, groups = geometry
        if not is_depthwise(weight.shape, groups) or input.size < MIN_SIZE_FUSED or not weight.size:
            return generic(input, weight, bias, *geometry)
        spatial = input.shape[2:]
        out = tuple(
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(spatial, weight.shape[2:], stride, padding, dilation)
        )
        result = np.empty((input.shape[0], weight.shape[0], *out), input.dtype)
        arrays = flat(input), flat(weight), result.reshape(-1)
        if max(stride) == 1 and (sizes := dense_sizes(weight.shape, spatial, out, *geometry[1:])) is not None:
            dense(*arrays, *sizes)
        else:
            forward(*arrays, *sizes_of(weight.shape, spatial, out, *geometry))
        if bias is not None:
            result += bias.reshape(-1, *(1,) * len(out))
        return result

    return run


@register_kernel(
    "nn::conv1d_input_gradient nn::conv2d_input_gradient nn::conv3d_input_gradient",
    dtypes=REAL,
    min_size=MIN_SIZE_FUSED,
    checks_size=True,
)
def input_gradient(generic: Kernel) -> Kernel:
    """The transposed convolution: of the output's gradient and the weight."""

    def run(grad: Array, weight: Array, shape: Sizes, *geometry: Any) -> Any:
        if not is_depthwise(weight.shape, geometry[-1]) or grad.size < MIN_SIZE_FUSED or not prod(shape):
            return generic(grad, weight, shape, *geometry)
        result = np.empty(shape, grad.dtype)
        spatial, out, (stride, padding, dilation, groups) = tuple(shape[2:]), grad.shape[2:], geometry
        if max(stride) == 1 and weight.shape[0] == groups:  # a convolution with the kernel turned around
            before = tuple(d * (k - 1) - p for k, d, p in zip(weight.shape[2:], dilation, padding))
            sizes = dense_sizes(weight.shape, out, spatial, before, dilation, groups)
            if sizes is not None:
                turn: tuple[Any, ...] = (..., *[slice(None, None, -1)] * len(out))
                dense(flat(grad), flat(weight[turn]), result.reshape(-1), *sizes)
                return result
        by_input(flat(grad), flat(weight), result.reshape(-1), *sizes_of(weight.shape, spatial, out, *geometry))
        return result

    return run


@register_kernel(
    "nn::conv1d_weight_gradient nn::conv2d_weight_gradient nn::conv3d_weight_gradient",
    dtypes=REAL,
    min_size=MIN_SIZE_FUSED,
    checks_size=True,
)
def weight_gradient(generic: Kernel) -> Kernel:
    """What the output's gradient is for the weight: of that and the input."""

    def run(grad: Array, input: Array, shape: Sizes, *geometry: Any) -> Any:
        if not is_depthwise(shape, geometry[-1]) or grad.size < MIN_SIZE_FUSED or not input.size:
            return generic(grad, input, shape, *geometry)
        result = np.empty(shape, grad.dtype)
        spatial, out, arrays = input.shape[2:], grad.shape[2:], (flat(grad), flat(input), result.reshape(-1))
        if max(geometry[0]) == 1 and (sizes := dense_sizes(tuple(shape), spatial, out, *geometry[1:])) is not None:
            dense_by_weight(*arrays, *sizes)
        else:
            by_weight(*arrays, *sizes_of(tuple(shape), spatial, out, *geometry))
        return result

    return run
