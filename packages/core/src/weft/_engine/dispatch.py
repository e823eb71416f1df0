"""From a call to the backend's kernel, and the record of it that backward needs.

`Op` is the runtime half of a declaration. The fast path (tensors of one dtype and device, nobody watching) is
here, in few frames; whatever else may happen to a call is behind one branch, in `Declaration.dispatch`.
"""

from __future__ import annotations

import weakref
from typing import Any, ClassVar, Final, Optional

from weft._engine.dispatch_keys import DispatchKey, KernelBySize
from weft._engine.tensor import (
    DETACHED,
    Extra,
    Node,
    NodeExtra,
    TensorBase,
    Version,
    blank,
    is_collision,
    local,
    set_grad,
    state,
)
from weft._engine.unresolved import Unresolved

try:
    from mypy_extensions import mypyc_attr
except ImportError:  # it says something to mypyc alone, and comes with it

    def mypyc_attr(**options: Any) -> Any:  # type: ignore[misc]
        return lambda decorated: decorated


class VJP:
    """One gradient function of an op, for one argument or for several that follow each other.

    Attributes
    ----------
    function : callable
        Takes the gradient (or the list of them) and the saved values at ``picks``.
    picks : tuple of int
        Positions in ``OpNode.saved``.
    count : int
        How many gradients it returns; -1: one, and no list; -2: one for each member of a list of tensors.
    """

    def __init__(self, function: Any, picks: tuple[int, ...], count: int) -> None:
        self.function = function
        self.picks = picks
        self.count = count


class BackwardPlan:
    """What to save, and how to differentiate, for one pattern of inputs that require grad.

    Attributes
    ----------
    label : str
        The node's name.
    saves : tuple of int
        Positions among the op's arguments; negative: only a fact of one (its shape).
    saves_output : bool
    names : tuple of str
        Those of the saved arguments.
    skips : int
        How many of the outputs, from the first on, are not saved all the same.
    steps : tuple of Step
        In the order of the edges.
    takes_first : bool
        The functions take the gradient of the first output, not the list of all.
    calls : tuple of (function, pick) or None
        The same as steps, if each takes one saved value or none (-1).
    unsaved : tuple of int
        The versions of saved values that are no tensors.
    pair : int
        For two tensors: which of them are saved, as a bit mask, if nothing else is; else -1.
    first, second : callable
        For two tensors, where each gradient takes one of them or none: the functions.
    first_takes, second_takes : int
        Which of them: 0, 1, or -1 for none.
    keeps_memory : bool
        Tensors are saved: backward frees them, and a second one is an error.
    pattern : tuple of int
        For each tensor argument 1 if it has an edge, 0 if not, -1 if it is a list, whose members all have one.
    """

    def __init__(
        self,
        label: str,
        saves: tuple[int, ...],
        saves_output: bool,
        steps: tuple[VJP, ...],
        takes_first: bool,
        keeps_memory: bool,
        pattern: tuple[int, ...],
    ) -> None:
        self.label = label
        self.saves = saves
        self.saves_output = saves_output
        self.names: tuple[str, ...] = ()
        self.skips = 0
        self.steps = steps
        self.takes_first = takes_first
        self.calls: Optional[tuple[Any, ...]] = None
        if takes_first and all(step.count == -1 and len(step.picks) <= 1 for step in steps):
            self.calls = tuple((step.function, step.picks[0] if step.picks else -1) for step in steps)
        self.unsaved = tuple([-1] * len(saves))
        self.keeps_memory = keeps_memory
        self.pattern = pattern
        self.shown = pattern  # to users: without arguments that never have a gradient, such as an index
        self.pair = -1
        self.first: Any = None
        self.second: Any = None
        self.first_takes = -1
        self.second_takes = -1
        if self.calls is not None and not saves_output and all(position in (0, 1) for position in saves):
            self.prepare_pair(self.calls)

    def prepare_pair(self, calls: tuple[Any, ...]) -> None:
        """Tell which of two operands has which gradient, for nodes that keep them without a tuple."""
        if len(self.pattern) != 2 or min(self.pattern) < 0 or sum(self.pattern) != len(calls):
            return
        self.pair = sum(1 << position for position in self.saves)
        for position, (function, pick) in zip([place for place in (0, 1) if self.pattern[place]], calls):
            takes = -1 if pick < 0 else self.saves[pick]
            if position == 0:
                self.first, self.first_takes = function, takes
            else:
                self.second, self.second_takes = function, takes


class SavedOutput:
    """An output kept for its own node, without its history: that would be a reference cycle."""

    def __init__(self, array: Any, key: DispatchKey, version: Version, index: int, wrapped: Any) -> None:
        self.array = array
        self.wrapped = wrapped
        self._key = key
        self.version = version
        self.seen = version.value
        self.index = index


class Op:
    """An operation by name, with one kernel for each dispatch key.

    Attributes
    ----------
    name : str
        With its namespace, ``core::mul``.
    kernels, result_keys : list
        By `DispatchKey.index`: the kernel, and the key of its result; None until first asked for.
    positions : tuple of int
        Which arguments are tensors. An argument that is a list of tensors has its own place.
    declaration : object
        The slow half: resolves kernels, promotes dtypes, explains errors, plans gradients.
    """

    def __init__(self, name: str, positions: tuple[int, ...], sequence_position: int, declaration: Any) -> None:
        self.name = name
        self.positions = positions
        self.sequence_position = sequence_position
        self.declaration = declaration
        self.is_view = False
        self.takes_numbers = True  # beside a floating-point tensor, behind it
        self.promotes = False  # dtypes and numbers are the slow path's business, always
        self.differentiable = False
        self.kernels: list[Any] = [None] * state.key_count
        self.result_keys: list[Any] = [None] * state.key_count
        state.ops.append(self)
        self.plans: dict[int, BackwardPlan] = {}
        self.single: Optional[BackwardPlan] = None  # that of the first argument alone
        self.metadata: list[tuple[int, str]] = []  # (argument, "shape" or "dtype"): what plans call -1, -2, ...

    def kernel(self, key: DispatchKey) -> Any:
        """The kernel for a dispatch key, resolved by the declaration when it is first asked for."""
        index = key.index
        kernel = self.kernels[index]
        if kernel is None:
            kernel, result = self.declaration.resolve(key)
            self.result_keys[index] = result
            self.kernels[index] = kernel
        return kernel

    def run_kernel(self, key: DispatchKey, arrays: list[Any], args: Any) -> Any:
        """Run the kernel for a dispatch key on arrays, which stand for the tensors in ``args``."""
        kernel = self.kernels[key.index]
        if kernel is None:
            kernel = self.kernel(key)
        if isinstance(kernel, KernelBySize):
            first = arrays[0]
            if isinstance(first, list):
                first = first[0]
            elif type(first) is float:  # the number of a reflected operator
                first = arrays[1]
            if type(first) is key.array_type:  # `choose`, without its frame
                size: int = first.size
                kernel = kernel.large if size >= kernel.least else kernel.small
        try:
            return call(kernel, arrays)
        except Exception as error:
            return self.declaration.recover(error, kernel, arrays, args)

    def plan(self, mask: int) -> BackwardPlan:
        """How to differentiate when the arguments whose bits are set require grad."""
        plan = self.plans.get(mask)
        if plan is None:
            plan = self.declaration.plan(mask)
            self.plans[mask] = plan
        return plan

    def __call__(self, *args: Any) -> Any:
        """Run the op on the arguments of its kernel."""
        if state.intercepting or self.promotes:
            return self.declaration.dispatch(args)
        return self.execute(args)

    def execute(self, args: tuple[Any, ...]) -> Any:
        """Run the op whoever is watching: on tensors of one device, in the dtypes that the kernel takes."""
        key: Optional[DispatchKey] = None
        mask = 0
        arrays: list[Any] = list(args)
        for position in self.positions:
            arg = args[position]
            if isinstance(arg, TensorBase):
                tensor: TensorBase = arg
                other = tensor._key
                if key is None:
                    key = other
                    if not key.plain:
                        return self.declaration.dispatch(args)
                elif other is not key and (other.device is not key.device or not other.plain):
                    return self.declaration.dispatch(args)
                arrays[position] = tensor._array
                if tensor._requires_grad:
                    mask |= 1 << position
            elif arg is not None and position == self.sequence_position:
                group: list[Any] = []
                for member in arg:
                    if member is None:
                        group.append(None)
                        continue
                    if not isinstance(member, TensorBase):
                        return self.declaration.dispatch(args)
                    other = member._key
                    if key is None:
                        key = other
                    if not other.plain or other.device is not key.device:
                        return self.declaration.dispatch(args)
                    group.append(member._array)
                    if member._requires_grad:
                        mask |= 1 << position
                arrays[position] = group
        if key is None:
            return self.declaration.dispatch(args)
        result = self.run_kernel(key, arrays, args)
        if isinstance(result, (tuple, list)):
            outputs = [wrap(array, key) for array in result]
            if mask and local.grad_enabled:
                record_many(self, outputs, args, mask)
            if self.is_view:
                for index, output in enumerate(outputs):
                    link_view(output, args, self, index)
            return tuple(outputs)
        out = wrap(result, key)
        if mask and local.grad_enabled:
            record(self, out, args, mask)
        if self.is_view:
            link_view(out, args, self, -1)
        return out


def call(kernel: Any, arrays: list[Any]) -> Any:
    """Run a kernel without NumPy's warnings. Few arguments one by one: a call with ``*arrays`` costs twice as much."""
    count = len(arrays)
    run: Any  # by a name of its own: Python 3.11 is slow to call what it has to look up in an object
    if count == 1:
        run = state.run_one
        return run(kernel, arrays[0])
    if count == 2:
        run = state.run_two
        return run(kernel, arrays[0], arrays[1])
    run = state.run
    if count == 3:
        return run(kernel, arrays[0], arrays[1], arrays[2])
    if count == 4:
        return run(kernel, arrays[0], arrays[1], arrays[2], arrays[3])
    return run(kernel, *arrays)


@mypyc_attr(allow_interpreted_subclasses=True)
class PlannedNode(Node):
    """The node of an op that is declared: its plan says which function gives which gradient."""

    __slots__ = ("plan",)

    plan: BackwardPlan
    gives_each_once: ClassVar[bool] = False  # no two edges get one tensor without a count of writes

    def label(self) -> str:
        return self.plan.label


def freed(node: Node) -> RuntimeError:
    """The error for a node whose saved tensors were let go of."""
    return RuntimeError(
        f"{node.label()}: Trying to backward through the graph a second time (or directly access saved tensors "
        "after they have already been freed). Saved intermediate values of the graph are freed when you call "
        ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a "
        "second time or if you need to access saved tensors after calling backward."
    )


@mypyc_attr(allow_interpreted_subclasses=True)
class PairNode(PlannedNode):
    """The node of an op on two tensors that are no views and were never written to, and nothing else.

    Most nodes are such. This one has no tuples, which Python's collector would have to go over.

    Attributes
    ----------
    first_edge, second_edge : Node, TensorBase or None
        Where the operands' gradients go.
    first, second : TensorBase or None
        The operands that are saved.
    is_freed : bool
    """

    __slots__ = ("first", "first_edge", "is_freed", "second", "second_edge")

    first_edge: Any
    second_edge: Any
    first: Optional[TensorBase]
    second: Optional[TensorBase]
    is_freed: bool

    def edges(self) -> tuple[Any, ...]:
        pattern = self.plan.pattern
        if pattern[0] == 0:
            return (self.second_edge,)
        return (self.first_edge,) if pattern[1] == 0 else (self.first_edge, self.second_edge)

    def check(self) -> None:
        """Raise an error if what was saved was freed, or written to since."""
        if self.is_freed:
            raise freed(self)
        for value in (self.first, self.second):
            if value is not None:
                counter = value._version_counter
                if counter is not None and counter.value != 0:
                    check_unchanged(self, value, 0, counter.value)

    def first_gradient(self, grad: Any) -> Any:
        """Of the first operand."""
        takes = self.plan.first_takes
        if takes < 0:
            return self.plan.first(grad)
        return self.plan.first(grad, self.first if takes == 0 else self.second)

    def second_gradient(self, grad: Any) -> Any:
        """Of the second operand."""
        takes = self.plan.second_takes
        if takes < 0:
            return self.plan.second(grad)
        return self.plan.second(grad, self.first if takes == 0 else self.second)

    def apply(self, grads: list[Any], needed: Any) -> Any:
        self.check()
        results: list[Any] = []
        if self.plan.pattern[0]:
            results.append(self.first_gradient(grads[0]) if needed is None or needed[0] else None)
        if self.plan.pattern[1]:
            results.append(self.second_gradient(grads[0]) if needed is None or needed[len(results)] else None)
        return results

    def free(self) -> None:
        if self.plan.keeps_memory:
            self.is_freed = True
            self.first = None
            self.second = None


@mypyc_attr(allow_interpreted_subclasses=True)
class OpNode(PlannedNode):
    """The node of an op on whatever it takes.

    ``saved`` is what the gradient needs, ``versions`` the version that each saved tensor had (-1 for
    what is no tensor). ``saved`` is None once freed; ``unpack`` is set where hooks packed it.
    """

    __slots__ = ("saved", "versions")

    saved: Optional[tuple[Any, ...]]
    versions: tuple[int, ...]

    def saved_values(self) -> tuple[Any, ...]:
        """What was saved, with outputs as tensors; an error if it was freed, or written to since."""
        saved = self.saved
        if saved is None:
            raise freed(self)
        if self.plan.saves_output or (self._extra is not None and self._extra.unpack is not None):
            return unpack_saved(self, saved)
        for value, version in zip(saved, self.versions):
            if version >= 0:
                counter = value._version_counter
                if counter is not None and counter.value != version:
                    check_unchanged(self, value, version, counter.value)
        return saved

    def apply(self, grads: list[Any], needed: Any) -> Any:
        saved = self.saved_values()
        plan = self.plan
        grad: Any = grads[0] if plan.takes_first else grads
        results: list[Any] = []
        for step in plan.steps:
            count = step.count
            if needed is not None and count != -2 and not wants(needed, len(results), count):
                results.extend([None] * max(count, 1))
                continue
            value = step.function(grad, *[saved[pick] for pick in step.picks])
            if count == -1:
                results.append(value)
            else:
                results.extend(value)
        return results

    def free(self) -> None:
        if self.plan.keeps_memory:
            self.saved = None


def wants(needed: Any, edge: int, count: int) -> bool:
    """Whether any of the edges that a step serves leads to a tensor that is asked for."""
    if count < 0:
        return bool(needed[edge])
    for offset in range(count):
        if needed[edge + offset]:
            return True
    return False


def wrap(array: Any, key: DispatchKey) -> TensorBase:
    """A tensor without history around what a kernel returned, on the device of a dispatch key."""
    if type(array) is not key.array_type:
        if isinstance(array, Unresolved):
            return make(array, state.key_of(key.siblings[array.dtype].dtype, key.device, True, False, array.bits))
        array = key.asarray(array)
    return make(array, key.siblings[array.dtype])


def make(array: Any, key: DispatchKey) -> TensorBase:
    """A tensor without history; the operators below repeat these lines to save the call."""
    out: TensorBase = blank(state.tensor_class)
    out._array = array
    out._key = key
    out._requires_grad = False
    out._node = None
    out._grad = None
    out._version_counter = None if state.intercepting == 0 or not local.inference else inference_version()
    out._extra = None
    out._view_base = None
    return out


def inference_version() -> Version:
    """The version counter of a tensor that was made in inference mode."""
    counter = Version(0)
    counter.inference = True
    return counter


def edge_of(tensor: TensorBase) -> Any:
    """Where the gradient of an input goes: to the node that made it, to the leaf itself, nowhere."""
    if not tensor._requires_grad:
        return None
    node = tensor._node if tensor._view_base is None else current_node(tensor)
    return tensor if node is None else node


def record(op: Op, out: TensorBase, args: tuple[Any, ...], mask: int) -> None:
    """Give one output its node."""
    if not op.differentiable or not out._key.is_differentiable:
        return
    plan = op.plan(mask)
    node = make_node(op, plan, args, mask)
    node._shape = out._array.shape
    if plan.saves_output:
        save_outputs(node, [out], 0)
    out._requires_grad = True
    out._node = node


def record_one(op: Op, out: TensorBase, source: TensorBase, others: tuple[Any, ...]) -> None:
    """Give the output of an op its node, where the first argument is the one tensor and requires grad."""
    if (state.unrecorded and not local.grad_enabled) or not op.differentiable or not out._key.is_differentiable:
        return
    plan = op.single
    if plan is None:
        plan = op.plan(1)
        op.single = plan
    if plan.saves_output or plan.keeps_memory or (source._extra is not None and source._extra.output_index != 0):
        record(op, out, (source, *others), 1)
        return
    saved: list[Any] = []
    for position in plan.saves:
        saved.append(others[position - 1] if position > 0 else saved_metadata(op, (source, *others), position))
    node = OpNode()
    state.sequence += 1
    node._sequence = state.sequence
    node.plan = plan
    node._shape = out._array.shape
    node._edges = (edge_of(source),)
    node._extra = None
    node.saved = tuple(saved)
    node.versions = plan.unsaved
    out._requires_grad = True
    out._node = node


def record_many(op: Op, outputs: list[TensorBase], args: tuple[Any, ...], mask: int) -> None:
    """Give several outputs their common node."""
    if not op.differentiable:
        return
    plan = op.plan(mask)
    node = make_node(op, plan, args, mask)
    extra_of(node).outputs = len(outputs)
    node._shape = [out._array.shape for out in outputs]
    if plan.saves_output:
        save_outputs(node, outputs, plan.skips)
    for index, out in enumerate(outputs):
        if out._key.is_differentiable:
            out._requires_grad = True
            out._node = node
            set_output_index(out, index)


def set_output_index(out: TensorBase, index: int) -> None:
    if index == 0:
        return
    if out._version_counter is None:
        out._version_counter = Version(0)
    extra = out._extra
    if extra is None:
        extra = Extra()
        out._extra = extra
    extra.output_index = index


def make_node(op: Op, plan: BackwardPlan, args: tuple[Any, ...], mask: int) -> OpNode:
    """A node with its edges and what its plan saves."""
    edges: list[Any] = []
    indices: list[int] = []
    several = 0
    for position in op.positions:
        if not (mask >> position) & 1:
            continue
        arg = args[position]
        for member in (arg,) if isinstance(arg, TensorBase) else arg:
            edges.append(edge_of(member))
            index = 0 if member._extra is None else member._extra.output_index
            indices.append(index)
            several |= index
    saved: list[Any] = []
    versions: list[int] = []
    for position in plan.saves:
        value = args[position] if position >= 0 else saved_metadata(op, args, position)
        saved.append(value)
        if isinstance(value, TensorBase):
            counter = value._version_counter
            if counter is not None and counter.inference:
                raise RuntimeError(
                    f"{plan.label}: Inference tensors cannot be saved for backward. To work around you can make a "
                    "clone to get a normal tensor and use it in autograd."
                )
            versions.append(0 if counter is None else counter.value)
        else:
            versions.append(-1)
    node = OpNode()
    state.sequence += 1
    node._sequence = state.sequence
    node.plan = plan
    node._edges = tuple(edges)
    node._extra = None
    node.saved = tuple(saved)
    node.versions = tuple(versions)
    if several:
        extra_of(node).indices = tuple(indices)
    return node


def saved_metadata(op: Op, args: tuple[Any, ...], position: int) -> Any:
    """The shape or dtype of an argument, or of each member of a list."""
    argument, which = op.metadata[-1 - position]
    value = args[argument]
    if isinstance(value, TensorBase):
        return value._array.shape if which == "shape" else value._key.dtype
    if isinstance(value, (list, tuple)):
        return [each._array.shape if which == "shape" else each._key.dtype for each in value]
    return () if which == "shape" else None


def extra_of(node: Node) -> NodeExtra:
    if node._extra is None:
        node._extra = NodeExtra()
    return node._extra


def save_outputs(node: OpNode, outputs: list[TensorBase], skips: int) -> None:
    kept: list[SavedOutput] = []
    for index in range(skips, len(outputs)):
        out = outputs[index]
        counter = out._version_counter
        if counter is None:
            counter = Version(0)
            out._version_counter = counter
        wrapped = None if out._extra is None else out._extra.wrapped
        kept.append(SavedOutput(out._array, out._key, counter, index, wrapped))
    assert node.saved is not None
    node.saved = (*node.saved, kept[0] if node._extra is None or node._extra.outputs == 0 else kept)


def unpack_saved(node: OpNode, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The saved values as tensors: outputs get their history back, packed ones go through their hook."""
    if node._extra is not None and node._extra.unpack is not None:
        saved = node._extra.unpack(node, saved)
    values: list[Any] = []
    for position, value in enumerate(saved):
        if isinstance(value, SavedOutput):
            values.append(unpack_output(node, value))
            continue
        if isinstance(value, list) and len(value) != 0 and isinstance(value[0], SavedOutput):
            values.append(Outputs(node, value))
            continue
        version = node.versions[position] if position < len(node.versions) else -1
        if version >= 0 and isinstance(value, TensorBase):
            counter = value._version_counter
            if counter is not None and counter.value != version:
                check_unchanged(node, value, version, counter.value)
        values.append(value)
    return tuple(values)


class Outputs:
    """The saved outputs of a node that has several: only those that a gradient takes have to be as they were."""

    def __init__(self, node: Node, saved: list[SavedOutput]) -> None:
        self.node = node
        self.saved = saved

    def __len__(self) -> int:
        return len(self.saved)

    def __iter__(self) -> Any:
        return iter(self[:])

    def __getitem__(self, place: Any) -> Any:
        found = self.saved[place]
        if isinstance(found, list):
            return [unpack_output(self.node, each) for each in found]
        return unpack_output(self.node, found)


def unpack_output(node: Node, value: SavedOutput) -> TensorBase:
    """A saved output with its history."""
    if value.version.value != value.seen:
        check_unchanged(node, value, value.seen, value.version.value)
    out = make(value.array, value._key)
    out._version_counter = value.version
    if value.wrapped is not None:
        extra = Extra()
        extra.wrapped = value.wrapped
        out._extra = extra
    if value._key.is_differentiable:
        out._requires_grad = True
        out._node = node
        set_output_index(out, value.index)
    return out


def check_unchanged(node: Node, value: Any, expected: int, found: int) -> None:
    """Raise the error for a saved tensor that was written to, or lost its history, since its version was another.

    A tensor shares its version with the views of its memory: what one of them loses, the others keep, and so does an
    output, which has its history from its node.
    """
    if found % DETACHED == expected % DETACHED:
        if isinstance(value, SavedOutput) or value._extra is None or not value._extra.is_detached:
            return
        raise RuntimeError(
            f"{node.label()}: Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). Its "
            "own gradient would be lost. This is not supported, please use out-of-place `.detach()` instead"
        )
    found, expected = found % DETACHED, expected % DETACHED
    key: DispatchKey = value._key
    array = value.array if isinstance(value, SavedOutput) else value._array
    what = f"output {value.index} of {node.label()}" if isinstance(value, SavedOutput) else "an input"
    counter = value.version if isinstance(value, SavedOutput) else value._version_counter
    by = f" The last write was by {counter.writer}." if counter.writer else ""
    raise RuntimeError(
        f"{node.label()}: one of the variables needed for gradient computation has been modified by an inplace "
        "operation: "
        f"[{key.dtype}, shape {list(array.shape)}], saved as {what}, is at version {found}; expected version "
        f"{expected} instead.{by} Use the out-of-place variant there, or clone() the tensor before it is changed."
    )


def apply_view_fn(view_fn: tuple[Any, ...], tensor: Any) -> Any:
    """The view of a tensor that a view with this view function is of its base.

    It is a tuple, as every view has one and a tuple is made in half the time of an object: the view function of the
    view that it is a view of, or None directly on the base; the op; its arguments behind the tensor; which of several
    outputs it is, or -1; and whether the op was to be recorded (None: it ran in inference mode). It does not hold the
    base, whose history it may be in: that would be a reference cycle.
    """
    parent, op, args, index, _ = view_fn
    made = op(tensor if parent is None else apply_view_fn(parent, tensor), *args)
    return made if index < 0 else made[index]


def current_node(tensor: TensorBase) -> Optional[Node]:
    """The node of a tensor; that of a view is made again if its base got another history since."""
    base = tensor._view_base
    counter = tensor._version_counter
    if base is None or counter is None or counter.value == tensor._view_version:
        return tensor._node
    if base._requires_grad:
        former = tensor._node, 0 if tensor._extra is None else tensor._extra.output_index
        view_fn = tensor._view_fn
        refused = untold(view_fn)
        if refused is not None:
            raise stale_view(refused)
        before = local.grad_enabled
        set_grad(True)
        try:
            again = apply_view_fn(view_fn, base)
        finally:
            set_grad(before)
        tensor._node = again._node
        tensor._requires_grad = True
        set_output_index(tensor, 0 if again._extra is None else again._extra.output_index)
        if tensor._extra is not None and tensor._extra.hooks is not None and tensor._extra.hooks.retains_grad:
            tensor._extra.hooks.follow_history(tensor, *former)
    tensor._view_version = counter.value
    return tensor._node


def untold(view_fn: Any) -> Any:
    """The view function, or one before it, of which no history can be made: of one of several, or not recorded."""
    while view_fn is not None:
        if not view_fn[4] or view_fn[3] >= 0:
            return view_fn
        view_fn = view_fn[0]
    return None


def stale_view(view_fn: tuple[Any, ...]) -> RuntimeError:
    """The error for a view that cannot be made again after its base, or another view of it, was written to."""
    _, op, _, index, recorded = view_fn
    if not recorded:
        mode = "inference mode" if recorded is None else "no_grad mode"
        return RuntimeError(
            f"{op.name.partition('::')[2]}: A view was created in {mode} and its base or another view of "
            "its base has been modified inplace with grad mode enabled. Given that this use case is ambiguous and "
            "error-prone, it is forbidden. Make the view where gradients are recorded, or detach() it"
        )
    return RuntimeError(
        f"Output {index} of {op.declaration.label} is a view and its base or another view of its base has been "
        "modified inplace. "
        "This view is the output of a function that returns multiple views, which cannot be made again one by one. "
        "Replace the in-place operation by an out-of-place one, or take the views one by one (narrow, select)"
    )


def link_view(out: TensorBase, args: tuple[Any, ...], op: Op, index: int) -> None:
    """Make an output share the version counter of the tensor that it is a view of."""
    source: TensorBase = args[op.positions[0]]
    counter = source._version_counter
    if counter is None:
        counter = Version(0)
        source._version_counter = counter
    out._version_counter = counter
    if not op.differentiable:  # detach: the memory is shared, the history is not
        return
    base = source._view_base
    parent: Any = None
    if base is None:
        base = source
    else:
        parent = source._view_fn
    out._view_base = base
    recorded: Optional[bool] = not state.unrecorded or local.grad_enabled
    out._view_fn = (parent, op, args[1:], index, None if local.inference else recorded)
    out._view_version = counter.value
    if not base._requires_grad:
        remember_view(counter, out)
    elif out._key.is_differentiable:  # also where nothing is recorded: it is memory of what requires grad
        out._requires_grad = True


def share_view(out: TensorBase, source: TensorBase) -> None:
    """Make a tensor the view that another one is, if that is one."""
    base = source._view_base
    out._view_base = base
    if base is not None:
        out._view_fn = source._view_fn
        out._view_version = source._view_version


def remember_view(counter: Version, view: TensorBase) -> None:
    """Keep a weak reference to a view of a tensor that does not require grad: a recorded write may change that.

    That to the youngest stands first: most views are gone when the next one is made, which then takes the place.
    """
    reference = weakref.ref(view)
    views = counter.views
    if views is None:
        counter.views = [reference]
        return
    if views[0]() is None:
        views[0] = reference
        return
    if len(views) >= counter.views_limit:
        views = [each for each in views if each() is not None]
        counter.views = views
        counter.views_limit = 2 * len(views) + 8
    views.append(reference)
    views[0], views[-1] = views[-1], views[0]


def spread_history(base: TensorBase) -> None:
    """Views that were made before their base got a history require grad from now on, as it does."""
    counter = base._version_counter
    if counter is None or counter.views is None:
        return
    others: list[Any] = []  # views of a detached tensor, which has the same memory and no history
    for reference in counter.views:
        view: Any = reference()
        if view is None or not view._key.is_differentiable:
            continue
        if view._view_base is base:
            view._requires_grad = True
        else:
            others.append(reference)
    counter.views = others if others else None


LEAST: Final = -(2.0**63)  # between these a whole number is one of 64 bits for sure
MOST: Final = 2.0**64


def binary_with_scalar(op: Op, tensor: TensorBase, number: Any, reflected: bool) -> Any:
    """A floating-point tensor with a Python number: it has the tensor's dtype, so that nothing is to be promoted."""
    key = tensor._key
    args = (number, tensor) if reflected else (tensor, number)
    value = float(number)
    if (value >= MOST or value <= LEAST) and type(number) is int:  # most likely an error
        return op.declaration.dispatch(args)
    array = op.run_kernel(key, [value, tensor._array] if reflected else [tensor._array, value], args)
    if type(array) is not key.array_type:
        array = key.asarray(array)
    out = make(array, op.result_keys[key.index])
    if tensor._requires_grad and local.grad_enabled:
        record(op, out, args, 2 if reflected else 1)
    return out


WHOLE: Final = 1  # the category of the dtypes of integers


def with_whole_number(op: Op, tensor: TensorBase, number: int) -> Any:
    """Integers with one that their dtype holds; None for another, which is to be looked at closely."""
    key = tensor._key
    op.kernel(key)  # which finds out what key its result has
    result = op.result_keys[key.index]
    if not key.lowest <= number <= key.highest or result is None or result.is_differentiable:
        return None
    array = op.run_kernel(key, [tensor._array, number], (tensor, number))
    if type(array) is not key.array_type:
        array = key.asarray(array)
    return make(array, result)


def binary_operator(op: Op, slow: Any) -> Any:
    """The function behind ``a + b`` and its like: one call frame to the kernel."""
    kernels = op.kernels
    keys = op.result_keys
    run = state.run_two
    tensor_class = state.tensor_class
    pair_plans: list[Optional[BackwardPlan]] = [None, None, None, None]

    def rebind() -> None:
        nonlocal run
        run = state.run_two

    state.rebinding.append(rebind)

    def operator(self: TensorBase, other: object) -> object:
        if not isinstance(other, TensorBase):
            if (type(other) is float or type(other) is int) and self._key.is_real_float and self._key.fast_path:
                if op.takes_numbers:
                    return binary_with_scalar(op, self, other, False)
            if type(other) is int and self._key.dtype.category == WHOLE and op.takes_numbers and self._key.fast_path:
                found = with_whole_number(op, self, other)
                if found is not None:
                    return found
            return slow((self, other))
        key = self._key
        right: TensorBase = other  # by a name of this type, as `other` would be looked at again for each attribute
        if key is not right._key or not key.fast_path:
            return slow((self, right))
        index = key.index
        kernel = kernels[index]
        if kernel is None:
            kernel = op.kernel(key)
        mine = self._array
        if isinstance(kernel, KernelBySize):
            size: int = mine.size
            kernel = kernel.large if size >= kernel.least else kernel.small
        try:
            array = run(kernel, mine, right._array)
        except Exception as error:
            array = op.declaration.recover(error, kernel, (self._array, right._array), (self, right))
        if type(array) is not key.array_type:
            array = key.asarray(array)
        out: TensorBase = blank(tensor_class)
        out._array = array
        out._key = keys[index]
        out._grad = None
        out._version_counter = None
        out._extra = None
        out._view_base = None
        if (self._requires_grad or right._requires_grad) and not (state.unrecorded and not local.grad_enabled):
            mask = 2 if not self._requires_grad else 3 if right._requires_grad else 1
            plan = pair_plans[mask]
            if plan is None:
                plan = op.plan(mask)
                pair_plans[mask] = plan
            pair = plan.pair
            if pair < 0 or self._version_counter is not None or right._version_counter is not None:
                out._requires_grad = False
                out._node = None
                record(op, out, (self, right), mask)
                return out
            # Both inputs are as they were made: no views, no writes, first outputs of their nodes.
            node = PairNode()
            state.sequence += 1
            node._sequence = state.sequence
            node.plan = plan
            node._shape = array.shape
            node._extra = None
            node.is_freed = False
            node.first = self if pair & 1 else None
            node.second = right if pair & 2 else None
            node.first_edge = None if mask == 2 else self if self._node is None else self._node
            node.second_edge = None if mask == 1 else right if right._node is None else right._node
            out._requires_grad = True
            out._node = node
            return out
        out._requires_grad = False
        out._node = None
        return out

    return operator


def inplace_operator(op: Op, name: str) -> Any:
    """What lets a ufunc write into a tensor's memory, where nothing is to be checked at length, converted or recorded.

    It says whether it did. It has the lines of `writing_kernel` and `bump`: their calls would be a tenth of its time.
    """
    kernels = op.kernels
    keys = op.result_keys
    run = state.run
    ufunc = state.ufunc

    def rebind() -> None:
        nonlocal run
        run = state.run

    state.rebinding.append(rebind)

    def operator(self: TensorBase, other: object) -> bool:
        key = self._key
        if not key.fast_path or self._extra is not None:
            return False
        array = self._array
        operand: Any
        recorded = self._requires_grad
        if isinstance(other, TensorBase):
            operand = other._array
            if other._key is not key:
                return False
            counter = other._version_counter
            if counter is not None and counter is self._version_counter and other is not self:
                return False  # views of the same memory: whether they overlap is for the declared way to see
            recorded = recorded or other._requires_grad
        elif (type(other) is float or type(other) is int) and key.is_real_float and op.takes_numbers:
            operand = float(other)  # type: ignore[arg-type]
            if (operand >= MOST or operand <= LEAST) and type(other) is int:
                return False
        elif type(other) is int and key.dtype.category == WHOLE and op.takes_numbers:
            operand = other  # one that the dtype does not hold is an error of NumPy's
        else:
            return False
        if recorded and not (state.unrecorded and not local.grad_enabled):
            return False
        index = key.index
        kernel = kernels[index]
        if kernel is None:
            kernel = op.kernel(key)
        writer = kernel  # which shows whether it takes an array to write to
        if isinstance(kernel, KernelBySize):
            writer = kernel.small
            size: int = array.size
            if size >= kernel.least:
                kernel = kernel.large
                if other is not self and isinstance(other, TensorBase) and of_one_owner(array, operand):
                    return False  # NumPy's own functions see to it that they read before they write
            else:
                kernel = writer
        if keys[index] is not key or 0 in array.strides or (type(writer) is not ufunc and not takes_out(writer)):
            return False
        counter = self._version_counter
        if counter is not None and counter.inference:
            return False
        try:
            run(kernel, array, operand, array)
        except Exception as error:
            if not rewritten(error, op, kernel, (array, operand, array), (self, other)):
                return False
        if counter is None:
            bump(self, name)
        else:
            counter.value += 1
            counter.writer = name
        return True

    return operator


def of_one_owner(array: Any, other: Any) -> bool:
    """Whether two arrays may lie in the same memory."""
    owner: Any = array if array.base is None else array.base
    return owner is (other if other.base is None else other.base)


def inplace_unary(op: Op, name: str) -> Any:
    """The same for a function of one tensor."""
    run = state.run_two

    def rebind() -> None:
        nonlocal run
        run = state.run_two

    state.rebinding.append(rebind)

    def operator(self: TensorBase) -> bool:
        if not self._key.fast_path or self._extra is not None:
            return False
        if self._requires_grad and not (state.unrecorded and not local.grad_enabled):
            return False
        kernel = writing_kernel(op, self)
        if kernel is None:
            return False
        array = self._array
        try:
            run(kernel, array, array)
        except Exception as error:
            if not rewritten(error, op, kernel, (array, array), (self,)):
                return False
        bump(self, name)
        return True

    return operator


def rewritten(error: Exception, op: Op, kernel: Any, arrays: tuple[Any, ...], args: tuple[Any, ...]) -> bool:
    """What to do about the exception of a ufunc that was to write into its first array: whether that is done now.

    False for arguments that do not fit, which it refuses before it writes anything: the declared way has words for it.
    """
    if is_collision(error):
        op.declaration.recover(error, kernel, arrays, args)
        return True
    target = arrays[0]
    if isinstance(error, OverflowError) and isinstance(arrays[1], int):
        key: DispatchKey = args[0]._key
        if not key.lowest <= arrays[1] <= key.highest:
            return False
    shape: tuple[Any, ...] = getattr(arrays[1], "shape", ())
    lead = target.ndim - len(shape)
    if lead < 0 or not target.flags.writeable:
        return False
    for size, given in zip(target.shape[lead:], shape):
        if given != size and given != 1:
            return False
    op.declaration.recover(error, kernel, arrays, args)
    return False


def writing_kernel(op: Op, tensor: TensorBase) -> Any:
    """The ufunc that may write an op's results into a tensor's memory; None if there is none, or it may not.

    NumPy's may where the elements are next to each other. At some distances its vector loops overwrite what they have
    yet to read: those of ``numpy.negative`` at 16 bytes of float32 and 64 of float64, in NumPy 2.4.
    """
    key = tensor._key
    kernel = op.kernel(key)
    if op.result_keys[key.index] is not key or not takes_out(
        kernel.small if isinstance(kernel, KernelBySize) else kernel
    ):
        return None
    array = tensor._array
    counter = tensor._version_counter
    if 0 in array.strides or (counter is not None and counter.inference):
        return None
    found = kernel.choose(array) if isinstance(kernel, KernelBySize) else kernel
    return found if array.flags.forc or not takes_out(found) else None


def bump(tensor: TensorBase, writer: str) -> None:
    """Count a write to a tensor's memory."""
    counter = tensor._version_counter
    if counter is None:
        counter = Version(0)
        tensor._version_counter = counter
    counter.value += 1
    counter.writer = writer


def takes_out(kernel: Any) -> bool:
    """Whether a kernel is a ufunc of an array library, also while a profiler measures it."""
    return type(kernel) is state.ufunc or type(getattr(kernel, "watched", None)) is state.ufunc


def unary_operator(op: Op) -> Any:
    """The function behind ``x.exp()`` and its like."""
    kernels = op.kernels
    keys = op.result_keys
    slow = op.declaration.dispatch
    run = state.run_one
    tensor_class = state.tensor_class

    def rebind() -> None:
        nonlocal run
        run = state.run_one

    state.rebinding.append(rebind)

    def operator(self: TensorBase) -> object:
        key = self._key
        if not key.fast_path:
            return slow((self,))
        index = key.index
        kernel = kernels[index]
        if kernel is None:
            kernel = op.kernel(key)
        mine = self._array
        if isinstance(kernel, KernelBySize):
            size: int = mine.size
            kernel = kernel.large if size >= kernel.least else kernel.small
        try:
            array = run(kernel, mine)
        except Exception as error:
            array = op.declaration.recover(error, kernel, (self._array,), (self,))
        if type(array) is not key.array_type:
            array = key.asarray(array)
        out: TensorBase = blank(tensor_class)
        out._array = array
        out._key = keys[index]
        out._requires_grad = False
        out._node = None
        out._grad = None
        out._version_counter = None
        out._extra = None
        out._view_base = None
        if self._requires_grad and local.grad_enabled:
            record(op, out, (self,), 1)
        return out

    return operator
