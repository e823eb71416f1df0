"""Tensors of subclasses with ``__torch_dispatch__`` that wrap others, and have no memory of their own."""

from __future__ import annotations

from typing import Any

from weft._devices.devices import key_of, resolve_device
from weft._dtypes.dtypes import get_default_dtype
from weft._engine.methods import TensorMethods
from weft._engine.tensor import TensorBase
from weft._meta.array import MetaArray

__all__ = ["make_wrapper"]


def make_wrapper(cls: Any, size: Any, strides: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    """See `Tensor._make_wrapper_subclass`."""
    if not (isinstance(cls, type) and issubclass(cls, TensorBase) and cls._dispatches):  # type: ignore[attr-defined]
        name = getattr(cls, "__name__", cls)
        raise TypeError(
            f"_make_wrapper_subclass: {name} has to be a subclass of Tensor that defines __torch_dispatch__"
        )
    element = get_default_dtype() if dtype is None else dtype
    shape = tuple(int(each) for each in ([size] if isinstance(size, int) else size))
    steps = None if strides is None else tuple(int(each) * element.itemsize for each in strides)
    made: Any = TensorMethods.__new__(cls)
    made._array = MetaArray(shape, element.numpy, steps)
    made._key = key_of(element, resolve_device("cpu" if device is None else device), plain=False)
    made._requires_grad, made._node, made._grad = False, None, None
    made._version_counter = made._extra = made._view_base = None
    if requires_grad:
        made.requires_grad_(True)
    return made
