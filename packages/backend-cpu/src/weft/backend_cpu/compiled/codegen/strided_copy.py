"""Copies between any two layouts: transposed, reversed, broadcast, into a part of another array.

`strided_copy` is NumPy's ``target[...] = source`` for arrays of one dtype. It is compiled once for each item size, and
reads shapes and strides from the arrays themselves. Dimensions are put into the order of the target's memory, and those
that are adjacent in both arrays become one. The innermost loops run over two of them: the target's last, and another.
Where the source is contiguous along another dimension than the target, blocks of a cache line each way are transposed
in registers, so that no line is read or written twice, whatever the strides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.array_header import (
    ALIGNED,
    FLAGS,
    HEAD,
    array_at,
    rank_of,
    size_at,
    stride_at,
    word_at,
)
from weft.backend_cpu.compiled.codegen.deferred import intrinsic, ir, types
from weft.backend_cpu.compiled.codegen.memory import copy_bytes
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel

__all__ = ["DTYPES", "MIN_VECTOR_BYTES", "UNSIGNED", "copy_item", "ordered_copy", "strided_copy"]

DTYPES = (
    "float32 float64 int64 int32 bool uint8 int8 int16 float16 bfloat16 complex64 uint16 uint32 uint64 "
    "float8_e4m3fn float8_e5m2"
)
UNSIGNED = {size: np.empty(0, f"u{size}") for size in (1, 2, 4, 8)}  # elements are copied as integers

DIMS = 12  # at most, without those of size 1
SIZE, TO, FROM = 0, 1, 2  # lines of the table of dimensions: sizes, and strides in bytes

LINES, TRANSPOSED, SHORT = 0, 1, 2  # what the innermost loops do, see `choose`
MIN_LINE = 8  # elements that are worth a loop
PAGE = 4096  # bytes: lines so far apart share a set of the first cache
MIN_VECTOR_BYTES = 512  # of a line from which the compiler's vector code is better


# Blocks transposed in registers


def block_side(itemsize: int) -> int:
    """The side of a block: a line of the cache, or as many as there are registers for."""
    return min(64 // itemsize, 16)


@intrinsic
def transpose_block(typingctx: Any, source: Any, source_step: Any, target: Any, target_step: Any, like: Any) -> Any:
    """Transpose a square block, by addresses and the bytes from one row to the next."""
    size = block_side(like.dtype.bitwidth // 8)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, source_step, target, target_step, _ = values
        row_type = ir.VectorType(ir.IntType(like.dtype.bitwidth), size)
        rows = []
        for i in range(size):
            place = builder.add(source, builder.mul(source_step, ir.Constant(source.type, i)))
            rows.append(builder.load(builder.inttoptr(place, row_type.as_pointer()), align=1))
        step = 1
        while step < size:  # exchange the off-diagonal quarters of squares of twice the step
            first = [j if not j & step else size + j - step for j in range(size)]
            second = [j + step if not j & step else size + j for j in range(size)]
            masks = [ir.Constant(ir.VectorType(ir.IntType(32), size), mask) for mask in (first, second)]
            for i in range(size):
                if not i & step:
                    pair = rows[i], rows[i + step]
                    rows[i], rows[i + step] = (builder.shuffle_vector(*pair, mask) for mask in masks)
            step *= 2
        for i, row in enumerate(rows):
            place = builder.add(target, builder.mul(target_step, ir.Constant(target.type, i)))
            builder.store(row, builder.inttoptr(place, row_type.as_pointer()), align=1)
        return context.get_dummy_value()

    word = types.int64
    return types.void(word, word, word, word, like), generate


@intrinsic
def block_side_of(typingctx: Any, like: Any) -> Any:
    """`side`, in compiled code."""
    size = block_side(like.dtype.bitwidth // 8)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return ir.Constant(ir.IntType(64), size)

    return types.int64(like), generate


@intrinsic
def copy_item(typingctx: Any, target: Any, source: Any, like: Any) -> Any:
    """Copy one element from an address to another."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = ir.IntType(like.dtype.bitwidth).as_pointer()
        value = builder.load(builder.inttoptr(values[1], pointer))
        value.volatile = True  # else the compiler makes vector code of a loop, with more to do before than it saves
        builder.store(value, builder.inttoptr(values[0], pointer))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, like), generate


@loop
def transpose_blocks(target, source, like, rows, columns, to, apart, back):
    """Transpose by blocks: rows ``to`` bytes apart from columns ``apart`` bytes apart, reversed if ``back``."""
    size, width = block_side_of(like), like.itemsize
    if back:  # the lowest address of the source belongs to the last row of the target
        source -= (rows - 1) * width
        target += (rows - 1) * to
        to = -to
    if rows < size or columns < size:
        for row in range(rows):
            for column in range(columns):
                copy_item(target + row * to + column * width, source + row * width + column * apart, like)
        return
    if to % PAGE == 0:  # rows that follow each other would all go to one set of the cache
        for top in range(0, rows, size):
            row = min(top, rows - size)  # the last block may lie over the one before it
            for left in range(0, columns, size):
                column = min(left, columns - size)
                transpose_block(
                    source + row * width + column * apart, apart, target + row * to + column * width, to, like
                )
        return
    for left in range(0, columns, size):
        column = min(left, columns - size)
        for top in range(0, rows, size):
            row = min(top, rows - size)
            transpose_block(source + row * width + column * apart, apart, target + row * to + column * width, to, like)


# Lines. A loop that the compiler vectorizes takes longer to begin than a short line to be copied: so vectors of 64 and
# of 16 bytes are written out here, the last of which may overlap the one before it.


def vectors(name: str, form: Callable[[Any, Any, Any], Any]) -> tuple[Any, Any]:
    """Functions that write a vector of 64 or 16 bytes to an address, made from what is at another."""

    def of_size(size: int) -> Any:
        def vector(typingctx: Any, target: Any, source: Any, like: Any) -> Any:
            count = size * 8 // like.dtype.bitwidth

            def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                element = ir.IntType(like.dtype.bitwidth)
                place = builder.inttoptr(values[0], ir.VectorType(element, count).as_pointer())
                builder.store(form(builder, values[1], ir.VectorType(element, count)), place, align=1)
                return context.get_dummy_value()

            return types.void(types.int64, types.int64, like), generate

        vector.__name__ = vector.__qualname__ = f"{name}_{size}"
        return intrinsic(vector)

    return of_size(64), of_size(16)


def shuffled(builder: Any, row: Any, order: list[int]) -> Any:
    return builder.shuffle_vector(row, row, ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order))


def reversed_row(builder: Any, source: Any, row: Any) -> Any:
    """The elements at an address in reverse order."""
    return shuffled(
        builder, builder.load(builder.inttoptr(source, row.as_pointer()), align=1), [*range(row.count)][::-1]
    )


def same_row(builder: Any, source: Any, row: Any) -> Any:
    """The element at an address, repeated."""
    value = builder.load(builder.inttoptr(source, row.element.as_pointer()))
    first = builder.insert_element(ir.Constant(row, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return shuffled(builder, first, [0] * row.count)


reversed_64, reversed_16 = vectors("reversed", reversed_row)
same_64, same_16 = vectors("same", same_row)


@loop
def reverse_line(target, source, like, count):
    """Copy elements in reverse order, beginning with the one at the address ``source``."""
    width = like.itemsize
    done, end = 0, source + width  # behind the first that is copied
    if count * width >= 64:
        size = 64 // width
        while done + size < count:
            reversed_64(target + done * width, end - (done + size) * width, like)
            done += size
        reversed_64(target + (count - size) * width, end - count * width, like)
    elif count * width >= 16:
        size = 16 // width
        while done + size < count:
            reversed_16(target + done * width, end - (done + size) * width, like)
            done += size
        reversed_16(target + (count - size) * width, end - count * width, like)
    else:
        for i in range(count):
            copy_item(target + i * width, source - i * width, like)


@loop
def fill_line(target, source, like, count):
    """Copy one element to all places of a line."""
    width = like.itemsize
    done = 0
    if count * width >= MIN_VECTOR_BYTES:
        y, value = array_at(target, count, like), array_at(source, 1, like)[0]
        for i in range(np.uintp(count)):
            y[i] = value
    elif count * width >= 64:
        size = 64 // width
        while done + size < count:
            same_64(target + done * width, source, like)
            done += size
        same_64(target + (count - size) * width, source, like)
    elif count * width >= 16:
        size = 16 // width
        while done + size < count:
            same_16(target + done * width, source, like)
            done += size
        same_16(target + (count - size) * width, source, like)
    else:
        for i in range(count):
            copy_item(target + i * width, source, like)


@loop
def copy_lines(target, source, like, rows, high, far, columns, to, apart):
    """Rows ``high`` bytes apart from rows ``far`` apart, of elements ``to`` bytes apart from elements ``apart``."""
    width = like.itemsize
    if to == width and apart == width and far == 0 and columns * width >= MIN_VECTOR_BYTES:
        for i in range(rows):
            y, x = array_at(target + i * high, columns, like), array_at(source, columns, like)
            for j in range(np.uintp(columns)):
                y[j] = x[j]
        return
    if to == width and apart == width:
        if columns >= 4:
            for i in range(rows):
                copy_bytes(target + i * high, source + i * far, columns * width)
            return
    elif to == width and apart == -width:
        for i in range(rows):
            reverse_line(target + i * high, source + i * far, like, columns)
        return
    elif to == width and apart == 0:
        for i in range(rows):
            fill_line(target + i * high, source + i * far, like, columns)
        return
    for i in range(rows):
        y, x = target + i * high, source + i * far
        for _ in range(columns):
            copy_item(y, x, like)
            y += to
            x += apart


# Dimensions


@loop
def load(table, target, source):
    """Fill the table with the dimensions of more than one element; their number, -1 if it is not possible, -2 if empty.

    The source is broadcast. The target's strides become positive; returns the first elements' addresses as well.
    """
    to, apart = word_at(target + HEAD), word_at(source + HEAD)
    rank, lead = rank_of(target), rank_of(target) - rank_of(source)
    if not word_at(target + FLAGS) & word_at(source + FLAGS) & ALIGNED:
        return -1, to, apart
    count = 0
    for d in range(rank):
        size = size_at(target, d)
        if size == 0:
            return -2, to, apart
        if size == 1:
            continue
        if count == DIMS:
            return -1, to, apart
        table[SIZE, count] = size
        table[TO, count] = stride_at(target, d)
        table[FROM, count] = 0
        if d >= lead and size_at(source, d - lead) != 1:
            table[FROM, count] = stride_at(source, d - lead)
        if table[TO, count] < 0:
            to += (size - 1) * table[TO, count]
            apart += (size - 1) * table[FROM, count]
            table[TO, count], table[FROM, count] = -table[TO, count], -table[FROM, count]
        count += 1
    return count, to, apart


@loop
def arrange(table, rank):
    """Sort the dimensions by the target's memory and join adjacent ones; how many are left."""
    for d in range(1, rank):
        at = d
        while at > 0 and table[TO, at - 1] < table[TO, at]:
            for line in range(3):
                table[line, at - 1], table[line, at] = table[line, at], table[line, at - 1]
            at -= 1
    last = 0
    for d in range(1, rank):
        size = table[SIZE, d]
        joins = table[TO, last] == table[TO, d] * size and table[FROM, last] == table[FROM, d] * size
        if joins:
            size *= table[SIZE, last]
        else:
            last += 1
        table[SIZE, last], table[TO, last], table[FROM, last] = size, table[TO, d], table[FROM, d]
    return last + 1


@loop
def choose(table, rank, width, block):
    """How the innermost loops run, and over which dimension beside the last.

    `LINES` along the last dimension; `TRANSPOSED` blocks, where the source is contiguous along another; where the last
    dimension is `SHORT`, lines along the other one.
    """
    last, near = rank - 1, -1
    for d in range(rank):
        if table[FROM, d] != 0 and (near < 0 or abs(table[FROM, d]) <= abs(table[FROM, near])):
            near = d
    short = table[SIZE, last] < MIN_LINE
    if near < 0 or near == last or table[SIZE, near] < MIN_LINE or (table[FROM, last] == 0 and not short):
        return (SHORT if short and table[SIZE, last - 1] > table[SIZE, last] else LINES), last - 1
    if short:
        return SHORT, near
    if table[TO, last] == width and abs(table[FROM, near]) == width and table[SIZE, last] * table[SIZE, near] >= block:
        return TRANSPOSED, near
    return LINES, last - 1


@loop
def parts_of(mode, size, beside):
    """How many elements of the last dimension, and of the one beside it, are a part of the work."""
    if mode == TRANSPOSED:
        return 512, 32
    if mode == SHORT:
        return size, 2048
    most = min(size, 8192)
    return most, max(8192 // most, 1)


@loop
def begin(table, rank, beside, parts, counts, at, index):
    """Set the position of a part: in parts for the two innermost dimensions, in elements for the others."""
    for d in range(rank):
        counts[d] = table[SIZE, d]
    counts[rank - 1], counts[beside] = -(-counts[rank - 1] // parts[0]), -(-counts[beside] // parts[1])
    y, x = 0, 0
    for d in range(rank - 1, -1, -1):
        above = index // counts[d]
        at[d] = index - above * counts[d]
        index = above
        if d != beside and d != rank - 1:
            y += at[d] * table[TO, d]
            x += at[d] * table[FROM, d]
    return y, x


@loop
def copy_loop(table, rank, mode, beside, target, source, parts, like, lo, hi):
    last = rank - 1
    size, to, apart = table[SIZE, last], table[TO, last], table[FROM, last]
    height, high, far = table[SIZE, beside], table[TO, beside], table[FROM, beside]
    counts, at = np.empty(rank, np.int64), np.empty(rank, np.int64)
    y, x = begin(table, rank, beside, parts, counts, at, np.int64(lo))
    y, x = y + target, x + source
    for _ in range(np.int64(lo), np.int64(hi)):
        left, top = at[last] * parts[0], at[beside] * parts[1]
        columns, rows = min(size - left, parts[0]), min(height - top, parts[1])
        y_here, x_here = y + left * to + top * high, x + left * apart + top * far
        if mode == TRANSPOSED:
            transpose_blocks(y_here, x_here, like, rows, columns, high, apart, far < 0)
        elif mode == SHORT:
            copy_lines(y_here, x_here, like, columns, to, apart, rows, high, far)
        else:
            copy_lines(y_here, x_here, like, rows, high, far, columns, to, apart)
        d = last
        while d >= 0:  # the next part
            at[d] += 1
            if d != beside and d != last:
                y += table[TO, d]
                x += table[FROM, d]
            if at[d] < counts[d]:
                break
            if d != beside and d != last:
                y -= counts[d] * table[TO, d]
                x -= counts[d] * table[FROM, d]
            at[d] = 0
            d -= 1


@launcher
def launch_copy(target, source, like):
    """Copy one array into another, by identities; False, and nothing is written, if it cannot."""
    table = np.zeros((3, DIMS + 1), np.int64)
    rank, y, x = load(table, target, source)
    if rank < 0:
        return rank == -2
    table[SIZE, rank] = 1
    if rank == 0:
        copy_item(y, x, like)
        return True
    rank = arrange(table, rank)
    total, width = 1, like.itemsize
    for d in range(rank):
        total *= table[SIZE, d]
        if table[TO, d] % width or table[FROM, d] % width or table[TO, d] == 0:
            return False
    if rank == 1:  # one more, so that there are two
        table[SIZE, 1], table[TO, 1], table[FROM, 1] = table[SIZE, 0], table[TO, 0], table[FROM, 0]
        table[SIZE, 0], table[TO, 0], table[FROM, 0] = 1, 0, 0
        rank = 2
    mode, beside = choose(table, rank, width, block_side_of(like) * block_side_of(like))
    parts = parts_of(mode, table[SIZE, rank - 1], table[SIZE, beside])
    count = total // (table[SIZE, rank - 1] * table[SIZE, beside])
    count *= -(-table[SIZE, rank - 1] // parts[0]) * -(-table[SIZE, beside] // parts[1])
    parallel(copy_loop, (table, rank, mode, beside, y, x, parts, like), np.uintp(count), total * 2)
    return True


def strided_copy(target: Any, source: Any) -> bool:
    """``target[...] = source`` for arrays that share no memory; False, and nothing is written, if it cannot."""
    like = UNSIGNED.get(target.itemsize)
    if like is None or not isinstance(source, np.ndarray) or source.dtype != target.dtype:
        return False
    return target.flags.writeable and bool(launch_copy(id(target), id(source), like))


def ordered_copy(source: Any) -> Any:
    """A copy in C order."""
    made = np.empty(source.shape, source.dtype)
    if not strided_copy(made, source):
        made[...] = source
    return made
