"""Copies between any two layouts: transposed, reversed, repeated, into a part of another array.

`move` is NumPy's ``target[...] = source`` for arrays of one item size. It is compiled once for each item size, and
reads from the arrays themselves how they lie. Dimensions are taken in the order of the target's memory, and neighbours
in both arrays become one. Two of them are left for the loops inside: the target's last, and one beside it. Where the
source's elements lie along another dimension than the target's, blocks of a line of the cache each way are turned in
registers, so that no line is read or written twice, whatever the strides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from weft._tensor.layout import is_channels_last
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
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.registry import MIN_SIZE, register_kernel

__all__ = ["LIKE", "MOVED", "copied", "move", "moved"]

MOVED = (
    "float32 float64 int64 int32 bool uint8 int8 int16 float16 bfloat16 complex64 uint16 uint32 uint64 "
    "float8_e4m3fn float8_e5m2"
)
LIKE = {size: np.empty(0, f"u{size}") for size in (1, 2, 4, 8)}  # elements are moved as integers

DIMS = 12  # at most, without those of size 1
SIZE, TO, FROM = 0, 1, 2  # lines of the table of dimensions: sizes, and strides in bytes

LINES, TURNED, SHORT = 0, 1, 2  # what the loops inside do, see `choose`
FEW = 8  # a loop of fewer elements costs more than its elements
PAGE = 4096  # bytes: lines so far apart share a place in the first cache
LONG = 512  # bytes of a line from which the compiler's vector code is better
NARROW = 64  # bytes of a row that are worth a call of the C library


# Blocks turned in registers


def side(itemsize: int) -> int:
    """The side of a block: a line of the cache, or as many as there are registers for."""
    return min(64 // itemsize, 16)


@intrinsic
def turn(typingctx: Any, source: Any, source_step: Any, target: Any, target_step: Any, like: Any) -> Any:
    """Copy a square block from rows so many bytes apart to columns, by addresses."""
    size = side(like.dtype.bitwidth // 8)

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
def side_of(typingctx: Any, like: Any) -> Any:
    """`side`, in compiled code."""
    size = side(like.dtype.bitwidth // 8)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return ir.Constant(ir.IntType(64), size)

    return types.int64(like), generate


@intrinsic
def item(typingctx: Any, target: Any, source: Any, like: Any) -> Any:
    """Copy one element from an address to another."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = ir.IntType(like.dtype.bitwidth).as_pointer()
        value = builder.load(builder.inttoptr(values[1], pointer))
        value.volatile = True  # else the compiler makes vector code of a loop, with more to do before than it saves
        builder.store(value, builder.inttoptr(values[0], pointer))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, like), generate


@loop
def turn_blocks(target, source, like, rows, columns, to, apart, back):
    """Columns in the source's memory (``back``: from the last to the first) become rows ``to`` bytes apart."""
    size, width = side_of(like), like.itemsize
    if back:  # the lowest address of the source belongs to the last row of the target
        source -= (rows - 1) * width
        target += (rows - 1) * to
        to = -to
    if rows < size or columns < size:
        for row in range(rows):
            for column in range(columns):
                item(target + row * to + column * width, source + row * width + column * apart, like)
        return
    if to % PAGE == 0:  # lines that are written one after the other would all go to the same place in the cache
        for top in range(0, rows, size):
            row = min(top, rows - size)  # the last block may lie over the one before it
            for left in range(0, columns, size):
                column = min(left, columns - size)
                turn(source + row * width + column * apart, apart, target + row * to + column * width, to, like)
        return
    for left in range(0, columns, size):
        column = min(left, columns - size)
        for top in range(0, rows, size):
            row = min(top, rows - size)
            turn(source + row * width + column * apart, apart, target + row * to + column * width, to, like)


# Lines. A loop that the compiler turns into vector code takes longer to begin than a short line to be copied: so
# vectors of 64 and of 16 bytes are written out here, the last of which may lie over the one before it.


def vectors(name: str, form: Callable[[Any, Any, Any], Any]) -> tuple[Any, Any]:
    """Functions that make vectors of 64 and of 16 bytes at an address, from another address and the step there."""

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
    """A row in memory from its last element to the first."""
    return shuffled(
        builder, builder.load(builder.inttoptr(source, row.as_pointer()), align=1), [*range(row.count)][::-1]
    )


def same_row(builder: Any, source: Any, row: Any) -> Any:
    """One element, again and again."""
    value = builder.load(builder.inttoptr(source, row.element.as_pointer()))
    first = builder.insert_element(ir.Constant(row, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return shuffled(builder, first, [0] * row.count)


reversed_64, reversed_16 = vectors("reversed", reversed_row)
same_64, same_16 = vectors("same", same_row)


@intrinsic
def copy_bytes(typingctx: Any, target: Any, source: Any, count: Any) -> Any:
    """Copy so many bytes from an address to another, apart from each other."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        places = [builder.inttoptr(each, pointer) for each in values[:2]]
        cgutils.raw_memcpy(builder, *places, values[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@loop
def reverse_line(target, source, like, count):
    """Elements from the one at an address backwards."""
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
            item(target + i * width, source - i * width, like)


@loop
def fill_line(target, source, like, count):
    """One element at all places."""
    width = like.itemsize
    done = 0
    if count * width >= LONG:
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
            item(target + i * width, source, like)


@loop
def copy_lines(target, source, like, rows, high, far, columns, to, apart):
    """Rows ``high`` bytes apart from rows ``far`` apart, of elements ``to`` bytes apart from elements ``apart``."""
    width = like.itemsize
    if to == width and apart == width and far == 0 and columns * width >= LONG:
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
            item(y, x, like)
            y += to
            x += apart


# Dimensions


@loop
def load(table, target, source):
    """Fill in the dimensions that are not of size 1; their number, -1 if the loops take no such arrays, -2 if empty.

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
    """Bring the dimensions into the order of the target's memory and join neighbours; how many are left."""
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
    """Which loops run inside, and over which dimension beside the last.

    Lines along the last dimension. Turned blocks, where the source lies along another. Where the last dimension is
    short, lines along the other one, side by side.
    """
    last, near = rank - 1, -1
    for d in range(rank):
        if table[FROM, d] != 0 and (near < 0 or abs(table[FROM, d]) <= abs(table[FROM, near])):
            near = d
    short = table[SIZE, last] < FEW
    if near < 0 or near == last or table[SIZE, near] < FEW or (table[FROM, last] == 0 and not short):
        return (SHORT if short and table[SIZE, last - 1] > table[SIZE, last] else LINES), last - 1
    if short:
        return SHORT, near
    if table[TO, last] == width and abs(table[FROM, near]) == width and table[SIZE, last] * table[SIZE, near] >= block:
        return TURNED, near
    return LINES, last - 1


@loop
def parts_of(mode, size, beside):
    """Into parts of how many elements the last dimension is cut, and the one beside it."""
    if mode == TURNED:
        return 512, 32
    if mode == SHORT:
        return size, 2048
    most = min(size, 8192)
    return most, max(8192 // most, 1)


@loop
def begin(table, rank, beside, parts, counts, at, index):
    """Set the position of a part, counted in parts for the two dimensions inside and in elements for the others."""
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
def move_loop(table, rank, mode, beside, target, source, parts, like, lo, hi):
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
        if mode == TURNED:
            turn_blocks(y_here, x_here, like, rows, columns, high, apart, far < 0)
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
def move(target, source, like):
    """Copy an array's elements to another's places, by identities; False, and nothing is written, if it cannot."""
    table = np.zeros((3, DIMS + 1), np.int64)
    rank, y, x = load(table, target, source)
    if rank < 0:
        return rank == -2
    table[SIZE, rank] = 1
    if rank == 0:
        item(y, x, like)
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
    mode, beside = choose(table, rank, width, side_of(like) * side_of(like))
    parts = parts_of(mode, table[SIZE, rank - 1], table[SIZE, beside])
    count = total // (table[SIZE, rank - 1] * table[SIZE, beside])
    count *= -(-table[SIZE, rank - 1] // parts[0]) * -(-table[SIZE, beside] // parts[1])
    parallel(move_loop, (table, rank, mode, beside, y, x, parts, like), np.uintp(count), total * 2)
    return True


def moved(target: Any, source: Any) -> bool:
    """``target[...] = source`` for arrays of one dtype in memory apart; False, and nothing is written, if it cannot."""
    like = LIKE.get(target.itemsize)
    if like is None or not isinstance(source, np.ndarray) or source.dtype != target.dtype:
        return False
    return target.flags.writeable and bool(move(id(target), id(source), like))


def copied(source: Any) -> Any:
    """A copy with the dimensions in order in memory."""
    made = np.empty(source.shape, source.dtype)
    if not moved(made, source):
        made[...] = source
    return made


# Ops

WHOLE, BACK = slice(None), slice(None, None, -1)


@register_kernel("core::contiguous_copy", dtypes=MOVED, min_size=MIN_SIZE, bitwise=True)
def contiguous_copy_kernel(generic: Any) -> Any:
    return copied


@register_kernel("core::assign", dtypes=MOVED, min_size=MIN_SIZE, checks_size=True)
def assign_kernel(generic: Any) -> Any:
    def run(target: Any, source: Any) -> bool:
        return not np.may_share_memory(target, source) and moved(target, source)

    return run


@register_kernel("core::clone", dtypes=MOVED, min_size=MIN_SIZE, bitwise=True)
def clone_kernel(generic: Any) -> Any:
    def run(x: Any) -> Any:
        made = np.empty_like(x)
        return made if moved(made, x) else generic(x)

    return run


@loop
def spread_loop(y, value, lo, hi):
    if value == 0:
        for i in range(lo, hi):  # which becomes a call of the C library
            y[i] = 0
    else:
        for i in range(lo, hi):
            y[i] = value


@launcher
def spread(y):
    parallel(spread_loop, (y, y[0]), y.size, y.size)


@register_kernel("core::spread", dtypes=MOVED, min_size=MIN_SIZE, checks_size=True)
def spread_kernel(generic: Any) -> Any:
    return lambda flat: spread(flat.view(f"u{flat.itemsize}"))  # the first element, in place of all


@register_kernel("core::flip", dtypes=MOVED, min_size=MIN_SIZE, bitwise=True)
def flip_kernel(generic: Any) -> Any:
    def run(x: Any, dims: Any) -> Any:
        turned = x[tuple([BACK if dim in dims else WHOLE for dim in range(x.ndim)])] if x.ndim else x
        made = np.empty_like(x)
        return made if x.ndim and moved(made, turned) else generic(x, dims)

    return run


@loop
def roll_loop(y, x, line, shift, lo, hi):
    place, end = np.int64(lo), np.int64(hi)
    start = place // line * line
    while place < end:
        at = place - start
        wraps = at < shift
        count = min((shift if wraps else line) - at, end - place)
        copy_bytes(y + place, x + start + at - shift + (line if wraps else 0), count)
        place += count
        if place == start + line:
            start = place


@launcher
def roll_lines(y, x, size, line, shift):
    """Copy so many bytes, each line of them moved on by some, arrays by their identities."""
    parallel(roll_loop, (word_at(y + HEAD), word_at(x + HEAD), line, shift), size, size // 4)


@register_kernel("core::roll", dtypes=MOVED, min_size=MIN_SIZE, bitwise=True)
def roll_kernel(generic: Any) -> Any:
    def run(x: Any, shifts: Any, dims: Any) -> Any:
        if not x.size or not x.ndim or x.itemsize not in LIKE or (not dims and not x.flags.c_contiguous):
            return generic(x, shifts, dims)
        made = np.empty(x.shape, x.dtype)
        if len(shifts) == 1 and x.flags.c_contiguous:
            first = dims[0] if dims else 0
            line = math.prod(x.shape[first:]) * x.itemsize
            if line >= LONG:
                step = line // x.shape[first] if dims else x.itemsize
                roll_lines(id(made), id(x), x.nbytes, line, shifts[0] * step % line)
                return made
        target, source = (made, x) if dims else (made.reshape(-1), x.reshape(-1))
        total = dict.fromkeys(dims or (0,), 0)
        for dim, shift in zip(dims or (0,), shifts):
            total[dim] += shift
        cuts = [cut(shift % target.shape[dim], dim) for dim, shift in total.items()]
        for pieces in itertools.product(*cuts):
            to, apart = target, source
            for dim, there, here in pieces:
                to, apart = to[(slice(None),) * dim + (there,)], apart[(slice(None),) * dim + (here,)]
            if not moved(to, apart):
                to[...] = apart
        return made

    return run


def cut(shift: int, dim: int) -> list[tuple[int, slice, slice]]:
    """The pieces of a dimension that is rolled: where each goes, and where it comes from."""
    if not shift:
        return [(dim, slice(None), slice(None))]
    return [(dim, slice(shift, None), slice(None, -shift)), (dim, slice(None, shift), slice(-shift, None))]


@register_kernel("core::cat", dtypes=MOVED, min_size=MIN_SIZE, bitwise=True)
def cat_kernel(generic: Any) -> Any:
    def run(arrays: Any, dim: int) -> Any:
        first = arrays[0]
        if sum([each.size for each in arrays]) < MIN_SIZE * len(arrays) or all(map(is_channels_last, arrays)):
            return generic(arrays, dim)
        lead, tail = first.shape[:dim], first.shape[dim + 1 :]
        if any(each.shape[:dim] != lead or each.shape[dim + 1 :] != tail for each in arrays):
            return generic(arrays, dim)  # which says so
        made = np.empty((*lead, sum([each.shape[dim] for each in arrays]), *tail), first.dtype)
        return filled(made, dim, arrays) if first.itemsize in LIKE else generic(arrays, dim)

    return run


@loop
def join_rows_loop(y, places, widths, lo, hi):
    target = y + np.int64(lo) * widths.sum()
    for row in range(np.int64(lo), np.int64(hi)):
        for k in range(np.uintp(places.size)):
            copy_bytes(target, places[k] + row * widths[k], widths[k])
            target += widths[k]


@launcher
def join_rows(y, rows, sources):
    """Put rows of arrays side by side, by identities and bytes of a row: what is written is written in order."""
    places, widths = np.empty(len(sources), np.int64), sources[:, 1].copy()
    for k in range(len(sources)):
        places[k] = word_at(sources[k, 0] + HEAD)
    parallel(join_rows_loop, (word_at(y + HEAD), places, widths), rows, rows * widths.sum() // 2)


def filled(made: Any, dim: int, arrays: Any) -> Any:
    """The array, with others copied into it one behind the other along a dimension."""
    rows = math.prod(made.shape[:dim])
    wide = rows > 1 and made.nbytes >= rows * len(arrays) * NARROW
    if wide and all(each.flags.c_contiguous for each in arrays):
        join_rows(id(made), rows, np.array([(id(each), each.nbytes // rows) for each in arrays]))
        return made
    start, before = 0, (slice(None),) * dim
    for each in arrays:
        stop = start + each.shape[dim]
        target = made[(*before, slice(start, stop))]
        if not moved(target, each):
            target[...] = each
        start = stop
    return made


@register_kernel("core::stack", dtypes=MOVED, min_size=MIN_SIZE, checks_size=True, bitwise=True)
def stack_kernel(generic: Any) -> Any:
    def run(arrays: Any, dim: int) -> Any:
        first = arrays[0]
        if first.size < MIN_SIZE or first.itemsize not in LIKE:
            return generic(arrays, dim)
        made = np.empty((*first.shape[:dim], len(arrays), *first.shape[dim:]), first.dtype)
        new = (*[WHOLE] * dim, None)  # as `expand_dims`, which takes longer than a row
        return filled(made, dim, [each[new] for each in arrays])

    return run
