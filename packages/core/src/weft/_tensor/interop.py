"""Exchange with NumPy, DLPack, buffers and Python's numbers, without copies where memory can be shared."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from typing import Any

import numpy

import weft
from weft._devices.devices import backend_of, cpu, device, key_of, remember_new_key, resolve_device
from weft._dtypes.dtypes import (
    BY_NUMPY,
    INTEGER,
    bfloat16,
    dtype,
    element_type,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    get_default_dtype,
    int64,
)
from weft._dtypes.float8 import converted
from weft._engine import creation
from weft._engine.dispatch import make
from weft._engine.methods import declared_methods
from weft._engine.tensor import TensorBase, local, run_quietly, state
from weft._engine.unresolved import values_of
from weft._errors import warn_caller
from weft._interception.interceptors import Method, Operation, intercepted, is_watched, operations, seen_as
from weft._interception.torch_dispatch import dispatching, lower
from weft._interception.transforms import refuse_values
from weft._settings import is_first, warn_of_history
from weft._tensor.base import Tensor
from weft._tensor.conjugation import refuse_bits
from weft._tensor.construction import array_of, unsupported
from weft._tensor.held_storages import hold
from weft.storage import TypedStorage, UntypedStorage, own_storage
from weft.types import Device, DType, Number

__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer"]


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a function on Tensor under its name; ``tensor_`` before it only tells it from a module's name."""
    name = function.__name__.removeprefix("tensor_")
    if name in declared_methods:
        declared_methods[name] = function
    else:
        setattr(Tensor, name, function)
    return function


# NumPy ---------------------------------------------------------------------------------------------------


def from_numpy(ndarray: numpy.ndarray[Any, Any]) -> Tensor:
    """Return a tensor that shares memory with a NumPy array: writing to one changes the other.

    Parameters
    ----------
    ndarray : numpy.ndarray
        Of native byte order, without negative strides.

    Raises
    ------
    TypeError
        If it is no array, or its dtype is not one of weft's.
    ValueError
        If its strides or byte order cannot be used in place.

    Examples
    --------
    >>> import numpy
    >>> a = numpy.zeros(2)
    >>> weft.from_numpy(a)[0] = 5.0
    >>> a
    array([5., 0.])
    """
    if not isinstance(ndarray, numpy.ndarray):
        raise TypeError(
            f"from_numpy: expected np.ndarray (got {type(ndarray).__name__}); use weft.tensor for other data"
        )
    if state.intercepting and is_watched():
        return operations["core::from_numpy"].run((ndarray,), {})  # type: ignore[no-any-return]
    array = shareable("from_numpy", ndarray)
    if not array.flags.writeable:
        warn_read_only("from_numpy", "NumPy array")
    return make(own_storage(array), key_of(BY_NUMPY[array.dtype], cpu))  # type: ignore[return-value]


def shareable(name: str, array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """Return a plain array that a tensor can use in place."""
    if not array.dtype.isnative:
        raise ValueError(
            f"{name}: the NumPy array has byte order {array.dtype.byteorder!r}, not this machine's; convert it with "
            ".astype(array.dtype.newbyteorder('='))"
        )
    if array.dtype not in BY_NUMPY:
        raise unsupported(name, array.dtype)
    if not array.flags.c_contiguous:
        check_strides(name, array)
    return array if type(array) is numpy.ndarray else array.view(numpy.ndarray)


def check_strides(name: str, array: numpy.ndarray[Any, Any]) -> None:
    """Refuse strides that tensors do not have."""
    if any(step < 0 and size > 1 for step, size in zip(array.strides, array.shape)):
        raise ValueError(
            f"{name}: at least one stride in the given numpy array is negative ({array.strides}), and tensors have no "
            "negative strides; copy it with array.copy()"
        )
    if any(step % array.itemsize for step in array.strides):
        raise ValueError(
            f"{name}: the strides of the NumPy array ({array.strides}) are no multiples of its element size "
            f"({array.itemsize}); copy it with array.copy()"
        )


def warn_read_only(name: str, what: str) -> None:
    """Say once that a tensor over read-only memory cannot be written to."""
    if is_first(what):
        warnings.warn(
            f"{name}: the given {what} is not writable, and writing to a tensor of non-writable memory fails; copy it "
            "first if you mean to. This is said once.",
            UserWarning,
            stacklevel=3,
        )


@method
def tensor_numpy(self: Any, *, force: bool = False) -> numpy.ndarray[Any, Any]:
    """Return a NumPy array that shares memory with the tensor.

    Parameters
    ----------
    force : bool
        Also of a tensor that requires grad or is on another device: then of a copy of it.

    Raises
    ------
    RuntimeError
        If the tensor requires grad, unless under `no_grad`.
    TypeError
        If it is not in the host's memory, or of an 8-bit floating-point dtype: NumPy has none.

    Examples
    --------
    >>> weft.ones(2).numpy()
    array([1., 1.], dtype=float32)
    """
    if not force:
        if self._requires_grad and local.grad_enabled:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._key.device is not cpu:
            raise TypeError(
                f"numpy: can't convert {self._key.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        refuse_bits(
            self,
            "numpy: Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() "
            "instead.",
            "numpy: Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead.",
        )
    if self._key.dtype.is_float8:
        raise TypeError(
            f"numpy: Got unsupported ScalarType {self._key.dtype.scalar_type_name}: NumPy has no such numbers. Use "
            ".float().numpy() for the values, .view(weft.uint8).numpy() for the bytes"
        )
    if state.intercepting and is_watched():
        return read_watched(self, "core::numpy", lambda: host_array(self).view())
    return host_array(self).view()


def read_watched(tensor: Any, name: str, run: Callable[[], Any]) -> Any:
    """Read a tensor's values, seen by interceptors."""
    return intercepted(operations[name], {"input": tensor}, run)


def host_array(tensor: Any) -> numpy.ndarray[Any, Any]:
    """The tensor's array, or a copy of it in the host's memory."""
    if tensor._key.wrapped:
        refuse_values("reading values (.item(), .tolist(), .numpy(), float())", tensor)
    array: Any = values_of(tensor._array)
    if not isinstance(array, numpy.ndarray):
        array = backend_of(tensor._key.device).to_numpy(array)
    return array


@method
def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]:
    """What NumPy's functions see: the tensor's memory, or a copy in another dtype."""
    array: numpy.ndarray[Any, Any] = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"__array__: {array.dtype} cannot become {numpy.dtype(dtype)} without a copy")
        converted: numpy.ndarray[Any, Any] = array.astype(dtype)
        return converted
    return array.copy() if copy else array


@method
def __array_wrap__(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """Make a tensor of what a ufunc of NumPy's has computed from one."""
    array = numpy.asarray(array)
    return from_numpy(array) if array.dtype in BY_NUMPY else array


# Data of any kind ----------------------------------------------------------------------------------------


def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a new tensor with a copy of the data, and without history.

    Parameters
    ----------
    data : number, array, Tensor, or sequence of numbers or sequences
    dtype : dtype, optional
        Default: what the data has; Python's floats have the default dtype, integers int64.
    device : device or str, optional
        Default: that of ``data`` if it is a tensor, else the default device.
    requires_grad : bool
    pin_memory : bool
        Put it into page-locked memory; see `Tensor.pin_memory`.

    Raises
    ------
    ValueError
        If sequences beside each other differ in length.
    TypeError, RuntimeError
        If something is no number, or does not fit the dtype.

    Examples
    --------
    >>> weft.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> weft.tensor([1, 2.5, True]).dtype
    weft.float32
    """
    if dtype is None and device is None and not requires_grad and not pin_memory:
        small = creation.vector(data)
        if small is not None:
            return small  # type: ignore[no-any-return]
        remember_new_key()
    if state.intercepting and is_watched() and not isinstance(data, TensorBase):
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
        return operations["core::tensor"].run((data,), options)  # type: ignore[no-any-return]
    if pin_memory:
        locked = tensor(data, dtype=dtype, device=device).pin_memory()
        return locked.requires_grad_() if requires_grad else locked
    element = element_type("tensor", dtype)
    if isinstance(data, TensorBase):
        warn_caller(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
        )
        where = data._key.device if device is None else resolve_device(device)
        made: Any = data.detach().to(where, element or data._key.dtype, copy=True)  # type: ignore[attr-defined]
    elif isinstance(data, numpy.ndarray):
        array = shareable("tensor", data)
        target = (element or BY_NUMPY[array.dtype]).numpy
        narrow = element is not None and element.is_float8
        made = on_device(
            run_quietly(converted, array, target) if narrow else run_quietly(array.astype, target, "C"), device
        )
    elif isinstance(data, TypedStorage | UntypedStorage):
        made = of_storage(data, element).to(data.device if device is None else resolve_device(device))
    elif is_foreign(data):
        made = of_foreign(data)
        made = made.to(made._key.device if device is None else resolve_device(device), element, copy=True)
    else:
        made = on_device(array_of(data, element), device)
    return made.requires_grad_() if requires_grad else made


def of_storage(storage: TypedStorage | UntypedStorage, element: dtype | None) -> Any:
    """A storage's memory as a tensor of a dtype, which keeps the storage.

    Raises
    ------
    RuntimeError
        If the storage's elements are of another one.
    """
    if isinstance(storage, TypedStorage):
        if element not in (None, storage.dtype):
            raise RuntimeError(
                f"tensor: Expected a Storage of type {element.scalar_type_name} or an UntypedStorage, but got "  # type: ignore[union-attr]
                f"{storage.dtype.scalar_type_name}"
            )
    else:
        storage = TypedStorage(wrap_storage=storage, dtype=element or int64)
    made = storage._tensor()
    hold(made, storage._untyped_storage)
    return made


def on_device(array: numpy.ndarray[Any, Any], where: Any) -> Any:
    """A tensor of an array that nobody else has."""
    target = resolve_device(where)
    if target is not cpu:
        array = backend_of(target).from_numpy(array, target.index)
    return make(array, key_of(BY_NUMPY[array.dtype], target))


def as_tensor(data: Any, dtype: DType | None = None, device: Device = None) -> Tensor:
    """Return the data as a tensor, sharing memory, and history if it is a tensor, where nothing must change.

    Parameters
    ----------
    data : as for `weft.tensor`
    dtype : dtype, optional
    device : device or str, optional

    Examples
    --------
    >>> x = weft.ones(2)
    >>> weft.as_tensor(x) is x
    True
    """
    element = element_type("as_tensor", dtype)
    if isinstance(data, numpy.ndarray):
        data = from_numpy(data)
        device = resolve_device(device)
    elif not isinstance(data, TensorBase) and is_foreign(data):
        data = of_foreign(data)
    if isinstance(data, TensorBase):
        return data.to(data._key.device if device is None else resolve_device(device), element or data._key.dtype)  # type: ignore[attr-defined]
    return tensor(data, dtype=element, device=device)


def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: Device = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Return an object as a tensor, sharing memory if it can.

    Parameters
    ----------
    obj : Tensor, NumPy array, object with DLPack or a buffer, number or sequence
        The bytes of a buffer are taken for elements of ``dtype``.
    dtype : dtype, optional
    device : device or str, optional
    copy : bool, optional
        True: always copy. False: raise if a copy is needed. Default: if needed.
    requires_grad : bool, optional
        False: without history. Default: as ``obj``.

    Raises
    ------
    ValueError
        If ``copy`` is False and memory cannot be shared.

    Examples
    --------
    >>> weft.asarray(bytearray(b"abc"), dtype=weft.uint8)
    tensor([97, 98, 99], dtype=weft.uint8)
    """
    element = element_type("asarray", dtype)
    made = shared(obj, element)
    if made is None:
        if copy is False:
            raise ValueError(f"asarray: can't alias arbitrary sequence of type {type(obj).__name__} into a tensor")
        made = tensor(obj, dtype=element, device=device)
    else:
        made = placed(made, element, device, copy)
    if requires_grad is False and made._requires_grad:
        return made.detach()
    return made.requires_grad_() if requires_grad else made


def shared(obj: Any, element: dtype | None) -> Any:
    """A tensor that shares an object's memory, or None if it has none to share."""
    if isinstance(obj, TensorBase):
        return obj
    if isinstance(obj, numpy.ndarray):
        return from_numpy(obj)
    if is_foreign(obj):
        return of_foreign(obj)
    if isinstance(obj, UntypedStorage | TypedStorage):
        return of_storage(obj, element)
    if isinstance(obj, numpy.generic):
        return None
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=element or get_default_dtype())


def is_foreign(obj: Any) -> bool:
    """Whether an object is an array of another library that says where its memory is."""
    kind = type(obj)
    if kind is list or kind is tuple or kind is float or kind is int:
        return False
    return hasattr(kind, "__dlpack__") or getattr(obj, "__cuda_array_interface__", None) is not None


def of_foreign(obj: Any) -> Any:
    """A tensor that shares memory with another library's array."""
    if hasattr(type(obj), "__dlpack__"):
        return from_dlpack(obj)
    array = backend_of(device("cuda")).from_cuda_array(obj)
    if array.dtype not in BY_NUMPY:
        raise TypeError(f"as_tensor: weft has no dtype for arrays of {array.dtype}")
    return make(array, key_of(BY_NUMPY[array.dtype], device("cuda", int(array.device.id))))


def placed(made: Any, element: dtype | None, where: Any, copy: bool | None) -> Any:
    target = made._key.device if where is None else resolve_device(where)
    wanted = element or made._key.dtype
    if copy is False and (target is not made._key.device or wanted is not made._key.dtype):
        raise ValueError(
            f"asarray: can't alias a tensor of {made._key.dtype} on {made._key.device} as {wanted} on {target}; "
            "leave out copy=False"
        )
    return made.to(target, wanted, copy=bool(copy))


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Return a one-dimensional tensor that shares memory with an object that has a buffer.

    Parameters
    ----------
    buffer : bytes, bytearray, memoryview, array.array, mmap, ...
    dtype : dtype
        What the bytes are taken for.
    count : int
        How many elements; negative: all that follow.
    offset : int
        In bytes.
    requires_grad : bool

    Raises
    ------
    ValueError
        If the buffer does not hold what is asked for.

    Examples
    --------
    >>> weft.frombuffer(bytearray(b"abcd"), dtype=weft.uint8, offset=2)
    tensor([ 99, 100], dtype=weft.uint8)
    """
    if state.intercepting and is_watched():
        options = {"dtype": dtype, "count": count, "offset": offset, "requires_grad": requires_grad}
        return operations["core::frombuffer"].run((buffer,), options)  # type: ignore[no-any-return]
    element = element_type("frombuffer", dtype)
    if element is None:
        raise TypeError("frombuffer: argument 'dtype' must be weft.dtype, not NoneType")
    try:
        view = memoryview(buffer).cast("B") if memoryview(buffer).nbytes else b""
    except TypeError:
        raise ValueError(
            f"frombuffer: object does not implement Python buffer protocol: {type(buffer).__name__}"
        ) from None
    length = len(view)
    if not length or count == 0:
        raise ValueError(f"frombuffer: both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"frombuffer: offset ({offset}) must be from 0 to buffer length ({length}) - 1")
    if count < 0:
        count, rest = divmod(length - offset, element.itemsize)
        if rest:
            raise ValueError(
                f"frombuffer: buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple "
                f"of element size ({element.itemsize})"
            )
    if offset + count * element.itemsize > length:
        raise ValueError(
            f"frombuffer: requested buffer length ({count} * {element.itemsize} bytes) after offset ({offset} bytes) "
            f"must not be greater than actual buffer length ({length} bytes)"
        )
    array = numpy.frombuffer(view, element.numpy, count, offset)
    if not array.flags.writeable:
        warn_read_only("frombuffer", "buffer")
    made: Any = make(array, key_of(element, cpu))
    return made.requires_grad_() if requires_grad else made


# DLPack --------------------------------------------------------------------------------------------------

CPU, CUDA, CUDA_HOST = 1, 2, 3  # DLDeviceType
UNSIGNED = 1  # DLDataTypeCode
# The codes of what NumPy has not, which therefore travels as unsigned integers.
CODES = {
    bfloat16: 4,
    float8_e4m3fn: 10,
    float8_e4m3fnuz: 11,
    float8_e5m2: 12,
    float8_e5m2fnuz: 13,
    float8_e8m0fnu: 14,
}
FOREIGN = {(code, 8 * element.itemsize): element for element, code in CODES.items()}
DEVICE_TYPES = {"cpu": CPU, "cuda": CUDA}


@seen_as("core::from_dlpack")
def from_dlpack(ext_tensor: Any, *, device: Device = None, copy: bool | None = None) -> Tensor:
    """Return a tensor that shares memory with another library's array.

    Parameters
    ----------
    ext_tensor : object with ``__dlpack__`` and ``__dlpack_device__``, or a capsule of the host's memory
    device : device or str, optional
        Default: where the array is.
    copy : bool, optional
        True: always copy. False: raise if a copy is needed. Default: if needed.

    Raises
    ------
    BufferError
        If the array cannot be shared as asked.

    Examples
    --------
    >>> import numpy
    >>> weft.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = Capsule(ext_tensor, (CPU, 0))
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(f"from_dlpack: expected an object with __dlpack__, got {type(ext_tensor).__name__}")
    where = ext_tensor.__dlpack_device__()
    if not isinstance(where, (tuple, list)) or len(where) != 2:
        raise TypeError(f"from_dlpack: __dlpack_device__() must give a type and an index, not {where!r}")
    kind, index = map(int, where)
    found = {CPU: "cpu", CUDA_HOST: "cpu", CUDA: f"cuda:{index}"}.get(kind)
    if found is None:
        raise BufferError(f"from_dlpack: arrays of DLPack device type {kind} cannot be shared")
    source = resolve_device(found)
    target = source if device is None else resolve_device(device)
    if copy is False and target is not source:
        raise BufferError(f"from_dlpack: the array is on {source}, and copy=False; it cannot be shared with {target}")
    array = imported(ext_tensor, kind, index, source)
    made: Any = make(array, key_of(BY_NUMPY[array.dtype], source))
    if copy or target is not source:
        made = made.to(target, copy=True)
    return made


class Capsule:
    """A DLPack capsule that has been made already, as an object that gives it."""

    def __init__(self, capsule: Any, where: tuple[int, int]) -> None:
        self._capsule = capsule
        self._where = where

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._where


def imported(obj: Any, kind: int, index: int, source: device) -> Any:
    """The backend's array over another library's memory; what array libraries do not know goes as unsigned integers."""
    backend = backend_of(source)
    stream = backend.dlpack_stream(source.index)  # which is to see what the other library has done
    ordered = {} if stream is None else {"stream": stream}
    try:
        capsule = obj.__dlpack__(max_version=(1, 0), **ordered)
    except TypeError:  # of before DLPack 1.0
        capsule = obj.__dlpack__(**ordered)
    element = data_type(capsule)
    own = FOREIGN.get((element.code, element.bits)) if element.lanes == 1 else None
    if own is not None:
        element.code = UNSIGNED
    versioned = name_of(capsule) == b"dltensor_versioned"
    with backend.guard(source.index):
        array = backend.from_dlpack(Capsule(capsule, (kind, index)))
    if not versioned and isinstance(array, numpy.ndarray) and not array.flags.writeable:
        array = numpy.asarray(Writable(array))  # only newer capsules can say that they are not
    if own is not None:
        array = array.view(own.numpy)
    if array.dtype not in BY_NUMPY:
        raise BufferError(f"from_dlpack: weft has no dtype for arrays of {array.dtype}")
    return array


class Writable:
    """The memory of an array that NumPy takes for read-only, as one that can be written to."""

    def __init__(self, array: Any) -> None:
        self.keep = array
        described = array.__array_interface__
        self.__array_interface__ = {**described, "data": (described["data"][0], False), "strides": array.strides}


class DataType(ctypes.Structure):
    """DLDataType of the DLPack header."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    """DLTensor of the DLPack header."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class VersionedHeader(ctypes.Structure):
    """What a DLManagedTensorVersioned has before its DLTensor."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
    )


def name_of(capsule: Any) -> Any:
    """What a capsule says that it holds; None for what is no capsule."""
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.argtypes, get_name.restype = [ctypes.py_object], ctypes.c_char_p
    return get_name(capsule) if type(capsule).__name__ == "PyCapsule" else None


def data_type(capsule: Any) -> Any:
    """The element type within a capsule, where it can be read and changed."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.argtypes, get_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError(f"from_dlpack: __dlpack__() must give a DLPack capsule, not {type(capsule).__name__}")
    name = name_of(capsule)
    if name not in (b"dltensor", b"dltensor_versioned"):
        raise BufferError(f"from_dlpack: expected an unused DLPack capsule, got one named {name!r}")
    start = get_pointer(capsule, name) + (ctypes.sizeof(VersionedHeader) if name == b"dltensor_versioned" else 0)
    return DLTensor.from_address(start).dtype


@method
def __dlpack__(
    self: Any,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Give the tensor's memory to another library, as the array API standard of 2023.12 says.

    Raises
    ------
    BufferError
        If the tensor requires grad, or cannot be given as asked.
    """
    if self._requires_grad:
        raise BufferError("__dlpack__: can't export tensors that require gradient, use tensor.detach()")
    if dl_device is not None and tuple(map(int, dl_device)) != self.__dlpack_device__():
        if copy is False or tuple(map(int, dl_device)) != (CPU, 0):
            raise BufferError(
                f"__dlpack__: a tensor on {self._key.device} cannot be given as one on {tuple(dl_device)}"
            )
        self, copy = self.to("cpu"), False
    tensor = self.clone() if copy else self
    if tensor._key.bits:
        raise BufferError(
            "__dlpack__: Can't export tensors with the conjugate or negative bit set; use resolve_conj().resolve_neg()"
        )
    array, options = tensor._array, {}
    if isinstance(array, numpy.ndarray):
        if stream not in (None, -1):
            raise AssertionError(f"__dlpack__: stream should be None on cpu. It may be -1 too, got {stream!r}")
        if max_version is not None and numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0":
            options = {"max_version": max_version}  # without it the capsule is of the oldest version, which all take
    else:
        given: dict[str, Any] = {"stream": stream, "max_version": max_version}
        options = {name: value for name, value in given.items() if value is not None}
    code = CODES.get(tensor._key.dtype)
    with backend_of(self._key.device).guard(self._key.device.index):
        if code is None:
            return array.__dlpack__(**options)
        capsule = array.view(f"u{array.itemsize}").__dlpack__(**options)
    data_type(capsule).code = code
    return capsule


@method
def __dlpack_device__(self: Any) -> tuple[int, int]:
    """Where the memory is: DLPack's number of the device type, and the index."""
    where = self._key.device
    if where.type not in DEVICE_TYPES:
        raise BufferError(f"__dlpack_device__: DLPack has no number for {where}; use .cpu() first")
    return DEVICE_TYPES[where.type], where.index or 0


# The Python array API ------------------------------------------------------------------------------------

ARRAY_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


@method
def __array_namespace__(self: Any, *, api_version: str | None = None) -> Any:
    """The functions of the Python array API standard for this tensor: the module `weft.array_api`.

    Parameters
    ----------
    api_version : str, optional
        The version of the standard that the caller needs, ``"2024.12"`` or an earlier one.

    Raises
    ------
    ValueError
        If the namespace does not conform to that version.

    Examples
    --------
    >>> x = weft.tensor([3.0, 4.0])
    >>> x.__array_namespace__().linalg.vector_norm(x)
    tensor(5.)
    """
    if api_version not in (None, *ARRAY_API_VERSIONS):
        raise ValueError(
            f"__array_namespace__: version {api_version!r} of the array API is not supported; ask for one of "
            f"{', '.join(ARRAY_API_VERSIONS)}"
        )
    return weft.array_api


@method
def to_device(self: Any, device: Device, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device, as the array API spells ``to``.

    Parameters
    ----------
    device : device or str
    stream : None
        Copies are in the order of the device's current one.

    Raises
    ------
    ValueError
        For a stream.

    Examples
    --------
    >>> weft.ones(2).to_device("cpu")
    tensor([1., 1.])
    """
    if stream is not None:
        raise ValueError(f"to_device: stream must be None, got {stream!r}; copies go with the device's current stream")
    return self.to(device)


# Python's numbers ----------------------------------------------------------------------------------------


@method
def item(self: Any) -> Number:
    """Return the only element as a Python number.

    Raises
    ------
    RuntimeError
        If there is not exactly one.

    Examples
    --------
    >>> weft.tensor([2.5]).item()
    2.5
    """
    array = self._array
    if array.size != 1:
        raise RuntimeError(f"item: a Tensor with {array.size} elements cannot be converted to Scalar; use .tolist()")
    if state.intercepting and is_watched():
        return read_watched(self, "core::item", lambda: number_of(self))
    if type(self)._dispatches and dispatching((self,)):
        return lower(operations["core::item"], {"input": self})
    return number_of(self)


def number_of(tensor: Any) -> Any:
    """The number that the tensor has.

    Raises
    ------
    RuntimeError
        If it is on the meta device, and has none.
    """
    try:
        return host_array(tensor).item()
    except NotImplementedError as error:
        raise without_number(tensor, error) from None


def without_number(tensor: Any, error: Exception) -> Exception:
    """The error for reading a number of a tensor on the meta device; other tensors' errors as they are."""
    return RuntimeError("Tensor.item() cannot be called on meta tensors") if tensor.is_meta else error


@method
def tolist(self: Any) -> Any:
    """Return the elements as Python numbers in nested lists; of a 0-d tensor the number."""
    if state.intercepting and is_watched():
        return read_watched(self, "core::tolist", lambda: host_array(self).tolist())
    return host_array(self).tolist()


ARRAY = numpy.ndarray


@method
def __bool__(self: Any) -> bool:
    array = self._array
    size = array.size
    if size != 1:
        count = "no values" if size == 0 else "more than one value"
        raise RuntimeError(
            f"__bool__: Boolean value of Tensor with {count} is ambiguous; use .any() or .all() (shape "
            f"{list(array.shape)})"
        )
    if self._key.wrapped:
        refuse_values("bool()", self)
    try:
        if state.intercepting or type(self)._dispatches:
            return bool(item(self))
        return bool(array if type(array) is ARRAY else number_of(self))
    except NotImplementedError as error:
        raise without_number(self, error) from None


def scalar(self: Any, name: str) -> Any:
    if self._array.size != 1:
        raise ValueError(
            f"{name}: only one element tensors can be converted to Python scalars; got shape {list(self._array.shape)}"
        )
    return item(self) if state.intercepting or type(self)._dispatches else number_of(self)


def real_scalar(self: Any, name: str) -> Any:
    value = scalar(self, name)
    if not isinstance(value, complex):
        return value
    if value.imag:
        raise RuntimeError(f"{name}: value cannot be converted to a real number without overflow: {value}")
    return value.real


@method
def __float__(self: Any) -> float:
    warn_of_history(self)
    return float(real_scalar(self, "__float__"))


@method
def __int__(self: Any) -> int:
    return int(real_scalar(self, "__int__"))


@method
def __complex__(self: Any) -> complex:
    warn_of_history(self)
    return complex(scalar(self, "__complex__"))


@method
def __index__(self: Any) -> int:
    if self._array.size != 1 or self._key.dtype.category > INTEGER:
        raise TypeError(
            "__index__: only integer tensors of a single element can be converted to an index; got "
            f"{self._key.dtype} of shape {list(self._array.shape)}"
        )
    return int(item(self) if state.intercepting or type(self)._dispatches else number_of(self))


@method
def __contains__(self: Any, element: Any) -> bool:
    if not isinstance(element, TensorBase | int | float | complex):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool((self == element).any())


Operation("core::tensor", tensor)
Operation("core::from_numpy", from_numpy)
Operation("core::frombuffer", frombuffer)
for _method in (item, tensor_numpy, tolist):
    Method(f"core::{_method.__name__.removeprefix('tensor_')}", _method)
