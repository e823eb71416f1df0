"""Resampling to another size: nearest elements, or linear and cubic interpolation, one dimension after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft import Tensor
from weft.library.checks import elements, number_in, warn_caller
from weft.nn.functional._common import in_layout_of, sizes
from weft.nn.functional.pooling import average_adaptively, prepared
from weft.nn.functional.resampling import resample

LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2, "lanczos": 2}
MODES = ("nearest", "nearest-exact", "area", *LINEAR)
Sizes = tuple[int, ...]
Scales = tuple[float | None, ...]


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
    mode : "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area" or "lanczos"
    align_corners : bool, optional
        The centres of the outer elements stay where they are, rather than their edges.
    recompute_scale_factor : bool, optional
        Use the ratio of sizes in place of ``scale_factor``.
    antialias : bool
        Widen the kernels of "bilinear", "bicubic" and "lanczos" when shrinking; needed for the last.

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
        result = resample.op(input, out, mode, scales, False, False, False)
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
            f"bicubic | trilinear, got mode={mode!r}"
        )
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and count == 2):
        raise ValueError(
            f"interpolate: Anti-alias option is restricted to bilinear, bicubic and lanczos modes, got mode={mode!r}"
        )
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError(
            "interpolate: Lanczos mode requires antialias=True, and does not support align_corners=True; got "
            f"antialias={antialias}, align_corners={align_corners}"
        )
    return count


def check_dtype(input: Tensor, mode: str) -> None:
    """Floating-point numbers, or bytes where they can be chosen or averaged in fixed point."""
    takes_bytes = mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "lanczos")
    if not (input.dtype.is_floating_point or (takes_bytes and input.dtype.name == "uint8")):
        raise NotImplementedError(
            f"interpolate: mode {mode!r} is not implemented for '{input.dtype.scalar_type_name}' ({input.dtype}); "
            "convert with .float()"
        )


def output_sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None, count: int
) -> tuple[Sizes, Scales]:
    """The spatial sizes of the output, and the scales to compute places with where they were given."""
    if size is not None and scale_factor is not None:
        raise ValueError("interpolate: only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("interpolate: either size or scale_factor should be defined")
    given = size if scale_factor is None else scale_factor
    listed = list(given) if isinstance(given, (tuple, list)) else [given] * count
    if len(listed) != count:
        raise ValueError(
            "interpolate: Input and output must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(input.shape[2:])} and {'size' if scale_factor is None else 'scale_factor'} of "
            f"{listed}"
        )
    if scale_factor is None:
        if recompute:
            raise ValueError("interpolate: recompute_scale_factor is not meaningful with an explicit size.")
        try:
            return sizes("interpolate", "size", listed, count), (None,) * count
        except TypeError:
            raise TypeError(
                "interpolate: expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], "
                f"but got size={given} with types {[type(each).__name__ for each in listed]}"
            ) from None
    name = "scale_factor"
    factors = [float(number_in("interpolate", each, name) if isinstance(each, Tensor) else each) for each in listed]
    if not all(map(math.isfinite, factors)):
        raise RuntimeError(f"interpolate: scale_factor cannot be converted to a size without overflow: {scale_factor}")
    out = tuple(math.floor(float(n) * f) for n, f in zip(input.shape[2:], factors))
    return out, (None,) * count if recompute else tuple(factors)


def weighted(input: Tensor, out: Sizes, scales: Scales, mode: str, align_corners: bool, antialias: bool) -> Tensor:
    """Sums of neighbours times weights along each dimension that changes."""
    name = {"bicubic": "cubic", "lanczos": "lanczos"}.get(mode, "linear")
    return resample.op(input, out, name, scales, align_corners, antialias, False)


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
        scales = (scales_h, scales_w)
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
