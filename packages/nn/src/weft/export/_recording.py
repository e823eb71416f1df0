"""Recordings: the ops that a program runs, as a list without in-place writes on numbered values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy

import weft
from weft.export._operators import OpFunction, op_function
from weft.export._size_guards import Leaf, SizeLog, Traced, program_frame, traced_sizes, untraced
from weft.export._trial_sizes import selected_rows
from weft.export._views import Step, inverse_of
from weft.export.errors import UserError
from weft.library import Interceptor
from weft.library.checks import caller_line
from weft.library.interceptors import OTHER_MEMORY, SIZES_FROM_VALUES
from weft.nn import Module
from weft.utils._pytree import tree_leaves, tree_map

__all__ = ["Call", "Constant", "Conversion", "Recorder", "Recording", "Slot", "record", "slots_in"]

# Reads of values: what a program does with them, a graph cannot do.
READS = frozenset("item tolist numpy resolve from_dlpack apply_ map_ map2_".split())
RANDOM = frozenset(
    f"core::{name}" for name in "rand randn randint randperm rand_like randn_like randint_like normal".split()
)
# Arrays that come from Python: values of the program, the same in each of its runs.
FROM_PYTHON = frozenset("core::tensor core::scalar_tensor".split())


Conversion = tuple[dict[str, Any], str]  # the namespace of a module, and the function's name

COMPARISONS = frozenset(f"core::{name}" for name in "eq ne lt le gt ge".split())


class Slot(NamedTuple):
    """A value of a recording, by its number."""

    number: int


class Constant(NamedTuple):
    """A tensor that a program made of Python's numbers."""

    tensor: Any


@dataclass
class Call:
    """An op that ran: arguments by name, with values as `Slot`; the result likewise."""

    target: OpFunction
    args: dict[str, Any]
    result: Any
    line: str


class Kind(NamedTuple):
    """The shape and dtype of a value."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass
class Recording:
    """What a program did once, with inputs of some sizes.

    Attributes
    ----------
    calls : list of Call
    kinds : list of Kind
        Of values, by slot.
    inputs : list of Slot
    externals : dict
        From a slot to the tensor that was there before and is no input.
    lines : dict
        From the slot of an external to the line that first takes it.
    results : Any
        What the program returned, with tensors as `Slot`.
    mutations : dict
        From the slot of an input or external that was written to, to that of its last value.
    comparisons : SizeLog
        Of sizes that the program read.
    selections : list of Slot
        Results with as many rows as values say, in the order in which they were made.
    """

    calls: list[Call] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    inputs: list[Slot] = field(default_factory=list)
    externals: dict[int, Any] = field(default_factory=dict)
    lines: dict[int, str] = field(default_factory=dict)
    results: Any = None
    mutations: dict[int, Slot] = field(default_factory=dict)
    comparisons: SizeLog = field(default_factory=SizeLog)
    selections: list[Slot] = field(default_factory=list)


class Storage:
    """Memory that tensors share: the value that all of it has now, and how often it was written to."""

    def __init__(self, base: Slot) -> None:
        self.base = self.first = base
        self.version = 0


class Place:
    """An array: the views that lead to it from its storage, and the value that it had when it was last used."""

    def __init__(self, storage: Storage, steps: tuple[Step, ...], slot: Slot, array: Any) -> None:
        self.storage = storage
        self.steps = steps
        self.slot = slot
        self.version = storage.version
        self.array = array


class Recorder(Interceptor):
    """Notes each op of this thread. A write becomes an op that makes a new value, which views are then taken of.

    Parameters
    ----------
    inputs : sequence of Tensor
    rows_of : callable
        From the number of a selection to how many rows it has in this recording, whatever the values are.

    Raises
    ------
    UserError
        By its methods: if the program does what a graph cannot do.
    """

    sees_inside_functions = True
    hides_values = True
    exports = True

    def __init__(self, inputs: Sequence[Any], rows_of: Callable[[int], int]) -> None:
        self.made = Recording()
        self.rows_of = rows_of
        self.places: dict[Any, Place] = {}
        self.arrays: list[Any] = []  # so that no other one gets their identity or their memory
        self.undo: list[tuple[Any, Any]] = []  # what the program wrote to outside, and what was there
        self.selected: dict[Any, int] = {}  # from selections to their numbers
        self.comparisons: dict[int, Call] = {}  # whose results select, by slots
        self.constant: set[int] = set()  # slots that depend on Python's numbers alone
        for each in inputs:
            self.made.inputs.append(self.outside(each).slot)

    # Values

    def new_slot(self, kind: Kind) -> Slot:
        self.made.kinds.append(kind)
        return Slot(len(self.made.kinds) - 1)

    def keep(self, array: Any, place: Place) -> Place:
        """Remember where an array is, by its identity and by its memory: two that share all of it are one."""
        self.arrays.append(array)
        self.places[id(array)] = place
        if array.size:
            self.places.setdefault(memory_of(array), place)
        return place

    def outside(self, tensor: Any) -> Place:
        """The place of a tensor that was there before."""
        on_host(tensor)
        slot = self.new_slot(kind_of(tensor))
        return self.keep(tensor._array, Place(Storage(slot), (), slot, tensor._array))

    def place(self, tensor: Any) -> Place:
        """Of an argument: made by an op, or there before."""
        array = on_host(tensor)
        found = self.places.get(id(array))
        if found is None and array.size:
            found = self.places.get(memory_of(array))
        if found is None:
            found = self.outside(tensor)
            self.made.externals[found.slot.number] = tensor
            self.made.lines[found.slot.number] = program_line()
        return found

    def known_slot(self, tensor: Any) -> int | None:
        """The number of a value that has the tensor's sizes; None where the program has not used it."""
        found = self.places.get(id(tensor._array))
        return None if found is None else found.slot.number

    def slot(self, tensor: Any) -> Slot:
        """The value that an argument has now."""
        place = self.place(tensor)
        if place.version != place.storage.version:
            place.slot = self.view(place.storage.base, place.steps)
            place.version = place.storage.version
        return place.slot

    def view(self, slot: Slot, steps: tuple[Step, ...]) -> Slot:
        """Take views of a value again, after it was written to."""
        for step in steps:
            slot = self.add(step.target, {step.name: slot, **step.args}, step.kinds, step.output)
        return slot

    def add(self, target: OpFunction, args: dict[str, Any], kinds: Sequence[Kind], index: int = -1) -> Slot:
        """Note a call that the program did not do in these words; the result, or of several the one with an index."""
        slots = [self.new_slot(kind) for kind in kinds]
        if all(each.number in self.constant for each in slots_in(args)):
            self.constant.update(each.number for each in slots)
        self.made.calls.append(Call(target, args, slots[0] if index < 0 else tuple(slots), program_line()))
        return slots[max(index, 0)]

    def note(self, value: Any) -> Any:
        """An argument, with tensors as slots."""
        if isinstance(value, weft.Tensor):
            return self.slot(value)
        if isinstance(value, tuple):
            return tuple(self.note(each) for each in value)
        if isinstance(value, list):
            return [self.note(each) for each in value]
        if isinstance(value, slice):
            return slice(self.note(value.start), self.note(value.stop), self.note(value.step))
        if isinstance(value, numpy.generic):
            return value.item()
        return untraced(value)

    # Ops

    def instead(self, op: Any, args: dict[str, Any]) -> Any:
        """Run a call that writes as one that makes a new value, and refuse what has no place in a graph."""
        short = op.name.partition("::")[2]
        if short in OTHER_MEMORY:
            raise UserError(f"{op.name} at {program_line()}: it gives a tensor other memory")
        if short.endswith("_"):
            return self.write(op, args)
        if short == "conj" and args["input"].is_complex():  # which gives a view that no graph has
            with self:
                return weft.conj_physical(args["input"])
        if op.name in SELECTIONS and not self.is_constant(args):
            return self.select(op, args)
        if (short in READS or short in SIZES_FROM_VALUES) and not self.is_constant(args):
            self.refuse_values(op, short)
        return NotImplemented

    def select(self, op: Any, args: dict[str, Any]) -> Any:
        """What an op selects by values, repeated or cut to the number of rows that this recording has."""
        source = next(iter(args.values()))
        found = op(**args).numpy()
        count = self.rows_of(self.number_of_selection(op, args)) if source.numel() else 0
        if not found.size:
            found = SELECTIONS[op.name](tuple(source.shape))
        return weft.from_numpy(numpy.resize(found, (count, *found.shape[1:])))

    def number_of_selection(self, op: Any, args: dict[str, Any]) -> int:
        """That of the same selection if there was one, as by the two masks of ``x[x > 0] + y[x > 0]``."""
        return self.selected.get(self.call_key(op.name, args), len(self.made.selections))

    def call_key(self, name: str, args: Mapping[str, Any]) -> Any:
        """What calls have in common that compute the same."""
        noted = {key: self.note(value) for key, value in args.items()}
        return name, repr(tree_map(self.same_value, noted, is_leaf=lambda each: isinstance(each, Slot)))

    def same_value(self, value: Any) -> Any:
        """Of a comparison's result the comparison, of others what they are."""
        if not isinstance(value, Slot) or value.number not in self.comparisons:
            return value
        call = self.comparisons[value.number]
        return call.target.name, tuple(call.args.items())

    def is_constant(self, args: Any) -> bool:
        """Whether tensors among the arguments depend on nothing but numbers of Python's, hence on sizes at most."""
        return all(self.slot(each).number in self.constant for each in tensors_in(args))

    def refuse_values(self, op: Any, short: str) -> NoReturn:
        if short in SIZES_FROM_VALUES:
            raise UserError(
                f"{op.name} at {program_line()}: the size of its result depends on values, which no graph knows. "
                "Choose with weft.where or masked_fill in place of a mask between brackets; of a program that selects "
                "by values (a detector's boxes), export the part before, and select outside"
            )
        raise UserError(
            f"{op.name} at {program_line()}: the program reads a value of a tensor, and what it then does would be "
            "frozen. Compute with tensors (weft.where in place of an if), or read before the module is exported"
        )

    def after(self, op: Any, args: dict[str, Any], result: Any) -> None:
        """Note a call, once its result is known."""
        short = op.name.partition("::")[2]
        if short.endswith("_") or short in READS:
            return
        if short == "detach":
            self.keep(result._array, self.place(args["input"]))
            return
        if short == "contiguous_copy":  # memory of its own for the same value: how a value lies differs with its size
            slot = self.slot(args["input"])
            self.keep(result._array, Place(Storage(slot), (), slot, result._array))
            return
        results = [result] if isinstance(result, weft.Tensor) else list(result)
        if op.name in SELECTIONS and not self.is_constant(args):
            number = self.number_of_selection(op, args)
            self.note_call(op, args, result, results)
            if number == len(self.made.selections):
                self.made.selections.append(self.slot(result))
                self.selected[self.call_key(op.name, args)] = number
            return
        if op.name in FROM_PYTHON or short in SIZES_FROM_VALUES:
            for each in results:
                slot = self.outside(each).slot
                self.constant.add(slot.number)
                self.made.calls.append(Call(op_function(op.name), {"data": Constant(each)}, slot, program_line()))
            return
        if len(results) == 1 and id(results[0]._array) in self.places:
            return  # it gave its argument back
        self.note_call(op, args, result, results)

    def note_call(self, op: Any, args: dict[str, Any], result: Any, results: list[Any]) -> None:
        self.note_slices(op, args)
        noted = {name: self.note(value) for name, value in args.items()}
        target = op_function(op.name)
        kinds = [kind_of(each) for each in results]
        several = not isinstance(result, weft.Tensor)
        slots = [self.new_slot(kind) for kind in kinds]
        self.made.calls.append(Call(target, noted, tuple(slots) if several else slots[0], program_line()))
        if op.name in COMPARISONS:
            self.made.comparisons.note_place(program_frame())
            self.comparisons[slots[0].number] = self.made.calls[-1]
        if "generator" not in args and op.name not in RANDOM and self.is_constant(args):
            self.constant.update(slot.number for slot in slots)
        source = source_of(op, args)
        for index, (each, slot) in enumerate(zip(results, slots)):
            if source is not None and numpy.may_share_memory(source._array, each._array):
                at = self.place(source)
                name = next(iter(args))
                others = {key: value for key, value in noted.items() if key != name}
                step = Step(target, name, others, self.made.kinds[at.slot.number], kinds, index if several else -1)
                self.keep(each._array, Place(at.storage, (*at.steps, step), slot, each._array))
            else:
                self.keep(each._array, Place(Storage(slot), (), slot, each._array))

    def note_slices(self, op: Any, args: dict[str, Any]) -> None:
        """Note the bounds of slices, which end where the tensor does."""
        if op.name == "core::slice":
            slices = {args["dim"]: slice(args["start"], args["stop"])}
        elif op.name in ("core::getitem", "core::setitem"):
            slices = sliced_dims(args["key"])
        else:
            return
        source = args["input"]
        slot = self.slot(source).number
        for dim, each in slices.items():
            leaf = Leaf(slot, dim % source.ndim)
            for bound in (each.start, each.stop):
                if isinstance(bound, Traced):
                    continue  # of which the graph knows the formula
                if isinstance(bound, int) and abs(bound) > 1:
                    self.made.comparisons.slices.setdefault((leaf, abs(bound)), program_line())

    # Writes

    def write(self, op: Any, args: dict[str, Any]) -> Any:
        """Run a call that writes into its first argument as the op without that, and let its result be the value."""
        target: Any = next(iter(args.values()))
        place = self.place(target)
        self.slot(target)
        if place.storage.first.number in self.made.externals:
            self.undo.append((target._array, target._array.copy()))
        with self:
            result = written_value(op, args)
            if result is None:
                raise UserError(f"{op.name} at {program_line()}: a write that no op without it does")
            if result._key.dtype is not target._key.dtype:
                result = result.to(target._key.dtype)
            if result._array.shape != target._array.shape:
                result = result.expand(target._array.shape)
        new = self.slot(result)
        target._array[...] = result._array
        storage = place.storage
        storage.base = self.scatter(place.steps, storage.base, new, op)
        storage.version += 1
        place.slot, place.version = new, storage.version
        self.made.mutations[storage.first.number] = storage.base
        return target

    def scatter(self, steps: tuple[Step, ...], base: Slot, new: Slot, op: Any) -> Slot:
        """The value of a storage in which a view of it has another value."""
        if not steps:
            return new
        *before, last = steps
        whole = self.view(base, tuple(before))
        if last.target.name == "core::diagonal" and len(last.source.shape) == 2:
            return self.scatter(tuple(before), base, self.put_diagonal(last, whole, new), op)
        made = inverse_of(last, whole, new)
        if made is None:
            raise UserError(
                f"{op.name} at {program_line()}: it writes through {last.target.name}, which cannot be undone"
            )
        target, args = made
        return self.scatter(tuple(before), base, self.add(target, args, [last.source]), op)

    def put_diagonal(self, step: Step, whole: Slot, new: Slot) -> Slot:
        """The matrix whose diagonal has other values."""
        count, offset = step.kinds[0].shape[0], step.args["offset"]
        starts = (max(-offset, 0), max(offset, 0))
        ranges = [
            self.add(op_function("core::arange"), {"start": start, "end": start + count}, [Kind((count,), weft.int64)])
            for start in (starts if step.args["dim1"] < step.args["dim2"] else starts[::-1])
        ]
        args = {"input": whole, "indices": tuple(ranges), "values": new, "accumulate": False}
        return self.add(op_function("core::index_put"), args, [step.source])

    # The end

    def assign(self, before: Any, after: Any) -> None:
        """Note that a buffer is another tensor now: as a write of all of it."""
        if kind_of(before) != kind_of(after):
            raise UserError(
                f"export: a buffer of {kind_of(before)} became one of {kind_of(after)}; what a program keeps has the "
                "same shape and dtype each time"
            )
        self.made.mutations[self.place(before).storage.first.number] = self.slot(after)

    def restore(self) -> None:
        """Take back what the program wrote to tensors that were there before."""
        for array, before in reversed(self.undo):
            array[...] = before

    def finish(self, results: Any) -> Recording:
        """What was recorded, once the program has returned."""
        self.made.results = tree_map(
            lambda value: self.slot(value) if isinstance(value, weft.Tensor) else untraced(value), results
        )
        known = {each.number for each in self.made.inputs} | self.made.externals.keys()
        self.made.mutations = {first: last for first, last in self.made.mutations.items() if first in known}
        return self.made


def written_value(op: Any, args: dict[str, Any]) -> Any:
    """What an op that writes writes; None of those whose values no other op makes."""
    if op.name == "core::copy_":
        return args["other"]
    target = next(iter(args.values()))
    if op.name == "core::fill_":
        value = args["value"]
        return weft.full_like(target, value) if not isinstance(value, weft.Tensor) else value
    if op.name == "core::zero_":
        return weft.zeros_like(target)
    short = op.name.partition("::")[2]
    function = getattr(op, "function", None) or getattr(getattr(weft.Tensor, short, None), "function", None)
    if function is None or not hasattr(op, "unnamed"):
        return None
    positional, options = op.unnamed(args)
    return function(*positional, **options)


def on_host(tensor: Any) -> numpy.ndarray:
    """The array of a tensor, which must be one of the host's.

    Raises
    ------
    UserError
        If it is on another device, sparse or conjugate.
    """
    array = tensor._array
    if not isinstance(array, numpy.ndarray):
        raise UserError(
            f"export: a tensor on {tensor.device}, or a sparse or conjugate one, at {program_line()}; move the "
            "module and its inputs to the CPU, export there, and move the result"
        )
    return array


def kind_of(tensor: Any) -> Kind:
    return Kind(tuple(tensor._array.shape), tensor._key.dtype)


def memory_of(array: Any) -> tuple[Any, ...]:
    """What two arrays have in common that are the same elements."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def program_line() -> str:
    """The line of the program that runs: of a model of weft's too."""
    return caller_line("weft.vision", "weft.text")


def source_of(op: Any, args: dict[str, Any]) -> Any:
    """The tensor that a view is taken of; None of ops that are none."""
    return next(iter(args.values())) if getattr(getattr(op, "op", None), "is_view", False) else None


def sliced_dims(key: Any) -> dict[int, slice]:
    """The slices of a key by the dimensions of the source; none where tensors choose."""
    found: dict[int, slice] = {}
    dim = 0
    for each in key:
        if each is ... or not isinstance(each, (slice, int, type(None))):
            break
        if isinstance(each, slice):
            found[dim] = each
        dim += each is not None and not isinstance(each, bool)
    return found


def first_position(shape: tuple[int, ...]) -> Any:
    """The position of an array's first element, as `nonzero` gives it."""
    return numpy.zeros((1, len(shape)), numpy.int64)


def first_row(shape: tuple[int, ...]) -> Any:
    """The first box's number, as `nms` gives it."""
    return numpy.zeros(1, numpy.int64)


# Ops that select by values, with functions that give the first of what they select from. Recordings have results of
# other numbers of rows than values say: another one in each, so that the graph has a size of its own for it.
SELECTIONS: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "core::argwhere": first_position,
    "core::nonzero": first_position,
    "vision::nms": first_row,
}


def tensors_in(value: Any) -> list[Any]:
    """The tensors among arguments."""
    return [each for each in tree_leaves(value) if isinstance(each, weft.Tensor)]


def slots_in(value: Any) -> list[Slot]:
    """The slots among noted arguments."""
    return [each for each in tree_leaves(value, lambda each: isinstance(each, Slot)) if isinstance(each, Slot)]


def record(
    function: Callable[[], Any],
    inputs: Sequence[Any],
    module: Module | None = None,
    rows_of: Callable[[int], int] = selected_rows,
    conversions: list[Conversion] | None = None,
) -> Recording:
    """Run a program, and note what it does; the buffers of a module are what they were afterwards.

    Modules that make plain numbers of sizes by functions of Python's are known after a run, and it is run again. They
    are added to ``conversions``, so that the program's next recording has them from the start.
    """
    conversions = [] if conversions is None else conversions
    while True:
        made = recorded_once(function, inputs, module, rows_of, conversions)
        found = [each for each in made.comparisons.conversions if not is_among(each, conversions)]
        if not found:
            return made
        conversions += found


def is_among(place: Conversion, places: Sequence[Conversion]) -> bool:
    return any(space is place[0] and name == place[1] for space, name in places)


def run(function: Callable[[], Any], recorder: Recorder) -> Any:
    """Run a program; where it fails on what was made up for selections, say so."""
    try:
        return function()
    except UserError:
        raise
    except Exception as error:
        selected = {each.number for each in recorder.made.selections}
        calls = [each for each in recorder.made.calls if isinstance(each.result, Slot)]
        first = next((each for each in calls if each.result.number in selected), None)
        if first is None:
            raise
        raise UserError(
            f"{first.target.name} at {first.line}: how many rows it selects depends on values; with another number "
            "than that of the example, or the first where it has none, the program fails: "
            f"{type(error).__name__}: {error}"
        ) from error


def recorded_once(
    function: Callable[[], Any],
    inputs: Sequence[Any],
    module: Module | None,
    rows_of: Callable[[int], int],
    conversions: Sequence[Conversion],
) -> Recording:
    recorder = Recorder(inputs, rows_of)
    buffers = [
        (owner._buffers, name, tensor)
        for owner in (module.modules() if module is not None else ())
        for name, tensor in owner._buffers.items()
        if tensor is not None
    ]
    try:
        with weft.no_grad(), recorder, traced_sizes(recorder.made.comparisons, recorder.known_slot, conversions):
            results = run(function, recorder)
        for held, name, before in buffers:
            after = held.get(name)
            if after is not before and after is not None:
                recorder.assign(before, after)
        return recorder.finish(results)
    finally:
        for held, name, before in buffers:
            held[name] = before
        recorder.restore()
