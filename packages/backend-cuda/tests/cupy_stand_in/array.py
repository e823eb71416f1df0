"""``cupy.ndarray`` over NumPy's arrays: CuPy's members, refusals and copies, in memory of a device that is counted."""

from __future__ import annotations

import ctypes
import math
import operator
from typing import Any

import ml_dtypes
import numpy

from cupy_stand_in import cuda, interface
from cupy_stand_in.events import note
from cupy_stand_in.indices import as_numpy_index

BFLOAT16 = numpy.dtype(ml_dtypes.bfloat16)
SUPPORTED = frozenset("?bBhHiIlLqQefdFDE")


def supported(dtype: Any) -> numpy.dtype[Any]:
    """A dtype, if CuPy has arrays of it; float8 it has not."""
    dtype = numpy.dtype(dtype)
    if dtype != BFLOAT16 and (dtype.char not in SUPPORTED or dtype.type.__module__ != "numpy"):
        raise ValueError(f"Unsupported dtype {dtype}")
    return dtype


def wrap(value: Any) -> Any:
    """NumPy's result as CuPy gives it: arrays, 0-d ones in place of scalars, in new memory."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        return ndarray.of(numpy.asarray(value))
    if isinstance(value, tuple | list):
        return type(value)(map(wrap, value)) if type(value) in (tuple, list) else tuple(map(wrap, value))
    return value


def unwrap(value: Any) -> Any:
    """NumPy's array inside each array; NumPy's own arrays do not mix in."""
    if isinstance(value, ndarray):
        if value.device_id != cuda.current.device:
            raise ValueError(
                f"Array device must be same as the current device: array device = {value.device_id} while current = "
                f"{cuda.current.device}"
            )
        return value.host
    if isinstance(value, numpy.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if type(value) in (tuple, list):
        return type(value)(map(unwrap, value))
    return {name: unwrap(each) for name, each in value.items()} if type(value) is dict else value


def in_memory(pointer: Any, shape: Any, dtype: Any, strides: Any = None, order: str = "C") -> numpy.ndarray:
    """NumPy's array at an address, which keeps the memory."""
    if 0 in shape:
        return numpy.empty(shape, dtype, order)  # type: ignore[call-overload]
    low, span = 0, math.prod(shape) * dtype.itemsize
    if strides is not None:
        reach = [(size - 1) * step for size, step in zip(shape, strides)]
        low = sum(each for each in reach if each < 0)
        span = dtype.itemsize + sum(each for each in reach if each > 0) - low
    held = (ctypes.c_char * span).from_address(pointer.ptr + low)
    held.memory = pointer.mem
    return numpy.ndarray(shape, dtype, held, -low, strides, order)  # type: ignore[call-overload]


class Flags:
    """How an array lies in memory."""

    def __init__(self, array: numpy.ndarray, owns: bool) -> None:
        self.c_contiguous, self.f_contiguous = array.flags.c_contiguous, array.flags.f_contiguous
        self.owndata = owns
        self.forc, self.fnc = self.f_contiguous or self.c_contiguous, self.f_contiguous and not self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        found = {"C_CONTIGUOUS": self.c_contiguous, "F_CONTIGUOUS": self.f_contiguous, "OWNDATA": self.owndata}
        return found[name]


class ndarray:
    """An array on a device. ``host`` is NumPy's array of its values, which weft never sees."""

    __array_priority__ = 100
    base: Any = None  # also of the class, as CuPy's has it: the engine asks there which views it may make by itself
    __hash__ = None  # type: ignore[assignment]

    def __new__(
        cls, shape: Any = (), dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> ndarray:
        dtype = supported(dtype)
        shape = tuple(map(operator.index, shape)) if isinstance(shape, tuple | list) else (operator.index(shape),)
        if any(size < 0 for size in shape):
            raise ValueError("Negative dimensions are not allowed")
        if memptr is None:
            memptr = cuda.alloc(math.prod(shape) * dtype.itemsize)
        return cls.over(in_memory(memptr, shape, dtype, strides, order or "C"), memptr.mem)

    @classmethod
    def over(cls, host: numpy.ndarray, memory: Any, base: ndarray | None = None) -> ndarray:
        """The array of NumPy's array in a device's memory."""
        array = object.__new__(cls)
        array.host, array.memory, array.base, array.device_id = host, memory, base, memory.device_id
        return array

    @classmethod
    def of(cls, host: Any) -> ndarray:
        """The array of a result: in new memory of the current device, dense."""
        host = host if isinstance(host, numpy.ndarray) else numpy.asarray(host)
        pointer = cuda.alloc(host.size * supported(host.dtype).itemsize)
        strides = host.strides if host.flags.forc else numpy.empty_like(host).strides
        placed = in_memory(pointer, host.shape, host.dtype, strides)
        placed[...] = host
        return cls.over(placed, pointer.mem)

    def view_of(self, host: Any) -> ndarray:
        """The array of a result: a view if it shares this array's memory."""
        host = host if isinstance(host, numpy.ndarray) else numpy.asarray(host)
        if host.size == 0 or numpy.may_share_memory(host, self.host):
            supported(host.dtype)
            return ndarray.over(host, self.memory, self if self.base is None else self.base)
        return ndarray.of(host)

    # What it is

    shape = property(lambda self: self.host.shape, lambda self, shape: setattr(self.host, "shape", shape))
    strides = property(lambda self: self.host.strides)
    dtype = property(lambda self: self.host.dtype)
    ndim = property(lambda self: self.host.ndim)
    size = property(lambda self: self.host.size)
    itemsize = property(lambda self: self.host.itemsize)
    nbytes = property(lambda self: self.host.nbytes)
    flags = property(lambda self: Flags(self.host, self.base is None))
    device = property(lambda self: cuda.Device(self.device_id))

    @property
    def data(self) -> cuda.MemoryPointer:
        """Where the first element is."""
        pointer = cuda.MemoryPointer.__new__(cuda.MemoryPointer)
        pointer.mem, pointer.ptr, pointer.device_id = self.memory, self.host.ctypes.data, self.device_id
        return pointer

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.dtype == BFLOAT16:
            raise AttributeError("bfloat16 is not supported by __cuda_array_interface__")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "stream": cuda.get_current_stream().ptr or 1,
            "version": 3,
            "strides": None if self.flags.c_contiguous else self.strides,
            "data": (self.host.ctypes.data, False),
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device_id

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        if stream == 0:
            raise ValueError("the legacy default stream is 1 in DLPack")
        here = cuda.get_current_stream(self.device_id)
        if stream != -1 and (stream or 1) != (here.ptr or 1):
            note("order", f"stream {0 if stream in (None, 1) else stream} after event in stream {here.ptr}")
        return self.host.__dlpack__(max_version=max_version)

    def __len__(self) -> int:
        return len(self.host)

    # To the host

    def read(self, how: str) -> numpy.ndarray:
        """NumPy's array, after waiting for it."""
        note("wait", how)
        return self.host

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> numpy.ndarray:
        """A copy on the host."""
        if not blocking:
            out[...] = self.host  # from now on, as far as the program knows
            return out
        if out is not None:
            out[...] = self.read("get")
            return out
        return self.read("get").copy(order)

    def item(self) -> Any:
        """The only element, as Python's number."""
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.read("item").item()

    def tolist(self) -> Any:
        """Lists of Python's numbers."""
        return self.read("tolist").tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """The values' bytes."""
        return self.read("tobytes").tobytes(order)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return bool(self.read("bool"))

    def __int__(self) -> int:
        return int(self.read("int"))

    def __float__(self) -> float:
        return float(self.read("float"))

    def __complex__(self) -> complex:
        return complex(self.read("complex"))

    def __repr__(self) -> str:
        return repr(self.read("repr"))

    def __format__(self, form: str) -> str:
        return format(self.read("format"), form)

    def __array__(self, dtype: Any = None) -> None:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
            "explicitly."
        )

    def set(self, arr: numpy.ndarray, stream: Any = None) -> None:
        """Copy from an array of the host."""
        if not isinstance(arr, numpy.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype or arr.shape != self.shape:
            raise ValueError(f"Shape or dtype mismatch: {arr.shape} {arr.dtype}, {self.shape} {self.dtype}")
        note("upload", "set")
        self.host[...] = arr

    # Views

    T = property(lambda self: self if self.ndim < 2 else self.view_of(self.host.T))
    mT = property(lambda self: self.view_of(self.host.mT))

    @property
    def real(self) -> ndarray:
        """The real parts: a view."""
        return self.view_of(self.host.real) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        """The imaginary parts: a view of complex numbers, else zeros."""
        return self.view_of(self.host.imag) if self.dtype.kind == "c" else wrap(numpy.zeros_like(self.host))

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def flat(self) -> Any:
        """CuPy's iterator, which only some of NumPy's uses of it work with."""
        raise NotImplementedError("the stand-in has no flat")

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> ndarray:
        """A view of another shape where there is one, else a copy."""
        result = self.view_of(self.host.reshape(*unwrap(shape), order=order))
        if result.base is None:
            note("call", "ndarray.reshape")
        return result

    def transpose(self, *axes: Any) -> ndarray:
        """A view with its axes permuted."""
        return self.view_of(self.host.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> ndarray:
        """A view with two axes exchanged."""
        return self.view_of(self.host.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> ndarray:
        """A view without axes of size 1; the array itself, if it has none."""
        host = self.host.squeeze(axis)
        return self if host.ndim == self.ndim else self.view_of(host)

    def ravel(self, order: str = "C") -> ndarray:
        """A view with one axis where there is one, else a copy."""
        return self.view_of(self.host.ravel(order))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
        """A view of diagonals, which unlike NumPy's may be written to."""
        found = self.host.diagonal(offset, axis1, axis2)
        return self.view_of(numpy.lib.stride_tricks.as_strided(found, found.shape, found.strides))

    def view(self, dtype: Any = None, array_class: Any = None) -> ndarray:
        """The same bytes as another dtype."""
        return self.view_of(self.host.view() if dtype is None else self.host.view(supported(dtype)))

    def reduced_view(self, dtype: Any = None) -> ndarray:
        """A view with as few axes as its strides allow; here the array."""
        return self

    # Copies and writes

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        """The values in another dtype."""
        if casting is not None and not numpy.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype} to {numpy.dtype(dtype)} by the rule {casting}")
        note("call", "ndarray.astype")
        with numpy.errstate(all="ignore"):
            result = unwrap(self).astype(supported(dtype), order=order, copy=copy)  # type: ignore[call-overload]
        return self if result is self.host else wrap(result)

    def copy(self, order: str = "C") -> ndarray:
        """The values in new memory, on the current device."""
        note("call", "ndarray.copy")
        return wrap(self.host.copy(order))

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()

    def fill(self, value: Any) -> None:
        """Write one value everywhere."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        """Sort in place, which only contiguous memory allows."""
        if not self.host.flags.c_contiguous:
            raise NotImplementedError("Sorting non-contiguous array is not supported.")
        check_sort(self, kind)
        note("call", "ndarray.sort")
        self.host.sort(axis, kind="stable")

    def scatter_add(self, slices: Any, value: Any) -> None:
        """Add at positions that may repeat."""
        interface.find("cupy").add.at(self, slices, value)

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> ndarray:
        index, masks = as_numpy_index(key, self.host, ndarray)
        if masks:
            note("wait", "a mask read")
        if any(isinstance(part, numpy.ndarray) for part in index):
            unwrap(self)  # a kernel reads it
            note("call", "ndarray.__getitem__")
        elif not any(part is ... for part in index):
            index = (*index, ...)  # of numbers alone NumPy would make a copy
        return self.view_of(self.host[index])

    def __setitem__(self, key: Any, value: Any) -> None:
        note("call", "ndarray.__setitem__")
        index, masks = as_numpy_index(key, unwrap(self), ndarray)
        arrays = sum(isinstance(part, numpy.ndarray) for part in index)
        if isinstance(value, numpy.ndarray) and value.ndim == 0 and not arrays:
            value = value.item()  # goes as a kernel's argument
        if isinstance(value, numpy.ndarray | list | tuple):
            raise TypeError(f"Unsupported type {type(value)}")
        if masks and arrays > 1:
            note("wait", "a mask written beside other indices")
        with numpy.errstate(all="ignore"):
            self.host[index] = unwrap(value)

    # NumPy's functions, called by NumPy's name

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        target = getattr(interface.find("cupy"), ufunc.__name__, None)
        target = target or getattr(interface.find("cupyx.scipy.special"), ufunc.__name__, None)
        if target is None:
            return NotImplemented
        if options.get("out") is not None:
            options["out"] = options["out"][0]
        return (target if method == "__call__" else getattr(target, method))(*inputs, **options)

    def __array_function__(self, function: Any, classes: Any, args: Any, options: Any) -> Any:
        if any(not issubclass(each, ndarray | numpy.ndarray) for each in classes):
            return NotImplemented
        try:
            target = getattr(interface.find(".".join(["cupy", *function.__module__.split(".")[1:]])), function.__name__)
        except (AttributeError, KeyError):
            return NotImplemented
        return target(*args, **options)


def of_interface(source: Any) -> Any:
    """An array over memory that an object tells of, without a copy."""
    described = source.__cuda_array_interface__
    begin, _ = described["data"]
    kind = numpy.dtype(described["typestr"])
    memory = cuda.UnownedMemory(begin, math.prod(described["shape"]) * kind.itemsize, source)
    return ndarray(described["shape"], kind, cuda.MemoryPointer(memory, 0), described.get("strides"))


def check_sort(array: ndarray, kind: Any) -> None:
    """Refuse what thrust does not sort."""
    if kind not in (None, "stable"):
        raise ValueError("`kind` must be None or 'stable'")
    if array.dtype == BFLOAT16:
        raise TypeError("Sorting arrays with dtype 'bfloat16' is not supported")


def operator_method(name: str, reflected: bool = False, in_place: bool = False) -> Any:
    """A method that is a ufunc's: ``x + y``, ``y + x``, ``x += y``."""

    def call(self: ndarray, other: Any) -> Any:
        ufunc = getattr(interface.find("cupy"), name)
        return ufunc(other, self) if reflected else ufunc(self, other, self) if in_place else ufunc(self, other)

    return call


def array_method(name: str) -> Any:
    """A method that is a function's: the function of this name, with the method's parameters."""
    bound = interface.signature(interface.TABLE["ndarray"][name])

    def call(self: ndarray, *args: Any, **options: Any) -> Any:
        bound.bind(*args, **options)
        return getattr(interface.find("cupy"), FUNCTIONS.get(name, name))(self, *args, **options)

    return call


FUNCTIONS = {"conjugate": "conj", "flatten": "array"}
METHODS = (
    "all any argmax argmin argpartition argsort choose clip compress conj conjugate cumprod cumsum dot max mean min "
    "nonzero partition prod ptp put repeat round searchsorted std sum take trace var"
).split()
ARITHMETIC = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "matmul": "matmul",
}
COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}

for _name in METHODS:
    setattr(ndarray, _name, array_method(_name))
for _name, _ufunc in ARITHMETIC.items():
    setattr(ndarray, f"__{_name}__", operator_method(_ufunc))
    setattr(ndarray, f"__r{_name}__", operator_method(_ufunc, reflected=True))
    if _name != "matmul":
        setattr(ndarray, f"__i{_name}__", operator_method(_ufunc, in_place=True))
for _name, _ufunc in COMPARISONS.items():
    setattr(ndarray, f"__{_name}__", operator_method(_ufunc))
for _name, _ufunc in UNARY.items():
    setattr(ndarray, f"__{_name}__", lambda self, ufunc=_ufunc: getattr(interface.find("cupy"), ufunc)(self))
ndarray.flatten = lambda self, order="C": wrap(self.host.flatten(order))  # type: ignore[attr-defined]
