"""What saved-tensor hooks make of a node's saved values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from weft._engine.dispatch import OpNode, SavedOutput, edge_of, extra_of, make, set_output_index
from weft._engine.tensor import TensorBase, local
from weft._interception.results import packs_saved
from weft.autograd.grad_mode import enable_grad, no_grad
from weft.autograd.hooks import output_index


class Packed(NamedTuple):
    """A saved value that hooks have packed, and where in the graph it came from.

    What ``unpack`` returns has the right values, but any history or none.
    """

    value: Any
    unpack: Callable[[Any], Any]
    edge: Any  # the node that made it, or the leaf; None for what does not require grad
    output: int  # which output of that node; of the saving node itself where ``is_output``
    is_output: bool = False

    def restore(self, node: Any) -> Any:
        """The tensor with its history."""
        tensor = self.unpack(self.value)
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                "saved_tensors_hooks: Output of saved tensor unpack_hook expected to be a Tensor but got "
                f"{type(tensor).__name__}"
            )
        edge = node if self.is_output else self.edge
        if tensor is edge or (edge is None and not tensor._requires_grad):
            return tensor
        if isinstance(edge, TensorBase):  # a leaf: an alias of it leads there
            with enable_grad():
                found: Any = edge.view_as(edge)  # type: ignore[attr-defined]
            found._array, found._version_counter, found._view_base = tensor._array, None, None
            return found
        found = make(tensor._array, tensor._key)
        if edge is not None and found._key.is_differentiable:
            found._requires_grad, found._node = True, edge
            set_output_index(found, self.output)
        return found


def pack_one(value: Any, pack_hook: Any, unpack_hook: Any) -> Packed:
    """A saved tensor, or an output of the node that saves it, as hooks pack it.

    Raises
    ------
    RuntimeError
        If the hook writes to the tensor.
    """
    is_output = isinstance(value, SavedOutput)
    edge = None if is_output else edge_of(value)
    tensor: Any = make(value.array, value._key) if is_output else value
    if is_output:
        tensor._version_counter = value.version
    before = tensor._version
    with no_grad():
        packed = pack_hook(tensor)
    if tensor._version != before:
        raise RuntimeError(
            "saved_tensors_hooks: A saved tensor pack hook is modifying its input in place. Tensors provided as input "
            "to pack hook can not be modified by in-place operations as this can lead to unexpected side-effects. "
            "Write to a clone() instead."
        )
    return Packed(packed, unpack_hook, edge, value.index if is_output else output_index(value), is_output)


@packs_saved
def pack_saved(result: Any) -> None:
    """Pack what the node of a new result has saved."""
    first = result[0] if isinstance(result, tuple) and result else result
    node: Any = first._node if isinstance(first, TensorBase) else None
    saved = node.saved if isinstance(node, OpNode) else None
    if not saved or (node._extra is not None and node._extra.unpack is not None):
        return

    node.saved = tuple(pack_value(value) for value in saved)
    node.versions = tuple(-1 for _ in node.versions)
    extra_of(node).unpack = unpack_all


def pack_value(value: Any) -> Any:
    """What a node has saved, with its tensors packed."""
    if isinstance(value, list):
        return [pack_value(each) for each in value]
    return pack_one(value, *local.saved_hooks[-1]) if isinstance(value, (SavedOutput, TensorBase)) else value


def unpack_all(node: Any, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The saved values of a node, from their hooks."""
    return tuple(unpack_value(node, value) for value in saved)


def unpack_value(node: Any, value: Any) -> Any:
    """The reverse of `pack_value`."""
    if isinstance(value, list):
        return [unpack_value(node, each) for each in value]
    return value.restore(node) if isinstance(value, Packed) else value
