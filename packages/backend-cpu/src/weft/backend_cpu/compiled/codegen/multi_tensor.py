"""Lists of arrays in one launch, as multi-tensor optimizers need them.

A launcher gets the arrays' identities, finds their memory (see `array_header`), and cuts the elements of all of them as
one range, evenly among threads, whatever the arrays' sizes are::

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

from weft.backend_cpu.compiled.codegen.array_header import (
    ALIGNED,
    CONTIGUOUS,
    FLAGS,
    HEAD,
    WRITABLE,
    rank_of,
    size_at,
    word_at,
)
from weft.backend_cpu.compiled.codegen.parallel import loop

__all__ = ["find_memory", "identities", "row_at"]


@loop
def row_at(starts, index):
    """The row that has an index of the whole range; rows may be empty."""
    return np.searchsorted(starts, index, side="right") - 1


@loop
def find_memory(table, starts, read_only):
    """Replace the identities in a table, one array in each row and column, by addresses; and find where rows start.

    Returns
    -------
    bool
        Whether all arrays are contiguous, and those of a row of one size. Arrays in the column ``read_only`` need not
        be writable.
    """
    columns, rows = table.shape
    starts[0] = 0
    for row in range(rows):
        for column in range(columns):
            array = table[column, row]
            wanted = CONTIGUOUS | ALIGNED | (0 if column == read_only else WRITABLE)
            if word_at(array + FLAGS) & wanted != wanted:
                return False
            size = 1
            for dim in range(rank_of(array)):
                size *= size_at(array, dim)
            if column == 0:
                starts[row + 1] = starts[row] + np.uintp(size)
            elif np.uintp(size) != starts[row + 1] - starts[row]:
                return False
            table[column, row] = word_at(array + HEAD)
    return True


def identities(columns: Sequence[Iterable[Any]], rows: int) -> Any:
    """Those of the arrays in some lists of equal length, as a table for `find_memory`: a line for each list."""
    count = len(columns) * rows
    return np.fromiter(map(id, chain.from_iterable(columns)), np.int64, count).reshape(len(columns), rows)
