"""The graph in the user's hands: hooks on what is saved, and on several gradients at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from weft._engine.dispatch import OpNode, SavedOutput, edge_of, extra_of, make, unpack_output
from weft._engine.tensor import Node as Node
from weft._engine.tensor import TensorBase, intercept, local
from weft.autograd.hooks import accumulator_of, output_index
from weft.utils.hooks import RemovableHandle


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

    def __enter__(self) -> None:
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


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Where saved-tensor hooks must not be used: entering them raises an error with this message."""
    before = local.saved_hooks_refused
    local.saved_hooks_refused = error_message
    try:
        yield
    finally:
        local.saved_hooks_refused = before


class Packed(NamedTuple):
    """A saved value that hooks have packed."""

    value: Any
    unpack: Callable[[Any], Any]
    output: Any  # for an output of the node itself: its index


def pack_saved(result: Any) -> None:
    """Pack what the node of a new result has saved."""
    first = result[0] if isinstance(result, tuple) and result else result
    node: Any = first._node if isinstance(first, TensorBase) else None
    saved = node.saved if isinstance(node, OpNode) else None
    if not saved or (node._extra is not None and node._extra.unpack is not None):
        return
    pack, unpack = local.saved_hooks[-1]

    def packed(value: Any) -> Any:
        if isinstance(value, SavedOutput):
            return Packed(pack(make(value.array, value.kind)), unpack, value.index)
        if isinstance(value, list):
            return [packed(each) for each in value]
        return Packed(pack(value), unpack, None) if isinstance(value, TensorBase) else value

    node.saved = tuple(packed(value) for value in saved)
    node.versions = tuple(-1 for _ in node.versions)
    extra_of(node).unpack = unpack_all


def unpack_all(node: Any, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The saved values of a node, from their hooks."""

    def unpacked(value: Any) -> Any:
        if isinstance(value, list):
            return [unpacked(each) for each in value]
        if not isinstance(value, Packed):
            return value
        tensor = value.unpack(value.value)
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                "saved_tensors_hooks: Output of saved tensor unpack_hook expected to be a Tensor but got "
                f"{type(tensor).__name__}"
            )
        if value.output is None:
            return tensor
        counter = tensor._version_counter
        again = make(tensor._array, tensor.kind)
        if counter is None:
            from weft._engine.tensor import Version

            counter = Version(0)
        return unpack_output(node, SavedOutput(again._array, again.kind, counter, value.output))

    return tuple(unpacked(value) for value in saved)


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


def increment_version(tensor: Any) -> None:
    """Say that a tensor (or several) was changed in a way that autograd could not see."""
    from weft.ops._inplace import bump

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
    lock = threading.Lock()
    waiting: dict[str, Any] = {"grads": [None] * len(tensors), "count": 0, "fired": False}

    def one(position: int) -> Callable[[Any], None]:
        def hook(grad: Any) -> None:
            with lock:
                if mode == "any":
                    first, waiting["fired"] = not waiting["fired"], True
                else:
                    waiting["grads"][position] = grad
                    waiting["count"] += 1
                    first = waiting["count"] == len(handles)
                    grads = waiting["grads"]
                    if first:
                        waiting.update(grads=[None] * len(tensors), count=0)
            if first:
                fn(grad if mode == "any" else grads)

        return hook

    handles = [each.register_hook(one(position)) for position, each in enumerate(tensors) if each._requires_grad]
    return Handles(handles)


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
