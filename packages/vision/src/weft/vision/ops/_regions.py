"""What pooling of regions shares: boxes with their images, and sums of weighted pixels.

A bin of a region is a sum of pixels times weights, which are products of one weight for the row and one for the
column. `roi_align` and the position-sensitive poolings differ in these; they are linear in the features, and so is the
gradient, which adds each bin's value times the weights to the pixels. Features are taken with their channels last: each
pixel is a row of a matrix, and a bin that has channels of its own picks other rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from weft import Tensor
from weft.library.checks import check_positions, positioned
from weft.library.numerics import combine_at, is_numpy
from weft.vision.ops._utils import check_roi_boxes_shape, convert_boxes_to_roi_format

__all__ = ["pair", "run"]

BLOCK = 1 << 21  # elements that are gathered at once
MOST = 1 << 12  # samples of a bin along an axis


def pair(output_size: int | Sequence[int]) -> tuple[int, int]:
    """Rows and columns, where one number may stand for both."""
    rows, columns = (output_size, output_size) if isinstance(output_size, int) else output_size
    return rows, columns


def run(
    op: Any, name: str, input: Tensor, boxes: Any, spatial_scale: float, size: Any, *options: Any, own: bool = False
) -> Any:
    """Call an op of regions, after the checks that all of them need; with ``own`` each bin has channels of its own.

    Raises
    ------
    AssertionError
        If the boxes are neither Tensor[K, 5] nor a list of Tensor[L, 4].
    RuntimeError
        If the input is no batch of images, its channels are no multiple of the bins that have some of their own, or
        the boxes have another dtype.
    IndexError
        If a box is of an image that the batch does not have.
    """
    check_roi_boxes_shape(boxes)
    rois = boxes if isinstance(boxes, Tensor) else convert_boxes_to_roi_format(boxes)
    rows, columns = pair(size)
    if input.ndim != 4:
        raise RuntimeError(f"{name}: input must be Tensor[N, C, H, W], got shape {tuple(input.shape)}")
    if rows < 1 or columns < 1:
        raise RuntimeError(f"{name}: output_size must be positive, got ({rows}, {columns})")
    if input.dtype is not rois.dtype:
        raise RuntimeError(
            f"{name}: Expected tensor for input to have the same type as tensor for rois; but type "
            f"{input.dtype} does not equal {rois.dtype}"
        )
    if own and input.shape[1] % (rows * columns):
        raise RuntimeError(
            f"{name}: input channels must be a multiple of pooling height * pooling width; got {input.shape[1]} "
            f"channels for {rows} * {columns} bins"
        )
    return positioned(name, IndexError, op, input, rois, float(spatial_scale), int(rows), int(columns), *options)


def images_of(xp: Any, name: str, rois: Any, count: int) -> Any:
    """The index of each box's image."""
    images = rois[:, 0].astype(xp.int64)
    check_positions(xp, name, images, 0, count)
    return images


# Weights along an axis


def sample_weights(
    xp: Any, low: Any, high: Any, bins: int, size: int, sampling_ratio: int, least: float
) -> tuple[Any, Any, Any]:
    """The pixels along an axis that each bin is interpolated from, and their weights.

    Parameters
    ----------
    low, high : arrays (K,)
        Where the regions begin and end.
    bins, size : int
        Of the region, and of the image in pixels.
    sampling_ratio : int
        Samples in a bin; 0 or less: one for each pixel.
    least : float
        The length that a region has at least, or 0.

    Returns
    -------
    pixels, weights : arrays (K, bins, taps)
    counts : array (K,)
        The samples in a bin: none in a region of no length.
    """
    length = high - low
    if least:
        length = xp.maximum(length, least)
    step = length / bins
    if sampling_ratio > 0:
        most, counts = sampling_ratio, xp.full(low.shape, sampling_ratio, low.dtype)
    else:
        counts = xp.maximum(xp.ceil(xp.where(xp.isnan(step), 1, step)), 0).astype(low.dtype)
        most = largest(counts)
    samples = xp.arange(most).astype(low.dtype)
    shares = xp.maximum(counts, 1)[:, None, None]
    starts = low[:, None] + xp.arange(bins).astype(low.dtype) * step[:, None]
    places = starts[:, :, None] + (samples + 0.5) * (step[:, None, None] / shares)
    counted = (samples < counts[:, None, None]) & ~((places < -1.0) | (places > size))
    places = places.clip(0, size - 1)  # a NaN stays
    first = xp.floor(places)
    share = places - first
    pixel = xp.where(xp.isnan(first), 0, first).astype(xp.int64)
    pixels = xp.stack([pixel, xp.minimum(pixel + 1, size - 1)], axis=-1)
    weights = xp.where(counted[..., None], xp.stack([1 - share, share], axis=-1) / shares[..., None], 0)
    shape = (*places.shape[:2], 2 * most)
    return pixels.reshape(shape), weights.astype(low.dtype).reshape(shape), counts


def largest(counts: Any) -> int:
    """The largest number of samples or pixels in a bin, at least 1; it is read from a device.

    Raises
    ------
    ValueError
        If it is above `MOST`.
    """
    most = float(counts.max()) if counts.size else 1.0
    if most > MOST:
        raise ValueError(f"a region has {most:.0f} samples in a bin, more than {MOST}: pass a sampling_ratio above 0")
    return max(int(most), 1)


def whole_cells(xp: Any, low: Any, high: Any, bins: int, limit: int, past_end: int) -> tuple[Any, Any]:
    """The first cell of each bin and the one past its last, (K, bins), of a region between cells.

    Halves are rounded away from zero, as by C's ``round``; the cells are from 0 to ``limit``.
    """
    low, high = (xp.trunc(each + xp.copysign(each * 0 + 0.5, each)) for each in (low, high))
    step = (xp.maximum(high - low + past_end, 1) / bins)[:, None]
    index = xp.arange(bins).astype(low.dtype)
    starts, ends = xp.floor(index * step) + low[:, None], xp.ceil((index + 1) * step) + low[:, None]
    return tuple(xp.where(xp.isnan(each), 0, each).clip(0, limit).astype(xp.int64) for each in (starts, ends))


# Sums of weighted pixels


def blocks(count: int, elements: int) -> Iterator[slice]:
    """Parts of the regions of which not too much is gathered at once."""
    size = max(BLOCK // max(elements, 1), 1)
    return (slice(start, start + size) for start in range(0, count, size))


def taps(xp: Any, first: Any, rows: Any, columns: Any, width: int, at: slice) -> tuple[Any, Any]:
    """The pixels of each bin as rows of the matrix, and their weights, (K, rows, columns, pixels)."""
    y, x = rows[0][at, :, None, :, None] * width, columns[0][at, None, :, None, :]
    weights = rows[1][at, :, None, :, None] * columns[1][at, None, :, None, :]
    shape = (*weights.shape[:3], -1)
    return (first[at, :, :, None, None] + y + x).reshape(shape), weights.reshape(shape)


def first_pixels(xp: Any, images: Any, size: tuple[int, int], own: bool, pixels: int) -> Any:
    """The first row of the matrix that belongs to each bin's image, and with ``own`` to its channels."""
    bins = xp.arange(size[0] * size[1]).reshape(1, *size)
    return (images[:, None, None] * (size[0] * size[1]) + bins if own else images[:, None, None]) * pixels


def region_sums(xp: Any, input: Any, images: Any, rows: Any, columns: Any, own: bool) -> Any:
    """The sum of weighted pixels for each bin, (K, C, rows, columns).

    With ``own`` each bin has channels of its own: the input has C * rows * columns.
    """
    size = rows[0].shape[1], columns[0].shape[1]
    matrix = pixel_rows(xp, input, size, own)
    channels = matrix.shape[1]
    first = first_pixels(xp, images, size, own, math.prod(input.shape[2:]))
    first = xp.broadcast_to(first, (len(images), *size))
    result = xp.zeros((len(images), *size, channels), input.dtype)
    each = math.prod(size) * rows[0].shape[2] * columns[0].shape[2] * channels
    for at in blocks(len(images) if matrix.size else 0, each):
        places, weights = taps(xp, first, rows, columns, input.shape[3], at)
        result[at] = xp.matmul(weights[..., None, :], matrix[places])[..., 0, :]
    return xp.ascontiguousarray(result.transpose(0, 3, 1, 2))


def region_sums_gradient(xp: Any, grad: Any, images: Any, rows: Any, columns: Any, shape: Any, own: bool) -> Any:
    """Each bin's value times the weights, added to the pixels of images of a shape."""
    size, channels = grad.shape[2:], grad.shape[1]
    total = xp.zeros((math.prod(shape) // max(channels, 1), channels), grad.dtype)
    first = first_pixels(xp, images, size, own, math.prod(shape[2:]))
    first = xp.broadcast_to(first, (len(images), *size))
    values = grad.transpose(0, 2, 3, 1)
    each = math.prod(size) * rows[0].shape[2] * columns[0].shape[2] * channels
    for at in blocks(len(images) if total.size else 0, each):
        places, weights = taps(xp, first, rows, columns, shape[3], at)
        add_rows(xp, total, places.reshape(-1), (weights[..., None] * values[at, :, :, None]).reshape(-1, channels))
    if not own:
        return xp.ascontiguousarray(total.reshape(shape[0], *shape[2:], channels).transpose(0, 3, 1, 2))
    images_last = total.reshape(shape[0], math.prod(size), *shape[2:], channels)
    return xp.ascontiguousarray(images_last.transpose(0, 4, 1, 2, 3)).reshape(shape)


def pixel_rows(xp: Any, input: Any, size: tuple[int, int], own: bool) -> Any:
    """The images as a matrix of a row for each pixel, and with ``own`` for each bin."""
    batch, channels, height, width = input.shape
    if not own:
        return input.transpose(0, 2, 3, 1).reshape(batch * height * width, channels)
    bins = math.prod(size)
    split = input.reshape(batch, channels // bins, bins, height, width).transpose(0, 2, 3, 4, 1)
    return split.reshape(batch * bins * height * width, channels // bins)


def add_rows(xp: Any, total: Any, places: Any, values: Any) -> None:
    """``total[places] += values``, where places may repeat."""
    if not is_numpy(xp):
        combine_at(xp, xp.add, total, (places,), values)
        return
    order = numpy.argsort(places, kind="stable")  # sums of runs: several times faster than ``add.at``
    places = places[order]
    starts = numpy.flatnonzero(numpy.diff(places, prepend=-1))
    total[places[starts]] += numpy.add.reduceat(values[order], starts, axis=0)
