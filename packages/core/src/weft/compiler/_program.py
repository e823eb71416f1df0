"""Programs: a recording as Python functions that call kernels, one line for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from functools import cached_property
from typing import Any

import numpy

from weft._devices.devices import cpu
from weft._engine.dispatch import make
from weft._engine.dispatch_keys import KernelBySize
from weft._engine.tensor import TensorBase, Version, local, run_quietly, set_grad
from weft.compiler._recording import Call, Change, Outside, Recording, Slot, Value
from weft.ops._declare import Declaration
from weft.random import default_generator_of

__all__ = ["Program"]


class Program:
    """What replays a recording.

    Parameters
    ----------
    recording : Recording
    kept : set of int
        Slots of arrays that are wanted besides the results.
    chains : sequence of Chain
        Calls that run as one kernel, or are to be tried so: see `_fusion`.

    Attributes
    ----------
    whole : Segment or None
        All of it, as long as nothing has to be run as it is; None where something always has to be.
    """

    def __init__(self, recording: Recording, kept: Set[int] = frozenset(), chains: Sequence[Any] = ()) -> None:
        self.recording = recording
        self.kept = kept
        self.chains = chains
        self.outside = [each for each in recording.calls if isinstance(each, Outside)]
        self.whole: Segment | None = None
        if all(each.calls is not None for each in self.outside):
            needed = {slot.number for slot in slots_in([recording.results, recording.outputs])} | kept
            self.whole = self.segment(recording.calls, needed, recording.gradients)

    def segment(self, calls: Sequence[Call | Outside], needed: Set[int], gradients: Sequence[Change] = ()) -> Segment:
        """The function of some of the calls."""
        return Segment(self.recording, calls, needed, gradients, self.chains)

    @cached_property
    def parts(self) -> list[Any]:
        """Segments between what may be run as it is, and that, each with the segment of its calls."""
        recording = self.recording
        parts: list[list[Call] | Outside] = []
        for call in recording.calls:
            if isinstance(call, Outside):
                parts.append(call)
            elif parts and isinstance(parts[-1], list):
                parts[-1].append(call)
            else:
                parts.append([call])
        made: list[Any] = []
        for part, behind in zip(parts, slots_behind(recording, parts, self.kept)):
            if isinstance(part, Outside):
                made.append((part, None if part.calls is None else self.segment(part.calls, behind)))
            else:
                made.append(self.segment(part, behind))
        return made

    @property
    def segments(self) -> list[Segment]:
        """The functions that run if nothing has to be run as it is."""
        return [each for each in self.parts if isinstance(each, Segment)] if self.whole is None else [self.whole]

    @property
    def source(self) -> str:
        """What runs, as Python, for those who look."""
        return "\n".join(each.source for each in self.segments)

    @property
    def inputs(self) -> set[int]:
        """The slots of the arrays that it takes, besides those from outside."""
        return {slot for each in self.segments for slot in each.inputs}

    @property
    def made(self) -> set[int]:
        """The slots of the arrays that it makes."""
        return {slot for each in self.segments for slot in each.made}

    def run(self, arguments: list[Any], arrays: dict[int, Any], unchanged: bool = True) -> dict[int, Any]:
        """Replay it on the tensors among the arguments, and other arrays by slot, which the results join.

        Parameters
        ----------
        unchanged : bool
            Whether the owners of what may be run as it is are what they were.

        Returns
        -------
        The numbers that were read.
        """
        recording = self.recording
        numbers: dict[int, Any] = {}
        for slot, each in zip(recording.arguments, arguments, strict=True):
            arrays[slot.number] = each._array
        for each in recording.old_gradients:
            each._grad = None
        enabled = local.grad_enabled
        set_grad(False)
        try:
            if unchanged and self.whole is not None:
                self.whole.run(arrays, numbers)
            else:
                self.run_parts(arrays, numbers, enabled)
                give(recording.gradients, recording.keys, arrays)
        finally:
            set_grad(enabled)
        if recording.versions:
            self.grow(recording.versions, arguments)
        return numbers

    def run_parts(self, arrays: dict[int, Any], numbers: dict[int, Any], enabled: bool) -> None:
        """Run what was recorded; what is run as it is, with gradients recorded where they were."""
        for part in self.parts:
            if isinstance(part, Segment):
                part.run(arrays, numbers)
                continue
            outside, segment = part
            give(outside.gradients, self.recording.keys, arrays)
            if segment is not None and not outside.guards.changed():
                segment.run(arrays, numbers)
                count_writes(outside.versions)
                continue
            set_grad(enabled)
            outside.function()
            set_grad(False)

    def grow(self, versions: list[tuple[Any, int]], arguments: Sequence[Any]) -> None:
        """Count writes, also those to arguments."""
        places = self.recording.arguments
        count_writes(
            [(arguments[places.index(each)] if isinstance(each, Slot) else each, more) for each, more in versions]
        )


def count_writes(versions: list[tuple[Any, int]]) -> None:
    """Count writes to some tensors."""
    for tensor, more in versions:
        if tensor._version_counter is None:
            tensor._version_counter = Version(0)
        tensor._version_counter.value += more


def give(changes: list[Change], keys: list[Any], arrays: dict[int, Any]) -> None:
    """Set gradients."""
    for tensor, slot in changes:
        tensor._grad = None if slot is None else make(arrays[slot.number], keys[slot.number])


def slots_behind(recording: Recording, parts: list[list[Call] | Outside], kept: Set[int]) -> list[set[int]]:
    """The slots that are read behind each part: by later ones, as gradients, as results."""
    results = [recording.results, recording.outputs, [each.slot for each in recording.gradients]]
    behind = {slot.number for slot in slots_in(results)} | kept
    found: list[set[int]] = []
    for part in reversed(parts):
        found.append(set(behind))
        calls = part.calls or [] if isinstance(part, Outside) else part
        behind |= {slot.number for call in calls for slot in slots_in(call.args)}
        if isinstance(part, Outside):
            behind |= {slot.number for slot in slots_in([each.slot for each in part.gradients])}
    return found[::-1]


class Segment:
    """Calls, as one function, which also sets the gradients that were set between and behind them.

    Parameters
    ----------
    recording : Recording
    calls : list of Call and Outside
    needed : set of int
        Slots of arrays that are wanted afterwards.
    gradients : list of Change
        Behind the calls.
    chains : sequence of Chain
        Of these calls, and of others.
    """

    def __init__(
        self,
        recording: Recording,
        calls: Sequence[Call | Outside],
        needed: Set[int],
        gradients: Sequence[Change] = (),
        chains: Sequence[Any] = (),
    ) -> None:
        self.recording = recording
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []
        self.made: set[int] = set()
        self.last: dict[int, int] = {}
        self.inputs: dict[int, None] = {}
        self.chains = {id(each.replaced[-1]): each for each in chains}
        self.updates = {id(each.replaced[0]): each for each in chains if each.kernel is None and each.target}
        self.fused = {id(call) for each in chains for call in each.replaced if each not in self.updates.values()}
        for call in calls:
            if isinstance(call, Outside):
                self.add_outside(call)
            else:
                self.add_call(call)
        self.add_gradients(gradients)
        self.outputs = [each for each in sorted(needed) if each in self.made]
        self.let_go = [each for each in self.inputs if each not in needed]
        returned = {each.number for each in values_in(recording.results)}
        inner = [one for call in calls for one in (call.calls or () if isinstance(call, Outside) else (call,))]
        read = [each.number for call in inner for each in values_in(call.result)]
        self.numbers = sorted(returned.intersection(read))
        for slot, line in self.last.items():
            if slot not in needed:
                self.lines[line] += f"; del s{slot}"
        self.source = self.text()
        self.function: Callable[..., Any] = self.compiled()

    def text(self) -> str:
        parameters = ["inputs", *(f"{name}={name}" for name in self.names)]
        results = ", ".join([f"s{slot}" for slot in self.outputs] + [f"v{number}" for number in self.numbers])
        taken = "".join(f"s{slot}, " for slot in self.inputs)
        first = [f"({taken}) = inputs", "inputs.clear()"]  # so that an array is let go of behind its last use
        body = "".join(f"    {line}\n" for line in [*first, *self.lines, f"return [{results}]"])
        return f"def segment({', '.join(parameters)}):\n{body}"

    def compiled(self) -> Any:
        space = dict(self.names)
        exec(compile(self.source, "<captured>", "exec"), space)
        return space["segment"]

    def run(self, arrays: dict[int, Any], numbers: dict[int, Any]) -> None:
        """Run it, on the arrays by slot; its results join them."""
        if self.lines:
            inputs = [arrays[slot] for slot in self.inputs]
            for slot in self.let_go:
                del arrays[slot]
            results = run_quietly(self.function, inputs)
            arrays.update(zip(self.outputs, results))
            if self.numbers:
                numbers.update(zip(self.numbers, results[len(self.outputs) :]))

    # One call, one line

    def add_outside(self, part: Outside) -> None:
        self.add_gradients(part.gradients)
        for call in part.calls or ():
            self.add_call(call)
        if part.versions:
            self.lines.append(f"{self.named(count_writes)}({self.named(part.versions)})")

    def add_gradients(self, changes: Sequence[Change]) -> None:
        for tensor, slot in changes:
            made = "None"
            if slot is not None:
                key = self.named(self.recording.keys[slot.number])
                made = f"{self.named(make)}({self.array(slot.number, len(self.lines))}, {key})"
            self.lines.append(f"{self.named(tensor)}._grad = {made}")

    def named(self, value: Any) -> str:
        """The name of a constant."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def add_call(self, call: Call) -> None:
        """Add a call, unless it runs with those of its chain."""
        update = self.updates.get(id(call))
        if update is not None:  # which is compared: of the array as it is before
            self.add_line(update.try_kernel, [self.array(slot, len(self.lines)) for slot in update.inputs])
        if id(call) not in self.fused:
            self.add(call)
        chain = self.chains.get(id(call))
        if chain is not None:
            self.add_chain(chain)

    def add_chain(self, chain: Any) -> None:
        """Add a chain's kernel in the place of its calls, or the comparison of both."""
        if chain.target is not None:
            target = self.array(chain.target.number, len(self.lines))
            if chain.kernel is None:
                self.add_line(chain.decide, [target])
            else:
                inputs = [self.array(slot, len(self.lines)) for slot in chain.inputs]
                self.add_line(chain.update, [target, *inputs])
            return
        inputs = [self.array(slot, len(self.lines)) for slot in chain.inputs]
        if chain.kernel is None:  # the inputs in a list, which is the last to hold them
            self.lines.append(f"inputs[:] = {', '.join(inputs)},")
            inputs = ["inputs"]
        self.made.add(chain.result)
        self.last[chain.result] = len(self.lines)
        self.add_line(chain.kernel or chain.compared, inputs, f"s{chain.result}")

    def add_line(self, function: Any, args: list[str], result: str = "_") -> None:
        """Add a call of something else than an op."""
        name = f"k{len(self.lines)}"
        self.names[name] = function
        self.lines.append(f"{result} = {name}({', '.join(args)})")

    def add(self, call: Call) -> None:
        line = len(self.lines)
        function, values = self.kernel_of(call), call.args
        if function is None and call.made is not None:  # zeros, ones, numbers in order: the same each time
            function, values = call.made.copy, {}
        self.names[f"k{line}"] = function or run_as_op(call, self.recording)
        if isinstance(call.op, Declaration) and values.get("generator", "") is None:
            values = values | {"generator": default_generator_of(cpu)}
        args = ", ".join(self.written(value, line) for value in values.values())
        targets = targets_of(call.result)
        for slot in targets:
            if slot.number not in self.recording.externals:
                self.last[slot.number] = line
        before = {slot.number for slot in slots_in(call.args)}
        left = self.target(call.result, before)
        known = before | self.made | set(self.recording.externals)
        new = [slot.number for slot in targets if slot.number not in known]
        scalars = [each for each in new if self.recording.shapes[each] == ()]  # of which a kernel may return NumPy's
        as_arrays = "".join(f"; s{each} = {self.named(numpy.asarray)}(s{each})" for each in scalars)
        self.lines.append(f"{left}k{line}({args}){as_arrays}")
        self.made |= {slot.number for slot in targets if slot.number not in before}

    def target(self, result: Any, before: set[int]) -> str:
        """The left side of an assignment: names of the arrays that a call made."""

        def name(value: Any) -> str:
            if isinstance(value, Value):
                return f"v{value.number}"
            if isinstance(value, Slot):
                known = value.number in before or value.number in self.made or value.number in self.recording.externals
                return "_" if known else f"s{value.number}"
            if isinstance(value, (list, tuple)) and value:
                return "(" + "".join(f"{name(each)}, " for each in value) + ")"
            if isinstance(value, dict):
                return name(list(value.values()))
            return "_"

        return f"{name(result)} = "

    def written(self, value: Any, line: int) -> str:
        """An argument as source."""
        if isinstance(value, Slot):
            return self.array(value.number, line)
        if isinstance(value, Value):
            return f"v{value.number}"
        if type(value) in (list, tuple):
            inner = "".join(f"{self.written(each, line)}, " for each in value)
            return f"[{inner}]" if type(value) is list else f"({inner})"
        if value is None or type(value) in (bool, int, str):
            return repr(value)
        return self.named(value)

    def array(self, slot: int, line: int) -> str:
        if slot in self.recording.externals:
            self.names[f"e{slot}"] = self.recording.externals[slot]._array
            return f"e{slot}"
        self.last[slot] = line
        if slot not in self.made:
            self.inputs[slot] = None
        return f"s{slot}"

    def with_keys(self, value: Any) -> Any:
        """A value with dispatch keys in place of arrays."""
        if isinstance(value, Slot):
            return self.recording.keys[value.number]
        if isinstance(value, dict):
            return {name: self.with_keys(each) for name, each in value.items()}
        return [self.with_keys(each) for each in value] if type(value) is list else value

    def kernel_of(self, call: Call) -> Any:
        """The kernel that a declared op runs on these arrays, as the engine would choose it; None for another op."""
        first = next((slot for slot in slots_in(call.args)), None)
        if first is None:
            return None
        key = self.recording.keys[first.number]
        if not isinstance(call.op, Declaration):
            make_function = getattr(call.op, "array_function", None)
            return None if make_function is None else make_function(self.with_keys(call.args))
        op = call.op.op
        kernel = op.kernel(key)
        if isinstance(kernel, KernelBySize):
            size = math.prod(self.recording.shapes[first.number])
            kernel = kernel.large if size >= kernel.least else kernel.small
        return kernel


def run_as_op(call: Call, recording: Recording) -> Any:
    """A function of arrays that runs an op on tensors."""
    names, op, keys = list(call.args), call.op, {}
    for slot in slots_in([call.args, call.result]):
        keys[slot.number] = recording.keys[slot.number]
    patterns = list(call.args.values())

    def wrapped(pattern: Any, value: Any) -> Any:
        if isinstance(pattern, Slot):
            return make(value, keys[pattern.number])
        if isinstance(pattern, (list, tuple)):
            each = [wrapped(inner, one) for inner, one in zip(pattern, value)]
            return each if type(pattern) is list else tuple(each)
        return value

    def run(*values: Any) -> Any:
        tensors = {name: wrapped(pattern, value) for name, pattern, value in zip(names, patterns, values)}
        return unwrapped(op(**tensors))

    return run


def unwrapped(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._array
    if isinstance(value, (list, tuple)):
        return [unwrapped(each) for each in value]
    return [unwrapped(each) for each in value.values()] if isinstance(value, dict) else value


def slots_in(value: Any) -> list[Slot]:
    """All slots in a value."""
    if isinstance(value, Slot):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and not isinstance(value, Value):
        return [slot for each in value for slot in slots_in(each)]
    if isinstance(value, slice):
        return slots_in([value.start, value.stop, value.step])
    return []


def values_in(value: Any) -> list[Value]:
    """All numbers that were read, in a value."""
    if isinstance(value, Value):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [each for one in value for each in values_in(one)]
        if isinstance(value, (list, tuple)) and not isinstance(value, Slot)
        else []
    )


targets_of = slots_in
