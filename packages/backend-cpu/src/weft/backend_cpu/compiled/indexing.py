"""Reading and writing elements at positions that a tensor holds.

Arrays are taken as (outer, positions, inner): the dimensions before the one that is indexed, that one, and those behind
it. A position out of range is found where it is read: the loop goes on with the next, and NumPy is asked to do it all
again, which raises. Where several sources go to one place, no two threads have the same place: they share the outer
dimensions or the inner ones, so that sums are the same whatever the number of threads is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend import BySize
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.libraries import LEAST, serves

ALL = "float32 float64 int64 int32 bool uint8 int8 int16 float16 bfloat16"
NUMBERS = "float32 float64 int64 int32"


def is_taken(index: Any, *arrays: Any) -> bool:
    """Whether the loops take the positions and the arrays."""
    contiguous = all(each.flags.c_contiguous for each in (index, *arrays))
    return contiguous and index.dtype == np.int64 and all(each.size for each in (index, *arrays))


def parts(array: Any, dim: int) -> tuple[int, int, int]:
    """The shape with three dimensions: those before one, that one, those behind it."""
    shape = array.shape
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])


def bits(array: Any) -> Any:
    """An array as unsigned integers of its elements' size, where elements are only moved."""
    return array.view(f"u{array.itemsize}")


# Rows, all of one outer index at the same positions


@loop
def take_loop(x, index, y, wrong, lo, hi):
    count, inner, size = np.uintp(index.size), x.shape[2], x.shape[1]
    outer, j = lo // count, lo % count
    for _ in range(lo, hi):
        at = index[j]
        if 0 <= at < size:
            source, target = x[outer, at], y[outer, j]
            for i in range(np.uintp(inner)):
                target[i] = source[i]
        else:
            wrong[0] = True
        j += np.uintp(1)
        if j == count:
            outer, j = outer + np.uintp(1), np.uintp(0)


@launcher
def take(x, index, y, wrong):
    parallel(take_loop, (x, index, y, wrong), y.shape[0] * y.shape[1], y.size)


def taken(x: Any, dim: int, index: Any, shape: tuple[int, ...]) -> Any:
    """The elements at flat positions along a dimension; None if one is out of range."""
    made, wrong = np.empty(shape, x.dtype), np.zeros(1, bool)
    outer, size, inner = parts(x, dim)
    take(bits(x).reshape(outer, size, inner), index, bits(made).reshape(outer, index.size, inner), wrong)
    return None if wrong[0] else made


@serves("core::index_select", ALL)
def index_select_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int, index: Any) -> Any:
        made = None
        if x.ndim and is_taken(index, x):
            made = taken(x, dim, index, (*x.shape[:dim], index.size, *x.shape[dim + 1 :]))
        return generic(x, dim, index) if made is None else made

    return BySize(generic, run, LEAST)


@serves("nn::embedding", ALL)
def embedding_kernel(generic: Any) -> Any:
    def run(weight: Any, indices: Any, padding: Any, by_frequency: Any) -> Any:
        made = None
        if indices.size * weight.shape[-1] >= LEAST and weight.ndim == 2 and is_taken(indices, weight):
            made = taken(weight, 0, indices.reshape(-1), (*indices.shape, weight.shape[1]))
        return generic(weight, indices, padding, by_frequency) if made is None else made

    return run


def joined(indices: Any, sizes: tuple[int, ...]) -> Any:
    """Positions along the first dimensions as positions in all of them together; None if one is out of range."""
    flat = np.zeros(indices[0].shape, np.int64)
    for index, size in zip(indices, sizes):
        if index.shape != flat.shape or not is_taken(index) or index.view(np.uint64).max() >= size:
            return None
        flat *= size
        flat += index
    return flat


@serves("core::index", ALL)
def index_kernel(generic: Any) -> Any:
    def run(x: Any, indices: Any) -> Any:
        made, places = None, [dim for dim, each in enumerate(indices) if each is not None]
        if len(places) == 1 and is_taken(indices[places[0]], x):
            dim, index = places[0], indices[places[0]]
            made = taken(x, dim, index.reshape(-1), (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :]))
        elif places == list(range(len(places))) and x.size and x.flags.c_contiguous:
            count = len(places)
            index = joined([indices[place] for place in places], x.shape)
            if index is not None:
                made = taken(x.reshape(-1, *x.shape[count:]), 0, index.reshape(-1), (*index.shape, *x.shape[count:]))
        return generic(x, indices) if made is None else made

    return BySize(generic, run, LEAST)


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


@serves("core::nonzero", "bool float32 float64 int64")
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

    return BySize(generic, run, LEAST)


# Single elements


@loop
def are_positions(at, first, stop, size):
    """Whether all of some positions are in range, in vector code: a negative one is a large number without its sign."""
    most = np.uintp(0)
    for i in range(first, stop):
        most = max(most, np.uintp(at[i]))
    return most < np.uintp(size)


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


@serves("core::gather", ALL)
def gather_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int, index: Any) -> Any:
        if not fits(x, dim, index) or index.size < LEAST or not is_taken(index, x):
            return generic(x, dim, index)
        made, wrong = np.empty(index.shape, x.dtype), np.zeros(1, bool)
        launch, shape = (
            (gather_rows, (-1, index.shape[dim])) if parts(index, dim)[2] == 1 else (gather, parts(index, dim))
        )
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


@serves("core::scatter", NUMBERS)
def scatter_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int, index: Any, source: Any, reduce: Any) -> Any:
        is_array = isinstance(source, np.ndarray)
        if (
            not fits(x, dim, index)
            or index.size < LEAST
            or not is_taken(index)
            or reduce not in (None, "add")
            or (is_array and (source.ndim != index.ndim or source.dtype != x.dtype or not source.flags.c_contiguous))
            or (is_array and source.shape != index.shape)
        ):
            return generic(x, dim, index, source, reduce)
        values = source if is_array else np.full(index.shape, source, x.dtype)
        made, wrong = np.array(x, order="C"), np.zeros(1, bool)
        rows = parts(index, dim)[2] == 1
        launch, shape = (scatter_rows, (-1, index.shape[dim])) if rows else (scatter, parts(index, dim))
        whole = made.reshape(shape[0], x.shape[dim], *shape[2:])
        launch(whole, index.reshape(shape), values.reshape(shape), reduce == "add", wrong)
        return generic(x, dim, index, source, reduce) if wrong[0] else made

    return run


# Rows added to rows


@loop
def add_rows_loop(y, index, source, alpha, skipped, by_outer, wrong, lo, hi):
    size, factor = y.shape[1], y.dtype.type(alpha)
    first, last = (lo, hi) if by_outer else (np.uintp(0), np.uintp(y.shape[0]))
    left, right = (np.uintp(0), np.uintp(y.shape[2])) if by_outer else (lo, hi)
    for outer in range(first, last):
        for j in range(index.size):
            at = index[j]
            if not 0 <= at < size:
                wrong[0] = True
            elif at != skipped:
                target, values = y[outer, at], source[outer, j]
                for i in range(left, right):
                    target[i] += values[i] * factor


@launcher
def add_rows(y, index, source, alpha, skipped, wrong):
    by_outer = y.shape[0] > 1
    count = y.shape[0] if by_outer else y.shape[2]
    parallel(add_rows_loop, (y, index, source, alpha, skipped, by_outer, wrong), count, source.size * 2)


def added(made: Any, dim: int, index: Any, source: Any, alpha: Any = 1, skipped: int = -1) -> Any:
    """Add rows to those at positions along a dimension, but to one that is skipped; None if one is out of range."""
    wrong = np.zeros(1, bool)
    outer, size, inner = parts(made, dim)
    add_rows(made.reshape(outer, size, inner), index, source.reshape(outer, index.size, inner), alpha, skipped, wrong)
    return None if wrong[0] else made


@serves("core::index_add", NUMBERS)
def index_add_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
        made = None
        if x.ndim and is_taken(index, source) and source.dtype == x.dtype and isinstance(alpha, int | float):
            made = added(np.array(x, order="C"), dim, index, source, alpha)
        return generic(x, dim, index, source, alpha) if made is None else made

    return BySize(generic, run, LEAST)


@serves("nn::embedding_gradient", "float32 float64")
def embedding_gradient_kernel(generic: Any) -> Any:
    def run(grad: Any, indices: Any, rows: int, padding: Any, by_frequency: Any) -> Any:
        made = None
        if not by_frequency and is_taken(indices, grad) and grad.ndim > indices.ndim:
            made = np.zeros((rows, *grad.shape[indices.ndim :]), grad.dtype)
            made = added(made, 0, indices.reshape(-1), grad, skipped=-1 if padding is None else padding % rows)
        return generic(grad, indices, rows, padding, by_frequency) if made is None else made

    return BySize(generic, run, LEAST)


@serves("core::index_put", NUMBERS)
def index_put_kernel(generic: Any) -> Any:
    def run(x: Any, indices: Any, values: Any, accumulate: bool) -> Any:
        made, places = None, [dim for dim, each in enumerate(indices) if each is not None]
        if accumulate and len(places) == 1 and is_taken(indices[places[0]], values) and values.dtype == x.dtype:
            dim, index = places[0], indices[places[0]]
            if values.shape == (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :]):
                made = added(np.array(x, order="C"), dim, index.reshape(-1), values)
        return generic(x, indices, values, accumulate) if made is None else made

    return BySize(generic, run, LEAST)
