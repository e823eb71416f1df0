"""Chains of elementwise calls as one loop: a formula that is composed of those of the ops.

Each call's value is rounded to its dtype before the next one takes it, and no multiplication is contracted with the
addition of another call, so that the bits are those of the single loops. Where a single call would not run its formula,
since the arrays are small and NumPy has other bits, the chain is not taken.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.backend import KernelCall
from weft.backend_cpu import libraries
from weft.backend_cpu.compiled.codegen.deferred import intrinsic, ir, types
from weft.backend_cpu.compiled.codegen.elementwise import ARRAYS, FORMULAS, NUMBERS, scalar_function
from weft.backend_cpu.compiled.codegen.float16 import HALVES, rounded, single_of
from weft.backend_cpu.compiled.codegen.instructions import HAS_FUSED
from weft.backend_cpu.compiled.kernels import formulas, functions, pointwise
from weft.backend_cpu.compiled.kernels.pointwise import ScalarCall, run_of
from weft.library.formulas import formula_of

MODULES = (formulas, functions, pointwise)  # of the scalar functions: a loop is compiled anew where one has changed
COST = 2  # of a call, in additions


class ComposedChain(NamedTuple):
    """Calls as one formula.

    Attributes
    ----------
    text : str
        What it computes, call by call, with the keys of the scalar functions.
    source : str
        The same as Python code.
    called : dict
        The scalar functions by their names there.
    order : list of int
        The places among the inputs of the arrays that the formula takes.
    numbers : list of float
        That it takes behind them.
    cost : int
        Of an element, in additions.
    element : numpy.dtype
        Of the result.
    """

    text: str
    source: str
    called: dict[str, Any]
    order: list[int]
    numbers: list[float]
    cost: int
    element: Any

    @property
    def name(self) -> str:
        """What the formula is called in caches."""
        return f"fused {zlib.crc32(self.text.encode()):08x}"

    @property
    def work(self) -> str:
        """What is noted where it is worth being compiled."""
        return f"{self.name} {self.element.name}"


def chain_of(calls: Sequence[KernelCall], inputs: Sequence[Any]) -> ComposedChain | str:
    """The formula of calls; a string says why there is none."""
    shape = calls[-1].result.shape
    order = sorted(range(len(inputs)), key=lambda place: inputs[place].shape != shape)  # broadcast ones last
    names = {id(inputs[place]): f"x{k}" for k, place in enumerate(order)}
    numbers: dict[str, str] = {}  # names by what they are, which tells zeros apart
    called: dict[str, Any] = {}
    lines, text = [], []
    for place, call in enumerate(calls):
        scalar = scalar_call_of(call)
        dtype = call.result.dtype
        if scalar is None or dtype not in ROUNDED:
            return f"no formula gives the bits of {call.name} here"
        operands = []
        for each in scalar.operands:
            if type(each) is float:
                operands.append(numbers.setdefault(repr(each), f"p{len(numbers)}"))
            else:
                operands.append(names[id(each)])
        called[f"f{place}"] = FORMULAS[scalar.key]
        names[id(call.result)] = f"v{place}"
        value = f"f{place}({', '.join(operands)})"
        lines.append(f"    v{place} = {ROUNDED[dtype].format(value)}")
        text.append(f"v{place} {dtype.char} = {scalar.key}({', '.join(operands)})")
    if len(inputs) > ARRAYS or len(numbers) > NUMBERS:
        return f"a loop takes {ARRAYS} arrays and {NUMBERS} numbers, and here are {len(inputs)} and {len(numbers)}"
    taken = ", ".join([*(f"x{k}" for k in range(len(order))), *numbers.values()])
    source = "\n".join([f"def function({taken}):", *lines, f"    return v{len(calls) - 1}"])
    given = [float(each) for each in numbers]
    return ComposedChain("; ".join([taken, *text]), source, called, order, given, COST * len(calls), dtype)


def scalar_call_of(call: KernelCall) -> ScalarCall | None:
    """What computes an element of a call's result, if a kernel of the same bits would."""
    first = next(each for each in call.args if isinstance(each, np.ndarray))
    element: weft.dtype = getattr(weft, HALVES.get(first.dtype, first.dtype.name))
    row = libraries.row_of(libraries.NUMBA, call.name, element)
    if row is None or not (row.bitwise or first.size >= row.min_size):
        return None
    if libraries.row_of("onednn", call.name, element) is not None:
        return None
    made, formula = pointwise.scalar_calls.get((call.name, element.name)), formula_of(call.name)
    if made is not None:
        found = made(*call.args)
    elif formula is not None and (call.name, element.name) not in libraries.rows_of(libraries.NUMBA):
        found = formulas.scalar_call(formula, *call.args)
    else:
        return None
    if found is None or not all(
        type(each) is float or any(each is one for one in call.args) for each in found.operands
    ):
        return None
    numbers = [each for each in found.operands if type(each) is float]
    if first.dtype in HALVES and any(float(first.dtype.type(each)) != each for each in numbers):
        return None  # some ops round it before they compute, and some do not
    return found


def fused_kernel(chain: ComposedChain, generic: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel that computes a chain, of the inputs."""
    space = NAMES | chain.called | {"__name__": __name__}
    exec(compile(chain.source, f"<{chain.name}>", "exec"), space)
    key = scalar_function(chain.name, space["function"])
    order, numbers, count = chain.order, chain.numbers, len(chain.order)

    def fallback(*args: Any) -> Any:
        by_place = dict(zip(order, args))
        return generic(*[by_place[place] for place in range(count)])

    run = run_of(key, count + len(numbers), fallback, cost=chain.cost, result=chain.element, operands=list)
    if order == list(range(count)):
        return (lambda *arrays: run(*arrays, *numbers)) if numbers else run
    return lambda *arrays: run(*[arrays[place] for place in order], *numbers)


# Values between two calls


@intrinsic
def settled(typingctx: Any, x: Any) -> Any:
    """A floating-point value that is not contracted with what is computed of it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not HAS_FUSED:  # there are no multiply-adds, and LLVM has no code for the intrinsic before AVX
            return args[0]
        kind = ir.FunctionType(args[0].type, [args[0].type])
        return builder.call(builder.module.declare_intrinsic("llvm.canonicalize", [args[0].type], kind), args)

    return x(x), generate


def rounded_to(name: str) -> Any:
    """The function that rounds a float32 to half precision, and gives it in float32."""

    @intrinsic
    def to_half(typingctx: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = context.cast(builder, args[0], x, types.float32)
            return single_of(builder, name, rounded(builder, name, value))

        return types.float32(x), generate

    return to_half


HALF_NAMES = {name: rounded_to(name) for name in HALVES.values()}
NAMES = HALF_NAMES | {name: getattr(np, name) for name in ("bool_", "float32", "float64", "int32", "int64")}
NAMES["settled"] = settled
ROUNDED = {dtype: f"{name}({{}})" for dtype, name in HALVES.items()}
ROUNDED |= {np.dtype(name): f"{name}({{}})" for name in ("bool_", "int32", "int64")}
ROUNDED |= {np.dtype(name): f"settled({name}({{}}))" for name in ("float32", "float64")}
"""How a value of a dtype is written in a formula."""
