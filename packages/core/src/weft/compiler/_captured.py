"""`Captured`: a function that is recorded, compared, and replayed as long as its guards hold."""

from __future__ import annotations

import copy
import functools
import gc
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy

from weft._engine.dispatch import freed, make
from weft._engine.tensor import Node, TensorBase, local, state
from weft.compiler import compiled_code
from weft.compiler._comparison import compare
from weft.compiler._differentiable import CompiledFunction, output_like, versions_of, with_history
from weft.compiler._execution import Execution, without_collector
from weft.compiler._fusion import FusedProgram
from weft.compiler._guards import CONSTANTS, Guards, Refused, mode_now
from weft.compiler._passes import LEAVES, BackwardProgram, RecordedPasses, Replayed, refuse_strangers
from weft.compiler._recording import Given, Output, Outside, Read, Recorder, Recording, Slot, Value, memory_of, owner_of
from weft.utils._pytree import tree_flatten, tree_map

__all__ = ["Captured", "captured_functions", "current"]

KINDS = 64  # of calls that are told apart
MOST = 8  # recordings of one function: for arguments, modes and attributes that differ


class Settings:
    """What all captured functions ask: their stance, ``"default"`` or ``"force_eager"``."""

    stance = "default"


current = Settings()
captured_functions: weakref.WeakSet[Captured] = weakref.WeakSet()


class Captured:
    """A function whose calls are recorded and replayed.

    The first call with arguments of one kind runs as it is, two more are recorded and compared, the others are replays.
    Of these the 4th, 8th, 16th and so on run as they are and are compared with the recording.

    Parameters
    ----------
    function : callable
    fullgraph : bool
        Raise, where the function cannot be captured, in place of running it as it is.

    Attributes
    ----------
    refusals : dict
        Why calls of a kind are not captured.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool = False) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.fullgraph = fullgraph
        self.reset()
        captured_functions.add(self)

    def reset(self) -> None:
        """Forget all recordings."""
        self.calls: dict[Any, int] = {}
        self.pending: dict[Any, tuple[Recording, Guards]] = {}
        self.variants: dict[Any, list[Variant]] = {}
        self.refusals: dict[Any, str] = {}
        self.log: list[str] = []
        self.later: dict[Any, int] = {}  # at which call those are recorded again that another thread disturbed
        self.codes: dict[Any, dict[str, Any]] = {}  # the program's code that runs in it
        self.lock = threading.Lock()  # one thread records at a time; the others run the function as it is

    @property
    def _captured_function(self) -> Callable[..., Any]:
        """For the guards of a function that calls this one."""
        return self.function

    def __reduce__(self) -> Any:
        return Captured, (self.function, self.fullgraph)  # recordings are of this process

    def __deepcopy__(self, memo: dict[int, Any]) -> Captured:
        return Captured(copy.deepcopy(self.function, memo), self.fullgraph)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current.stance != "default" or is_seen():
            return self.function(*args, **kwargs)
        if kwargs or not all(isinstance(each, TensorBase) for each in args):
            leaves, spec = tree_flatten((args, kwargs))
        else:
            leaves, spec = list(args), None
        key = (spec, mode_now(), tuple(map(kind_of, leaves)))
        changed = ""
        for variant in self.variants.get(key, ()):
            unchanged = variant.is_unchanged()
            changed = "" if unchanged else variant.changed()
            if not changed:
                return self.replay(variant, Invocation(self, key, args, kwargs, leaves, local.precision), unchanged)
        if key in self.refusals:
            return self.function(*args, **kwargs)
        if sys.getprofile() is not None:  # somebody else looks at what runs
            return self.function(*args, **kwargs)
        if key not in self.calls and len(self.calls) >= KINDS:  # objects that are made for each call, or numbers
            return self.function(*args, **kwargs)
        self.calls[key] = self.calls.get(key, 0) + 1
        if self.calls[key] == 1:
            with compiled_code(True), Execution() as seen:
                results = self.function(*args, **kwargs)
            self.codes = self.codes | seen.codes
            return results
        if self.calls[key] < self.later.get(key, 0) or not self.lock.acquire(blocking=False):
            return self.function(*args, **kwargs)
        try:
            return self.record(Invocation(self, key, args, kwargs, leaves, local.precision), changed)
        finally:
            self.lock.release()

    def record(self, call: Invocation, changed: str) -> Any:
        """Run the function, and note what it does; a second time the same is a variant that can be replayed."""
        key, args, kwargs = call.key, call.args, call.kwargs
        if sum(map(len, self.variants.values())) >= MOST:
            self.refuse(key, f"there are {MOST} recordings already; the last change was of {changed or 'arguments'}")
            warnings.warn(f"{self.refusals[key]}: {named(self.function)} runs as it is", UserWarning, stacklevel=4)
            return self.function(*args, **kwargs)
        if local.grad_enabled and local.precision is not None and local.precision.cache is not None:
            why = "autocast around it keeps halves of parameters that other calls share: enter it inside the function"
            self.refuse(key, why)
            return self.function(*args, **kwargs)
        if gc.get_freeze_count():  # a recording looks at all tensors that are alive, and would miss these
            self.refuse(key, "gc.freeze() has hidden objects from the look at what a function changes")
            return self.function(*args, **kwargs)
        try:
            guards = Guards(self.function, self.codes, call.objects)
        except Refused as error:
            self.refuse(key, str(error))
            return self.function(*args, **kwargs)
        results, made, passes, seen = recorded(call, guards)
        if isinstance(made, Disturbed):
            self.postpone(key, str(made))
            return results
        if isinstance(made, Refused):
            self.refuse(key, str(made))
            return results
        if self.learn(seen):
            return results
        first = self.pending.pop(key, None)
        changed = "" if first is None else first[1].changed()
        if first is None or changed or first[0].start() != made.start():
            self.pending[key] = made, guards
            if self.calls[key] > MOST:
                self.refuse(key, f"it finds {changed or 'gradients'} changed at each call")
            return results
        try:
            compare(first[0], made)
        except Refused as error:
            self.refuse(key, str(error))
            return results
        variant = Variant(made, guards, first[0].passes)
        self.variants.setdefault(key, []).append(variant)
        if passes is not None:
            passes.variant = variant
        self.tell(f"captured, {len(made.calls)} calls")
        return results

    def refuse(self, key: Any, why: str) -> None:
        """Run calls of a kind as they are from now on.

        Raises
        ------
        RuntimeError
            If the whole function was to be captured.
        """
        self.refusals[key] = why
        self.tell(f"not captured: {why}")
        if self.fullgraph:
            raise RuntimeError(f"compile(fullgraph=True): {named(self.function)} cannot be captured: {why}")

    def postpone(self, key: Any, why: str) -> None:
        """Record a kind of call anew after as many calls as there were."""
        self.pending.pop(key, None)
        self.later[key] = 2 * self.calls[key]
        self.tell(f"not captured yet, and tried again at call {self.later[key]}, since other threads run: {why}")

    def tell(self, what: str) -> None:
        """Note what happened; where ``WEFT_LOGS`` names capture, print it."""
        self.log.append(what)
        if "capture" in os.environ.get("WEFT_LOGS", ""):
            print(f"weft.capture: {named(self.function)}: {what}", file=sys.stderr)

    def explain(self) -> str:
        """What happened, and the lists, each with what of it is fused."""
        variants = [each for variants in self.variants.values() for each in variants]
        return "\n".join([*self.log, *[line for each in variants for line in each.explain()]])

    def replay(self, variant: Variant, call: Invocation, unchanged: bool) -> Any:
        """Run the list, with or without what may be run as it is; or the function, to compare both."""
        variant.replays += 1
        variant.waits = 0 if variant.ready else variant.waits + 1
        if variant.waits > MOST:
            self.drop(variant, call.key, "its results are differentiated in another way each time")
            return self.function(*call.args, **call.kwargs)
        due = variant.replays >= 4 and variant.replays & (variant.replays - 1) == 0
        if (due or not variant.ready) and not gc.get_freeze_count() and self.lock.acquire(blocking=False):
            try:
                return self.audit(variant, call)
            finally:
                self.lock.release()
        if not variant.ready:
            return self.function(*call.args, **call.kwargs)
        return variant.run(call, unchanged)

    def audit(self, variant: Variant, call: Invocation) -> Any:
        """Run the function as it is, and drop the recording if it did something else."""
        results, made, passes, seen = recorded(call, variant.guards)
        if isinstance(made, Disturbed):
            return results
        try:
            if isinstance(made, Refused):
                raise made
            if self.learn(seen):
                raise Refused("it runs other code than the time before")
            compare(variant.recording, made)
        except Refused as error:
            self.drop(variant, call.key, str(error))
            warnings.warn(f"{named(self.function)} did not do what was recorded: {error}", UserWarning, stacklevel=4)
        else:
            if passes is not None:
                passes.variant = variant
        return results

    def learn(self, seen: Execution) -> bool:
        """Note which code has run; whether there was some that had not before, so that no guard knows of it."""
        more = not seen.codes.keys() <= self.codes.keys()
        if more:
            self.codes = self.codes | seen.codes
        return more

    def forget(self, variant: Variant | None, key: Any) -> None:
        """Begin with the recordings of a kind of call anew."""
        self.pending.pop(key, None)
        self.variants[key] = [each for each in self.variants.get(key, ()) if each is not variant]

    def refuse_passes(self, variant: Variant | None, key: Any, why: str) -> None:
        """A backward pass cannot be captured, and so the function is not."""
        if variant is not None:
            self.drop(variant, key, why)
        else:
            self.pending.pop(key, None)
            self.refuse(key, why)

    def drop(self, variant: Variant, key: Any, why: str) -> None:
        """Replay a recording no more."""
        if variant in self.variants[key]:
            self.variants[key].remove(variant)
            self.refusals[key] = why
            self.tell(f"dropped: {why}")


class Disturbed(Refused):
    """Refused for what is otherwise after a call than before, which another thread may have done that runs."""


class Invocation(NamedTuple):
    """A call of a captured function: its arguments, their leaves, the kind of call, and the autocast around it."""

    captured: Captured
    key: Any
    args: Any
    kwargs: Any
    leaves: list[Any]
    precision: Any

    @property
    def tensors(self) -> list[Any]:
        """Those among the arguments."""
        return [each for each in self.leaves if isinstance(each, TensorBase)]

    @property
    def objects(self) -> list[Any]:
        """What is among the arguments besides tensors and constants, such as a model."""
        return [each.value for each in self.key[2] if isinstance(each, Same)]


class Same:
    """An object as part of a key: equal to itself alone, not to another one that has got its address."""

    def __init__(self, value: Any) -> None:
        self.number = id(value)
        self.reference: Callable[[], Any] = lambda: value
        with suppress(TypeError):  # some cannot be referred to weakly, and are kept
            self.reference = weakref.ref(value)

    @property
    def value(self) -> Any:
        """The object."""
        return self.reference()

    def __eq__(self, other: object) -> bool:
        value = self.reference()
        return isinstance(other, Same) and value is not None and other.reference() is value

    def __hash__(self) -> int:
        return self.number


class Variant:
    """A recording with its guards, and the programs that replay it and its backward passes.

    Parameters
    ----------
    recording : Recording
    guards : Guards
    passes : dict
        Recordings of backward passes, each seen once, by kind.

    Attributes
    ----------
    ready : bool
        Whether the backward passes that belong to it can be replayed too.
    """

    def __init__(self, recording: Recording, guards: Guards, passes: dict[Any, Recording]) -> None:
        self.recording = recording
        self.guards = guards
        self.replays = 0
        self.waits = 0  # calls since it was ready
        self.seen_once = dict(passes)
        self.backward: dict[Any, BackwardProgram] = {}
        self.ready = not passes
        self.outside = [call.guards for call in recording.calls if isinstance(call, Outside)]
        self.all_guards = guards.joined(self.outside) if self.outside else guards
        self.misses = 0
        self.make_program()

    def make_program(self) -> None:
        """Make the program of the function, which keeps what those of its backward passes take."""
        made = self.recording
        self.kept = {slot for each in self.backward.values() for slot in each.inputs}
        self.program = FusedProgram(made, self.kept)
        read = {made.owners.get(slot) for slot in self.kept}
        taken = [each for one in self.backward.values() for each in one.externals]
        read |= {id(owner_of(each._array)) for each in taken}
        outside = {id(each): each for each in (*made.externals.values(), *taken)}
        self.tensors_read = [each for each in outside.values() if id(owner_of(each._array)) in read]
        self.arguments_read = [n for n, slot in enumerate(made.arguments) if made.owners.get(slot.number) in read]
        self.outputs_read = [n for n, slot in enumerate(made.outputs) if made.owners.get(slot.number) in read]

    def add_pass(self, kind: Any, made: Recording, counted: list[bool]) -> None:
        """Note a backward pass: the second time that it is seen, it is one that can be replayed.

        Raises
        ------
        Refused
            If it did something else than the time before.
        """
        if kind in self.backward:
            compare(self.backward[kind].recording, made)
        elif kind in self.seen_once:
            compare(self.seen_once.pop(kind), made)
            self.backward = self.backward | {kind: BackwardProgram(made, counted)}
            self.make_program()
            self.ready = True
        else:
            self.seen_once[kind] = made

    def explain(self) -> list[str]:
        """The list, and what of it and of the lists of backward passes is fused."""
        programs = [self.program, *[each.program for each in self.backward.values()]]
        return [str(self.recording), *[line for each in programs for line in each.explain()]]

    def is_unchanged(self) -> bool:
        """Whether all is as it was, also what may be run as it is."""
        for tensor, grad in self.recording.started_with:
            if tensor._grad is not grad:
                return False
        if self.all_guards is None or not self.all_guards.changed():
            return self.all_guards is not None
        self.misses += 1
        if self.misses > MOST and self.outside:  # a learning rate that changes from step to step, say
            self.all_guards = None
        return False

    def changed(self) -> str:
        """What is no longer as it was when the function was recorded; empty where all is."""
        for tensor, grad in self.recording.started_with:
            if tensor._grad is not grad:
                return "the gradient of a tensor"
        return self.guards.changed()

    def run(self, call: Invocation, unchanged: bool) -> Any:
        """The results of a replay."""
        made, tensors = self.recording, call.tensors
        arrays: dict[int, Any] = {}
        if not made.outputs and isinstance(made.results, (Slot, type(None))):  # as it mostly is
            self.program.run(tensors, arrays, unchanged)
            return None if made.results is None else self.result(made.results, arrays)
        states = [(each, each.get_state()) for each in made.generators] if made.outputs else []
        numbers = self.program.run(tensors, arrays, unchanged)
        outputs = self.outputs(call, tensors, arrays, states) if made.outputs else []

        def result(value: Any) -> Any:
            if isinstance(value, Slot):
                return self.result(value, arrays)
            if isinstance(value, Output):
                return outputs[value.place]
            if isinstance(value, Given):
                return tensors[value.place]
            return numbers[value.number] if isinstance(value, Value) else value

        if isinstance(made.results, (*LEAVES, *CONSTANTS)):
            return result(made.results)
        return tree_map(result, made.results, is_leaf=lambda value: isinstance(value, (*LEAVES, Value)))

    def outputs(self, call: Invocation, tensors: list[Any], arrays: dict[int, Any], states: list[Any]) -> list[Any]:
        """The results that can be differentiated."""
        made = self.recording
        outputs = [output_like(arrays[slot.number], made.keys[slot.number]) for slot in made.outputs]
        read = [*self.tensors_read, *(tensors[place] for place in self.arguments_read)]
        read += [outputs[place] for place in self.outputs_read]
        kept = {slot: arrays[slot] for slot in self.kept}
        replayed = Replayed(self, call, kept, versions_of(read), states, [each._array for each in outputs])
        with_history(CompiledFunction(replayed, bool(kept or read), made.ways, tensors), outputs)
        return outputs

    def result(self, slot: Slot, arrays: dict[int, Any]) -> Any:
        """A tensor that the function returns."""
        made = self.recording
        if slot.number in made.externals:
            return made.externals[slot.number]
        out = make(arrays[slot.number], made.keys[slot.number])
        label = made.histories.get(slot.number)
        if label is not None:
            out._requires_grad, out._node = True, Differentiated(label)
        return out


class Differentiated(Node):
    """The node of a result that the function has differentiated, so that its graph is gone."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self._edges, self._shape, self._extra, self._sequence = (), (), None, 0

    def label(self) -> str:
        return self.name

    def apply(self, grads: list[Any], needed: Any) -> Any:
        raise freed(self)


@without_collector()
def recorded(call: Invocation, guards: Guards) -> tuple[Any, Any, RecordedPasses | None, Execution]:
    """Run a function; its results, the recording or what refuses it, what records backward passes, and what has run."""
    recorder = Recorder(call.tensors, call.captured.codes)
    with recorder, compiled_code(True), Execution() as seen:
        results = call.captured.function(*call.args, **call.kwargs)
    recorder.close()
    try:
        if seen.effect:
            raise Refused(seen.effect)
        refuse_aliases(call.tensors, guards.tensors)
        made = recorder.finish(results)
        if changed := guards.changed():
            raise Refused(f"it changes {changed}")
        refuse_strangers(made, guards)
        refuse_writes(made, guards)
    except Refused as error:
        at_the_end = recorder.refusal is None and not seen.effect
        why = Disturbed(str(error)) if at_the_end and threading.active_count() > 1 else error
        return plain(results), why, None, seen
    if not made.outputs:
        return plain(results), made, None, seen
    passes = RecordedPasses(call, recorder, guards)
    return passes.outputs(plain(results)), made, passes, seen


def plain(results: Any) -> Any:
    """Results with the numbers that were read as numbers of Python's own."""
    return tree_map(lambda x: type(x).__mro__[-2](x) if isinstance(x, Read) else x, results)


def refuse_aliases(arguments: list[Any], others: list[Any]) -> None:
    """Refuse arguments that are the same elements as each other or as what the function reaches: one slot for both."""
    given, reached = ([memory_of(each._array) for each in one if has_memory(each)] for one in (arguments, others))
    if len(set(given)) < len(given) or not set(given).isdisjoint(reached):
        raise Refused("arguments that are the same tensor, or one that the function has from elsewhere, too")


def refuse_writes(made: Recording, guards: Guards) -> None:
    """Refuse writes to tensors that the function does not reach, while another thread may do them."""
    if threading.active_count() > 1:
        outside = [call.guards for call in made.calls if isinstance(call, Outside)]
        reached = [each for one in (guards, *outside) for each in one.tensors] + list(made.externals.values())
        counts = {id(each._version_counter) for each in reached}
        written = [
            *made.versions,
            *(each for call in made.calls if isinstance(call, Outside) for each in call.versions),
        ]
        if any(not isinstance(each, Slot) and id(each._version_counter) not in counts for each, _ in written):
            raise Refused("a tensor is written to that the function does not reach")


def has_memory(tensor: Any) -> bool:
    """Whether a tensor has elements in an array of NumPy's."""
    return isinstance(tensor._array, numpy.ndarray) and tensor._array.size > 0


def is_seen() -> bool:
    """Whether somebody wants to see each op of this thread, or kernels are replaced: a replay would hide them."""
    return bool(
        state.watching or local.interceptors or local.modes or local.levels or local.saved_hooks or state.anomaly
    )


def kind_of(value: Any) -> Any:
    """What must be the same of an argument for a replay."""
    if isinstance(value, TensorBase):
        array = value._array
        leaf = value._node is None and value._view_base is None
        return value._key, getattr(array, "shape", None), getattr(array, "strides", None), value._requires_grad, leaf
    kind = type(value)
    if kind in (float, complex, numpy.float64):
        return kind, repr(value)  # which tells zeros apart
    if isinstance(value, numpy.generic):
        return kind, value.tobytes()
    return (kind, value) if kind in CONSTANTS else Same(value)


def named(function: Any) -> str:
    """What a function is called."""
    return getattr(function, "__qualname__", type(function).__name__)
