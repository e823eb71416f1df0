"""PyTorch's older types: ``FloatTensor``, ``FloatStorage`` and their like, and what takes or gives their names.

There is one class of tensors; a legacy type is a view of it with a dtype and a kind of device. Calling it makes a
tensor, ``isinstance`` looks at dtype and device, and `Tensor.type` converts to it.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy

from weft import _display_name
from weft._devices.devices import device, resolve_device, set_default_device
from weft._dtypes.dtypes import ALL, dtype, get_default_dtype, set_default_dtype
from weft._engine.tensor import TensorBase
from weft._settings import warn_caller_once
from weft._tensor.base import Tensor
from weft._tensor.interop import tensor
from weft._tensor.layout import layout, strided
from weft._tensor.size import Size
from weft.ops.creation import empty
from weft.ops.views import alias
from weft.storage import TypedStorage, UntypedStorage

__all__ = ["convert_type", "legacy_new", "set_default_tensor_type", "storage_dtype", "typename"]

SPOKEN = {each.scalar_type_name: each for each in ALL if not each.name.startswith(("uint16", "uint32", "uint64"))}


class tensortype(type):
    """The type of the legacy tensor types."""

    dtype: dtype
    layout: layout
    is_cuda: bool
    is_sparse: bool = False
    device_type: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return legacy_new(cls.__name__, args, kwargs, cls.dtype, cls.device_type)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return getattr(Tensor, name)


class storagetype(type):
    """The type of the legacy storage types."""

    dtype: dtype

    @property
    def _dtype(cls) -> Any:
        return cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        for word in ("device", "dtype"):
            if word in kwargs:
                raise RuntimeError(f"{cls.__name__}(): '{word}' cannot be specified; TypedStorage takes it")
        unknown = set(kwargs) - {"wrap_storage", "_internal"}
        if unknown:
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument '{sorted(unknown)[0]}'")
        if not kwargs.get("_internal"):
            warn_caller_once("TypedStorage is deprecated; use weft.UntypedStorage")
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


def tensor_types(device_type: str, module: str) -> dict[str, tensortype]:
    """The legacy tensor types of a kind of device, by name."""
    body = {"layout": strided, "is_cuda": device_type == "cuda", "device_type": device_type, "__module__": module}
    return {
        f"{scalar_type_name}Tensor": tensortype(f"{scalar_type_name}Tensor", (), body | {"dtype": each})
        for scalar_type_name, each in SPOKEN.items()
        if not each.is_complex
    }


def storage_types(module: str) -> dict[str, storagetype]:
    """The legacy storage types, by name."""
    return {
        f"{name}Storage": storagetype(f"{name}Storage", (TypedStorage,), {"dtype": each, "__module__": module})
        for name, each in SPOKEN.items()
    }


globals().update(tensor_types("cpu", _display_name.name), **storage_types(_display_name.name))
Storage = globals()["FloatStorage"]


# Constructors --------------------------------------------------------------------------------------------


def legacy_new(name: str, args: tuple[Any, ...], kwargs: Any, element: dtype | None, device_type: str = "cpu") -> Any:
    """What ``weft.FloatTensor(...)``, ``weft.Tensor(...)`` and ``tensor.new(...)`` make.

    Parameters
    ----------
    name : str
        For errors.
    args, kwargs
        Sizes, one after the other or as a `Size`: the elements are not initialised. A tensor: another one with its
        memory. A storage: a tensor of all of it. A sequence of numbers: a tensor of them. And ``device``.
    element : dtype, optional
        Default: the default dtype, or that of a tensor that is given.
    device_type : str
        What the device has to be.

    Raises
    ------
    TypeError
        For other arguments, or a tensor of another dtype.
    RuntimeError
        For a device of another kind.
    """
    unknown = set(kwargs) - {"device", "size", "data", "other", "storage"}
    given = [*args, *(value for key, value in kwargs.items() if key != "device" and key not in unknown)]
    if unknown:
        raise TypeError(f"{name}(): got an unexpected keyword argument {sorted(unknown)[0]!r}; weft.tensor takes it")
    wanted = device(kwargs.get("device") or device_type)
    if wanted.type != device_type:
        raise RuntimeError(
            f"{name}: legacy constructor expects device type: {device_type} but device type: {wanted.type} was passed"
        )
    where = resolve_device(wanted)
    if not given:
        return sized((0,), element, where)
    first = given[0]
    if len(given) == 1 and (isinstance(first, bool) or not isinstance(first, int | numpy.integer)):
        if isinstance(first, TensorBase):
            return same_memory(name, first, element, where)
        if isinstance(first, TypedStorage | UntypedStorage):
            return of_storage(name, first, element)
        if isinstance(first, Size) or "size" in kwargs:
            return sized(first, element, where)
        return of_data(name, first, element, where)
    try:
        return sized([operator.index(each) for each in given], element, where)
    except TypeError:
        kinds = ", ".join(type(each).__name__ for each in given)
        raise TypeError(
            f"{name}(): takes sizes, a tensor, a storage or a sequence, and device; got ({kinds})"
        ) from None


def sized(shape: Any, element: dtype | None, where: device) -> Any:
    return empty(shape, dtype=element or get_default_dtype(), device=where)


def same_memory(name: str, other: Any, element: dtype | None, where: device) -> Any:
    if element is not None and (other.dtype is not element or other.device.type != where.type):
        raise TypeError(
            f"{name}(): expected a tensor of {element} on {where.type}, got {other.dtype} on {other.device}; "
            "convert it with .to(...)"
        )
    return alias(other)


def of_storage(name: str, storage: Any, element: dtype | None) -> Any:
    wanted = element or get_default_dtype()
    if isinstance(storage, TypedStorage) and storage.dtype is not wanted:
        raise RuntimeError(
            f"{name}(): Expected a Storage of type {wanted.scalar_type_name} or an UntypedStorage, but got "
            f"{storage.dtype.scalar_type_name}"
        )
    return TypedStorage(wrap_storage=storage.untyped(), dtype=wanted)._tensor()


def of_data(name: str, data: Any, element: dtype | None, where: device) -> Any:
    if isinstance(data, str):
        raise TypeError(f"{name}(): invalid data type 'str'")
    if not hasattr(data, "__len__") and not hasattr(data, "__array__"):
        raise TypeError(f"{name}(): data must be a sequence (got {type(data).__name__})")
    return tensor(data, dtype=element or get_default_dtype(), device=where)


# Names of types ------------------------------------------------------------------------------------------


def dtype_and_device(name: str, given: Any) -> tuple[dtype, str | None]:
    """What a legacy type, its name, or a dtype stands for; the kind of device may be left open.

    Raises
    ------
    ValueError
        If it is none of them.
    TypeError
        If it is neither a type nor a name nor a dtype.
    """
    if isinstance(given, dtype):
        return given, None
    if isinstance(given, tensortype):
        return given.dtype, given.device_type
    if given is Tensor:
        return get_default_dtype(), None
    if isinstance(given, type):
        raise ValueError(f"{name}: invalid type: {given.__name__!r}; pass a dtype such as weft.float32")
    if not isinstance(given, str):
        raise TypeError(f"{name}: dtype must be a type, str, or dtype object, not {type(given).__name__}")
    _, *where, last = given.split(".")
    scalar_type_name = last.removesuffix("Tensor")
    known = given.startswith(("torch.", "weft.")) and last.endswith("Tensor") and where in ([], ["cuda"])
    if known and not scalar_type_name:
        return get_default_dtype(), None
    if not known or scalar_type_name not in SPOKEN:
        raise ValueError(f"{name}: invalid type: {given!r}; pass a dtype such as weft.float32")
    return SPOKEN[scalar_type_name], where[0] if where else "cpu"


def storage_dtype(given: Any) -> dtype:
    """The dtype that a dtype, a legacy storage type, or the name of one stands for.

    Raises
    ------
    TypeError
        If it is none of them.
    """
    if isinstance(given, dtype):
        return given
    if isinstance(given, storagetype):
        return given.dtype
    if isinstance(given, str) and given.endswith("Storage"):
        return dtype_and_device("type", given.removesuffix("Storage") + "Tensor")[0]
    raise TypeError(f"type: expected a dtype, a storage type or its name, got {given!r}")


def convert_type(self: Any, given: Any, non_blocking: bool) -> Any:
    """The tensor as what `Tensor.type` was asked for."""
    element, where = dtype_and_device("type", given)
    target = self.device if where is None or where == self.device.type else where
    return self.to(device=target, dtype=element, non_blocking=non_blocking)


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
