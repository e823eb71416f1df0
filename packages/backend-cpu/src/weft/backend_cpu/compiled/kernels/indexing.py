"""Reading and writing elements at positions that a tensor holds.

Arrays are taken as (outer, positions, inner): the dimensions before the one that is indexed, that one, and those behind
it. A position out of range is found where it is read: the loop goes on with the next, and the generic kernel is called,
which raises. Where several sources go to one place, threads share the outer dimensions or the inner ones, so that no
two write to the same place and sums do not depend on their number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.array_header import HEAD, word_at
from weft.backend_cpu.compiled.codegen.deferred import intrinsic, types
from weft.backend_cpu.compiled.codegen.memory import copy_bytes, prefetch
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.codegen.strided_copy import ordered_copy
from weft.backend_cpu.compiled.kernels.layouts import outer_size_inner
from weft.backend_cpu.registry import MIN_SIZE, MIN_SIZE_FUSED, register_kernel

ALL = "float32 float64 int64 int32 bool uint8 int8 int16 float16 bfloat16"
NUMBERS = "float32 float64 int64 int32"
INTEGER = np.dtype(np.int64)


def is_taken(index: Any, *arrays: Any) -> bool:
    """Whether the loops take the positions and the arrays."""
    if index.dtype != INTEGER or not index.flags.c_contiguous or not index.size:
        return False
    for each in arrays:  # noqa: SIM110  (a generator costs as much again)
        if not each.flags.c_contiguous or not each.size:
            return False
    return True


def loop_shape(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    """A shape as (rows, size) where the elements along ``dim`` are adjacent, else as (outer, size, inner)."""
    outer, size, inner = outer_size_inner(shape, dim)
    return (outer, size) if inner == 1 else (outer, size, inner)


def bits(array: Any) -> Any:
    """An array as unsigned integers of its elements' size, where elements are only moved."""
    return array.view(f"u{array.itemsize}")


@loop
def are_positions(at, first, stop, size):
    """Whether all positions are in range, in vector code: as unsigned numbers negative ones are large."""
    most = np.uintp(0)
    for i in range(first, stop):
        most = max(most, np.uintp(at[i]))
    return most < np.uintp(size)


# Rows, all of one outer index at the same positions


@loop
def take_rows_loop(x, index, y, size, width, lo, hi):
    count = np.uintp(index.size)
    outer, j = lo // count, lo % count
    source, target = x + np.int64(outer) * size * width, y + np.int64(lo) * width
    for _ in range(lo, hi):
        copy_bytes(target, source + index[j] * width, width)
        target += width
        j += np.uintp(1)
        if j == count:
            source, j = source + size * width, np.uintp(0)


@loop
def take_elements_loop(x, index, y, lo, hi):
    count = np.uintp(index.size)
    outer, first = lo // count, lo % count
    while lo < hi:
        stop = min(count, first + hi - lo)
        source, target = x[outer], y[outer]
        for j in range(first, stop):
            target[j] = source[np.uintp(index[j])]
        lo += stop - first
        outer, first = outer + np.uintp(1), np.uintp(0)


@launcher
def take_rows(x, index, y, outer, size, width):
    """Copy rows of so many bytes, arrays by their identities; False, and nothing is written, if one is out of range."""
    if not are_positions(index, np.uintp(0), np.uintp(index.size), size):
        return False
    places = word_at(x + HEAD), word_at(y + HEAD)
    parallel(
        take_rows_loop,
        (places[0], index, places[1], size, width),
        outer * index.size,
        outer * index.size * (width // 4 + 4),
    )
    return True


@launcher
def take_elements(x, index, y):
    """Copy single elements; False, and nothing is written, if a position is out of range."""
    if not are_positions(index, np.uintp(0), np.uintp(index.size), x.shape[1]):
        return False
    parallel(take_elements_loop, (x, index, y), y.size, y.size * 2)
    return True


def taken(x: Any, dim: int, index: Any, shape: tuple[int, ...]) -> Any:
    """The elements at flat positions along a dimension; None if one is out of range."""
    made = np.empty(shape, x.dtype)
    outer, size, inner = outer_size_inner(x.shape, dim)
    if inner == 1 and x.itemsize <= 8:
        done = take_elements(bits(x).reshape(outer, size), index, bits(made).reshape(outer, index.size))
    else:
        done = take_rows(id(x), index, id(made), outer, size, inner * x.itemsize)
    return made if done else None


@register_kernel("core::index_select", dtypes=ALL, min_size=MIN_SIZE, bitwise=True)
def index_select_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int, index: Any) -> Any:
        made = None
        if x.ndim and is_taken(index, x):
            made = taken(x, dim, index, (*x.shape[:dim], index.size, *x.shape[dim + 1 :]))
        return generic(x, dim, index) if made is None else made

    return run


@register_kernel("nn::embedding", dtypes=ALL, min_size=MIN_SIZE, checks_size=True, bitwise=True)
def embedding_kernel(generic: Any) -> Any:
    def run(weight: Any, indices: Any, padding: Any, by_frequency: Any) -> Any:
        made = None
        if indices.size * weight.shape[-1] >= MIN_SIZE and weight.ndim == 2 and is_taken(indices, weight):
            made = taken(weight, 0, indices.reshape(-1), (*indices.shape, weight.shape[1]))
        return generic(weight, indices, padding, by_frequency) if made is None else made

    return run


@loop
def join_loop(first, second, rows, columns, flat, wrong, lo, hi):
    worst = np.uintp(0)
    for i in range(lo, hi):
        row, column = first[i], second[i]
        row, column = row + (rows if row < 0 else 0), column + (columns if column < 0 else 0)
        worst |= np.uintp(np.uintp(row) >= np.uintp(rows)) | np.uintp(np.uintp(column) >= np.uintp(columns))
        flat[i] = row * columns + column
    if worst:
        wrong[0] = True


@launcher
def join(first, second, rows, columns, flat, wrong):
    parallel(join_loop, (first, second, rows, columns, flat, wrong), flat.size, flat.size * 2)


def joined(indices: Any, sizes: tuple[int, ...]) -> Any:
    """Positions along the first dimensions as flat positions; None if one is out of range."""
    shape = indices[0].shape
    if any(index.shape != shape or not is_taken(index) for index in indices):
        return None
    flat, rows, wrong = indices[0].reshape(-1), sizes[0], np.zeros(1, bool)
    for index, size in zip(indices[1:], sizes[1:]):
        both = np.empty(flat.size, np.int64)
        join(flat, index.reshape(-1), rows, size, both, wrong)
        flat, rows = both, rows * size
    return None if wrong[0] else flat


def forward_positions(index: Any, size: int) -> Any:
    """Positions counted from the start, none negative."""
    return index + size * (index < 0) if index.min() < 0 else index


@register_kernel("core::index", dtypes=ALL, min_size=MIN_SIZE, bitwise=True)
def index_kernel(generic: Any) -> Any:
    def run(x: Any, indices: Any) -> Any:
        made, places = None, [dim for dim, each in enumerate(indices) if each is not None]
        if len(places) == 1 and is_taken(indices[places[0]], x):
            dim, index = places[0], indices[places[0]]
            shape = (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :])
            made = taken(x, dim, index.reshape(-1), shape)
            if made is None:
                made = taken(x, dim, forward_positions(index.reshape(-1), x.shape[dim]), shape)
        elif places == list(range(len(places))) and x.size and x.flags.c_contiguous:
            count = len(places)
            index = joined([indices[place] for place in places], x.shape)
            if index is not None:
                shape = (*indices[0].shape, *x.shape[count:])
                made = taken(x.reshape(-1, *x.shape[count:]), 0, index, shape)
        return generic(x, indices) if made is None else made

    return run


# Where elements are not 0


@loop
def count_loop(x, counts, lo, hi):
    for row in range(lo, hi):
        count, values = 0, x[row]
        for i in range(np.uintp(x.shape[1])):
            count += values[i] != 0
        counts[row] = count


@loop
def find_loop(x, shape, starts, found, lo, hi):
    place = np.empty(x.shape[1] + 1, np.int64)
    for row in range(lo, hi):
        count, values = np.uintp(0), x[row]
        for i in range(np.uintp(x.shape[1])):  # without a branch, which nothing could predict
            place[count] = i
            count += np.uintp(values[i] != 0)
        target, first = found[-1], np.uintp(starts[row])
        for i in range(count):
            target[first + i] = place[i]
        rest = np.int64(row)
        for dim in range(len(found) - 2, -1, -1):
            target, at = found[dim], rest % shape[dim]
            rest //= shape[dim]
            for i in range(first, first + count):
                target[i] = at


@launcher
def count_rows(x, counts):
    parallel(count_loop, (x, counts), len(x), x.size)


@launcher
def find_rows(x, shape, starts, found):
    parallel(find_loop, (x, shape, starts, found), len(x), x.size * 2)


@register_kernel("core::nonzero", dtypes="bool float32 float64 int64", min_size=MIN_SIZE, bitwise=True)
def nonzero_kernel(generic: Any) -> Any:
    def run(x: Any) -> Any:
        if not x.ndim or not x.size or not x.flags.c_contiguous:
            return generic(x)
        rows = x.reshape(-1, x.shape[-1] if x.ndim > 1 else x.size)
        if rows.shape[1] < 16:
            return generic(x)
        starts = np.zeros(len(rows) + 1, np.int64)
        count_rows(rows, starts[1:])
        np.cumsum(starts, out=starts)
        found = np.empty((x.ndim, starts[-1]), np.int64)
        find_rows(rows, np.array(x.shape), starts, found)
        return found.T  # the positions of one dimension lie together

    return run


# Single elements


@loop
def gather_loop(x, index, y, wrong, lo, hi):
    count, inner = np.uintp(index.shape[1]), np.uintp(index.shape[2])
    outer, j = lo // count, lo % count
    for _ in range(lo, hi):
        source, at, target = x[outer], index[outer, j], y[outer, j]
        if are_positions(at, np.uintp(0), inner, x.shape[1]):
            for i in range(inner):
                target[i] = source[np.uintp(at[i]), i]
        else:
            wrong[0] = True
        j += np.uintp(1)
        if j == count:
            outer, j = outer + np.uintp(1), np.uintp(0)


@loop
def gather_rows_loop(x, index, y, wrong, lo, hi):
    count = np.uintp(index.shape[1])
    for row in range(lo, hi):
        source, at, target = x[row], index[row], y[row]
        if are_positions(at, np.uintp(0), count, x.shape[1]):
            for i in range(count):
                target[i] = source[np.uintp(at[i])]
        else:
            wrong[0] = True


@launcher
def gather(x, index, y, wrong):
    parallel(gather_loop, (x, index, y, wrong), index.shape[0] * index.shape[1], index.size * 2)


@launcher
def gather_rows(x, index, y, wrong):
    parallel(gather_rows_loop, (x, index, y, wrong), index.shape[0], index.size * 2)


def fits(x: Any, dim: int, index: Any) -> bool:
    """Whether the positions have the array's shape but along the dimension."""
    same = x.ndim == index.ndim and x.ndim > 0
    return same and x.shape[:dim] == index.shape[:dim] and x.shape[dim + 1 :] == index.shape[dim + 1 :]


@register_kernel("core::gather", dtypes=ALL, min_size=MIN_SIZE, checks_size=True, bitwise=True)
def gather_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int, index: Any) -> Any:
        if not fits(x, dim, index) or index.size < MIN_SIZE or not is_taken(index, x):
            return generic(x, dim, index)
        made, wrong = np.empty(index.shape, x.dtype), np.zeros(1, bool)
        shape = loop_shape(index.shape, dim)
        launch = gather_rows if len(shape) == 2 else gather
        whole = (shape[0], x.shape[dim], *shape[2:])
        launch(bits(x).reshape(whole), index.reshape(shape), bits(made).reshape(shape), wrong)
        return generic(x, dim, index) if wrong[0] else made

    return run


@loop
def scatter_loop(y, index, source, adds, by_outer, wrong, lo, hi):
    first, last = (lo, hi) if by_outer else (np.uintp(0), np.uintp(index.shape[0]))
    left, right = (np.uintp(0), np.uintp(index.shape[2])) if by_outer else (lo, hi)
    for outer in range(first, last):
        target = y[outer]
        for j in range(index.shape[1]):
            at, values = index[outer, j], source[outer, j]
            if not are_positions(at, left, right, y.shape[1]):
                wrong[0] = True
            elif adds:
                for i in range(left, right):
                    target[np.uintp(at[i]), i] += values[i]
            else:
                for i in range(left, right):
                    target[np.uintp(at[i]), i] = values[i]


@loop
def scatter_rows_loop(y, index, source, adds, wrong, lo, hi):
    count = np.uintp(index.shape[1])
    for row in range(lo, hi):
        target, at, values = y[row], index[row], source[row]
        if not are_positions(at, np.uintp(0), count, y.shape[1]):
            wrong[0] = True
        elif adds:
            for i in range(count):
                target[np.uintp(at[i])] += values[i]
        else:
            for i in range(count):
                target[np.uintp(at[i])] = values[i]


@launcher
def scatter(y, index, source, adds, wrong):
    by_outer = index.shape[0] > 1
    count = index.shape[0] if by_outer else index.shape[2]
    parallel(scatter_loop, (y, index, source, adds, by_outer, wrong), count, index.size * 2)


@launcher
def scatter_rows(y, index, source, adds, wrong):
    parallel(scatter_rows_loop, (y, index, source, adds, wrong), index.shape[0], index.size * 2)


@register_kernel("core::scatter", dtypes=ALL, min_size=MIN_SIZE, checks_size=True)
def scatter_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int, index: Any, source: Any, adds: bool) -> Any:
        is_array = isinstance(source, np.ndarray)
        if (
            not fits(x, dim, index)
            or index.size < MIN_SIZE
            or not is_taken(index)
            or (adds and x.dtype.name not in NUMBERS.split())
            or (is_array and (source.ndim != index.ndim or source.dtype != x.dtype or not source.flags.c_contiguous))
            or (is_array and source.shape != index.shape)
        ):
            return generic(x, dim, index, source, adds)
        values = source if is_array else np.full(index.shape, source, x.dtype)
        made, wrong = ordered_copy(x), np.zeros(1, bool)
        shape = loop_shape(index.shape, dim)
        launch = scatter_rows if len(shape) == 2 else scatter
        whole, values = made.reshape(shape[0], x.shape[dim], *shape[2:]), values.reshape(shape)
        if not adds:  # elements are only moved
            whole, values = bits(whole), bits(values)
        launch(whole, index.reshape(shape), values, adds, wrong)
        return generic(x, dim, index, source, adds) if wrong[0] else made

    return run


@register_kernel("core::gather_backward", dtypes=NUMBERS, min_size=MIN_SIZE, checks_size=True)
def gather_backward_kernel(generic: Any) -> Any:
    def run(grad: Any, shape: Any, dim: int, index: Any) -> Any:
        alike = grad.shape == index.shape and len(shape) == index.ndim and index.size >= MIN_SIZE
        same = alike and all(n == m for d, (n, m) in enumerate(zip(index.shape, shape)) if d != dim)
        if not same or not is_taken(index, grad):
            return generic(grad, shape, dim, index)
        made, wrong = np.zeros(shape, grad.dtype), np.zeros(1, bool)
        form = loop_shape(index.shape, dim)
        launch = scatter_rows if len(form) == 2 else scatter
        launch(made.reshape(form[0], shape[dim], *form[2:]), index.reshape(form), grad.reshape(form), True, wrong)
        return generic(grad, shape, dim, index) if wrong[0] else made

    return run


# Elements combined with those at positions

COMBINED = {"prod": 0, "amax": 1, "amin": 2}


@loop
def combine_loop(y, index, source, how, wrong, lo, hi):
    count = np.uintp(index.shape[1])
    for row in range(lo, hi):
        target, at, values = y[row], index[row], source[row]
        if not are_positions(at, np.uintp(0), count, y.shape[1]):
            wrong[0] = True
        elif how == 0:
            for i in range(count):
                target[np.uintp(at[i])] *= values[i]
        else:
            for i in range(count):
                value, have = values[i], target[np.uintp(at[i])]
                further = value > have if how == 1 else value < have
                if further or value != value:
                    target[np.uintp(at[i])] = value


@launcher
def combine(y, index, source, how, wrong):
    parallel(combine_loop, (y, index, source, how, wrong), index.shape[0], index.size * 2)


@register_kernel("core::scatter_reduce", dtypes=NUMBERS, min_size=MIN_SIZE, checks_size=True)
def scatter_reduce_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool) -> Any:
        alike = fits(x, dim, index) and source.shape == index.shape and source.dtype == x.dtype
        taken = alike and index.size >= MIN_SIZE and include_self and is_taken(index, source)
        loops = loop_shape(index.shape, dim) if taken else ()
        rows = len(loops) == 2
        if not taken or reduce == "mean" or (reduce != "sum" and not rows):
            return generic(x, dim, index, source, reduce, include_self)
        made, wrong = ordered_copy(x), np.zeros(1, bool)
        whole = made.reshape(loops[0], x.shape[dim], *loops[2:])
        index_rows, values = index.reshape(loops), source.reshape(loops)
        if reduce == "sum":
            (scatter_rows if rows else scatter)(whole, index_rows, values, True, wrong)
        else:
            combine(whole, index_rows, values, COMBINED[reduce], wrong)
        return generic(x, dim, index, source, reduce, include_self) if wrong[0] else made

    return run


# Rows added to rows


@loop
def add_rows_loop(y, index, source, alpha, skipped, by_outer, lo, hi):
    factor = y.dtype.type(alpha)
    first, last = (lo, hi) if by_outer else (np.uintp(0), np.uintp(y.shape[0]))
    left, right = (np.uintp(0), np.uintp(y.shape[2])) if by_outer else (lo, hi)
    width, size, count = np.uintp(y.shape[2]), np.uintp(y.shape[1]), np.uintp(index.size)
    to, values = y.reshape(-1), source.reshape(-1)
    for outer in range(first, last):
        for j in range(count):
            if index[j] != skipped:
                target, begin = (outer * size + np.uintp(index[j])) * width, (outer * count + j) * width
                for i in range(left, right):
                    to[target + i] += values[begin + i] * factor


@launcher
def add_rows(y, index, source, alpha, skipped):
    """Add rows to others; False, and nothing is written, if a position is out of range."""
    if not are_positions(index, np.uintp(0), np.uintp(index.size), y.shape[1]):
        return False
    by_outer = y.shape[0] > 1
    count = y.shape[0] if by_outer else y.shape[2]
    parallel(add_rows_loop, (y, index, source, alpha, skipped, by_outer), count, source.size * 2)
    return True


@loop
def add_columns_loop(y, index, source, alpha, skipped, lo, hi):
    factor = y.dtype.type(alpha)
    for row in range(lo, hi):
        target, values = y[row], source[row]
        for j in range(np.uintp(index.size)):
            if index[j] != skipped:
                target[np.uintp(index[j])] += values[j] * factor


@launcher
def add_columns(y, index, source, alpha, skipped):
    """Add single elements to others; False, and nothing is written, if a position is out of range."""
    if not are_positions(index, np.uintp(0), np.uintp(index.size), y.shape[1]):
        return False
    parallel(add_columns_loop, (y, index, source, alpha, skipped), y.shape[0], source.size * 2)
    return True


def added(made: Any, dim: int, index: Any, source: Any, alpha: Any = 1, skipped: int = -1) -> Any:
    """Add rows to those at positions along a dimension, but to one that is skipped; None if one is out of range."""
    outer, size, inner = outer_size_inner(made.shape, dim)
    if inner == 1:
        columns = source.reshape(outer, index.size)
        return made if add_columns(made.reshape(outer, size), index, columns, alpha, skipped) else None
    rows = source.reshape(outer, index.size, inner)
    return made if add_rows(made.reshape(outer, size, inner), index, rows, alpha, skipped) else None


@register_kernel("core::index_add", dtypes=NUMBERS, min_size=MIN_SIZE)
def index_add_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
        made = None
        if x.ndim and is_taken(index, source) and source.dtype == x.dtype and isinstance(alpha, int | float):
            made = added(ordered_copy(x), dim, index, source, alpha)
        return generic(x, dim, index, source, alpha) if made is None else made

    return run


@register_kernel("nn::embedding_gradient", dtypes="float32 float64", min_size=MIN_SIZE)
def embedding_gradient_kernel(generic: Any) -> Any:
    def run(grad: Any, indices: Any, rows: int, padding: Any, by_frequency: Any) -> Any:
        made = None
        if not by_frequency and is_taken(indices, grad) and grad.ndim > indices.ndim:
            made = np.zeros((rows, *grad.shape[indices.ndim :]), grad.dtype)
            made = added(made, 0, indices.reshape(-1), grad, skipped=-1 if padding is None else padding % rows)
        return generic(grad, indices, rows, padding, by_frequency) if made is None else made

    return run


AHEAD = 12  # rows that are prefetched: the processor cannot guess which one comes next


@intrinsic
def fetch(typingctx: Any, x: Any, i: Any) -> Any:
    """Prefetch an element of a contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = builder.gep(context.make_array(x)(context, builder, values[0]).data, [values[1]])
        prefetch(builder, place)
        return context.get_dummy_value()

    return types.void(x, i), generate


@loop
def bag_loop(weight, indices, starts, factors, mean, y, lo, hi):
    columns, last = np.uintp(weight.shape[1]), np.uintp(indices.size - 1)
    line = np.uintp(64 // weight.itemsize)
    for bag in range(lo, hi):
        total, first, stop = y[bag], np.uintp(starts[bag]), np.uintp(starts[np.uintp(1) + bag])
        for i in range(columns):
            total[i] = 0
        for j in range(first, stop):
            row = weight[np.uintp(indices[j])]
            ahead = np.uintp(indices[min(j + np.uintp(AHEAD), last)])
            for i in range(np.uintp(0), columns, line):
                fetch(weight, ahead * columns + i)
            if factors.size:
                factor = factors[j]
                for i in range(columns):
                    total[i] += row[i] * factor
            else:
                for i in range(columns):
                    total[i] += row[i]
        if mean and stop > first:
            count = weight.dtype.type(stop - first)
            for i in range(columns):
                total[i] /= count


@launcher
def add_bags(weight, indices, starts, factors, mean, y):
    """Sums of rows; False, and nothing is written, if a position is out of range."""
    if not are_positions(indices, np.uintp(0), np.uintp(indices.size), weight.shape[0]):
        return False
    parallel(bag_loop, (weight, indices, starts, factors, mean, y), y.shape[0], indices.size * weight.shape[1])
    return True


@register_kernel("nn::embedding_bag", dtypes="float32 float64", min_size=MIN_SIZE_FUSED, checks_size=True)
def embedding_bag_kernel(generic: Any) -> Any:
    def run(weight: Any, indices: Any, starts: Any, each_weight: Any, mean: bool, by_frequency: bool) -> Any:
        if weight.size >= MIN_SIZE_FUSED and is_taken(indices, starts, weight):
            factors = np.empty(0, weight.dtype) if each_weight is None else np.ascontiguousarray(each_weight)
            made = np.empty((starts.size - 1, weight.shape[1]), weight.dtype)
            if add_bags(weight, indices, starts, factors, mean, made):
                return made
        return generic(weight, indices, starts, each_weight, mean, by_frequency)

    return run


@register_kernel("core::index_put", dtypes=NUMBERS, min_size=MIN_SIZE)
def index_put_kernel(generic: Any) -> Any:
    def run(x: Any, indices: Any, values: Any, accumulate: bool) -> Any:
        made, places = None, [dim for dim, each in enumerate(indices) if each is not None]
        if accumulate and len(places) == 1 and is_taken(indices[places[0]], values) and values.dtype == x.dtype:
            dim, index = places[0], indices[places[0]]
            if values.shape == (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :]):
                made = added(ordered_copy(x), dim, index.reshape(-1), values)
        elif accumulate and len(places) > 1 and places == list(range(len(places))) and x.size:
            made = added_at(x, [indices[place] for place in places], values)
        return generic(x, indices, values, accumulate) if made is None else made

    return run


def added_at(x: Any, indices: Any, values: Any) -> Any:
    """Values added at positions in the first dimensions together; None where the loop does not do it."""
    count = len(indices)
    rest = x.shape[count:]
    if values.dtype != x.dtype or not is_taken(values) or values.shape != (*indices[0].shape, *rest):
        return None
    index = joined(indices, x.shape)
    if index is None:
        return None
    made = ordered_copy(x)
    sums = added(made.reshape(1, -1, *rest), 1, index, values.reshape(1, index.size, *rest))
    return None if sums is None else made


# Elements written at positions along the last dimension


@loop
def write_columns_loop(y, index, values, lo, hi):
    for row in range(lo, hi):
        target = y[row]
        if values.shape[0] == 1:  # one value for all
            for j in range(np.uintp(index.size)):
                target[np.uintp(index[j])] = values[0, 0]
        else:
            for j in range(np.uintp(index.size)):
                target[np.uintp(index[j])] = values[row, j]


@launcher
def write_columns(y, index, values):
    """Write elements; False, and nothing is written, if a position is out of range."""
    if not are_positions(index, np.uintp(0), np.uintp(index.size), y.shape[1]):
        return False
    parallel(write_columns_loop, (y, index, values), y.shape[0], y.shape[0] * index.size * 2)
    return True


@register_kernel("core::assign_at", dtypes=ALL, min_size=MIN_SIZE, checks_size=True)
def assign_at_kernel(generic: Any) -> Any:
    def run(target: Any, indices: Any, values: Any) -> bool:
        """``target[indices] = values`` where columns are written; False, and nothing is written, elsewhere."""
        if any(each is not None for each in indices[:-1]) or indices[-1].ndim != 1 or target.ndim < 2:
            return False
        shape, index = (*target.shape[:-1], indices[-1].size), indices[-1]
        single = values.size == 1
        if len(indices) != target.ndim or not is_taken(index, target) or not (single or values.shape == shape):
            return False
        if not target.flags.writeable or not values.flags.c_contiguous or values.dtype != target.dtype:
            return False
        if not single and (math.prod(shape[:-1]) == 1 or np.may_share_memory(values, target)):
            return False
        rows = bits(values).reshape(1, 1) if single else bits(values).reshape(-1, index.size)
        return bool(write_columns(bits(target).reshape(-1, target.shape[-1]), index, rows))

    return run
