"""Resampling to another size: nearest elements, or linear and cubic interpolation, one dimension after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy

import weft
from weft import Tensor
from weft.library.checks import elements, number_in, warn_caller
from weft.nn.functional._common import in_layout_of, sizes
from weft.nn.functional.pooling import average_adaptively, prepared
from weft.nn.functional.resampling import Taps, resample

LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
MODES = ("nearest", "nearest-exact", "area", *LINEAR)
CUBIC = -0.75  # of the convolution kernel; PyTorch's and OpenCV's choice
KEPT = 256  # combinations of sizes whose weights are kept
Sizes = tuple[int, ...]


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
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

    Examples
    --------
    >>> signal = weft.tensor([[[1.0, 3.0]]])
    >>> weft.nn.functional.interpolate(signal, scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    >>> weft.nn.functional.interpolate(signal, size=3, mode="linear", align_corners=True)
    tensor([[[1., 2., 3.]]])
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
            f"interpolate: mode {mode!r} is not implemented for '{input.dtype.scalar_type_name}' ({input.dtype}); "
            "convert with "
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
    name = "scale_factor"
    factors = [float(number_in("interpolate", each, name) if isinstance(each, Tensor) else each) for each in listed]
    if not all(map(math.isfinite, factors)):
        raise RuntimeError(f"interpolate: scale_factor cannot be converted to a size without overflow: {scale_factor}")
    out = tuple(math.floor(float(n) * f) for n, f in zip(input.shape[2:], factors))
    return out, [None] * count if recompute else list(factors)


def ratio(size: int, out: int, scale: float | None) -> float:
    """The width of one output element, in input elements."""
    return 1.0 / scale if scale is not None and scale > 0 else size / out


def nearest(input: Tensor, out: Sizes, scales: list[float | None], exact: bool) -> Tensor:
    """The elements chosen along each dimension that changes."""
    # As PyTorch: of images in float32, and for "nearest" no scale is looked at where the sizes say enough.
    image = input._array.ndim == 4
    work = numpy.float64 if input.dtype.name == "float64" and not image else numpy.float32
    taps = []
    for n, o, scale in zip(input._array.shape[2:], out, scales):
        taps.append(nearest_taps(n, o, None if image and not exact and o in (n, 2 * n) else scale, exact, work))
    return resample.op(input, tuple(taps)) if any(taps) else input.clone()


@lru_cache(KEPT)
def nearest_taps(size: int, out: int, scale: float | None, exact: bool, work: Any) -> Taps | None:
    """For each element the one to take, as found in a dtype; None where that is the same.

    The place is rounded to float32 before it is cut off, as PyTorch does, in float64 too.
    """
    step = work(ratio(size, out, scale))
    place = numpy.arange(out, dtype=work)
    rows = numpy.floor(((place + work(0.5)) * step if exact else place * step).astype(numpy.float32))
    rows = numpy.minimum(rows.astype(numpy.int64), size - 1)
    if out == size and (rows == numpy.arange(size)).all():
        return None
    return Taps(size, rows[None], numpy.ones((1, out), numpy.float32))


def weighted(
    input: Tensor, out: Sizes, scales: list[float | None], mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    """Sums of neighbours times weights along each dimension that changes."""
    element = input.dtype
    by_byte = not element.is_floating_point
    work = numpy.float64 if by_byte or element.name == "float64" else numpy.float32
    cubic = mode == "bicubic"
    taps: list[Taps | None] = []
    for size, o, scale in zip(input._array.shape[2:], out, scales):
        if o == size and (by_byte or antialias or not cubic):
            taps.append(None)  # whatever the scale, as in PyTorch
        else:
            taps.append(weighted_taps(size, o, scale, align_corners, cubic, antialias, work))
    if not any(taps):
        return input.clone()
    return fixed_point_sums(input, taps) if by_byte else resample.op(input, tuple(taps))


@lru_cache(KEPT)
def weighted_taps(
    size: int, out: int, scale: float | None, align_corners: bool, cubic: bool, antialias: bool, work: Any
) -> Taps:
    """The neighbours of each element, and what they weigh."""
    if antialias:
        rows, weights = widened_taps(size, out, ratio(size, out, scale), align_corners, cubic, work)
    else:
        rows, weights = plain_taps(size, out, scale, align_corners, cubic, work)
    return Taps(size, rows, weights)


def fixed_point_sums(input: Tensor, taps: list[Taps | None]) -> Tensor:
    """The sums of bytes along each dimension, the last one first, each rounded to a byte."""
    wide = input.to(weft.int32)
    for dim in reversed(range(len(taps))):
        each = taps[dim]
        if each is not None:
            whole, bits = fixed_point(each)
            sums = resample.op(wide, (*(None,) * dim, whole, *(None,) * (len(taps) - dim - 1)))
            wide = ((sums + (1 << bits - 1)) >> bits).clamp(0, 255)
    return wide.to(input.dtype)


@lru_cache(KEPT)
def fixed_point(taps: Taps) -> tuple[Taps, int]:
    """Weights of 16 bits, with as many of them after the point as the largest leaves; and how many these are."""
    weights = merged(taps)
    largest = float(weights.max())
    bits = next((bits for bits in range(22) if int(0.5 + largest * (1 << bits + 1)) >= 1 << 15), 22)
    whole = numpy.trunc(weights * (1 << bits) + numpy.copysign(0.5, weights)).astype(numpy.int32)
    return Taps(taps.size, taps.rows, whole), bits


def merged(taps: Taps) -> Any:
    """The weights with those of one row in one place: rounding them apart would be another sum."""
    weights = taps.weights.copy()
    for later in range(1, len(weights)):
        for first in range(later):
            same = taps.rows[first] == taps.rows[later]
            weights[first, same] += weights[later, same]
            weights[later, same] = 0
    return weights


def plain_taps(size: int, out: int, scale: float | None, align_corners: bool, cubic: bool, work: Any) -> Any:
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
        return numpy.stack([low, numpy.minimum(low + 1, size - 1)]), numpy.stack([1 - share, share])
    low = numpy.floor(place)
    share = place - low
    low = low.astype(numpy.int64)
    offset = numpy.arange(-1, 3)[:, None]
    return numpy.clip(low + offset, 0, size - 1), cubic_kernel(numpy.abs(share - offset.astype(work)), CUBIC)


def cubic_kernel(x: Any, a: float) -> Any:
    """R. Keys, Cubic convolution interpolation for digital image processing, 1981."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return numpy.where(x <= 1, near, numpy.where(x < 2, far, 0)).astype(x.dtype)


def widened_taps(size: int, out: int, step: float, align_corners: bool, cubic: bool, work: Any) -> Any:
    """Kernels as wide as an output element, as Pillow has them."""
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    stretch = max(step, 1.0)
    support = (2 if cubic else 1) * stretch
    centre = step * (numpy.arange(out) + 0.5)
    start = numpy.maximum((centre - support + 0.5).astype(numpy.int64), 0)
    stop = numpy.minimum((centre + support + 0.5).astype(numpy.int64), size)
    width = int((stop - start).max())
    rows = start + numpy.arange(width)[:, None]
    distance = numpy.abs((rows - centre + 0.5) / stretch)
    weights = cubic_kernel(distance, -0.5) if cubic else numpy.maximum(1 - distance, 0)
    weights = numpy.where(rows < stop, weights, 0)
    weights /= weights.sum(0)
    return numpy.where(rows < stop, rows, size), weights.astype(work)


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
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The former name of `interpolate`.

    Parameters
    ----------
    input, size, scale_factor, mode, align_corners
        As of `interpolate`.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     weft.nn.functional.upsample(weft.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    warn_caller("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` in mode "nearest".

    Parameters
    ----------
    input, size, scale_factor
        As of `interpolate`.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     weft.nn.functional.upsample_nearest(weft.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    warn_caller("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` in mode "bilinear" with aligned corners.

    Parameters
    ----------
    input, size, scale_factor
        As of `interpolate`.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     weft.nn.functional.upsample_bilinear(weft.tensor([[[[1.0, 3.0]]]]), size=(1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    warn_caller("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
