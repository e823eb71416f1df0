"""Formulas: an elementwise op as a function of one element, of which kernels are made.

A formula is a plain Python function. Of numbers it computes a number, of expressions a `Program`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from weft.ops._expressions import Expression, Program, steps_of
from weft.ops._formula_kernels import array_kernels

MAX_KERNELS = 64  # of a formula, by its numbers


class Formula:
    """An elementwise op as a function of one element of each array.

    It can be called as the generic kernel of the op, with an array namespace first.

    Parameters
    ----------
    name : str
        Of the op.
    function : callable
        Of elements of arrays, and behind them of numbers and choices.
    arrays, choices : collection of str
        The arguments that are arrays; and those by which the formula decides, which are no numbers.
    broadcasts : bool
        The arrays may have several shapes, or be numbers; the result lies in memory as NumPy's functions have it. Else
        it lies as the last array.

    Raises
    ------
    TypeError
        If an argument that is no array stands before one.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        arrays: Collection[str],
        choices: Collection[str],
        broadcasts: bool,
    ) -> None:
        code = function.__code__
        self.name = name
        self.function = function
        self.parameters = code.co_varnames[: code.co_argcount]
        self.count = sum(each in arrays for each in self.parameters)
        self.choices = [each for each in self.parameters if each in choices]
        self.broadcasts = broadcasts
        self._programs: dict[tuple[Any, ...], Program] = {}
        if not all(each in arrays for each in self.parameters[: self.count]):
            raise TypeError(f"{name}: a formula takes arrays first, and then numbers; got {', '.join(self.parameters)}")

    def __call__(self, xp: Any, *args: Any) -> Any:
        element = next(each.dtype for each in args[: self.count] if hasattr(each, "dtype"))
        return self.kernel(xp, element)(*args)

    @property
    def is_exact(self) -> bool:
        """Whether compiled code gives the same bits as the functions of an array namespace."""
        return not self.choices and self.program().is_exact

    def kernel(self, xp: Any, element: Any) -> Callable[..., Any]:
        """The kernel of functions of an array namespace, for arrays of a NumPy dtype.

        It is another one for each set of numbers and choices, whose Python code differs by choices, and numbers of 1.
        """

        @cache
        def kernels(choice: tuple[Any, ...], ones: tuple[bool, ...]) -> Callable[..., Any]:
            return array_kernels(self.program(choice, ones), xp, element, self.broadcasts)

        def make(*rest: Any) -> Callable[..., Any]:
            choice, numbers = self.parted(rest)
            made = kernels(choice, tuple([each == 1 for each in numbers]))
            kernel: Callable[..., Any] = made(*[each for each in numbers if each != 1])
            return kernel

        return make() if self.count == len(self.parameters) else self.by_rest(make)

    def by_rest(self, make: Callable[..., Callable[..., Any]]) -> Callable[..., Any]:
        """A kernel that is another one, of the arrays alone, for each set of arguments behind them."""
        made: dict[Any, Callable[..., Any]] = {}
        count = self.count

        def kernel_of(rest: tuple[Any, ...]) -> Callable[..., Any]:
            key = repr(rest) if 0 in rest else rest  # -0.0 is equal to 0.0
            found = made.get(key)
            if found is None:
                if len(made) >= MAX_KERNELS:
                    made.clear()
                found = made[key] = make(*rest)
            return found

        if count == 1:
            return lambda first, *rest: kernel_of(rest)(first)
        if count == 2:
            return lambda first, second, *rest: kernel_of(rest)(first, second)
        return lambda *args: kernel_of(args[count:])(*args[:count])

    def parted(self, rest: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The arguments behind the arrays: choices, and numbers."""
        named = list(zip(self.parameters[self.count :], rest))
        choice = tuple([value for name, value in named if name in self.choices])
        return choice, tuple([value for name, value in named if name not in self.choices])

    def joined(self, choice: tuple[Any, ...], numbers: tuple[Any, ...]) -> list[Any]:
        """The arguments behind the arrays, of choices and numbers."""
        chosen, others = iter(choice), iter(numbers)
        return [next(chosen if name in self.choices else others) for name in self.parameters[self.count :]]

    def program(self, choice: tuple[Any, ...] = (), ones: tuple[bool, ...] = ()) -> Program:
        """What the formula computes where these are its choices, and some of its numbers 1."""
        key = choice, ones
        if key not in self._programs:
            self._programs[key] = self._traced(choice, ones)
        return self._programs[key]

    def _traced(self, choice: tuple[Any, ...], ones: tuple[bool, ...]) -> Program:
        steps: dict[Any, Expression] = {}
        args: list[Any] = []
        chosen, is_one = iter(choice), iter(ones)
        for place, name in enumerate(self.parameters):
            if name in self.choices:
                args.append(next(chosen))
            elif place >= self.count and next(is_one, False):
                args.append(1)
            else:
                args.append(Expression(steps, "argument", (name,), "array" if place < self.count else "number"))
        result = self.function(*args)
        if not isinstance(result, Expression) or result.sort != "array":
            raise TypeError(f"{self.name}: its formula computes no value for each element, but returns {result!r}")
        arguments = tuple([each for each in args if isinstance(each, Expression)])
        return Program(" ".join([self.name, *map(str, choice)]), arguments, steps_of(result), result)
