"""Resampling to another size: nearest elements, or linear and cubic interpolation, one dimension after the other."""

from __future__ import annotations

import math
from typing import Any

import numpy

import weft
from weft import Tensor
from weft.nn.functional._common import in_layout_of, sizes, warn
from weft.nn.functional.pooling import average_adaptively, prepared
from weft.ops._geometry import elements
from weft.ops.creation import from_host

LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
MODES = ("nearest", "nearest-exact", "area", *LINEAR)
CUBIC = -0.75  # of the convolution kernel; PyTorch's and OpenCV's choice
Taps = list[tuple[Any, Any]]


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample an input (N, C, ...) with 1, 2 or 3 spatial dimensions.

    Parameters
    ----------
    input : Tensor
    size : int or tuple of int, optional
    scale_factor : float or tuple of float, optional
        One of the two must be given.
    mode : "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear" or "area"
    align_corners : bool, optional
        The centres of the outer elements stay where they are, rather than their edges.
    recompute_scale_factor : bool, optional
        Use the ratio of sizes in place of ``scale_factor``.
    antialias : bool
        Widen the kernels of "bilinear" and "bicubic" when shrinking.

    Raises
    ------
    ValueError, NotImplementedError
        If the options do not fit together, or to the input.
    """
    count = check_mode(input, mode, align_corners, antialias)
    check_dtype(input, mode)
    out, scales = output_sizes(input, size, scale_factor, recompute_scale_factor, count)
    elements("interpolate", (*input.shape[:2], *out))
    prepared_input, _ = prepared("interpolate", count, input)
    if min(out) < 1:
        raise RuntimeError(
            f"interpolate: Input and output sizes should be greater than 0, but got input {list(input.shape[2:])} and "
            f"output {list(out)}"
        )
    if mode == "area":
        result = average_adaptively(prepared_input, out)
    elif mode.startswith("nearest"):
        result = nearest(input, out, scales, exact=mode == "nearest-exact")
    else:
        result = weighted(input, out, scales, mode, bool(align_corners), antialias)
    return in_layout_of(result, input)


def check_mode(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> int:
    """The number of spatial dimensions, for which the mode must be."""
    count = input.ndim - 2
    if mode not in MODES or count not in (1, 2, 3) or LINEAR.get(mode, count) != count:
        raise NotImplementedError(
            f"interpolate: Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: "
            f"nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if align_corners is not None and mode not in LINEAR:
        raise ValueError(
            "interpolate: align_corners option can only be set with the interpolating modes: linear | bilinear | "
            "bicubic | "
            f"trilinear, got mode={mode!r}"
        )
    if antialias and not (mode in ("bilinear", "bicubic") and count == 2):
        raise ValueError(
            f"interpolate: Anti-alias option is restricted to bilinear and bicubic modes, got mode={mode!r}"
        )
    return count


def check_dtype(input: Tensor, mode: str) -> None:
    """Floating-point numbers, or bytes where they can be chosen or averaged in fixed point."""
    takes_bytes = mode in ("nearest", "nearest-exact", "bilinear", "bicubic")
    if not (input.dtype.is_floating_point or (takes_bytes and input.dtype.name == "uint8")):
        raise NotImplementedError(
            f"interpolate: mode {mode!r} is not implemented for '{input.dtype.spoken}' ({input.dtype}); convert with "
            ".float()"
        )


def output_sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None, count: int
) -> tuple[tuple[int, ...], list[float | None]]:
    """The spatial sizes of the output, and the scales to compute places with where they were given."""
    if size is not None and scale_factor is not None:
        raise ValueError("interpolate: only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("interpolate: either size or scale_factor should be defined")
    given = size if scale_factor is None else scale_factor
    listed = list(given) if isinstance(given, (tuple, list)) else [given] * count
    if len(listed) != count:
        raise ValueError(
            "interpolate: Input and output must have the same number of spatial dimensions, but got input with "
            "spatial "
            f"dimensions of {list(input.shape[2:])} and {'size' if scale_factor is None else 'scale_factor'} of "
            f"{listed}"
        )
    if scale_factor is None:
        if recompute:
            raise ValueError("interpolate: recompute_scale_factor is not meaningful with an explicit size.")
        return sizes("interpolate", "size", listed, count), [None] * count
    factors = [float(each) for each in listed]
    if not all(map(math.isfinite, factors)):
        raise RuntimeError(f"interpolate: scale_factor cannot be converted to a size without overflow: {scale_factor}")
    out = tuple(math.floor(float(n) * f) for n, f in zip(input.shape[2:], factors))
    return out, [None] * count if recompute else list(factors)


def ratio(size: int, out: int, scale: float | None) -> float:
    """How many input elements one output element is wide."""
    return 1.0 / scale if scale is not None and scale > 0 else size / out


def nearest(input: Tensor, out: tuple[int, ...], scales: list[float | None], exact: bool) -> Tensor:
    """Rows chosen along each dimension that changes."""
    given = input
    for dim, (size, o, scale) in enumerate(zip(input._array.shape[2:], out, scales), 2):
        step = numpy.float32(ratio(size, o, scale))
        place = numpy.arange(o, dtype=numpy.float32)
        rows = numpy.floor((place + numpy.float32(0.5)) * step if exact else place * step)
        rows = numpy.minimum(rows.astype(numpy.int64), size - 1)
        if o != size or not (rows == numpy.arange(size)).all():
            input = input.index_select(dim, from_host(rows, input.device))
    return input.clone() if input is given else input


def weighted(
    input: Tensor, out: tuple[int, ...], scales: list[float | None], mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    """Sums of neighbours times weights along each dimension that changes."""
    element = input.dtype
    by_byte = not element.is_floating_point
    wide = input.to(weft.int32) if by_byte else input.float() if element.is_half else input
    work = numpy.float64 if by_byte or element.name == "float64" else numpy.float32
    cubic = mode == "bicubic"
    for dim, (size, o, scale) in reversed(list(enumerate(zip(input._array.shape[2:], out, scales), 2))):
        if o == size and (by_byte or antialias or not cubic):
            continue  # whatever the scale, as in PyTorch
        if antialias:
            taps = widened_taps(size, o, ratio(size, o, scale), align_corners, cubic, work)
        else:
            taps = plain_taps(size, o, scale, align_corners, cubic, work)
        wide = fixed_point_sum(wide, dim, taps) if by_byte else weighted_sum(wide, dim, taps)
    return wide.to(element) if wide is not input else input.clone()


def weighted_sum(input: Tensor, dim: int, taps: Taps) -> Tensor:
    """The sum of rows times their weights."""
    shape = [-1 if d == dim else 1 for d in range(input.ndim)]
    total: Any = None
    for rows, weights in taps:
        part = input.index_select(dim, from_host(rows, input.device))
        part = part * from_host(weights, input.device).reshape(shape)
        total = part if total is None else total + part
    return total


def fixed_point_sum(input: Tensor, dim: int, taps: Taps) -> Tensor:
    """The sum of rows of bytes times weights of 16 bits, with as many of them after the point as the largest leaves."""
    taps = merged(taps)
    largest = max(float(weights.max()) for _, weights in taps)
    bits = next((bits for bits in range(22) if int(0.5 + largest * (1 << bits + 1)) >= 1 << 15), 22)
    whole = [
        (rows, numpy.trunc(weights * (1 << bits) + numpy.copysign(0.5, weights)).astype(numpy.int32))
        for rows, weights in taps
    ]
    return ((weighted_sum(input, dim, whole) + (1 << bits - 1)) >> bits).clamp(0, 255)


def merged(taps: Taps) -> Taps:
    """Taps of which no two take the same row: rounding their weights apart would be another sum."""
    found: Taps = []
    for rows, weights in taps:
        weights = weights.copy()
        for other, total in found:
            same = other == rows
            total[same] += weights[same]
            weights[same] = 0
        found.append((rows, weights))
    return found


def plain_taps(size: int, out: int, scale: float | None, align_corners: bool, cubic: bool, work: Any) -> Taps:
    """For each neighbour the rows to take and what they weigh."""
    number = numpy.arange(out, dtype=work)
    if align_corners:
        place = number * work((size - 1) / (out - 1) if out > 1 else 0)
    else:
        place = (number + work(0.5)) * work(ratio(size, out, scale)) - work(0.5)
    if not cubic:
        place = numpy.maximum(place, 0)
        low = numpy.minimum(numpy.floor(place).astype(numpy.int64), size - 1)
        share = numpy.clip(place - low.astype(work), 0, 1)
        return [(low, 1 - share), (numpy.minimum(low + 1, size - 1), share)]
    low = numpy.floor(place)
    share = place - low
    low = low.astype(numpy.int64)
    return [
        (numpy.clip(low + offset, 0, size - 1), cubic_kernel(numpy.abs(share - offset), CUBIC))
        for offset in (-1, 0, 1, 2)
    ]


def cubic_kernel(x: Any, a: float) -> Any:
    """R. Keys, Cubic convolution interpolation for digital image processing, 1981."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return numpy.where(x <= 1, near, numpy.where(x < 2, far, 0)).astype(x.dtype)


def widened_taps(size: int, out: int, step: float, align_corners: bool, cubic: bool, work: Any) -> Taps:
    """Kernels as wide as an output element, as Pillow has them."""
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    stretch = max(step, 1.0)
    support = (2 if cubic else 1) * stretch
    centre = step * (numpy.arange(out) + 0.5)
    start = numpy.maximum((centre - support + 0.5).astype(numpy.int64), 0)
    stop = numpy.minimum((centre + support + 0.5).astype(numpy.int64), size)
    width = int((stop - start).max())
    rows = start[:, None] + numpy.arange(width)
    distance = numpy.abs((rows - centre[:, None] + 0.5) / stretch)
    weights = cubic_kernel(distance, -0.5) if cubic else numpy.maximum(1 - distance, 0)
    weights = numpy.where(rows < stop[:, None], weights, 0)
    weights /= weights.sum(1, keepdims=True)
    rows = numpy.minimum(rows, size - 1)
    return [(numpy.ascontiguousarray(rows[:, k]), weights[:, k].astype(work)) for k in range(width)]


def _upsample_bilinear2d_aa(
    input: Tensor,
    output_size: Any,
    align_corners: bool,
    scales_h: Any = None,
    scales_w: float | None = None,
    *,
    scale_factors: Any = None,
) -> Tensor:
    """`interpolate` in mode "bilinear" with ``antialias``; see `weft.ops.aten`.

    Parameters
    ----------
    output_size : sequence of int, or None
        None if ``scale_factors`` say it; those may come as the fourth argument too.
    scales_h, scales_w : float, optional
        What the sizes are to be multiplied by, where it is not the ratio of the sizes.
    """
    if isinstance(scales_h, (list, tuple)):
        scales_h, scale_factors = None, scales_h
    if input.ndim != 4:
        raise RuntimeError(
            f"_upsample_bilinear2d_aa: It is expected input_size equals to 4, (N, C, H, W), but got size {input.ndim}"
        )
    check_dtype(input, "bilinear")
    out, scales = output_sizes(input, output_size, scale_factors, None, 2)
    if scale_factors is None:
        scales = [scales_h, scales_w]
    elements("_upsample_bilinear2d_aa", (*input.shape[:2], *out))
    prepared("_upsample_bilinear2d_aa", 2, input)
    if min(out) < 1:
        raise RuntimeError(f"_upsample_bilinear2d_aa: Input and output sizes should be greater than 0, got {list(out)}")
    return in_layout_of(weighted(input, out, scales, "bilinear", align_corners, True), input)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The former name of `interpolate`."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` in mode "nearest"."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` in mode "bilinear" with aligned corners."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
