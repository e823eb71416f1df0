"""Products of matrices inside of compiled loops, with a matrix that is arranged for it once: in panels.

A panel is some columns, as many as fill two vectors, row after row: what the innermost loop reads is one stream. That
loop keeps a tile of the result in registers: some rows of it, two vectors wide. It is written in the compiler's own
language, since a loop over arrays would be cut into vectors along the wrong dimension.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from weft.backend_cpu.compiled.mathematics import like
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel

__all__ = ["add_product", "add_product_of_all", "in_panels"]

FEATURES = llvmlite.binding.get_host_cpu_features()
BYTES = 64 if FEATURES.get("avx512f") else 32 if FEATURES.get("avx") else 16  # of a vector
IS_SMALL = "sse2" in FEATURES and BYTES < 64  # a set of 16 registers, where others have 32
ROWS = 4 if IS_SMALL else 8  # of a tile
VECTORS = 2
INNER = 1024  # terms of a sum at a time: so much of a panel and of a tile's rows stays near
BLOCK = 256  # rows at a time
LINE = 16  # elements of a row to be transposed at a time

Array = np.ndarray[Any, Any]


def width_of(dtype: Any) -> int:
    """The columns of a panel."""
    return VECTORS * BYTES // int(np.dtype(dtype).itemsize)


I32, POINTER = ir.IntType(32), ir.IntType(8).as_pointer()


def fetch(builder: Any, address: Any) -> None:
    """Bring a cache line that will be written to nearer."""
    kind = ir.FunctionType(ir.VoidType(), [POINTER, I32, I32, I32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [address, I32(1), I32(3), I32(1)])


def tile_of(rows: int) -> Any:
    """The function that adds a product to a tile of so many rows."""

    @intrinsic
    def add_to_tile(
        typingctx: Any, zero: Any, inner: Any, a: Any, steps: Any, b: Any, c: Any, step: Any, last: Any
    ) -> Any:
        """Add ``inner`` columns of a times a panel b to c; all by their addresses.

        ``steps`` are the bytes from a row of a to the next, and from a column to the next; ``step`` those from a row of
        c to the next. What comes after row number ``last`` is that row once more, which changes nothing.
        """
        integer, pair = types.intp, types.UniTuple(types.intp, 2)
        signature = types.void(zero, integer, integer, pair, integer, integer, integer, integer)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            zero, inner, a, steps, b, c, step, last = values
            element, word = zero.type, inner.type
            width = 4 if isinstance(element, ir.FloatType) else 8
            lanes = BYTES // width
            vector = ir.VectorType(element, lanes)

            def load(kind: Any, address: Any) -> Any:
                found = builder.load(builder.inttoptr(address, kind.as_pointer()))
                found.align = width
                return found

            def plus(address: Any, offset: Any) -> Any:
                return builder.add(address, offset if isinstance(offset, ir.Value) else word(offset))

            def spread(value: Any) -> Any:
                undefined = ir.Constant(vector, ir.Undefined)
                first = builder.insert_element(undefined, value, I32(0))
                return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, lanes), None))

            def at_rows(address: Any, step: Any) -> list[Any]:
                found = []
                for row in range(rows):
                    inside = builder.select(builder.icmp_signed("<", word(row), last), word(row), last)
                    found.append(plus(address, builder.mul(step, inside)))
                return found

            from_row, from_column = (builder.extract_value(steps, i) for i in (0, 1))
            sources, targets = at_rows(a, from_row), at_rows(c, step)
            places = [(row, k) for row in range(rows) for k in range(VECTORS)]
            for row, k in places:  # what is added to comes nearer meanwhile
                fetch(builder, builder.inttoptr(plus(targets[row], k * BYTES), POINTER))
            entry, body, done = builder.block, builder.append_basic_block(), builder.append_basic_block()
            builder.branch(body)

            builder.position_at_end(body)
            counter, offset, panel = (builder.phi(word) for _ in range(3))
            sums = [builder.phi(vector) for _ in places]
            factors = [load(vector, plus(panel, k * BYTES)) for k in range(VECTORS)]
            spreads = [spread(load(element, plus(source, offset))) for source in sources]
            products = [builder.fmul(spreads[row], factors[k], flags=("contract",)) for row, k in places]
            after = [builder.fadd(product, each, flags=("contract",)) for product, each in zip(products, sums)]
            following = plus(counter, 1)
            changes = [
                (counter, word(0), following),
                (offset, word(0), plus(offset, from_column)),
                (panel, b, plus(panel, VECTORS * BYTES)),
                *((each, ir.Constant(vector, None), then) for each, then in zip(sums, after)),
            ]
            for phi, first, then in changes:
                phi.add_incoming(first, entry)
                phi.add_incoming(then, body)
            builder.cbranch(builder.icmp_signed("<", following, inner), body, done)

            builder.position_at_end(done)
            addresses = [plus(targets[row], k * BYTES) for row, k in places]
            totals = [builder.fadd(load(vector, address), each) for address, each in zip(addresses, after)]
            for address, each in zip(addresses, totals):  # not before all are read: some rows may be the same
                builder.store(each, builder.inttoptr(address, vector.as_pointer())).align = width
            return context.get_dummy_value()

        return signature, generate

    return add_to_tile


add_to_tile, add_to_half = tile_of(ROWS), tile_of(ROWS // 2)


@loop
def add_rows_of_tile(zero, inner, a, steps, b, c, step, count):
    """Add to a tile of which ``count`` rows are there."""
    if count > ROWS // 2:
        add_to_tile(zero, inner, a, steps, b, c, step, count - 1)
    else:
        add_to_half(zero, inner, a, steps, b, c, step, count - 1)


@loop
def add_product(a, place, panels, c, target, count):
    """Add rows of a, ``count`` from ``place`` on, times a matrix in panels to the rows of c from ``target`` on.

    a and c are contiguous.
    """
    inner, columns, width = a.shape[1], c.shape[1], panels.shape[2]
    size, zero = a.itemsize, like(a[0, 0], 0.0)
    steps, step, across = (inner * size, size), columns * size, width * size
    sources, matrix, targets = np.intp(a.ctypes.data), np.intp(panels.ctypes.data), np.intp(c.ctypes.data)
    for top in range(0, count, BLOCK):
        bottom = min(top + BLOCK, count)
        for k in range(0, inner, INNER):
            terms = min(INNER, inner - k)
            for p in range(panels.shape[0]):
                panel, left = matrix + (p * inner + k) * across, min(width, columns - p * width)
                for i in range(top, bottom, ROWS):
                    rows = min(ROWS, bottom - i)
                    source = sources + ((place + i) * inner + k) * size
                    if left == width:
                        tile = targets + (target + i) * step + p * across
                        add_rows_of_tile(zero, terms, source, steps, panel, tile, step, rows)
                    else:
                        add_edge(zero, terms, source, steps, panel, c[target + i : target + i + rows], width)


@loop
def add_edge(zero, inner, a, steps, b, c, width):
    """Add to the last columns of some rows, which do not fill a panel, by a tile that has all."""
    tile, left = np.zeros((ROWS, width), c.dtype), c.shape[1] % width
    first = c.shape[1] - left
    for row in range(c.shape[0]):
        for j in range(left):
            tile[row, j] = c[row, first + j]
    add_rows_of_tile(zero, inner, a, steps, b, np.intp(tile.ctypes.data), width * c.itemsize, c.shape[0])
    for row in range(c.shape[0]):
        for j in range(left):
            c[row, first + j] = tile[row, j]


@loop
def add_product_rows(a, panels, c, lo, hi):
    first, last = np.intp(lo), np.intp(hi)
    add_product(a, first, panels, c, first, last - first)


@launcher
def add_product_of_all(a, panels, c):
    """Add contiguous a times a matrix in panels to contiguous c."""
    parallel(add_product_rows, (a, panels, c), a.shape[0], a.size * panels.shape[0])


@loop
def arrange_panels(matrix, flipped, result, lo, hi):
    inner, width = result.shape[1], result.shape[2]
    columns = matrix.shape[0] if flipped else matrix.shape[1]
    for p in range(np.intp(lo), np.intp(hi)):
        first, panel = p * width, result[p]
        left = min(width, columns - first)
        if left < width:
            panel[:] = 0
        if flipped:
            for top in range(0, inner, LINE):
                for j in range(left):
                    row = matrix[first + j]
                    for k in range(top, min(top + LINE, inner)):
                        panel[k, j] = row[k]
        else:
            for k in range(inner):
                for j in range(left):
                    panel[k, j] = matrix[k, first + j]


@launcher
def arrange(matrix, flipped, result):
    parallel(arrange_panels, (matrix, flipped, result), result.shape[0], result.size)


def in_panels(matrix: Array, flipped: bool) -> Array:
    """A contiguous matrix in panels, of the shape (panels, rows, columns of a panel), or its transpose."""
    rows, columns = matrix.shape[::-1] if flipped else matrix.shape
    width = width_of(matrix.dtype)
    result = aligned((-(-columns // width), rows, width), matrix.dtype)
    arrange(matrix, flipped, result)
    return result


def aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    """An empty array that begins with a cache line, so that no vector lies in two."""
    count = int(np.prod(shape))
    memory = np.empty(count + 64 // np.dtype(dtype).itemsize, dtype)
    start = -memory.ctypes.data % 64 // memory.itemsize
    return memory[start : start + count].reshape(shape)
