"""The generic kernels of ops as functions of NumPy alone, and calls of them as text."""

from __future__ import annotations

import ast
import cmath
import math
import operator
import re
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import numpy

from weft import dtype as dtype_class
from weft import float32, get_default_dtype
from weft.export import _numpy_functions
from weft.export._kernel_sources import KernelSources, NotStandalone
from weft.library import get_op
from weft.ops._formula_kernels import kernel_writer
from weft.ops._formulas import Formula

__all__ = ["Array", "NumpyKernels", "Text", "literal"]

# Options of creation that say where arrays are, and what is recorded: nothing to NumPy.
WITHOUT_MEANING = {"device", "requires_grad", "layout", "pin_memory", "memory_format", "out", "generator"}
# Ops whose sources are in `_numpy_functions`, under another name than their own.
ALIKE = {
    "empty": "zeros",
    "empty_like": "zeros_like",
    "new_empty": "new_zeros",
    "new_empty_strided": "empty_strided",
}
DRAWS = frozenset(
    """
    core::_sample_dirichlet core::_standard_gamma core::bernoulli core::bernoulli_fill core::binomial core::cauchy
    core::exponential core::geometric core::log_normal core::multinomial core::normal core::normal_fill core::poisson
    core::rand core::rand_like core::randint core::randint_like core::randn core::randn_like core::random
    core::randperm core::uniform nn::dropout nn::redrawn_attention nn::redrawn_dropout
    """.split()
)


class Array(NamedTuple):
    """An array of the program: how it is written, and what is known of it."""

    text: str
    dtype: Any
    ndim: int


class Text(str):
    """Source text of a number that is known when the program runs, such as a size."""


def literal(value: Any) -> str:
    """An argument of an op as source.

    Raises
    ------
    NotStandalone
        For what has no meaning to NumPy.
    """
    if isinstance(value, (Array, Text)):
        return value.text if isinstance(value, Array) else str(value)
    if isinstance(value, dtype_class):
        return dtype_text(value)
    if value is None or value is Ellipsis or isinstance(value, (bool, int, str)):
        return "..." if value is Ellipsis else repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, complex):
        return repr(value) if cmath.isfinite(value) else f'complex("{value}")'
    if isinstance(value, slice):
        return f"slice({', '.join(literal(each) for each in (value.start, value.stop, value.step))})"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(literal(each) for each in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    raise NotStandalone(f"an argument of type {type(value).__name__}")


def dtype_text(element: dtype_class) -> str:
    """A dtype as NumPy's by its name.

    Raises
    ------
    NotStandalone
        If NumPy alone has no such numbers.
    """
    if element.numpy.type.__module__ != "numpy":
        raise NotStandalone(f"NumPy has no {element}; convert the model to float32 before it is exported")
    return repr(element.numpy.name)


def arrays_in(value: Any) -> list[Array]:
    """All arrays in an argument."""
    if isinstance(value, Array):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [each for one in value for each in arrays_in(one)] if isinstance(value, (list, tuple)) else []


class NumpyKernels:
    """Collects the kernels that a program calls, by op, dtype, and what else a kernel is made for.

    Attributes
    ----------
    sources : KernelSources
    called : dict
        From a kernel's name in the text to the op's name, the dtype of the arrays, and the arguments behind them that
        the kernel is made for.
    """

    def __init__(self, sources: KernelSources) -> None:
        self.sources = sources
        self.names: dict[Any, str] = {}
        self.called: dict[str, tuple[str, str, tuple[Any, ...]]] = {}

    def call(self, op: Any, args: dict[str, Any], result: Any) -> str:
        """A call of an op as an expression.

        Parameters
        ----------
        op : Declaration, Operation or OpFunction
        args : dict
            By name, with arrays as `Array`.
        result : dtype or None
            Of the result, where that is one tensor.

        Raises
        ------
        NotStandalone
            If the op has no kernel that runs without weft.
        """
        if op.name in DRAWS:
            raise NotStandalone("it draws random numbers; call model.eval() before the model is exported")
        if op.name == "core::embed":
            return self.embed_call(**args)
        own = getattr(_numpy_functions, ALIKE.get(short(op), short(op)), None)
        if isinstance(own, FunctionType) and op.name.startswith("core::"):
            return self.own_call(own, args, result)
        return self.kernel_call(declaration_of(op.name), args)

    def own_call(self, function: Any, args: dict[str, Any], result: Any) -> str:
        """A call of one of the functions of this package."""
        known = function.__code__.co_varnames[: function.__code__.co_argcount]
        given = {name: value for name, value in args.items() if name in known and name not in WITHOUT_MEANING}
        if "dtype" in known:
            given["dtype"] = result
        name = self.sources.function(function)
        return f"{name}({', '.join(f'{key}={literal(value)}' for key, value in given.items())})"

    def embed_call(self, input: Array, shape: Any, of: str, args: Any) -> str:
        """Zeros with an array in a view of them, which the op of a name makes."""
        view = self.kernel(declaration_of(of), input.dtype, ())
        name = self.sources.function(_numpy_functions.embedded)
        return f"{name}({input.text}, {literal(shape)}, {view}, {literal(args)})"

    def kernel_call(self, op: Any, args: dict[str, Any]) -> str:
        """A call of a declared op's kernel."""
        values = list(args.values())
        first = next(iter(arrays_in(values)), None)
        if first is None:
            raise NotStandalone("it takes no arrays")
        element = first.dtype
        dtype_text(element)
        rest: tuple[Any, ...] = ()
        if isinstance(op.generic, Formula):
            rest = tuple(values[op.generic.count :])
            values = values[: op.generic.count]
            if any(isinstance(each, (Array, Text)) for each in rest):
                raise NotStandalone("a number of it is known only when the program runs")
        if element.is_half:
            values = [self.number(op, name, value, element) for name, value in zip(args, values)]
        name = self.kernel(op, element, rest)
        return f"{name}({', '.join(literal(each) for each in values)})"

    def number(self, op: Any, name: str, value: Any, element: Any) -> Any:
        """A number as arrays of half precision are combined with it."""
        rounds = op.scalars.get(name, "float32") != "float32"
        return float(element.numpy.type(value)) if rounds and type(value) in (int, float) else value

    def kernel(self, op: Any, element: Any, rest: tuple[Any, ...]) -> str:
        """The name of an op's kernel, with the conversions that its dtype needs: see `Declaration.prepare`."""
        compute = element
        if op.result == "float" and element.category < 2:
            compute = get_default_dtype()
        if op.compute_dtype == "float32" and compute.is_half:
            compute = float32
        variant = compute if isinstance(op.generic, Formula) else compute.is_complex and op.complex_kernel is not None
        key = op.name, variant, (element if compute is not element else None), repr(rest)
        if key not in self.names:
            name = self.plain_kernel(op, compute, rest)
            if compute is not element:
                name = self.converting(op, name, element, compute)
            self.names[key] = name
            self.called[name] = op.name, element.numpy.name, rest
        return self.names[key]

    def converting(self, op: Any, kernel: str, element: Any, compute: Any) -> str:
        """A kernel that computes in another dtype."""
        places = tuple([None if each == "float32" else op.arguments.index(each) for each in op.rounds_to])
        integers = not element.is_half
        convert = _numpy_functions.widened_integers if integers else _numpy_functions.computed_in
        name = self.sources.unique(f"{op.short}_of_{element.numpy.name}")
        given = [kernel, dtype_text(element), dtype_text(compute), *([] if integers or not places else [repr(places)])]
        self.sources.parts.append(f"{name} = {self.sources.function(convert)}({', '.join(given)})")
        return name

    def plain_kernel(self, op: Any, compute: Any, rest: tuple[Any, ...]) -> str:
        """The name of the kernel without conversions."""
        generic = op.generic
        if op.complex_kernel is not None and compute.is_complex:
            generic = op.complex_kernel
        if isinstance(generic, str):
            name = self.sources.unique(op.short)
            self.sources.parts.append(f"{name} = {self.sources.module('numpy')}.{generic}")
            return name
        if isinstance(generic, Formula):
            return self.formula(op, generic, compute, rest)
        return self.sources.kernel(generic, op.short)

    def formula(self, op: Any, formula: Formula, compute: Any, rest: tuple[Any, ...]) -> str:
        """The kernel of a formula: Python that is written of it for these numbers and choices."""
        choice, numbers = formula.parted(rest)
        program = formula.program(choice, tuple([each == 1 for each in numbers]))
        writer, function = kernel_writer(program, numpy, compute.numpy, formula.broadcasts)
        _, _, body = writer.source(function).partition("\n")
        used = {each.id for each in ast.walk(ast.parse(writer.source(function))) if isinstance(each, ast.Name)}
        name, maker = self.sources.unique(op.short), self.sources.unique(f"make_{op.short}")
        given = [writer.numbers[each] for each in writer.program.arguments if each.sort == "number"]
        values = zip(given, [each for each in numbers if each != 1])
        lines = [f"    {key} = {literal(value)}" for key, value in values]
        if used & {"constant", "element"}:
            lines.append(f"    element = {self.sources.module('numpy')}.dtype({writer.element.name!r})")
        for each in sorted(used & set(writer.names) - {"element"}):
            if isinstance(writer.names[each], (partial, FunctionType)):
                helper = self.helper(each, writer.names[each])
                self.sources.locals.setdefault(helper, set()).update(used)
                body = re.sub(rf"\b{each}\b", helper, body)
            else:
                lines += [f"    {line}" for line in self.definition(each, writer.names[each])]
        what = " ".join([op.name, *map(str, choice)])
        doc = f'    """The kernel of {what}, of {compute.numpy.name}."""'
        self.sources.parts.append("\n".join([f"def {maker}():", doc, *lines, body]))
        self.sources.parts.append(f"{name} = {maker}()")
        return name

    def helper(self, name: str, function: Any) -> str:
        """A function that a formula's code uses: one of its own, or the kernel of one of core's ops."""
        if isinstance(function, partial):
            return self.sources.kernel(function.func, name)
        return self.sources.function(function)

    def definition(self, name: str, value: Any) -> list[str]:
        """The definition of another name that a formula's code uses."""
        module = self.sources.module("numpy")
        if name == "constant":
            return ["def constant(value):", f"    return {module}.array(value, element)"]
        if name == "xp":
            return [f"xp = {module}"]
        if name in ("inf", "nan"):
            return [f'{name} = float("{name}")']
        of_numpy: Any = getattr(numpy, value.__name__, None)
        if of_numpy is value:
            return [f"{name} = {module}.{value.__name__}"]
        owner = "operator" if getattr(operator, value.__name__, None) is value else value.__module__
        return [f"{name} = {self.sources.imported_name(owner, value.__name__)}"]


def declaration_of(name: str) -> Any:
    """The declared op of a name.

    Raises
    ------
    NotStandalone
        If it is no declared op, whose kernel could be taken.
    """
    try:
        found: Any = get_op(name)
    except KeyError:
        found = None
    if not hasattr(found, "generic"):
        raise NotStandalone("it has no kernel")
    return found


def short(op: Any) -> str:
    """The name of an op without its namespace."""
    return str(op.name).partition("::")[2]
