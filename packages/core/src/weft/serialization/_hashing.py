"""Keys of dicts and sets that a file could choose so that each is compared with all before it.

Texts are hashed with a secret; numbers, and tuples of them, are not. Whoever knows how Python's tables are searched can
write a million integers of which each is looked for in half of the table. So the search is followed here for every
container that is large enough for it to matter, before Python does it, and each comparison is charged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pickle import UnpicklingError
from typing import Any

from weft.serialization._budget import Budget

SALTED = {str, bytes}  # whose hashes nobody can predict
SIMPLE = {str, bytes, int, bool, float, type(None)}  # of which few can have one hash
SIMPLE_INTEGERS = 1 << 60  # below, the hash of an integer is the integer
PARTS = 1000  # values inside one key; hashing nested tuples is recursive in C
ALIKE = 100  # different keys with one hash: each is compared with all before it
FEW = 2000  # keys of a container that is too small to be searched for long
PERTURB_SHIFT, LINEAR_PROBES = 5, 9  # of CPython's tables
UNSIGNED = (1 << 64) - 1
STEPS_OF_A_KEY, STEPS_OF_A_LOOK = 3, 2  # here, which is much slower than in C
MEMORY_OF_A_KEY = 48


class Keys:
    """Checks all keys of one load before they are hashed or put into a container."""

    def __init__(self, budget: Budget, source: str) -> None:
        self._budget = budget
        self._source = source
        self._alike: dict[bytes, list[Any]] = {}  # by hash, keys that are none of `SIMPLE`
        self._tables: dict[int, tuple[Any, Table]] = {}  # by id, the container and how it is searched

    def check(self, keys: Sequence[Any], container: Any) -> None:
        """Refuse keys that would take the interpreter down, or too long.

        Parameters
        ----------
        keys : sequence
        container : dict or set
            Where they go next, in this order.

        Raises
        ------
        pickle.UnpicklingError
        TypeError
            If one cannot be hashed.
        """
        kinds = set(map(type, keys))
        table = self._tables.get(id(container)) if self._tables else None
        if table is None and kinds <= SALTED:
            return
        if not kinds <= SIMPLE or (int in kinds and not _are_simple(keys)):
            for key in keys:
                self._check_one(key)
        if table is not None:
            table[1].add(keys, self._budget)
        elif len(container) + len(keys) > FEW and not _are_dense(keys, kinds, container):
            made = Table(isinstance(container, set))
            self._tables[id(container)] = container, made
            made.add(container, self._budget)
            made.add(keys, self._budget)

    def _check_one(self, key: Any) -> None:
        kind = type(key)
        if kind in SIMPLE and (kind is not int or -SIMPLE_INTEGERS < key < SIMPLE_INTEGERS):
            return
        waiting, seen = [key], 0
        while waiting:
            part = waiting.pop()
            seen += 1
            if seen > PARTS:
                raise self._refused(f"a dict key or set item of more than {PARTS} parts")
            if isinstance(part, tuple | frozenset):
                waiting.extend(part)
            elif type(part) is int:
                self._budget.spend(part.bit_length() >> 6)  # hashed anew each time
        alike = self._alike.setdefault(hash(key).to_bytes(8, "little", signed=True), [])
        self._budget.spend(seen * (1 + len(alike)))
        if key not in alike:
            alike.append(key)
            self._budget.take(300)
            if len(alike) > ALIKE:
                raise self._refused(f"more than {ALIKE} different dict keys or set items with one hash")

    def _refused(self, what: str) -> UnpicklingError:
        return UnpicklingError(f"load: the pickle in {self._source} has {what}")


def _are_simple(keys: Sequence[Any]) -> bool:
    integers = [key for key in keys if type(key) is int]
    return min(integers) > -SIMPLE_INTEGERS and max(integers) < SIMPLE_INTEGERS


def _are_dense(keys: Sequence[Any], kinds: set[type], container: Any) -> bool:
    """Whether the keys are integers from 0 on, of which each has a place of its own in the table, as all before have.

    A table has at least half again as many places as keys; what a container of `FEW` keys had before matters to few.
    """
    if kinds != {int} or min(keys) < 0 or max(keys) >= len(container) * 3 // 2:
        return False
    return len(container) > 2 * FEW or set(map(type, container)) == {int}


class Table:
    """The hash table of a dict or set as CPython keeps it: which of its places are taken, and by what hash."""

    def __init__(self, of_a_set: bool) -> None:
        self._of_a_set = of_a_set
        self._places: list[int | None] = [None] * 8
        self._codes: list[int] = []  # in the order in which they came

    def __len__(self) -> int:
        """How many places the table has."""
        return len(self._places)

    def add(self, keys: Collection[Any], budget: Budget) -> None:
        """Find the keys' places one after the other, and charge each place that is looked at."""
        budget.spend(STEPS_OF_A_KEY * len(keys))
        budget.take(MEMORY_OF_A_KEY * len(keys))
        places, codes, mask, most = self._places, self._codes, len(self._places) - 1, self._most()
        for key in keys:
            code = hash(key)
            place = code & mask
            if places[place] is not None:
                place = self._search(code, budget)
                if places[place] is not None:
                    continue
            places[place] = code
            codes.append(code)
            if len(codes) > most:
                self._grow(budget)
                places, mask, most = self._places, len(self._places) - 1, self._most()

    def _most(self) -> int:
        """How many keys the table takes before it grows."""
        return (3 * len(self._places) - 4) // 5 if self._of_a_set else 2 * len(self._places) // 3

    def _search(self, code: int, budget: Budget) -> int:
        """The first place of a search, as `lookdict` and `set_add_entry` make it, that is free or has this hash."""
        places, mask = self._places, len(self._places) - 1
        near = LINEAR_PROBES if self._of_a_set else 0
        perturb, place, looked = code & UNSIGNED, code & mask, 0
        while True:
            for after in range(place, place + near + 1) if near and place + near <= mask else (place,):
                found = places[after]
                looked += STEPS_OF_A_LOOK
                if found is None or found == code:
                    budget.spend(looked)
                    return after
            if looked > budget.steps:
                budget.spend(looked)
            perturb >>= PERTURB_SHIFT
            place = (5 * place + perturb + 1) & mask

    def _grow(self, budget: Budget) -> None:
        """Make a larger table, as large as CPython would, and put all keys in."""
        count = len(self._codes)
        factor = (2 if count > 50_000 else 4) if self._of_a_set else 3
        size = 1 << (factor * count - (0 if self._of_a_set else 4)).bit_length()
        budget.take(8 * (size - len(self._places)))
        budget.spend(STEPS_OF_A_KEY * count)
        places: list[int | None] = [None] * size
        self._places = places
        mask = size - 1
        for code in self._codes:
            place = code & mask
            places[place if places[place] is None else self._search(code, budget)] = code
