"""Attention, head by head and some queries at a time: the scores stay in the second cache, never stored as a whole.

The backward pass computes them again, from the logarithms of the sums that the forward pass stored. Heads are known by
their addresses and strides, so that queries, keys and values may be parts of one array, in any order of dimensions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.array_header import HEAD, array_at, size_at, stride_at, word_at
from weft.backend_cpu.compiled.codegen.mathematics import exp, like, log, maximum
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.layouts import contiguous, flat
from weft.backend_cpu.compiled.kernels.packed_gemm import ACROSS, bytes_of, multiply, set_panels
from weft.backend_cpu.registry import MIN_SIZE, MIN_SIZE_FUSED, register_kernel

REAL = "float32 float64"
SCORES = 1 << 16  # that are computed at a time: they and their gradients stay in the second cache
MAX_QUERIES, MAX_CAUSAL_QUERIES = 128, 32  # at a time; with fewer of them more hidden keys are left out


FEW = 8  # queries for which keys are not arranged: they would be read no more often than that


@loop
def visible(causal, sources, queries):
    """The number of keys that the last of some queries attends to."""
    return min(sources, queries) if causal else sources


@loop
def queries_together(sources, causal):
    return max(min(SCORES // sources, MAX_CAUSAL_QUERIES if causal else MAX_QUERIES), 8)


@loop
def place_of(places, strides, number, b, h, first):
    """The address of an array's part that begins with a query (or key) of a head."""
    return places[number] + b * strides[number, 0] + h * strides[number, 1] + first * strides[number, 2]


@loop
def address(array):
    return np.intp(array.ctypes.data)


@loop
def new_panels(rows, columns, zero):
    """Memory for a matrix in panels, one in each row."""
    width = ACROSS // bytes_of(zero)
    return np.empty((-(-columns // width), width * rows), np.array(zero).dtype)


@loop
def whole_panels(columns, size):
    """The columns of so many panels as these take."""
    width = ACROSS // size
    return -(-columns // width) * width


@loop
def product(a, steps, panels, c, step, rows, inner, columns, fresh):
    """Add a matrix times another in panels to a third, or set that, by their addresses and bytes between elements."""
    zero, below = like(panels[0, 0], 0.0), panels.shape[1] * panels.itemsize
    multiply(zero, zero, inner, a, steps, address(panels), below, c, step, rows, columns, fresh, False)


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
def multiplied(scores, rows, seen, noise, offset, sources, result):
    """Rows times those of the noise, into another array or the same."""
    for i in range(rows):
        start, row, target = np.uintp(offset + i * sources), scores[i], result[i]
        for j in range(np.uintp(seen)):
            target[j] = row[j] * noise[start + j]


# Loops go over whole panels, so that no elements are left over for scalar code: scores of hidden keys become -inf.


@loop
def powers_in_place(scores, rows, width, first, causal, sums, shares):
    """Softmax of rows, but for the factors in ``shares``; weights of hidden keys become 0."""
    size, hidden = scores.itemsize, like(scores[0, 0], -math.inf)
    for i in range(rows):
        seen = np.uintp(visible(causal, width, first + i + 1))
        row, most, total = scores[i], hidden, like(hidden, 0.0)
        whole = np.uintp(whole_panels(seen, size))
        for j in range(whole):
            most = maximum(most, row[j] if j < seen else hidden)
        shift = like(most, 0.0) if most == hidden else most
        for j in range(whole):
            power = exp((row[j] if j < seen else hidden) - shift)
            row[j] = power
            total += power
        for j in range(whole, np.uintp(width)):
            row[j] = 0
        sums[first + i], shares[i] = shift, total
    for i in range(np.uintp(rows)):
        total = shares[i]
        sums[first + i] = sums[first + i] + log(total) if total != 0 else like(total, math.inf)  # it may see nothing
        shares[i] = like(total, 1.0) / total if total != 0 else total


@loop
def multiply_rows(o, step, columns, rows, shares):
    """Multiply each row by its factor."""
    for i in range(rows):
        row = array_at(o + i * step, columns, shares)
        for j in range(np.uintp(columns)):
            row[j] *= shares[i]


@loop
def arrange(zero, source, step, flipped, rows, columns, panels):
    """Set panels to a matrix, by the address and the bytes from a row of memory to the next."""
    set_panels(zero, source, step, flipped, rows, columns, address(panels), panels.shape[1] * panels.itemsize)


@loop
def set_keys(keys, k, step, sources, width, factor):
    """Set panels to the keys times a factor, transposed: what queries are multiplied by."""
    arrange(like(keys[0, 0], 0.0), k, step, True, width, sources, keys)
    flat = keys.reshape(-1)
    for i in range(np.uintp(flat.size)):
        flat[i] *= like(flat[i], factor)


@loop
def attend(places, strides, shape, factor, causal, mask, mask_strides, noise, sums, lo, hi):
    """Heads of ``places``: the addresses of queries, keys, values and outputs, and of each the strides in bytes."""
    heads, length, sources, width, value_width, size = shape
    step, zero = queries_together(sources, causal), like(sums[0, 0], 0.0)
    keys, values = new_panels(width, sources, zero), new_panels(sources, value_width, zero)
    lines = whole_panels(sources, size)
    scores, shares = np.empty((step, lines), sums.dtype), np.empty(step, sums.dtype)
    below, target = lines * size, address(scores)
    for head in range(lo, hi):
        b, h = np.intp(head) // heads, np.intp(head) % heads
        set_keys(keys, place_of(places, strides, 1, b, h, 0), strides[1, 2], sources, width, factor)
        v = place_of(places, strides, 2, b, h, 0)
        arrange(zero, v, strides[2, 2], False, sources, value_width, values)
        for first in range(0, length, step):
            rows = min(step, length - first)
            seen = visible(causal, sources, first + rows)
            q, o = place_of(places, strides, 0, b, h, first), place_of(places, strides, 3, b, h, first)
            product(q, (strides[0, 2], size), keys, target, below, rows, width, whole_panels(seen, size), True)
            if mask.size:
                offset = b * mask_strides[0] + h * mask_strides[1] + first * mask_strides[2]
                add_mask(scores, rows, seen, mask, offset, mask_strides[2], mask_strides[3])
            powers_in_place(scores, rows, seen, first, causal, sums[head], shares)
            if noise.size:
                multiplied(scores, rows, seen, noise, (np.intp(head) * length + first) * sources, sources, scores)
            product(target, (below, size), values, o, strides[3, 2], rows, seen, value_width, True)
            multiply_rows(o, strides[3, 2], value_width, rows, shares)


@launcher
def attention(places, strides, shape, factor, causal, mask, mask_strides, noise, sums, work):
    arguments = (places, strides, shape, factor, causal, mask, mask_strides, noise, sums)
    parallel(attend, arguments, sums.shape[0], work)


# Few queries, as of one new token: keys and values are read where they lie, once for each query.


@loop
def attend_few(places, query_steps, key_steps, value_steps, shape, factor, sums, lo, hi):
    heads, length, sources, width, value_width = shape
    hidden, columns = like(sums[0], -math.inf), np.uintp(value_width)
    scores = np.empty(sources, sums.dtype)
    for head in range(lo, hi):
        b, h = np.intp(head) // heads, np.intp(head) % heads
        k, v = places[1] + b * key_steps[0] + h * key_steps[1], places[2] + b * value_steps[0] + h * value_steps[1]
        for i in range(length):
            number = np.intp(head) * length + i
            x = array_at(places[0] + b * query_steps[0] + h * query_steps[1] + i * query_steps[2], width, sums)
            o = array_at(places[3] + number * value_width * sums.itemsize, value_width, sums)
            most, total = hidden, like(hidden, 0.0)
            for j in range(sources):
                row, score = array_at(k + j * key_steps[2], width, sums), like(hidden, 0.0)
                for d in range(np.uintp(width)):
                    score += row[d] * x[d]
                scores[j] = score * like(score, factor)
            for j in range(np.uintp(sources)):
                most = maximum(most, scores[j])
            for j in range(np.uintp(sources)):
                power = exp(scores[j] - most)
                scores[j] = power
                total += power
            for d in range(columns):
                o[d] = 0
            for j in range(sources):
                row, weight = array_at(v + j * value_steps[2], value_width, sums), scores[j]
                for d in range(columns):
                    o[d] += weight * row[d]
            for d in range(columns):
                o[d] /= total
            sums[number] = most + log(total)


@launcher
def attention_of_few(query, key, value, output, sums, example, factor):
    shape = size_at(query, 1), size_at(query, 2), size_at(key, 2), size_at(query, 3), size_at(value, 3)
    count = size_at(query, 0) * shape[0]
    places = word_at(query + HEAD), word_at(key + HEAD), word_at(value + HEAD), word_at(output + HEAD)
    query_steps = stride_at(query, 0), stride_at(query, 1), stride_at(query, 2)
    key_steps = stride_at(key, 0), stride_at(key, 1), stride_at(key, 2)
    value_steps = stride_at(value, 0), stride_at(value, 1), stride_at(value, 2)
    totals = array_at(word_at(sums + HEAD), count * shape[1], example)
    work = count * shape[1] * shape[2] * (shape[3] + shape[4])
    parallel(attend_few, (places, query_steps, key_steps, value_steps, shape, factor, totals), count, work)


@loop
def weights_again(scores, rows, width, first, causal, sums):
    """The softmax of rows, by the logarithms of their sums."""
    size, hidden = scores.itemsize, like(scores[0, 0], -math.inf)
    for i in range(rows):
        seen = np.uintp(visible(causal, width, first + i + 1))
        row, shift, whole = scores[i], sums[first + i], np.uintp(whole_panels(seen, size))
        for j in range(whole):
            row[j] = exp((row[j] if j < seen else hidden) - shift)
        for j in range(whole, np.uintp(width)):
            row[j] = 0


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
    step, zero = queries_together(sources, causal), like(sums[0, 0], 0.0)
    keys, values = new_panels(width, sources, zero), new_panels(value_width, sources, zero)
    plain_keys = new_panels(sources, width, zero)
    queries, grads = new_panels(step, width, zero), new_panels(step, value_width, zero)
    lines = whole_panels(sources, size)
    scores, slopes = np.empty((step, lines), sums.dtype), np.empty((step, lines), sums.dtype)
    kept = np.empty((step, lines), sums.dtype) if noise.size else scores
    below, target = lines * size, address(slopes)
    for head in range(lo, hi):
        b, h = np.intp(head) // heads, np.intp(head) % heads
        k, v = place_of(places, strides, 1, b, h, 0), place_of(places, strides, 2, b, h, 0)
        dk, dv = place_of(places, strides, 5, b, h, 0), place_of(places, strides, 6, b, h, 0)
        set_keys(keys, k, strides[1, 2], sources, width, factor)
        arrange(zero, k, strides[1, 2], False, sources, width, plain_keys)
        arrange(zero, v, strides[2, 2], True, value_width, sources, values)
        for first in range(0, length, step):
            rows = min(step, length - first)
            seen = visible(causal, sources, first + rows)
            whole = whole_panels(seen, size)
            q, grad = place_of(places, strides, 0, b, h, first), place_of(places, strides, 3, b, h, first)
            product(q, (strides[0, 2], size), keys, address(scores), below, rows, width, whole, True)
            if mask.size:
                offset = b * mask_strides[0] + h * mask_strides[1] + first * mask_strides[2]
                add_mask(scores, rows, seen, mask, offset, mask_strides[2], mask_strides[3])
            weights_again(scores, rows, seen, first, causal, sums[head])
            if noise.size:
                multiplied(scores, rows, seen, noise, (np.intp(head) * length + first) * sources, sources, kept)
            arrange(zero, grad, strides[3, 2], False, rows, value_width, grads)
            product(address(kept), (size, below), grads, dv, strides[6, 2], seen, rows, value_width, False)
            product(grad, (strides[3, 2], size), values, target, below, rows, value_width, whole, True)
            slope_in_place(slopes, scores, kept, rows, seen, factor)
            dq = place_of(places, strides, 4, b, h, first)
            product(target, (below, size), plain_keys, dq, strides[4, 2], rows, seen, width, True)
            arrange(zero, q, strides[0, 2], False, rows, width, queries)
            product(target, (size, below), queries, dk, strides[5, 2], seen, rows, width, False)


@launcher
def attention_backward(places, strides, shape, factor, causal, mask, mask_strides, noise, sums, work):
    arguments = (places, strides, shape, factor, causal, mask, mask_strides, noise, sums)
    parallel(attend_backward, arguments, sums.shape[0], work)


def as_heads(array: Any) -> Any:
    """An array (batch, heads, rows, columns) with adjacent columns."""
    if array.ndim != 4:
        array = array.reshape((-1, *array.shape[-3:])) if array.ndim > 4 else array[(None,) * (4 - array.ndim)]
    return array if array.strides[3] == array.itemsize or array.shape[3] == 1 else contiguous(array)


def layout(arrays: list[Any]) -> tuple[Any, Any]:
    """Addresses, and strides of all but the last dimension."""
    places = np.array([each.ctypes.data for each in arrays], np.intp)
    return places, np.array([each.strides[:3] for each in arrays], np.intp)


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
    """The arguments of both passes; None for what only the generic kernel takes."""
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
    drawn = np.empty(0, query.dtype) if noise is None else flat(noise)
    shape = heads[0].shape[1], length, sources, query.shape[-1], value.shape[-1], query.itemsize
    return heads, shape, hidden, drawn


def product_work(shape: tuple[int, ...], batch: int) -> int:
    """What the products count as, where work is handed out: a vector of multiply-adds as one operation."""
    heads, length, sources, width, value_width, _ = shape
    return batch * heads * length * sources * (width + value_width + 32) // 16


EXAMPLES = {char: np.zeros(1, char) for char in "fd"}  # of the dtypes, for launchers


def of_few(query: Any, key: Any, value: Any, factor: float) -> Any:
    """Attention of few queries to all keys; None where one of the arrays does not lie, or fit, as the loops read it."""
    arrays = query, key, value
    size = query.itemsize
    if any(each.ndim != 4 or not each.size or each.strides[3] != size or each.dtype != query.dtype for each in arrays):
        return None
    if query.shape[:2] != key.shape[:2] or key.shape[:3] != value.shape[:3] or query.shape[3] != key.shape[3]:
        return None
    if not (query.flags.aligned and key.flags.aligned and value.flags.aligned):
        return None
    output, sums = np.empty((*query.shape[:3], value.shape[3]), query.dtype), np.empty(query.shape[:3], query.dtype)
    example = EXAMPLES[query.dtype.char]
    attention_of_few(id(query), id(key), id(value), id(output), id(sums), example, float(factor))
    return output, sums


@register_kernel("nn::attention", dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
def attention_kernel(generic: Any) -> Any:
    def run(query: Any, key: Any, value: Any, mask: Any, noise: Any, factor: float, is_causal: bool) -> Any:
        is_large = query.size >= MIN_SIZE
        is_few = query.size >= MIN_SIZE_FUSED and query.shape[-2] <= FEW
        if not is_large and mask is None and noise is None and not is_causal and is_few:
            few = of_few(query, key, value, factor)
            if few is not None:
                return few
        found = prepared(query, key, value, mask, noise) if is_large else None
        if found is None:
            return generic(query, key, value, mask, noise, factor, is_causal)
        heads, shape, hidden, drawn = found
        output = new_heads(np.empty, heads[0], value.shape[-1])
        sums = np.empty(query.shape[:-1], query.dtype)
        flat = sums.reshape(-1, query.shape[-2])
        work = product_work(shape, heads[0].shape[0])
        arrays = [*heads, output]  # alive as long as their addresses are used
        attention(*layout(arrays), shape, float(factor), bool(is_causal), *hidden, drawn, flat, work)
        return output.reshape(*query.shape[:-1], value.shape[-1]), sums

    return run


@register_kernel("nn::attention_gradient", dtypes=REAL, min_size=MIN_SIZE, checks_size=True)
def attention_gradient_kernel(generic: Any) -> Any:
    def run(
        grad: Any, query: Any, key: Any, value: Any, mask: Any, noise: Any, sums: Any, factor: float, is_causal: bool
    ) -> Any:
        found = prepared(query, key, value, mask, noise) if query.size >= MIN_SIZE else None
        if found is None or grad.dtype != query.dtype:
            return generic(grad, query, key, value, mask, noise, sums, factor, is_causal)
        heads, shape, hidden, drawn = found
        results = [new_heads(np.empty, heads[0], query.shape[-1])]
        results += [new_heads(np.zeros, each, each.shape[-1]) for each in heads[1:]]
        flat = contiguous(sums).reshape(-1, query.shape[-2])
        work = 2 * product_work(shape, heads[0].shape[0])
        arrays = [*heads, as_heads(grad), *results]  # alive as long as their addresses are used
        attention_backward(*layout(arrays), shape, float(factor), bool(is_causal), *hidden, drawn, flat, work)
        return tuple(each.reshape(own.shape) for each, own in zip(results, (query, key, value)))

    return run
