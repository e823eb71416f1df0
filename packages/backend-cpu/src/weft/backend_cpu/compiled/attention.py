"""Attention, head by head and some queries at a time: their scores stay in the second cache and are never kept.

The backward pass computes them again, from the logarithms of the sums that the forward pass kept. Heads are known by
their addresses and strides, so that queries, keys and values may be parts of one array, in any order of dimensions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft._layout import in_order
from weft.backend_cpu.compiled.mathematics import exp, like, log, maximum
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.products import gemm, is_available, on_one_thread
from weft.backend_cpu.libraries import LEAST, serves

REAL = "float32 float64"
SCORES = 1 << 16  # that are computed together: they and their gradients stay in the second cache
MOST_QUERIES, CAUSAL_QUERIES = 128, 64  # computed together; fewer leave out more of what is hidden


@loop
def visible(causal, sources, queries):
    """How many keys the last of some queries sees."""
    return min(sources, queries) if causal else sources


@loop
def queries_together(sources, causal):
    return max(min(SCORES // sources, CAUSAL_QUERIES if causal else MOST_QUERIES), 8)


@loop
def place_of(places, strides, number, b, h, first, size):
    """The address of an array's part that begins with a query (or key) of a head."""
    return places[number] + (b * strides[number, 0] + h * strides[number, 1] + first * strides[number, 2]) * size


@loop
def score(scores, q, q_step, k, k_step, rows, seen, width, factor):
    """``factor * q @ k.T``, into the first rows of ``scores``."""
    alpha, zero = like(scores[0, 0], factor), like(scores[0, 0], 0.0)
    target, step = np.intp(scores.ctypes.data), scores.shape[1]
    gemm((False, True), (rows, seen, width), alpha, q, q_step, k, k_step, zero, target, step)


@loop
def add_mask(scores, rows, seen, mask, offset, row_step, step):
    for i in range(rows):
        start, row = np.uintp(offset + i * row_step), scores[i]
        if step == 0:
            for j in range(np.uintp(seen)):
                row[j] += mask[start]
        else:
            for j in range(np.uintp(seen)):
                row[j] += mask[start + j]


@loop
def multiplied(scores, rows, seen, noise, offset, result):
    """Rows times those of the noise, into another array or the same."""
    for i in range(rows):
        start, row, target = np.uintp(offset + i * scores.shape[1]), scores[i], result[i]
        for j in range(np.uintp(seen)):
            target[j] = row[j] * noise[start + j]


@loop
def softmax_in_place(scores, rows, width, first, causal, sums):
    """Softmax of rows; what a query does not see becomes 0, and all of a query that sees nothing."""
    for i in range(rows):
        seen = visible(causal, width, first + i + 1)
        row = scores[i]
        most = row[0]
        for j in range(seen):
            most = maximum(most, row[j])
        if most == like(most, -math.inf):
            row[:] = 0
            sums[first + i] = math.inf
            continue
        total = like(most, 0.0)
        for j in range(seen):
            power = exp(row[j] - most)
            row[j] = power
            total += power
        share = like(total, 1.0) / total
        for j in range(seen):
            row[j] *= share
        row[seen:width] = 0
        sums[first + i] = most + log(total)


@loop
def attend(places, strides, shape, factor, causal, mask, mask_strides, noise, sums, lo, hi):
    """Heads of ``places``: the addresses of queries, keys, values and outputs, and of each the strides in elements."""
    heads, length, sources, width, value_width, size = shape
    step = queries_together(sources, causal)
    scores = np.empty((step, sources), sums.dtype)
    one, zero, target = like(scores[0, 0], 1.0), like(scores[0, 0], 0.0), np.intp(scores.ctypes.data)
    for head in range(lo, hi):
        b, h = np.intp(head) // heads, np.intp(head) % heads
        k, v = place_of(places, strides, 1, b, h, 0, size), place_of(places, strides, 2, b, h, 0, size)
        for first in range(0, length, step):
            rows = min(step, length - first)
            seen = visible(causal, sources, first + rows)
            q, o = place_of(places, strides, 0, b, h, first, size), place_of(places, strides, 3, b, h, first, size)
            score(scores, q, strides[0, 2], k, strides[1, 2], rows, seen, width, factor)
            if mask.size:
                offset = b * mask_strides[0] + h * mask_strides[1] + first * mask_strides[2]
                add_mask(scores, rows, seen, mask, offset, mask_strides[2], mask_strides[3])
            softmax_in_place(scores, rows, seen, first, causal, sums[head])
            if noise.size:
                multiplied(scores, rows, seen, noise, (np.intp(head) * length + first) * sources, scores)
            sizes = (rows, value_width, seen)
            gemm((False, False), sizes, one, target, sources, v, strides[2, 2], zero, o, strides[3, 2])


@launcher
def attention(places, strides, shape, factor, causal, mask, mask_strides, noise, sums, work):
    arguments = (places, strides, shape, factor, causal, mask, mask_strides, noise, sums)
    parallel(attend, arguments, sums.shape[0], work)


@loop
def weights_again(scores, rows, width, first, causal, sums):
    """The softmax of rows by the logarithms of their sums."""
    for i in range(rows):
        seen = visible(causal, width, first + i + 1)
        row, shift = scores[i], sums[first + i]
        for j in range(seen):
            row[j] = exp(row[j] - shift)
        row[seen:width] = 0


@loop
def slope_in_place(slopes, weights, kept, rows, seen, factor):
    """The gradients of scores, from those of weights that were ``kept`` (by dropout) of all weights."""
    for i in range(rows):
        row, weight, share = slopes[i], weights[i], kept[i]
        total = like(row[0], 0.0)
        for j in range(seen):
            total += share[j] * row[j]
        for j in range(seen):
            row[j] = (share[j] * row[j] - weight[j] * total) * like(total, factor)


@loop
def attend_backward(places, strides, shape, factor, causal, mask, mask_strides, noise, sums, lo, hi):
    """As `attend`, for queries, keys, values and the output's gradient, and the gradients of the three."""
    heads, length, sources, width, value_width, size = shape
    step = queries_together(sources, causal)
    scores, slopes = np.empty((step, sources), sums.dtype), np.empty((step, sources), sums.dtype)
    kept = np.empty((step, sources), sums.dtype) if noise.size else scores
    one, zero = like(scores[0, 0], 1.0), like(scores[0, 0], 0.0)
    from_kept, from_slopes = np.intp(kept.ctypes.data), np.intp(slopes.ctypes.data)
    for head in range(lo, hi):
        b, h = np.intp(head) // heads, np.intp(head) % heads
        k, v = place_of(places, strides, 1, b, h, 0, size), place_of(places, strides, 2, b, h, 0, size)
        dk, dv = place_of(places, strides, 5, b, h, 0, size), place_of(places, strides, 6, b, h, 0, size)
        for first in range(0, length, step):
            rows = min(step, length - first)
            seen = visible(causal, sources, first + rows)
            q, grad = place_of(places, strides, 0, b, h, first, size), place_of(places, strides, 3, b, h, first, size)
            dq = place_of(places, strides, 4, b, h, first, size)
            score(scores, q, strides[0, 2], k, strides[1, 2], rows, seen, width, factor)
            if mask.size:
                offset = b * mask_strides[0] + h * mask_strides[1] + first * mask_strides[2]
                add_mask(scores, rows, seen, mask, offset, mask_strides[2], mask_strides[3])
            weights_again(scores, rows, seen, first, causal, sums[head])
            if noise.size:
                multiplied(scores, rows, seen, noise, (np.intp(head) * length + first) * sources, kept)
            sizes = (seen, value_width, rows)
            gemm((True, False), sizes, one, from_kept, sources, grad, strides[3, 2], one, dv, strides[6, 2])
            score(slopes, grad, strides[3, 2], v, strides[2, 2], rows, seen, value_width, 1.0)
            slope_in_place(slopes, scores, kept, rows, seen, factor)
            sizes = (rows, width, seen)
            gemm((False, False), sizes, one, from_slopes, sources, k, strides[1, 2], zero, dq, strides[4, 2])
            sizes = (seen, width, rows)
            gemm((True, False), sizes, one, from_slopes, sources, q, strides[0, 2], one, dk, strides[5, 2])


@launcher
def attention_backward(places, strides, shape, factor, causal, mask, mask_strides, noise, sums, work):
    arguments = (places, strides, shape, factor, causal, mask, mask_strides, noise, sums)
    parallel(attend_backward, arguments, sums.shape[0], work)


def as_heads(array: Any) -> Any:
    """An array (batch, heads, rows, columns) with adjacent columns and rows that do not overlap."""
    if array.ndim != 4:
        array = array.reshape((-1, *array.shape[-3:])) if array.ndim > 4 else array[(None,) * (4 - array.ndim)]
    size = array.itemsize
    rows, columns = array.strides[2:]
    fits = (columns == size or array.shape[3] == 1) and (rows >= array.shape[3] * size or array.shape[2] == 1)
    return array if fits and rows % size == 0 and min(array.strides) >= 0 else in_order(np, array)


def layout(arrays: list[Any]) -> tuple[Any, Any]:
    """Addresses, and strides of all but the last dimension in elements; a single row has the stride of a full one."""
    places = np.array([each.ctypes.data for each in arrays], np.intp)
    strides = [[step // each.itemsize for step in each.strides[:3]] for each in arrays]
    for steps, each in zip(strides, arrays):
        steps[2] = max(steps[2], each.shape[3]) if each.shape[2] == 1 else steps[2]
    return places, np.array(strides, np.intp)


def new_heads(make: Any, like: Any, columns: int) -> Any:
    """A new array of heads, whose dimensions lie in memory in the order of another's."""
    order = sorted(range(3), key=lambda dim: -like.strides[dim])
    found = make((*(like.shape[dim] for dim in order), columns), like.dtype)
    return found.transpose(*(order.index(dim) for dim in range(3)), 3)


def additive(mask: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, tuple[int, ...]] | None:
    """A mask as flat numbers to add and its strides, 0 where it is broadcast; None if it does not fit."""
    if mask is None:
        return np.empty(0, dtype), (0, 0, 0, 0)
    if mask.ndim > 4:
        return None
    mask = mask[(None,) * (4 - mask.ndim)]
    if any(own not in (1, whole) for own, whole in zip(mask.shape, shape)):
        return None
    if mask.dtype == np.bool_:
        mask = np.where(mask, dtype.type(0), dtype.type(-math.inf))
    mask = np.ascontiguousarray(mask, dtype)
    steps = [0 if own == 1 else step // mask.itemsize for own, step in zip(mask.shape, mask.strides)]
    return mask.reshape(-1), tuple(steps)


def prepared(query: Any, key: Any, value: Any, mask: Any, noise: Any) -> Any:
    """What both passes take of their arguments; None for what only the generic kernel takes."""
    if any(each.dtype != query.dtype or not each.size for each in (query, key, value)):
        return None
    if query.shape[:-2] != key.shape[:-2] or query.shape[:-2] != value.shape[:-2]:
        return None
    if noise is not None and noise.dtype != query.dtype:
        return None
    heads = [as_heads(each) for each in (query, key, value)]
    length, sources = query.shape[-2], key.shape[-2]
    hidden = additive(mask, (*heads[0].shape[:2], length, sources), query.dtype)
    if hidden is None:
        return None
    drawn = np.empty(0, query.dtype) if noise is None else in_order(np, noise).reshape(-1)
    shape = heads[0].shape[1], length, sources, query.shape[-1], value.shape[-1], query.itemsize
    return heads, shape, hidden, drawn


def product_work(shape: tuple[int, ...], batch: int) -> int:
    """What the products count as, where work is handed out: a vector of multiply-adds as one operation."""
    heads, length, sources, width, value_width, _ = shape
    return batch * heads * length * sources * (width + value_width + 32) // 16


@serves("nn::attention", REAL)
def attention_kernel(generic: Any) -> Any:
    if not is_available():
        return None

    def run(query: Any, key: Any, value: Any, mask: Any, noise: Any, factor: float, is_causal: bool) -> Any:
        found = prepared(query, key, value, mask, noise) if query.size >= LEAST else None
        if found is None:
            return generic(query, key, value, mask, noise, factor, is_causal)
        heads, shape, hidden, drawn = found
        output = new_heads(np.empty, heads[0], value.shape[-1])
        sums = np.empty(query.shape[:-1], query.dtype)
        flat = sums.reshape(-1, query.shape[-2])
        work = product_work(shape, heads[0].shape[0])
        with on_one_thread():
            attention(*layout([*heads, output]), shape, float(factor), bool(is_causal), *hidden, drawn, flat, work)
        return output.reshape(*query.shape[:-1], value.shape[-1]), sums

    return run


@serves("nn::attention_gradient", REAL)
def attention_gradient_kernel(generic: Any) -> Any:
    if not is_available():
        return None

    def run(
        grad: Any, query: Any, key: Any, value: Any, mask: Any, noise: Any, sums: Any, factor: float, is_causal: bool
    ) -> Any:
        found = prepared(query, key, value, mask, noise) if query.size >= LEAST else None
        if found is None or grad.dtype != query.dtype:
            return generic(grad, query, key, value, mask, noise, sums, factor, is_causal)
        heads, shape, hidden, drawn = found
        results = [new_heads(np.empty, heads[0], query.shape[-1])]
        results += [new_heads(np.zeros, each, each.shape[-1]) for each in heads[1:]]
        flat = in_order(np, sums).reshape(-1, query.shape[-2])
        work = 2 * product_work(shape, heads[0].shape[0])
        arrays = [*heads, as_heads(grad), *results]  # alive as long as their addresses are used
        with on_one_thread():
            attention_backward(*layout(arrays), shape, float(factor), bool(is_causal), *hidden, drawn, flat, work)
        return tuple(each.reshape(own.shape) for each, own in zip(results, (query, key, value)))

    return run
