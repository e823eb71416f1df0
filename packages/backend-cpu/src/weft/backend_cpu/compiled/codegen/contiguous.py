"""Contiguous and broadcast layouts of elementwise operations, recognised in compiled code, without a plan.

All operands have one layout without gaps; or the second of two is broadcast over leading dimensions, over trailing
ones, or both: a row, a column, a channel of images. All other layouts have a plan: see `elementwise`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.backend import destination
from weft.backend_cpu.compiled.codegen.array_header import (
    ALIGNED,
    CONTIGUOUS,
    DTYPE,
    FLAGS,
    HEAD,
    WRITABLE,
    rank_of,
    size_at,
    stride_at,
    word_at,
)
from weft.backend_cpu.compiled.codegen.elementwise import (
    ARRAYS,
    LINE,
    MAX_SHORT_ROW,
    MIN_ROW,
    MIN_SHORT_ROWS,
    NEXT,
    NUMBER,
    NUMBERS,
    SAME,
    call,
    compiled_loop,
    is_written,
)
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel

__all__ = ["contiguous_kernel"]

# The words of a `ContiguousLoop`: the dtypes of the result and the operands by their identities, 0 before they are
# known; their item sizes; the cost of an element; the address of the loop, and of that with a repeated second operand
DTYPES, ITEMS, COST, LOOP, REPEATED_LOOP = 0, 1 + ARRAYS, 2 + 2 * ARRAYS, 3 + 2 * ARRAYS, 4 + 2 * ARRAYS
WORDS = REPEATED_LOOP + 1
OTHER, DONE, UNCOMPILED = 0, 1, 2  # results of a launch: another layout, done, no loop for this one yet

Operands = Callable[[tuple[Any, ...]], Any]


@loop
def have_one_shape(a, b):
    if a == b:
        return True
    rank = rank_of(a)
    if rank_of(b) != rank:
        return False
    dim = 0
    while dim < rank and size_at(a, dim) == size_at(b, dim):
        dim += 1
    return dim == rank


@loop
def have_one_layout(a, b, item_a, item_b):
    """Whether arrays of one shape, whose elements have so many bytes, have the same strides in elements."""
    if a == b:
        return True
    for dim in range(rank_of(a)):
        if stride_at(a, dim) * item_b != stride_at(b, dim) * item_a and size_at(a, dim) != 1:
            return False
    return True


@loop
def repetition(a, b):
    """How often each element of ``b`` is repeated in a row when it is broadcast to ``a``, and how many ``b`` has.

    0, 0 if it cannot be broadcast, or its dimensions of more than one element are not adjacent.
    """
    dim, lead = rank_of(a) - 1, rank_of(a) - rank_of(b)
    if lead < 0:
        return 0, 0
    times, count = 1, 1
    while dim >= 0 and (dim < lead or size_at(b, dim - lead) == 1):
        times *= size_at(a, dim)
        dim -= 1
    while dim >= lead and size_at(b, dim - lead) == size_at(a, dim):
        count *= size_at(a, dim)
        dim -= 1
    while dim >= lead:
        if size_at(b, dim - lead) != 1:
            return 0, 0
        dim -= 1
    return times, count


@loop
def may_be_written(out, size, other, other_size):
    """Whether a contiguous array of so many bytes may be written while another is read."""
    first, second = word_at(out + HEAD), word_at(other + HEAD)
    if first == second and size == other_size and have_one_shape(out, other):  # each element is read before
        return True
    return first + size <= second or second + other_size <= first


@loop
def lines_loop(function, places, numbers, items, length, period, near, far, lo, hi):
    """Lines of ``length`` elements. The second operand advances ``near`` bytes an element, and ``far`` bytes a line."""
    out, a, b, c = places
    start, stop = np.int64(lo), np.int64(hi)
    line = start // length
    column, turn = start - line * length, line % period
    count = -(out + start * items[0]) % LINE // items[0]  # up to a cache line: vectors from there on cross none
    count = min(count or length, length - column, stop - start)
    while start < stop:
        here = (out + start * items[0], a + start * items[1], b + turn * far + column * near, c + start * items[3])
        call(function, here, count, np.int64(0), numbers)
        start, column = start + count, column + count
        if column == length:
            column, turn = np.int64(0), turn + 1
            if turn == period:
                turn = np.int64(0)
        count = min(length - column, stop - start)


@launcher
def launch_contiguous(table, out, a, b, c, p, q, r):
    """Run a loop on arrays by their identities; nothing is written unless the result is `DONE`.

    ``out`` is a new array of the shape of ``a``, or ``a`` itself, which also stands for missing operands.
    """
    flags = word_at(out + FLAGS) & word_at(a + FLAGS) & word_at(b + FLAGS) & word_at(c + FLAGS)
    known = (word_at(out + DTYPE) == word_at(table)) & (word_at(a + DTYPE) == word_at(table + 8))
    known &= (word_at(b + DTYPE) == word_at(table + 16)) & (word_at(c + DTYPE) == word_at(table + 24))
    if not known or not flags & ALIGNED or not have_one_shape(a, out) or not have_one_shape(a, c):
        return OTHER
    items = table + 8 * ITEMS
    items = word_at(items), word_at(items + 8), word_at(items + 16), word_at(items + 24)
    size = 1
    for dim in range(rank_of(a)):
        size *= size_at(a, dim)
    function, length, period, near, far = word_at(table + 8 * LOOP), size, 1, items[2], 0
    second = size  # elements of the second operand
    if not have_one_shape(a, b):
        times, second = repetition(a, b)
        if times == 1:
            length = second
        else:
            function, length, period, near, far = word_at(table + 8 * REPEATED_LOOP), times, second, 0, items[2]
        short = length < MIN_ROW or (length < MAX_SHORT_ROW and size >= MIN_SHORT_ROWS * length)
        if short or c != a or not flags & CONTIGUOUS:
            return OTHER
    elif not flags & CONTIGUOUS:
        alike = have_one_layout(a, out, items[1], items[0]) and have_one_layout(a, b, items[1], items[2])
        alike = alike and have_one_layout(a, c, items[1], items[3])
        if out == a or not alike:  # a new array has no gaps, and no others have its layout
            return OTHER
    if size == 0:
        return OTHER
    if out == a:
        free = may_be_written(a, size * items[0], b, second * items[2])
        free = free and may_be_written(a, size * items[0], c, size * items[3])
        if not free or not word_at(out + FLAGS) & WRITABLE:
            return OTHER
    if function == 0:
        return UNCOMPILED
    places = word_at(out + HEAD), word_at(a + HEAD), word_at(b + HEAD), word_at(c + HEAD)
    arguments = (function, places, (p, q, r), items, length, period, near, far)
    parallel(lines_loop, arguments, size, size * word_at(table + 8 * COST))
    return DONE


class ContiguousLoop:
    """A scalar function's loop over arrays and numbers in one order, for the dtypes of its first call.

    Parameters
    ----------
    key : str
        Of a `scalar_function`.
    cost : int
        Of one element, in additions.
    operands : callable
        Converts the operands; None if the function does not take them.
    """

    __slots__ = ("address", "cost", "dtypes", "key", "operands", "table")

    def __init__(self, key: str, cost: int, operands: Operands) -> None:
        self.key, self.cost, self.operands = key, cost, operands
        self.table = np.zeros(WORDS, np.int64)
        self.address: int = self.table.ctypes.data
        self.dtypes: list[Any] = []  # while these are kept, no others have their identities

    def retry(self, state: int, made: Any, given: tuple[Any, ...]) -> bool:
        """Fill in or compile what a launch has lacked, and launch again; whether it is done."""
        arrays = [each for each in given if type(each) is np.ndarray]
        if not self.table[DTYPES]:
            self.prepare(made, arrays, given)
        elif state == UNCOMPILED:
            self.table[REPEATED_LOOP] = self.loop(given, SAME)
        else:
            return False
        numbers = [each for each in given if type(each) is float]
        places = map(id, (made, *arrays, *arrays[:1] * (ARRAYS - len(arrays))))
        found = launch_contiguous(self.address, *places, *numbers, *[0.0] * (NUMBERS - len(numbers)))
        return bool(found == DONE) or (found == UNCOMPILED and self.retry(found, made, given))

    def prepare(self, made: Any, arrays: list[Any], given: tuple[Any, ...]) -> None:
        """Fill the table in; with -1, which matches no dtype, if the function does not take such operands."""
        taken = self.operands(given)
        if taken is None or any(a is not b for a, b in zip(taken, given)):  # or they would be converted
            self.table[DTYPES] = -1
            return
        sequence = [made, *arrays, *arrays[:1] * (ARRAYS - len(arrays))]
        self.dtypes = [each.dtype for each in sequence]
        self.table[ITEMS : ITEMS + len(sequence)] = [each.itemsize for each in sequence]
        self.table[COST], self.table[LOOP] = self.cost, self.loop(given, NEXT)
        self.table[DTYPES : DTYPES + len(sequence)] = [id(each) for each in self.dtypes]

    def loop(self, given: tuple[Any, ...], second: str) -> int:
        """The address of the loop for a second array that is contiguous (`NEXT`) or one element (`SAME`)."""
        chars, made = [each.dtype.char for each in given if type(each) is np.ndarray], self.dtypes[0].char
        number, follows = "d" if "d" in chars else "f", iter([NEXT, second, NEXT])
        marks = [
            f"{number} {NUMBER}" if type(each) is float else f"{each.dtype.char} {next(follows)}" for each in given
        ]
        return compiled_loop("|".join([self.key, f"{made} {NEXT}", *marks]))


def contiguous_kernel(
    key: str, count: int, element: Any, cost: int, operands: Operands, fallback: Any
) -> Callable[..., Any]:
    """A kernel of ``count`` operands, which may be followed by the array to write to.

    Parameters
    ----------
    key, cost, operands
        See `ContiguousLoop`.
    count : int
        Number of operands: arrays, and numbers behind them.
    element : numpy.dtype or None
        Of the result; None for that of the last array.
    fallback : callable
        Called with the tuple of arguments where they have other layouts or dtypes.
    """
    makers = {1: unary_kernel, 2: binary_kernel, 3: ternary_kernel}
    return makers.get(count, nary_kernel)(key, element, cost, operands, fallback)


def unary_kernel(key: str, element: Any, cost: int, operands: Operands, fallback: Any) -> Callable[..., Any]:
    """`contiguous_kernel` for one array."""
    variant = ContiguousLoop(key, cost, operands)
    address = variant.address

    def run(a: Any, out: Any = None) -> Any:
        if out is None:
            if type(a) is not np.ndarray:
                return fallback((a,))
            writes = destination.array is a and is_written(key, a)
            made = a if writes else np.empty_like(a, element)
        elif out is a:
            made = a
        else:
            return fallback((a, out))
        place = id(a)
        state = launch_contiguous(address, id(made), place, place, place, 0.0, 0.0, 0.0)
        if state == DONE or variant.retry(state, made, (a,)):
            return made
        return fallback((a,) if out is None else (a, out))

    return run


def binary_kernel(key: str, element: Any, cost: int, operands: Operands, fallback: Any) -> Callable[..., Any]:
    """`contiguous_kernel` for two arrays, or one and a number."""
    arrays, number_behind, number_before = [ContiguousLoop(key, cost, operands) for _ in range(3)]

    def run(a: Any, b: Any, out: Any = None) -> Any:
        first, second, number, variant = a, b, 0.0, arrays
        if type(a) is not np.ndarray:
            if type(a) is not float or type(b) is not np.ndarray or out is not None:
                return fallback((a, b) if out is None else (a, b, out))
            first, number, variant = b, a, number_before
        elif type(b) is float:
            second, number, variant = a, b, number_behind
        elif type(b) is not np.ndarray:
            return fallback((a, b) if out is None else (a, b, out))
        if out is None:
            writes = destination.array is a and is_written(key, a)
            made = a if writes else np.empty_like(first, element)
        elif out is a:
            made = a
        else:
            return fallback((a, b, out))
        place = id(first)
        state = launch_contiguous(variant.address, id(made), place, id(second), place, number, 0.0, 0.0)
        if state == DONE or variant.retry(state, made, (a, b)):
            return made
        return fallback((a, b) if out is None else (a, b, out))

    return run


def ternary_kernel(key: str, element: Any, cost: int, operands: Operands, fallback: Any) -> Callable[..., Any]:
    """`contiguous_kernel` for three operands."""
    one_array, two_arrays, three_arrays = [ContiguousLoop(key, cost, operands) for _ in range(3)]

    def run(*given: Any) -> Any:
        if len(given) != 3 or type(given[0]) is not np.ndarray:
            return fallback(given)
        a, b, c = given
        second, third, p, q, variant = a, a, 0.0, 0.0, one_array
        if type(b) is np.ndarray:
            second, variant = b, two_arrays
            if type(c) is np.ndarray:
                third, variant = c, three_arrays
            else:
                p = c
        else:
            p, q = b, c
        if type(p) is not float or type(q) is not float:
            return fallback(given)
        writes = destination.array is a and is_written(key, a)
        last = third if variant is three_arrays else second
        made = a if writes else np.empty_like(a, element or last.dtype)
        place = id(a)
        state = launch_contiguous(variant.address, id(made), place, id(second), id(third), p, q, 0.0)
        return made if state == DONE or variant.retry(state, made, given) else fallback(given)

    return run


def nary_kernel(key: str, element: Any, cost: int, operands: Operands, fallback: Any) -> Callable[..., Any]:
    """`contiguous_kernel` for more operands."""
    variants = [ContiguousLoop(key, cost, operands) for _ in range(ARRAYS)]

    def run(*given: Any) -> Any:
        first, count = given[0], 0
        while count < len(given) and type(given[count]) is np.ndarray:
            count += 1
        arrays, numbers = given[:count], given[count:]
        if not count or any(type(each) is not float for each in numbers):
            return fallback(given)
        writes = destination.array is first and is_written(key, first)
        made = first if writes else np.empty_like(first, element or arrays[-1].dtype)
        variant, places = variants[count - 1], map(id, (made, *arrays, *[first] * (ARRAYS - count)))
        state = launch_contiguous(variant.address, *places, *numbers, *[0.0] * (NUMBERS - len(numbers)))
        return made if state == DONE or variant.retry(state, made, given) else fallback(given)

    return run
