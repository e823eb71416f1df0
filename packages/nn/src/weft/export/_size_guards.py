"""Guards on sizes: what a program compared sizes with, and for which sizes the comparisons come out the same.

While a program is recorded, the sizes that it reads are integers that know their formula (`TracedInt`). A comparison of
one is noted with what came of it: the program may have taken a branch by it, of which the recording has one side only.
What Python makes a plain number of (`0.5 * size`, a key of a dict) is looked for in `_size_probes`.
"""

from __future__ import annotations

import contextlib
import math
import operator
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import weft
from weft.export._sizes import Size

__all__ = [
    "Formula",
    "Guard",
    "Leaf",
    "SizeLog",
    "Traced",
    "came_out_both_ways",
    "formula_of_size",
    "guards_of",
    "formula_leaves",
    "narrowed",
    "program_frame",
    "solved",
    "traced_sizes",
    "untraced",
    "value_of",
]

PROGRAMS = ("weft.vision", "weft.text")  # packages of weft's that are programs here: their models
CHECKS = ("weft.export._program", __name__)  # what exported programs ask of their inputs, if one is exported again
MOST_OPERANDS = 64  # of a formula
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "truediv": operator.truediv,
    "mod": operator.mod,
    "pow": operator.pow,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "min": min,
    "max": max,
}
EXTREMES = frozenset(("min", "max"))
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"eq": operator.eq, "lt": operator.lt}
IN_MATH = frozenset("floor ceil trunc".split())
SIGNS = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**"}
MONOTONE = frozenset("add sub mul floordiv truediv floor ceil trunc min max".split())  # in each operand

Formula = Any  # a number, a leaf, or a tuple of an operator's name and formulas; when solved, leaves are symbols' names


class Leaf(NamedTuple):
    """The size of a dimension of a recording's value."""

    slot: int
    dim: int


class SizeLog:
    """The comparisons of sizes while a program is recorded.

    Attributes
    ----------
    outcomes : dict
        From a comparison, as its name and both formulas, to what it has been.
    lines : dict
        From a comparison to the line that did it first.
    functions : dict
        From the code of a function that has sizes to what it finds under its names, and the dimensions they are of.
    compared : set
        The code and instruction of each comparison.
    chosen : set
        The code and line of each smallest or largest that is known.
    escapes : set
        The code of functions that make keys or text of sizes.
    slices : dict
        From the size of a dimension and a bound of a slice of it to the line.
    extremes : dict
        From the formula of the smaller or larger one of two numbers to the line that takes it.
    conversions : list
        The namespaces of modules that call `int`, `float`, `len`, `min` or `max` of sizes, with that name.
    is_open : bool
        Whether the program still runs: sizes that it keeps are compared later too.
    """

    def __init__(self) -> None:
        self.outcomes: dict[tuple[str, Formula, Formula], set[bool]] = {}
        self.lines: dict[tuple[str, Formula, Formula], str] = {}
        self.functions: dict[Any, tuple[dict[str, Any], set[Leaf]]] = {}
        self.compared: set[tuple[Any, int]] = set()
        self.chosen: set[tuple[Any, int]] = set()
        self.escapes: set[Any] = set()
        self.slices: dict[tuple[Leaf, int], str] = {}
        self.extremes: dict[Formula, str] = {}
        self.conversions: list[tuple[dict[str, Any], str]] = []
        self.is_open = True

    def note(self, comparison: tuple[str, Formula, Formula], outcome: bool, frame: Any) -> None:
        """Note what came of a comparison in a frame of the program."""
        if self.is_open and is_program(frame):
            self.outcomes.setdefault(comparison, set()).add(outcome)
            self.lines.setdefault(comparison, line_of(frame))
            self.note_place(frame)
            for name in EXTREMES:
                self.note_conversion(name, frame)

    def note_place(self, frame: Any) -> None:
        """Note that what is compared here is known."""
        self.compared.add((frame.f_code, frame.f_lasti))

    def add(self, comparison: tuple[str, Formula, Formula], outcome: bool, line: str) -> None:
        """Add a comparison that the program did not write."""
        self.outcomes.setdefault(comparison, set()).add(outcome)
        self.lines.setdefault(comparison, line)

    def note_extreme(self, formula: Formula, frame: Any) -> None:
        """Note that the program takes the smaller or larger one of two numbers."""
        if self.is_open:
            self.extremes.setdefault(formula, line_of(frame))
            self.chosen.add((frame.f_code, frame.f_lineno))

    def note_function(self, frame: Any, leaves: Sequence[Leaf]) -> None:
        """Note that a function of the program has sizes."""
        if is_library(frame):
            return
        namespace, known = self.functions.setdefault(frame.f_code, ({}, set()))
        if not known:
            namespace.update({name: frame.f_globals.get(name) for name in frame.f_code.co_names}, **frame.f_locals)
        known.update(leaves)

    def note_conversion(self, name: str, frame: Any) -> None:
        """Note that the program makes a plain number of a size, perhaps by a function of Python's with this name."""
        space = frame.f_globals
        is_called = name not in space and name in frame.f_code.co_names
        if self.is_open and is_called and is_program(frame) and not is_library(frame):
            self.conversions.append((space, name))


def line_of(frame: Any) -> str:
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def is_program(frame: Any) -> bool:
    """Whether a frame is of the program that is recorded: weft's own choices by size give equal results."""
    package = f"{frame.f_globals.get('__package__')}."
    if frame.f_globals.get("__name__") in CHECKS:
        return True
    return not package.startswith("weft.") or package.startswith(PROGRAMS)


def is_library(frame: Any) -> bool:
    """Whether a frame is of Python's own modules, NumPy's or this package's, which do the same with any sizes."""
    if frame.f_globals.get("__name__") in CHECKS:
        return True
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    return package in sys.stdlib_module_names or package == "numpy"


def program_frame() -> Any:
    """The innermost frame of the program that is recorded."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and (not is_program(frame) or is_library(frame)):
        frame = frame.f_back
    return frame


# Numbers with a formula


class Traced:
    """What `TracedInt` and `TracedFloat` share.

    Attributes
    ----------
    plain : int or float
    formula : Formula
    operands : int
        How many the formula has.
    log : SizeLog
    """

    plain: Any
    formula: Formula
    operands: int
    log: SizeLog

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self.plain), (self.plain,)

    def __bool__(self) -> bool:
        outcome = self.plain == 0
        self.log.note(("eq", self.formula, 0), outcome, sys._getframe(1))
        return not outcome

    def __repr__(self) -> str:
        return self.escaped(repr, sys._getframe(1))

    def __str__(self) -> str:
        return self.escaped(str, sys._getframe(1))

    def __format__(self, how: str) -> str:
        return self.escaped(lambda plain: format(plain, how), sys._getframe(1))

    def __hash__(self) -> int:
        return self.escaped(hash, sys._getframe(1))

    def escaped(self, function: Callable[[Any], Any], frame: Any) -> Any:
        """What a function makes of the plain number; the program may compare that."""
        if self.log.is_open and is_program(frame):
            self.log.escapes.add(frame.f_code)
        return function(self.plain)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other  # type: ignore[operator]

    def __neg__(self) -> Any:
        return 0 - self  # type: ignore[operator]


class TracedInt(Traced, int):
    """A whole number that was computed of sizes."""

    __hash__ = Traced.__hash__

    def __int__(self) -> int:
        self.log.note_conversion("int", sys._getframe(1))
        return int(self.plain)

    def __float__(self) -> float:
        self.log.note_conversion("float", sys._getframe(1))
        return float(self.plain)

    def __lshift__(self, bits: Any) -> Any:
        return self * 2**bits if type(bits) is int else self.plain << untraced(bits)

    def __rshift__(self, bits: Any) -> Any:
        return self // 2**bits if type(bits) is int else self.plain >> untraced(bits)

    def __and__(self, mask: Any) -> Any:
        is_low = type(mask) is int and mask >= 0 and mask & (mask + 1) == 0  # the last bits are a remainder
        return self % (mask + 1) if is_low else self.plain & untraced(mask)

    __rand__ = __and__


class TracedFloat(Traced, float):
    """A number that was computed of sizes."""

    __hash__ = Traced.__hash__

    def __int__(self) -> int:
        self.log.note_conversion("int", sys._getframe(1))
        return int(self.plain)


def traced(value: Any, formula: Formula, operands: int, log: SizeLog) -> Any:
    """A number with its formula; the number alone where that is too long."""
    if operands > MOST_OPERANDS or type(value) not in (int, float):
        return value
    made: Any = TracedInt(value) if type(value) is int else TracedFloat(value)
    made.plain, made.formula, made.operands, made.log = value, formula, operands, log
    return made


def untraced(value: Any) -> Any:
    """A number without its formula; anything else as it is."""
    return value.plain if isinstance(value, Traced) else value


def formula_of(value: Any) -> tuple[Formula, int]:
    """The formula of an operand, and how many operands that has."""
    return (value.formula, value.operands) if isinstance(value, Traced) else (value, 1)


def add_arithmetic(name: str, method: str) -> None:
    """Give the numbers an operator, and its reflection."""
    function = OPERATORS[name]

    def forward(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        formula, operands = formula_of(other)
        value = function(self.plain, untraced(other))
        return traced(value, (name, self.formula, formula), self.operands + operands, self.log)

    def reflected(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        return traced(function(other, self.plain), (name, other, self.formula), self.operands + 1, self.log)

    setattr(Traced, f"__{method}__", forward)
    setattr(Traced, f"__r{method}__", reflected)


def add_unary(name: str) -> None:
    function = OPERATORS[name]

    def unary(self: Any, *digits: int) -> Any:
        if digits:
            return function(self.plain, *digits)
        return traced(function(self.plain), (name, self.formula), self.operands, self.log)

    setattr(Traced, f"__{name}__", unary)


def add_comparison(method: str, name: str, swapped: bool, negated: bool) -> None:
    """Give the numbers a comparison, noted as `eq` or `lt`."""
    function = COMPARISONS[name]

    def compare(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        one, two = (other, self) if swapped else (self, other)
        outcome = function(untraced(one), untraced(two))
        self.log.note((name, formula_of(one)[0], formula_of(two)[0]), outcome, sys._getframe(1))
        return outcome is not negated

    setattr(Traced, f"__{method}__", compare)


for name in SIGNS:
    add_arithmetic(name, name)
for name in ("abs", "floor", "ceil", "round", "trunc"):
    add_unary(name)
add_comparison("eq", "eq", swapped=False, negated=False)
add_comparison("ne", "eq", swapped=False, negated=True)
add_comparison("lt", "lt", swapped=False, negated=False)
add_comparison("gt", "lt", swapped=True, negated=False)
add_comparison("le", "lt", swapped=True, negated=True)
add_comparison("ge", "lt", swapped=False, negated=True)


# Functions of Python's that give plain numbers: where a module calls them with sizes, these stand in their place


class Conversion(type):
    """The type of what stands for `int` and `float`."""

    plain: type

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options and isinstance(args[0], Traced):
            (number,) = args
            if cls.plain is int:
                return number if isinstance(number, int) else math.trunc(number)
            return number / 1
        return cls.plain(*args, **options)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.plain)

    def __subclasscheck__(cls, other: Any) -> bool:
        return issubclass(other, cls.plain)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.plain

    def __hash__(cls) -> int:
        return hash(cls.plain)


def length(value: Any) -> Any:
    """`len`, with the formula of a tensor's."""
    return value.shape[0] if isinstance(value, weft.Tensor) and value.ndim else len(value)


def extreme(name: str) -> Callable[..., Any]:
    """`min` or `max`, with the formula of sizes' smallest or largest."""
    plain = OPERATORS[name]

    def chosen(*values: Any, **options: Any) -> Any:
        each = list(values[0]) if len(values) == 1 else values
        are_numbers = all(isinstance(one, (int, float)) for one in each)
        if options or not are_numbers or not any(isinstance(one, Traced) for one in each):
            return plain(each, **options)
        log = next(one.log for one in each if isinstance(one, Traced))
        found, *others = each
        for other in others:
            (left, count), (right, more) = formula_of(found), formula_of(other)
            formula = (name, left, right)
            log.note_extreme(formula, sys._getframe(1))
            found = traced(plain(untraced(found), untraced(other)), formula, count + more, log)
        return found

    return chosen


CONVERSIONS: dict[str, Any] = {
    **{name: extreme(name) for name in EXTREMES},
    "int": Conversion("int", (int,), {"plain": int}),
    "float": Conversion("float", (float,), {"plain": float}),
    "len": length,
}


@contextlib.contextmanager
def conversions_in(places: Sequence[tuple[dict[str, Any], str]]) -> Iterator[None]:
    """While the block runs, modules find functions that keep formulas under some names of Python's."""
    for space, name in places:
        space[name] = CONVERSIONS[name]
    try:
        yield
    finally:
        for space, name in places:
            space.pop(name, None)


# Reads of sizes

patching = threading.RLock()  # one program is recorded at a time


@contextlib.contextmanager
def traced_sizes(
    log: SizeLog, slot_of: Callable[[Any], int | None], conversions: Sequence[tuple[dict[str, Any], str]]
) -> Iterator[None]:
    """While the block runs, sizes that the program of this thread reads know their formulas.

    Parameters
    ----------
    log : SizeLog
    slot_of : callable
        From a tensor to its number in the recording; None of tensors that it does not know, whose sizes are fixed.
    conversions : sequence
        Where plain numbers are made of sizes, as `SizeLog` has it.
    """
    thread = threading.get_ident()
    get_shape, get_size, get_numel = weft.Tensor.shape.fget, weft.Tensor.size, weft.Tensor.numel  # type: ignore[attr-defined]
    get_rows, get_stride, get_storage = weft.Tensor.__len__, weft.Tensor.stride, weft.Tensor.untyped_storage

    def is_read_by_program() -> bool:
        return threading.get_ident() == thread and log.is_open and is_program(sys._getframe(2))

    def shape_of(tensor: Any) -> Any:
        found, slot = get_shape(tensor), slot_of(tensor)
        if slot is None:
            return found
        leaves = [Leaf(slot, dim) for dim in range(len(found))]
        frame: Any = sys._getframe(2)
        log.note_function(frame.f_back if frame.f_code is length.__code__ else frame, leaves)
        return tuple.__new__(weft.Size, [traced(each, leaf, 1, log) for leaf, each in zip(leaves, found)])

    def has_sizes(frame: Any, event: str, _: Any) -> None:
        """Note functions of the program that are given sizes, or numbers by a function that has sizes."""
        if event == "call" and is_program(frame):
            values = frame.f_locals.values()
            given = [leaf for each in values for leaf in leaves_in(each)]
            if not given and frame.f_back is not None and any(type(each) in (int, float) for each in values):
                given = [*log.functions.get(frame.f_back.f_code, ({}, ()))[1]]
            if given:
                log.note_function(frame, given)

    def shape(self: Any) -> Any:
        return shape_of(self) if is_read_by_program() else get_shape(self)

    def size(self: Any, dim: Any = None) -> Any:
        found = get_size(self, dim)
        if not is_read_by_program():
            return found
        return shape_of(self) if dim is None else shape_of(self)[untraced(dim)]

    def numel(self: Any) -> Any:
        return math.prod(shape_of(self)) if is_read_by_program() else get_numel(self)

    def nbytes(self: Any) -> Any:
        return math.prod(shape_of(self)) * self.itemsize if is_read_by_program() else get_numel(self) * self.itemsize

    def rows(self: Any) -> Any:
        if is_read_by_program() and self.ndim:
            shape_of(self)
            log.note_conversion("len", sys._getframe(1))
        return get_rows(self)

    # These give numbers without formulas, of functions that have sizes

    def stride(self: Any, dim: Any = None) -> Any:
        if is_read_by_program():
            shape_of(self)
        return get_stride(self, dim)

    def untyped_storage(self: Any) -> Any:
        if is_read_by_program():
            shape_of(self)
        return get_storage(self)

    members = {
        "shape": property(shape),
        "size": size,
        "numel": numel,
        "nelement": numel,
        "nbytes": property(nbytes),
        "__len__": rows,
        "stride": stride,
        "untyped_storage": untyped_storage,
    }
    with patching, conversions_in(conversions):
        before = {name: vars(weft.Tensor).get(name) for name in members}
        for name, member in members.items():
            setattr(weft.Tensor, name, member)
        profile = sys.getprofile()
        sys.setprofile(has_sizes)
        try:
            yield
        finally:
            sys.setprofile(profile)
            log.is_open = False
            for name, old in before.items():
                if old is None:
                    delattr(weft.Tensor, name)
                else:
                    setattr(weft.Tensor, name, old)


def leaves_in(value: Any) -> list[Leaf]:
    """The sizes in the formula of a number, or of those in a tuple or list."""
    if type(value) in (TracedInt, TracedFloat):
        return formula_leaves(value.formula)
    if isinstance(value, (tuple, list)):
        return [leaf for each in value if type(each) in (TracedInt, TracedFloat) for leaf in leaves_in(each)]
    return []


def formula_leaves(formula: Formula) -> list[Leaf]:
    if isinstance(formula, Leaf):
        return [formula]
    return [leaf for each in formula[1:] for leaf in formula_leaves(each)] if isinstance(formula, tuple) else []


# Guards


class Guard(NamedTuple):
    """A comparison of sizes that has to come out as it did.

    Attributes
    ----------
    name : str
        ``"eq"`` or ``"lt"``.
    left, right : Formula
    outcome : bool
    line : str
        Where the program compares.
    """

    name: str
    left: Formula
    right: Formula
    outcome: bool
    line: str

    @property
    def symbols(self) -> list[str]:
        """The symbols in it, one for each place."""
        return [*symbols_in(self.left), *symbols_in(self.right)]

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether it comes out as it did, where symbols are these."""
        try:
            found = COMPARISONS[self.name](evaluated(self.left, values), evaluated(self.right, values))
        except ArithmeticError:
            return False
        return found is self.outcome

    def __str__(self) -> str:
        return self.expression()

    def expression(self, names: Mapping[str, str] | None = None, module: str = "") -> str:
        """Python that is true where it holds.

        Parameters
        ----------
        names : dict, optional
            Of the variables of symbols; default: theirs.
        module : str, optional
            What has `floor` and its like.
        """
        left, right = (text_of(each, names or {}, module) for each in (self.left, self.right))
        if self.name == "eq":
            return f"{left} {'==' if self.outcome else '!='} {right}"
        if symbols_in(self.left):
            return f"{left} {'<' if self.outcome else '>='} {right}"
        return f"{right} {'>' if self.outcome else '<='} {left}"


def symbols_in(formula: Formula) -> list[str]:
    if isinstance(formula, str):
        return [formula]
    return [name for each in formula[1:] for name in symbols_in(each)] if isinstance(formula, tuple) else []


def evaluated(formula: Formula, values: Mapping[str, int]) -> Any:
    """The number that a formula is, where symbols are these."""
    if isinstance(formula, str):
        return values[formula]
    if isinstance(formula, tuple):
        return OPERATORS[formula[0]](*(evaluated(each, values) for each in formula[1:]))
    return formula


def text_of(formula: Formula, names: Mapping[str, str], module: str) -> str:
    """A formula as Python has it."""
    if not isinstance(formula, tuple):
        return names.get(formula, formula) if isinstance(formula, str) else repr(formula)
    parts = [text_of(each, names, module) for each in formula[1:]]
    if len(parts) == 1:
        return f"{module}.{formula[0]}({parts[0]})" if module and formula[0] in IN_MATH else f"{formula[0]}({parts[0]})"
    if formula[0] in EXTREMES:
        return f"{formula[0]}({', '.join(parts)})"
    parts = [f"({part})" if isinstance(each, tuple) else part for part, each in zip(parts, formula[1:])]
    return f" {SIGNS[formula[0]]} ".join(parts)


def came_out_both_ways(logs: Sequence[SizeLog]) -> bool:
    """Whether a comparison of sizes had another outcome in another recording."""
    both: dict[Any, set[bool]] = {}
    for log in logs:
        for comparison, outcomes in log.outcomes.items():
            both.setdefault(comparison, set()).update(outcomes)
    return any(len(outcomes) > 1 for outcomes in both.values())


def guards_of(
    logs: Sequence[SizeLog], formula_of: Callable[[Leaf], Formula], own_formula: Callable[[Leaf], Formula] | None = None
) -> list[Guard]:
    """What all recordings of a program compared with one outcome: if there were both, the graph is right for both.

    Parameters
    ----------
    logs : sequence of SizeLog
    formula_of : callable
        From a leaf to its formula in symbols of the inputs; None if it is not known.
    own_formula : callable, optional
        The same in any symbols: what is one formula in these is not compared.
    """
    found: list[Guard] = []
    for comparison in dict.fromkeys(each for log in logs for each in log.outcomes):
        outcomes = {outcome for log in logs for outcome in log.outcomes.get(comparison, ())}
        if len(outcomes) > 1:
            continue
        name, *formulas = comparison
        if own_formula is not None and solved(formulas[0], own_formula) == solved(formulas[1], own_formula):
            continue
        left, right = (solved(each, formula_of) for each in formulas)
        if left is None or right is None:
            continue
        line = next(log.lines[comparison] for log in logs if comparison in log.lines)
        made = Guard(name, left, right, outcomes.pop(), line)
        if made.symbols and left != right and made not in found:
            found.append(made)
    return found


def value_of(formula: Formula, recording: Any) -> Any:
    """What a formula of sizes was in a recording."""
    return evaluated(solved(formula, lambda leaf: recording.kinds[leaf.slot].shape[leaf.dim]), {})


def solved(formula: Formula, formula_of: Callable[[Leaf], Formula]) -> Formula:
    """A formula in symbols of the inputs; None if a size in it is not known."""
    if isinstance(formula, Leaf):
        return formula_of(formula)
    if not isinstance(formula, tuple):
        return formula
    name, *operands = formula
    made = [solved(each, formula_of) for each in operands]
    if any(each is None for each in made):
        return None
    return (name, *made) if any(map(symbols_in, made)) else OPERATORS[name](*made)


def formula_of_size(size: Any, formula_of_symbol: Callable[[str], Formula] = str) -> Formula:
    """The formula of an integer or a polynomial."""
    if not isinstance(size, Size):
        return size
    total: Formula = 0
    for term, factor in size.terms.items():
        made: Formula = factor
        for symbol in map(formula_of_symbol, term):
            made = symbol if made == 1 else ("mul", made, symbol)
        total = made if total == 0 else ("add", total, made)
    return total


def narrowed(guard: Guard, seen: Sequence[int], least: int, most: int) -> tuple[int, int] | None:
    """The sizes of a range for which a guard holds; None where it is no range: it has to be looked at each time.

    Parameters
    ----------
    guard : Guard
    seen : sequence of int
        What its symbol was where it held.
    least, most : int
        The range.
    """
    symbol, *others = guard.symbols
    if others or not (is_monotone(guard.left) and is_monotone(guard.right)):
        return None

    def holds(size: int) -> bool:
        return guard.holds({symbol: size})

    if guard.name == "eq" and not guard.outcome:
        # Programs that ask for one size ask for the least: an empty batch, a single row.
        above = next((size for size in (least + 1, least) if size < min(seen) and not holds(size)), None)
        return None if above is None else (above + 1, most)
    return boundary(holds, min(seen), least), boundary(holds, max(seen), most)


def is_monotone(formula: Formula) -> bool:
    if not isinstance(formula, tuple):
        return True
    divides_by_size = formula[0] in ("floordiv", "truediv") and symbols_in(formula[2])
    return formula[0] in MONOTONE and not divides_by_size and all(map(is_monotone, formula[1:]))


def boundary(holds: Callable[[int], bool], inside: int, end: int) -> int:
    """The last size from one at which a claim holds towards an end, where it holds up to some size."""
    if holds(end):
        return end
    outside = end
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside
