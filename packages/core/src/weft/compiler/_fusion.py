"""Fusion: chains of elementwise calls in a recording, which a backend may run as one kernel.

A chain is calls of elementwise ops whose results have one shape, and are read by calls of the chain alone, but for the
last one's. Between its first call and its last nothing is written to, so that all of it may run where the last call
stands.

What computes a chain is the backend's (`weft.backend.Backend.fused_kernel`). Where it has a kernel, the calls run one
by one in that replay, then the kernel runs on the same arrays, and its result is compared with theirs: dtype, shape,
strides and each bit. A kernel that gives anything else is not used. A backend that has none for a chain is asked for
the chain without its first call, and so on; what is left over is looked at the next time. That is at the 2nd, 4th, 8th
replay and so on, since a backend that compiles waits until that is worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import Any

import numpy

from weft._devices.devices import backend_of
from weft._plugins.access import plugins
from weft.backend import KernelCall
from weft.compiler._program import Program, Segment, slots_in
from weft.compiler._recording import Call, Outside, Recording, Slot
from weft.ops._declare import Declaration

__all__ = ["Chain", "FusedProgram", "switch"]

NUMBERS = (bool, int, float, str, type(None))  # arguments of elementwise calls besides arrays
FIRST_ATTEMPT = 2  # the replay in which backends are first asked


class Switch:
    """Whether chains are fused, in all captured functions."""

    enabled = True


switch = Switch()


class Chain:
    """Calls of elementwise ops whose results only they read, but for the last one's.

    Parameters
    ----------
    recording : Recording
    calls : list of Call

    Attributes
    ----------
    inputs : list of int
        Slots of the arrays that it takes.
    result : int
        The slot of the last call's result.
    offered : callable or None
        A kernel that has yet to give the same bits.
    kernel : callable or None
        What runs in place of the calls, of the inputs.
    refusal : str
        Why there is none.
    """

    def __init__(self, recording: Recording, calls: list[Call]) -> None:
        self.recording = recording
        self.calls = calls
        made = [call.result.number for call in calls]
        taken = dict.fromkeys(slot.number for call in calls for slot in slots_in(call.args))
        self.inputs = [slot for slot in taken if slot not in made]
        self.result = made[-1]
        self.offered: Callable[..., Any] | None = None
        self.kernel: Callable[..., Any] | None = None
        self.refusal = ""

    def __str__(self) -> str:
        steps = ", ".join(f"{call.result!r} = {call.name}" for call in self.calls)
        return f"{steps}  # {self.calls[-1].line}"

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
        segment = Segment(self.recording, self.calls, {self.result})

        def run(*arrays: Any) -> Any:
            given = dict(zip(self.inputs, arrays))
            (result,) = segment.function([given[slot] for slot in segment.inputs])
            return result

        return run

    def compare(self, expected: Any, *inputs: Any) -> None:
        """Take the kernel that was offered if it gives of the inputs what the calls gave."""
        assert self.offered is not None
        try:
            self.refusal = difference(self.offered(*inputs), expected)
        except Exception as error:  # the calls do without
            self.refusal = f"it raises {type(error).__name__}: {error}"
        self.kernel = None if self.refusal else self.offered


def difference(found: Any, expected: Any) -> str:
    """How an array differs from another; empty where it is the same."""
    for what in ("dtype", "shape", "strides"):
        one, other = getattr(found, what), getattr(expected, what)
        if one != other:
            return f"its {what} is {one}, and that of the calls {other}"
    return "" if found.tobytes() == expected.tobytes() else "it gives other bits"


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
        decided = {id(call) for each in self.chains for call in each.calls}
        readers = readers_of(self.recording, self.kept)
        offered, self.others = [], []
        for run in runs_without_writes(self.recording):
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
            f"one loop: {each}" if each.kernel else f"not one loop, since {each.refusal}: {each}"
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


def runs_without_writes(recording: Recording) -> Iterator[list[Call]]:
    """The calls, divided where an array is written to."""
    run: list[Call] = []
    for each in recording.calls:
        for call in [None, *(each.calls or ()), None] if isinstance(each, Outside) else [each]:
            if call is None or call.writes:
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


def is_elementwise(call: Call, recording: Recording) -> bool:
    """Whether a call is of an elementwise op with the backend's own kernel, and makes an array."""
    if not isinstance(call.op, Declaration) or call.op.vmap != "elementwise" or not isinstance(call.result, Slot):
        return False
    taken = [each.number for each in call.args.values() if isinstance(each, Slot)]
    if not taken or call.result.number in taken or not all(isinstance(x, (Slot, *NUMBERS)) for x in call.args.values()):
        return False
    key = recording.keys[call.result.number]
    return key.plain and call.made is None and call.name not in plugins().kernels(key.device.type)
