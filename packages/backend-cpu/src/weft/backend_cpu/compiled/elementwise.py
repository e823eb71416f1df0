"""Operations that compute each element from the elements at its place: on all layouts, with any broadcasting.

What is compiled for an operation and its dtypes is one loop over contiguous memory. How the arrays lie is read from
them while it runs, by a part that is compiled once for all operations: it takes the elements in the order of the
result's memory, a block at a time. An operand that lies in memory in that order is read where it is; of any other, the
block's elements are first gathered into a buffer that stays in the cache, and one that repeats itself within a block
(a number, a row) is gathered once.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.extending import intrinsic, overload

from weft.backend_cpu.compiled.halves import HALVES, half_of, loaded, rounded
from weft.backend_cpu.compiled.lists import HEAD, array_at, word_at
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel

__all__ = ["operation", "quick_results", "results"]

# Operations

FORMULAS: dict[str, Any] = {}
KEPT: list[Any] = []  # the loops whose addresses were given out


def operation(name: str, formula: Callable[..., Any]) -> str:
    """Declare an operation by a function of one element of each of its operands, at most three; its key."""
    code = formula.__code__
    key = f"{name} {zlib.crc32(code.co_code + repr((code.co_consts, code.co_names)).encode())}"  # kept on disk under it
    FORMULAS[key] = njit(formula, forceinline=True, fastmath={"contract"}, error_model="numpy")
    return key


# A result may be written over an operand: element i is read before it is written, and no other. The compiler is told
# that no element that is written is one that is read, since it would not make vector code of what it cannot prove.


def scopes(module: Any) -> Any:
    """What marks the memory that is read, in a module of LLVM's."""
    domain = module.add_metadata([ir.MetaDataString(module, "weft elementwise")])
    return module.add_metadata([module.add_metadata([ir.MetaDataString(module, "operands"), domain])])


@intrinsic
def get(typingctx: Any, x: Any, i: Any) -> Any:
    """``x[i]``, which nothing writes to; half precision in float32."""
    half = half_of(x.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = builder.gep(context.make_array(x)(context, builder, values[0]).data, [values[1]])
        if half:
            value, number = loaded(builder, half, place)
        else:
            value = builder.load(place)
            number = context.data_model_manager[x.dtype].from_data(builder, value)
        value.set_metadata("alias.scope", scopes(builder.module))
        return number

    return (types.float32 if half else x.dtype)(x, i), generate


@intrinsic
def put(typingctx: Any, x: Any, i: Any, value: Any) -> Any:
    """``x[i] = value``, which nothing reads; a number of float32 is rounded to half precision."""
    half = half_of(x.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = builder.gep(context.make_array(x)(context, builder, values[0]).data, [values[1]])
        if half:
            value, place = rounded(builder, half, values[2]), builder.bitcast(place, ir.IntType(16).as_pointer())
        else:
            value = context.data_model_manager[x.dtype].as_data(builder, values[2])
        builder.store(value, place).set_metadata("noalias", scopes(builder.module))
        return context.get_dummy_value()

    return types.void(x, i, types.float32 if half else x.dtype), generate


def apply(key, x, y, z, i):
    """The result of an operation on the elements at an index of its operands, in compiled code; others are not read."""
    raise NotImplementedError


@overload(apply, prefer_literal=True, jit_options={"forceinline": True})
def apply_compiled(key, x, y, z, i):
    formula = FORMULAS[key.literal_value]
    count = formula.py_func.__code__.co_argcount
    if count == 1:
        return lambda key, x, y, z, i: formula(get(x, i))
    if count == 2:
        return lambda key, x, y, z, i: formula(get(x, i), get(y, i))
    return lambda key, x, y, z, i: formula(get(x, i), get(y, i), get(z, i))


@cache
def compiled(key: str, *elements: Any) -> int:
    """The address of an operation's loop for the dtypes of the result and of at most three operands."""
    marks = [HALVES.get(element, element) for element in elements]
    out_like, a_like, b_like, c_like = (np.empty(0, mark) for mark in (*marks, *[np.dtype(bool)] * (4 - len(marks))))

    @cfunc("void(int64, int64, int64, int64, int64)", cache=True, fastmath={"contract"}, error_model="numpy")
    def run(out, a, b, c, size):
        result = array_at(out, size, out_like)
        x, y, z = array_at(a, size, a_like), array_at(b, size, b_like), array_at(c, size, c_like)
        for i in range(np.uintp(size)):
            put(result, i, apply(key, x, y, z, i))

    KEPT.append(run)
    return int(run.address)


@intrinsic
def call(typingctx: Any, function: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """Run a loop by its address."""
    word = ir.IntType(64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [word] * 5).as_pointer()
        builder.call(builder.inttoptr(values[0], kind), values[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


# Layouts: a table of integers, with a line for the result, one for each of three operands, and one for the shape

LINE = 64  # bytes of the cache's lines, and of the longest vectors
DIMS = 8  # at most, without those of size 1; a result of more is left to NumPy
BLOCK = 2048  # elements of a block

SHAPE = 4  # the line of the shape; the result is line 0
ADDRESS, ITEM, MOVER, PERIOD, STRIDES = 0, 1, 2, 3, 4  # columns: address, bytes of an element, see below, strides
RANK, SIZE, WHOLE = 0, 1, 2  # in the line of the shape: dimensions, elements, whether one block will do
WIDTH = STRIDES + DIMS

# Periods: after how many elements an operand begins anew.
NEVER = 0  # its elements are gathered for each block
DIRECT = -1  # its elements lie one after the other in memory


@loop
def load(table, identities):
    """Fill in addresses, sizes other than 1, and strides in bytes; False if the loop takes no such arrays."""
    out = identities[0] + HEAD
    rank = word_at(out + 8) & 0xFFFFFFFF
    count, total = 0, 1
    for k in range(4):
        if identities[k] != 0:
            table[k, ADDRESS] = word_at(identities[k] + HEAD)
            if not word_at(identities[k] + HEAD + 48) & 0x0100:  # aligned
                return False
    for d in range(rank):
        size = word_at(word_at(out + 16) + 8 * d)
        if size == 1:
            continue
        if count == DIMS:
            return False
        table[SHAPE, STRIDES + count] = size
        for k in range(4):
            array = identities[k] + HEAD
            at = -1 if identities[k] == 0 else d - rank + (word_at(array + 8) & 0xFFFFFFFF)
            if at >= 0 and word_at(word_at(array + 16) + 8 * at) != 1:
                table[k, STRIDES + count] = word_at(word_at(array + 24) + 8 * at)
        count += 1
        total *= size
    table[SHAPE, RANK], table[SHAPE, SIZE] = count, total
    return True


@loop
def sort(table):
    """Bring the dimensions into the order of the result's memory, the largest stride first."""
    for d in range(1, table[SHAPE, RANK]):
        at = STRIDES + d
        while at > STRIDES and abs(table[0, at - 1]) < abs(table[0, at]):
            for k in range(5):
                table[k, at - 1], table[k, at] = table[k, at], table[k, at - 1]
            at -= 1


@loop
def join(table):
    """Make one dimension of neighbours, where all operands allow it; at least one is left."""
    last = 0
    for d in range(1, table[SHAPE, RANK]):
        joins = True
        for k in range(4):
            joins = joins and table[k, STRIDES + last] == table[k, STRIDES + d] * table[SHAPE, STRIDES + d]
        size = table[SHAPE, STRIDES + d]
        if joins:
            size *= table[SHAPE, STRIDES + last]
        else:
            last += 1
        table[SHAPE, STRIDES + last] = size
        for k in range(4):
            table[k, STRIDES + last] = table[k, STRIDES + d]
    if table[SHAPE, RANK] == 0:
        table[SHAPE, STRIDES] = 1
    table[SHAPE, RANK] = last + 1


@loop
def period_of(table, k):
    """See above: of a line of the table."""
    step, d = 1, table[SHAPE, RANK] - 1
    while d >= 0 and (table[k, STRIDES + d] == step * table[k, ITEM] or table[SHAPE, STRIDES + d] == 1):
        step *= table[SHAPE, STRIDES + d]
        d -= 1
    if d < 0:
        return DIRECT
    while d >= 0 and table[k, STRIDES + d] == 0:
        d -= 1
    return step if d < 0 and step <= BLOCK else NEVER


@loop
def end_of(table, k):
    """The address behind an array's last element."""
    end = table[k, ADDRESS] + table[k, ITEM]
    for d in range(table[SHAPE, RANK]):
        end += table[k, STRIDES + d] * (table[SHAPE, STRIDES + d] - 1)
    return end


@loop
def describe(table, identities):
    """Fill in the table; False if the arrays are not such that the loop takes them.

    A result may lie over an operand, element over element. If it shares memory in another way it is left to NumPy.
    """
    if not load(table, identities):
        return False
    sort(table)
    join(table)
    table[0, PERIOD] = period_of(table, 0)
    whole = True
    for k in range(1, 4):
        if identities[k] == 0:
            table[k, PERIOD] = DIRECT
            continue
        table[k, PERIOD] = period_of(table, k)
        whole = whole and table[k, PERIOD] == DIRECT
        if table[k, ADDRESS] < end_of(table, 0) and table[0, ADDRESS] < end_of(table, k):
            for d in range(table[SHAPE, RANK]):
                if table[k, ADDRESS] != table[0, ADDRESS] or table[k, STRIDES + d] != table[0, STRIDES + d]:
                    return False
    table[SHAPE, WHOLE] = whole and table[0, PERIOD] == DIRECT
    return True


# Blocks


@cache
def mover(size: int, writes: bool) -> int:
    """The address of the loop that copies elements of so many bytes to a buffer, or from it to the result.

    It takes the address of the table, the line of the array, the index of the first element, how many, and the buffer.
    """
    like = np.empty(0, f"u{size}")

    @cfunc("void(int64, int64, int64, int64, int64)", cache=True, error_model="numpy")
    def move(place, k, start, total, buffer):
        table = array_at(place, 5 * WIDTH, WORDS)
        line = k * WIDTH + STRIDES
        rank = table[SHAPE * WIDTH + RANK]
        data = array_at(buffer, total, like)
        inner, step = table[SHAPE * WIDTH + STRIDES + rank - 1], table[line + rank - 1]
        row, column = start // inner, start % inner
        done = 0
        while done < total:
            address, rest = table[k * WIDTH + ADDRESS] + column * step, row
            for d in range(rank - 2, -1, -1):
                size = table[SHAPE * WIDTH + STRIDES + d]
                above = rest // size
                address += (rest - above * size) * table[line + d]
                rest = above
            count = min(inner - column, total - done)
            part, x = array_at(buffer + done * like.itemsize, count, like), array_at(address, count, like)
            if writes and step == like.itemsize:
                for i in range(np.uintp(count)):
                    x[i] = part[i]
            elif writes:
                for i in range(count):
                    array_at(address + i * step, 1, like)[0] = data[done + i]
            elif step == like.itemsize:
                for i in range(np.uintp(count)):
                    part[i] = x[i]
            elif step == 0:
                value = x[0]
                for i in range(np.uintp(count)):
                    part[i] = value
            else:
                for i in range(count):
                    data[done + i] = array_at(address + i * step, 1, like)[0]
            done += count
            row, column = row + 1, 0

    KEPT.append(move)
    return int(move.address)


WORDS = np.empty(0, np.int64)


@loop
def place(table, k, start, count, buffer):
    """The address of a block of an operand: in its own memory, or in the buffer, which holds it now."""
    period = table[k, PERIOD]
    if period == DIRECT:
        return table[k, ADDRESS] + start * table[k, ITEM]
    if period != NEVER:
        return buffer + start % period * table[k, ITEM]
    call(table[k, MOVER], table.ctypes.data, k, start, count, buffer)
    return buffer


@loop
def blocks(function, table, lo, hi):
    start, stop = np.int64(lo), np.int64(hi)
    size = stop - start if table[SHAPE, WHOLE] else BLOCK
    memory = np.empty(0 if table[SHAPE, WHOLE] else 8 * BLOCK, np.int64)  # twice a block for each array
    buffers, each = memory.ctypes.data, 16 * BLOCK
    for k in range(1, 4):
        if table[k, PERIOD] > 0:
            call(table[k, MOVER], table.ctypes.data, k, 0, BLOCK + table[k, PERIOD], buffers + k * each)
    while start < stop:
        count = min(size, stop - start)
        x = place(table, 1, start, count, buffers + each)
        y = place(table, 2, start, count, buffers + 2 * each)
        z = place(table, 3, start, count, buffers + 3 * each)
        if table[0, PERIOD] == DIRECT:
            call(function, table[0, ADDRESS] + start * table[0, ITEM], x, y, z, count)
        else:
            call(function, buffers, x, y, z, count)
            call(table[0, MOVER], table.ctypes.data, 0, start, count, buffers)
        start += count


@launcher
def anyhow(function, identities, items, movers, cost):
    """Run an operation on any arrays; False, and nothing is written, if the loop does not take them."""
    table = np.zeros((5, WIDTH), np.int64)
    for k in range(4):
        table[k, ITEM], table[k, MOVER] = items[k], movers[k]
    if not describe(table, identities):
        return False
    total = table[SHAPE, SIZE]
    parallel(blocks, (function, table), total, total * cost)
    return True


@loop
def straight(function, addresses, items, lo, hi):
    start, stop = np.int64(lo), np.int64(hi)
    # First as many as come before a line of the cache: what is written then, and what lies alike, crosses none.
    count = min(-(addresses[0] + start * items[0]) % LINE // items[0], stop - start)
    while start < stop:
        a, b, c = addresses[1] + start * items[1], addresses[2] + start * items[2], addresses[3] + start * items[3]
        call(function, addresses[0] + start * items[0], a, b, c, count)
        start += count
        count = stop - start


@loop
def address_of(identity):
    return word_at(identity + HEAD) if identity else 0


@launcher
def in_step(function, identities, items, size, cost):
    """Run an operation on arrays whose elements all lie in the same order, without gaps."""
    out, a, b, c = identities
    addresses = (address_of(out), address_of(a), address_of(b), address_of(c))
    parallel(straight, (function, addresses, items), size, size * cost)


# From Python


def new_result(operands: Sequence[Any], element: Any) -> Any:
    """A new array for the results, in the order in memory that a function of NumPy gives it; None: ask that one."""
    arrays = [each for each in operands if each.ndim] or operands
    first = arrays[0]
    shape = first.shape
    if all(each.shape == shape for each in arrays):
        if any(each.flags.c_contiguous for each in arrays):
            return np.empty(shape, element)
        same = all(each.strides == first.strides for each in arrays)
        return np.empty_like(first, dtype=element) if same else None
    shape = np.broadcast_shapes(*[each.shape for each in arrays])
    full = [each for each in arrays if each.shape == shape]
    if all(each.flags.c_contiguous for each in full or arrays):
        return np.empty(shape, element)
    rest = [each for each in arrays if each.shape != shape]
    if not full or any(max(each.shape) < each.size for each in rest):
        return None
    return np.empty_like(full[0], dtype=element) if all(each.strides == full[0].strides for each in full) else None


def quick_results(key: str, operands: Sequence[Any], element: Any, cost: int) -> Any:
    """`results` of contiguous arrays of one shape and dtype, which most are; None for others."""
    first = operands[0]
    shape, own = first.shape, first.dtype
    for each in operands:
        if each.shape != shape or each.dtype != own or not each.flags.c_contiguous:
            return None
    made = np.empty(shape, own if element is None else element)
    rest = 3 - len(operands)
    plan = plans.get((key, own))
    if plan is None:
        function = compiled(key, made.dtype, *[own] * len(operands))
        plans[key, own] = plan = function, (made.itemsize, *[own.itemsize] * len(operands), *(1,) * rest)
    in_step(plan[0], (id(made), *map(id, operands), *(0,) * rest), plan[1], made.size, cost)
    return made


plans: dict[Any, tuple[int, Any]] = {}  # what is the same in all calls of `quick_results`


def results(key: str, operands: Sequence[Any], element: Any, cost: int = 1, out: Any = None) -> Any:
    """An array with the results of an operation; None, and nothing is written, where NumPy has to do it.

    Parameters
    ----------
    key : str
        Of an `operation`.
    operands : sequence of one to three arrays
        That can be broadcast.
    element : numpy.dtype
        Of the result.
    cost : int
        Of one element, in additions.
    out : array, optional
        What to write to.
    """
    made = new_result(operands, element) if out is None else out
    if made is None or not made.size:
        return made
    if not made.flags.writeable:  # NumPy says so
        return None
    arrays = (made, *operands)
    rest = 4 - len(arrays)
    identities = (*map(id, arrays), *(0,) * rest)
    items = (*[each.itemsize for each in arrays], *(1,) * rest)
    function = compiled(key, *[each.dtype for each in arrays])
    if out is None and all(each.flags.c_contiguous and each.size == made.size for each in operands):
        if made.flags.c_contiguous:
            in_step(function, identities, items, made.size, cost)
            return made
    movers = (mover(items[0], True), *[mover(size, False) for size in items[1:]])
    return made if anyhow(function, identities, items, movers, cost) else None
