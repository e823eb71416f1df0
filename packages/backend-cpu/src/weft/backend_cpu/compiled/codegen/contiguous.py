"""Elementwise operations on arrays that lie as most do, which compiled code finds out sooner than Python.

All operands lie alike and without gaps; or the second of two is repeated over the dimensions before those that it has,
over those behind them, or both: a row, a column, a channel of images. That takes no plan. What else there is has one,
see `elementwise`.
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
    FEW,
    LINE,
    MANY,
    NEXT,
    NUMBER,
    NUMBERS,
    SAME,
    SHORT,
    call,
    compiled,
    is_written,
)
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel

__all__ = ["quick"]

# A form's table: the dtypes of the result and the operands by their identities, 0 before it is filled in; the bytes of
# their elements; the cost of one; the loop for operands that go on, and that for a second one that is repeated
DTYPES, ITEMS, COST, LOOP, LOOP_OF_REPEATED = 0, 1 + ARRAYS, 2 + 2 * ARRAYS, 3 + 2 * ARRAYS, 4 + 2 * ARRAYS
WORDS = LOOP_OF_REPEATED + 1
OTHER, DONE, UNCOMPILED = 0, 1, 2  # what became of a launch

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
    """How often each element of ``b`` comes when it is broadcast to ``a``, before the next does, and how many it has.

    0, 0 if it has another shape, or its dimensions that are not repeated are apart.
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
    """Whether an array without gaps, of so many bytes, may be written while another such is read."""
    first, second = word_at(out + HEAD), word_at(other + HEAD)
    if first == second and size == other_size and have_one_shape(out, other):  # each element is read before
        return True
    return first + size <= second or second + other_size <= first


@loop
def lines_loop(function, places, numbers, items, length, period, near, far, lo, hi):
    """Lines of so many elements. The second operand goes ``near`` on in each, and ``far`` from one to the next."""
    out, a, b, c = places
    start, stop = np.int64(lo), np.int64(hi)
    line = start // length
    column, turn = start - line * length, line % period
    count = -(out + start * items[0]) % LINE // items[0]  # what is written then, and lies alike, crosses no line of
    count = min(count or length, length - column, stop - start)  # the cache
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
def launch_form(form, out, a, b, c, p, q, r):
    """Run a loop on arrays, by their identities: `DONE`; else nothing is written.

    What is written is an array of the first one's shape: a new one, or the first itself. The first also stands for
    operands that there are not.
    """
    flags = word_at(out + FLAGS) & word_at(a + FLAGS) & word_at(b + FLAGS) & word_at(c + FLAGS)
    known = (word_at(out + DTYPE) == word_at(form)) & (word_at(a + DTYPE) == word_at(form + 8))
    known &= (word_at(b + DTYPE) == word_at(form + 16)) & (word_at(c + DTYPE) == word_at(form + 24))
    if not known or not flags & ALIGNED or not have_one_shape(a, out) or not have_one_shape(a, c):
        return OTHER
    items = form + 8 * ITEMS
    items = word_at(items), word_at(items + 8), word_at(items + 16), word_at(items + 24)
    size = 1
    for dim in range(rank_of(a)):
        size *= size_at(a, dim)
    function, length, period, near, far = word_at(form + 8 * LOOP), size, 1, items[2], 0
    second = size  # elements of the second operand
    if not have_one_shape(a, b):
        times, second = repetition(a, b)
        if times == 1:
            length = second
        else:
            function, length, period, near, far = word_at(form + 8 * LOOP_OF_REPEATED), times, second, 0, items[2]
        short = length < FEW or (length < SHORT and size >= MANY * length)
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
    parallel(lines_loop, arguments, size, size * word_at(form + 8 * COST))
    return DONE


class Form:
    """An operation on a sequence of arrays and numbers, of the dtypes that it first gets.

    Parameters
    ----------
    key : str
        Of an `operation`.
    cost : int
        Of one element, in additions.
    operands : callable
        Says by None that an operation does not take some operands.
    """

    __slots__ = ("address", "cost", "dtypes", "key", "operands", "table")

    def __init__(self, key: str, cost: int, operands: Operands) -> None:
        self.key, self.cost, self.operands = key, cost, operands
        self.table = np.zeros(WORDS, np.int64)
        self.address: int = self.table.ctypes.data
        self.dtypes: list[Any] = []  # while these are kept, no others have their identities

    def again(self, state: int, made: Any, given: tuple[Any, ...]) -> bool:
        """Launch again what was not done, if it can be: whether it is."""
        arrays = [each for each in given if type(each) is np.ndarray]
        if not self.table[DTYPES]:
            self.prepare(made, arrays, given)
        elif state == UNCOMPILED:
            self.table[LOOP_OF_REPEATED] = self.loop(given, SAME)
        else:
            return False
        numbers = [each for each in given if type(each) is float]
        places = map(id, (made, *arrays, *arrays[:1] * (ARRAYS - len(arrays))))
        found = launch_form(self.address, *places, *numbers, *[0.0] * (NUMBERS - len(numbers)))
        return bool(found == DONE) or (found == UNCOMPILED and self.again(found, made, given))

    def prepare(self, made: Any, arrays: list[Any], given: tuple[Any, ...]) -> None:
        """Fill the table in; if the operation does not take such operands, so that it never finds them again."""
        taken = self.operands(given)
        if taken is None or any(a is not b for a, b in zip(taken, given)):  # or converts them
            self.table[DTYPES] = -1
            return
        sequence = [made, *arrays, *arrays[:1] * (ARRAYS - len(arrays))]
        self.dtypes = [each.dtype for each in sequence]
        self.table[ITEMS : ITEMS + len(sequence)] = [each.itemsize for each in sequence]
        self.table[COST], self.table[LOOP] = self.cost, self.loop(given, NEXT)
        self.table[DTYPES : DTYPES + len(sequence)] = [id(each) for each in self.dtypes]

    def loop(self, given: tuple[Any, ...], second: str) -> int:
        """The address of the compiled loop, for a second array that goes on from element to element, or does not."""
        chars, made = [each.dtype.char for each in given if type(each) is np.ndarray], self.dtypes[0].char
        number, follows = "d" if "d" in chars else "f", iter([NEXT, second, NEXT])
        marks = [
            f"{number} {NUMBER}" if type(each) is float else f"{each.dtype.char} {next(follows)}" for each in given
        ]
        return compiled("|".join([self.key, f"{made} {NEXT}", *marks]))


def quick(key: str, count: int, element: Any, cost: int, operands: Operands, others: Any) -> Callable[..., Any]:
    """A kernel of so many operands, and perhaps an array to write to behind them.

    Parameters
    ----------
    key, cost, operands
        See `Form`.
    count : int
        Of arrays and numbers.
    element : numpy.dtype or None
        Of the result; None for that of the last array.
    others : callable
        Takes the arguments, as a tuple, where they have another form.
    """
    makers = {1: quick_of_one, 2: quick_of_two, 3: quick_of_three}
    return makers.get(count, quick_of_more)(key, element, cost, operands, others)


def quick_of_one(key: str, element: Any, cost: int, operands: Operands, others: Any) -> Callable[..., Any]:
    """`quick` for one array."""
    form = Form(key, cost, operands)
    address = form.address

    def run(a: Any, out: Any = None) -> Any:
        if out is None:
            if type(a) is not np.ndarray:
                return others((a,))
            writes = destination.array is a and is_written(key, a)
            made = a if writes else np.empty_like(a, element)
        elif out is a:
            made = a
        else:
            return others((a, out))
        place = id(a)
        state = launch_form(address, id(made), place, place, place, 0.0, 0.0, 0.0)
        if state == DONE or form.again(state, made, (a,)):
            return made
        return others((a,) if out is None else (a, out))

    return run


def quick_of_two(key: str, element: Any, cost: int, operands: Operands, others: Any) -> Callable[..., Any]:
    """`quick` for two arrays, or one and a number."""
    arrays, number_behind, number_before = [Form(key, cost, operands) for _ in range(3)]

    def run(a: Any, b: Any, out: Any = None) -> Any:
        first, second, number, form = a, b, 0.0, arrays
        if type(a) is not np.ndarray:
            if type(a) is not float or type(b) is not np.ndarray or out is not None:
                return others((a, b) if out is None else (a, b, out))
            first, number, form = b, a, number_before
        elif type(b) is float:
            second, number, form = a, b, number_behind
        elif type(b) is not np.ndarray:
            return others((a, b) if out is None else (a, b, out))
        if out is None:
            writes = destination.array is a and is_written(key, a)
            made = a if writes else np.empty_like(first, element)
        elif out is a:
            made = a
        else:
            return others((a, b, out))
        place = id(first)
        state = launch_form(form.address, id(made), place, id(second), place, number, 0.0, 0.0)
        if state == DONE or form.again(state, made, (a, b)):
            return made
        return others((a, b) if out is None else (a, b, out))

    return run


def quick_of_three(key: str, element: Any, cost: int, operands: Operands, others: Any) -> Callable[..., Any]:
    """`quick` for arrays, and numbers behind them, which are three together."""
    one_array, two_arrays, three_arrays = [Form(key, cost, operands) for _ in range(3)]

    def run(*given: Any) -> Any:
        if len(given) != 3 or type(given[0]) is not np.ndarray:
            return others(given)
        a, b, c = given
        second, third, p, q, form = a, a, 0.0, 0.0, one_array
        if type(b) is np.ndarray:
            second, form = b, two_arrays
            if type(c) is np.ndarray:
                third, form = c, three_arrays
            else:
                p = c
        else:
            p, q = b, c
        if type(p) is not float or type(q) is not float:
            return others(given)
        writes = destination.array is a and is_written(key, a)
        last = third if form is three_arrays else second
        made = a if writes else np.empty_like(a, element or last.dtype)
        place = id(a)
        state = launch_form(form.address, id(made), place, id(second), id(third), p, q, 0.0)
        return made if state == DONE or form.again(state, made, given) else others(given)

    return run


def quick_of_more(key: str, element: Any, cost: int, operands: Operands, others: Any) -> Callable[..., Any]:
    """`quick` for arrays, and numbers behind them, of any number together."""
    forms = [Form(key, cost, operands) for _ in range(ARRAYS)]

    def run(*given: Any) -> Any:
        first, count = given[0], 0
        while count < len(given) and type(given[count]) is np.ndarray:
            count += 1
        arrays, numbers = given[:count], given[count:]
        if not count or any(type(each) is not float for each in numbers):
            return others(given)
        writes = destination.array is first and is_written(key, first)
        made = first if writes else np.empty_like(first, element or arrays[-1].dtype)
        form, places = forms[count - 1], map(id, (made, *arrays, *[first] * (ARRAYS - count)))
        state = launch_form(form.address, *places, *numbers, *[0.0] * (NUMBERS - len(numbers)))
        return made if state == DONE or form.again(state, made, given) else others(given)

    return run
