"""Resized images of bytes, in integers: sums of bytes times weights of 16 bits, rounded to bytes.

First each row that is needed is resampled across, then sums of such rows are the rows of the result; both are rounded
to bytes, as PyTorch and Pillow do. Across, a block of rows is turned first, so that vectors are columns and no byte is
looked for; what lies between the two is kept in a ring of rows, in the first caches. Images need not be contiguous.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.codegen.strided_copy import transpose_blocks
from weft.library.resampling import Taps, taps_of

__all__ = ["resized"]

Array = np.ndarray[Any, Any]

PAIR = 2  # taps are in pairs, of which two are taken at a time
BLOCK = 64  # rows that are resampled across together, a vector for each column


@loop
def turned_block(x, image, channel, first, count, width, block):
    """A block of rows, turned: the bytes of a column lie side by side."""
    if x.strides[3] == 1:
        place = x[image, channel, first:].ctypes.data
        transpose_blocks(block.ctypes.data, place, x, np.int64(width), np.int64(count), BLOCK, x.strides[2], False)
    else:
        for i in range(width):
            for r in range(count):
                block[i * np.uintp(BLOCK) + r] = x[image, channel, first + r, i]


@loop
def across(block, starts, weights, bits, sums, turned):
    """The rows of a turned block, resampled and turned."""
    for j in range(np.uintp(starts.shape[0])):
        for r in range(np.uintp(BLOCK)):
            sums[r] = np.int32(1) << np.int32(bits - 1)
        fours = np.uintp(weights.shape[0]) // np.uintp(4) * np.uintp(4)
        for k in range(np.uintp(0), fours, np.uintp(4)):
            w0, w1 = np.int32(weights[k, j]), np.int32(weights[k + 1, j])
            w2, w3 = np.int32(weights[k + 2, j]), np.int32(weights[k + 3, j])
            a = (np.uintp(starts[j]) + k) * np.uintp(BLOCK)
            b, c, d = a + np.uintp(BLOCK), a + np.uintp(2 * BLOCK), a + np.uintp(3 * BLOCK)
            for r in range(np.uintp(BLOCK)):
                total = np.int32(np.int32(block[a + r]) * w0) + np.int32(np.int32(block[b + r]) * w1)
                total += np.int32(np.int32(block[c + r]) * w2) + np.int32(np.int32(block[d + r]) * w3)
                sums[r] += np.int32(total)
        for k in range(fours, np.uintp(weights.shape[0]), np.uintp(2)):
            w0, w1 = np.int32(weights[k, j]), np.int32(weights[k + 1, j])
            a = (np.uintp(starts[j]) + k) * np.uintp(BLOCK)
            b = a + np.uintp(BLOCK)
            for r in range(np.uintp(BLOCK)):
                sums[r] += np.int32(np.int32(np.int32(block[a + r]) * w0) + np.int32(np.int32(block[b + r]) * w1))
        for r in range(np.uintp(BLOCK)):
            value = sums[r] >> np.int32(bits)
            turned[j * np.uintp(BLOCK) + r] = np.uint8(min(max(value, np.int32(0)), np.int32(255)))


@loop
def turn_back(turned, count, size, ring, mask, first):
    """The rows of a turned block, put where the ring has them: up to its end, and from its beginning."""
    start = first & mask
    before = min(count, mask + np.uintp(1) - start)
    source, target = turned.ctypes.data, ring.ctypes.data
    place = target + np.int64(start * size)
    transpose_blocks(place, source, turned, np.int64(before), np.int64(size), np.int64(size), BLOCK, False)
    if before < count:
        rest = np.int64(count - before)
        transpose_blocks(target, source + np.int64(before), turned, rest, np.int64(size), np.int64(size), BLOCK, False)


@loop
def down(ring, mask, size, start, weights, row, bits, sums, y, to):
    """A sum of rows that a ring keeps."""
    for j in range(size):
        sums[j] = np.int32(1) << np.int32(bits - 1)
    fours = np.uintp(weights.shape[0]) // np.uintp(4) * np.uintp(4)
    for k in range(np.uintp(0), fours, np.uintp(4)):
        a, b = ((start + k) & mask) * size, ((start + k + np.uintp(1)) & mask) * size
        c, d = ((start + k + np.uintp(2)) & mask) * size, ((start + k + np.uintp(3)) & mask) * size
        w0, w1 = np.int32(weights[k, row]), np.int32(weights[k + 1, row])
        w2, w3 = np.int32(weights[k + 2, row]), np.int32(weights[k + 3, row])
        for j in range(size):
            total = np.int32(np.int32(ring[a + j]) * w0) + np.int32(np.int32(ring[b + j]) * w1)
            total += np.int32(np.int32(ring[c + j]) * w2) + np.int32(np.int32(ring[d + j]) * w3)
            sums[j] += np.int32(total)
    for k in range(fours, np.uintp(weights.shape[0]), np.uintp(2)):
        a, b = ((start + k) & mask) * size, ((start + k + np.uintp(1)) & mask) * size
        w0, w1 = np.int32(weights[k, row]), np.int32(weights[k + 1, row])
        for j in range(size):
            sums[j] += np.int32(np.int32(np.int32(ring[a + j]) * w0) + np.int32(np.int32(ring[b + j]) * w1))
    for j in range(size):
        value = sums[j] >> np.int32(bits)
        y[to + j] = np.uint8(min(max(value, np.int32(0)), np.int32(255)))


@loop
def resize_loop(x, y, channels, height, width, columns, column_weights, rows, row_weights, bits, lo, hi):
    """The rows of the result from lo to hi. Weights without taps leave a dimension as it is."""
    out_height, out = np.uintp(rows.shape[0]), np.uintp(columns.shape[0])
    is_across, is_down = column_weights.shape[0] > 0, row_weights.shape[0] > 0
    taps = max(np.uintp(row_weights.shape[0]), np.uintp(1))
    capacity = np.uintp(1)
    while capacity < taps + np.uintp(BLOCK):
        capacity += capacity
    mask = capacity - np.uintp(1)
    block = np.zeros((width + np.uintp(column_weights.shape[0])) * np.uintp(BLOCK), np.uint8)
    turned = np.empty(out * np.uintp(BLOCK), np.uint8)
    ring = np.zeros(capacity * out, np.uint8)
    sums = np.empty(max(out, np.uintp(BLOCK)), np.int32)
    plane, done = lo // out_height, np.uintp(0)
    row = lo - plane * out_height
    for number in range(lo, hi):
        start = np.uintp(rows[row])
        done = max(done, start)
        last = min(start + taps, height)
        while done < last:
            image, channel = plane // channels, plane % channels
            count = min(np.uintp(BLOCK), height - done)
            if is_across:
                turned_block(x, image, channel, done, count, width, block)
                across(block, columns, column_weights, bits[1], sums, turned)
                turn_back(turned, count, out, ring, mask, done)
            else:
                for r in range(count):
                    to = ((done + r) & mask) * out
                    for i in range(width):
                        ring[to + i] = x[image, channel, done + r, i]
            done += count
        if is_down:
            down(ring, mask, out, start, row_weights, row, bits[0], sums, y, number * out)
        else:
            for j in range(out):
                y[number * out + j] = ring[(start & mask) * out + j]
        row += np.uintp(1)
        if row == out_height:
            row, done = np.uintp(0), np.uintp(0)
            plane += np.uintp(1)


@launcher
def resize(x, y, columns, column_weights, rows, row_weights, bits):
    """All rows of the result."""
    sizes = np.uintp(x.shape[1]), np.uintp(x.shape[2]), np.uintp(x.shape[3])
    tables = columns, column_weights, rows, row_weights, bits
    work = x.size * 2 + y.size * (2 + column_weights.shape[0] + row_weights.shape[0])
    parallel(resize_loop, (x, y, *sizes, *tables), y.size // len(columns), work)


@loop
def kernel_at(x, cubic):
    """The triangle, or Keys' cubic kernel with a = -0.5, as Pillow has it."""
    if not cubic:
        return max(1.0 - x, 0.0)
    if x <= 1.0:
        return ((1.5 * x - 2.5) * x) * x + 1.0
    return ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0 if x < 2.0 else 0.0


@launcher
def widened(size, cubic, starts, weights, found):
    """Find the taps of kernels as wide as an element of the result: see `weft.library.resampling.widened_taps`.

    ``found`` (taps, out) is where they are computed. Returns how many bits of a weight are after the point, and the
    most taps that an element has.
    """
    out = len(starts)
    step = size / out
    stretch = max(step, 1.0)
    support = (2.0 if cubic else 1.0) * stretch
    largest, taps = 0.0, 0
    for j in range(out):
        centre = step * (j + 0.5)
        start = max(int(centre - support + 0.5), 0)
        stop = min(int(centre + support + 0.5), size)
        starts[j] = start
        taps = max(taps, stop - start)
        total = 0.0
        for k in range(stop - start):
            found[k, j] = kernel_at(abs((start + k - centre + 0.5) * (1.0 / stretch)), cubic)
            total += found[k, j]
        for k in range(stop - start):
            found[k, j] /= total
            largest = max(largest, found[k, j])
        for k in range(stop - start, len(found)):
            found[k, j] = 0.0
    bits = 0
    while bits < 22 and int(0.5 + largest * (1 << (bits + 1))) < 1 << 15:
        bits += 1
    for k in range(len(found)):
        for j in range(out):
            value = found[k, j] * (1 << bits)
            weights[k, j] = np.int16(value + 0.5 if value >= 0 else value - 0.5)
    return bits, taps


NONE = np.zeros((0, 0), np.int16)
Bands = tuple[Array, Array, int]  # first elements, weights of those and the next, and bits after the point


def widened_bands(size: int, out: int, cubic: bool) -> Bands:
    """The taps of one dimension of an antialiased image."""
    if size == out:
        return np.arange(out, dtype=np.int32), NONE, 0
    reach = -(-(2 if cubic else 1) * max(size, out) // out)
    most = -(-(2 * reach + 1) // PAIR) * PAIR
    starts, weights = np.empty(out, np.int32), np.empty((most, out), np.int16)
    bits, taps = widened(size, cubic, starts, weights, np.empty((most, out)))
    return starts, weights[: -(-taps // PAIR) * PAIR], bits


@lru_cache(256)
def bands_of(taps: Taps | None, size: int) -> Bands:
    """The taps of one dimension, as a band of consecutive elements for each of the result."""
    if taps is None:
        return np.arange(size, dtype=np.int32), NONE, 0
    some = taps.rows < taps.size
    starts = np.where(some, taps.rows, taps.size).min(0)
    weights = np.zeros((-(-taps.span // PAIR) * PAIR, len(starts)), np.int16)
    for rows, there, each in zip(taps.rows, some, taps.weights):
        number = np.flatnonzero(there)
        weights[(rows - starts)[number], number] += each[number].astype(np.int16)
    return starts.astype(np.int32), weights, taps.bits


def resized(input: Array, size: tuple[int, ...], mode: str, scales: Any, *options: bool) -> Array:
    """Images of bytes (N, C, H, W) in another size, by linear or cubic weights: the arguments of ``nn::resample``."""
    align_corners, antialias, _ = options
    height, width = input.shape[2:]
    if antialias and not align_corners and not any(scales):
        rows, columns = (widened_bands(*each, mode == "cubic") for each in ((height, size[0]), (width, size[1])))
    else:
        taps = taps_of(input, size, mode, scales, *options)
        rows, columns = bands_of(taps[0], height), bands_of(taps[1], width)
    result = np.empty((*input.shape[:2], *size), np.uint8)
    resize(input, result.reshape(-1), *columns[:2], *rows[:2], (rows[2], columns[2]))
    return result
