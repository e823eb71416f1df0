"""Operators that take and put elements by position."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import weft
from weft.onnx._importer.operators._common import is_text, normalized_axes, number
from weft.onnx._importer.registry import operator


def wrapped(indices: Any, length: int) -> Any:
    """Positions counted from the front, as int64."""
    indices = indices.to(weft.int64)
    return weft.where(indices < 0, indices + length, indices)


@operator("Gather")
def gather(data: Any, indices: Any, *, axis: int = 0) -> Any:
    axis = normalized_axes(axis, data.ndim, "Gather")[0]
    if is_text(data):
        return np.asarray(np.take(data, indices.numpy(), axis))
    index = wrapped(indices, data.shape[axis])
    if index.ndim == 0:  # no value is read
        return data.index_select(axis, index.reshape(1)).squeeze(axis)
    return data[(slice(None),) * axis + (index,)]


@operator("GatherElements")
def gather_elements(data: Any, indices: Any, *, axis: int = 0) -> Any:
    return data.gather(axis, wrapped(indices, data.shape[axis]))


@operator("GatherND")
def gather_nd(data: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    batch = tuple(data.shape[:batch_dims])
    depth = indices.shape[-1]
    grids = [
        weft.arange(size, device=data.device).reshape([-1 if k == axis else 1 for k in range(indices.ndim - 1)])
        for axis, size in enumerate(batch)
    ]
    columns = [wrapped(indices[..., k], data.shape[batch_dims + k]) for k in range(depth)]
    if not grids and not columns:
        return data
    return data[(*grids, *columns)]


REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@operator("ScatterElements", "Scatter")
def scatter_elements(data: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none") -> Any:
    index = wrapped(indices, data.shape[axis])
    if reduction == "none":
        return data.scatter(axis, index, updates)
    return data.scatter_reduce(axis, index, updates, REDUCTIONS[reduction])


@operator("ScatterND")
def scatter_nd(data: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    depth = indices.shape[-1]
    columns = [wrapped(indices[..., k], data.shape[k]) for k in range(depth)]
    if reduction == "none":
        return data.index_put(tuple(columns), updates) if columns else updates.expand(data.shape)
    strides = [math.prod(data.shape[k + 1 : depth]) for k in range(depth)]
    rows = sum(column * stride for column, stride in zip(columns, strides)).reshape(-1)
    flat = data.reshape(math.prod(data.shape[:depth]), -1)
    updates = updates.reshape(len(rows), -1)
    index = rows[:, None].expand(updates.shape)
    return flat.scatter_reduce(0, index, updates, REDUCTIONS[reduction]).reshape(data.shape)


@operator("OneHot", host="depth")
def one_hot(indices: Any, depth: Any, values: Any, *, axis: int = -1) -> Any:
    depth = int(number(depth))
    places = indices.to(weft.int64)
    places = weft.where(places < 0, places + depth, places)
    axis = axis % (indices.ndim + 1)
    classes = weft.arange(depth, device=indices.device).reshape([-1, *[1] * (indices.ndim - axis)])
    return weft.where(places.unsqueeze(axis) == classes, values[1], values[0])


@operator("Compress")
def compress(input: Any, condition: Any, *, axis: int | None = None) -> Any:
    data: Any = input.reshape(-1) if axis is None else input
    axis = 0 if axis is None else axis
    places = condition.nonzero()[:, 0]
    return data.take(places.numpy(), axis) if is_text(data) else data.index_select(axis, places)


@operator("NonZero")
def non_zero(x: Any) -> Any:
    return x.nonzero().T if x.ndim else x.reshape(1).nonzero().T[:0]


@operator("TopK", host="k")
def top_k(x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    count = int(number(k))
    if count > x.shape[axis]:
        raise ValueError(f"TopK: k is {count}, and axis {axis} of the shape {tuple(x.shape)} is shorter")
    values, indices = x.sort(dim=axis, descending=bool(largest), stable=True)  # of equals the first
    return values.narrow(axis, 0, count), indices.narrow(axis, 0, count)


@operator("Unique")
def unique(x: Any, *, axis: int | None = None, sorted: int = 1) -> Any:
    if is_text(x):
        found = np.unique(x.astype(str), return_index=True, return_inverse=True, return_counts=True, axis=axis)
        values: Any = found[0].astype(object)
        first, inverse, counts = map(weft.from_numpy, found[1:])
    else:
        values, inverse, counts = weft.unique(x, return_inverse=True, return_counts=True, dim=axis)
        inverse = inverse.reshape(-1)
        places = weft.arange(len(inverse), device=inverse.device)
        last = weft.full((len(counts),), len(inverse), device=inverse.device)
        first = last.scatter_reduce(0, inverse, places, "amin")
    inverse = inverse.reshape(-1)
    if not sorted:  # in the order in which they are found
        order = first.argsort()
        rank = weft.zeros_like(order).scatter(0, order, weft.arange(len(order), device=order.device))
        values = values[order.numpy()] if is_text(values) else values.index_select(axis or 0, order)
        first, inverse, counts = first[order], rank[inverse], counts[order]
    return values, first, inverse, counts


@operator("TensorScatter", host="write_indices")
def tensor_scatter(
    past_cache: Any, update: Any, write_indices: Any = None, *, mode: str = "linear", axis: int = -2
) -> Any:
    axis = normalized_axes(axis, past_cache.ndim, "TensorScatter")[0]
    batch, length, most = past_cache.shape[0], update.shape[axis], past_cache.shape[axis]
    starts = [0] * batch if write_indices is None else write_indices
    places = np.array(starts, np.int64).reshape(-1, 1) + np.arange(length)
    if mode == "circular":
        places = places % most
    shape = [batch, *[1] * (past_cache.ndim - 1)]
    shape[axis] = length
    index = weft.tensor(places, device=update.device).reshape(shape).expand(update.shape)
    return past_cache.scatter(axis, index, update)
