"""Recordings at sizes at which a program may do other things than at those that were tried.

Comparisons of sizes are guards where they are seen (`_size_guards`). These are not: those of plain numbers that Python
made of sizes (``0.5 * x.shape[0] > 50``), and slices, which end where the tensor does. The program is recorded at the
sizes that its own numbers suggest, too. What it does there has to be what the graph does, or else is an error.
"""

from __future__ import annotations

import dis
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from weft.export._graph import check_same_calls
from weft.export._recording import Recording
from weft.export._size_guards import Leaf, value_of
from weft.export._sizes import line_through
from weft.export.dynamic_shapes import Dim
from weft.export.errors import UserError

__all__ = ["Prober"]

LEAST = 2  # programs may do other things with one row or none, see `trials`
DOUBLINGS = range(5, 13)  # of a comparison that comes out one way for all large sizes, one of these sees the other
FEWEST, MOST = 4, 64  # sizes that are tried for each symbol: fewer of programs of many ops
MOST_CALLS = 5000  # of all of them
MOST_ELEMENTS = 2**24  # of the largest value at sizes that are tried
MOST_NUMBERS = 64  # in a container that a function compares with
EXTREMES = frozenset("min max sorted".split())
NUMBERS = (int, float)
COMPARED = (*NUMBERS, tuple, frozenset)  # types of constants that sizes are compared with


class Prober:
    """Records a program at more sizes.

    Parameters
    ----------
    recordings : list of Recording
        At the sizes that were tried; others are added.
    values : dict
        From symbols to what they were in each of them.
    dims : dict
        From symbols to the dimensions.
    record : callable
        From the values of all symbols to a recording.
    """

    def __init__(
        self,
        recordings: Sequence[Recording],
        values: Mapping[str, Sequence[int]],
        dims: Mapping[str, Dim],
        record: Callable[[dict[str, int]], Recording],
    ) -> None:
        self.recordings = list(recordings)
        self.values = {name: list(each) for name, each in values.items()}
        self.dims, self.record = dims, record
        self.example = {name: each[0] for name, each in values.items()}
        counts = elements(recordings)
        least, most = counts.index(min(counts)), counts.index(max(counts))
        grown = max([1.5, *(each[most] / max(each[least], 1) for each in values.values())])
        self.largest = counts[0]
        self.exponent = max(math.log(counts[most] / counts[least]) / math.log(grown), 1)
        self.outcomes: dict[Any, set[bool]] = {}
        for each in recordings:
            for comparison, found in each.comparisons.outcomes.items():
                self.outcomes.setdefault(comparison, set()).update(found)

    def run(self) -> None:
        """Add a recording for each size that may matter, and guards on those that cannot be tried.

        Raises
        ------
        UserError
            If the program does other things at one of them.
        """
        self.probe_slices()
        self.probe_extremes()
        blind = list(self.blind_functions())
        if not blind:
            return
        numbers = sorted({number for each in blind for number in numbers_of(*each)})
        count = min(MOST, max(FEWEST, MOST_CALLS // len(self.recordings[0].calls or [1])))
        for name, size in self.example.items():
            found = [other for other in self.sizes(name, size, numbers) if self.is_possible(name, other)]
            for other in sorted(found[:count]):
                self.probe(name, other)

    # One size

    def probe(self, name: str, size: int) -> bool:
        """Record the program where a symbol is another number; whether it does what it did.

        Raises
        ------
        UserError
            If it does other things, and no guard says so.
        """
        made = self.recorded(name, size)
        if made is None:
            return False
        try:
            check_same_calls([self.recordings[0], made])
        except UserError as error:
            bound = self.first_other(name, size)
            limit = f"max={bound - 1}" if bound > self.example[name] else f"min={bound + 1}"
            advice = f"Say Dim({name!r}, {limit}), or compare the size itself" if name.isidentifier() else "Avoid it"
            raise UserError(
                f"{error}. That is so where {name} is {bound}, by a comparison that is not seen (of a number such as "
                f"0.5 * size, of a key of a dict). {advice}"
            ) from None
        self.recordings.append(made)
        for other, seen in self.values.items():
            seen.append(size if other == name else self.example[other])
        return True

    def recorded(self, name: str, size: int) -> Recording | None:
        """The recording; None where the program fails, or guards say that the size is none of its."""
        if not self.is_possible(name, size):
            return None
        try:
            made = self.record({**self.example, name: size})
        except Exception:
            return None
        for comparison, found in made.comparisons.outcomes.items():
            known = self.outcomes.get(comparison, found)
            if len(known) == 1 and known != found:
                return None
        return made

    def is_possible(self, name: str, size: int) -> bool:
        """Whether a size is one of the program's that was not tried, and takes little memory."""
        dim = self.dims[name]
        if size < LEAST or not dim.min <= size <= dim.max or size in self.values[name]:
            return False
        growth = max(size / max(self.example[name], 1), 1)
        return self.largest * growth**self.exponent <= max(MOST_ELEMENTS, self.largest)

    def first_other(self, name: str, outside: int) -> int:
        """The size nearest to the example's at which the program does other things, between those that were tried."""
        between = [size for size in self.values[name] if min(outside, self.example[name]) <= size <= outside]
        inside = max(between) if outside > self.example[name] else self.example[name]
        while abs(outside - inside) > 1:
            middle = (inside + outside) // 2
            made = self.recorded(name, middle)
            if made is None or is_same(self.recordings[0], made):
                inside = middle
            else:
                outside = middle
        return outside

    # Slices

    def probe_slices(self) -> None:
        """A size on the other side of each bound that is a number; a guard where there is none."""
        slices = {key: line for each in self.recordings for key, line in each.comparisons.slices.items()}
        for (leaf, bound), line in slices.items():
            sizes = self.sizes_of(leaf)
            if len(set(sizes)) == 1 or min(sizes) < bound < max(sizes):
                continue
            end = bound + (min(sizes) < bound)  # the least size on the upper side, of which the bound is on both
            crossing = self.crossing(sizes, end)
            if crossing is not None and (crossing[1] < LEAST or self.probe(*crossing)):
                continue
            for each in self.recordings:
                each.comparisons.add(("lt", leaf, end), min(sizes) < bound, line)

    # The smaller and the larger of two

    def probe_extremes(self) -> None:
        """A size at which the other number is the smaller one; a guard where there is none."""
        extremes = {key: line for each in self.recordings for key, line in each.comparisons.extremes.items()}
        for (_, one, other), line in extremes.items():
            apart = [value_of(one, each) - value_of(other, each) for each in self.recordings]
            if len(set(apart)) == 1 or min(apart) < 0 < max(apart):
                continue
            crossing = self.sign_change(apart)
            if crossing is not None and self.probe(*crossing):
                continue
            for each in self.recordings:
                each.comparisons.add(("lt", one, other), value_of(one, each) < value_of(other, each), line)

    def sign_change(self, apart: Sequence[Any]) -> tuple[str, int] | None:
        """A symbol, and what it is where a difference that has one sign has the other one."""
        if not all(isinstance(each, int) for each in apart):
            return None
        for numbers in (apart, [-each for each in apart]):
            crossing = self.crossing(numbers, 1 if max(numbers) <= 0 else 0)
            if crossing is not None:
                return crossing
        return None

    def sizes_of(self, leaf: Leaf) -> list[int]:
        return [each.kinds[leaf.slot].shape[leaf.dim] for each in self.recordings]

    def crossing(self, sizes: Sequence[int], end: int) -> tuple[str, int] | None:
        """A symbol, and what it is where a size is on the other side of the least one that is large."""
        for name, seen in self.values.items():
            found = line_through(seen, sizes)
            if found is not None and found[0] > 0:
                least = -(-(end - found[1]) // found[0])
                return name, least if sizes[0] < end else least - 1
        return None

    # Numbers of the program

    def blind_functions(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The functions that have sizes which may change, and compare what is not seen."""
        compared = {place for each in self.recordings for place in each.comparisons.compared}
        chosen = {place for each in self.recordings for place in each.comparisons.chosen}
        escapes = {code for each in self.recordings for code in each.comparisons.escapes}
        found: dict[Any, dict[str, Any]] = {}
        for each in self.recordings:
            for code, (namespace, leaves) in each.comparisons.functions.items():
                if any(len(set(self.sizes_of(leaf))) > 1 for leaf in leaves):
                    found.setdefault(code, namespace)
        return (
            (code, names)
            for code, names in found.items()
            if code in escapes or compares_blindly(code, compared, chosen)
        )

    def sizes(self, name: str, size: int, numbers: Sequence[float]) -> list[int]:
        """Sizes near which a comparison with one of some numbers may come out otherwise, and ever larger ones."""
        found = [
            near for number in numbers for near in (math.floor(number) + 1, math.floor(number), math.ceil(number) - 1)
        ]
        found += [2**power + 1 for power in DOUBLINGS]
        others = {other for key, other in self.example.items() if key != name}
        for unit in sorted({2, 4, 8, *others, *self.units(size)} - {0, 1}):
            found += [near for number in numbers for near in (math.floor(number / unit), math.floor(number / unit) + 1)]
        found += [math.floor(number) * 2 + offset for number in numbers for offset in (0, 1)]
        return list(dict.fromkeys(found))

    def units(self, size: int) -> set[int]:
        """How many elements an input has for one of a symbol, as programs divide by."""
        first = self.recordings[0]
        counts = [math.prod(first.kinds[slot.number].shape) for slot in first.inputs]
        return {count // size for count in counts if size and count % size == 0}


def is_same(one: Recording, other: Recording) -> bool:
    try:
        check_same_calls([one, other])
    except UserError:
        return False
    return True


def elements(recordings: Sequence[Recording]) -> list[int]:
    """How many elements the largest value has in each recording, of those that grow with a size."""
    shapes = [each for each in zip(*([kind.shape for kind in each.kinds] for each in recordings)) if len(set(each)) > 1]
    return [max(map(math.prod, each), default=1) or 1 for each in zip(*shapes)] or [1] * len(recordings)


def compares_blindly(code: Any, compared: set[tuple[Any, int]], chosen: set[tuple[Any, int]]) -> bool:
    """Whether a function compares numbers elsewhere than where comparisons of sizes were seen."""
    source: Any = None  # of what is compared with a constant
    before: Any = None
    lines = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for each in dis.get_instructions(code):
        line = lines.get(each.offset, line)
        if each.opname in ("COMPARE_OP", "CONTAINS_OP"):
            decides = before is None or before.opname != "LOAD_CONST" or type(before.argval) in COMPARED
            if before is not None and before.opname == "LOAD_CONST" and source is not None:
                decides = decides and (source.opname, source.argval) != ("LOAD_ATTR", "ndim")  # which is no size
        elif each.opname == "LOAD_GLOBAL":
            decides = each.argval in EXTREMES and (code, line) not in chosen
        else:
            decides = (
                "JUMP_IF" in each.opname and before is not None and before.opname in ("BINARY_OP", "BINARY_SUBSCR")
            )
        if decides and (code, each.offset) not in compared:
            return True
        source, before = before, each
    return False


def numbers_of(code: Any, namespace: Mapping[str, Any]) -> set[float]:
    """The numbers that a function knows: in its code, and under the names that it looks up."""
    found = [*code.co_consts, *namespace.values()]
    for value in namespace.values():
        held = getattr(value, "__dict__", {})
        found += [held[name] for name in code.co_names if name in held]
    return {number for each in found for number in plain_numbers(each)}


def plain_numbers(value: Any) -> Iterator[float]:
    if type(value) is str and value.isdecimal() and len(value) < 10:
        yield int(value)
    elif type(value) in NUMBERS:
        number = abs(value)
        if 0 < number < 1:
            number = 1 / number
        if 1 < number < 2**31:
            yield number
    elif isinstance(value, (tuple, list, set, frozenset, dict)) and type(value).__module__ == "builtins":
        for each in [*value][:MOST_NUMBERS]:
            if type(each) in (*NUMBERS, str):
                yield from plain_numbers(each)
