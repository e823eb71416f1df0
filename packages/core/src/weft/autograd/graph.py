"""The graph in the user's hands: hooks on what is saved, and on several gradients at once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from weft._engine.dispatch import edge_of
from weft._engine.tensor import Node as EngineNode
from weft._engine.tensor import TensorBase, Version, intercept, local
from weft.autograd._nodes import AccumulateGrad
from weft.autograd._nodes import GradientEdge as GradientEdge
from weft.autograd._nodes import get_gradient_edge as get_gradient_edge
from weft.ops._inplace import bump
from weft.utils.hooks import RemovableHandle


class NodeType(type):
    """The type of `Node`: all that is in a graph is an instance of it."""

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, (EngineNode, AccumulateGrad)) or "_is_node" in vars(subclass)

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), cls)


class Node(metaclass=NodeType):
    """What ``grad_fn`` and its ``next_functions`` are instances of, for ``isinstance``; no class derives from it.

    A node has ``name()``, ``next_functions``, ``metadata``, ``register_hook(hook)`` and ``register_prehook(hook)``.

    Examples
    --------
    >>> isinstance(weft.ones(1, requires_grad=True).exp().grad_fn, weft.autograd.graph.Node)
    True
    """


class saved_tensors_hooks:
    """Give what operations save for backward to ``pack``, and take it back from ``unpack``.

    Parameters
    ----------
    pack_hook : callable
        From a tensor to anything.
    unpack_hook : callable
        From that to a tensor with the same values.

    Examples
    --------
    >>> kept = []
    >>> with weft.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
    ...     y = weft.ones(2, requires_grad=True) ** 2
    >>> len(kept)
    1
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> Any:
        refusal = local.saved_hooks_refused
        if refusal:
            raise RuntimeError(refusal)
        intercept(1)
        local.saved_hooks = (*local.saved_hooks, self.hooks)

    def __exit__(self, *exc: object) -> None:
        local.saved_hooks = local.saved_hooks[:-1]
        intercept(-1)


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved for backward in the CPU's memory."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda packed: packed[1].to(packed[0]))


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Tensors that are saved for backward may be written to: backward uses what they were when they were saved.

    What is saved in the context is copied, so that it needs more memory. Backward has to run in it too.

    Examples
    --------
    >>> with weft.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = weft.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     z = (y**2).sum()
    ...     _ = y.sin_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    active = False

    def __init__(self) -> None:
        self._saved: list[tuple[Any, int, Any]] = []
        self._inside = False
        super().__init__(self._pack, self._unpack)

    def _pack(self, tensor: Any) -> Any:
        copy = tensor.detach().clone()
        if not isinstance(tensor._version_counter, Version):
            tensor._version_counter = Version(0)
        self._saved.append((tensor._version_counter, tensor._version_counter.value, weakref.ref(copy)))
        return copy

    def _unpack(self, copy: Any) -> Any:
        if not self._inside:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return copy

    @property
    def cloned(self) -> dict[int, Any]:
        """The copies that graphs still hold of what was written to since it was saved, one for each state."""
        changed = {(id(counter), version): copy() for counter, version, copy in self._saved if counter.value != version}
        return dict(enumerate(copy for copy in changed.values() if copy is not None))

    def clear(self) -> None:
        """Forget what was copied; graphs of the context keep what they need."""
        self._saved.clear()

    def __enter__(self) -> Any:
        if allow_mutation_on_saved_tensors.active:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        allow_mutation_on_saved_tensors.active = self._inside = True
        return self

    def __exit__(self, *exc: object) -> None:
        allow_mutation_on_saved_tensors.active = self._inside = False
        self.clear()
        super().__exit__(*exc)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Where saved-tensor hooks must not be used: entering them raises an error with this message."""
    if local.saved_hooks:
        raise RuntimeError(error_message)
    before = local.saved_hooks_refused
    local.saved_hooks_refused = error_message
    try:
        yield
    finally:
        local.saved_hooks_refused = before


def increment_version(tensor: Any) -> None:
    """Say that a tensor (or several) was changed in a way that autograd could not see."""
    for each in (tensor,) if isinstance(tensor, TensorBase) else tensor:
        bump(each, "increment_version")


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., None], *, mode: str = "all") -> RemovableHandle:
    """Call a function when the gradients of several tensors are there.

    Parameters
    ----------
    tensors : sequence of Tensor
    fn : callable
        Gets the list of gradients (None for tensors without one in that pass), or with ``"any"`` the first.
    mode : "all" or "any"
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: Expects mode to be one of ('all', 'any') but got {mode}")
    this = object()  # under which each pass keeps what has arrived
    watched = [each for each in tensors if each._requires_grad]
    if not watched:
        raise AssertionError("register_multi_grad_hook: Expected gradient function to be set: no tensor requires grad")

    def one(position: int) -> Callable[[Any], None]:
        def hook(grad: Any) -> None:
            backward_pass = local.backward_pass  # of this thread alone, as are its notes
            arrivals = backward_pass.notes.get(this)
            if arrivals is None:
                expected = 1 if mode == "any" else len(reached(backward_pass, watched))
                arrivals = backward_pass.notes[this] = Arrivals([None] * len(tensors), expected)
            arrivals.grads[position] = grad
            arrivals.missing -= 1
            if arrivals.missing == 0:
                fn(grad if mode == "any" else arrivals.grads)

        return hook

    handles = [each.register_hook(one(position)) for position, each in enumerate(tensors) if each._requires_grad]
    return Handles(handles)


class Arrivals:
    """The gradients that have arrived in one backward pass, and how many are to come."""

    def __init__(self, grads: list[Any], missing: int) -> None:
        self.grads = grads
        self.missing = missing


def reached(backward_pass: Any, tensors: Sequence[Any]) -> list[Any]:
    """Those tensors whose gradient a backward pass will compute."""
    captures, needed = backward_pass.captures, backward_pass.needed
    seen: set[Any] = set()
    computed: set[Any] = set()
    leaves: set[int] = set()
    stack = [edge for edge in backward_pass.roots if edge is not None]
    while stack:
        node = stack.pop()
        if not isinstance(node, EngineNode):
            if captures is None or id(node) in captures:
                leaves.add(id(node))
        elif node not in seen:
            seen.add(node)
            if needed is None or node in needed or any(isinstance(key, tuple) and key[0] is node for key in captures):
                computed.add(node)
                stack.extend(edge for edge in node.edges() if edge is not None)
    return [each for each in tensors if id(each) in leaves or edge_of(each) in computed]


class Handles(RemovableHandle):
    """One handle for several hooks."""

    def __init__(self, handles: Iterable[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take all of them off."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.handles = state
