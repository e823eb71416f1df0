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
from typing import Any

import numpy

from weft._engine.dispatch import freed, make
from weft._engine.tensor import Node, TensorBase, local, state
from weft.compiler._comparison import compare
from weft.compiler._guards import Guards, Refused, mode_now
from weft.compiler._program import Program
from weft.compiler._recording import Outside, Read, Recorder, Recording, Slot, Value, memory_of
from weft.utils._pytree import tree_flatten, tree_map

__all__ = ["Captured", "captured_functions", "current"]

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
            changed = variant.changed()
            if not changed:
                return self.replay(variant, key, args, kwargs, leaves)
        if key in self.refusals:
            return self.function(*args, **kwargs)
        self.calls[key] = self.calls.get(key, 0) + 1
        if self.calls[key] == 1 or not self.lock.acquire(blocking=False):
            return self.function(*args, **kwargs)
        try:
            return self.record(key, args, kwargs, leaves, changed)
        finally:
            self.lock.release()

    def record(self, key: Any, args: Any, kwargs: Any, leaves: list[Any], changed: str) -> Any:
        """Run the function, and note what it does; a second time the same is a variant that can be replayed."""
        if sum(map(len, self.variants.values())) >= MOST:
            self.refuse(key, f"there are {MOST} recordings already; the last change was of {changed or 'arguments'}")
            warnings.warn(f"{self.refusals[key]}: {named(self.function)} runs as it is", UserWarning, stacklevel=4)
            return self.function(*args, **kwargs)
        if gc.get_freeze_count():  # a recording looks at all tensors that are alive, and would miss these
            self.refuse(key, "gc.freeze() has hidden objects from the look at what a function changes")
            return self.function(*args, **kwargs)
        try:
            guards = Guards(self.function)
        except Refused as error:
            self.refuse(key, str(error))
            return self.function(*args, **kwargs)
        results, made = recorded(self.function, args, kwargs, leaves, guards)
        if isinstance(made, Refused):
            self.refuse(key, str(made))
            return results
        first = self.pending.pop(key, None)
        if first is None or first[1].changed() or first[0].start() != made.start():
            self.pending[key] = made, guards
            return results
        try:
            compare(first[0], made)
        except Refused as error:
            self.refuse(key, str(error))
            return results
        self.variants.setdefault(key, []).append(Variant(made, guards))
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

    def tell(self, what: str) -> None:
        """Note what happened; where ``WEFT_LOGS`` names capture, print it."""
        self.log.append(what)
        if "capture" in os.environ.get("WEFT_LOGS", ""):
            print(f"weft.capture: {named(self.function)}: {what}", file=sys.stderr)

    def explain(self) -> str:
        """What happened, and the lists."""
        lists = [each.recording for variants in self.variants.values() for each in variants]
        return "\n".join([*self.log, *map(str, lists)])

    def replay(self, variant: Variant, key: Any, args: Any, kwargs: Any, leaves: list[Any]) -> Any:
        """Run the list; or the function, to compare both."""
        variant.replays += 1
        due = variant.replays >= 4 and variant.replays & (variant.replays - 1) == 0 and not gc.get_freeze_count()
        if due and self.lock.acquire(blocking=False):
            try:
                return self.audit(variant, key, args, kwargs, leaves)
            finally:
                self.lock.release()
        return variant.run([each for each in leaves if isinstance(each, TensorBase)])

    def audit(self, variant: Variant, key: Any, args: Any, kwargs: Any, leaves: list[Any]) -> Any:
        """Run the function as it is, and drop the recording if it did something else."""
        results, made = recorded(self.function, args, kwargs, leaves, variant.guards)
        try:
            if isinstance(made, Refused):
                raise made
            compare(variant.recording, made)
        except Refused as error:
            self.variants[key].remove(variant)
            self.refusals[key] = str(error)
            self.tell(f"dropped: {error}")
            warnings.warn(f"{named(self.function)} did not do what was recorded: {error}", UserWarning, stacklevel=4)
        return results


class Variant:
    """A recording with its guards, and the program that replays it."""

    def __init__(self, recording: Recording, guards: Guards) -> None:
        self.recording = recording
        self.guards = guards
        self.program = Program(recording)
        self.replays = 0

    def changed(self) -> str:
        """What is no longer as it was when the function was recorded; empty where all is."""
        for tensor, grad in self.recording.started_with:
            if tensor._grad is not grad:
                return "the gradient of a tensor"
        return self.guards.changed()

    def run(self, tensors: list[Any]) -> Any:
        """The results of a replay on the tensors among the arguments."""
        arrays, numbers = self.program.run(tensors)
        made = self.recording

        def result(value: Any) -> Any:
            if isinstance(value, Slot):
                return self.result(value, arrays)
            return numbers[value.number] if isinstance(value, Value) else value

        if isinstance(made.results, Slot):
            return self.result(made.results, arrays)
        return tree_map(result, made.results, is_leaf=lambda value: isinstance(value, (Slot, Value)))

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


def recorded(function: Any, args: Any, kwargs: Any, leaves: list[Any], guards: Guards) -> tuple[Any, Any]:
    """Run a function; its results, and the recording or what refuses it."""
    arguments = [each for each in leaves if isinstance(each, TensorBase)]
    recorder = Recorder(arguments)
    with recorder:
        results = function(*args, **kwargs)
    recorder.close()
    try:
        refuse_aliases(arguments, guards.tensors)
        made = recorder.finish(results)
        if changed := guards.changed():
            raise Refused(f"it changes {changed}")
        refuse_strangers(made, guards)
    except Refused as error:
        return plain(results), error
    return plain(results), made


def plain(results: Any) -> Any:
    """Results with the numbers that were read as numbers of Python's own."""
    return tree_map(lambda x: type(x).__mro__[-2](x) if isinstance(x, Read) else x, results)


def refuse_aliases(arguments: list[Any], others: list[Any]) -> None:
    """Refuse arguments that are the same elements as each other or as what the function reaches: one slot for both."""
    given, reached = ([memory_of(each._array) for each in one if has_memory(each)] for one in (arguments, others))
    if len(set(given)) < len(given) or not set(given).isdisjoint(reached):
        raise Refused("arguments that are the same tensor, or one that the function has from elsewhere, too")


def has_memory(tensor: Any) -> bool:
    """Whether a tensor has elements in an array of NumPy's."""
    return isinstance(tensor._array, numpy.ndarray) and tensor._array.size > 0


def refuse_strangers(made: Recording, guards: Guards) -> None:
    """Refuse tensors from outside that no guard compares."""
    reached = [guards, *[call.guards for call in made.calls if isinstance(call, Outside)]]
    tensors = [each for one in reached for each in one.tensors]
    known = {id(each) for each in tensors} | {id(each._grad) for each in tensors}
    calls = [each for call in made.calls for each in (call.calls or () if isinstance(call, Outside) else (call,))]
    for slot, each in made.externals_of(calls).items():
        if id(each) not in known:
            raise Refused(f"{made.first_use(slot)} takes a tensor {tuple(each.shape)} from where no guard sees it")


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
    return type(value), value if isinstance(value, (bool, int, float, str, type(None))) else id(value)


def named(function: Any) -> str:
    """What a function is called."""
    return getattr(function, "__qualname__", type(function).__name__)
