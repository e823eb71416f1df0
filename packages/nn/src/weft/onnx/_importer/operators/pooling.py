"""Pooling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft
import weft.nn.functional as F
from weft.onnx._importer.operators.convolution import pad_ends, resolved_pads
from weft.onnx._importer.registry import operator

AVERAGE_POOLS: dict[int, Callable[..., Any]] = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
MAX_POOLS: dict[int, Callable[..., Any]] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


def geometry(
    x: Any, kernel: Any, strides: Any, dilations: Any, pads: Any, auto_pad: str, ceil_mode: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Strides, dilations, pads, and how many windows there are along each axis.

    With `ceil_mode` the last window may hang over the end, but begins before the second pad.
    """
    axes = len(kernel)
    strides, dilations = strides or [1] * axes, dilations or [1] * axes
    if not len(strides) == len(dilations) == axes == x.ndim - 2 or min(*strides, *dilations, *kernel) < 1:
        raise ValueError(f"strides {strides}, dilations {dilations} and kernel_shape {kernel} of a pool do not fit")
    pads = resolved_pads(pads, auto_pad, x.shape[2:], kernel, strides, dilations)
    counts = []
    for axis, size in enumerate(x.shape[2:]):
        room = size + pads[axis] + pads[axes + axis] - (kernel[axis] - 1) * dilations[axis] - 1
        count = (-(-room // strides[axis]) if ceil_mode and auto_pad == "NOTSET" else room // strides[axis]) + 1
        if ceil_mode and (count - 1) * strides[axis] >= size + pads[axis]:
            count -= 1
        counts.append(count)
    if min(counts) < 1:
        raise ValueError(f"kernel_shape {kernel} is longer than the padded input, of shape {tuple(x.shape)}")
    return strides, dilations, pads, counts


def padded_for(x: Any, kernel: Any, strides: Any, dilations: Any, pads: list[int], counts: Any, value: Any) -> Any:
    """The input with pads, and with so many more at the ends that every window is whole."""
    axes = len(kernel)
    last = [(counts[k] - 1) * strides[k] + (kernel[k] - 1) * dilations[k] + 1 for k in range(axes)]
    after = [last[k] - x.shape[2 + k] - pads[k] for k in range(axes)]
    return pad_ends(x, pads[:axes] + after, value)


def lowest(dtype: Any) -> Any:
    """What is not taken for the largest of any window."""
    return -math.inf if dtype.is_floating_point else weft.iinfo(dtype).min


def windows(x: Any, kernel: Any, strides: Any, dilations: Any, counts: Any) -> Any:
    """The elements of each window, (..., *counts, prod(kernel)), of a padded input."""
    axes = len(kernel)
    for axis in range(axes):
        places = weft.arange(counts[axis], device=x.device)[:, None] * strides[axis]
        places = places + weft.arange(kernel[axis], device=x.device) * dilations[axis]
        taken = x.index_select(2 + axis, places.reshape(-1))
        shape = [*x.shape[: 2 + axis], counts[axis], kernel[axis], *x.shape[3 + axis :]]
        x = taken.reshape(shape).movedim(3 + axis, -1)
    return x.flatten(2 + axes)


@operator("MaxPool")
def max_pool(
    x: Any,
    *,
    kernel_shape: Any,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Any = None,
    pads: Any = None,
    storage_order: int = 0,
    strides: Any = None,
    outputs: int,
) -> Any:
    axes = len(kernel_shape)
    strides, dilations, pads, counts = geometry(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    symmetric = pads[:axes] == pads[axes:] and all(2 * pad <= k for pad, k in zip(pads, kernel_shape))
    if outputs == 1 and axes in MAX_POOLS and symmetric and not ceil_mode and x.dtype.is_floating_point:
        return MAX_POOLS[axes](x, kernel_shape, strides, pads[:axes], dilations)
    padded = padded_for(x, kernel_shape, strides, dilations, pads, counts, lowest(x.dtype))
    values, place = windows(padded, kernel_shape, strides, dilations, counts).max(-1)
    if outputs == 1:
        return values
    return values, positions(x, place, kernel_shape, strides, dilations, pads, counts, storage_order)


def positions(
    x: Any, place: Any, kernel: Any, strides: Any, dilations: Any, pads: Any, counts: Any, storage_order: int
) -> Any:
    """Where in the whole input, as if it had one axis, the largest of each window is."""
    along: list[Any] = []
    rest = place
    for size in reversed(kernel):
        along.insert(0, rest % size)
        rest = rest // size
    indices = []
    for axis, count in enumerate(counts):
        start = weft.arange(count, device=x.device) * strides[axis] - pads[axis]
        shape = [-1 if k == axis else 1 for k in range(len(counts))]
        indices.append(start.reshape(shape) + along[axis] * dilations[axis])
    sizes = list(x.shape[2:])
    if storage_order:  # the first axis runs fastest
        indices, sizes = indices[::-1], sizes[::-1]
    flat = indices[0]
    for index, size in zip(indices[1:], sizes[1:]):
        flat = flat * size + index
    images = weft.arange(x.shape[0] * x.shape[1], device=x.device) * math.prod(sizes)
    return flat + images.reshape([*x.shape[:2], *[1] * len(counts)])


@operator("AveragePool")
def average_pool(
    x: Any,
    *,
    kernel_shape: Any,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Any:
    axes = len(kernel_shape)
    strides, dilations, pads, counts = geometry(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    symmetric = pads[:axes] == pads[axes:] and all(2 * pad <= k for pad, k in zip(pads, kernel_shape))
    if axes in AVERAGE_POOLS and symmetric and not ceil_mode and max(dilations) == 1:
        return AVERAGE_POOLS[axes](x, kernel_shape, strides, pads[:axes], False, bool(count_include_pad))
    where = (kernel_shape, strides, dilations)
    sums = windows(padded_for(x, *where, pads, counts, 0), *where, counts).sum(-1)
    ones = x.new_ones([1, 1, *x.shape[2:]])
    if count_include_pad:  # pads count, what a last window hangs over does not
        ones, pads = pad_ends(ones, pads, 1), [0] * (2 * axes)
    number = windows(padded_for(ones, *where, pads, counts, 0), *where, counts).sum(-1)
    return sums / number


@operator("LpPool")
def lp_pool(
    x: Any,
    *,
    kernel_shape: Any,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Any = None,
    p: float = 2,
    pads: Any = None,
    strides: Any = None,
) -> Any:
    strides, dilations, pads, counts = geometry(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    padded = padded_for(x, kernel_shape, strides, dilations, pads, counts, 0)
    found = windows(padded.abs() ** p, kernel_shape, strides, dilations, counts)
    return found.sum(-1) ** (1 / p)


@operator("GlobalAveragePool")
def global_average_pool(x: Any) -> Any:
    return x.mean(list(range(2, x.ndim)), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(x: Any) -> Any:
    return x.amax(list(range(2, x.ndim)), keepdim=True)


@operator("GlobalLpPool")
def global_lp_pool(x: Any, *, p: float = 2) -> Any:
    return (x.abs() ** p).sum(list(range(2, x.ndim)), keepdim=True) ** (1 / p)


@operator("MaxUnpool", host="output_shape")
def max_unpool(
    x: Any, indices: Any, output_shape: Any = None, *, kernel_shape: Any, pads: Any = None, strides: Any = None
) -> Any:
    axes = len(kernel_shape)
    strides, pads = strides or [1] * axes, pads or [0] * (2 * axes)
    sizes = [(x.shape[2 + k] - 1) * strides[k] + kernel_shape[k] - pads[k] - pads[axes + k] for k in range(axes)]
    natural = [*x.shape[:2], *sizes]
    flat = x.new_zeros(math.prod(natural)).scatter(0, indices.reshape(-1), x.reshape(-1)).reshape(natural)
    if output_shape is None or list(output_shape) == natural:
        return flat
    extra = [wanted - size for wanted, size in zip(output_shape[2:], sizes)]
    return pad_ends(flat, [0] * axes + extra)


@operator("MaxRoiPool")
def max_roi_pool(x: Any, rois: Any, *, pooled_shape: Any, spatial_scale: float = 1.0) -> Any:
    height, width = x.shape[2:]
    results = []
    for image, *corners in rois.tolist():
        left, top, right, bottom = (round(each * spatial_scale) for each in corners)
        region = (max(bottom - top + 1, 1) / pooled_shape[0], max(right - left + 1, 1) / pooled_shape[1])
        for i in range(pooled_shape[0]):
            for j in range(pooled_shape[1]):
                rows = bin_range(top, region[0], i, height)
                columns = bin_range(left, region[1], j, width)
                cells = x[int(image), :, slice(*rows), slice(*columns)]
                results.append(cells.amax((1, 2)) if cells.shape[1] and cells.shape[2] else x.new_zeros(x.shape[1]))
    shape = [len(rois), *pooled_shape, x.shape[1]]
    return weft.stack(results).reshape(shape).movedim(-1, 1) if results else x.new_zeros(0, x.shape[1], *pooled_shape)


def bin_range(start: int, size: float, place: int, limit: int) -> tuple[int, int]:
    """The first and the past-the-last cell of a bin."""
    first, last = math.floor(place * size) + start, math.ceil((place + 1) * size) + start
    return min(max(first, 0), limit), min(max(last, 0), limit)
