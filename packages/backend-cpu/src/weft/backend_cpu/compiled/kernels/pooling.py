"""Max and average pooling over 1, 2 and 3 dimensions, and their gradients.

Every input is taken as planes of (D, H, W), with sizes of 1 for missing dimensions. A row of windows is computed for
one offset in the windows after another, so that the innermost loop is vectorized, and steps of 1 and 2, which nearly
all models have, are known when it is compiled. Arrays are flat: a slice would cost more than a row of windows does.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from weft.backend import is_channels_last
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.layouts import flat, flat_channels_last, new_images, three
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]
Sizes = tuple[int, ...]
REAL = "float32 float64"
LANES = 16  # elements of the longest vector


# Geometry


@loop
def first_window(offset, step):
    """The first window whose element at this offset is inside."""
    return 0 if offset >= 0 else (-offset + step - 1) // step


@loop
def last_window(offset, step, size, windows):
    """The end of the windows whose element at this offset is inside."""
    inside = size - 1 - offset
    return min(windows, inside // step + 1) if inside >= 0 else 0


@loop
def place_of(number, out):
    """The image and the position of a window, by its number."""
    row = number // out[2]
    plane = row // out[1]
    return plane // out[0], plane % out[0], row % out[1], number % out[2]


# Maxima: nan counts as the greatest, and of equal elements the first is taken.


UNROLLED = {(2, 2), (3, 2), (3, 1)}
"""Kernel sizes and steps for which loops over windows within the row are compiled."""


@loop
def keep_greatest(x, at, place, best, where, first, count, taps, steps):
    """Maxima of a row of windows within the input. Their size and step are lengths of tuples: known when compiled."""
    kernel, step = np.uintp(len(taps)), np.uintp(len(steps))
    for i in range(count):
        greatest, offset = x[at + i * step], np.int32(0)
        for k in range(np.uintp(1), kernel):
            element = x[at + i * step + k]
            is_better = (greatest == greatest) & (not element <= greatest)
            greatest = element if is_better else greatest
            offset = np.int32(k) if is_better else offset
        before = best[first + i]
        is_better = (where[first + i] < 0) | ((before == before) & (not greatest <= before))
        best[first + i] = greatest if is_better else before
        where[first + i] = place + np.int32(i * step) + offset if is_better else where[first + i]


@loop
def keep_greater(x, at, place, best, where, start, stop, width, kernel, step, padding, dilation):
    """Maxima of a row of windows of any size, which may reach beyond its ends."""
    for i in range(start, stop):
        greatest, found = best[i], where[i]
        for k in range(kernel):
            offset = i * step - padding + k * dilation
            if 0 <= offset < width:
                element = x[np.uintp(at + offset)]
                is_better = (found < 0) | ((greatest == greatest) & (not element <= greatest))
                greatest = element if is_better else greatest
                found = np.int32(place + offset) if is_better else found
        best[i], where[i] = greatest, found


@loop
def maximum_loop(x, y, index, spatial, out, kernel, stride, padding, dilation, taps, steps, lo, hi):
    """Maxima of the rows of windows from lo to hi."""
    depth, height, width = spatial
    best = np.empty(out[2] + LANES, x.dtype)
    where = np.empty(out[2] + LANES, np.int32)
    start = stop = 0  # the windows that are inside
    if len(taps) == kernel[2] and width >= kernel[2]:
        start = min(out[2], (padding[2] + stride[2] - 1) // stride[2])
        stop = max(start, min(out[2], (width - kernel[2] + padding[2]) // stride[2] + 1))
    inner = start * stride[2] - padding[2]
    lanes = stop - start  # whole vectors, where there is something to read and the row is not a fraction of one
    if stop == out[2] > LANES // 2:
        lanes = (lanes + LANES - 1) // LANES * LANES
    for number in range(np.int64(lo), np.int64(hi)):
        plane, a, b = number // (out[0] * out[1]), number // out[1] % out[0], number % out[1]
        for c in range(max(start + lanes, out[2])):  # a slice takes longer to compile
            best[c] = -np.inf
            where[c] = -1
        for i in range(kernel[0]):
            d = a * stride[0] - padding[0] + i * dilation[0]
            if d < 0 or d >= depth:
                continue
            for j in range(kernel[1]):
                h = b * stride[1] - padding[1] + j * dilation[1]
                if h < 0 or h >= height:
                    continue
                place = (d * height + h) * width
                at = plane * depth * height * width + place
                for end in range(2):
                    first, last = (stop, out[2]) if end else (0, start)
                    if first < last:
                        keep_greater(
                            x, at, place, best, where, first, last, width, kernel[2], stride[2], padding[2], dilation[2]
                        )
                if stop > start:
                    count = lanes if at + inner + lanes * stride[2] + kernel[2] <= x.size else stop - start
                    source, target = np.uintp(at + inner), np.int32(place + inner)
                    keep_greatest(x, source, target, best, where, np.uintp(start), np.uintp(count), taps, steps)
        to = np.uintp(number * out[2])
        for i in range(np.uintp(out[2])):
            y[to + i] = best[i]
            index[to + i] = where[i]


@launcher
def maximum(x, y, index, spatial, out, kernel, stride, padding, dilation, taps, steps):
    """Maxima of all windows."""
    work = 2 * y.size * kernel[0] * kernel[1] * kernel[2]
    arrays = (x, y, index, spatial, out, kernel, stride, padding, dilation, taps, steps)
    parallel(maximum_loop, arrays, y.size // out[2], work)


@loop
def maximum_last_loop(x, y, index, channels, spatial, out, kernel, stride, padding, dilation, lo, hi):
    """Maxima of the windows from lo to hi where the channels are innermost: all channels of a window at once."""
    depth, height, width = spatial
    size = np.uintp(channels)
    for number in range(np.int64(lo), np.int64(hi)):
        image, a, b, c = place_of(number, out)
        to = np.uintp(number * channels)
        y[to : to + size] = -np.inf
        index[to : to + size] = -1
        for i in range(kernel[0]):
            d = a * stride[0] - padding[0] + i * dilation[0]
            if d < 0 or d >= depth:
                continue
            for j in range(kernel[1]):
                h = b * stride[1] - padding[1] + j * dilation[1]
                if h < 0 or h >= height:
                    continue
                for k in range(kernel[2]):
                    w = c * stride[2] - padding[2] + k * dilation[2]
                    if w < 0 or w >= width:
                        continue
                    place = (d * height + h) * width + w
                    at = np.uintp((image * depth * height * width + place) * channels)
                    for each in range(size):
                        element, before = x[at + each], y[to + each]
                        is_better = (index[to + each] < 0) | ((before == before) & (not element <= before))
                        y[to + each] = element if is_better else before
                        index[to + each] = place if is_better else index[to + each]


@launcher
def maximum_last(x, y, index, channels, spatial, out, kernel, stride, padding, dilation):
    """Maxima of all windows where the channels are innermost."""
    work = 2 * y.size * kernel[0] * kernel[1] * kernel[2]
    arrays = (x, y, index, channels, spatial, out, kernel, stride, padding, dilation)
    parallel(maximum_last_loop, arrays, y.size // channels, work)


@register_kernel("nn::max_pool_with_indices", dtypes=REAL, min_size=MIN_SIZE_FUSED, bitwise=True)
def max_pool_with_indices(generic: Kernel) -> Kernel:
    """The greatest element of each window, and its index."""

    def run(input: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> Any:
        if not input.size or prod(input.shape[2:]) >= 1 << 31:
            return generic(input, kernel, stride, padding, dilation, out)
        last = is_channels_last(input)
        result = new_images((*input.shape[:2], *out), input.dtype, last)
        index = new_images(result.shape, np.dtype(np.int64), last)
        geometry = three(kernel, 1), three(stride, 1), three(padding, 0), three(dilation, 1)
        spatial = three(input.shape[2:], 1), three(out, 1)
        if last:
            arrays = flat_channels_last(input), flat_channels_last(result), flat_channels_last(index)
            maximum_last(*arrays, input.shape[1], *spatial, *geometry)
        else:
            is_whole = dilation[-1] == 1 and (kernel[-1], stride[-1]) in UNROLLED
            taps, steps = ((0,) * kernel[-1], (0,) * stride[-1]) if is_whole else ((), (0,))
            maximum(flat(input), flat(result), flat(index), *spatial, *geometry, taps, steps)
        return result, index

    return run


@loop
def spread_loop(grad, index, result, lo, hi):
    """Add each element at its place, in the planes from lo to hi."""
    size = result.shape[1]
    for plane in range(lo, hi):
        total = result[plane]
        total[:] = 0
        for i in range(grad.shape[1]):
            place = index[plane, i]
            if 0 <= place < size:
                total[place] += grad[plane, i]


@launcher
def spread(grad, index, result):
    """Add the elements of all planes at their places."""
    parallel(spread_loop, (grad, index, result), grad.shape[0], 2 * grad.size + result.size)


@loop
def spread_last_loop(grad, index, result, lo, hi):
    """Add each element at its place, in the images from lo to hi, of which the channels are innermost."""
    _, windows, channels = grad.shape
    size = result.shape[1]
    for image in range(lo, hi):
        result[image] = 0
        for i in range(windows):
            for c in range(channels):
                place = index[image, i, c]
                if 0 <= place < size:
                    result[image, np.uintp(place), c] += grad[image, i, c]


@launcher
def spread_last(grad, index, result):
    """Add the elements of all images at their places."""
    parallel(spread_last_loop, (grad, index, result), grad.shape[0], 2 * grad.size + result.size)


@register_kernel("nn::max_pool_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def max_pool_gradient(generic: Kernel) -> Kernel:
    """Each element summed at its place among the spatial elements."""

    def run(grad: Array, index: Array, shape: Sizes) -> Array:
        if not grad.size or index.dtype != np.int64:
            return generic(grad, index, shape)  # type: ignore[no-any-return]
        if is_channels_last(index):
            images, channels = shape[:2]
            result = new_images(shape, grad.dtype, True)
            if not is_channels_last(grad):
                copy = new_images(grad.shape, grad.dtype, True)
                copy[...] = grad
                grad = copy
            parts = [flat_channels_last(each).reshape(images, -1, channels) for each in (grad, index, result)]
            spread_last(*parts)
            return result
        result = np.empty(shape, grad.dtype)
        rows = prod(shape[:2])
        spread(flat(grad).reshape(rows, -1), flat(index).reshape(rows, -1), result.reshape(rows, -1))
        return result

    return run


# Means


@loop
def extent(window, size, kernel, stride, padding, with_padding):
    """How many elements of a window count along one dimension."""
    start = window * stride - padding
    stop = min(start + kernel, size + padding)
    return stop - start if with_padding else min(stop, size) - max(start, 0)


@loop
def add_elements(x, at, step, y, to, count):
    """Add the element of one position in the windows."""
    for i in range(np.uintp(count)):
        y[to + i] += x[at + i * step]


@loop
def add_windows(x, row, width, y, to, count, kernel, step, padding):
    """Add the elements of whole windows along a row."""
    for i in range(count):
        start = i * step - padding
        found = x.dtype.type(0)
        for j in range(np.uintp(row + max(start, 0)), np.uintp(row + min(start + kernel, width))):
            found += x[j]
        y[to + i] += found


@loop
def average_loop(x, y, spatial, out, kernel, stride, padding, with_padding, divisor, steps, lo, hi):
    """Means of the rows of windows from lo to hi."""
    depth, height, width = spatial
    step = stride[2]
    for number in range(np.int64(lo), np.int64(hi)):
        plane, a, b = number // (out[0] * out[1]), number // out[1] % out[0], number % out[1]
        to = number * out[2]
        y[to : to + out[2]] = 0
        top, left = a * stride[0] - padding[0], b * stride[1] - padding[1]
        for d in range(max(top, 0), min(top + kernel[0], depth)):
            for h in range(max(left, 0), min(left + kernel[1], height)):
                row = ((plane * depth + d) * height + h) * width
                if kernel[2] > 4 * out[2]:
                    add_windows(x, row, width, y, to, out[2], kernel[2], step, padding[2])
                    continue
                for k in range(kernel[2]):
                    offset = k - padding[2]
                    start = first_window(offset, step)
                    count = last_window(offset, step, width, out[2]) - start
                    at = row + start * step + offset
                    add_elements(x, np.uintp(at), np.uintp(len(steps) or step), y, np.uintp(to + start), count)
        divide(y, to, y, to, a, b, spatial, out, kernel, stride, padding, with_padding, divisor)


@loop
def divide(total, at, result, to, a, b, spatial, out, kernel, stride, padding, with_padding, divisor):
    """Divide a row of sums by how many elements each has."""
    whole = extent(a, spatial[0], kernel[0], stride[0], padding[0], with_padding)
    whole *= extent(b, spatial[1], kernel[1], stride[1], padding[1], with_padding)
    for i in range(out[2]):
        count = whole * extent(i, spatial[2], kernel[2], stride[2], padding[2], with_padding)
        result[to + i] = total[at + i] / total.dtype.type(divisor if divisor != 0 else count)


@launcher
def average(x, y, spatial, out, kernel, stride, padding, with_padding, divisor, steps):
    """Means of all windows."""
    work = y.size * kernel[0] * kernel[1] * kernel[2]
    arrays = (x, y, spatial, out, kernel, stride, padding, with_padding, divisor, steps)
    parallel(average_loop, arrays, y.size // out[2], work)


def geometry_of(shape: Sizes, out: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, options: Any) -> Any:
    """What the loops of means take besides arrays."""
    dims = list(zip(shape[2:], out, kernel, stride, padding))
    while len(dims) > 1 and all(each[:2] == (each[2], 1) and not each[4] for each in dims[-2:]):
        size = dims.pop()[0] * dims.pop()[0]  # both are averaged whole: one row
        dims.append((size, 1, size, size, 0))
    sizes = [three(tuple(each), missing) for each, missing in zip(zip(*dims), (1, 1, 1, 1, 0))]
    return *sizes, bool(options[0]), int(options[1] or 0)


def step_of(geometry: Any) -> Sizes:
    """The innermost step as the length of a tuple, for which the loops are compiled; none if it is a rare one."""
    step = geometry[3][2]
    return (0,) * step if step < 3 else ()


@loop
def average_rows_loop(x, y, divisor, lo, hi):
    """Means of the whole rows from lo to hi."""
    size = np.uintp(x.size // y.size)
    by = x.dtype.type(divisor)
    for row in range(lo, hi):
        total = x.dtype.type(0)
        for i in range(row * size, (row + np.uintp(1)) * size):
            total += x[i]
        y[row] = total / by


@launcher
def average_rows(x, y, divisor):
    """Means of whole rows."""
    parallel(average_rows_loop, (x, y, divisor), y.size, x.size)


@loop
def count_of(a, b, c, spatial, kernel, stride, padding, with_padding, divisor):
    """By what the sum of a window is divided."""
    if divisor != 0:
        return divisor
    count = extent(a, spatial[0], kernel[0], stride[0], padding[0], with_padding)
    count *= extent(b, spatial[1], kernel[1], stride[1], padding[1], with_padding)
    return count * extent(c, spatial[2], kernel[2], stride[2], padding[2], with_padding)


@loop
def average_last_loop(x, y, channels, spatial, out, kernel, stride, padding, with_padding, divisor, lo, hi):
    """Means of the windows from lo to hi where the channels are innermost: all channels of a window at once."""
    depth, height, width = spatial
    size = np.uintp(channels)
    for number in range(np.int64(lo), np.int64(hi)):
        image, a, b, c = place_of(number, out)
        to = np.uintp(number * channels)
        y[to : to + size] = 0
        front, top, left = a * stride[0] - padding[0], b * stride[1] - padding[1], c * stride[2] - padding[2]
        for d in range(max(front, 0), min(front + kernel[0], depth)):
            for h in range(max(top, 0), min(top + kernel[1], height)):
                first, last = max(left, 0), min(left + kernel[2], width)
                at = np.uintp((((image * depth + d) * height + h) * width + first) * channels)
                count = np.uintp(max(last - first, 0))
                whole = count // np.uintp(4)
                for _ in range(whole):  # four at a time: a sum waits for the one before, which is in memory
                    for each in range(size):
                        two = x[at + each] + x[at + size + each]
                        y[to + each] += two + (x[at + np.uintp(2) * size + each] + x[at + np.uintp(3) * size + each])
                    at += np.uintp(4) * size
                for _ in range(count - np.uintp(4) * whole):
                    for each in range(size):
                        y[to + each] += x[at + each]
                    at += size
        by = x.dtype.type(count_of(a, b, c, spatial, kernel, stride, padding, with_padding, divisor))
        for each in range(size):
            y[to + each] /= by


@launcher
def average_last(x, y, channels, spatial, out, kernel, stride, padding, with_padding, divisor):
    """Means of all windows where the channels are innermost."""
    work = y.size * kernel[0] * kernel[1] * kernel[2]
    arrays = (x, y, channels, spatial, out, kernel, stride, padding, with_padding, divisor)
    parallel(average_last_loop, arrays, y.size // channels, work)


@register_kernel("nn::avg_pool", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def avg_pool(generic: Kernel) -> Kernel:
    """The mean of each window."""

    def run(input: Array, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, options: Any) -> Array:
        last = is_channels_last(input)
        result = new_images((*input.shape[:2], *out), input.dtype, last)
        if not result.size:
            return result
        geometry = geometry_of(input.shape, out, kernel, stride, padding, options)
        spatial, found, window = geometry[:3]
        if last:
            average_last(flat_channels_last(input), flat_channels_last(result), input.shape[1], *geometry)
        elif found == (1, 1, 1) and spatial == (1, 1, window[2]):
            average_rows(flat(input), flat(result), geometry[-1] or window[2])
        else:
            average(flat(input), flat(result), *geometry, step_of(geometry))
        return result

    return run


@loop
def add_shares(share, at, x, to, step, count):
    """Add the shares of windows to one position of each."""
    for i in range(np.uintp(count)):
        x[to + i * step] += share[at + i]


@loop
def average_gradient_loop(grad, x, spatial, out, kernel, stride, padding, with_padding, divisor, steps, lo, hi):
    """Shares of the planes from lo to hi."""
    depth, height, width = spatial
    step = stride[2]
    share = np.empty(out[2], grad.dtype)
    for plane in range(np.int64(lo), np.int64(hi)):
        x[plane * depth * height * width : (plane + 1) * depth * height * width] = 0
        for number in range(out[0] * out[1]):
            a, b = number // out[1], number % out[1]
            at = (plane * out[0] * out[1] + number) * out[2]
            divide(grad, at, share, 0, a, b, spatial, out, kernel, stride, padding, with_padding, divisor)
            top, left = a * stride[0] - padding[0], b * stride[1] - padding[1]
            for d in range(max(top, 0), min(top + kernel[0], depth)):
                for h in range(max(left, 0), min(left + kernel[1], height)):
                    row = ((plane * depth + d) * height + h) * width
                    if kernel[2] > 4 * out[2]:
                        for i in range(out[2]):
                            start = i * step - padding[2]
                            for j in range(row + max(start, 0), row + min(start + kernel[2], width)):
                                x[j] += share[i]
                        continue
                    for k in range(kernel[2]):
                        offset = k - padding[2]
                        start = first_window(offset, step)
                        count = last_window(offset, step, width, out[2]) - start
                        to = row + start * step + offset
                        add_shares(share, np.uintp(start), x, np.uintp(to), np.uintp(len(steps) or step), count)


@launcher
def average_gradient(grad, x, spatial, out, kernel, stride, padding, with_padding, divisor, steps):
    """Shares of all planes."""
    work = grad.size * kernel[0] * kernel[1] * kernel[2] + x.size
    arrays = (grad, x, spatial, out, kernel, stride, padding, with_padding, divisor, steps)
    parallel(average_gradient_loop, arrays, x.size // (spatial[0] * spatial[1] * spatial[2]), work)


@loop
def average_rows_gradient_loop(grad, x, divisor, lo, hi):
    """Shares of the whole rows from lo to hi."""
    size = np.uintp(x.size // grad.size)
    for row in range(lo, hi):
        share = grad[row] / x.dtype.type(divisor)
        for i in range(row * size, (row + np.uintp(1)) * size):
            x[i] = share


@launcher
def average_rows_gradient(grad, x, divisor):
    """Shares of whole rows."""
    parallel(average_rows_gradient_loop, (grad, x, divisor), grad.size, x.size)


@loop
def average_last_gradient_loop(grad, x, channels, spatial, out, kernel, stride, padding, with_padding, divisor, lo, hi):
    """Shares of the images from lo to hi where the channels are innermost."""
    depth, height, width = spatial
    size = np.uintp(channels)
    each_image = out[0] * out[1] * out[2]
    for number in range(np.int64(lo) * each_image, np.int64(hi) * each_image):
        image, a, b, c = place_of(number, out)
        if number % each_image == 0:
            start = np.uintp(image * depth * height * width * channels)
            x[start : start + np.uintp(depth * height * width * channels)] = 0
        at = np.uintp(number * channels)
        by = x.dtype.type(count_of(a, b, c, spatial, kernel, stride, padding, with_padding, divisor))
        front, top, left = a * stride[0] - padding[0], b * stride[1] - padding[1], c * stride[2] - padding[2]
        for d in range(max(front, 0), min(front + kernel[0], depth)):
            for h in range(max(top, 0), min(top + kernel[1], height)):
                for w in range(max(left, 0), min(left + kernel[2], width)):
                    to = np.uintp((((image * depth + d) * height + h) * width + w) * channels)
                    for each in range(size):
                        x[to + each] += grad[at + each] / by


@launcher
def average_last_gradient(grad, x, channels, spatial, out, kernel, stride, padding, with_padding, divisor):
    """Shares of all images where the channels are innermost."""
    work = grad.size * kernel[0] * kernel[1] * kernel[2] + x.size
    images = x.size // (spatial[0] * spatial[1] * spatial[2] * channels)
    arrays = (grad, x, channels, spatial, out, kernel, stride, padding, with_padding, divisor)
    parallel(average_last_gradient_loop, arrays, images, work)


@register_kernel("nn::avg_pool_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
def avg_pool_gradient(generic: Kernel) -> Kernel:
    """Each window's share added to all of its elements."""

    def run(grad: Array, shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, options: Any) -> Any:
        # The size is that of the images, as for their means, which have had the loops imported: windows may be whole.
        if prod(shape) < MIN_SIZE_FUSED or not grad.size:
            return generic(grad, shape, kernel, stride, padding, out, options)
        last = is_channels_last(grad)
        result = new_images(shape, grad.dtype, last)
        geometry = geometry_of(shape, out, kernel, stride, padding, options)
        spatial, found, window = geometry[:3]
        if last:
            average_last_gradient(flat_channels_last(grad), flat_channels_last(result), shape[1], *geometry)
        elif found == (1, 1, 1) and spatial == (1, 1, window[2]):
            average_rows_gradient(flat(grad), flat(result), geometry[-1] or window[2])
        else:
            average_gradient(flat(grad), flat(result), *geometry, step_of(geometry))
        return result

    return run
