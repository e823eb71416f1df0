"""Backward passes of captured functions: recorded where the program differentiates their results, and replayed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import setitem
from typing import Any

from weft._devices.devices import on_device_of
from weft._engine.dispatch import make
from weft._engine.tensor import Node, Version, local, next_sequence, set_grad
from weft.compiler._differentiable import (
    CompiledFunction,
    Graph,
    check_versions,
    kind_of_pass,
    output_like,
    with_history,
)
from weft.compiler._execution import Execution, without_collector
from weft.compiler._fusion import FusedProgram
from weft.compiler._guards import Guards, Refused
from weft.compiler._recording import Given, Output, Outside, Recorder, Recording, Slot
from weft.utils._pytree import tree_leaves, tree_map

__all__ = ["LEAVES", "BackwardProgram", "RecordedPasses", "Replayed", "refuse_strangers"]

TWICE = "its gradients are differentiated in their turn"
LEAVES = (Slot, Output, Given)  # what stands for a result in a recording


class RecordedPasses:
    """Runs the graph behind the results of a recorded call, and records that.

    Parameters
    ----------
    call : Invocation
    recorder : Recorder
        Of the call, which has finished.
    guards : Guards

    Attributes
    ----------
    variant : Variant or None
        Which gets what is recorded; until there is one, the recording of the call does.
    """

    def __init__(self, call: Any, recorder: Recorder, guards: Any) -> None:
        assert recorder.graph is not None
        self.call = call
        self.recorder = recorder
        self.graph: Graph = recorder.graph
        self.guards = guards
        self.variant: Any = None
        self.keeps = False

    def outputs(self, results: Any) -> Any:
        """The function's results, with those that can be differentiated as outputs of one node."""
        shown = []
        for each in self.graph.outputs:
            if each._version_counter is None:
                each._version_counter = Version(0)
            shown.append(make(each._array, each._key))
            shown[-1]._version_counter = each._version_counter
        with_history(CompiledFunction(self.run, True, self.graph.ways, self.call.tensors), shown)
        by_id = {id(each): new for each, new in zip(self.graph.outputs, shown)}
        self.recorder.outputs = self.graph.outputs = []  # only their histories are wanted now
        return tree_map(lambda value: by_id.get(id(value), value), results)

    def run(self, node: Node, grads: list[Any], needed: Any, keep: bool, create: bool) -> list[Any]:
        """One pass."""
        captured = self.call.captured
        if create:
            self.keeps = True  # the graph of this pass leads into this one
            captured.refuse_passes(self.variant, self.call.key, TWICE)
        keep = keep or self.keeps
        if create or local.interceptors or gc.get_freeze_count() or not captured.lock.acquire(blocking=False):
            return self.graph.differentiate(grads, needed, keep, create)
        try:
            return self.record(captured, grads, needed, keep)
        finally:
            captured.lock.release()

    @without_collector()
    def record(self, captured: Any, grads: list[Any], needed: Any, keep: bool) -> list[Any]:
        recorder = Recorder([each for each in grads if each is not None], captured.codes, behind=self.recorder)
        with recorder, Execution() as seen:
            results = self.graph.differentiate(grads, needed, keep, False)
        recorder.close()
        counted = [each is not None and each._version_counter is not None for each in results]
        try:
            if seen.effect:
                raise Refused(seen.effect)
            if captured.learn(seen):
                captured.forget(self.variant, self.call.key)
                return results
            made = recorder.finish(tuple(results))
            if recorder.reads:
                raise Refused("its backward pass reads values")
            if changed := self.guards.changed():
                raise Refused(f"its backward pass changes {changed}")
            refuse_strangers(made, self.guards)
            self.note(kind_of_pass(grads, needed), made, counted)
        except Refused as error:
            captured.refuse_passes(self.variant, self.call.key, str(error))
        for each in results:
            if each is not None and each._version_counter is None:
                each._version_counter = Version(0)  # it may be what a custom function keeps
        return results

    def note(self, kind: Any, made: Recording, counted: list[bool]) -> None:
        if self.variant is None:
            self.recorder.made.passes[kind] = made
        else:
            self.variant.add_pass(kind, made, counted)


class BackwardProgram:
    """Replays a backward pass.

    Parameters
    ----------
    recording : Recording
        Its results are the gradients, None where there is none.
    counted : list of bool
        Which of them are views of something, or held by somebody: nobody may write into those.
    """

    def __init__(self, recording: Recording, counted: list[bool]) -> None:
        self.recording = recording
        self.program = FusedProgram(recording)
        self.externals = list(recording.externals_of(recording.own_calls()).values())
        slots = [each for each in recording.results if isinstance(each, Slot)]
        known = self.program.plain.made | {slot.number for slot in recording.arguments} | set(recording.externals)
        self.inputs = (self.program.plain.inputs | {each.number for each in slots}) - known
        self.counted = [
            count or (isinstance(each, Slot) and (slots.count(each) > 1 or each.number in self.inputs))
            for count, each in zip(counted, recording.results)
        ]

    def run(self, grads: list[Any], arrays: dict[int, Any]) -> list[Any]:
        """The gradients, for those of the outputs, and arrays that the function has kept."""
        given = [each for each in grads if each is not None]
        self.program.run(given, arrays)
        made: dict[int, Any] = {}
        results: list[Any] = []
        for each, counted in zip(self.recording.results, self.counted):
            if isinstance(each, Slot):
                if each.number not in made:
                    found = self.recording.externals.get(each.number)
                    array = arrays[each.number] if found is None else found._array
                    made[each.number] = (output_like if counted else make)(array, self.recording.keys[each.number])
                results.append(made[each.number])
            else:
                results.append(given[each.place] if isinstance(each, Given) else None)
        return results


class Replayed:
    """Runs the backward pass of a replay: its list, or, where nobody has recorded it, the function once more.

    Parameters
    ----------
    variant : Variant
    call : Invocation
    arrays : dict
        What the replay has kept, by slot.
    versions : list of (Tensor, int)
        What the lists read, with the counts of writes at the replay.
    states : list of (Generator, Tensor)
        Where generators stood before it.
    outputs : list of arrays
        The results that can be differentiated.
    """

    def __init__(
        self, variant: Any, call: Any, arrays: Any, versions: Any, states: Any, outputs: Sequence[Any]
    ) -> None:
        self.variant = variant
        self.programs = variant.backward
        self.call = call
        self.arrays = arrays
        self.versions = versions
        self.states = states
        self.outputs = [weakref.ref(each) for each in outputs]

    def __call__(self, node: Node, grads: list[Any], needed: Any, keep: bool, create: bool) -> list[Any]:
        check_versions(node, self.versions)
        program = None if create or local.interceptors else self.programs.get(kind_of_pass(grads, needed))
        if program is None:
            if create:
                self.call.captured.refuse_passes(self.variant, self.call.key, TWICE)
            self.variant.ready = False  # so that a pass of this kind is recorded the next time
            return self.once_more().differentiate(grads, needed, keep, create)
        arrays = dict(self.arrays) if keep else self.arrays
        results: list[Any] = program.run(grads, arrays)
        return results

    def once_more(self) -> Graph:
        """The graph of the same call.

        Raises
        ------
        RuntimeError
            If it gives other results than the replay did.
        """
        made, call = self.variant.recording, self.call
        written = [each for each, _ in made.versions]
        if any(isinstance(each, Slot) for each in written):
            raise self.refusal("it writes into its arguments")
        start = next_sequence()
        with as_it_was(written, self.states, call.precision):
            results = call.captured.function(*call.args, **call.kwargs)
        outputs: list[Any] = [None] * len(made.outputs)
        places = tree_leaves(made.results, is_leaf=lambda value: isinstance(value, LEAVES))
        for each, place in zip(tree_leaves(results), places):
            if isinstance(place, Output):
                outputs[place.place] = each
        for one, each in zip(self.outputs, outputs):
            before = one()
            if before is not None and before.tobytes() != each._array.tobytes():
                raise self.refusal("it has other results when it is called again")
        graph = Graph(outputs, call.tensors, start)
        if list(map(named_way, graph.ways)) != list(map(named_way, made.ways)):
            raise self.refusal("it has another graph when it is called again")
        return graph

    def refusal(self, why: str) -> RuntimeError:
        return RuntimeError(
            "compile: the results of a captured function are differentiated as never before, for which it is called "
            f"again, but {why}. Leave it out with weft.compiler.disable, or capture the whole step"
        )


def named_way(way: Any) -> tuple[int, int]:
    """What two ways out of a graph have in common that lead to the same place."""
    return way.argument, id(way.leaf)


@contextmanager
def as_it_was(written: list[Any], states: list[Any], precision: Any) -> Iterator[None]:
    """In this block generators stand where they did; what was written into and they are as before, afterwards."""
    copies = [(each, on_device_of(each._key, each._array.copy)(), each._version_counter.value) for each in written]
    now = [(generator, generator.get_state()) for generator, _ in states]
    for generator, state in states:
        generator.set_state(state)
    enabled, outer = local.grad_enabled, local.precision
    set_grad(True)
    local.precision = precision
    try:
        yield
    finally:
        set_grad(enabled)
        local.precision = outer
        for generator, state in now:
            generator.set_state(state)
        for each, values, count in copies:
            on_device_of(each._key, setitem)(each._array, ..., values)
            each._version_counter.value = count


def refuse_strangers(made: Recording, guards: Guards) -> None:
    """Refuse tensors from outside that no guard compares."""
    reached = [guards, *[call.guards for call in made.calls if isinstance(call, Outside)]]
    tensors = [each for one in reached for each in one.tensors]
    known = {id(each) for each in tensors} | {id(each._grad) for each in tensors}
    calls = [each for call in made.calls for each in (call.calls or () if isinstance(call, Outside) else (call,))]
    for slot, each in made.externals_of(calls).items():
        if id(each) not in known:
            raise Refused(f"{made.first_use(slot)} takes a tensor {tuple(each.shape)} from where no guard sees it")
