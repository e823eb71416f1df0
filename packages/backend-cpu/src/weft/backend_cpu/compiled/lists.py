"""Lists of arrays in one launch: where the arrays lie in memory, and which part of which one a thread takes.

Numba takes lists of arrays slowly, one by one, and asking an array for its address in Python costs as much as a small
array's arithmetic. So a launcher gets the identities of the arrays, and reads in compiled code what is at them: the
structure ``PyArrayObject_fields`` of NumPy's C interface.

All elements of all arrays are one range, which `parallel` cuts evenly, whatever the arrays' sizes are::

    @loop
    def negate_loop(table, starts, like, lo, hi):
        row = row_at(starts, lo)
        while lo < hi:
            first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
            x = array_at(table[0, row], stop, like)
            for i in range(first, stop):
                x[i] = -x[i]
            lo = starts[row] + stop
            row += 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from weft.backend_cpu.compiled.parallel import loop

__all__ = ["array_at", "find", "identities", "row_at"]

HEAD = object.__basicsize__  # what comes before an array's fields: data, number of dimensions, sizes, strides, ...
WRITABLE, READABLE = 0x0501, 0x0101  # flags: contiguous as C has it, aligned, and may be written to


@intrinsic
def word_at(typingctx: Any, address: Any) -> Any:
    """The eight bytes at an address, as an integer."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load(builder.inttoptr(values[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), generate


@intrinsic
def pointer(typingctx: Any, address: Any, like: Any) -> Any:
    """An address as a pointer to elements of an array's dtype."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(types.int64, like), generate


@loop
def array_at(address, size, like):
    """The elements at an address, as a flat array of the dtype of ``like``."""
    return carray(pointer(address, like), size)


@loop
def row_at(starts, index):
    """The row that has an index of the whole range; rows may be empty."""
    return np.searchsorted(starts, index, side="right") - 1


@loop
def find(table, starts, read_only):
    """Replace the identities in a table, one array in each row and column, by addresses; and find where rows start.

    Returns
    -------
    bool
        Whether all arrays are flat in memory, and those of a row of one size. Arrays in the column ``read_only`` need
        not be writable.
    """
    columns, rows = table.shape
    starts[0] = 0
    for row in range(rows):
        for column in range(columns):
            array = table[column, row] + HEAD
            wanted = READABLE if column == read_only else WRITABLE
            if word_at(array + 48) & wanted != wanted:
                return False
            size = 1
            for dim in range(word_at(array + 8) & 0xFFFFFFFF):
                size *= word_at(word_at(array + 16) + 8 * dim)
            if column == 0:
                starts[row + 1] = starts[row] + np.uintp(size)
            elif np.uintp(size) != starts[row + 1] - starts[row]:
                return False
            table[column, row] = word_at(array)
    return True


def identities(columns: Sequence[Iterable[Any]], rows: int) -> Any:
    """Those of the arrays in some lists of equal length, as a table for `find`: a line for each list."""
    count = len(columns) * rows
    return np.fromiter(map(id, chain.from_iterable(columns)), np.int64, count).reshape(len(columns), rows)
