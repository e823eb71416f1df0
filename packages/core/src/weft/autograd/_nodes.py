"""What users see of the graph: its nodes by name and with what they saved, and the ends of it at the leaves."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from weft._dtypes.dtypes import get_default_dtype
from weft._engine.dispatch import OpNode, PairNode, SavedOutput, current_node, edge_of, extra_of, freed
from weft._engine.tensor import Node, TensorBase
from weft._tensor.base import add_members
from weft._tensor.size import Size
from weft.autograd._packing import Packed, pack_one, unpack_all
from weft.autograd.hooks import add, hooks_of, output_index, spread, watch_of
from weft.utils.hooks import RemovableHandle


class SavedAttributes:
    """What a node of an op shows of its saved values: ``_saved_other``, and ``_raw_saved_other`` for tensors.

    The names are those of the op's parameters (its first one is ``self``), and ``result``.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        raw = name.startswith("_raw_saved_")
        if not raw and not name.startswith("_saved_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        node: Any = self
        place = place_of(node, name.removeprefix("_raw_saved_").removeprefix("_saved_"))
        if place is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        found = SavedTensor(node, place)
        return found if raw else found.value()

    def __dir__(self) -> list[str]:
        """With what is saved: torchviz draws it."""
        node: Any = self
        names = [f"_saved_{name}" for name in saved_names(node) if name]
        return sorted(
            {*object.__dir__(self), *names, *(f"_raw{name}" for name in names if is_saved_tensor(node, name))}
        )


def saved_names(node: Any) -> list[str]:
    """The names of what a node has saved, by place; that of the outputs of an op with several is empty."""
    plan = node.plan
    names = []
    for name in plan.names:
        argument, _, of = name.rpartition("_")
        shown = "self" if name in ("input", "self") else name
        if of in ("shape", "dtype") and argument:
            suffix = "sym_sizes" if of == "shape" else "scalar_type"
            shown = f"{'self' if argument == 'input' else argument}_{suffix}"
        names.append(shown)
    if plan.saves_output:
        names.append("" if node._extra is not None and node._extra.outputs else "result")
    return names


def is_saved_tensor(node: Any, attribute: str) -> bool:
    """Whether what is saved under an attribute is a tensor, or was one before it was freed."""
    place = saved_names(node).index(attribute.removeprefix("_saved_"))
    if isinstance(node, PairNode) or place == len(node.plan.names):
        return True
    return node.saved is None or isinstance(node.saved[place], (TensorBase, Packed, SavedOutput))


def place_of(node: Any, name: str) -> int | None:
    """Where among the saved values of a node the one of a name is; None: it has none."""
    names = saved_names(node)
    if node.plan.saves_output and not names[-1]:
        names[-1] = "result"
    return names.index(name) if name in names else None


class SavedTensor:
    """A tensor that a node has saved, which hooks may still pack.

    Raises
    ------
    RuntimeError
        If a program makes one.
    """

    def __init__(self, node: Any = None, place: int = 0) -> None:
        if node is None:
            raise RuntimeError(
                "SavedTensor: Trying to create a SavedTensor object from Python is forbidden; nodes have them, as "
                "grad_fn._raw_saved_self"
            )
        self._node = node
        self._place = place

    def _held(self) -> Any:
        """What the node holds.

        Raises
        ------
        RuntimeError
            If it was freed.
        """
        node = self._node
        if isinstance(node, PairNode):
            if node.is_freed:
                raise freed(node)
            name = self._operand()
            found = watch_of(node).packed.get(name)
            return getattr(node, name) if found is None else found
        held = node.saved if isinstance(node, OpNode) else node._kept
        if held is None:
            raise freed(node)
        return held[self._place]

    def _operand(self) -> str:
        """The attribute of a node of two operands."""
        return ("first", "second")[self._node.plan.saves[self._place]]

    def value(self) -> Any:
        """The saved value, a tensor with its history."""
        held = self._held()
        node = self._node
        if isinstance(node, PairNode):
            if isinstance(held, Packed):
                return held.restore(node)
            node.check()
            return held
        if isinstance(node, OpNode):
            return node.saved_values()[self._place]
        return node._unkept(held)

    @property
    def data(self) -> Any:
        """What is kept: what a hook packed, or the tensor; of an output, or of a leaf, without its history."""
        held = self._held()
        return held.value if isinstance(held, Packed) else self.value().detach() if self._is_output() else self.value()

    @property
    def unpack_hook(self) -> Any:
        """The hook that gives the tensor back; None where none has packed it."""
        return getattr(self._held(), "unpack", None)

    def _is_output(self) -> bool:
        held = self._held()
        plan = getattr(self._node, "plan", None)
        return isinstance(held, SavedOutput) or (
            plan is not None and plan.saves_output and self._place == len(plan.names)
        )

    def register_hooks(self, pack_hook: Any = None, unpack_hook: Any = None) -> None:
        """Let ``pack_hook`` have the tensor, and keep what it returns until ``unpack_hook`` gives it back.

        Raises
        ------
        TypeError
            If a hook cannot be called.
        RuntimeError
            If there are hooks already, or the tensor was freed.
        """
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(
                    f"register_hooks(): incompatible function arguments: hooks must be callable, not "
                    f"{type(hook).__name__}"
                )
        try:
            held = self._held()
        except RuntimeError as error:
            raise RuntimeError(
                "register_hooks: Calling register_hooks on a saved tensor after it has been freed. Specify "
                "retain_graph=True to keep it"
            ) from error
        if held is None:
            raise RuntimeError("register_hooks: Calling register_hooks on a saved tensor with value None is forbidden")
        if isinstance(held, Packed):
            raise RuntimeError(
                "register_hooks: Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        node = self._node
        if isinstance(node, PairNode):
            name = self._operand()
            watch_of(node).packed[name] = pack_one(held, pack_hook, unpack_hook)
            setattr(node, name, None)
            return
        if isinstance(node, OpNode):
            assert node.saved is not None
            packed = pack_one(held, pack_hook, unpack_hook)
            node.saved = (*node.saved[: self._place], packed, *node.saved[self._place + 1 :])
            node.versions = tuple(
                -1 if position == self._place else version for position, version in enumerate(node.versions)
            )
            extra_of(node).unpack = unpack_all
            return
        tensor = held if isinstance(held, SavedOutput) else held[0]
        node._kept[self._place] = pack_one(tensor, pack_hook, unpack_hook)


@functools.cache
def named_class(base: Any, name: str) -> Any:
    """The class of nodes of one name, which differs from its base in that alone."""
    return type(name, (SavedAttributes, base), {"__slots__": (), "__module__": "weft.autograd"})


def shown(node: Any, tensor: Any = None) -> Any:
    """A node as users see it: its class has its name. With a tensor that it made: its dtype is kept for them."""
    if type(node) is OpNode or type(node) is PairNode:
        node.__class__ = named_class(type(node), node.plan.label)  # type: ignore[arg-type]
    if tensor is not None and node is not None:
        extra = extra_of(node)
        if extra.keys is None:
            extra.keys = {}
        extra.keys[output_index(tensor)] = tensor._key
    return node


def key_of_output(node: Any, index: int) -> Any:
    """The kind of an output of a node; None where nobody looked at it."""
    if isinstance(node, AccumulateGrad):
        return node.variable._key
    keys = None if node._extra is None else node._extra.keys
    return None if keys is None else keys.get(index)


def grad_fn(self: Any) -> Any:
    """The node of the operation that made it; None for a leaf."""
    node = current_node(self)
    return None if node is None else shown(node, self)


def refuse_deletion(self: Any) -> None:
    """The history is let go of by `detach_`.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")


def volatile(self: Any) -> bool:
    """False, and a warning: it said that nothing was recorded, before `no_grad` did."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


add_members(
    grad_fn=property(grad_fn),
    _grad_fn=property(grad_fn, None, refuse_deletion),
    volatile=property(volatile),
)


class Metadata(NamedTuple):
    """What is known of an output of a node."""

    shape: Any
    dtype: Any
    device: Any = None
    is_nested_tensor: bool = False
    is_cpp_nested_tensor: bool = False


def input_metadata(self: Any) -> list[Metadata]:
    """The shape and dtype of each gradient that the node takes."""
    shapes = self._shape if isinstance(self._shape, list) else [self._shape]
    keys = [key_of_output(self, index) for index in range(len(shapes))]
    return [
        Metadata(
            None if shape is None else Size(shape),
            get_default_dtype() if key is None else key.dtype,
            None if key is None else key.device,
        )
        for shape, key in zip(shapes, keys)
    ]


def call_node(self: Any, *grads: Any) -> Any:
    """The gradients of the inputs for given gradients of the outputs; one alone is no tuple.

    Raises
    ------
    TypeError
        If their number is not that of the outputs.
    """
    count = 1 if self._extra is None or self._extra.outputs == 0 else self._extra.outputs
    if len(grads) != count:
        raise TypeError(f"{self.label()}: expected {count} arguments, got {len(grads)} instead")
    given = list(grads)
    watch = None if self._extra is None else self._extra.watch
    if watch is None:
        results = self.apply(given, None)
    else:
        watch.before(self, given)
        results = watch.apply(self, given, None)
    found = spread(self, results)
    return found[0] if len(found) == 1 else tuple(found)


class AccumulateGrad:
    """The end of the graph at a leaf, made when somebody looks for it."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.next_functions: tuple[Any, ...] = ()

    def name(self) -> str:
        """The class's name, with PyTorch's namespace."""
        return "torch::autograd::AccumulateGrad"

    @property
    def metadata(self) -> dict[Any, Any]:
        """A place for the user's own notes."""
        return self.__dict__.setdefault("_metadata", {})

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the gradient was accumulated."""
        return add(hooks_of(self.variable).accumulated, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the gradient is accumulated."""
        return add(hooks_of(self.variable).accumulating, hook)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


def accumulator_of(leaf: Any) -> AccumulateGrad:
    """The leaf's AccumulateGrad, the same object as long as somebody holds it."""
    hooks = hooks_of(leaf)
    found = None if hooks.accumulator is None else hooks.accumulator()
    if found is None:
        found = AccumulateGrad(leaf)
        hooks.accumulator = weakref.ref(found)
    return found


class GradientEdge(NamedTuple):
    """A place in the graph: a node, and which of its outputs."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The place in the graph where the gradient of a tensor arrives."""
    if not tensor._requires_grad:
        raise RuntimeError(
            "get_gradient_edge: It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    edge = edge_of(tensor)
    if isinstance(edge, Node):
        return GradientEdge(shown(edge, tensor), output_index(tensor))
    return GradientEdge(accumulator_of(edge), 0, edge)


def next_functions(self: Node) -> tuple[Any, ...]:
    """For each input the node that made it (or the leaf's AccumulateGrad, or None) and which output of it it was."""
    indices = None if self._extra is None else self._extra.indices
    found: list[Any] = []
    for position, edge in enumerate(self.edges()):
        if edge is None or isinstance(edge, Node):
            found.append((edge if edge is None else shown(edge), 0 if indices is None else indices[position]))
        else:
            found.append((accumulator_of(edge), 0))
    return tuple((None, 0) if each is None else each for each in spread(self, found))


def node_register_hook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(grad_inputs, grad_outputs)`` after this node; what it returns replaces grad_inputs."""
    return add(watch_of(self).post, hook)


def node_register_prehook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(grad_outputs)`` before this node; what it returns replaces them."""
    return add(watch_of(self).pre, hook)


MEMBERS: dict[str, Any] = {
    "name": lambda self: self.label(),
    "next_functions": property(next_functions),
    "register_hook": node_register_hook,
    "register_prehook": node_register_prehook,
    "metadata": property(lambda self: watch_of(self).metadata),
    "__repr__": lambda self: f"<{self.label()} object at {id(self):#x}>",
    "__call__": call_node,
    "_input_metadata": property(input_metadata),
    "_sequence_nr": lambda self: self._sequence,
}
for _name, _member in MEMBERS.items():
    setattr(Node, _name, _member)
