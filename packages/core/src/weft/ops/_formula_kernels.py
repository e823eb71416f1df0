"""Kernels of a formula for an array namespace: Python code of one function after the other.

Each function writes over an array that nothing needs any more. Where there are several temporaries, large arrays are
computed in blocks, whose temporaries stay in a processor's cache. Arrays of several shapes, of no dimension, or of a
library without ``out=`` take the plain code, in which every function makes a new array.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy

from weft.ops._expressions import FUNCTIONS, Expression, Program, apply, exp, steps_of
from weft.ops._numerics import is_numpy as of_numpy
from weft.ops._registry import registry

BLOCK = 1 << 15  # elements of a block
MIN_BLOCKED = 1 << 12  # elements from which a choice by bits is worth its cost
MIN_SPARE = 2  # temporaries of a block that are worth several

EXPANSIONS: dict[str, Callable[..., Any]] = {
    "clip": lambda x, low, high: apply("minimum", high, apply("maximum", low, x)),
    "log1pexp": lambda x: apply("log1p", exp(x)),
    "sigmoid": lambda x: 1 / (1 + exp(-x)),
}
"""Functions that array namespaces lack, or not for all dtypes have. Of others the kernels of core's ops are taken."""


def array_kernels(program: Program, xp: Any, element: Any, broadcasts: bool) -> Callable[..., Any]:
    """What makes, of a program's numbers, its kernel for arrays of a namespace and of a NumPy dtype."""
    writer, name = kernel_writer(program, xp, element, broadcasts)
    return writer.compiled(name)


def kernel_writer(program: Program, xp: Any, element: Any, broadcasts: bool) -> tuple[Writer, str]:
    """The writer of a program's kernel, and the name of the function that is the kernel."""
    is_numpy = of_numpy(xp)
    has_clip = is_numpy and element.itemsize > 2
    writer = Writer(expanded(program, {"clip"} if has_clip else set()), xp, element, is_numpy)
    given = ", ".join(writer.arguments.values())
    numbers = [
        f"if type({name}) in (int, float): {name} = {writer.made_array(each)}({name})"
        for each, name in writer.arguments.items()
    ]
    writer.define(f"plain({given})", [*numbers * broadcasts, *writer.body(reuses=False)])
    if not hasattr(xp.add, "nin") or writer.rounds:  # no function of NumPy's kind, or none that writes to its dtype
        return writer, "plain"
    if writer.has_blocks:
        body = list(writer.body(reuses=True, blocks=True))
        writer.define(f"block({', '.join(['out', given, *writer.spare])})", body)
    writer.define(f"kernel({given})", [*head(writer, broadcasts), *writer.body(reuses=True)])
    return writer, "kernel"


def head(writer: Writer, broadcasts: bool) -> Iterator[str]:
    """The lines that send arrays elsewhere, or bring them to one layout."""
    *others, last = writer.arguments.values()
    given = ", ".join(writer.arguments.values())
    alike = [f"type({each}) is type({last}) and {each}.shape == {last}.shape and " for each in others]
    yield f"if not ({''.join(alike)}{last}.ndim): return plain({given})"
    for each in others:
        apart = f"{each}.strides != {last}.strides and not ({each}.flags.c_contiguous and {last}.flags.c_contiguous)"
        yield f"if {apart}: " + (f"return plain({given})" if broadcasts else f"{each} = copy_like(xp, {each}, {last})")
    if writer.has_blocks:
        yield f"if {last}.size >= {MIN_BLOCKED}: return in_blocks(block, {len(writer.spare)}, ({given},))"


def expanded(program: Program, known: set[str]) -> Program:
    """The program of functions that array namespaces have, and of those that this one is known to have."""
    steps: dict[Any, Expression] = {}
    values = {each: Expression(steps, each.function, each.operands, each.sort) for each in program.arguments}
    for step in program.steps:
        operands = [values[each] if isinstance(each, Expression) else each for each in step.operands]
        own = None if step.function in known else EXPANSIONS.get(step.function)
        values[step] = apply(step.function, *operands) if own is None else own(*operands)
    result = values[program.result]
    return Program(program.name, tuple([values[each] for each in program.arguments]), steps_of(result), result)


class Writer:
    """Writes the code of a program.

    Attributes
    ----------
    arguments, numbers : dict
        The names of arrays that are arguments; and of what is the same for all elements.
    spare : list of str
        The arrays that the last body takes for its temporaries, beside ``out``.
    is_numpy, has_blocks : bool
        Whether they are NumPy's; and whether there are temporaries, for which blocks are worth it.
    rounds : bool
        Whether the result may be wider than the dtype: CuPy computes bfloat16 beside Python's floats in float32, and so
        it chooses.
    """

    def __init__(self, program: Program, xp: Any, element: Any, is_numpy: bool) -> None:
        self.program = program
        self.xp = xp
        self.element = element
        self.is_numpy = is_numpy
        given = [each for each in program.arguments if each.sort == "array"]
        self.arguments = {each: f"x{place}" for place, each in enumerate(given)}
        values = (*program.arguments, *program.steps)
        self.numbers = {each: f"n{place}" for place, each in enumerate(values) if each.sort == "number"}
        self.has_blocks = self.is_numpy and len(program.steps) > 1
        self.rounds = not is_numpy and element.kind == "V" and program.result.sort == "array"
        self.spare: list[str] = []
        self.constants: dict[str, str] = {}  # names by what they are
        self.names: dict[str, Any] = {
            "__name__": __name__,
            "constant": self.constant,
            "copy_like": copy_like,
            "filled": lambda value: xp.full((), value, element),
            "single": numpy.float32,
        }
        self.names |= {
            "xp": xp,
            "inf": math.inf,
            "nan": math.nan,
            "in_blocks": in_blocks,
            "putmask": numpy.putmask,
            "element": element,
            "select": select,
        }
        self.lines: list[str] = []

    def define(self, signature: str, body: Iterable[str]) -> None:
        self.lines += [f"    def {signature}:", *[f"        {line}" for line in body]]

    def source(self, name: str) -> str:
        """The function of the program's numbers that returns one of the functions, as Python."""
        numbers = [self.numbers[each] for each in self.program.arguments if each.sort == "number"]
        lines = [f"def make({', '.join(numbers)}):", *[f"    {line}" for line in self.body_of_numbers()]]
        lines += [f"    {constant} = {value}" for value, constant in self.constants.items()]
        return "\n".join([*lines, *self.lines, f"    return {name}"])

    def compiled(self, name: str) -> Callable[..., Any]:
        """The function of `source`."""
        text = self.source(name)
        file = f"<formula of {self.program.name}>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file  # for tracebacks
        exec(compile(text, file, "exec"), self.names)
        made: Callable[..., Any] = self.names["make"]
        return made

    def constant(self, value: Any) -> Any:
        """A number to combine arrays with: NumPy takes one of its arrays in half the time of Python's."""
        if self.is_numpy and (self.element.kind in "fV" or type(value) is int):  # V: a dtype of ml_dtypes
            return numpy.array(value, self.element)
        return value

    def made_array(self, argument: Any) -> str:
        """What a number in place of an array becomes: on a device an array only where a step takes no other array."""
        alone = any(
            all(each is argument or not isinstance(each, Expression) for each in step.operands)
            for step in self.program.steps
        )
        return "filled" if alone and not self.is_numpy and self.element.kind in "fV" else "constant"

    def number(self, operand: Any) -> str:
        """The name of what is the same for all elements, or its digits."""
        return self.numbers[operand] if isinstance(operand, Expression) else repr(operand)

    def body_of_numbers(self) -> Iterator[str]:
        """The lines that compute what is the same for all elements."""
        for each in self.program.steps:
            if each.sort == "number":
                self.names[f"number_{each.function}"] = FUNCTIONS[each.function].of_numbers
                yield f"{self.number(each)} = number_{each.function}({', '.join(map(self.number, each.operands))})"

    def operands(self, step: Expression, places: dict[Expression, str]) -> list[str]:
        """The names of a step's operands; halves are compared in float32 with numbers, which they need not have."""
        kind = "single" if step.sort == "mask" and self.element.itemsize == 2 else "constant"
        found = []
        for each in step.operands:
            if isinstance(each, Expression) and each in places:
                found.append(places[each])
            else:
                found.append(self.constants.setdefault(f"{kind}({self.number(each)})", f"c{len(self.constants)}"))
        return found

    def function(self, name: str) -> str:
        """The name of a function of arrays."""
        known = hasattr(self.xp, name)
        self.names[name] = getattr(self.xp, name) if known else partial(registry[f"core::{name}"].generic, self.xp)
        return name

    def body(self, reuses: bool, blocks: bool = False) -> Iterator[str]:
        """The lines that compute the result, and return it or, of blocks, write it to ``out``."""
        steps = [each for each in self.program.steps if each.sort != "number"]
        last = {operand: step for step in steps for operand in step.operands if isinstance(operand, Expression)}
        places = dict(self.arguments)
        free, self.spare = ["out"] if blocks else [], []
        for count, step in enumerate(steps):
            values, name = self.operands(step, places), f"{step.sort[0]}{count}"
            ends = [each for each in dict.fromkeys(step.operands) if last.get(each) is step and each.sort == "array"]
            dead = [places[each] for each in ends if each not in self.arguments] if reuses else []
            if step.sort == "mask" or not hasattr(self.xp, step.function):
                yield f"{name} = {self.call(step, values)}"
            elif blocks:
                free += dead
                name = "out" if step is self.program.result else free.pop() if free else f"s{len(self.spare)}"
                self.spare += [name] if name == f"s{len(self.spare)}" else []
                yield self.in_block(step, values, name)
            elif step.function == "where" and self.is_numpy and set(dead) & set(values[1:]):
                mask, first, second = values
                name = second if second in dead else first
                holds = mask if second in dead else f"{self.function('logical_not')}({mask})"
                yield f"putmask({name}, {holds}, {first if second in dead else second})"
            elif dead and step.function != "where":
                name = dead[0]
                yield self.call(step, values, name)
            else:
                yield f"{name} = {self.call(step, values)}"
            places[step] = name
        result = places[self.program.result]
        if self.rounds:
            yield f"return {result}.astype(element, copy=not {len(steps)})"
        elif not blocks:
            yield f"return {result}" if steps else f"return {self.function('positive')}({result})"
        elif result != "out":
            yield f"out[...] = {result}"

    def call(self, step: Expression, values: list[str], out: str = "") -> str:
        """The call of a step's function, which writes to an array if one is named."""
        if step.function == "clip":  # NumPy's method takes a fifth of its function's time
            return f"{values[0]}.clip({', '.join([*values[1:], *[out] * bool(out)])})"
        target = [f"out={out}" if step.function in ("maximum", "minimum") else out] if out else []
        return f"{self.function(step.function)}({', '.join([*values, *target])})"

    def in_block(self, step: Expression, values: list[str], out: str) -> str:
        """The call of what computes a step of large arrays."""
        if step.function == "where":
            is_zero = [isinstance(each, int | float) and each == 0 <= math.copysign(1, each) for each in step.operands]
            return f"select({', '.join(['None' if zero else value for zero, value in zip(is_zero, values)])}, {out})"
        return self.call(step, values, out)


def copy_like(xp: Any, array: Any, other: Any) -> Any:
    """A copy of an array that lies in memory as another one of its shape."""
    made = xp.empty_like(other, dtype=array.dtype)
    made[...] = array
    return made


def in_memory(array: Any) -> Any:
    """The array with its dimensions in the order in which they lie in memory."""
    if array.flags.c_contiguous:
        return array
    return array.transpose(sorted(range(array.ndim), key=lambda dim: -array.strides[dim]))


def in_blocks(block: Callable[..., None], spare: int, arrays: tuple[Any, ...]) -> Any:
    """Compute arrays of one layout in blocks, with so many arrays of a block's size for temporaries.

    There is a single block where that fits the cache, the arrays have gaps, or there are too few temporaries to gain.
    """
    result = numpy.empty_like(arrays[-1])
    size = result.size
    if size <= 2 * BLOCK or spare < MIN_SPARE or not in_memory(arrays[-1]).flags.c_contiguous:
        block(result, *arrays, *[numpy.empty_like(result) for _ in range(spare)])
        return result
    flat = [in_memory(each).reshape(-1) for each in (result, *arrays)]
    buffers = [numpy.empty(BLOCK, result.dtype) for _ in range(spare)]
    for start in range(0, size, BLOCK):
        stop = start + BLOCK
        if stop > size:
            buffers = [each[: size - start] for each in buffers]
        block(*[each[start:stop] for each in flat], *buffers)
    return result


UNSIGNED = {size: (numpy.dtype(f"u{size}"), numpy.ones((), f"u{size}")) for size in (1, 2, 4, 8)}


def select(mask: Any, first: Any, second: Any, out: Any) -> None:
    """Write ``first`` where the mask holds, else ``second``; None is 0.

    Bits are masked: `numpy.where` takes five times as long where the mask is irregular.
    """
    unsigned, one = UNSIGNED[out.dtype.itemsize]
    target = out.view(unsigned)
    bits = numpy.empty_like(target) if first is out or second is out else target
    numpy.copyto(bits, mask.view(numpy.uint8))
    if first is None:
        numpy.subtract(bits, one, bits)  # all of them where the mask does not hold
        numpy.bitwise_and(second.view(unsigned), bits, target)
        return
    numpy.negative(bits, bits)
    if second is None:
        numpy.bitwise_and(first.view(unsigned), bits, target)
        return
    other = second.view(unsigned)
    numpy.bitwise_and(first.view(unsigned) ^ other, bits, bits)
    numpy.bitwise_xor(bits, other, target)
