"""Interpolation, adaptive averages and grid samples, and their gradients.

Interpolation and adaptive averages are sums of rows times weights, and of elements of a row times weights, whose
gradients are the same loops with other weights. Arrays are taken as planes of rows; which of the two sums comes first
depends on where there is less to do, and what lies between the two is kept for a few rows at a time. Each loop calls a
function at one place only, so that it is inlined: a call would count references.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from weft.backend import is_channels_last
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels import resampling_bytes
from weft.backend_cpu.compiled.kernels.layouts import flat, flat_channels_last
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel
from weft.library.resampling import Taps, taps_of

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]
Sizes = tuple[int, ...]
REAL = "float32 float64"


@loop
def copy_row(x, at, size, y):
    """Copy a row to the front of another array."""
    for i in range(size):
        y[i] = x[at + i]


@loop
def sum_of_rows(x, at, size, rows, weights, count, number, y, to):
    """A row that is a sum of rows from ``at`` on, as many as are counted."""
    if count >= 2:
        weight, other = weights[0, number], weights[1, number]
        first, second = at + np.uintp(rows[0, number]) * size, at + np.uintp(rows[1, number]) * size
        for i in range(size):
            y[to + i] = x[first + i] * weight + x[second + i] * other
    elif count == 1:
        weight, first = weights[0, number], at + np.uintp(rows[0, number]) * size
        for i in range(size):
            y[to + i] = x[first + i] * weight
    else:
        for i in range(size):
            y[to + i] = 0
    for k in range(np.uintp(2), np.uintp(count)):
        weight, first = weights[k, number], at + np.uintp(rows[k, number]) * size
        for i in range(size):
            y[to + i] += x[first + i] * weight


@loop
def along_row(x, at, columns, weights, y, to):
    """Elements that are sums of a row's elements."""
    count, out = np.uintp(columns.shape[0]), np.uintp(columns.shape[1])
    if count == 1:
        for j in range(out):
            y[to + j] = x[at + np.uintp(columns[0, j])] * weights[0, j]
    else:
        for j in range(out):
            first, second = at + np.uintp(columns[0, j]), at + np.uintp(columns[1, j])
            y[to + j] = x[first] * weights[0, j] + x[second] * weights[1, j]
    for k in range(np.uintp(2), count):
        for j in range(out):
            y[to + j] += x[at + np.uintp(columns[k, j])] * weights[k, j]


ZEROS = 16
"""Zeros appended to a copied row: what taps outside of the input read."""


@loop
def down_loop(x, y, height, size, rows, weights, counts, lo, hi):
    """The rows from lo to hi, which are sums of rows."""
    out = np.uintp(rows.shape[1])
    at, row = lo // out * height * size, lo % out  # counted, as a division costs as much as a short row
    for number in range(lo, hi):
        sum_of_rows(x, at, size, rows, weights, counts[row], row, y, number * size)
        row += np.uintp(1)
        if row == out:
            row = np.uintp(0)
            at += height * size


@launcher
def down(x, y, height, size, rows, weights, counts):
    """All rows as sums of rows of their plane."""
    arguments = (x, y, np.uintp(height), np.uintp(size), rows, weights, counts)
    parallel(down_loop, arguments, y.size // size, y.size * (1 + rows.shape[0]))


@loop
def along_loop(x, y, width, columns, weights, partial, lo, hi):
    """The rows from lo to hi, of which the elements are sums of elements."""
    out = np.uintp(columns.shape[1])
    line = np.zeros(width + np.uintp(ZEROS), x.dtype)
    for row in range(lo, hi):
        source, at = x, row * width
        if partial:
            copy_row(x, at, width, line)
            source, at = line, np.uintp(0)
        along_row(source, at, columns, weights, y, row * out)


@launcher
def along(x, y, width, columns, weights, partial):
    """All rows, their elements as sums of elements of a row."""
    arguments = (x, y, np.uintp(width), columns, weights, partial)
    parallel(along_loop, arguments, x.size // width, y.size * (1 + columns.shape[0]) + x.size)


@loop
def shrink_loop(x, y, height, width, rows, row_weights, counts, columns, weights, lo, hi):
    """The rows of the result from lo to hi: first sums of rows, then sums of their elements."""
    out_height, out = np.uintp(rows.shape[1]), np.uintp(columns.shape[1])
    line = np.zeros(width + np.uintp(ZEROS), x.dtype)
    start = np.uintp(0)
    for number in range(lo, hi):
        at, row = number // out_height * height * width, number % out_height
        sum_of_rows(x, at, width, rows, row_weights, counts[row], row, line, start)
        along_row(line, start, columns, weights, y, number * out)


@launcher
def shrink(x, y, height, width, rows, row_weights, counts, columns, weights):
    """All rows of a result that has no more rows than the input."""
    arguments = (x, y, np.uintp(height), np.uintp(width), rows, row_weights, counts, columns, weights)
    work = y.size * (1 + columns.shape[0]) + y.size // columns.shape[1] * width * rows.shape[0]
    parallel(shrink_loop, arguments, y.size // columns.shape[1], work)


@loop
def grow_loop(x, y, height, width, bands, most, rows, row_weights, counts, columns, weights, lo, hi):
    """The bands of the result's rows from lo to hi: first sums of elements of a band's rows, then sums of these."""
    out_height, out, each = np.uintp(rows.shape[1]), np.uintp(columns.shape[1]), np.uintp(bands.shape[0])
    line = np.zeros(width + np.uintp(ZEROS), x.dtype)
    kept = np.empty(most * out, x.dtype)
    start = np.uintp(0)
    for number in range(lo, hi):
        plane, band = number // each, number % each
        first = np.uintp(bands[band, 2])
        for row in range(first, np.uintp(bands[band, 3])):
            copy_row(x, (plane * height + row) * width, width, line)
            along_row(line, start, columns, weights, kept, (row - first) * out)
        for row in range(np.uintp(bands[band, 0]), np.uintp(bands[band, 1])):
            to = (plane * out_height + row) * out
            sum_of_rows(kept, start, out, rows, row_weights, counts[row], row, y, to)


@launcher
def grow(x, y, height, width, bands, most, rows, row_weights, counts, columns, weights):
    """All rows of a result that has more rows than the input."""
    sizes = np.uintp(height), np.uintp(width), np.uintp(most)
    arguments = (x, y, sizes[0], sizes[1], bands, sizes[2], rows, row_weights, counts, columns, weights)
    parallel(grow_loop, arguments, x.size // (height * width) * len(bands), y.size * (2 + rows.shape[0]))


LANES = 16
"""Fewer channels that are innermost in memory are taken as elements of the row."""


class Table:
    """The taps of a dimension as the loops take them.

    Attributes
    ----------
    size, rows, weights, is_partial
        See `weft.library.resampling.Taps`.
    counts : array of int32
        How many taps each element of the result has; those that stand for none are the last ones.
    """

    def __init__(self, size: int, rows: Array, weights: Array) -> None:
        some = rows < size
        self.size, self.rows, self.weights = size, rows, weights
        self.counts = some.sum(0, dtype=np.int32)
        self.is_partial = not some.all()


@lru_cache(256)
def table(taps: Any, lanes: int, element: Any) -> Table:
    """The taps of one dimension, of ``lanes`` channels side by side."""
    if lanes == 1:
        return Table(taps.size, taps.rows, taps.weights.astype(element, copy=False))
    rows = taps.rows[..., None] * lanes + np.arange(lanes, dtype=np.int32)
    weights = np.repeat(taps.weights, lanes, -1).astype(element, copy=False)
    return Table(taps.size * lanes, rows.reshape(len(rows), -1), weights)


@lru_cache(256)
def table_of_plane(rows: Any, columns: Any, element: Any) -> Table:
    """The taps of whole planes: weights of rows times weights of columns."""
    number = rows.rows[:, None, :, None].astype(np.int64) * columns.size + columns.rows[None, :, None]
    some = (rows.rows < rows.size)[:, None, :, None] & (columns.rows < columns.size)[None, :, None]
    size = rows.size * columns.size
    number = np.where(some, number, size).astype(np.int32)
    weights = rows.weights[:, None, :, None] * columns.weights[None, :, None]
    count = len(rows.rows) * len(columns.rows)
    return Table(size, number.reshape(count, -1), weights.reshape(count, -1).astype(element, copy=False))


BAND = 1 << 15
"""Elements between the two sums that stay in the cache."""


@lru_cache(256)
def bands_of(taps: Any, planes: int, out: int) -> Any:
    """The rows of the result in parts of a plane, each with the rows that it is made of, counted from their first.

    Returns
    -------
    tuple
        The bands (first row, last row, first and last row that they are made of), the most rows that one is made of,
        and the rows' numbers in their band.
    """
    count = taps.rows.shape[1]
    parts = min(max(16 // planes, -(-taps.size * out // BAND), 1), -(-count // 8))
    edges = np.arange(parts + 1) * count // parts
    rows, found = taps.rows.copy(), []
    for start, stop in pairwise(edges):
        part = rows[:, start:stop]
        some = part[part < taps.size]
        low, high = (int(some.min()), int(some.max()) + 1) if some.size else (0, 0)
        part -= low
        found.append((start, stop, low, high))
    bands = np.array(found)
    return bands, int((bands[:, 3] - bands[:, 2]).max()), rows


def is_faster_at_once(rows: Any, columns: Any) -> bool:
    """Whether to take the elements of small planes one by one, rather than whole rows of them (measured, in ns)."""
    (count, out_height), (count_along, out) = rows.rows.shape, columns.rows.shape
    elements = count * count_along * out_height * out
    along = min(rows.size, out_height) * (20 + 0.4 * count_along * out)
    down = out_height * (10 + 0.05 * count * (out if out_height > rows.size else columns.size))
    return elements < 1 << 15 and 0.4 * elements < along + down


def sums_of_rows(x: Array, planes: int, height: int, size: int, taps: Any) -> Array:
    """Planes of rows of a size, resampled to other numbers of rows."""
    if taps is None:
        return x
    found = table(taps, 1, x.dtype)
    result = np.empty(planes * found.rows.shape[1] * size, x.dtype)
    down(x, result, height, size, found.rows, found.weights, found.counts)
    return result


def sums_of_elements(x: Array, width: int, taps: Table) -> Array:
    """Rows resampled to another length."""
    result = np.empty(x.size // width * taps.rows.shape[1], x.dtype)
    along(x, result, width, taps.rows, taps.weights, taps.is_partial)
    return result


def sums_of_planes(x: Array, planes: int, height: int, width: int, lanes: int, rows: Any, columns: Any) -> Array:
    """Planes of rows of elements of a few lanes, resampled to other sizes; None leaves a dimension as it is."""
    if columns is None:
        return sums_of_rows(x, planes, height, width * lanes, rows)
    if rows is None:
        return sums_of_elements(x, width * lanes, table(columns, lanes, x.dtype))
    if lanes == 1 and is_faster_at_once(rows, columns):
        return sums_of_elements(x, height * width, table_of_plane(rows, columns, x.dtype))
    vertical, across = table(rows, 1, x.dtype), table(columns, lanes, x.dtype)
    out = across.rows.shape[1]
    result = np.empty(planes * vertical.rows.shape[1] * out, x.dtype)
    by_row, by_column = (vertical.weights, vertical.counts), (across.rows, across.weights)
    if vertical.rows.shape[1] > height:
        bands, most, numbers = bands_of(rows, planes, out)
        grow(x, result, height, width * lanes, bands, most, numbers, *by_row, *by_column)
    else:
        shrink(x, result, height, width * lanes, vertical.rows, *by_row, *by_column)
    return result


@register_kernel("nn::resample", dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
def resample(generic: Kernel) -> Kernel:
    """Sums of elements times weights, along each spatial dimension."""

    def run(input: Array, size: tuple[int, ...], *options: Any) -> Array:
        is_small = input.size < MIN_SIZE_FUSED  # whatever it becomes: see `is_taken`
        taps = () if is_small or not input.size or max(input.shape[2:]) >= 1 << 27 else taps_of(input, size, *options)
        return weighted_sums(input, taps) if any(taps) else generic(input, size, *options)  # type: ignore[no-any-return]

    return run


@register_kernel("nn::resample", dtypes="uint8", min_size=MIN_SIZE_FUSED, checks_size=True, bitwise=True)
def resample_bytes(generic: Kernel) -> Kernel:
    """Images of bytes, by linear or cubic weights."""

    def run(input: Array, size: tuple[int, ...], mode: str, *options: Any) -> Array:
        is_taken = mode in ("linear", "cubic") and input.ndim == 4 and not options[-1]
        if not is_taken or not input.size or max(input.size, prod(input.shape[:2]) * prod(size)) < MIN_SIZE_FUSED:
            return generic(input, size, mode, *options)  # type: ignore[no-any-return]
        return resampling_bytes.resized(input, size, mode, *options)

    return run


def weighted_sums(input: Array, taps: tuple[Taps | None, ...]) -> Array:
    """The sums along each spatial dimension that has taps, of an array that is not small."""
    spatial = list(input.shape[2:])
    out = tuple(n if each is None else each.rows.shape[1] for n, each in zip(spatial, taps))
    last = is_channels_last(input)
    lanes = input.shape[1] if last else 1
    planes = prod(input.shape[:2]) // lanes
    x = flat_channels_last(input) if last else flat(input)
    *depth, rows, columns = (None, *taps) if len(spatial) == 1 else taps
    height, width = (1, *spatial)[-2:]
    each = planes * prod(spatial[:-2])
    if lanes < LANES:
        x = sums_of_planes(x, each, height, width, lanes, rows, columns)
    else:
        x = sums_of_rows(x, each * height, width, lanes, columns)
        x = sums_of_rows(x, each, height, out[-1] * lanes, rows)
    if depth:
        x = sums_of_rows(x, planes, spatial[0], out[1] * out[2] * lanes, depth[0])
    if not last:
        return x.reshape(*input.shape[:2], *out)
    return x.reshape(input.shape[0], *out, lanes).transpose(0, len(out) + 1, *range(1, len(out) + 1))


# Grid samples: the pixels and weights of a block of places are found once for all channels.

PLACES, NEAREST_PLACES = 256, 1024  # in a block
NEAREST, LINEAR, CUBIC = 1, 2, 4  # modes, by how many pixels there are along a dimension
ZEROS_OUTSIDE, BORDER, REFLECTION = 0, 1, 2
MODES = {"nearest": NEAREST, "bilinear": LINEAR, "bicubic": CUBIC}
PADDING = {"zeros": ZEROS_OUTSIDE, "border": BORDER, "reflection": REFLECTION}
PIXELS = 2  # beside whether corners are aligned: places are in pixels


@loop
def moved_inside(place, size, padding, align):
    """A place moved into the image by the padding mode, and the derivative of that."""
    low = 0.0 if align else -0.5
    span = size - 1.0 if align else size * 1.0
    slope, moved = 1.0, place * 1.0
    if padding == REFLECTION and span > 0:
        turns = np.floor(abs(moved - low) / span)
        rest = abs(moved - low) - turns * span
        is_even = turns - 2 * np.floor(turns / 2) == 0
        slope = 1.0 if is_even == (moved >= low) else -1.0
        moved = rest + low if is_even else low + span - rest
    slope = slope if 0 < moved < size - 1 else 0.0
    moved = min(max(moved, 0.0), size - 1.0) if moved == moved else 0.0
    return moved, slope


@loop
def number_of(place, size):
    """The number of the pixel at a whole place, -1 outside."""
    return np.int32(place) if (place >= 0) & (place <= size - 1) else np.int32(-1)


@loop
def along_dimension(grid, at, step, count, size, options, pixel, weight, slopes):
    """For a block of places and one dimension the pixels, their weights and the derivatives of these."""
    mode, padding, align = options
    scale = 1.0 if align == PIXELS else (size - 1.0) / 2 if align else size / 2.0
    shift = (size - 1.0) / 2 if align else size / 2.0 - 0.5
    for i in range(count):
        place = np.float64(grid[at + i * step] + weight.dtype.type(1)) * scale - (scale - shift)
        if align == PIXELS:
            place = np.float64(grid[at + i * step])
        weight[0, i] = weight.dtype.type(place)  # rounded once, to where the pixels are counted from
        slopes[0, i] = scale
    if padding != ZEROS_OUTSIDE and mode != CUBIC:
        for i in range(count):
            place, slope = moved_inside(weight[0, i], size, padding, align)
            weight[0, i] = place
            slopes[0, i] = slope * scale
    if mode == NEAREST:
        for i in range(count):
            pixel[0, i] = number_of(np.rint(weight[0, i]), size)
            weight[0, i], slopes[0, i] = 1, 0
    elif mode == LINEAR:
        for i in range(count):
            place, slope = weight[0, i], slopes[0, i]
            low = np.floor(place)
            high = low + weight.dtype.type(1)
            pixel[0, i], pixel[1, i] = number_of(low, size), number_of(high, size)
            weight[0, i], weight[1, i] = high - place, place - low
            slopes[0, i], slopes[1, i] = -slope, slope
    else:
        for i in range(count):
            low = np.floor(weight[0, i])
            share = weight[0, i] - low
            for k in range(4):
                at_pixel = low + k - 1.0
                if padding != ZEROS_OUTSIDE:
                    at_pixel, _ = moved_inside(at_pixel, size, padding, align)
                pixel[k, i] = number_of(np.rint(at_pixel), size)
                x, sign = (1.0 + share - k, 1) if k < 2 else (k - 1.0 - share, -1)
                if 0 < k < 3:
                    weight[k, i] = ((1.25 * x - 2.25) * x) * x + 1
                    slopes[k, i] = (3.75 * x - 4.5) * x * sign * scale
                else:
                    weight[k, i] = ((-0.75 * x + 3.75) * x - 6) * x + 3
                    slopes[k, i] = ((-2.25 * x + 7.5) * x - 6) * sign * scale


@loop
def pixels_of(grid, at, count, spatial, none, options, pixel, weight, slope, numbers, weights, slopes):
    """The pixels of a block of places (``none`` where there is none), their weights, and the derivatives of these.

    ``slopes`` has no dimensions where the derivatives are not wanted.
    """
    mode, dims = np.uintp(options[0]), np.uintp(len(spatial))
    for i in range(count):
        numbers[0, i] = 0
        weights[0, i] = 1
    for d in range(np.uintp(slopes.shape[0])):
        for i in range(count):
            slopes[d, 0, i] = 1
    taps = np.uintp(1)
    for dim in range(dims):
        axis = dims - np.uintp(1) - dim  # x, y, z of the place
        size = spatial[dim]
        along_dimension(grid, at + axis, dims, count, size, options, pixel, weight, slope)
        for back in range(mode):
            k = mode - np.uintp(1) - back  # the last first, as the first takes the place of what all are made of
            for t in range(taps):
                to = k * taps + t
                for i in range(count):
                    before, here = numbers[t, i], pixel[k, i]
                    number = before * np.int32(size) + here
                    numbers[to, i] = number if (before < none) & (here >= 0) else none
                for d in range(np.uintp(slopes.shape[0])):
                    factor = slope if d == axis else weight
                    for i in range(count):
                        slopes[d, to, i] = slopes[d, t, i] * factor[k, i]
                for i in range(count):
                    weights[to, i] = weights[t, i] * weight[k, i]
        taps *= mode


@loop
def add_four(x, start, numbers, weights, k, y, to, count):
    """Add four pixels times their weights to each sample."""
    for i in range(count):
        total = x[start + np.uintp(numbers[k, i])] * weights[k, i]
        for other in range(np.uintp(1), np.uintp(4)):
            total += x[start + np.uintp(numbers[k + other, i])] * weights[k + other, i]
        y[to + i] += total


@loop
def sample_loop(x, grid, y, channels, places, spatial, none, options, taps, lo, hi):
    """The samples of the blocks from lo to hi."""
    dims = np.uintp(len(spatial))
    pixel, weight, slope = (
        np.empty((4, PLACES), np.int32),
        np.empty((4, PLACES), x.dtype),
        np.empty((4, PLACES), x.dtype),
    )
    numbers, weights = np.empty((taps, PLACES), np.int32), np.empty((taps, PLACES), x.dtype)
    slopes = np.empty((0, taps, PLACES), x.dtype)
    blocks = (places + np.uintp(PLACES - 1)) // np.uintp(PLACES)
    for block in range(lo, hi):
        image, start = block // blocks, block % blocks * np.uintp(PLACES)
        count = min(np.uintp(PLACES), places - start)
        at = (image * places + start) * dims
        pixels_of(grid, at, count, spatial, none, options, pixel, weight, slope, numbers, weights, slopes)
        for channel in range(image * channels, (image + np.uintp(1)) * channels):
            source, to = channel * np.uintp(none + 1), channel * places + start
            for i in range(count):
                y[to + i] = 0 if taps > 1 else x[source + np.uintp(numbers[0, i])]
            if taps > 1:
                for k in range(np.uintp(0), taps, np.uintp(4)):
                    add_four(x, source, numbers, weights, k, y, to, count)


@launcher
def sample_places(x, grid, y, images, channels, places, spatial, none, options, taps):
    """All samples."""
    blocks = images * ((places + PLACES - 1) // PLACES)
    arguments = (x, grid, y, np.uintp(channels), np.uintp(places), spatial, np.int32(none), options, np.uintp(taps))
    parallel(sample_loop, arguments, blocks, y.size * (1 + taps))


@loop
def nearest_loop(x, grid, y, channels, places, height, width, scales, offsets, lo, hi):
    """The nearest pixels, zero outside, of images (channels, height, width) for the blocks from lo to hi."""
    one, zero, none = x.dtype.type(1), x.dtype.type(0), np.int32(-1)
    numbers = np.empty(NEAREST_PLACES, np.int32)
    blocks = (places + np.uintp(NEAREST_PLACES - 1)) // np.uintp(NEAREST_PLACES)
    for block in range(lo, hi):
        image, start = block // blocks, block % blocks * np.uintp(NEAREST_PLACES)
        count = min(np.uintp(NEAREST_PLACES), places - start)
        at = (image * places + start) * np.uintp(2)
        for i in range(count):
            across, down = grid[at + np.uintp(2) * i] + one, grid[at + np.uintp(2) * i + np.uintp(1)] + one
            column = np.rint(x.dtype.type(np.float64(across) * scales[1] - offsets[1]))
            row = np.rint(x.dtype.type(np.float64(down) * scales[0] - offsets[0]))
            inside = (column >= 0) & (column <= width - 1) & (row >= 0) & (row <= height - 1)
            numbers[i] = np.int32(row) * np.int32(width) + np.int32(column) if inside else none
        for channel in range(image * channels, (image + np.uintp(1)) * channels):
            source, to = channel * height * width, channel * places + start
            for i in range(count):
                number = numbers[i]
                y[to + i] = x[source + np.uintp(max(number, np.int32(0)))] if number >= 0 else zero


@launcher
def nearest_pixels(x, grid, y, images, channels, places, height, width, scales, offsets):
    """`sample_places` of the most common kind: the pixels are found without a zero after each image."""
    sizes = np.uintp(channels), np.uintp(places), np.uintp(height), np.uintp(width)
    arguments = (x, grid, y, sizes[0], sizes[1], sizes[2], sizes[3], scales, offsets)
    parallel(nearest_loop, arguments, images * ((places + NEAREST_PLACES - 1) // NEAREST_PLACES), y.size)


@loop
def spread_four(grad, source, numbers, weights, k, result, to, count):
    """Add each sample's gradient times four weights to four pixels."""
    for i in range(count):
        value = grad[source + i]
        for other in range(np.uintp(4)):
            result[to + np.uintp(numbers[k + other, i])] += value * weights[k + other, i]


@loop
def spread_samples_loop(grad, grid, result, channels, places, spatial, none, options, taps, each, lo, hi):
    """The gradient of the images for the groups of channels from lo to hi."""
    dims = np.uintp(len(spatial))
    pixel, weight, slope = (
        np.empty((4, PLACES), np.int32),
        np.empty((4, PLACES), grad.dtype),
        np.empty((4, PLACES), grad.dtype),
    )
    numbers, weights = np.empty((taps, PLACES), np.int32), np.empty((taps, PLACES), grad.dtype)
    slopes = np.empty((0, taps, PLACES), grad.dtype)
    groups = (channels + each - np.uintp(1)) // each
    for group in range(lo, hi):
        image, first = group // groups, group % groups * each
        begin, end = image * channels + first, image * channels + min(first + each, channels)
        for i in range(begin * np.uintp(none + 1), end * np.uintp(none + 1)):
            result[i] = 0
        for start in range(np.uintp(0), places, np.uintp(PLACES)):
            count = min(np.uintp(PLACES), places - start)
            at = (image * places + start) * dims
            pixels_of(grid, at, count, spatial, none, options, pixel, weight, slope, numbers, weights, slopes)
            for channel in range(begin, end):
                source, to = channel * places + start, channel * np.uintp(none + 1)
                if taps == 1:
                    for i in range(count):
                        result[to + np.uintp(numbers[0, i])] += grad[source + i]
                else:
                    for k in range(np.uintp(0), taps, np.uintp(4)):
                        spread_four(grad, source, numbers, weights, k, result, to, count)


@launcher
def spread_samples(grad, grid, result, images, channels, places, spatial, none, options, taps, each):
    """The gradient of all images."""
    groups = images * ((channels + each - 1) // each)
    sizes = np.uintp(channels), np.uintp(places), np.int32(none), np.uintp(taps), np.uintp(each)
    arguments = (grad, grid, result, sizes[0], sizes[1], spatial, sizes[2], options, sizes[3], sizes[4])
    parallel(spread_samples_loop, arguments, groups, grad.size * (1 + taps) + result.size)


@loop
def grid_slopes_loop(grad, x, grid, result, channels, places, spatial, none, options, taps, lo, hi):
    """The gradient of the grid for the blocks from lo to hi."""
    dims = np.uintp(len(spatial))
    pixel, weight, slope = (
        np.empty((4, PLACES), np.int32),
        np.empty((4, PLACES), x.dtype),
        np.empty((4, PLACES), x.dtype),
    )
    numbers, weights = np.empty((taps, PLACES), np.int32), np.empty((taps, PLACES), x.dtype)
    slopes = np.empty((dims, taps, PLACES), x.dtype)
    products = np.empty((taps, PLACES), x.dtype)
    blocks = (places + np.uintp(PLACES - 1)) // np.uintp(PLACES)
    for block in range(lo, hi):
        image, start = block // blocks, block % blocks * np.uintp(PLACES)
        count = min(np.uintp(PLACES), places - start)
        at = (image * places + start) * dims
        pixels_of(grid, at, count, spatial, none, options, pixel, weight, slope, numbers, weights, slopes)
        products[:] = 0
        for channel in range(image * channels, (image + np.uintp(1)) * channels):
            source, by = channel * np.uintp(none + 1), channel * places + start
            for k in range(taps):
                for i in range(count):
                    products[k, i] += grad[by + i] * x[source + np.uintp(numbers[k, i])]
        for d in range(dims):
            for i in range(count):
                total = x.dtype.type(0)
                for k in range(taps):
                    total += products[k, i] * slopes[d, k, i]
                result[at + i * dims + d] = total


@launcher
def grid_slopes(grad, x, grid, result, images, channels, places, spatial, none, options, taps):
    """The gradient of the whole grid."""
    blocks = images * ((places + PLACES - 1) // PLACES)
    sizes = np.uintp(channels), np.uintp(places), np.int32(none), np.uintp(taps)
    arguments = (grad, x, grid, result, sizes[0], sizes[1], spatial, sizes[2], options, sizes[3])
    parallel(grid_slopes_loop, arguments, blocks, grad.size * (1 + taps))


def with_zero(input: Array) -> Array:
    """The pixels of each image, and a zero after them: the one that stands for none."""
    rows = prod(input.shape[:2])
    flat = np.empty((rows, prod(input.shape[2:]) + 1), input.dtype)
    flat[:, :-1] = input.reshape(rows, -1)
    flat[:, -1] = 0
    return flat.reshape(-1)


def geometry_of(shape: Sizes, grid: Array, options: Any) -> Any:
    """What the loops take besides arrays: numbers of images, channels and places, sizes, and options as numbers."""
    mode, padding, align = options
    numbers = MODES[mode], PADDING[padding], PIXELS if align is None else int(align)
    spatial = tuple(shape[2:])
    return *shape[:2], prod(grid.shape[1:-1]), spatial, prod(spatial), numbers, numbers[0] ** len(spatial)


def nearest(input: Array, grid: Array, result: Array, align_corners: bool) -> None:
    """Write the nearest pixels of images (N, C, H, W), zero outside."""
    images, channels, height, width = input.shape
    scales = tuple((size - 1.0) / 2 if align_corners else size / 2.0 for size in (height, width))
    shifts = ((size - 1.0) / 2 if align_corners else size / 2.0 - 0.5 for size in (height, width))
    offsets = tuple(scale - shift for scale, shift in zip(scales, shifts))
    places = prod(grid.shape[1:-1])
    nearest_pixels(flat(input), flat(grid), flat(result), images, channels, places, height, width, scales, offsets)


def is_taken(first: Array, grid: Array, shape: Sizes, other: Array, orders: Sizes) -> bool:
    """Whether the loops are for these arrays: undifferentiated weights, and something to do.

    The first array's size decides also before Numba is imported: the same kernel is taken then and later.
    """
    alike = grid.dtype == other.dtype and 0 < prod(shape[2:]) < 1 << 31
    return alike and not any(orders) and grid.size > 0 and prod(shape[:2]) > 0 and first.size >= MIN_SIZE_FUSED


@register_kernel("nn::sample", dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
def sample(generic: Kernel) -> Kernel:
    """The pixels around each place of a grid, times weights."""

    def run(input: Array, grid: Array, options: Any, orders: Sizes) -> Array:
        if not is_taken(input, grid, input.shape, input, orders):
            return generic(input, grid, options, orders)  # type: ignore[no-any-return]
        result = np.empty((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
        if options[:2] == ("nearest", "zeros") and options[2] is not None and input.ndim == 4:
            nearest(input, grid, result, align_corners=options[2])
            return result
        sample_places(with_zero(input), flat(grid), flat(result), *geometry_of(input.shape, grid, options))
        return result

    return run


@register_kernel("nn::sample_input_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
def sample_input_gradient(generic: Kernel) -> Kernel:
    """Each place's gradient times weights added to the pixels around it."""

    def run(grad: Array, grid: Array, shape: Sizes, options: Any, orders: Sizes) -> Array:
        if not is_taken(grad, grid, shape, grad, orders):
            return generic(grad, grid, shape, options, orders)  # type: ignore[no-any-return]
        result = np.empty((prod(shape[:2]), prod(shape[2:]) + 1), grad.dtype)  # with a pixel that stands for none
        each = max(4, shape[0] * shape[1] // 16)  # channels for which the pixels are found once
        spread_samples(flat(grad), flat(grid), flat(result), *geometry_of(shape, grid, options), min(each, shape[1]))
        return np.ascontiguousarray(result[:, :-1]).reshape(shape)

    return run


@register_kernel("nn::sample_grid_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
def sample_grid_gradient(generic: Kernel) -> Kernel:
    """The gradient of the samples with respect to the grid."""

    def run(grad: Array, input: Array, grid: Array, options: Any, orders: Sizes) -> Array:
        is_alike = grad.dtype == grid.dtype and options[0] != "nearest"
        if not is_alike or not is_taken(grad, grid, input.shape, input, orders):
            return generic(grad, input, grid, options, orders)  # type: ignore[no-any-return]
        result = np.empty(grid.shape, grid.dtype)
        grid_slopes(flat(grad), with_zero(input), flat(grid), flat(result), *geometry_of(input.shape, grid, options))
        return result

    return run
