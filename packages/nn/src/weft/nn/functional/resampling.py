"""Resampling along spatial dimensions: each element of the result is a sum of elements times weights.

Interpolation and adaptive averaging are this with other weights, which `weft.library.resampling` finds.
"""

from __future__ import annotations

from typing import Any

import numpy

import weft
from weft import Tensor
from weft.library.declare import op
from weft.library.numerics import constant
from weft.library.resampling import Taps, taps_of

__all__ = ["resample"]


@op(
    tensors="input",
    dtypes="int float",
    result="same",
    compute_dtype="float32",
    namespace="nn",
    vmap="merged",
    linear="input",
)
def resample(
    input: Tensor,
    size: tuple[int, ...],
    mode: str,
    scales: tuple[float | None, ...],
    align_corners: bool = False,
    antialias: bool = False,
    transposed: bool = False,
) -> Tensor:
    """Sums of elements of (N, C, ...) times weights, along each spatial dimension.

    Those of bytes, but for "nearest", are computed in fixed point along one dimension after the other.

    Parameters
    ----------
    size : tuple of int
        The spatial sizes of the result.
    mode : "nearest", "nearest-exact", "linear", "cubic", "lanczos" or "area"
    scales : tuple of float or None
        What the sizes were multiplied by, where places are computed with that and not with the ratio of the sizes.
    align_corners, antialias : bool
        See `interpolate`.
    transposed : bool
        The gradient of this for an input of ``size``.
    """
    return resample.op(input, size, mode, scales, align_corners, antialias, transposed)


@resample.kernel
def _(xp, input, size, mode, scales, align_corners, antialias, transposed):
    taps = taps_of(input, size, mode, scales, align_corners, antialias, transposed)
    if not any(taps):
        return input.copy()
    return fixed_point_sums(xp, input, taps) if max(bits_of(taps)) else weighted_sums(xp, input, taps)


@resample.meta
def _(xp, input, size, mode, scales, align_corners, antialias, transposed):
    return xp.empty((*input.shape[:2], *size), input.dtype)


@resample.gradient("input")
def _(grad, input_shape, mode, scales, align_corners, antialias, transposed):
    return resample.op(grad, tuple(input_shape[2:]), mode, scales, align_corners, antialias, not transposed)


@resample.onnx
def _(graph, input, size, mode, scales, align_corners, antialias, transposed):
    if transposed or mode in ("area", "lanczos"):
        return with_matrices(graph, input, size, mode, scales, align_corners, antialias, transposed)
    nearest = {"nearest": "floor", "nearest-exact": "round_prefer_ceil"}.get(mode)
    places = "asymmetric" if mode == "nearest" else "align_corners" if align_corners else "half_pixel"
    if None in scales:
        given = None, graph.Concat(graph.shape_of(input, 0, 2), graph.sizes(size), axis=0)
    else:
        given = graph.constant([1.0, 1.0, *scales], dtype=weft.float32), None
    return graph.Resize(
        input,
        None,
        *given,
        mode="nearest" if nearest else mode,
        nearest_mode=nearest,
        coordinate_transformation_mode=places,
        cubic_coeff_a=-0.75 if mode == "cubic" else None,
        antialias=int(antialias) or None,
    )


def with_matrices(graph: Any, input: Any, size: Any, *options: Any) -> Any:
    """A resampling as products with the matrices of its weights, one dimension after the other."""
    if not all(isinstance(each, int) for each in (*input.shape[2:], *size)):
        graph.refuse("weights that depend on the input's size")
    ndim = input.ndim
    taps = taps_of(numpy.empty((1, 1, *input.shape[2:]), input.dtype.numpy), tuple(size), *options)
    for dim, each in enumerate(taps, start=2):
        if each is not None:
            order = [*(place for place in range(ndim) if place != dim), dim]
            matrix = numpy.zeros((each.size + 1, each.rows.shape[1]))
            numpy.add.at(matrix, (each.rows, numpy.arange(matrix.shape[1])), each.weights)
            rows = graph.MatMul(graph.Transpose(input, perm=order), graph.constant(matrix[:-1], dtype=input.dtype))
            input = graph.last_to(rows, dim, ndim)
    return input


def weighted_sums(xp: Any, array: Any, taps: tuple[Taps | None, ...]) -> Any:
    """The sums along each spatial dimension that has taps."""
    for dim in reversed(range(2, array.ndim)):  # as PyTorch rounds: the last dimension first
        each = taps[dim - 2]
        if each is not None:
            array = sums_along(xp, array, dim, each)
    return array


def bits_of(taps: tuple[Taps | None, ...]) -> list[int]:
    """How many bits of the weights are after the point, along each dimension; 0 where it is left."""
    return [0 if each is None else each.bits for each in taps]


def fixed_point_sums(xp: Any, array: Any, taps: tuple[Taps | None, ...]) -> Any:
    """The sums of bytes along each dimension, the last one first, each rounded to a byte."""
    wide = array.astype("int32")
    for dim in reversed(range(2, array.ndim)):
        each = taps[dim - 2]
        if each is not None:
            wide = xp.clip((sums_along(xp, wide, dim, each) + (1 << each.bits - 1)) >> each.bits, 0, 255)
    return wide.astype(array.dtype)


def sums_along(xp: Any, array: Any, dim: int, taps: Taps) -> Any:
    """The sums along one dimension."""
    if taps.is_choice and type(array) is numpy.ndarray:
        return array.take(taps.rows[0], dim)
    if taps.is_partial:
        shape = [1 if d == dim else n for d, n in enumerate(array.shape)]
        array = xp.concatenate([array, xp.zeros(shape, array.dtype)], axis=dim)
    shape = [-1 if d == dim else 1 for d in range(array.ndim)]
    total: Any = None
    all_rows, all_weights = constant(xp, rows_of, None, taps), constant(xp, weights_of, array.dtype, taps)
    for rows, weights in zip(all_rows, all_weights):
        part = xp.take(array, rows, axis=dim)
        part *= weights.reshape(shape)
        total = part if total is None else xp.add(total, part, out=total)
    return total


def rows_of(taps: Taps) -> Any:
    return taps.rows


def weights_of(taps: Taps) -> Any:
    return taps.weights
