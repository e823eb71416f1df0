"""Conjugate and negative views: ``x.conj()``, and ``x.conj().imag``, share the memory of ``x``.

Such a tensor has a kind of its own, off the fast path, and an `Unresolved` in place of an array. `Declaration.dispatch`
comes here: an op that makes views makes them of the memory, and they have the bits too; every other op gets the values.
"""

from __future__ import annotations

from typing import Any

from weft._devices.devices import key_of, on_device_of
from weft._engine.dispatch import current_node, make, record, share_view
from weft._engine.tensor import TensorBase, local, run_quietly, state
from weft._engine.unresolved import CONJUGATE, NEGATIVE, Unresolved
from weft._interception.interceptors import Operation, is_watched, operations
from weft._interception.transforms import keep_call
from weft.ops._registry import registry

__all__ = ["bits_of", "materialized", "refuse_bits", "resolved", "run_view", "with_bits"]


def bits_of(tensor: Any) -> int:
    """Which bits a tensor has, also one of a function transform."""
    array = tensor._array
    return array.bits if isinstance(array, Unresolved) else 0


def resolved(tensor: Any) -> Any:
    """The same tensor, in history too, with its values in new memory; itself if it has no bits."""
    if not tensor._key.bits:
        return tensor
    if tensor._requires_grad and current_node(tensor) is None:
        return materialized(tensor)  # a leaf's gradient goes to the leaf
    if state.intercepting and is_watched():
        return operations["core::resolve"].run((tensor,), {})
    key = tensor._key
    made: Any = make(on_device_of(key, tensor._array.resolve)(), key_of(key.dtype, key.device))
    made._requires_grad, made._node = tensor._requires_grad, tensor._node
    made._version_counter, made._extra = tensor._version_counter, tensor._extra
    share_view(made, tensor)
    return made


Operation("core::resolve", lambda input: resolved(input))


def materialized(tensor: Any) -> Any:
    """A copy of a tensor with bits that has none, as `clone` makes it."""
    key = tensor._key
    made: Any = make(run_quietly(tensor._array.resolve), key_of(key.dtype, key.device))
    if tensor._requires_grad and local.grad_enabled:
        record(registry["core::clone"].op, made, (tensor, None), 1)
    return made


def in_op(arg: Any) -> Any:
    """An op's argument with its tensors `resolved`."""
    if isinstance(arg, TensorBase):
        return resolved(arg)
    if isinstance(arg, (list, tuple)) and any(isinstance(each, TensorBase) for each in arg):
        return [resolved(each) if isinstance(each, TensorBase) else each for each in arg]
    return arg


def part_bits(name: str, bits: int) -> int:
    """The bits of a view that an op makes of memory with bits."""
    if name == "core::real":
        return bits & NEGATIVE
    if name == "core::imag":
        return NEGATIVE if bits in (CONJUGATE, NEGATIVE) else 0
    return bits


def run_view(declaration: Any, args: tuple[Any, ...]) -> Any:
    """Run an op that makes views on a tensor with bits."""
    op = declaration.op
    place = op.positions[0]
    source = args[place]
    plain = key_of(source._key.dtype, source._key.device)
    arrays = [*args[:place], source._array.memory, *args[place + 1 :]]
    found = op.run_kernel(plain, arrays, args)
    bits = part_bits(op.name, source._array.bits)
    several = isinstance(found, (list, tuple))
    outputs = [view_with(each, bits, plain) for each in (found if several else (found,))]
    keep_call(op, outputs, args, several)
    return tuple(outputs) if several else outputs[0]


def view_with(array: Any, bits: int, plain: Any) -> Any:
    """A tensor of memory with bits."""
    if isinstance(array, Unresolved):
        array, bits = array.memory, bits ^ array.bits
    key = plain.siblings[array.dtype]
    if not bits:
        return make(array, key)
    return make(Unresolved(array, bits), key_of(key.dtype, key.device, bits=bits))


def with_bits(tensor: Any, bits: int) -> Any:
    """A new tensor, without history, as a conjugate or negative view of its memory.

    Raises
    ------
    RuntimeError
        If a tensor that is not complex would be conjugated.
    """
    if bits & CONJUGATE and not tensor._key.is_complex:
        raise RuntimeError(f"only complex tensors have a conjugate bit, not {tensor.dtype}")
    return view_with(tensor._array, bits, tensor._key) if bits else tensor


def refuse_bits(tensor: Any, conjugate: str, negative: str) -> None:
    """Memory is handed out only where it holds the values; an empty message lets a bit pass.

    Raises
    ------
    RuntimeError
        If the tensor has one of the bits.
    """
    bits = bits_of(tensor)
    message = conjugate if bits & CONJUGATE and conjugate else negative if bits & NEGATIVE else ""
    if message:
        raise RuntimeError(message)
