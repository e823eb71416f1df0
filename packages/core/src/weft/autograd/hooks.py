"""Hooks: functions of the user that see gradients on their way, on tensors and on nodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from weft import _profiling
from weft._engine.dispatch import PlannedNode, edge_of, extra_of
from weft._engine.tensor import Node, TensorBase
from weft._tensor import Tensor, fresh_extra
from weft.utils.hooks import HookDict, RemovableHandle


class TensorHooks:
    """The hooks of a tensor, in ``tensor._extra.hooks``. Those of a non-leaf that see its gradient are on its node."""

    def __init__(self) -> None:
        self.before = HookDict()
        self.after = HookDict()
        self.accumulated = HookDict()  # those of the leaf's AccumulateGrad
        self.retains_grad = False
        self.accumulator: Any = None  # a weak reference to the leaf's AccumulateGrad, if somebody asked for it

    def before_leaf(self, grad: Any) -> Any:
        """The gradient as the leaf's hooks leave it."""
        for hook in list(self.before.values()):
            grad = replacement(grad, hook(grad))
        return grad

    def after_leaf(self, tensor: Any, grad: Any) -> None:
        """Tell those who wait for ``.grad`` to be complete."""
        for hook in list(self.after.values()):
            hook(tensor)
        for hook in list(self.accumulated.values()):
            hook((), (grad,))

    def follow_history(self, tensor: Any, node: Any, index: int) -> None:
        """After an in-place write the gradient that is kept is that of the tensor as it is now."""
        if node is not None:
            watch_of(node).retained.pop(index, None)
        if tensor._node is not None:
            watch_of(tensor._node).retained[output_index(tensor)] = weakref.ref(tensor)


def replacement(grad: Any, returned: Any) -> Any:
    """What a hook returned in place of a gradient, checked.

    Raises
    ------
    TypeError, RuntimeError
        If it is no tensor, or one of another shape, dtype or device.
    """
    if returned is None:
        return grad
    if not isinstance(returned, TensorBase):
        raise TypeError(f"register_hook: expected a hook to return None or a Tensor, not {type(returned).__name__}")
    if grad is not None:
        for what, before, now in (
            ("size", grad._array.shape, returned._array.shape),
            ("type", grad.kind.dtype, returned.kind.dtype),
            ("device", grad.kind.device, returned.kind.device),
        ):
            if before != now:
                raise RuntimeError(f"register_hook: hook has changed the {what} of the gradient from {before} to {now}")
    return returned


class Watch:
    """The hooks of a node and of its outputs, and where it was recorded (in ``node._extra.watch``)."""

    def __init__(self) -> None:
        self.outputs: dict[int, HookDict] = {}
        self.retained: dict[int, Any] = {}  # weak references to outputs that keep their gradient
        self.pre = HookDict()
        self.post = HookDict()
        self.trace: Any = None
        self.timed = False  # a profiler runs, and wants to see the node's time
        self.metadata: dict[Any, Any] = {}

    def before(self, node: Node, grads: list[Any]) -> None:
        """Run what sees the gradients of the outputs; it may replace them in the list."""
        for index, hooks in self.outputs.items():
            for hook in list(hooks.values()):
                if grads[index] is not None:
                    grads[index] = replacement(grads[index], hook(grads[index]))
        for index, reference in self.retained.items():
            tensor = reference()
            if tensor is not None and grads[index] is not None:
                tensor._grad = grads[index] if tensor._grad is None else tensor._grad + grads[index]
        for hook in list(self.pre.values()):
            returned = hook(tuple(grads))
            if returned is not None:
                grads[:] = returned if isinstance(returned, tuple) else (returned,)

    def apply(self, node: Node, grads: list[Any], needed: Any) -> Any:
        """Apply the node, and run what sees the gradients of its inputs."""
        try:
            timed = _profiling.recorder if self.timed else None
            results = node.apply(grads, needed) if timed is None else timed.apply_node(node, grads, needed)
        except Exception as error:
            if self.trace is not None:
                self.trace.explain(node, error)
            raise
        if self.trace is not None:
            self.trace.check(node, results)
        for hook in list(self.post.values()):
            returned = hook(tuple(spread(node, results)), tuple(grads))
            if returned is not None:
                results = gathered(node, returned if isinstance(returned, (tuple, list)) else (returned,))
        return results


def pattern_of(node: Node) -> list[int]:
    """For each tensor argument of the operation 1 if an edge leads to it, else 0."""
    edges = len(node.edges())
    if not isinstance(node, PlannedNode):
        return [1] * edges
    pattern = node.plan.pattern
    members = edges - pattern.count(1)  # a list of tensors has all the other edges
    found: list[int] = []
    for each in pattern:
        found.extend([1] * members if each < 0 else [each])
    return found


def spread(node: Node, values: Any) -> list[Any]:
    """One value for each tensor argument, from one for each edge: None for those that have none."""
    following = iter(values)
    return [next(following) if each else None for each in pattern_of(node)]


def gathered(node: Node, values: Any) -> list[Any]:
    """The reverse of `spread`."""
    pattern = pattern_of(node)
    if len(values) != len(pattern):
        raise RuntimeError(
            f"register_hook: a hook of {node.label()} returned {len(values)} gradients; it has {len(pattern)} inputs"
        )
    return [value for value, each in zip(values, pattern) if each]


def watch_of(node: Node) -> Watch:
    """The node's record of hooks, made if it has none."""
    extra = extra_of(node)
    if extra.watch is None:
        extra.watch = Watch()
    found: Watch = extra.watch
    return found


def hooks_of(tensor: Any) -> TensorHooks:
    """The tensor's record of hooks, made if it has none."""
    extra = fresh_extra(tensor)
    if extra.hooks is None:
        extra.hooks = TensorHooks()
    found: TensorHooks = extra.hooks
    return found


def add(hooks: HookDict, hook: Callable[..., Any]) -> RemovableHandle:
    """Put a hook behind the others."""
    if not callable(hook):
        raise TypeError(f"register_hook: hook must be callable, not {type(hook).__name__}")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


# Methods of Tensor


def register_hook(self: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call ``hook(grad)`` whenever the gradient of this tensor has been computed; what it returns replaces it.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad.

    Examples
    --------
    >>> x = weft.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 2)
    >>> (3 * x).backward()
    >>> x.grad
    tensor([6.])
    """
    if not self._requires_grad:
        raise RuntimeError("register_hook: cannot register a hook on a tensor that doesn't require gradient")
    node = self.grad_fn
    if node is None:
        return add(hooks_of(self).before, hook)
    return add(watch_of(node).outputs.setdefault(output_index(self), HookDict()), hook)


def output_index(tensor: Any) -> int:
    """Which output of its node a tensor is."""
    found: int = 0 if tensor._extra is None else tensor._extra.output_index
    return found


def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Any], None]) -> RemovableHandle:
    """Call ``hook(tensor)`` whenever a gradient has been added to ``.grad`` of this leaf."""
    if not self._requires_grad:
        raise RuntimeError(
            "register_post_accumulate_grad_hook: cannot register a hook on a tensor that doesn't require gradient"
        )
    if self.grad_fn is not None:
        raise RuntimeError(
            "register_post_accumulate_grad_hook: post accumulate grad hooks cannot be registered on non-leaf tensors"
        )
    return add(hooks_of(self).after, hook)


def retain_grad(self: Any) -> None:
    """Keep the gradient of this tensor in ``.grad`` although it is no leaf."""
    if not self._requires_grad:
        raise RuntimeError("retain_grad: can't retain_grad on Tensor that has requires_grad=False")
    node = self.grad_fn
    if node is None:
        return
    hooks_of(self).retains_grad = True
    watch_of(node).retained[output_index(self)] = weakref.ref(self)


def output_number(self: Any) -> int:
    """Which output of its node this is."""
    self.grad_fn  # noqa: B018  (of a view whose base was written to it is made again)
    return output_index(self)


def retains_grad(self: Any) -> bool:
    """Whether this is a non-leaf that keeps its gradient in ``.grad``."""
    hooks = None if self._extra is None else self._extra.hooks
    return hooks is not None and hooks.retains_grad and self._node is not None


def detach_(self: Any) -> Any:
    """Forget the history: from here on the tensor is a leaf that does not require grad.

    Raises
    ------
    RuntimeError
        For a view, whose history is its base's.
    """
    if self._view_base is not None:
        raise RuntimeError("detach_: can't detach views in-place. Use detach() instead")
    self._node, self._requires_grad = None, False
    return self


Tensor.detach_ = detach_  # type: ignore[attr-defined]
Tensor.register_hook = register_hook  # type: ignore[attr-defined]
Tensor.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook  # type: ignore[attr-defined]
Tensor.retain_grad = retain_grad  # type: ignore[attr-defined]
Tensor.retains_grad = property(retains_grad)  # type: ignore[attr-defined]
Tensor.output_nr = property(output_number)  # type: ignore[attr-defined]


# Methods of Node


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

        def each(grad: Any) -> Any:
            returned = hook((grad,))
            return returned[0] if isinstance(returned, tuple) else returned

        return add(hooks_of(self.variable).before, each)

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
        return GradientEdge(edge, output_index(tensor))
    return GradientEdge(accumulator_of(edge), 0, edge)


def next_functions(self: Node) -> tuple[Any, ...]:
    """For each input the node that made it (or the leaf's AccumulateGrad, or None) and which output of it it was."""
    indices = None if self._extra is None else self._extra.indices
    found: list[Any] = []
    for position, edge in enumerate(self.edges()):
        if edge is None or isinstance(edge, Node):
            found.append((edge, 0 if indices is None else indices[position]))
        else:
            found.append((accumulator_of(edge), 0))
    return tuple((None, 0) if each is None else each for each in spread(self, found))


def node_register_hook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(grad_inputs, grad_outputs)`` after this node; what it returns replaces grad_inputs."""
    return add(watch_of(self).post, hook)


def node_register_prehook(self: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(grad_outputs)`` before this node; what it returns replaces them."""
    return add(watch_of(self).pre, hook)


Node.name = lambda self: self.label()  # type: ignore[attr-defined]
Node.next_functions = property(next_functions)  # type: ignore[attr-defined]
Node.register_hook = node_register_hook  # type: ignore[attr-defined]
Node.register_prehook = node_register_prehook  # type: ignore[attr-defined]
Node.metadata = property(lambda self: watch_of(self).metadata)  # type: ignore[attr-defined]
Node.__repr__ = lambda self: f"<{self.label()} object at {id(self):#x}>"  # type: ignore[method-assign]
