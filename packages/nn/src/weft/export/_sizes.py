"""Sizes that may change: integer polynomials in symbols, found for numbers that were seen in several recordings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

__all__ = ["Repeated", "Size", "Solver", "TooFewSizes", "line_through"]

LARGEST_DIVISOR = 8  # of quotients
LARGEST_FACTOR = 4  # in sums of two symbols, for which this many recordings are needed
FEWEST = 4
Term = tuple[str, ...]  # the symbols of a product, sorted; of the constant none


class Size:
    """A size that depends on those of the inputs: a polynomial with integer coefficients, ``2*batch*length + 1``.

    Attributes
    ----------
    terms : dict
        From products of symbols, as sorted tuples of names, to their coefficients.
    hint : int
        What it was in the first recording.
    """

    def __init__(self, terms: Mapping[Term, int], hint: int) -> None:
        self.terms = {term: factor for term, factor in terms.items() if factor}
        self.hint = hint

    @property
    def symbols(self) -> list[str]:
        """The symbols in it, each once."""
        return list(dict.fromkeys(name for term in self.terms for name in term))

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The number that it is where the symbols are these.

        Raises
        ------
        KeyError
            If one is missing.
        """
        return sum(factor * math.prod(values[name] for name in term) for term, factor in self.terms.items())

    def __str__(self) -> str:
        parts = []
        for term, factor in sorted(self.terms.items(), key=lambda item: (-len(item[0]), item[0])):
            words = [str(factor)] if factor != 1 or not term else []
            parts.append("*".join([*words, *term]))
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))


class Repeated:
    """A list of equal numbers, as long as a size says: the rows of each step of a sequence.

    Attributes
    ----------
    value, count : int or Size
    """

    def __init__(self, value: Any, count: Any) -> None:
        self.value = value
        self.count = count

    def __repr__(self) -> str:
        return f"[{self.value}]*({self.count})"


class TooFewSizes(Exception):
    """Numbers that may depend on a size in several ways: more recordings tell which."""


class Solver:
    """Finds the sizes that numbers depend on, by what they were in each recording.

    Attributes
    ----------
    inputs : dict
        From symbols of the inputs to what they were.
    inner : dict
        The same for sizes of results that are no polynomial in those, such as a convolution's.
    """

    def __init__(self, inputs: Mapping[str, Sequence[int]]) -> None:
        self.inputs = {name: tuple(values) for name, values in inputs.items()}
        self.inner: dict[str, tuple[int, ...]] = {}

    def of_inputs(self, values: Sequence[int]) -> Any:
        """The number, or the `Size` in symbols of the inputs; None if there is none."""
        if len(set(values)) == 1:
            return values[0]
        values = tuple(values)
        return line(values, self.inputs) or product(values, self.inputs) or plane(values, self.inputs)

    def of_result(self, values: Sequence[int]) -> Any:
        """The same for a size of a result, which may also be that of another result."""
        found = self.of_inputs(values)
        return self.named(tuple(values)) if found is None else found

    def of_argument(self, values: Sequence[int], near: Sequence[str]) -> Any:
        """The same in symbols of the inputs and of results; those first that the op's own tensors have."""
        found = self.of_inputs(values)
        if found is not None:
            return found
        values = tuple(values)
        own = {name: self.inner[name] for name in near if name in self.inner}
        both = {**self.inputs, **own}
        return line(values, own) or product(values, both) or self.named(values) or line(values, self.inner)

    def named(self, values: tuple[int, ...]) -> Size | None:
        """The symbol of a result that was so in all recordings."""
        name = next((name for name, seen in self.inner.items() if seen == values), None)
        return None if name is None else Size({(name,): 1}, values[0])

    def of_sums(self, values: Sequence[int], near: Sequence[str]) -> Size | None:
        """A sum of two sizes, of inputs and of the op's own tensors."""
        return plane(tuple(values), {**self.inputs, **{name: self.inner[name] for name in near if name in self.inner}})

    def quotient(self, values: Sequence[int], near: Sequence[str]) -> tuple[str, int, int] | None:
        """The symbol, and the integers ``b`` and ``q`` of ``(symbol + b) // q``, where there is one such quotient.

        Sizes of the op's own tensors come first: windows slide over those.

        Raises
        ------
        TooFewSizes
            If there are several.
        """
        symbols = {**self.inputs, **self.inner}
        for name in dict.fromkeys((*near, *reversed(self.inner), *self.inputs)):
            seen = symbols[name]
            fitting = [
                (divisor, start)
                for divisor in range(2, LARGEST_DIVISOR + 1)
                for start in range(values[0] * divisor - seen[0], (values[0] + 1) * divisor - seen[0])
                if all((one + start) // divisor == value for one, value in zip(seen, values))
            ]
            if len(fitting) == 1:
                return name, fitting[0][1], fitting[0][0]
            if fitting:
                raise TooFewSizes(f"{', '.join(map(str, values))} are several quotients of {name}")
        return None


def line(values: tuple[int, ...], symbols: Mapping[str, Any]) -> Size | None:
    """A multiple of one symbol and a constant; the symbol itself, where there is one."""
    for name, seen in symbols.items():
        if seen == values:
            return Size({(name,): 1}, values[0])
    for name, seen in symbols.items():
        made = line_through(seen, values)
        if made is not None:
            return Size({(name,): made[0], (): made[1]}, values[0])
    return None


def product(values: tuple[int, ...], symbols: Mapping[str, Any]) -> Size | None:
    """A multiple of a product of symbols, and of two also a constant."""
    for count in (2, 3):
        for names in itertools.combinations_with_replacement(symbols, count):
            numbers = [math.prod(each) for each in zip(*(symbols[name] for name in names))]
            made = line_through(numbers, values)
            if made is not None and (not made[1] or count == 2):
                return Size({tuple(sorted(names)): made[0], (): made[1]}, values[0])
    return None


def plane(values: tuple[int, ...], symbols: Mapping[str, Any]) -> Size | None:
    """A sum of multiples of two symbols and a constant, where there are recordings enough to be sure."""
    if len(values) < FEWEST:
        return None
    for names in itertools.combinations(symbols, 2):
        matrix = numpy.array([*(symbols[name] for name in names), [1] * len(values)], float).T
        factors = numpy.rint(numpy.linalg.lstsq(matrix, numpy.array(values, float), rcond=None)[0]).astype(int)
        if (matrix @ factors == values).all() and (abs(factors[:2]) <= LARGEST_FACTOR).all():
            terms: dict[Term, int] = {(name,): int(factor) for name, factor in zip(names, factors)}
            return Size({**terms, (): int(factors[-1])}, values[0])
    return None


def line_through(xs: Sequence[int], ys: Sequence[int]) -> tuple[int, int] | None:
    """The integers ``a`` and ``b`` of ``y = a * x + b``; None if the points are on no such line."""
    at = next((place for place in range(1, len(xs)) if xs[place] != xs[0]), None)
    if at is None:
        return None
    slope, rest = divmod(ys[at] - ys[0], xs[at] - xs[0])
    start = ys[0] - slope * xs[0]
    if rest or not slope or any(y != slope * x + start for x, y in zip(xs, ys)):
        return None
    return slope, start
