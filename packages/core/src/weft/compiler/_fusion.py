"""Fusion: calls in a recording that run as one kernel.

- A chain: calls of elementwise ops whose results have one shape, and are read by calls of the chain alone, but for the
  last one's. Between its first call and its last nothing is written to, so that all may run where the last stands.
- An update: such calls and writes to one array, with no other call between them. The kernel may write into the array,
  as kernels of in-place calls do (`weft.backend.destination`); else its result is copied.
- Copies that are joined, as in the gradient of `split`: they are written where they belong.

What computes a chain or an update is the backend's (`weft.backend.Backend.fused_kernel`). Where it has a kernel, the
kernel and then the calls run on the same arrays in that replay, and the results are compared: dtype, shape, strides and
a digest of the elements, so that the memory holds only one of them. A kernel that gives anything else is not used. A
backend that has none for a chain is asked for the chain without its first call, and so on; what is left over is looked
at the next time. That is at the 2nd, 4th, 8th replay and so on, since a backend that compiles waits until that is worth
it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Set
from typing import Any

import numpy

from weft._devices.devices import backend_of
from weft._plugins.access import plugins
from weft.backend import KernelCall, destination
from weft.compiler._program import Program, Segment, slots_in
from weft.compiler._recording import Call, Outside, Recording, Slot
from weft.ops._declare import Declaration
from weft.ops._inplace import Write
from weft.ops._registry import registry

__all__ = ["Chain", "FusedProgram", "switch"]

NUMBERS = (bool, int, float, str, type(None))  # arguments of elementwise calls besides arrays
FUSED = "fused"  # the op that an update's kernel runs, in `weft.backend.destination`
FIRST_ATTEMPT = 2  # the replay in which backends are first asked


class Switch:
    """Whether chains are fused, in all captured functions."""

    enabled = True


switch = Switch()


class Chain:
    """Calls whose results only they read, but for the last one's.

    Parameters
    ----------
    recording : Recording
    calls : list of Call
    replaced : list of Call, optional
        What of the recording they stand for, where they are others.
    target : Slot, optional
        What the result is written to.

    Attributes
    ----------
    inputs : list of int
        Slots of the arrays that it takes.
    result : int
        The slot of the last call's result.
    offered : callable or None
        A kernel that has yet to give the same bits.
    found : ResultDigest or str
        What the offered kernel gave, or why it gave nothing.
    kernel : callable or None
        What runs in place of the calls, of the inputs.
    refusal : str
        Why there is none.
    """

    def __init__(
        self,
        recording: Recording,
        calls: list[Call],
        replaced: list[Call] | None = None,
        target: Slot | None = None,
    ) -> None:
        self.recording = recording
        self.calls = calls
        self.replaced = replaced or calls
        self.target = target
        made = [call.result.number for call in calls]
        taken = dict.fromkeys(slot.number for call in calls for slot in slots_in(call.args))
        self.inputs = [slot for slot in taken if slot not in made]
        if target is not None:  # as the first operand, it may be written to
            self.inputs.sort(key=lambda slot: slot != target.number)
        self.result = made[-1]
        self.offered: Callable[..., Any] | None = None
        self.found: ResultDigest | str = ""
        self.kernel: Callable[..., Any] | None = None
        self.refusal = ""

    def __str__(self) -> str:
        steps = ", ".join(f"{call.result!r} = {call.name}" for call in self.replaced)
        return f"{steps}  # {self.replaced[-1].line}"

    def ask(self, runs: int) -> bool:
        """Whether the backend has a kernel, after so many runs of the calls."""
        stand_ins: dict[int, Any] = {}

        def given(value: Any) -> Any:
            if not isinstance(value, Slot):
                return value
            if value.number not in stand_ins:
                stand_ins[value.number] = self.stand_in(value.number)
            return stand_ins[value.number]

        calls = [
            KernelCall(each.name, tuple(map(given, each.args.values())), given(each.result)) for each in self.calls
        ]
        inputs = [stand_ins[slot] for slot in self.inputs]
        backend = backend_of(self.recording.keys[self.result].device)
        try:
            answer = backend.fused_kernel(calls, inputs, self.one_by_one(), runs)
        except Exception as error:  # the calls do without
            answer = f"the backend raises {type(error).__name__}: {error}"
        self.offered, self.refusal = (None, answer) if isinstance(answer, str) else (answer, "")
        return self.offered is not None

    def stand_in(self, slot: int) -> Any:
        """An array of a slot's dtype and shape, without memory for its elements."""
        element = self.recording.keys[slot].dtype.numpy
        return numpy.broadcast_to(numpy.empty((), element), self.recording.shapes[slot])

    def one_by_one(self) -> Callable[..., Any]:
        """The calls as a function of the inputs."""
        return self.function_of(self.calls)

    def function_of(self, calls: list[Call]) -> Callable[..., Any]:
        """Calls that take the inputs as a function of them."""
        segment = self.segment(calls)

        def run(*arrays: Any) -> Any:
            given = dict(zip(self.inputs, arrays))
            (result,) = segment.function([given[slot] for slot in segment.inputs])
            return result

        return run

    def segment(self, calls: list[Call]) -> Segment:
        """Calls that take the inputs, of which the last one's result is wanted."""
        return Segment(self.recording, calls, {calls[-1].result.number})

    def compared(self, inputs: list[Any]) -> Any:
        """What the calls give, after the kernel that was offered has run; of a list of the inputs, which is emptied."""
        self.try_kernel(*inputs)
        segment = self.segment(self.replaced)
        arrays = dict(zip(self.inputs, inputs))
        inputs.clear()
        given = [arrays[slot] for slot in segment.inputs]
        arrays.clear()  # so that the calls let go of each array behind its last use
        (result,) = segment.function(given)
        self.decide(result)
        return result

    def try_kernel(self, *inputs: Any) -> None:
        """Run the kernel that was offered, and note what it gives; that of an update must not write yet."""
        assert self.offered is not None
        try:
            self.found = ResultDigest(self.offered(*inputs), self.target is None)
        except Exception as error:  # the calls do without
            self.found = f"it raises {type(error).__name__}: {error}"

    def decide(self, expected: Any) -> None:
        """Take the kernel that was tried if it gave what the calls gave."""
        if isinstance(self.found, str):
            self.refusal = self.found
        else:
            self.refusal = self.found.difference(ResultDigest(expected, self.target is None))
        self.kernel = None if self.refusal else self.offered

    def update(self, target: Any, *inputs: Any) -> None:
        """Write the kernel's result into an array."""
        assert self.kernel is not None
        destination.op, destination.array = FUSED, target
        try:
            made = self.kernel(*inputs)
        finally:
            destination.array = None
        if made is not target:
            numpy.copyto(target, made)


class ResultDigest:
    """What tells a kernel's result from another one's, without keeping it.

    Parameters
    ----------
    array : numpy.ndarray
    strides : bool
        Whether the strides count.
    """

    def __init__(self, array: Any, strides: bool) -> None:
        self.layout = {name: getattr(array, name) for name in ("dtype", "shape", *(("strides",) if strides else ()))}
        self.bits = hashlib.blake2b(numpy.ascontiguousarray(array).reshape(-1).view("u1").data).digest()

    def difference(self, expected: ResultDigest) -> str:
        """How it differs from what is expected; empty where it is the same."""
        for what, one in self.layout.items():
            if one != expected.layout[what]:
                return f"its {what} is {one}, and that of the calls {expected.layout[what]}"
        return "" if self.bits == expected.bits else "it gives other bits"


class FusedProgram:
    """What replays a recording: its calls one by one, or chains of them as kernels of the backend's.

    Parameters
    ----------
    recording : Recording
    kept : set of int
        Slots of arrays that are wanted besides the results.

    Attributes
    ----------
    plain : Program
        Of single calls.
    chains : list of Chain
        Those with a kernel, and those whose kernel was refused.
    others : list of Chain
        Those that the backend had no kernel for when it was last asked.
    """

    def __init__(self, recording: Recording, kept: Set[int] = frozenset()) -> None:
        self.recording = recording
        self.kept = kept
        self.plain = self.fused = Program(recording, kept)
        self.chains: list[Chain] = []
        self.others: list[Chain] = []
        self.runs = 0

    def run(self, arguments: list[Any], arrays: dict[int, Any], unchanged: bool = True) -> dict[int, Any]:
        """See `Program.run`."""
        if not switch.enabled:
            return self.plain.run(arguments, arrays, unchanged)
        self.runs += 1
        if self.runs < FIRST_ATTEMPT or self.runs & (self.runs - 1):
            return self.fused.run(arguments, arrays, unchanged)
        return self.attempt(arguments, arrays, unchanged)

    def attempt(self, arguments: list[Any], arrays: dict[int, Any], unchanged: bool) -> dict[int, Any]:
        """A replay that also compares what kernels give that the backend offers now, for the later ones."""
        offered = self.offered_chains()
        if offered:
            used = [each for each in self.chains if each.kernel is not None]
            numbers = Program(self.recording, self.kept, [*used, *offered]).run(arguments, arrays, unchanged)
            self.chains = [*self.chains, *offered]
            self.fused = Program(self.recording, self.kept, [each for each in self.chains if each.kernel is not None])
            return numbers
        return self.fused.run(arguments, arrays, unchanged)

    def offered_chains(self) -> list[Chain]:
        """Chains, or the ends of chains, that the backend offers a kernel for."""
        decided = {id(call) for each in self.chains for call in each.replaced}
        readers = readers_of(self.recording, self.kept)
        offered: list[Chain] = []
        self.others = []
        for chain in updates_in(self.recording, readers, decided):
            (offered if chain.ask(self.runs) else self.others).append(chain)
        decided |= {id(call) for each in offered for call in each.replaced}
        for run in runs_without_writes(self.recording):
            offered += joined_copies([each for each in run if id(each) not in decided], self.recording, readers)
            for calls in chains_among([each for each in run if id(each) not in decided], self.recording, readers):
                ends = [Chain(self.recording, calls[first:]) for first in range(len(calls) - 1)]
                found = next((each for each in ends if each.ask(self.runs)), None)
                if found is None:
                    self.others.append(ends[0])
                else:
                    offered.append(found)
        return offered

    def explain(self) -> list[str]:
        """A line for each chain, with the reason where it has no kernel."""
        return [
            f"one call: {each}" if each.kernel else f"not one call, since {each.refusal}: {each}"
            for each in (*self.chains, *self.others)
        ]


def readers_of(recording: Recording, kept: Set[int]) -> dict[int, set[int]]:
    """The calls that take each array, by its slot and by their id; 0 for who is no call."""
    found: dict[int, set[int]] = {}
    behind = [recording.results, recording.outputs, [each.slot for each in recording.gradients]]
    for each in recording.calls:
        if isinstance(each, Outside):
            behind.append([change.slot for change in each.gradients])
        for call in each.calls or () if isinstance(each, Outside) else (each,):
            for slot in slots_in(call.args):
                found.setdefault(slot.number, set()).add(id(call))
    for number in {slot.number for slot in slots_in(behind)} | set(kept):
        found.setdefault(number, set()).add(0)
    return found


def lists_of(recording: Recording) -> Iterator[list[Call]]:
    """The calls that run one behind the other: those between what may be run as it is, and those of that."""
    own: list[Call] = []
    for each in recording.calls:
        if isinstance(each, Outside):
            yield own
            yield each.calls or []
            own = []
        else:
            own.append(each)
    yield own


def runs_without_writes(recording: Recording) -> Iterator[list[Call]]:
    """The calls, divided where an array is written to."""
    for calls in lists_of(recording):
        run: list[Call] = []
        for call in calls:
            if call.writes:
                yield run
                run = []
            else:
                run.append(call)
        yield run


def chains_among(calls: list[Call], recording: Recording, readers: dict[int, set[int]]) -> Iterator[list[Call]]:
    """The longest chains, each in the order of its calls."""
    elementwise = [each for each in calls if is_elementwise(each, recording)]
    free = {id(each) for each in elementwise}
    for place, last in reversed(list(enumerate(elementwise))):
        if id(last) not in free:
            continue
        shape, chain = recording.shapes[last.result.number], {id(last)}
        for each in reversed(elementwise[:place]):  # all that may read its result has been looked at
            number = each.result.number
            if id(each) in free and readers.get(number, {0}) <= chain and recording.shapes[number] == shape:
                chain.add(id(each))
        free -= chain
        if len(chain) > 1:
            yield [each for each in elementwise if id(each) in chain]


def updates_in(recording: Recording, readers: dict[int, set[int]], decided: Set[int]) -> Iterator[Chain]:
    """The longest updates of arrays that no other operand shares memory with."""
    fresh = {
        slot.number
        for calls in lists_of(recording)
        for call in calls
        if isinstance(call.op, Declaration) and not call.op.op.is_view and not call.writes
        for slot in slots_in(call.result)
    }

    def is_free(call: Call, target: Slot) -> bool:
        """Whether it may be part of an update."""
        operands = {slot.number for slot in slots_in(call.args)} - {target.number}
        return id(call) not in decided and operands <= fresh

    for calls in lists_of(recording):
        ahead = list(calls)
        while ahead:
            last = ahead.pop()
            target = written_by(last, recording)
            if target is None or target.number not in fresh | recording.externals.keys() or not is_free(last, target):
                continue
            found, chain = [last], {id(last)}
            while ahead and is_free(ahead[-1], target) and belongs(ahead[-1], target, chain, recording, readers):
                found.insert(0, ahead.pop())
                chain.add(id(found[0]))
            if len(found) > 1:
                yield Chain(recording, without_writes(found, target, recording), found, target)


def belongs(call: Call, target: Slot, chain: Set[int], recording: Recording, readers: dict[int, set[int]]) -> bool:
    """Whether a call that comes right before an update is part of it."""
    if written_by(call, recording) == target:
        return True
    if not is_elementwise(call, recording) or not readers.get(call.result.number, {0}) <= chain:
        return False
    return recording.shapes[call.result.number] == recording.shapes[target.number]


def written_by(call: Call, recording: Recording) -> Slot | None:
    """What a call writes to, if it is of the arithmetic that has an elementwise op; else None."""
    if not (isinstance(call.op, Write) and call.op.array_function is not None and isinstance(call.result, Slot)):
        return None
    target, *others = call.args.values()
    key = recording.keys[call.result.number]
    if target != call.result or len(others) != 1 or not isinstance(others[0], (Slot, int, float)) or not key.plain:
        return None
    keys = {name: recording.keys[x.number] if isinstance(x, Slot) else x for name, x in call.args.items()}
    return None if call.op.array_function(keys) is None else target


def without_writes(calls: list[Call], target: Slot, recording: Recording) -> list[Call]:
    """The calls of an update with results of their own in place of what they write."""
    latest, made = target, []
    for call in calls:
        args = {name: latest if value == target else value for name, value in call.args.items()}
        op, result = call.op, call.result
        if result == target:
            op = registry[call.name.rstrip("_")]
            result = latest = new_slot(recording, target, recording.shapes[target.number])
        made.append(Call(op, args, result, call.line))
    return made


def new_slot(recording: Recording, like: Slot, shape: tuple[int, ...]) -> Slot:
    """A slot for an array of another one's dtype that no call of the recording makes."""
    recording.shapes.append(shape)
    recording.keys.append(recording.keys[like.number])
    return Slot(len(recording.shapes) - 1)


def joined_copies(calls: list[Call], recording: Recording, readers: dict[int, set[int]]) -> Iterator[Chain]:
    """Copies whose last dimensions are merged, and which are then joined in that dimension: joined, and then merged."""
    makers = {call.result.number: call for call in calls if isinstance(call.result, Slot)}

    def maker_of(slot: Slot, name: str, reader: Call) -> Call | None:
        """The call of an op that has made an array for one other call alone."""
        maker = makers.get(slot.number)
        return maker if maker and maker.name == name and readers[slot.number] == {id(reader)} else None

    for last in calls:
        if last.name != "core::cat":
            continue
        parts, dim = last.args["tensors"], last.args["dim"]
        views = [view for part in parts if (view := maker_of(part, "core::view", last))]
        copies = [maker_of(view.args["input"], "core::contiguous_copy", view) for view in views]
        sources = [(copy or view).args["input"] for copy, view in zip(copies, views)]
        shapes = [recording.shapes[each.number] for each in sources]
        shape = joined_shape(shapes, [recording.shapes[each.number] for each in parts], dim)
        if shape is None or not any(copies):
            continue
        joined, result = new_slot(recording, last.result, shape), new_slot(recording, last.result, ())
        args = {"input": joined, "shape": recording.shapes[last.result.number]}
        chain = Chain(recording, [each for each in calls if any(each is one for one in (*copies, *views, last))])
        join = Call(last.op, {"tensors": sources, "dim": dim}, joined, last.line)
        chain.offered = chain.function_of([join, Call(views[0].op, args, result, last.line)])
        yield chain


def joined_shape(shapes: list[Any], merged: list[Any], dim: int) -> tuple[int, ...] | None:
    """The shape of joined arrays, where joining them with the later dimensions merged into that one is the same."""
    if len(shapes) != len(merged) or len({(shape[:dim], shape[dim + 1 :]) for shape in shapes}) != 1:
        return None
    if any((*shape[:dim], math.prod(shape[dim:])) != other for shape, other in zip(shapes, merged)):
        return None
    return (*shapes[0][:dim], sum(shape[dim] for shape in shapes), *shapes[0][dim + 1 :])


def is_elementwise(call: Call, recording: Recording) -> bool:
    """Whether a call is of an elementwise op with the backend's own kernel, and makes an array."""
    if not isinstance(call.op, Declaration) or call.op.vmap != "elementwise" or not isinstance(call.result, Slot):
        return False
    taken = [each.number for each in call.args.values() if isinstance(each, Slot)]
    if not taken or call.result.number in taken or not all(isinstance(x, (Slot, *NUMBERS)) for x in call.args.values()):
        return False
    key = recording.keys[call.result.number]
    return key.plain and call.made is None and call.name not in plugins().kernels(key.device.type)
