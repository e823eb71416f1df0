"""Recordings: what a function does, as a list of ops on numbered arrays."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple, Self

import numpy

from weft._devices.devices import cpu, on_device_of
from weft._engine.dispatch import OpNode, PairNode
from weft._engine.tensor import Node, TensorBase, next_sequence
from weft._errors import caller_line
from weft._interception.interceptors import OTHER_MEMORY, SIZES_FROM_VALUES, Interceptor
from weft.compiler._differentiable import Graph, tensors_saved
from weft.compiler._execution import unseen
from weft.compiler._guards import CONSTANTS, Guards, Refused
from weft.random import Generator, default_generator_of
from weft.utils._pytree import tree_map

__all__ = ["Call", "Change", "Given", "Output", "Outside", "Recorder", "Recording", "Slot", "Value"]

# Ops whose results depend on no values of tensors: the small ones are copied.
THE_SAME = frozenset(
    f"core::{name}"
    for name in "zeros ones full arange zeros_like ones_like full_like new_zeros new_ones new_full eye".split()
)
FEW = 4096  # elements


class Given(NamedTuple):
    """A result that is one of the function's arguments, by its place among them."""

    place: int


class Output(NamedTuple):
    """A result that can be differentiated, by its place among these."""

    place: int


class Slot(NamedTuple):
    """An array of a recording, by its number."""

    number: int

    def __repr__(self) -> str:
        return f"%{self.number}"


@dataclass
class Call:
    """An op that ran: arguments by name, with arrays as `Slot`; the result likewise."""

    op: Any
    args: dict[str, Any]
    result: Any
    line: str
    shapes: list[tuple[int, ...]] = field(default_factory=list)  # of the results
    made: Any = None  # a copy of a small result that is the same each time
    writes: bool = False  # whether it may write to what it takes

    @property
    def name(self) -> str:
        """The op's."""
        return str(self.op.name)

    def __str__(self) -> str:
        args = ", ".join(f"{name}={value!r}" for name, value in self.args.items())
        return f"{self.result!r} = {self.name}({args})  # {self.line}"


@dataclass
class Outside:
    """A call of what weft owns, whose settings may change from step to step: a step of an optimizer or of a schedule.

    Attributes
    ----------
    function : callable
        Does it as it is.
    gradients : list of Change
        Which gradients it finds that were not there at the last such point.
    calls : list of Call or None
        The ops that it ran, which do the same again as long as its owner is what it was; None if they do not.
    guards : Guards
        Of the owner.
    versions : list of (Tensor, int)
        By how much the calls have grown the counts of writes.
    """

    function: Callable[[], Any]
    gradients: list[Change]
    line: str
    name: str
    guards: Any
    calls: list[Call] | None = None
    versions: list[tuple[Any, int]] = field(default_factory=list)

    def __str__(self) -> str:
        inner = "" if self.calls is None else "".join(f"\n    {each}" for each in self.calls)
        return f"{self.name}()  # {self.line}{inner}"


class Change(NamedTuple):
    """A gradient of a tensor that was there before: an array of the recording, or None."""

    tensor: Any
    slot: Slot | None


@dataclass
class Recording:
    """All that a function did, once.

    Attributes
    ----------
    calls : list of Call and Outside
    shapes : list of tuple of int
        Of arrays, by slot.
    keys : list of DispatchKey
        By slot.
    arguments : list of Slot
        Of the tensors among the function's arguments.
    externals : dict
        From a slot to the tensor that was there before and is no argument.
    results : Any
        What the function returned, with tensors as `Slot`.
    histories : dict
        From the slots of results that had been differentiated to the names of their nodes.
    gradients : list of Change
    versions : list of (Tensor or Slot, int)
        By how much the counts of writes have grown, of arguments by their slots.
    old_gradients : list of Tensor
        Those that get other gradients: replays let go of the old ones first.
    started_with : list of (Tensor, Tensor or None)
        Gradients that the function adds to, or that were none.
    outputs : list of Slot
        Of the results that can be differentiated.
    ways : list of Way
        Where the graph behind them leads.
    passes : dict
        Recordings of the backward passes of the graph, by kind.
    owners : dict
        From slots whose arrays are there at the end to what owns their memory, by its id.
    """

    calls: list[Any] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)
    arguments: list[Slot] = field(default_factory=list)
    externals: dict[int, Any] = field(default_factory=dict)
    results: Any = None
    histories: dict[int, str] = field(default_factory=dict)
    gradients: list[Change] = field(default_factory=list)
    versions: list[tuple[Any, int]] = field(default_factory=list)
    old_gradients: list[Any] = field(default_factory=list)
    started_with: list[tuple[Any, Any]] = field(default_factory=list)
    outputs: list[Slot] = field(default_factory=list)
    ways: list[Any] = field(default_factory=list)
    passes: dict[Any, Recording] = field(default_factory=dict)
    owners: dict[int, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(map(str, self.calls))

    def externals_of(self, calls: list[Any]) -> dict[int, Any]:
        """Those of ``externals`` that some calls take."""
        used = {each.number for call in calls for each in flattened(call.args) if isinstance(each, Slot)}
        return {slot: each for slot, each in self.externals.items() if slot in used}

    @property
    def generators(self) -> list[Any]:
        """Those from which its calls draw."""
        drawn = [call.args["generator"] for call in self.own_calls() if "generator" in call.args]
        found = [default_generator_of(cpu) if each is None else each for each in drawn]
        return list({id(each): each for each in found}.values())

    def own_calls(self) -> list[Call]:
        """The calls that are not those of what can be run as it is."""
        return [call for call in self.calls if isinstance(call, Call)]

    def first_use(self, slot: int) -> str:
        """The first op that takes an array, with its line."""
        for call in self.calls:
            for each in call.calls or () if isinstance(call, Outside) else (call,):
                if any(isinstance(one, Slot) and one.number == slot for one in flattened(each.args)):
                    return f"{each.name} ({each.line})"
        return "a result"

    def start(self) -> set[tuple[int, int]]:
        """The tensors and gradients of ``started_with``, by identity."""
        return {(id(tensor), id(grad)) for tensor, grad in self.started_with}


class Recorder(Interceptor):
    """Notes each op of this thread, and what the calls leave behind.

    Parameters
    ----------
    arguments : sequence of Tensor
        The tensors among the function's arguments.
    codes : dict
        The program's code that is known to run, for guards.
    behind : Recorder, optional
        Of the function whose graph is differentiated now: its arrays keep their numbers.

    Attributes
    ----------
    outputs : list of Tensor
        The results that can be differentiated, once it has finished.
    graph : Graph or None
        Behind them.

    Raises
    ------
    Refused
        By its methods: if the function does what a list of ops cannot do again.
    """

    sees_inside_functions = True

    def __init__(self, arguments: Sequence[Any], codes: dict[Any, Any], behind: Recorder | None = None) -> None:
        self.made = Recording()
        self.codes = codes
        self.slots: dict[Any, Slot] = {}
        self.alive: dict[int, Any] = {}  # weak references to arrays, by slot
        self.fresh: set[int] = set()  # slots that calls have made
        self.outputs: list[Any] = []
        self.graph: Graph | None = None
        self.first_node = next_sequence()
        if behind is not None:
            self.go_on(behind)
        self.reads: dict[int, tuple[Any, Value]] = {}  # numbers that ops gave to Python, by their id
        self.before_call: tuple[dict[str, Any], str, list[int]] | None = None
        self.refusal: Refused | None = None
        self.arguments = list(arguments)
        self.made.arguments = [self.new_slot(each, made=False) for each in arguments]
        alive = tensors_alive()
        grads = {id(each._grad) for each in alive}
        # Gradients are let go of while a step runs, and what a graph has saved in its backward pass.
        passing = grads | {id(each) for each in ([] if behind is None else behind.saved())}
        self.known = [each for each in alive if id(each) not in passing]
        self.known_weakly = [weakref.ref(each) for each in alive if id(each) in passing]
        self.state = {id(each): look(each) for each in self.known}
        self.counted = versions_of(alive)
        self.gradients = {id(each): reference(each._grad) for each in self.known}
        self.at_start = dict(self.gradients)
        self.depth = 0  # of calls from outside
        self.refused_outside = False

    def go_on(self, behind: Recorder) -> None:
        """Take over the numbers of a recording, but for those that another backward pass has given."""
        first, shapes = behind.made, behind.shapes_made
        for name in [name for name, slot in behind.slots.items() if slot.number >= shapes]:
            del behind.slots[name]
        self.made.shapes, self.made.keys = first.shapes[:shapes], first.keys[:shapes]
        self.made.externals = {slot: each for slot, each in first.externals.items() if slot < shapes}
        self.slots, self.alive = behind.slots, behind.alive

    def known_now(self) -> list[Any]:
        """The tensors that were there before, as far as they are still."""
        return self.known + [each for one in self.known_weakly if (each := one()) is not None]

    def saved(self) -> list[Any]:
        """The tensors that only the graph behind the results holds, and their bases."""
        assert self.graph is not None
        kept = {id(each) for each in (*self.arguments, *self.known_now())}
        found = [one for each in tensors_saved(self.graph.nodes) for one in (each, each._view_base) if one is not None]
        return [each for each in found if id(each) not in kept]

    # Arrays

    def new_slot(self, tensor: Any, made: bool) -> Slot:
        """A number for an array, as long as it lives: who has its address or memory afterwards is another."""
        array = tensor._array
        slot = Slot(len(self.made.shapes))
        self.made.shapes.append(array.shape)
        self.made.keys.append(tensor._key)
        names = (id(array), memory_of(array)) if array.size else (id(array),)
        self.slots.update(dict.fromkeys(names, slot))
        self.alive[slot.number] = weakref.ref(array, lambda _: self.forget(names, slot))
        if made:
            self.fresh.add(slot.number)
        return slot

    def forget(self, names: tuple[Any, ...], slot: Slot) -> None:
        """The array of a slot is no more."""
        for name in names:
            if self.slots.get(name) == slot:
                del self.slots[name]
        self.alive.pop(slot.number, None)

    def slot(self, tensor: Any) -> Slot:
        """Of an argument: made by a call, or there before."""
        array = tensor._array
        if not isinstance(array, numpy.ndarray):
            raise Refused(
                f"it takes a tensor on {tensor._key.device}, or a conjugate or sparse one; dense ones are captured"
            )
        found = self.slots.get(id(array))
        if found is None and array.size:
            found = self.slots.get(memory_of(array))
        if found is None:
            found = self.new_slot(tensor, made=False)
            self.made.externals[found.number] = tensor
        return found

    def note(self, value: Any) -> Any:
        """An argument, with arrays as slots."""
        if isinstance(value, TensorBase):
            return self.slot(value)
        if type(value) in (list, tuple) or isinstance(value, tuple):
            noted = [self.note(each) for each in value]
            return noted if type(value) is list else tuple(noted)
        if isinstance(value, slice):
            return slice(self.note(value.start), self.note(value.stop), self.note(value.step))
        if isinstance(value, Read):
            raise Refused("it computes with a number that it read from a tensor")
        if type(value) is float and id(value) in self.reads:
            return self.reads[id(value)][1]
        if isinstance(value, (*CONSTANTS, Generator)):
            return value
        if callable(value) and not isinstance(value, numpy.ndarray):
            return value
        raise Refused(f"an argument of type {type(value).__name__}, whose value may be another one the next time")

    def note_result(self, value: Any) -> Any:
        if isinstance(value, TensorBase):
            array = value._array
            if not isinstance(array, numpy.ndarray):
                raise Refused(f"a result on {value._key.device}, or a conjugate or sparse one")
            found = self.slots.get(id(array))
            return self.new_slot(value, made=True) if found is None else found
        if isinstance(value, (list, tuple)):
            noted = [self.note_result(each) for each in value]
            return noted if type(value) is list else tuple(noted)
        if isinstance(value, dict):
            return {name: self.note_result(each) for name, each in value.items()}
        if isinstance(value, Read) or (type(value) is float and self.depth):
            self.reads[id(value)] = value, Value(len(self.reads))
            return self.reads[id(value)][1]
        if value is None:
            return None
        raise Refused(f"it gives a {type(value).__name__} to Python")

    # Ops

    def instead(self, op: Any, args: dict[str, Any]) -> Any:
        """Read a number as one that tells if the function computes with it."""
        if op.name != "core::item":
            return NotImplemented
        value = op(**args)
        if type(value) is float:
            return ReadFloat(value).told_to(self)
        return ReadInt(value).told_to(self) if type(value) is int else value

    @unseen
    def before(self, op: Any, args: dict[str, Any]) -> None:
        """Note the arguments."""
        try:
            short = op.name.partition("::")[2]
            if short in SIZES_FROM_VALUES or (short == "getitem" and any(map(is_mask, flattened(args)))):
                raise Refused(f"{op.name}: the size of its result depends on values")
            if short in OTHER_MEMORY:  # guards would take it for another tensor
                raise Refused(f"{op.name}: it gives a tensor other memory")
            noted = {name: self.note(value) for name, value in args.items()}
            self.before_call = noted, caller_line(), counts_of(args)
        except Refused as error:
            self.refuse(f"{op.name}: {error}" if op.name not in str(error) else str(error))

    @unseen
    def after(self, op: Any, args: dict[str, Any], result: Any) -> None:
        """Note the result."""
        if self.refusal is not None or self.before_call is None:
            return
        (noted, line, counts), self.before_call = self.before_call, None
        if op.name == "core::detach":
            return  # the same array
        try:
            shapes = [each._array.shape for each in flattened(result) if isinstance(each, TensorBase)]
            call = Call(op, noted, self.note_result(result), line, shapes)
            call.writes = not shapes or op.name.endswith("_") or counts_of(args) != counts
            if gives_the_same(call) and result._array.size <= FEW:
                call.made = on_device_of(result._key, result._array.copy)()
            self.made.calls.append(call)
        except Refused as error:
            self.refuse(f"{op.name}: {error}")

    def refuse(self, why: str) -> None:
        """Keep the first reason; the function goes on as it would. What is run as it is may do anything."""
        if self.depth:
            self.refused_outside = True
        elif self.refusal is None:
            self.refusal = Refused(f"{why} ({caller_line()})")

    # What is no op

    def side_effect(self, what: str) -> None:
        """Refuse what a replay would leave out."""
        self.refuse(f"{what}, which a replay would leave out")

    def live(self, owner: Any, name: str, function: Callable[[Any, Any], Any], args: Any, kwargs: Any) -> Any:
        """Run a call of what may also be run as it is, and note it with the ops that it is made of."""
        if args or kwargs:
            self.refuse(f"{name} is called with arguments")
        return self.outside(
            name, functools.partial(function, args, kwargs), functools.partial(Guards, owner, self.codes)
        )

    def outside(self, name: str, function: Callable[[], Any], owner_guards: Callable[[], Any]) -> Any:
        if self.refusal is not None:
            return function()
        try:
            guards = owner_guards()
            made = Outside(function, self.changed_gradients(), caller_line(), name, guards)
        except Refused as error:
            self.refuse(str(error))
            return function()
        calls = self.made.calls
        self.made.versions += self.grown_versions()
        self.made.calls = made.calls = []
        self.depth += 1
        try:
            result = function()
        finally:
            self.depth -= 1
            self.made.calls = calls
        made.versions = self.grown_versions()
        gradients = [each._grad for each in self.known]
        others = any(each is not self.gradients[id(one)]() for each, one in zip(gradients, self.known))
        if guards.changed() or others or result is not None or self.refused_outside:
            made.calls = None  # it changes more than tensors, or is another list each time
        self.refused_outside = False
        calls.append(made)
        return result

    def grown_versions(self) -> list[tuple[Any, int]]:
        """Tensors whose counts of writes have grown since this was last asked, one for each count, and by how much."""
        known = self.known_now()
        before, self.counted = self.counted, versions_of(known)
        arguments = {id(each._array): slot for each, slot in zip(self.arguments, self.made.arguments)}
        grown = {}
        for each in known:
            count = each._version_counter
            more = 0 if count is None else count.value - before[id(each)]
            if more:
                grown[id(count)] = arguments.get(id(each._array), each), more
        return list(grown.values())

    def changed_gradients(self) -> list[Change]:
        """The gradients that are others than when this was last asked."""
        changes = []
        for each in self.known:
            grad = each._grad
            if grad is not self.gradients[id(each)]():
                self.gradients[id(each)] = reference(grad)
                if any(each is argument for argument in self.arguments):
                    raise Refused("an argument gets a gradient, which is another tensor each time")
                changes.append(Change(each, None if grad is None else self.slot_of_gradient(grad)))
        return changes

    def slot_of_gradient(self, grad: Any) -> Slot:
        slot = self.slot(grad)
        if slot.number not in self.fresh:
            raise Refused("a gradient is a tensor that no op of the function made")
        return slot

    def close(self) -> None:
        """Let numbers that were read be like any other."""
        for value, _ in self.reads.values():
            if isinstance(value, Read):
                value.recorder = None

    def finish(self, results: Any) -> Recording:
        """What was recorded, once the function has returned.

        Raises
        ------
        Refused
            The first reason why it cannot be captured.
        """
        if self.refusal is not None:
            raise self.refusal
        made = self.made
        made.gradients = self.changed_gradients()
        changed = {id(each.tensor) for each in made.gradients}
        changed |= {id(each.tensor) for call in made.calls if isinstance(call, Outside) for each in call.gradients}
        made.old_gradients = [each for each in self.known if id(each) in changed]
        read = {id(each) for each in made.externals.values()}
        for each in self.known:
            grad = self.at_start[id(each)]()
            if (self.at_start[id(each)] is NONE and id(each) in changed) or (grad is not None and id(grad) in read):
                made.started_with.append((each, grad))
        made.results = tree_map(self.note_output, results)
        self.note_changes()
        if self.outputs:
            self.cut_graph(results)
        self.refuse_kept(results)
        self.shapes_made = len(made.shapes)
        return made

    def note_output(self, value: Any) -> Any:
        """A leaf of what the function returned."""
        if isinstance(value, TensorBase):
            for place, each in enumerate(self.arguments):
                if each is value:
                    return Given(place)
            slot = self.slot(value)
            if value._requires_grad and value._node is not None:
                made_of = history_of(value)
                if made_of is None:
                    return self.note_differentiable(value, slot)
                self.made.histories[slot.number] = made_of
            return slot
        if id(value) in self.reads:
            return self.reads[id(value)][1]
        if isinstance(value, (bool, int, float, complex, str, type(None))):
            return value
        raise Refused(f"it returns a {type(value).__name__}")

    def note_differentiable(self, value: Any, slot: Slot) -> Output:
        """A result with a history that was not let go of."""
        for place, each in enumerate(self.outputs):
            if each is value:
                return Output(place)
            if each._version_counter is not None and each._version_counter is value._version_counter:
                raise Refused("it returns two views of the same elements that can be differentiated")
        if slot.number not in self.fresh:
            raise Refused("it returns a tensor with a history that no op of it made")
        self.outputs.append(value)
        self.made.outputs.append(slot)
        return Output(len(self.outputs) - 1)

    def cut_graph(self, results: Any) -> None:
        """Cut the graph of what can be differentiated off at what was there before."""
        made = self.made
        others = [each for each in flattened(results) if isinstance(each, TensorBase) and each._view_base is not None]
        known = {id(each._version_counter) for each in self.known_now() if each._version_counter is not None}
        if any(id(each._version_counter) in known for each in others):
            raise Refused("it returns a view of a tensor that was there before")
        if made.gradients or any(isinstance(each, Outside) for each in made.calls):
            raise Refused("it differentiates, and returns tensors that can still be differentiated")
        self.graph = Graph(self.outputs, self.arguments, self.first_node)
        made.ways = self.graph.ways
        made.owners = {slot: id(owner_of(array)) for slot, one in self.alive.items() if (array := one()) is not None}
        leaves = {id(each) for each in self.known}
        if any(way.argument < 0 and id(way.leaf) not in leaves for way in made.ways):
            raise Refused("it makes a leaf that gets a gradient")

    def note_changes(self) -> None:
        """What happened to tensors that were there before.

        Raises
        ------
        Refused
            If one got other memory, another history or another requires_grad.
        """
        for each in self.known:
            array, requires_grad, node = self.state[id(each)]
            if each._array is not array or each._requires_grad != requires_grad or each._node is not node:
                raise Refused(f"it changes the memory, history or requires_grad of a tensor {tuple(each.shape)}")
        self.made.versions += self.grown_versions()

    def refuse_kept(self, results: Any) -> None:
        """Refuse what keeps tensors in lists, attributes or wherever the next call would look for them."""
        old = {id(each) for each in self.known_now()}
        fine = {id(each._grad) for each in self.known}
        held = [each for each in flattened(results) if isinstance(each, TensorBase)]
        if self.graph is not None:
            held += [*self.outputs, *self.saved()]
        fine |= {id(one) for each in held for one in (each, each._view_base)}
        # The collector is off, so that what was made meanwhile is of the youngest generation.
        ours = [each for each in tensors_alive(0) if id(each) not in old and id(each) not in fine]
        outside = [each for each in ours if memory_of(each._array) in self.slots or id(each._array) in self.slots]
        made = [each for each in outside if self.slots.get(id(each._array), Slot(-1)).number in self.fresh]
        if made:
            raise Refused(f"it keeps a tensor {tuple(made[0].shape)} that it made, elsewhere than in its result")


class Value(NamedTuple):
    """A number that an op gave to Python, by its place among them."""

    number: int


def telling(base: type) -> dict[str, Any]:
    """Methods of a number that tell the recorder when the program computes with it."""

    def method(name: str) -> Any:
        original = getattr(base, name)

        @functools.wraps(original)
        def tells(self: Any, *args: Any) -> Any:
            if self.recorder is not None:
                self.recorder.refuse("it computes with a number that it read from a tensor")
            return original(self, *args)

        return tells

    return {name: method(name) for name in dir(base) if callable(getattr(base, name)) and name not in QUIET}


# Methods of numbers that compute nothing.
QUIET = frozenset(
    "__new__ __init__ __reduce__ __reduce_ex__ __getattribute__ __setattr__ __delattr__ __class__ __dir__ "
    "__getnewargs__ __init_subclass__ __subclasshook__ __getstate__ __sizeof__".split()
)


class Read:
    """A number that was read while something is recorded; afterwards it is like any other."""

    recorder: Recorder | None

    def told_to(self, recorder: Recorder) -> Self:
        self.recorder = recorder
        return self

    def __reduce__(self) -> Any:
        base = type(self).__mro__[-2]
        return base, (base(self),)


ReadFloat: Any = type("ReadFloat", (Read, float), telling(float))
ReadInt: Any = type("ReadInt", (Read, int), telling(int))


def NONE() -> None:  # a constant, where others have weak references
    """The reference to no gradient."""


def reference(grad: Any) -> Callable[[], Any]:
    """A weak reference to a gradient."""
    return NONE if grad is None else weakref.ref(grad)


def look(tensor: Any) -> tuple[Any, ...]:
    """What a function may change of a tensor besides its elements, its gradient and its count of writes."""
    return tensor._array, tensor._requires_grad, tensor._node


def versions_of(tensors: Sequence[Any]) -> dict[int, int]:
    """The counts of writes, by the tensors' id."""
    return {id(each): 0 if (count := each._version_counter) is None else count.value for each in tensors}


def tensors_alive(generation: int | None = None) -> list[Any]:
    """All tensors of the program, or those of a generation of the collector's."""
    objects = gc.get_objects(generation)
    # By their types: an object may say of itself what it likes, or raise, as a weak proxy of nothing does.
    found = compress(objects, map(classes_of_tensors().__contains__, map(type, objects)))
    return [each for each in found if hasattr(each, "_array")]


def classes_of_tensors() -> set[type]:
    """All classes of tensors that there are."""
    found: set[type] = set()
    stack: list[type] = [TensorBase]
    while stack:
        each = stack.pop()
        if each not in found:
            found.add(each)
            stack += type.__subclasses__(each)
    return found


def counts_of(args: dict[str, Any]) -> list[int]:
    """How often each tensor among some arguments was written to."""
    counters = [each._version_counter for each in flattened(args) if isinstance(each, TensorBase)]
    return [0 if each is None else each.value for each in counters]


def gives_the_same(call: Call) -> bool:
    """Whether an op gives the same each time: it takes no tensor, or one whose shape and dtype it follows."""
    taken = sum(isinstance(each, Slot) for each in flattened(call.args))
    return call.name in THE_SAME and taken <= ("new_" in call.name or call.name.endswith("_like"))


def memory_of(array: Any) -> tuple[Any, ...]:
    """What two arrays have in common that are the same elements."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def owner_of(array: Any) -> Any:
    """The array of whose memory one is a view, or itself."""
    while isinstance(array.base, numpy.ndarray):
        array = array.base
    return array


def flattened(value: Any) -> list[Any]:
    """The leaves of containers."""
    if isinstance(value, (list, tuple)) and not isinstance(value, (Slot, Value)):
        return [leaf for each in value for leaf in flattened(each)]
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in flattened(each)]
    return [value]


def is_mask(value: Any) -> bool:
    return isinstance(value, TensorBase) and value._key.dtype.name in ("bool", "uint8")


def history_of(tensor: Any) -> str | None:
    """The name of the node of a tensor whose graph was differentiated and let go of; None where it was not."""
    stack, seen, freed = [tensor._node], set(), False
    while stack:
        node = stack.pop()
        if node in seen or not isinstance(node, Node):
            continue
        seen.add(node)
        stack.extend(node.edges())
        plan = getattr(node, "plan", None)
        if plan is None or not plan.keeps_memory:
            continue
        kept = not node.is_freed if isinstance(node, PairNode) else isinstance(node, OpNode) and node.saved is not None
        if kept:
            return None
        freed = True
    return tensor._node.label() if freed else None
