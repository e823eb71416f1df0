"""PyTorch's older types: ``FloatTensor``, ``FloatStorage`` and their like.

There is one class of tensors; a legacy type is a view of it with a dtype and a kind of device. Calling it makes a
tensor, ``isinstance`` looks at dtype and device, and `Tensor.type` converts to it.
"""

from __future__ import annotations

from typing import Any

from weft import _display_name
from weft._devices.devices import set_default_device
from weft._dtypes.dtypes import dtype, set_default_dtype
from weft._dtypes.legacy_names import SCALAR_TYPES
from weft._engine.tensor import TensorBase
from weft._settings import warn_caller_once
from weft._tensor.base import Tensor
from weft._tensor.layout import strided
from weft._tensor.legacy import dtype_and_device, tensortype
from weft.storage import TypedStorage, storagetype

__all__ = ["set_default_tensor_type", "typename"]


def tensor_types(device_type: str, module: str) -> dict[str, tensortype]:
    """The legacy tensor types of a kind of device, by name."""
    body = {"layout": strided, "is_cuda": device_type == "cuda", "device_type": device_type, "__module__": module}
    return {
        f"{scalar_type_name}Tensor": tensortype(f"{scalar_type_name}Tensor", (), body | {"dtype": each})
        for scalar_type_name, each in SCALAR_TYPES.items()
        if not each.is_complex
    }


def storage_types(device_type: str, module: str) -> dict[str, storagetype]:
    """The legacy storage types of a kind of device, by name."""
    body = {"device_type": device_type, "__module__": module}
    return {
        f"{name}Storage": storagetype(f"{name}Storage", (TypedStorage,), body | {"dtype": each})
        for name, each in SCALAR_TYPES.items()
    }


globals().update(tensor_types("cpu", _display_name.name), **storage_types("cpu", _display_name.name))
Storage = globals()["FloatStorage"]


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a legacy type or its name; `set_default_dtype` does it by a dtype.

    Raises
    ------
    TypeError
        For a dtype, or a type that is not floating-point.
    ValueError
        For an unknown name.
    """
    warn_caller_once(
        "set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        f"{_display_name.name}.set_default_dtype() and {_display_name.name}.set_default_device() instead"
    )
    if isinstance(t, dtype) or t is Tensor:
        raise TypeError(f"set_default_tensor_type: invalid type object: {t}; use weft.set_default_dtype")
    element, where = dtype_and_device("set_default_tensor_type", t)
    if not element.is_floating_point:
        raise TypeError(
            f"set_default_tensor_type: only floating-point types are supported as the default type; got {t}"
        )
    set_default_dtype(element)
    if where is not None and where != "cpu":
        set_default_device(where)


def typename(obj: Any, /) -> str:
    """The name of an object's type with its module; of a tensor its legacy type; of a class or function its own.

    Examples
    --------
    >>> weft.typename(weft.ones(2)), weft.typename(3)
    ('weft.FloatTensor', 'int')
    """
    if isinstance(obj, TensorBase):
        name: str = obj.type()  # type: ignore[attr-defined]
        return name
    if obj is Tensor:
        return f"{_display_name.name}.Tensor"
    module, name = "", ""
    if hasattr(obj, "__module__") and obj.__module__ not in ("builtins", "__builtin__", None):
        module = f"{obj.__module__}."
    if hasattr(obj, "__qualname__"):
        name = obj.__qualname__
    elif hasattr(obj, "__name__"):
        name = obj.__name__
    else:
        name = obj.__class__.__qualname__
    return module + name
