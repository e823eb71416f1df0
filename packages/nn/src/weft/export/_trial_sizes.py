"""Which sizes inputs have in the recordings of a program."""

from __future__ import annotations

import random
from collections.abc import Iterator

from weft.export.dynamic_shapes import Dim
from weft.export.errors import UserError

__all__ = ["FEW", "MANY", "selected_rows", "trials"]

# By how much sizes differ. Among the first three of each row and 0 are all remainders of 2, 3 and 4, so that divisions
# show, and the large ones differ also when they were halved five times. Where these leave a choice, the rest follows.
OFFSETS = (
    (5, 10, 19, 3, 8, 14, 17, 12),
    (10, 5, 15, 8, 3, 12, 14, 17),
    (7, 14, 25, 12, 17, 3, 8, 10),
    (13, 11, 6, 17, 12, 8, 3, 10),
)
LARGE_OFFSETS = (
    (33, 50, 67, 77, 92, 104, 119, 54),
    (67, 33, 50, 54, 119, 77, 104, 92),
    (50, 67, 33, 104, 77, 54, 92, 119),
    (67, 50, 33, 92, 54, 119, 77, 104),
)
LARGE = 32
NEAR_OFFSETS = ((1, 2, 3, 4, 5, 6, 7, 8), (3, 1, 2, 6, 4, 5, 8, 7), (2, 3, 1, 5, 6, 4, 7, 8), (3, 2, 1, 8, 7, 6, 5, 4))
FEW, MANY = 3, len(OFFSETS[0])  # recordings beside the first
UNITS = (2, 4, 8, 16, 32)


def trials(symbols: dict[str, tuple[Dim, int]], count: int) -> Iterator[dict[str, tuple[int, ...]]]:
    """The sizes of all symbols in some recordings: first those that show most, others for programs that refuse these.

    1 and 0 are not among them: with such sizes programs may do other things.

    Parameters
    ----------
    symbols : dict
        From names to the dimension, and its size in the example.
    count : int
        How many there are beside the first.
    """
    for choose in (larger, smaller, *UNITS, near):
        found = {}
        for number, (name, (dim, size)) in enumerate(symbols.items()):
            start = min(max(size, 2, dim.min), dim.max)
            row = number % len(OFFSETS)
            chosen = multiples(start, choose, row, count) if isinstance(choose, int) else choose(start, dim, row, count)
            if max(chosen) > dim.max:
                chosen = spread(least_of(dim), dim, row, count)
            found[name] = chosen
        yield found


def selected_rows(number: int, at: int = 0) -> int:
    """How many rows a selection by values has in a recording: numbers that no formula of other sizes gives."""
    return random.Random(1000 * number + at).randrange(3, 60)


def larger(start: int, dim: Dim, row: int, count: int) -> tuple[int, ...]:
    offsets = (LARGE_OFFSETS if start >= LARGE else OFFSETS)[row]
    return (start, *(start + each for each in offsets[:count]))


def smaller(start: int, dim: Dim, row: int, count: int) -> tuple[int, ...]:
    """For what has a largest size: positions that are learned."""
    if start < 6:
        return larger(start, dim, row, count)
    return spread(least_of(dim), dim.between(dim.min, start), row, count)


def least_of(dim: Dim) -> int:
    """The least size to try; 1 and 0 only where there are not two others."""
    return max(dim.min, min(2, dim.max - 1))


def multiples(start: int, unit: int, row: int, count: int) -> tuple[int, ...]:
    """For what takes sizes alone that a number divides: in another order for each symbol, so that none is another."""
    return (start, *(start + unit * each for each in NEAR_OFFSETS[row][:count]))


def near(start: int, dim: Dim, row: int, count: int) -> tuple[int, ...]:
    return (start, *(start + each for each in NEAR_OFFSETS[row][:count]))


def spread(least: int, dim: Dim, row: int, count: int) -> tuple[int, ...]:
    """Sizes of a range, in another order for each symbol."""
    most = dim.max
    if most <= least:
        raise UserError(f"export: {dim.name} may be {dim.min} to {dim.max}; too few sizes to see what depends on it")
    steps = min(count, most - least)
    found = [least + (most - least) * place // steps for place in range(steps + 1)]
    return tuple(found[(place * (row + 1) + row) % len(found)] for place in range(count + 1))
