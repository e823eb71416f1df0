"""Elementwise operations by a function of one element: on all layouts, with any broadcasting.

One loop is compiled for each scalar function, the dtypes of its operands, and how each of them advances: to the next
element in memory, not at all (broadcast), it is a number, or by a stride (one loop for all strides, which gathers
blocks first). Half precision is read as float32 and rounded when it is written.

Shapes and strides are analysed in Python, once for each combination, and become a short table of integers: a `Plan`.
Code that is compiled once for all functions goes through the rows of the table and runs the loop on each. Broadcast
operands are read again and again, and copied only where rows are so short that several are made one. Large transposed
operands are copied panel by panel, since a copy reads each cache line once. Contiguous arrays need no plan: see
`contiguous`.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from weft.backend import destination
from weft.backend_cpu.compiled import prebuilt
from weft.backend_cpu.compiled.codegen.array_header import ALIGNED, FLAGS, HEAD, word_at
from weft.backend_cpu.compiled.codegen.deferred import (
    compiled_c_function,
    from_dtype,
    intrinsic,
    ir,
    njit,
    overload,
    types,
)
from weft.backend_cpu.compiled.codegen.float16 import HALVES, loaded, rounded
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.codegen.strided_copy import UNSIGNED, strided_copy

__all__ = ["run_elementwise", "scalar_function"]

# Scalar functions

FORMULAS: dict[str, Any] = {}

ARRAYS, NUMBERS = 3, 3  # operands of each sort that a scalar function may have


def scalar_function(name: str, formula: Callable[..., Any]) -> str:
    """Declare a function of one element of each operand, and return its key.

    At most three operands are arrays, and three are numbers, which the formula gets in the dtype of the arrays.
    """
    code = formula.__code__
    key = f"{name} {zlib.crc32(code.co_code + repr((code.co_consts, code.co_names)).encode())}"  # of the disk cache
    FORMULAS[key] = njit(formula, forceinline=True, fastmath={"contract"}, error_model="numpy")
    return key


# How an operand advances from one element of a row to the next
NEXT, SAME, NUMBER = "next", "same", "number"


class Operand(NamedTuple):
    """How a loop reads or writes an operand: its dtype (``half`` names float16 or bfloat16), and how it advances."""

    half: str
    element: Any
    follows: str

    @classmethod
    def all_of(cls, spec: Any) -> list[Operand]:
        """The operands that the specification of a loop lists, the result first."""
        _, *marks = spec.literal_value.split("|")
        return [cls.of(*mark.split()) for mark in marks]

    @classmethod
    def of(cls, char: str, follows: str) -> Operand:
        half = NAMES.get(char, "")
        return cls(half, types.float32 if half else from_dtype(np.dtype(char)), follows)

    def pointer(self, context: Any, builder: Any, address: Any, index: Any) -> Any:
        """The address of the element at an index."""
        memory = ir.IntType(16) if self.half else context.get_data_type(self.element)
        place = builder.inttoptr(address, memory.as_pointer())
        return builder.gep(place, [index]) if self.follows == NEXT else place


NAMES = {element.char: name for element, name in HALVES.items()}

# A result may be written over an operand: element i is read before it is written, and no other. So the compiler may
# take it that reads and writes do not alias, without which there is no vector code.


def scopes(module: Any) -> Any:
    """LLVM's alias scope of the memory that is read."""
    domain = module.add_metadata([ir.MetaDataString(module, "weft elementwise")])
    return module.add_metadata([module.add_metadata([ir.MetaDataString(module, "operands"), domain])])


@intrinsic(prefer_literal=True)
def elements(typingctx: Any, spec: Any, arrays: Any, numbers: Any, index: Any) -> Any:
    """The elements of all operands at an index, as a tuple."""
    operands = Operand.all_of(spec)[1:]
    result = types.Tuple([each.element for each in operands])

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _, arrays, numbers, index = values
        sources = iter([builder.extract_value(arrays, k) for k in range(ARRAYS)])
        given = iter([builder.extract_value(numbers, k) for k in range(NUMBERS)])
        found = []
        for each in operands:
            if each.follows == NUMBER:
                found.append(context.cast(builder, next(given), types.float64, each.element))
                continue
            pointer = each.pointer(context, builder, next(sources), index)
            if each.half:
                instruction, value = loaded(builder, each.half, pointer)
            else:
                instruction = builder.load(pointer)
                value = context.data_model_manager[each.element].from_data(builder, instruction)
            instruction.set_metadata("alias.scope", scopes(builder.module))
            found.append(value)
        return context.make_tuple(builder, result, found)

    return result(spec, arrays, numbers, index), generate


@intrinsic(prefer_literal=True)
def put(typingctx: Any, spec: Any, array: Any, index: Any, value: Any) -> Any:
    """Write an element of the result."""
    place = Operand.all_of(spec)[0]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _, array, index, value = values
        if place.half:
            value = rounded(builder, place.half, value)
        else:
            value = context.data_model_manager[place.element].as_data(builder, value)
        pointer = place.pointer(context, builder, array, index)
        builder.store(value, pointer).set_metadata("noalias", scopes(builder.module))
        return context.get_dummy_value()

    return types.void(spec, array, index, place.element), generate


def apply(spec, values):
    """A scalar function's value for one element of each operand, in compiled code."""
    raise NotImplementedError


@overload(apply, prefer_literal=True, jit_options={"forceinline": True})
def apply_compiled(spec, values):
    formula = FORMULAS[spec.literal_value.partition("|")[0]]
    return lambda spec, values: formula(*values)


# All loops have this signature: addresses of result and operands, size, address of the table from STEPS on, numbers.
LOOP = "void(int64, int64, int64, int64, int64, int64, float64, float64, float64)"
OPTIONS: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy"}


@cache
def compiled_loop(spec: str) -> int:
    """The address of a loop. ``spec`` is the function's key, and for the result and each operand ``|dtype advance``."""
    formula = FORMULAS[spec.partition("|")[0]].py_func

    @address_of(spec, LOOP, formula.__module__, pipeline_class="SeveralVectors", **OPTIONS)
    def run(out, a, b, c, size, steps, p, q, r):
        for i in range(size):
            put(spec, out, i, apply(spec, elements(spec, (a, b, c), (p, q, r), i)))

    return run


def address_of(name: str, signature: str, *modules: str, **options: Any) -> Callable[[Any], int]:
    """A decorator that gives a function's address for compiled code: a prebuilt one's of this name, or Numba's."""

    def compiled(function: Any) -> int:
        found = prebuilt.address(name)
        if found is not None:
            return found
        function.__name__ = name.partition("|")[0]  # which who waits is told
        given = {"name": name, "request": partial(request_of, name), **options}
        loops[name] = made = compiled_c_function(signature, *modules, **given)(function)
        return int(made.address)

    return compiled


def request_of(name: str) -> tuple[Any, ...]:
    """What `compile_server` is asked for in order to compile a function of this name."""
    from numba.core.serialize import dumps

    formula = FORMULAS.get(name.partition("|")[0])
    return "loop", name, *(() if formula is None else (formula.py_func.__module__, dumps(formula.py_func)))


def compile_named(name: str) -> None:
    """Compile a function of this name; its scalar function is there."""
    sort, _, size = name.partition(" ")
    if sort == "copier":
        strided_copier(int(size))
    elif name == "gathering":
        gathering_loop()
    else:
        compiled_loop(name)


loops: dict[str, Any] = {}
"""Numba's functions whose addresses are in use, by name."""


# A plan's table: words at these places, and behind them, for each dimension above the row, from the innermost on, its
# size and the strides in bytes of the result and the operands
ROW, ABOVE, STEPS = 0, 1, 2  # elements of a row; number of dimensions above it; strides within a row
COPIERS = STEPS + 1 + ARRAYS  # address of what copies strided elements, 0 for adjacent ones
ITEMS = COPIERS + 1 + ARRAYS  # item sizes
FUNCTION = ITEMS + 1 + ARRAYS  # address of the loop, if `gathering_loop` runs in its place
DIMS = FUNCTION + 1
WIDTH = 2 + ARRAYS
BLOCK = 2048  # elements that are gathered at a time
LINE = 64  # bytes of a cache line, and of the longest vector


@intrinsic
def call(typingctx: Any, function: Any, places: Any, size: Any, steps: Any, numbers: Any) -> Any:
    """Run a loop by its address."""
    word, double = ir.IntType(64), ir.DoubleType()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        function, places, size, steps, numbers = values
        kind = ir.FunctionType(ir.VoidType(), [word] * (3 + ARRAYS) + [double] * NUMBERS).as_pointer()
        arrays = [builder.extract_value(places, k) for k in range(1 + ARRAYS)]
        scalars = [builder.extract_value(numbers, k) for k in range(NUMBERS)]
        builder.call(builder.inttoptr(function, kind), [*arrays, size, steps, *scalars])
        return context.get_dummy_value()

    return types.void(function, places, size, steps, numbers), generate


@loop
def rows_loop(function, table, places, numbers, lo, hi):
    length, above, steps = word_at(table + 8 * ROW), word_at(table + 8 * ABOVE), table + 8 * STEPS
    s0, s1, s2, s3 = word_at(steps), word_at(steps + 8), word_at(steps + 16), word_at(steps + 24)
    start, stop = np.int64(lo), np.int64(hi)
    row = start // length
    column = start - row * length
    while start < stop:
        out, a, b, c = places
        rest, line = row, table + 8 * DIMS
        for dim in range(above):
            index = rest
            if dim < above - 1:
                rest = index // word_at(line)
                index -= rest * word_at(line)
            out, a = out + index * word_at(line + 8), a + index * word_at(line + 16)
            b, c = b + index * word_at(line + 24), c + index * word_at(line + 32)
            line += 8 * WIDTH
        out, a, b, c = out + column * s0, a + column * s1, b + column * s2, c + column * s3
        count = min(length - column, stop - start)
        if above == 0 and s0 > 0:  # first up to a cache line: vectors from there on cross none
            count = min(-out % LINE // s0, count) or count
        call(function, (out, a, b, c), count, steps, numbers)
        start += count
        column += count
        if column == length:
            row, column = row + 1, 0


@launcher
def launch(function, table, size, cost, out, a, b, c, p, q, r):
    """Run a loop on arrays by their identities; False, and nothing is written, if one is not aligned."""
    if not (word_at(out + FLAGS) & word_at(a + FLAGS) & word_at(b + FLAGS) & word_at(c + FLAGS) & ALIGNED):
        return False
    places = (word_at(out + HEAD), word_at(a + HEAD), word_at(b + HEAD), word_at(c + HEAD))
    parallel(rows_loop, (function, table, places, (p, q, r)), size, size * cost)
    return True


# Strided elements


@cache
def strided_copier(size: int) -> int:
    """The address of a loop that copies elements of ``size`` bytes, from one stride to another."""
    mark = f"uint{8 * size}"

    @address_of(f"copier {size}", "void(int64, int64, int64, int64, int64)", error_model="numpy")
    def copy(source, step, target, distance, count):
        for i in range(count):
            copy_one(mark, source + i * step, target + i * distance)

    return copy


@intrinsic(prefer_literal=True)
def copy_one(typingctx: Any, mark: Any, source: Any, target: Any) -> Any:
    """Copy one element: by itself, since instructions that gather several are slower than as many that read one."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.IntType(getattr(types, mark.literal_value).bitwidth).as_pointer()
        builder.store(builder.load(builder.inttoptr(values[1], kind)), builder.inttoptr(values[2], kind))
        return context.get_dummy_value()

    return types.void(mark, source, target), generate


@intrinsic
def call_copier(typingctx: Any, function: Any, source: Any, step: Any, target: Any, distance: Any, count: Any) -> Any:
    """Call a `strided_copier` by its address."""
    word = ir.IntType(64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [word] * 5).as_pointer()
        builder.call(builder.inttoptr(values[0], kind), values[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


@intrinsic
def buffers(typingctx: Any) -> Any:
    """The address of memory on the stack: a block of the widest elements for each array."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        with builder.goto_entry_block():
            memory = builder.alloca(ir.ArrayType(ir.IntType(64), (1 + ARRAYS) * BLOCK))
        return builder.ptrtoint(memory, ir.IntType(64))

    return types.int64(), generate


@loop
def gathered(words, place, count, buffer):
    """The address of a block of an operand: its own, or that of the buffer to which strided elements are copied."""
    copier = word_at(words + 8 * (COPIERS - STEPS))
    if copier == 0:
        return place
    call_copier(copier, place, word_at(words), buffer, word_at(words + 8 * (ITEMS - STEPS)), count)
    return buffer


@cache
def gathering_loop() -> int:
    """The address of a loop that runs another one on blocks, to which strided operands are gathered first."""

    @address_of("gathering", LOOP, pipeline_class="SeveralVectors", **OPTIONS)
    def run(out, a, b, c, size, steps, p, q, r):
        memory = buffers()
        function, copier = word_at(steps + 8 * (FUNCTION - STEPS)), word_at(steps + 8 * (COPIERS - STEPS))
        step, item = word_at(steps), word_at(steps + 8 * (ITEMS - STEPS))
        while size > 0:
            count = min(BLOCK, size)
            x = gathered(steps + 8, a, count, memory + 8 * BLOCK)
            y = gathered(steps + 16, b, count, memory + 16 * BLOCK)
            z = gathered(steps + 24, c, count, memory + 24 * BLOCK)
            call(function, (memory if copier else out, x, y, z), count, steps, (p, q, r))
            if copier:
                call_copier(copier, memory, item, out, step, count)
            out, a = out + count * step, a + count * word_at(steps + 8)
            b, c = b + count * word_at(steps + 16), c + count * word_at(steps + 24)
            size -= count

    return run


# From Python

MAX_SHORT_ROW, MIN_SHORT_ROWS = (
    256,
    512,
)  # rows of fewer elements are made one, if they are so many and what is repeated in them is small
MIN_ROW = 16  # elements of a row that are not worth a call, if a longer dimension can be the row
STRIP = 32  # of a row whose elements are each in another line of the cache
MIN_SIZE_PACKED = 1 << 16  # elements from which transposed operands are copied
PANEL = 1 << 17  # elements of a transposed operand that are copied at a time: they fit the second cache


class Plan(NamedTuple):
    """How a function runs on arrays of some shapes, strides and dtypes."""

    function: int
    table: Any
    address: int  # of the table
    shape: tuple[int, ...]  # of the result, its dimensions in the order of memory
    order: tuple[int, ...] | None  # how to transpose it, if that is not its own
    size: int
    tiles: tuple[Any, ...]  # of operands that are repeated: which, the tile's shape, and the view that fills it
    packed: tuple[int, ...] = ()  # operands that are copied
    panels: tuple[Any, ...] = ()  # of the result, for which that is done one after another


PLANS: dict[Any, Plan | None] = {}
MAX_PLANS = 4096


def run_elementwise(
    key: str, operands: Sequence[Any], element: Any, cost: int = 1, out: Any = None, order: int = 0
) -> Any:
    """An array with the values of a scalar function; None, and nothing is written, where NumPy has to do it.

    Parameters
    ----------
    key : str
        Of a `scalar_function`.
    operands : sequence of arrays and floats
        That can be broadcast.
    element : numpy.dtype
        Of the result.
    cost : int
        Of one element, in additions.
    out : array, optional
        What to write to.
    order : int
        -1: a new array has the layout of the last operand; 0: that which a ufunc would give it.
    """
    if out is None and destination.array is not None:
        out = destination_of(key, operands, element)
    layout: list[Any] = [key, element, order]
    arrays, numbers = [], []
    for each in operands:
        if type(each) is float:
            numbers.append(each)
            layout.append(None)
        else:
            arrays.append(each)
            layout += (each.dtype.char, each.shape, each.strides)
    if out is not None:
        layout += (out.shape, out.strides)
    lies = tuple(layout)
    plan = PLANS.get(lies)
    if plan is None:
        if lies not in PLANS:
            if len(PLANS) >= MAX_PLANS:
                PLANS.clear()
            PLANS[lies] = plan = make_plan(key, operands, arrays, element, out, order)
        if plan is None:
            return None
    if out is None:
        made = np.empty(plan.shape, element)
        if plan.order is not None:
            made = made.transpose(plan.order)
    else:
        made = out
        if not made.flags.writeable or any(overlaps(each, made) for each in arrays):
            return None
    if not plan.size:
        return made
    if plan.packed:
        return made if run_in_panels(key, operands, plan, made, cost) else None
    for which, shape, full, turn, index in plan.tiles:
        tile = np.empty(shape, arrays[which].dtype)
        tile[...] = arrays[which].reshape(full).transpose(turn)[index]
        arrays[which] = tile
    places = map(id, (made, *arrays, *[made] * (ARRAYS - len(arrays))))
    scalars = (*numbers, *[0.0] * (NUMBERS - len(numbers)))
    return made if launch(plan.function, plan.address, plan.size, cost, *places, *scalars) else None


def run_in_panels(key: str, operands: Sequence[Any], plan: Plan, made: Any, cost: int) -> bool:
    """Run a function on one panel of its result after another, for which transposed operands are copied."""
    turn = memory_turn(made.strides)
    back = np.argsort(turn)
    for panel in plan.panels:
        out, parts, which = made[panel], [], 0
        for each in operands:
            if type(each) is float:
                parts.append(each)
                continue
            part = np.broadcast_to(each, made.shape)[panel]
            if which in plan.packed:
                copied = np.empty([part.shape[dim] for dim in turn], part.dtype).transpose(back)
                if not strided_copy(copied, part):
                    copied[...] = part
                part = copied
            parts.append(part)
            which += 1
        if run_elementwise(key, parts, made.dtype, cost, out) is None:
            return False
    return True


def destination_of(key: str, operands: Sequence[Any], element: Any) -> Any:
    """The array that an in-place call may write to; None if there is none, or its shape or dtype is another."""
    array = destination.array
    if operands[0] is not array or array.dtype != element or not is_written(key, array):
        return None
    shapes = [each.shape for each in operands if type(each) is not float]
    if any(shape != array.shape for shape in shapes) and np.broadcast_shapes(*shapes) != array.shape:
        return None
    return array


def is_written(key: str, array: Any) -> bool:
    """Whether an in-place call of this very op writes to the array, and may."""
    return bool(array.flags.writeable and key.startswith(destination.op) and key[len(destination.op)] == " ")


def overlaps(operand: Any, out: Any) -> bool:
    """Whether writing a result would change elements of an operand that are yet to be read."""
    if operand is out or not np.may_share_memory(operand, out):
        return False
    same = operand.shape == out.shape and operand.strides == out.strides
    return not (same and operand.ctypes.data == out.ctypes.data)


def make_plan(key: str, operands: Any, arrays: Any, element: Any, out: Any, order: int) -> Plan | None:
    """Analyse shapes and strides; None if elements of the result share memory."""
    shape = np.broadcast_shapes(*[each.shape for each in arrays])
    turn = memory_order(arrays, shape, order)
    strides = packed_strides(shape, element.itemsize, turn) if out is None else out.strides
    if (out is not None and out.shape != shape) or any(not step for step, n in zip(strides, shape) if n > 1):
        return None
    items = [element.itemsize, *[each.itemsize for each in arrays]]
    turned = tuple(shape[dim] for dim in turn), tuple(np.argsort(turn)) if turn != sorted(turn) else None
    packed = transposed_operands(arrays, shape, strides)
    if packed:
        return Plan(0, None, 0, *turned, math.prod(shape), (), packed, panels_of(shape, strides))
    dims = [
        (n, *steps)
        for n, *steps in zip(shape, strides, *[broadcast_strides(each, len(shape)) for each in arrays])
        if n > 1
    ]
    dims = merged(sorted(dims, key=lambda dim: -abs(dim[1])))
    tiles: Any = ()
    if len(dims) > 1 and dims[-1][0] < MAX_SHORT_ROW and math.prod(shape) >= MIN_SHORT_ROWS * dims[-1][0]:
        dims, tiles = with_tiled_rows(dims, items, arrays, shape, strides)
    row: Any
    *above, row = loop_order(dims, items) or [(1, *items)]
    apart = [step not in (0, item) for step, item in zip(row[1:], items)]
    follows = [SAME if step == 0 else NEXT for step in row[1:]]
    table = np.zeros(DIMS + WIDTH * len(above), np.int64)
    table[ROW], table[ABOVE] = row[0], len(above)
    table[STEPS : STEPS + len(items)] = row[1:]
    for place, dim in enumerate(reversed(above)):
        table[DIMS + WIDTH * place :][: len(dim)] = dim
    number = "d" if any(each.dtype.char == "d" for each in arrays) else "f"
    rest = iter(follows[1:])
    marks = [f"{number} {NUMBER}" if type(each) is float else f"{each.dtype.char} {next(rest)}" for each in operands]
    function = compiled_loop("|".join([key, f"{element.char} {follows[0]}", *marks]))
    if any(apart):
        table[FUNCTION], function = function, gathering_loop()
        table[COPIERS : COPIERS + len(items)] = [strided_copier(item) if far else 0 for far, item in zip(apart, items)]
        table[ITEMS : ITEMS + len(items)] = items
    return Plan(function, table, table.ctypes.data, *turned, math.prod(shape), tiles)


def transposed_operands(arrays: Any, shape: tuple[int, ...], strides: Any) -> tuple[int, ...]:
    """The operands whose adjacent elements are in another row of the result each, if both are long."""
    row = memory_turn(strides)[-1] if shape else 0
    if math.prod(shape) < MIN_SIZE_PACKED or shape[row] < MIN_ROW:
        return ()
    return tuple(
        which
        for which, each in enumerate(arrays)
        if each.shape == shape and each.itemsize in UNSIGNED and abs(each.strides[row]) >= LINE
        if any(step == each.itemsize and n >= MIN_ROW for step, n in zip(each.strides, shape))
    )


def panels_of(shape: tuple[int, ...], strides: Any) -> tuple[Any, ...]:
    """Parts of a result: it is cut along the longest dimension but the row."""
    above = memory_turn(strides)[:-1]
    longest = max(above, key=lambda dim: shape[dim])
    count = max(1, PANEL * shape[longest] // math.prod(shape))
    return tuple((*[slice(None)] * longest, slice(start, start + count)) for start in range(0, shape[longest], count))


def memory_turn(strides: Any) -> list[int]:
    """The dimensions in the order of memory, the outermost first."""
    return sorted(range(len(strides)), key=lambda dim: -abs(strides[dim]))


def memory_order(arrays: Any, shape: tuple[int, ...], order: int) -> list[int]:
    """The dimensions of a new result in the order of memory, the outermost first."""
    if all(each.flags.c_contiguous and each.shape == shape for each in arrays):
        return list(range(len(shape)))
    if order == -1 and arrays[-1].shape == shape:
        like = np.empty_like(arrays[-1], np.bool_)
    else:
        asked: Any = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
        kinds: Any = [None] * len(arrays) + [np.bool_]
        like = np.nditer([*arrays, None], ["zerosize_ok"], asked, kinds, order="K").operands[-1]
    return memory_turn(like.strides)


def packed_strides(shape: tuple[int, ...], item: int, turn: list[int]) -> tuple[int, ...]:
    """The strides of an array without gaps, whose dimensions have this order in memory."""
    strides = [0] * len(shape)
    for dim in reversed(turn):
        strides[dim] = item
        item *= max(shape[dim], 1)
    return tuple(strides)


def broadcast_strides(array: Any, ndim: int) -> list[int]:
    """The strides of an array that is broadcast to ``ndim`` dimensions."""
    return [0] * (ndim - array.ndim) + [step if n > 1 else 0 for step, n in zip(array.strides, array.shape)]


def merged(dims: list[Any]) -> list[Any]:
    """The dimensions, adjacent ones joined where the strides of all arrays allow it."""
    found: list[Any] = []
    for size, *steps in dims:
        if found and all(above == size * step for above, step in zip(found[-1][1:], steps)):
            size *= found.pop()[0]
        found.append((size, *steps))
    return found


def loop_order(dims: list[Any], items: Sequence[int]) -> list[Any]:
    """The dimensions in the order of the loops, chosen for the cache; the last is the row."""
    if len(dims) < 2:
        return dims
    if dims[-1][0] < MIN_ROW:  # a call for so few elements costs more than to go through memory several times
        longest = max(range(len(dims)), key=lambda at: dims[at][0])
        return [*dims[:longest], *dims[longest + 1 :], dims[longest]]
    size, *steps = dims[-1]
    across = any(
        abs(step) >= LINE and any(dim[k] == items[k - 1] for dim in dims[:-1]) for k, step in enumerate(steps, 1)
    )
    part = next((n for n in range(STRIP, STRIP // 2, -1) if size % n == 0), size) if across else size
    if part == size:
        return dims
    # The next row reads the same cache lines of a transposed operand: they must still be there
    return [(size // part, *[step * part for step in steps]), *dims[:-1], (part, *steps)]


def with_tiled_rows(dims: Any, items: Any, arrays: Any, shape: Any, strides: Any) -> tuple[Any, Any]:
    """Join short rows to long ones, for which broadcast operands are copied several times side by side."""
    turn = sorted(range(len(shape)), key=lambda dim: -strides[dim])
    sizes = [shape[dim] for dim in turn]
    steps = [broadcast_strides(each, len(shape)) for each in arrays]
    whole = [list(packed_strides(shape, each.itemsize, turn)) for each in arrays]
    again = [k for k in range(len(arrays)) if spread_of(whole[k], shape) != steps[k]]
    lead = min(next((d for d, dim in enumerate(turn) if steps[k][dim]), len(shape)) for k in again) if again else 0
    period = math.prod(sizes[lead:])
    if (
        spread_of(packed_strides(shape, items[0], turn), shape) != spread_of(strides, shape)
        or not 1 < period <= BLOCK // 2
    ):
        return dims, ()
    count = BLOCK // period
    row = count * period
    above = -(-math.prod(shape) // row)
    tiles = []
    for k in again:
        full = (1,) * (len(shape) - arrays[k].ndim) + arrays[k].shape
        tiles.append((k, (count, *sizes[lead:]), full, turn, (0,) * lead))
    farther = [0 if k - 1 in again else row * item for k, item in enumerate(items)]
    return [(above, *farther), (row, *items)], tuple(tiles)


def spread_of(strides: Any, shape: Any) -> list[int]:
    """Strides, with 0 for dimensions of one element, where they mean nothing."""
    return [step if n > 1 else 0 for step, n in zip(strides, shape)]
