"""Kernels of detection: suppression of boxes that overlap better ones, and features of regions."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel, rounding_loop
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

Array = np.ndarray[Any, Any]
Kernel = Any
Sizes = tuple[int, ...]

REAL = "float32 float64"
MOST = 1 << 12  # samples of a bin along an axis

# Where a number is compared with a limit, each step is rounded, as elsewhere: no multiply-adds.


@rounding_loop
def suppress(left, top, right, bottom, areas, i, threshold, gone, lo, hi):
    """Mark the boxes from lo to hi that overlap box i by more than the threshold."""
    zero = areas.dtype.type(0)
    for j in range(lo, hi):
        width = min(right[i], right[j]) - max(left[i], left[j])
        height = min(bottom[i], bottom[j]) - max(top[i], top[j])
        inter = max(width, zero) * max(height, zero)
        gone[j] |= inter / (areas[i] + areas[j] - inter) > threshold


@launcher
def best_boxes(left, top, right, bottom, areas, threshold, gone, kept):
    """The places of the boxes that stay, the best of which come first, and their number."""
    count = 0
    for i in range(len(areas)):
        if not gone[i]:
            kept[count] = i
            count += 1
            suppress(
                left, top, right, bottom, areas, np.uintp(i), threshold, gone, np.uintp(i + 1), np.uintp(len(areas))
            )
    return count


@register_kernel("vision::nms", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def nms_kernel(generic: Kernel) -> Kernel:
    """The best of boxes that overlap."""

    def run(boxes: Array, scores: Array, iou_threshold: float) -> Array:
        order = len(boxes) - 1 - np.argsort(scores[::-1], kind="stable")[::-1]
        sides = np.ascontiguousarray(boxes[order].T)
        if not np.isfinite(sides).all():
            return generic(boxes, scores, iou_threshold)  # type: ignore[no-any-return]
        left, top, right, bottom = sides
        areas = (right - left) * (bottom - top)
        threshold = boxes.dtype.type(iou_threshold)
        if float(threshold) > iou_threshold:  # the numbers above it are those above the threshold in double precision
            threshold = np.nextafter(threshold, boxes.dtype.type(-np.inf))
        gone, kept = np.zeros(len(areas), np.bool_), np.empty(len(areas), np.int64)
        count = best_boxes(left, top, right, bottom, areas, threshold, gone, kept)
        return order[kept[:count]]

    return run


@rounding_loop
def taps_loop(low, high, size, ratio, least, pixels, weights, used, lo, hi):
    """Along an axis, the pixels of each bin of the regions from lo to hi, and their weights: two for each sample."""
    as_float = weights.dtype.type
    bins = np.uintp(pixels.shape[1])
    for region in range(lo, hi):
        length = max(high[region] - low[region], least) if least > 0 else high[region] - low[region]
        step = length / as_float(bins)
        count = ratio if ratio > 0 else np.int64(max(np.ceil(step), as_float(0)))
        samples, share = np.uintp(max(count, 1)), step / as_float(max(count, 1))
        used[region] = 2 * samples
        for each in range(bins):
            start = low[region] + as_float(each) * step
            for s in range(samples):
                place = start + (as_float(s) + as_float(0.5)) * share
                counted = (np.int64(s) < count) & (place >= -1) & (place <= size)
                place = min(max(place, as_float(0)), as_float(size - 1))
                first = np.int64(place)
                upper = place - as_float(first)
                factor = as_float(counted) / as_float(max(count, 1))
                pixels[region, each, 2 * s] = first
                pixels[region, each, 2 * s + np.uintp(1)] = min(first + 1, size - 1)
                weights[region, each, 2 * s] = (as_float(1) - upper) * factor
                weights[region, each, 2 * s + np.uintp(1)] = upper * factor


@launcher
def taps(low, high, size, ratio, least, pixels, weights, used):
    parallel(taps_loop, (low, high, size, ratio, least, pixels, weights, used), len(low), weights.size)


@loop
def region_loop(x, images, rows, columns, result, width, lo, hi):
    """The features of the regions from lo to hi."""
    (y_pixels, y_weights, y_counts), (x_pixels, x_weights, x_counts) = rows, columns
    channels, height, along = np.uintp(result.shape[1]), np.uintp(y_pixels.shape[1]), np.uintp(x_pixels.shape[1])
    for region in range(lo, hi):
        down, across = np.uintp(y_counts[region]), np.uintp(x_counts[region])
        for channel in range(channels):
            plane = x[np.uintp(images[region]) * channels + channel]
            for i in range(height):
                for j in range(along):
                    total = result.dtype.type(0)
                    for a in range(down):
                        start, line = np.uintp(y_pixels[region, i, a]) * width, result.dtype.type(0)
                        for b in range(across):
                            line += plane[start + np.uintp(x_pixels[region, j, b])] * x_weights[region, j, b]
                        total += line * y_weights[region, i, a]
                    result[region, channel, i, j] = total


@launcher
def region_features(x, images, rows, columns, result, width):
    arguments = (x, images, rows, columns, result, np.uintp(width))
    parallel(region_loop, arguments, len(images), result.size * rows[0].shape[2] * columns[0].shape[2])


@loop
def region_gradient_loop(grad, images, rows, columns, result, width, lo, hi):
    """The gradient of the planes from lo to hi, from all regions of their image."""
    (y_pixels, y_weights, y_counts), (x_pixels, x_weights, x_counts) = rows, columns
    channels, height, along = np.uintp(grad.shape[1]), np.uintp(y_pixels.shape[1]), np.uintp(x_pixels.shape[1])
    for plane in range(lo, hi):
        image, channel = plane // channels, plane % channels
        to = result[plane]
        for region in range(np.uintp(len(images))):
            if np.uintp(images[region]) != image:
                continue
            down, across = np.uintp(y_counts[region]), np.uintp(x_counts[region])
            for i in range(height):
                for j in range(along):
                    value = grad[region, channel, i, j]
                    for a in range(down):
                        start, share = np.uintp(y_pixels[region, i, a]) * width, value * y_weights[region, i, a]
                        for b in range(across):
                            place = start + np.uintp(x_pixels[region, j, b])
                            to[place] += share * x_weights[region, j, b]


@launcher
def region_gradient(grad, images, rows, columns, result, width):
    arguments = (grad, images, rows, columns, result, np.uintp(width))
    parallel(region_gradient_loop, arguments, len(result), grad.size * rows[0].shape[2] * columns[0].shape[2])


def region_taps(rois: Array, shape: Sizes, scale: float, bins: Sizes, ratio: int, aligned: bool) -> Any:
    """The images of regions, and for rows and columns the pixels, their weights and how many; None for odd regions."""
    if not np.isfinite(rois).all() or not len(rois):
        return None
    images = rois[:, 0].astype(np.int64)
    if images.min() < 0 or images.max() >= shape[0] or 0 in shape:
        return None
    left, top, right, bottom = np.ascontiguousarray((rois[:, 1:] * scale - (0.5 if aligned else 0.0)).T)
    least = rois.dtype.type(0 if aligned else 1)
    found: list[Any] = [images]
    for low, high, count, size in ((top, bottom, bins[0], shape[2]), (left, right, bins[1], shape[3])):
        samples = ratio if ratio > 0 else np.ceil(max((high - low).max(), least, 1) / count)
        if not samples <= MOST:
            return None
        pixels = np.empty((len(rois), count, 2 * int(samples)), np.int32)
        weights = np.empty(pixels.shape, rois.dtype)
        used = np.empty(len(rois), np.int64)
        taps(low, high, size, ratio, least, pixels, weights, used)
        found.append((pixels, weights, used))
    return found


@register_kernel("vision::roi_align", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def roi_align_kernel(generic: Kernel) -> Kernel:
    """Features of regions, interpolated between pixels."""

    def run(x: Array, rois: Array, scale: float, height: int, width: int, ratio: int, aligned: bool) -> Array:
        found = region_taps(rois, x.shape, scale, (height, width), ratio, aligned)
        if found is None:
            return generic(x, rois, scale, height, width, ratio, aligned)  # type: ignore[no-any-return]
        result = np.empty((len(rois), x.shape[1], height, width), x.dtype)
        planes = np.ascontiguousarray(x).reshape(prod(x.shape[:2]), -1)
        region_features(planes, *found, result, x.shape[3])
        return result

    return run


@register_kernel("vision::roi_align_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def roi_align_gradient_kernel(generic: Kernel) -> Kernel:
    """The gradient of the features of regions with respect to the image."""

    def run(grad: Array, rois: Array, shape: Sizes, scale: float, ratio: int, aligned: bool) -> Array:
        found = region_taps(rois, shape, scale, grad.shape[2:], ratio, aligned)
        if found is None:
            return generic(grad, rois, shape, scale, ratio, aligned)  # type: ignore[no-any-return]
        result = np.zeros((prod(shape[:2]), prod(shape[2:])), grad.dtype)
        region_gradient(np.ascontiguousarray(grad), *found, result, shape[3])
        return result.reshape(shape)

    return run
