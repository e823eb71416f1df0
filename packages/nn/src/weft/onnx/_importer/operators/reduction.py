"""Reductions, positions of extrema, cumulative sums, norms along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft
from weft.onnx._importer.operators._common import normalized_axes, number, stash
from weft.onnx._importer.registry import operator


def extremum(name: str) -> Callable[..., Any]:
    """The largest or smallest along axes; of nothing the dtype's other end."""
    reduced_by = weft.amax if name == "max" else weft.amin

    def function(data: Any, axes: list[int], keepdims: bool) -> Any:
        if data.numel() or all(data.shape[axis] for axis in axes):
            return reduced_by(data, axes, keepdims) if data.dtype != weft.bool else of_booleans(data, axes, keepdims)
        shape = [1 if axis in axes else size for axis, size in enumerate(data.shape) if keepdims or axis not in axes]
        return weft.full(shape, end(data.dtype, name), dtype=data.dtype, device=data.device)

    def of_booleans(data: Any, axes: list[int], keepdims: bool) -> Any:
        return reduced_by(data.to(weft.uint8), axes, keepdims).to(weft.bool)

    return function


def end(dtype: Any, name: str) -> Any:
    """What the largest (smallest) of nothing is."""
    if dtype == weft.bool:
        return name == "min"
    if dtype.is_floating_point:
        return -math.inf if name == "max" else math.inf
    return weft.iinfo(dtype).min if name == "max" else weft.iinfo(dtype).max


def add_up(data: Any, axes: list[int], keepdims: bool) -> Any:
    return data.sum(axes, keepdims, dtype=data.dtype)


def mean(data: Any, axes: list[int], keepdims: bool) -> Any:
    if data.dtype.is_floating_point:
        return data.mean(axes, keepdims)
    count = math.prod(data.shape[axis] for axis in axes)
    return weft.div(add_up(data, axes, keepdims), count, rounding_mode="trunc")


def product(data: Any, axes: list[int], keepdims: bool) -> Any:
    for axis in sorted(axes, reverse=True):
        data = data.prod(axis, keepdims, dtype=data.dtype)
    return data


def in_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of floating-point numbers for integers too: rounded toward zero."""

    def applied(data: Any, axes: list[int], keepdims: bool) -> Any:
        if data.dtype.is_floating_point:
            return function(data, axes, keepdims)
        return function(data.double(), axes, keepdims).to(data.dtype)

    return applied


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceL1": lambda data, axes, keepdims: add_up(data.abs(), axes, keepdims),
    "ReduceL2": in_floats(lambda data, axes, keepdims: add_up(data * data, axes, keepdims).sqrt()),
    "ReduceLogSum": in_floats(lambda data, axes, keepdims: add_up(data, axes, keepdims).log()),
    "ReduceLogSumExp": in_floats(lambda data, axes, keepdims: data.logsumexp(axes, keepdims)),
    "ReduceMax": extremum("max"),
    "ReduceMean": mean,
    "ReduceMin": extremum("min"),
    "ReduceProd": product,
    "ReduceSum": add_up,
    "ReduceSumSquare": lambda data, axes, keepdims: add_up(data * data, axes, keepdims),
}


def declare_reduction(name: str, function: Callable[..., Any]) -> None:
    """Declare a function along axes: none given mean all of them, or none if the node says so."""

    @operator(name, host="axes")
    def run(data: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        if not axes and noop_with_empty_axes:
            axes = []  # each element is reduced by itself
        elif not axes:
            axes = range(data.ndim)
        if data.ndim == 0:
            return function(data[None], [0], False)
        axes = normalized_axes(axes, data.ndim, name)
        return function(data, axes, bool(keepdims)) if axes else function(data[None], [0], False)


for name, function in REDUCTIONS.items():
    declare_reduction(name, function)


def declare_position(name: str) -> None:
    """Declare the position of the largest or smallest, the first or the last of several."""

    @operator(name)
    def run(data: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        found = weft.argmax if name == "ArgMax" else weft.argmin
        if not select_last_index:
            return found(data, axis, bool(keepdims))
        return data.shape[axis] - 1 - found(data.flip(axis), axis, bool(keepdims))


declare_position("ArgMax")
declare_position("ArgMin")


def declare_cumulative(name: str, function: Callable[..., Any], start: int) -> None:
    """Declare a running sum or product, from either end, with or without each element itself."""

    @operator(name, host="axis")
    def run(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
        axis = number(axis)
        ordered = x.flip(axis) if reverse else x
        if exclusive:
            first = weft.full_like(ordered.narrow(axis, 0, min(1, ordered.shape[axis])), start)
            ordered = weft.cat([first, ordered.narrow(axis, 0, max(ordered.shape[axis] - 1, 0))], axis)
        result = function(ordered, axis, dtype=x.dtype)
        return result.flip(axis) if reverse else result


declare_cumulative("CumSum", weft.cumsum, 0)
declare_cumulative("CumProd", weft.cumprod, 1)


@operator("LpNormalization")
def lp_normalization(input: Any, *, axis: int = -1, p: int = 2) -> Any:
    norm = weft.linalg.vector_norm(input, p, axis, keepdim=True)
    return weft.where(norm == 0, 0, input / weft.where(norm == 0, 1, norm))


@operator("MeanVarianceNormalization")
def mean_variance_normalization(x: Any, *, axes: Any = (0, 2, 3)) -> Any:
    axes = normalized_axes(axes, x.ndim, "MeanVarianceNormalization")
    centered = stash(x) - stash(x).mean(axes, keepdim=True)
    return (centered / ((centered * centered).mean(axes, keepdim=True).sqrt() + 1e-9)).to(x.dtype)
