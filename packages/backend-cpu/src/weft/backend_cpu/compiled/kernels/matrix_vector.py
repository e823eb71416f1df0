"""Matrix-vector products in OpenMP's threads, at the speed of reading the matrix.

The matrix is read in the order of memory. Where its rows are contiguous, four rows at a time are multiplied with the
vector. Where its columns are, each column times its element of the vector is added to the sums; each block of columns
has sums of its own, which are added in the end. So the result does not depend on the number of threads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from weft import bfloat16
from weft.backend_cpu.compiled.codegen.array_header import HEAD, array_at, word_at
from weft.backend_cpu.compiled.codegen.float16 import BITS, value_at
from weft.backend_cpu.compiled.codegen.mathematics import like
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel

__all__ = ["product", "row_product"]

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]

HEIGHT = np.uintp(256)  # rows of a block
WIDTH = np.uintp(1024)  # sums of a line at a time: they stay in the first cache
ONE, FOUR = np.uintp(1), np.uintp(4)

EXAMPLES = {char: np.zeros(1, char) for char in "fd"}  # of the dtypes, for launchers


# Contiguous rows. `matrices` and `vectors` are the addresses of those of a batch, `step` the bytes from a row of memory
# to the next. Threads get groups of four rows: a single row may be summed in another order than one of four, so which
# ones are single must not depend on where the parts are cut.


@loop
def rows_loop(matrices, step, vectors, terms, y, lo, hi):
    rows = np.uintp(y.size // matrices.size)
    groups = (rows + FOUR - ONE) // FOUR  # of a matrix; the last one may have fewer rows
    for group in range(lo, hi):
        batch, row = group // groups, group % groups * FOUR
        x, at = array_at(vectors[batch], terms, y), matrices[batch] + np.int64(row) * step
        start = batch * rows + row
        if rows - row >= FOUR:
            a, b = array_at(at, terms, y), array_at(at + step, terms, y)
            c, d = array_at(at + 2 * step, terms, y), array_at(at + 3 * step, terms, y)
            of_a = of_b = of_c = of_d = like(y[0], 0.0)
            for i in range(np.uintp(terms)):
                of_a += a[i] * x[i]
                of_b += b[i] * x[i]
                of_c += c[i] * x[i]
                of_d += d[i] * x[i]
            y[start], y[start + ONE], y[start + ONE + ONE], y[start + FOUR - ONE] = of_a, of_b, of_c, of_d
        else:
            for other in range(rows - row):
                a, total = array_at(at, terms, y), like(y[0], 0.0)
                for i in range(np.uintp(terms)):
                    total += a[i] * x[i]
                y[start + other] = total
                at += step


@launcher
def multiply_rows(matrix, vector, result, example, step, terms, count, places):
    matrices, vectors = places[0] + word_at(matrix + HEAD), places[1] + word_at(vector + HEAD)
    y = array_at(word_at(result + HEAD), count, example)
    groups = (np.uintp(count // matrices.size) + FOUR - ONE) // FOUR * np.uintp(matrices.size)
    parallel(rows_loop, (matrices, step, vectors, terms, y), groups, count * terms)


# Contiguous columns


@loop
def columns_loop(matrices, step, vectors, terms, lines, lo, hi):
    blocks, sums = np.uintp(lines.shape[1]), np.uintp(lines.shape[2])
    parts = (sums + WIDTH - ONE) // WIDTH
    for item in range(lo, hi):
        start = item % parts * WIDTH
        batch, block = item // parts // blocks, item // parts % blocks
        width, first = min(WIDTH, sums - start), block * HEIGHT
        line, x = lines[batch, block, start : start + width], array_at(vectors[batch], terms, lines)
        stop = min(np.uintp(terms), first + HEIGHT)
        whole = stop - (stop - first) % FOUR
        at = matrices[batch] + np.int64(first) * step + np.int64(start) * lines.itemsize
        for i in range(width):
            line[i] = 0
        for k in range(first, whole, FOUR):
            a, b = array_at(at, width, lines), array_at(at + step, width, lines)
            c, d = array_at(at + 2 * step, width, lines), array_at(at + 3 * step, width, lines)
            by_a, by_b, by_c, by_d = x[k], x[k + ONE], x[k + ONE + ONE], x[k + FOUR - ONE]
            for i in range(width):
                line[i] += (by_a * a[i] + by_b * b[i]) + (by_c * c[i] + by_d * d[i])
            at += 4 * step
        for k in range(whole, stop):
            a, by_a = array_at(at, width, lines), x[k]
            for i in range(width):
                line[i] += by_a * a[i]
            at += step


@launcher
def multiply_columns(matrix, vector, result, example, step, terms, count, places):
    matrices, vectors = places[0] + word_at(matrix + HEAD), places[1] + word_at(vector + HEAD)
    y = array_at(word_at(result + HEAD), count, example)
    blocks, sums = (np.uintp(terms) + HEIGHT - ONE) // HEIGHT, np.uintp(count // matrices.size)
    items = np.uintp(matrices.size) * blocks * ((sums + WIDTH - ONE) // WIDTH)
    lines = y if blocks == 1 else np.empty(count * np.int64(blocks), example.dtype)
    shaped = lines.reshape(matrices.size, np.int64(blocks), np.int64(sums))
    parallel(columns_loop, (matrices, step, vectors, terms, shaped), items, count * terms)
    if blocks > 1:
        for batch in range(np.uintp(matrices.size)):
            total = y[batch * sums : batch * sums + sums]
            total[:] = shaped[batch, 0]
            for block in range(ONE, blocks):
                line = shaped[batch, block]
                for i in range(sums):
                    total[i] += line[i]


# One row by the rows of a weight: a layer's map of one token. The weight may be of bfloat16, the others of float32.


@loop
def weight_loop(weight, step, x, y, like_weight, lo, hi):
    terms, rows = np.uintp(x.size), np.uintp(y.size)
    for group in range(lo, hi):
        row = group * FOUR
        at = weight + np.int64(row) * step
        if rows - row >= FOUR:
            a, b = array_at(at, terms, like_weight), array_at(at + step, terms, like_weight)
            c, d = array_at(at + 2 * step, terms, like_weight), array_at(at + 3 * step, terms, like_weight)
            of_a = of_b = of_c = of_d = like(y[0], 0.0)
            for i in range(terms):
                of_a += value_at(a, i) * x[i]
                of_b += value_at(b, i) * x[i]
                of_c += value_at(c, i) * x[i]
                of_d += value_at(d, i) * x[i]
            y[row], y[row + ONE], y[row + ONE + ONE], y[row + FOUR - ONE] = of_a, of_b, of_c, of_d
        else:
            for other in range(rows - row):
                a, total = array_at(at, terms, like_weight), like(y[0], 0.0)
                for i in range(terms):
                    total += value_at(a, i) * x[i]
                y[row + other] = total
                at += step


@launcher
def multiply_weight(weight, row, result, like_weight, example, step, terms, count):
    x, y = array_at(word_at(row + HEAD), terms, example), array_at(word_at(result + HEAD), count, example)
    groups = (np.uintp(count) + FOUR - ONE) // FOUR
    parallel(weight_loop, (word_at(weight + HEAD), step, x, y, like_weight), groups, count * terms)


# From Python


class Plan(NamedTuple):
    """How arrays of some shapes and strides are multiplied.

    Attributes
    ----------
    launch : callable
        `multiply_rows` or `multiply_columns`.
    shape : tuple of int
        Of the result.
    step, terms, sums : int
        The bytes from a row of memory to the next, how many numbers make a sum, and how many sums there are.
    places : array of int, shape (2, batch)
        Where the matrices and the vectors begin, in bytes from the first.
    """

    launch: Any
    shape: Sizes
    step: int
    terms: int
    sums: int
    places: Array


@lru_cache(4096)
def plan_of(matrix: Sizes, steps: Sizes, vector: Sizes, paces: Sizes, item: int) -> Plan | None:
    """The plan of a product, by shapes and strides; None if neither rows nor columns are contiguous."""
    (rows, terms), (across, along) = matrix[-2:], steps[-2:]
    if item not in (across, along):
        return None
    batch = np.broadcast_shapes(matrix[:-2], vector[:-1])
    both = offsets(matrix[:-2], steps, batch), offsets(vector[:-1], paces, batch)
    launch, step = (multiply_rows, across) if along == item else (multiply_columns, along)
    return Plan(launch, (*batch, rows), step, terms, both[0].size * rows, np.stack(both))


def offsets(shape: Sizes, steps: Sizes, batch: Sizes) -> Array:
    """The offsets of an array's elements in bytes, broadcast to the shape of a batch."""
    found = np.zeros((), np.int64)
    for size, step in zip(shape, steps):
        found = np.add.outer(found, np.arange(size) * step)
    return np.broadcast_to(found, batch).reshape(-1)


def product(matrix: Array, vector: Array) -> Array | None:
    """The product of a matrix with a vector, or of batches of them, which are broadcast.

    Parameters
    ----------
    matrix : array, shape (..., n, m)
        Not empty, of float32 or float64.
    vector : array, shape (..., m)
        Of the same dtype.

    Returns
    -------
    array, shape (..., n)
        None if neither the rows of the matrix nor its columns are contiguous.
    """
    if vector.strides[-1] != vector.itemsize:
        vector = np.ascontiguousarray(vector)
    plan = plan_of(matrix.shape, matrix.strides, vector.shape, vector.strides, matrix.itemsize)
    if plan is None or not (matrix.flags.aligned and vector.flags.aligned):
        return None
    made = np.empty(plan.shape, matrix.dtype)
    example = EXAMPLES[matrix.dtype.char]
    plan.launch(id(matrix), id(vector), id(made), example, plan.step, plan.terms, plan.sums, plan.places)
    return made


BFLOAT = bfloat16.numpy
WEIGHTS = {**{each.dtype: each for each in EXAMPLES.values()}, BFLOAT: np.zeros(1, BITS[BFLOAT])}  # for launchers


def row_product(row: Array, weight: Array, bias: Array | None) -> Array | None:
    """``row @ weight.T + bias``, computed in float32 and rounded once where they are of bfloat16.

    Parameters
    ----------
    row : array, shape (..., m), of m elements
    weight : array, shape (n, m)
        Not empty, of the dtype of row.
    bias : array, shape (n,), optional

    Returns
    -------
    array, shape (..., n)
        None where no loop takes the weight: of another dtype, or with rows that are not contiguous.
    """
    like_weight = WEIGHTS.get(weight.dtype)
    if like_weight is None or weight.strides[1] != weight.itemsize or not weight.flags.aligned:
        return None
    is_half = weight.dtype == BFLOAT
    x = row.astype(np.float32) if is_half else row
    if not (x.flags.c_contiguous and x.flags.aligned):
        x = np.ascontiguousarray(x)
    made = np.empty((*row.shape[:-1], weight.shape[0]), x.dtype)
    example = EXAMPLES[x.dtype.char]
    multiply_weight(id(weight), id(x), id(made), like_weight, example, weight.strides[0], x.size, made.size)
    if bias is not None:
        made += bias.astype(np.float32) if is_half else bias
    return made.astype(BFLOAT) if is_half else made
