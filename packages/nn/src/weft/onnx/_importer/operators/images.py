"""Operators on images: resizing, sampling, regions, boxes."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
import weft.nn.functional as F
from weft.onnx._importer.operators._common import normalized_axes, number
from weft.onnx._importer.registry import operator

LINEAR = ("linear", "bilinear", "trilinear")


def source_coordinates(
    mode: str, length: int, resized: int, exact: float, scale: float, roi: tuple[float, float] | None
) -> Any:
    """Where in the input each position of the output is, for one axis.

    Parameters
    ----------
    length, resized : int
        Of the axis before and after.
    exact : float
        The length after, before it was rounded.
    scale : float
    roi : tuple of two floats
        Start and end of the region, for ``tf_crop_and_resize``.
    """
    place = np.arange(resized, dtype=np.float64)
    if mode == "align_corners":
        return place * 0 if exact == 1 else place * (length - 1) / (exact - 1)
    if mode == "asymmetric":
        return place / scale
    if mode == "tf_crop_and_resize":
        start, end = roi or (0.0, 1.0)
        if resized == 1:
            return place + 0.5 * (start + end) * (length - 1)
        return start * (length - 1) + place * (end - start) * (length - 1) / (resized - 1)
    if mode == "pytorch_half_pixel" and resized == 1:
        return place * 0
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (place + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return length / 2 * (1 - resized / exact) + (place + 0.5) / scale - 0.5
    if mode == "tf_half_pixel_for_nn":  # of opset 11
        return (place + 0.5) / scale
    raise ValueError(f"Resize: the coordinate_transformation_mode {mode!r} is not known")


def nearest(coordinates: Any, mode: str) -> Any:
    """The position that is taken for each coordinate."""
    functions: dict[str, Callable[[Any], Any]] = {
        "round_prefer_floor": lambda x: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
        "floor": np.floor,
        "ceil": np.ceil,
    }
    if mode not in functions:
        raise ValueError(f"Resize: the nearest_mode {mode!r} is not known")
    return functions[mode](coordinates)


def cubic(distance: Any, a: float) -> Any:
    """The weight of a sample at a distance, by Keys' cubic convolution."""
    x = abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def taps(coordinates: Any, kind: str, a: float, stretch: float) -> tuple[Any, Any]:
    """For each output the positions (out, K) of the samples that it is made of, and their weights."""
    reach = (1 if kind in LINEAR else 2) * stretch
    first = np.floor(coordinates - reach) + 1
    count = math.ceil(2 * reach) if stretch == 1 else math.ceil(2 * reach) + 1
    places = first[:, None] + np.arange(count)
    distance = (places - coordinates[:, None]) / stretch
    weights = np.maximum(1 - abs(distance), 0) if kind in LINEAR else cubic(distance, a)
    return places.astype(np.int64), weights / weights.sum(1, keepdims=True)


def resize_axis(
    x: Any, axis: int, coordinates: Any, mode: str, nearest_mode: str, a: float, stretch: float, exclude_outside: int
) -> Any:
    """Interpolate along one axis."""
    length = x.shape[axis]
    if mode == "nearest":
        places = nearest(coordinates, nearest_mode).astype(np.int64).clip(0, length - 1)
        return x.index_select(axis, weft.tensor(places, device=x.device))
    places, weights = taps(coordinates, mode, a, stretch)
    if exclude_outside:
        weights = np.where((places < 0) | (places >= length), 0, weights)
        weights = weights / weights.sum(1, keepdims=True)
    index = weft.tensor(places.clip(0, length - 1), device=x.device)
    kind = x.dtype if x.dtype.is_floating_point else weft.float32
    factors = weft.tensor(weights, device=x.device).to(kind)
    shape = [-1 if k == axis else 1 for k in range(x.ndim)]
    result = 0
    for tap in range(places.shape[1]):
        result = result + x.index_select(axis, index[:, tap]) * factors[:, tap].reshape(shape)
    return result


def resized_lengths(
    x: Any, axes: list[int], scales: Any, sizes: Any, policy: str
) -> tuple[list[int], list[float], list[float]]:
    """The lengths of some axes after resizing, what they were before rounding, and the scales.

    Raises
    ------
    ValueError
        If scales and sizes are both given or neither, or of another number than the axes.
    """
    given = scales or sizes
    if not given or (scales and sizes) or len(given) != len(axes) or min(given) < 0:
        raise ValueError(f"Resize: scales {scales} and sizes {sizes} of {len(axes)} axes: one of them is wanted")
    lengths = [x.shape[axis] for axis in axes]
    if scales:
        exact = [length * scale for length, scale in zip(lengths, scales)]
        return [math.floor(each) for each in exact], exact, list(scales)
    if policy == "stretch":
        ratios = [size / length for size, length in zip(sizes, lengths)]
        return list(sizes), list(sizes), ratios
    ratio = (min if policy == "not_larger" else max)(size / length for size, length in zip(sizes, lengths))
    exact = [ratio * length for length in lengths]
    return [math.floor(each + 0.5) for each in exact], exact, [ratio] * len(axes)


@operator("Resize", since=11, host="roi scales sizes")
def resize(
    x: Any,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    *,
    antialias: int = 0,
    axes: Any = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Any:
    axes = normalized_axes(range(x.ndim) if axes is None else axes, x.ndim, "Resize")
    lengths, exact, ratios = resized_lengths(x, axes, scales, sizes, keep_aspect_ratio_policy)
    crops = coordinate_transformation_mode == "tf_crop_and_resize"
    simple = not (antialias or exclude_outside) and coordinate_transformation_mode in (
        "half_pixel",
        "pytorch_half_pixel",
    )
    if mode in LINEAR and simple and is_last_two(x, axes, lengths):
        scale = None if sizes else tuple(ratios[-2:])
        options = {"size": tuple(lengths[-2:])} if scale is None else {"scale_factor": scale}
        return F.interpolate(x, mode="bilinear", align_corners=False, **options)
    result, outside = x, None
    for place, axis in enumerate(axes):
        length, resized = x.shape[axis], lengths[place]
        if length == resized and not crops:
            continue
        region = (roi[place], roi[place + len(axes)]) if crops and roi else None
        coordinates = source_coordinates(
            coordinate_transformation_mode, length, resized, exact[place], ratios[place], region
        )
        stretch = max(1.0, 1 / ratios[place]) if antialias else 1.0
        result = resize_axis(result, axis, coordinates, mode, nearest_mode, cubic_coeff_a, stretch, exclude_outside)
        if crops:
            beyond = weft.tensor((coordinates < 0) | (coordinates > length - 1), device=x.device)
            beyond = beyond.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
            outside = beyond if outside is None else outside | beyond
    if outside is not None:
        result = weft.where(outside, extrapolation_value, result)
    return result.to(x.dtype) if x.dtype.is_floating_point else result.round().to(x.dtype)


def is_last_two(x: Any, axes: list[int], lengths: list[int]) -> bool:
    """Whether the last two of four axes are resized, and they alone."""
    changed = [axis for axis, length in zip(axes, lengths) if x.shape[axis] != length and length > 1]
    return x.ndim == 4 and axes[-2:] == [2, 3] and changed == [2, 3] and x.dtype in (weft.float32, weft.float64)


@operator("Resize", host="scales")
def resize_10(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    return upsample(x, scales, mode=mode)


@operator("Upsample", host="scales")
def upsample(
    x: Any,
    scales: Any = None,
    *,
    height_scale: float | None = None,
    mode: str = "nearest",
    width_scale: float | None = None,
) -> Any:
    scales = [1.0, 1.0, height_scale, width_scale] if scales is None else scales
    options = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return resize(x, None, scales, mode="linear" if mode in LINEAR else mode, **options)


@operator("ImageDecoder")
def image_decoder(encoded_stream: Any, *, pixel_format: str = "RGB") -> Any:
    """Pillow reads the image."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("ImageDecoder: needs the package pillow; install it with: pip install pillow") from error
    if pixel_format not in ("RGB", "BGR", "Grayscale"):
        raise ValueError(f"ImageDecoder: the pixel_format {pixel_format!r} is not known")
    try:
        image = Image.open(io.BytesIO(bytes(encoded_stream.cpu().numpy())))
        pixels = np.array(image.convert("L" if pixel_format == "Grayscale" else "RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"ImageDecoder: this is no image that Pillow reads: {error}") from error
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    return weft.tensor(pixels[:, :, ::-1].copy() if pixel_format == "BGR" else pixels, device=encoded_stream.device)


# Opset 16 had the names on the right.
SAMPLING = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}


@operator("GridSample")
def grid_sample(x: Any, grid: Any, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> Any:
    return F.grid_sample(x, grid, SAMPLING.get(mode, mode), padding_mode, bool(align_corners))


@operator("AffineGrid", host="size")
def affine_grid(theta: Any, size: Any, *, align_corners: int = 0) -> Any:
    return F.affine_grid(theta, size, bool(align_corners))


@operator("RoiAlign", since=16)
def roi_align(
    x: Any,
    rois: Any,
    batch_indices: Any,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Any:
    """Bilinear samples in each bin, averaged (arXiv:1703.06870); ONNX's ``max`` takes the largest corner's share."""
    half = coordinate_transformation_mode == "half_pixel"
    bins = (output_height, output_width)
    regions = []
    for box, image in zip(rois.unbind(0), batch_indices.tolist()):
        corner = box * spatial_scale - (0.5 if half else 0.0)
        left, top, right, bottom = corner.tolist()
        extent = (bottom - top, right - left) if half else (max(bottom - top, 1.0), max(right - left, 1.0))
        counts = [sampling_ratio or max(math.ceil(length / count), 0) for length, count in zip(extent, bins)]
        rows = samples(top, extent[0] / bins[0], bins[0], counts[0])
        columns = samples(left, extent[1] / bins[1], bins[1], counts[1])
        regions.append(sampled_bins(x[image], rows, columns, bins, counts, mode))
    return weft.stack(regions) if regions else x.new_zeros(0, x.shape[1], *bins)


@operator("RoiAlign")
def roi_align_10(x: Any, rois: Any, batch_indices: Any, **attributes: Any) -> Any:
    return roi_align(x, rois, batch_indices, coordinate_transformation_mode="output_half_pixel", **attributes)


def samples(start: float, bin_size: float, bins: int, count: int) -> Any:
    """The coordinates of the samples along one axis, (bins * count,)."""
    inside = (np.arange(count) + 0.5) * bin_size / max(count, 1)
    return (start + np.arange(bins)[:, None] * bin_size + inside).ravel()


def sampled_bins(image: Any, rows: Any, columns: Any, bins: tuple[int, int], counts: list[int], mode: str) -> Any:
    """The mean, or the largest, of the samples of each bin, (C, *bins), of an image (C, H, W)."""
    if 0 in counts:
        return image.new_zeros(image.shape[0], *bins)
    (row_places, row_weights), (places, weights) = corners(rows, image.shape[1]), corners(columns, image.shape[2])
    corner_values = []
    for row in range(2):
        for column in range(2):
            taken = image.index_select(1, weft.tensor(row_places[row], device=image.device))
            taken = taken.index_select(2, weft.tensor(places[column], device=image.device))
            factor = weft.tensor(row_weights[row][:, None] * weights[column], device=image.device)
            corner_values.append(taken * factor.to(image.dtype))
    stacked = weft.stack(corner_values)  # (4, C, rows, columns)
    shape = [bins[0], counts[0], bins[1], counts[1]]
    if mode == "max":
        return stacked.amax(0).reshape([-1, *shape]).amax((2, 4))
    return stacked.sum(0).reshape([-1, *shape]).mean((2, 4))


def corners(coordinates: Any, length: int) -> tuple[list[Any], list[Any]]:
    """The two positions around each coordinate, and their weights; beyond one pixel outside the weights are 0."""
    inside = (coordinates >= -1) & (coordinates <= length)
    limited = coordinates.clip(0, length - 1)
    low = np.floor(limited).astype(np.int64)
    share = limited - low
    return [low, (low + 1).clip(0, length - 1)], [(1 - share) * inside, share * inside]


@operator("NonMaxSuppression", host="max_output_boxes_per_class iou_threshold score_threshold")
def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_boxes_per_class: Any = 0,
    iou_threshold: Any = 0.0,
    score_threshold: Any = None,
    *,
    center_point_box: int = 0,
) -> Any:
    most, threshold, least = map(number, (max_output_boxes_per_class, iou_threshold, score_threshold))
    kept = []
    all_boxes, all_scores = boxes.detach().cpu().numpy(), scores.detach().cpu().numpy()
    for batch in range(all_scores.shape[0]):
        ends = box_corners(all_boxes[batch], center_point_box)
        for label in range(all_scores.shape[1]):
            chosen = suppressed(ends, all_scores[batch, label], most or 0, threshold or 0.0, least)
            kept += [[batch, label, place] for place in chosen]
    return weft.tensor(np.array(kept, np.int64).reshape(-1, 3), device=boxes.device)


def box_corners(boxes: Any, center_point_box: int) -> Any:
    """Boxes by their smaller and larger coordinates, (N, 2, 2)."""
    pairs = boxes.reshape(-1, 2, 2)
    if center_point_box:
        center, half = pairs[:, 0], pairs[:, 1] / 2
        return np.stack([center - half, center + half], 1)
    return np.sort(pairs, 1)


def suppressed(boxes: Any, scores: Any, most: int, threshold: float, least: float | None) -> list[int]:
    """The best boxes one after the other, without those that overlap one of them more than the threshold."""
    left = np.argsort(-scores, kind="stable")
    if least is not None:
        left = left[scores[left] > least]
    areas = (boxes[:, 1] - boxes[:, 0]).prod(1)
    kept: list[int] = []
    while len(left) and len(kept) < most:
        best, left = left[0], left[1:]
        kept.append(int(best))
        sides = np.minimum(boxes[best, 1], boxes[left, 1]) - np.maximum(boxes[best, 0], boxes[left, 0])
        shared = sides.clip(0).prod(1)
        union = areas[best] + areas[left] - shared
        left = left[~(shared > threshold * union)]
    return kept
