"""What takes PyTorch's older types: ``Tensor(...)`` and `Tensor.new` as constructors, and `Tensor.type`."""

from __future__ import annotations

import operator
from typing import Any

import numpy

from weft import _display_name
from weft._devices.devices import device, resolve_device
from weft._dtypes.dtypes import dtype, get_default_dtype
from weft._dtypes.legacy_names import named_type
from weft._engine.tensor import TensorBase
from weft._tensor.base import Tensor, add_members
from weft._tensor.interop import tensor
from weft._tensor.layout import layout
from weft._tensor.size import Size
from weft.ops._declare import composite
from weft.ops.creation import empty
from weft.ops.views import alias
from weft.storage import TypedStorage, UntypedStorage
from weft.types import DType

__all__ = ["dtype_and_device", "tensortype"]


class tensortype(type):
    """The type of the legacy tensor types."""

    dtype: dtype
    layout: layout
    is_cuda: bool
    is_sparse: bool = False
    device_type: str

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> tensortype:
        for base in bases:
            if isinstance(base, tensortype):
                raise TypeError(
                    f"type '{base.__module__}.{base.__name__}' is not an acceptable base type: "
                    f"derive {name} from Tensor"
                )
        return super().__new__(mcs, name, bases, body)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return legacy_new(cls.__name__, args, kwargs, cls.dtype, cls.device_type)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return getattr(Tensor, name)


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
            f"{name}() received an invalid combination of arguments - got ({kinds}), but it takes sizes, a tensor, a "
            "storage or a sequence, and device"
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
    return named_type(name, given)


def convert_type(self: Any, given: Any, non_blocking: bool) -> Any:
    """The tensor as what `Tensor.type` was asked for."""
    element, where = dtype_and_device("type", given)
    target = self.device if where is None or where == self.device.type else where
    return self.to(device=target, dtype=element, non_blocking=non_blocking)


@composite("type")
def _type(self: Tensor, dtype: DType | str | type | None = None, non_blocking: bool = False) -> Tensor | str:
    """Return the name of the tensor's type, or convert the tensor to another dtype.

    Parameters
    ----------
    dtype : dtype, type or str, optional
    non_blocking : bool
        As of `Tensor.to`.

    Examples
    --------
    >>> weft.ones(1).type(), weft.ones(1).type(weft.int32)
    ('weft.FloatTensor', tensor([1], dtype=weft.int32))
    """
    if dtype is None:
        prefix = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"{_display_name.name}.{prefix}{self.dtype.scalar_type_name}Tensor"
    return convert_type(self, dtype, non_blocking)


def new(self: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Return a tensor of this dtype and device as ``weft.Tensor(...)`` makes them; `new_empty` is the clearer name."""
    return legacy_new("new", args, kwargs, self._key.dtype, self._key.device.type)


add_members(new=new, _construct=staticmethod(legacy_new))
