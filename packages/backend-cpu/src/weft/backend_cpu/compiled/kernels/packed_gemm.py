"""Matrix products inside of compiled loops, by a matrix that is packed once: in panels.

A panel is some columns, as many as fill two vectors, stored row after row: what the innermost loop reads is one stream.
That loop keeps a tile of the result in registers: some rows of it, two vectors wide. It is written in LLVM's language,
since a loop over arrays would be vectorized along the wrong dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.deferred import cgutils, intrinsic, ir, llvm, types
from weft.backend_cpu.compiled.codegen.instructions import FEATURES, IS_X86
from weft.backend_cpu.compiled.codegen.mathematics import either, like
from weft.backend_cpu.compiled.codegen.memory import copy_bytes, prefetch
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel

__all__ = [
    "ACROSS",
    "HAS_PAIRS",
    "PAIRS",
    "add_product",
    "bytes_of",
    "in_panels",
    "multiply",
    "products_of_columns",
    "set_panels",
]

BYTES = 64 if "avx512f" in FEATURES else 32 if "avx" in FEATURES else 16  # of a vector
HAS_16_REGISTERS = IS_X86 and BYTES < 64  # where others have 32
ROWS = 4 if HAS_16_REGISTERS else 8  # of a tile
VECTORS = 2
ACROSS = VECTORS * BYTES  # bytes from a row of a panel to the next
AT_ONCE = 8  # terms of a sum in one round of the innermost loop, and how many of a panel's rows are fetched ahead
INNER = 1024  # terms of a sum at a time: so much of a panel and of a tile's rows stays in the cache
PAIRS = np.dtype(np.uint32)
"""The dtype of panels of pairs of bfloat16: two rows are one."""
HAS_PAIRS = BYTES == 64 and "avx512bf16" in FEATURES
BLOCK = 256  # rows at a time
PACKED_AT_ONCE = 8  # panels
INNER_PACKED = 128  # terms of a sum at a time where both matrices are packed
TERMS = 8  # of a product that count as one operation

Array = np.ndarray[Any, Any]


def width_of(dtype: Any) -> int:
    """The columns of a panel."""
    return ACROSS // int(np.dtype(dtype).itemsize)


def add_product_of_vectors(builder: Any, total: Any, a: Any, b: Any) -> Any:
    return builder.fadd(builder.fmul(a, b, flags=("contract",)), total, flags=("contract",))


def add_product_of_pairs(builder: Any, total: Any, a: Any, b: Any) -> Any:
    halves = ir.VectorType(llvm.BFloat(), 2 * total.type.count)
    kind = ir.FunctionType(total.type, [total.type, halves, halves])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512bf16.dpbf16ps.512")
    return builder.call(function, [total, builder.bitcast(a, halves), builder.bitcast(b, halves)])


def tile_of(rows: int) -> Any:
    """The function that adds a product to a tile of ``rows`` rows."""

    @intrinsic
    def add_to_tile(
        typingctx: Any,
        zero: Any,
        kind: Any,
        inner: Any,
        a: Any,
        steps: Any,
        b: Any,
        c: Any,
        step: Any,
        last: Any,
        fresh: Any,
    ) -> Any:
        """Add ``inner`` columns of a times so many rows of a panel b to c; all by their addresses.

        ``steps`` are the bytes from a row of a to the next, and from a column to the next; None says that a is a panel,
        transposed. ``step`` are the bytes from a row of c to the next. What comes after row number ``last`` is that row
        once more, which changes nothing. What c was does not count if it is ``fresh``. Columns of a and rows of b are
        pairs of bfloat16 where the type of ``kind`` is that of `PAIRS`.
        """
        integer, in_panel = types.intp, isinstance(steps, types.NoneType)
        pair = steps if in_panel else types.UniTuple(integer, 2)
        signature = types.void(zero, kind, integer, integer, pair, *(integer,) * 4, types.boolean)
        pairs = isinstance(kind, types.Integer)

        def generate(context: Any, caller: Any, signature: Any, values: Any) -> Any:
            zero, _, inner, a, steps, b, c, step, last, fresh = values
            element, word = zero.type, inner.type
            lanes = lanes_of(element)
            width = BYTES // lanes
            steps = (word(width), word(ACROSS)) if in_panel else [caller.extract_value(steps, i) for i in (0, 1)]
            given = inner, a, *steps, b, c, step, last, fresh
            vector = ir.VectorType(element, lanes)
            factor = ir.VectorType(llvm.I32, lanes) if pairs else vector
            kind = ir.FunctionType(ir.VoidType(), [each.type for each in given])
            function = ir.Function(caller.module, kind, caller.module.get_unique_name("tile"))
            function.linkage = "internal"
            function.attributes.add("noinline")  # it is long, and compiled once so
            builder = ir.IRBuilder(function.append_basic_block())
            inner, a, from_row, from_column, b, c, step, last, fresh = function.args

            def load(kind: Any, address: Any) -> Any:
                found = builder.load(builder.inttoptr(address, kind.as_pointer()))
                found.align = width
                return found

            def plus(address: Any, offset: Any) -> Any:
                return builder.add(address, offset if isinstance(offset, ir.Value) else word(offset))

            def spread(value: Any) -> Any:
                undefined = ir.Constant(factor, ir.Undefined)
                first = builder.insert_element(undefined, value, llvm.I32(0))
                return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(llvm.I32, lanes), None))

            def at_rows(address: Any, step: Any) -> list[Any]:
                found = []
                for row in range(rows):
                    inside = builder.select(builder.icmp_signed("<", word(row), last), word(row), last)
                    found.append(plus(address, builder.mul(step, inside)))
                return found

            sources, targets = at_rows(a, from_row), at_rows(c, step)
            places = [(row, k) for row in range(rows) for k in range(VECTORS)]
            for row, k in places:  # what is added to comes nearer meanwhile
                prefetch(builder, builder.inttoptr(plus(targets[row], k * BYTES), llvm.POINTER), to_write=True)
            multiply = add_product_of_pairs if pairs else add_product_of_vectors
            known = ACROSS if in_panel else factor.element.get_abi_size(context.target_data)

            def add_term(offset: Any, panel: Any, sums: list[Any]) -> list[Any]:
                factors = [load(factor, plus(panel, k * BYTES)) for k in range(VECTORS)]
                spreads = [spread(load(factor.element, plus(source, offset))) for source in sources]
                return [multiply(builder, each, spreads[row], factors[k]) for (row, k), each in zip(places, sums)]

            def add_terms(count: int, step: Any, end: Any, start: list[Any], before: Any, done: Any) -> list[Any]:
                """A loop that adds so many terms in each round: what it starts with, as it is after it."""
                block = builder.block
                now = [builder.phi(each.type) for each in start]
                for phi, each in zip(now, start):
                    phi.add_incoming(each, before)
                number, offset, panel, *sums = now
                for _ in range(count):
                    for line in range(0, ACROSS if count > 1 else 0, 64):  # one term alone is not worth it (measured)
                        prefetch(builder, builder.inttoptr(plus(panel, AT_ONCE * ACROSS + line), llvm.POINTER))
                    sums = add_term(offset, panel, sums)
                    offset, panel = plus(offset, step), plus(panel, ACROSS)
                then = [plus(number, count), offset, panel, *sums]
                for phi, each in zip(now, then):
                    phi.add_incoming(each, block)
                builder.cbranch(builder.icmp_signed("<", then[0], end), block, done)
                return then

            def either_of(first: list[Any], before: Any, second: list[Any], after: Any) -> list[Any]:
                found = [builder.phi(each.type) for each in first]
                for phi, *each in zip(found, first, second):
                    for value, block in zip(each, (before, after)):
                        phi.add_incoming(value, block)
                return found

            entry = builder.block
            many, rest, few, done = (builder.append_basic_block() for _ in range(4))
            # A step that is known needs no registers: with another, terms one by one take less time (measured)
            is_known = builder.icmp_signed("==", from_column, word(known))
            end = builder.select(is_known, builder.and_(inner, word(-AT_ONCE)), word(0))
            start = [word(0), word(0), b, *(ir.Constant(vector, None) for _ in places)]
            builder.cbranch(builder.icmp_signed("<", word(0), end), many, rest)
            builder.position_at_end(many)
            then = add_terms(AT_ONCE, known, end, start, entry, rest)
            builder.position_at_end(rest)
            start = either_of(start, entry, then, many)
            builder.cbranch(builder.icmp_signed("<", start[0], inner), few, done)
            builder.position_at_end(few)
            then = add_terms(1, from_column, inner, start, rest, done)
            builder.position_at_end(done)
            after = either_of(start[3:], rest, then[3:], few)
            addresses = [plus(targets[row], k * BYTES) for row, k in places]
            before = [builder.select(fresh, ir.Constant(vector, None), load(vector, each)) for each in addresses]
            totals = [builder.fadd(each, sum) for each, sum in zip(before, after)]
            for address, each in zip(addresses, totals):  # not before all are read: some rows may be the same
                builder.store(each, builder.inttoptr(address, vector.as_pointer())).align = width
            builder.ret_void()
            caller.call(function, given)
            return context.get_dummy_value()

        return signature, generate

    return add_to_tile


add_to_tile, add_to_half = tile_of(ROWS), tile_of(ROWS // 2)


def lanes_of(element: Any) -> int:
    return BYTES // (4 if isinstance(element, ir.FloatType) else 8)


@intrinsic
def transpose(typingctx: Any, zero: Any, source: Any, step: Any, target: Any, across: Any) -> Any:
    """Transpose a square as wide as a vector, by addresses and the bytes from one row to the next."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        zero, source, step, target, across = values
        lanes = lanes_of(zero.type)
        vector = ir.VectorType(zero.type, lanes)

        def at(address: Any, step: Any, row: int) -> Any:
            return builder.inttoptr(builder.add(address, builder.mul(step, step.type(row))), vector.as_pointer())

        def chosen(first: Any, second: Any, lanes_taken: list[int]) -> Any:
            return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(llvm.I32, lanes), lanes_taken))

        rows = []
        for row in range(lanes):
            rows.append(builder.load(at(source, step, row)))
            rows[-1].align = 4
        apart = 1
        while apart < lanes:  # squares of this size are exchanged across the diagonal of those of twice the size
            for row in range(lanes):
                if not row & apart:
                    first, second = rows[row], rows[row + apart]
                    upper = [lane + (lanes - apart if lane & apart else 0) for lane in range(lanes)]
                    lower = [lane + (lanes if lane & apart else apart) for lane in range(lanes)]
                    rows[row], rows[row + apart] = chosen(first, second, upper), chosen(first, second, lower)
            apart *= 2
        for row in range(lanes):
            builder.store(rows[row], at(target, across, row)).align = 4
        return context.get_dummy_value()

    return types.void(zero, *(types.intp,) * 4), generate


@intrinsic
def clear(typingctx: Any, target: Any, size: Any) -> Any:
    """Set bytes to 0."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        cgutils.memset(builder, builder.inttoptr(values[0], llvm.POINTER), values[1], 0)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), generate


@loop
def bytes_of(number):
    """The size of a number in bytes."""
    return np.intp(either(number, 4.0, 8.0))


@loop
def add_rows_of_tile(zero, kind, inner, a, steps, b, c, step, count, fresh):
    """Add to a tile of which ``count`` rows are there."""
    if count > ROWS // 2:
        add_to_tile(zero, kind, inner, a, steps, b, c, step, count - 1, fresh)
    else:
        add_to_half(zero, kind, inner, a, steps, b, c, step, count - 1, fresh)


@loop
def add_edge(zero, kind, inner, a, steps, b, c, step, count, fresh, columns):
    """The same for a tile of fewer columns than a panel has, by one that has all."""
    tile, size = np.empty((ROWS, ACROSS), np.uint8), columns * bytes_of(zero)
    for row in range(0 if fresh else count):
        copy_bytes(np.intp(tile[row].ctypes.data), c + row * step, size)
    add_rows_of_tile(zero, kind, inner, a, steps, b, np.intp(tile.ctypes.data), ACROSS, count, fresh)
    for row in range(count):  # an array lives until it is used last: its address keeps none
        copy_bytes(c + row * step, np.intp(tile[row].ctypes.data), size)


@loop
def multiply(zero, kind, inner, a, steps, panels, below, c, step, rows, columns, fresh, backwards):
    """Add a matrix times another in panels to a third, by the addresses; all but the first are as tiles have them.

    A panel begins ``below`` bytes after the one before. Who multiplies by one matrix again and again takes its panels
    ``backwards`` every other time: so the first of them are those that are still near, where the processor's second
    cache does not hold all.
    """
    width = ACROSS // bytes_of(zero)
    count = -(-columns // width)
    for k in range(0, inner, INNER):
        terms, first, source = min(INNER, inner - k), fresh and k == 0, a + k * steps[1]
        for number in range(count):
            p = count - 1 - number if backwards else number
            panel, left = panels + p * below + k * ACROSS, columns - p * width
            for i in range(0, rows, ROWS):
                some, at, tile = min(ROWS, rows - i), source + i * steps[0], c + i * step + p * ACROSS
                if left >= width:
                    add_rows_of_tile(zero, kind, terms, at, steps, panel, tile, step, some, first)
                else:
                    add_edge(zero, kind, terms, at, steps, panel, tile, step, some, first, left)


@loop
def add_product(a, place, panels, c, target, count, backwards=False):
    """Add rows of a, ``count`` from ``place`` on, times a matrix in panels to the rows of c from ``target`` on.

    a and c are contiguous. Pairs of bfloat16 are numbers of a as far as their size goes, and `PAIRS` in panels.
    """
    inner, columns, zero = a.shape[1], c.shape[1], like(c[0, 0], 0.0)
    steps, step, below = (inner * a.itemsize, a.itemsize), columns * c.itemsize, inner * ACROSS
    matrix, kind = np.intp(panels.ctypes.data), panels[0, 0, 0]
    for top in range(0, count, BLOCK):
        source = np.intp(a.ctypes.data) + (place + top) * steps[0]
        result = np.intp(c.ctypes.data) + (target + top) * step
        rows = min(BLOCK, count - top)
        multiply(zero, kind, inner, source, steps, matrix, below, result, step, rows, columns, False, backwards)


@loop
def set_panel(zero, source, step, flipped, rows, columns, panel):
    """Set a panel to some columns of a matrix, by the addresses and the bytes from a row of memory to the next.

    In memory the matrix may be ``flipped``: then it is transposed by squares as wide as a vector, and what is left.
    """
    size = bytes_of(zero)
    if columns * size < ACROSS:
        clear(panel, rows * ACROSS)
    if not flipped:
        for row in range(rows):
            if columns * size == ACROSS:
                copy_bytes(
                    panel + row * ACROSS, source + row * step, ACROSS
                )  # in a few instructions, as its size is known
            else:
                copy_bytes(panel + row * ACROSS, source + row * step, columns * size)
        return
    lanes = BYTES // size
    down, right = rows // lanes * lanes, columns // lanes * lanes
    for column in range(0, right, lanes):
        for row in range(0, down, lanes):
            place = panel + row * ACROSS + column * size
            transpose(zero, source + column * step + row * size, step, place, ACROSS)
    for column in range(columns):
        for row in range(down if column < right else 0, rows):
            copy_bytes(panel + row * ACROSS + column * size, source + column * step + row * size, size)


@loop
def set_panels(zero, source, step, flipped, rows, columns, panels, below):
    """Set panels, each of which begins ``below`` bytes after the one before, to a matrix."""
    size = bytes_of(zero)
    width = ACROSS // size
    whole = 0 if flipped else columns // width
    for first in range(0, whole, PACKED_AT_ONCE):  # side by side: two thirds of the time (measured)
        for row in range(rows):
            for p in range(first, min(first + PACKED_AT_ONCE, whole)):
                copy_bytes(panels + p * below + row * ACROSS, source + row * step + p * ACROSS, ACROSS)
    for first in range(whole * width, columns, width):
        place, some = source + first * (step if flipped else size), min(width, columns - first)
        set_panel(zero, place, step, flipped, rows, some, panels + first // width * below)


@loop
def arrange_panels(matrix, flipped, result, lo, hi):
    size, zero, width = matrix.itemsize, like(matrix[0, 0], 0.0), result.shape[2]
    first, step = np.intp(lo) * width, matrix.shape[1] * size
    end = min(np.intp(hi) * width, matrix.shape[0] if flipped else matrix.shape[1])
    source = np.intp(matrix.ctypes.data) + first * (step if flipped else size)
    panels, below = np.intp(result[lo:].ctypes.data), result.shape[1] * ACROSS
    set_panels(zero, source, step, flipped, result.shape[1], max(end - first, 0), panels, below)


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


@loop
def add_panel(zero, terms, a, panels, k, c, step, rows, columns):
    """Add the transpose of a panel's rows, which are those from k on, times the same rows of a matrix in panels."""
    width = ACROSS // bytes_of(zero)
    for p in range(panels.shape[0]):
        panel, left = np.intp(panels[p, k:].ctypes.data), columns - p * width
        for i in range(0, rows, ROWS):
            some, at, tile = min(ROWS, rows - i), a + i * bytes_of(zero), c + i * step + p * ACROSS
            if left >= width:
                add_rows_of_tile(zero, zero, terms, at, None, panel, tile, step, some, k == 0)
            else:
                add_edge(zero, zero, terms, at, None, panel, tile, step, some, k == 0, left)


@loop
def set_products(a, first, second, by_first, by_second, lo, hi):
    """Set some rows of the products, those of panels of a."""
    zero, width = like(a[0, 0], 0.0), ACROSS // a.itemsize
    own = np.empty((PACKED_AT_ONCE, INNER_PACKED * width), a.dtype)
    end = min(np.intp(hi) * width, a.shape[1])
    for k in range(0, a.shape[0], INNER_PACKED):
        terms = min(INNER_PACKED, a.shape[0] - k)
        for start in range(np.intp(lo) * width, end, PACKED_AT_ONCE * width):
            columns = min(PACKED_AT_ONCE * width, end - start)
            source = np.intp(a[k, start:].ctypes.data)
            set_panels(
                zero, source, a.strides[0], False, terms, columns, np.intp(own.ctypes.data), INNER_PACKED * ACROSS
            )
            for row in range(start, start + columns, width):
                some, at = min(width, end - row), np.intp(own[(row - start) // width].ctypes.data)
                for panels, result in ((first, by_first), (second, by_second)):
                    c, step = np.intp(result[row:].ctypes.data), result.strides[0]
                    add_panel(zero, terms, at, panels, k, c, step, some, result.shape[1])


@launcher
def multiply_columns(a, first, second, by_first, by_second):
    work = a.size * (by_first.shape[1] + by_second.shape[1]) // TERMS
    count = -(-a.shape[1] * a.itemsize // ACROSS)
    parallel(set_products, (a, first, second, by_first, by_second), count, work)


def products_of_columns(a: Array, first: Array, second: Array | None = None) -> list[Array]:
    """``a.T`` times one or two others; all are contiguous."""
    others = [first, first[:, :0] if second is None else second]
    results = [np.empty((a.shape[1], each.shape[1]), a.dtype) for each in others]
    multiply_columns(a, *[in_panels(each, False) for each in others], *results)
    return results[: 1 if second is None else 2]
