"""Tensors as objects of a subclass of `Tensor`."""

from __future__ import annotations

from typing import Any

from weft._devices.devices import key_of
from weft._engine.dispatch import share_view
from weft._engine.methods import TensorMethods
from weft._engine.tensor import TensorBase

__all__ = ["as_subclass", "check_subclass"]


def check_subclass(cls: Any) -> None:
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(
            "as_subclass(): Creating a Tensor subclass from a class that does not inherit from Tensor is not possible; "
            f"got {cls!r}"
        )


def as_subclass(tensor: Any, cls: Any) -> Any:
    """What a tensor is, as one of another class in its place: its memory, history and version counter.

    A leaf whose gradient somebody asks for, or a tensor that is written to, does not have two places: those take
    `Tensor.as_subclass`, which makes a view.
    """
    check_subclass(cls)
    made = TensorMethods.__new__(cls)
    plain = cls._is_plain and not cls._dispatches  # type: ignore[attr-defined]
    made._array = tensor._array
    made._key = key_of(tensor._key.dtype, tensor._key.device, plain, bits=tensor._key.bits)
    made._requires_grad, made._node, made._grad = tensor._requires_grad, tensor._node, None
    made._version_counter, made._extra = tensor._version_counter, tensor._extra
    share_view(made, tensor)
    return made
