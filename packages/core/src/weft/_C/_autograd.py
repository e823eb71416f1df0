"""What can be asked of a backward pass while it runs, and set of versions, by PyTorch's names."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

from weft._engine.graph import BackwardPass
from weft._engine.tensor import Node, Version, local
from weft.autograd._nodes import AccumulateGrad, SavedTensor, accumulator_of, shown
from weft.autograd.grad_mode import is_multithreading_enabled

__all__ = ["SavedTensor", "_saved_tensors_hooks_is_enabled", "_unsafe_set_version_counter"]


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether saved-tensor hooks may be used here: not inside of `disable_saved_tensors_hooks`."""
    return not local.saved_hooks_refused


def _unsafe_set_version_counter(tensors: Iterable[Any], versions: Sequence[int]) -> None:
    """Let tensors have other versions: what was written to them since is not seen by backward.

    Raises
    ------
    RuntimeError
        For a negative version.
    """
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(
                f"_unsafe_set_version_counter: Cannot set a version_counter to a value below 0: {version}"
            )
        if tensor._version_counter is None:
            tensor._version_counter = Version(0)
        tensor._version_counter.value = version


class WeakTensorRef:
    """A reference that does not keep a tensor alive."""

    def __init__(self, tensor: Any) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


def running(name: str) -> BackwardPass:
    """The backward pass that runs.

    Raises
    ------
    RuntimeError
        If none does.
    """
    found: BackwardPass | None = local.backward_pass
    if found is None:
        raise RuntimeError(f"{name}: should only be called during the backward pass, from a hook or a backward")
    return found


def current_graph_task_id() -> int:
    """A number of the backward pass that runs; -1 if none does."""
    return -1 if local.backward_pass is None else local.backward_pass.number


def current_autograd_node() -> Any:
    """The node whose gradient is computed; None where none is."""
    found = None if local.backward_pass is None else local.backward_pass.node
    return found if found is None else as_node(found)


def as_node(edge: Any) -> Any:
    """An end of an edge as users see it: a node, or a leaf's AccumulateGrad."""
    return shown(edge) if isinstance(edge, Node) else accumulator_of(edge)


def executes(backward_pass: BackwardPass, edge: Any) -> bool:
    """Whether a pass comes to a node or a leaf that is reached from where it began."""
    if backward_pass.captures is None or backward_pass.needed is None:
        return True
    if isinstance(edge, Node):
        return edge in backward_pass.needed or any(
            isinstance(key, tuple) and key[0] is edge for key in backward_pass.captures
        )
    return id(edge) in backward_pass.captures


def reached(backward_pass: BackwardPass) -> dict[int, tuple[Any, int]]:
    """The nodes and leaves that are reached from a pass's beginning, by id, and how many edges lead to each."""
    found: dict[int, tuple[Any, int]] = {id(root): (root, 0) for root in backward_pass.roots}
    stack = [root for root in backward_pass.roots if isinstance(root, Node)]
    while stack:
        for edge in stack.pop().edges():
            if edge is None:
                continue
            known = found.get(id(edge))
            found[id(edge)] = (edge, 1 if known is None else known[1] + 1)
            if known is None and isinstance(edge, Node):
                stack.append(edge)
    return found


def will_engine_execute_node(node: Any) -> bool:
    """Whether the backward pass that runs comes to a node.

    Raises
    ------
    RuntimeError
        If none runs, for what is no node, and for a leaf that `grad` was asked for: its gradient is not accumulated.
    """
    name = "_will_engine_execute_node"
    if not isinstance(node, Node | AccumulateGrad):
        raise RuntimeError(f"{name}: expects an grad_fn, but got {type(node).__name__}")
    backward_pass = running(name)
    edge = node.variable if isinstance(node, AccumulateGrad) else node
    if backward_pass.captures is not None and not backward_pass.accumulates and id(edge) in backward_pass.captures:
        raise RuntimeError(
            f"{name}: A leaf node was passed to {name} but we are currently running autograd.grad(). This is currently "
            "not supported."
        )
    return id(edge) in reached(backward_pass) and executes(backward_pass, edge)


def current_graph_task_execution_order() -> list[Any]:
    """The nodes that the backward pass which runs comes to, in order: the newest first, leaves as soon as they can.

    Raises
    ------
    RuntimeError
        If none runs, or under `set_multithreading_enabled(True)`, where PyTorch does not know.
    """
    name = "_current_graph_task_execution_order"
    backward_pass = running(name)
    if is_multithreading_enabled():
        raise RuntimeError(
            f"{name}: expects the current backward to be executed with multithreading disabled, e.g. by running: "
            ">>> with weft.autograd.set_multithreading_enabled(False): ..."
        )
    waits = {key: count for key, (_, count) in reached(backward_pass).items()}
    order: list[Any] = []
    heap: list[tuple[float, int, Any]] = []

    def push(edge: Any) -> None:
        youth = edge._sequence if isinstance(edge, Node) else float("inf")
        heappush(heap, (-youth, len(waits) + len(order) + len(heap), edge))

    for root in {id(root): root for root in backward_pass.roots}.values():
        if waits[id(root)] == 0:
            push(root)
    while heap:
        edge = heappop(heap)[2]
        order.append(as_node(edge))
        for following in edge.edges() if isinstance(edge, Node) else ():
            if following is not None:
                waits[id(following)] -= 1
                if waits[id(following)] == 0 and executes(backward_pass, following):
                    push(following)
    return order
