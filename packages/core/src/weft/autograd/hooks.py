"""Hooks: functions of the user that see gradients on their way, on tensors and on nodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from weft._engine.dispatch import PlannedNode, extra_of
from weft._engine.tensor import DETACHED, Node, TensorBase, Version, local
from weft._interception import profiling
from weft._tensor.base import Tensor, add_members, fresh_extra
from weft.utils.hooks import HookDict, RemovableHandle


class TensorHooks:
    """The hooks of a tensor, in ``tensor._extra.hooks``. Those of a non-leaf that see its gradient are on its node."""

    def __init__(self) -> None:
        self.before: Any = HookDict()
        self.is_given = False  # the dict of hooks is one that a program has set
        self.after = HookDict()
        self.accumulating = HookDict()  # those of the leaf's AccumulateGrad, before it runs
        self.accumulated = HookDict()  # and after
        self.retains_grad = False
        self.accumulator: Any = None  # a weak reference to the leaf's AccumulateGrad, if somebody asked for it

    def wants_last(self) -> bool:
        """Whether somebody sees when the leaf's gradient is complete: it is handed over then, not at the end."""
        return bool(self.before or self.accumulating or self.after or self.accumulated)

    def before_leaf(self, grad: Any) -> Any:
        """The gradient as the leaf's hooks leave it."""
        for hook in list(self.before.values()):
            grad = replacement(hook, grad, hook(grad))
        return grad

    def before_accumulating(self, grad: Any) -> Any:
        """The gradient as the hooks leave it that run before the leaf's AccumulateGrad."""
        for hook in list(self.accumulating.values()):
            returned = hook((grad,))
            if returned is not None:
                grad = replacement(hook, grad, as_gradients(hook, returned, 1)[0])
        return grad

    def after_leaf(self, tensor: Any, grad: Any) -> None:
        """Tell those who wait for ``.grad`` to be complete.

        Raises
        ------
        RuntimeError
            If one of them returns something.
        """
        for hook in list(self.after.values()):
            if hook(tensor) is not None:
                raise RuntimeError(
                    "register_post_accumulate_grad_hook: Tensor post accumulate grad hooks should return None. They "
                    "may change the tensor and its .grad"
                )
        for hook in list(self.accumulated.values()):
            hook((), (grad,))

    def follow_history(self, tensor: Any, node: Any, index: int) -> None:
        """After an in-place write the gradient that is kept is that of the tensor as it is now."""
        if node is not None:
            watch_of(node).retained.pop(index, None)
        if tensor._node is not None:
            watch_of(tensor._node).retained[output_index(tensor)] = weakref.ref(tensor)


def name_of(hook: Any) -> str:
    """The name of a hook for errors: an object that is called has none."""
    return str(getattr(hook, "__name__", "<unknown>"))


def replacement(hook: Any, grad: Any, returned: Any) -> Any:
    """What a hook returned in place of a gradient, checked.

    Raises
    ------
    TypeError, RuntimeError
        If it is no tensor, or one of another shape, dtype or device.
    """
    if returned is None:
        return grad
    if not isinstance(returned, TensorBase):
        raise TypeError(
            f"register_hook: expected Variable, but hook '{name_of(hook)}' returned '{type(returned).__name__}'; a "
            "hook returns a Tensor, or None"
        )
    if grad is None:
        raise RuntimeError(f"register_hook: can't replace a None gradient with a non-None value ('{name_of(hook)}')")
    for what, before, now in (
        ("size", grad._array.shape, returned._array.shape),
        ("type", grad._key.dtype, returned._key.dtype),
        ("location", grad._key.device, returned._key.device),
    ):
        if before != now:
            raise RuntimeError(
                f"register_hook: hook '{name_of(hook)}' has changed the {what} of value (was {before} got {now})"
            )
    return returned


def as_gradients(hook: Any, returned: Any, count: int) -> tuple[Any, ...]:
    """What a hook of a node returned, as so many gradients.

    Raises
    ------
    RuntimeError
        If there are more or fewer.
    """
    found = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
    if len(found) != count:
        raise RuntimeError(
            f"register_hook: hook '{name_of(hook)}' has returned an incorrect number of values (got {len(found)}, but "
            f"expected {count})"
        )
    return found


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
        self.packed: dict[str, Any] = {}  # by attribute, what hooks packed of a node of two operands

    def before(self, node: Node, grads: list[Any]) -> None:
        """Run what sees the gradients of single outputs; it may replace them in the list."""
        for index, hooks in self.outputs.items():
            for hook in list(hooks.values()):  # an output without gradient has None, as other outputs have theirs
                grads[index] = replacement(hook, grads[index], hook(grads[index]))
        for index, reference in self.retained.items():
            tensor = reference()
            if tensor is not None and grads[index] is not None:
                tensor._grad = grads[index] if tensor._grad is None else tensor._grad + grads[index]

    def apply(self, node: Node, grads: list[Any], needed: Any) -> Any:
        """Apply the node, between what sees the gradients of its outputs and what sees those of its inputs."""
        for hook in list(self.pre.values()):
            returned = hook(tuple(grads))
            if returned is not None:
                grads[:] = as_gradients(hook, returned, len(grads))
        outer = local.node
        local.node = node
        try:
            for name, packed in self.packed.items():
                setattr(node, name, packed.restore(node))
            timed = profiling.recorder if self.timed else None
            if needed is not None and True not in needed:  # it is visited for its hooks alone
                results: Any = [None] * len(needed)
            elif timed is None:
                results = node.apply(grads, needed)
            else:
                results = timed.apply_node(node, grads, needed)
        except Exception as error:
            if self.trace is not None:
                self.trace.explain(node, error)
            raise
        finally:
            local.node = outer
            for name in self.packed:
                setattr(node, name, None)
        if self.trace is not None:
            self.trace.check(node, results)
        for hook in list(self.post.values()):
            given = spread(node, results)
            returned = hook(tuple(given), tuple(grads))
            if returned is not None:
                found = as_gradients(hook, returned, len(given))
                results = gathered(node, [replacement(hook, *pair) for pair in zip(given, found)])
        return results


def pattern_of(node: Node) -> list[int]:
    """For each tensor argument of the operation 1 if an edge leads to it, else 0."""
    edges = len(node.edges())
    if not isinstance(node, PlannedNode):
        known: list[int] | None = getattr(node, "_edge_pattern", None)
        return [1] * edges if known is None else known
    pattern = node.plan.shown
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
    return [value for value, each in zip(values, pattern_of(node)) if each]


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


def register_hook(self: Any, hook: Callable[[Tensor], Any]) -> RemovableHandle:
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


def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call ``hook(tensor)`` whenever a gradient has been added to ``.grad`` of this leaf.

    It is called in the backward pass as soon as that gradient is complete, while those of other leaves are still to
    be computed: an optimizer can take its step there, and let go of the gradient.
    """
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


def backward_hooks(self: Any) -> Any:
    """The dict of a leaf's hooks; None while it has none."""
    hooks = None if self._extra is None else self._extra.hooks
    return hooks.before if hooks is not None and (hooks.before or hooks.is_given) else None


def set_backward_hooks(self: Any, hooks: Any) -> None:
    """Take a dict in place of the leaf's own; None: an empty one."""
    if hooks is not None and not isinstance(hooks, dict):
        raise TypeError(f"_backward_hooks must be a dict or None, not {type(hooks).__name__}")
    if hooks is None and (self._extra is None or self._extra.hooks is None):
        return
    record = hooks_of(self)
    record.before, record.is_given = (HookDict(), False) if hooks is None else (hooks, True)


def refuse_to_delete_hooks(self: Any) -> None:
    """Refuse: it is set to None."""
    raise RuntimeError("deletion of _backward_hooks not allowed; set it to None")


def output_number(self: Any) -> int:
    """Which output of its node this is."""
    self.grad_fn  # noqa: B018  (of a view whose base was written to it is made again)
    return output_index(self)


def retains_grad(self: Any) -> bool:
    """Whether this is a non-leaf that keeps its gradient in ``.grad``."""
    hooks = None if self._extra is None else self._extra.hooks
    return hooks is not None and hooks.retains_grad and self._node is not None


def detach_(self: Any) -> Tensor:
    """Forget the history: from here on the tensor is a leaf that does not require grad.

    Raises
    ------
    RuntimeError
        For a view, whose history is its base's.
    """
    if self._view_base is not None:
        raise RuntimeError("detach_: can't detach views in-place. Use detach() instead")
    watch = None if self._node is None or self._node._extra is None else self._node._extra.watch
    kept = None if watch is None else watch.outputs.pop(output_index(self), None)
    if kept:
        hooks_of(self).before = kept  # should it require grad again, they see its gradient
    if self._node is not None:
        if self._version_counter is None:
            self._version_counter = Version(0)
        self._version_counter.value += DETACHED  # what has saved the tensor finds its history gone
        fresh_extra(self).is_detached = True
    self._node, self._requires_grad = None, False
    return self


add_members(
    detach_=detach_,
    register_hook=register_hook,
    register_post_accumulate_grad_hook=register_post_accumulate_grad_hook,
)


class Engine:
    """The engine's methods that programs call: ``Variable._execution_engine.queue_callback``."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call a function when the backward pass that runs has ended, in the order in which they were queued.

        Raises
        ------
        RuntimeError
            If none runs.
        """
        backward_pass = local.backward_pass
        if backward_pass is None:
            raise RuntimeError("queue_callback: Final callbacks can only be installed during backward pass.")
        if backward_pass.callbacks is None:
            backward_pass.callbacks = []
        backward_pass.callbacks.append(callback)


add_members(
    _execution_engine=Engine(),
    _backward_hooks=property(backward_hooks, set_backward_hooks, refuse_to_delete_hooks),
    retain_grad=retain_grad,
    retains_grad=property(retains_grad),
    output_nr=property(output_number),
)
