"""CuPy's functions: its parameters, and what it refuses, waits for and sends; NumPy or SciPy compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from cupy_stand_in import cuda, interface
from cupy_stand_in.array import BFLOAT16, check_sort, ndarray, of_interface, supported, unwrap, wrap
from cupy_stand_in.events import note

# What says something of arrays, and makes none.
INQUIRIES = frozenset(
    "shape ndim size result_type can_cast promote_types issubdtype iscomplexobj isrealobj isscalar broadcast_shapes "
    "finfo iinfo min_scalar_type isfortran common_type may_share_memory shares_memory".split()
)
# What must know values on the host, in most of these since the size of the result depends on them.
WAITS = frozenset(
    "nonzero argwhere flatnonzero unique unique_values unique_counts unique_inverse unique_all bincount extract "
    "compress setdiff1d union1d intersect1d trim_zeros histogram delete array_repr array2string array_str "
    "array_equal array_equiv allclose".split()
)
FACTORIES = frozenset("empty zeros ones full eye identity arange linspace logspace tri indices".split())
UNTOLD = {"cupy.from_dlpack": "(array, *, device=, copy=)"}  # parameters that a compiled function does not tell
NO_BFLOAT16 = frozenset("isin in1d unique lexsort partition argpartition round around median percentile".split())


class Function:
    """A function of CuPy's.

    Parameters
    ----------
    path : str
        Its full name.
    described : str or None
        Its parameters, by the table; None if these are not known.
    implementation : callable or None
        What computes, on NumPy's arrays.
    """

    def __init__(self, path: str, described: str | None, implementation: Callable[..., Any] | None) -> None:
        self.path, self.implementation = path, implementation
        self.__module__, _, self.__name__ = path.rpartition(".")
        described = UNTOLD.get(path, described)
        self.signature = None if described is None else interface.signature(described)
        self.special = SPECIAL.get(self.__name__) if self.__module__ == "cupy" else SPECIAL.get(path)

    def __call__(self, *args: Any, **options: Any) -> Any:
        note("call", self.path)
        given = dict(options)
        if self.signature is not None:
            try:
                given = self.signature.bind(*args, **options).arguments
            except TypeError as error:
                raise TypeError(f"{self.path}: {error}") from None
        if self.special is not None:
            return self.special(self, given)
        if self.implementation is None:
            raise NotImplementedError(f"the stand-in has nothing to compute {self.path} by")
        if self.__name__ in INQUIRIES:
            return self.implementation(*bare(args), **bare(options))
        self.refuse(args, options)
        if self.__name__ in WAITS:
            note("wait", self.__name__)
        return self.compute(args, options)

    def refuse(self, args: Any, options: Any) -> None:
        """Raise for dtypes that CuPy has no kernel for."""
        outside = self.__module__ != "cupy" and not self.__module__.startswith("cupy.lib")
        without = outside or self.__name__ in NO_BFLOAT16
        if without and any(each.dtype == BFLOAT16 for each in arrays_in((args, options))):
            raise TypeError(f"{self.path}: bfloat16 is not supported")
        if self.__name__ in FACTORIES and options.get("dtype") is not None:
            supported(options["dtype"])
        if self.path in ("cupy.empty", "cupy.zeros", "cupy.ones") and isinstance(args[0], int | tuple | list):
            self.reserve(args[0], args[1] if len(args) > 1 else options.get("dtype"))

    def reserve(self, shape: Any, dtype: Any) -> None:
        """Refuse an array that there is no memory for, before NumPy takes any."""
        sizes = shape if isinstance(shape, tuple | list) else (shape,)
        cuda.alloc(math.prod(sizes) * numpy.dtype(dtype or float).itemsize)

    def compute(self, args: Any, options: Any) -> Any:
        """The result of NumPy's function, as views where it is one."""
        out = options.pop("out", None)
        with numpy.errstate(all="ignore"):
            result = self.implementation(*unwrap(args), **unwrap(options))  # type: ignore[misc]
        if out is not None:
            unwrap(out)[...] = result
            return out
        return as_views(result, next(arrays_in(args), None))


def as_views(result: Any, source: ndarray | None) -> Any:
    """Results as arrays; those in the memory of the first argument are its views."""
    if isinstance(result, tuple | list):
        made = [as_views(each, source) for each in result]
        return made if isinstance(result, list) else tuple(made)
    if isinstance(result, numpy.ndarray) and source is not None:
        return source.view_of(result)
    return wrap(result)


def bare(value: Any) -> Any:
    """NumPy's arrays inside, from any device and beside NumPy's own."""
    if isinstance(value, ndarray):
        return value.host
    if type(value) in (tuple, list):
        return type(value)(map(bare, value))
    return {name: bare(each) for name, each in value.items()} if type(value) is dict else value


def arrays_in(value: Any) -> Any:
    """All of the stand-in's arrays in arguments."""
    if isinstance(value, ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from arrays_in(each)
    elif isinstance(value, dict):
        yield from arrays_in(tuple(value.values()))


# Functions that are not NumPy's with other arrays

SPECIAL: dict[str, Callable[[Function, dict[str, Any]], Any]] = {}


def special(*names: str) -> Callable[[Any], Any]:
    """Register what computes the functions of these names, given the arguments by parameter."""

    def register(function: Any) -> Any:
        SPECIAL.update(dict.fromkeys(names, function))
        return function

    return register


@special("asarray", "array", "ascontiguousarray", "asanyarray", "asfortranarray")
def converted(function: Function, given: dict[str, Any]) -> Any:
    """An array of anything: from the host it is an upload; of a list of arrays a concatenation."""
    source = given.get("a", given.get("obj", given.get("object")))
    dtype = given.get("dtype")
    dtype = None if dtype is None else supported(dtype)
    if isinstance(source, ndarray):
        return converted_on_device(function.__name__, source, dtype, given)
    if hasattr(source, "__cuda_array_interface__"):
        return of_interface(source)
    parts = list(arrays_in(source)) if isinstance(source, list | tuple) else []
    if not parts:
        note("upload", f"{function.__name__} of {type(source).__name__}")
    if given.get("blocking"):
        note("wait", f"{function.__name__} with blocking=True")
    order = "F" if function.__name__ == "asfortranarray" else given.get("order") or "C"
    made = numpy.array(bare(source), dtype, order=order, ndmin=given.get("ndmin") or 0)  # type: ignore[call-overload]
    return wrap(numpy.ascontiguousarray(made) if function.__name__ == "ascontiguousarray" else made)


def converted_on_device(name: str, source: ndarray, dtype: Any, given: dict[str, Any]) -> ndarray:
    """The array itself where it is what is asked for."""
    copy = given.get("copy")
    copy = name == "array" if copy is None else copy
    host = source.host
    if name == "ascontiguousarray":
        return (
            source
            if dtype in (None, host.dtype) and host.flags.c_contiguous and host.ndim
            else wrap(numpy.array(numpy.ascontiguousarray(host, dtype)))
        )
    order = "F" if name == "asfortranarray" else given.get("order")
    if not copy and dtype in (None, host.dtype) and (order in (None, "K", "A") or (order == "F" and host.flags.fnc)):
        return source
    with numpy.errstate(all="ignore"):
        made = numpy.array(host, dtype, copy=True if copy else None, order=order or "K")  # type: ignore[call-overload]
    return source.view_of(made) if not copy else wrap(numpy.array(made, ndmin=given.get("ndmin") or 0))


@special("asnumpy")
def to_host(function: Function, given: dict[str, Any]) -> Any:
    """The values on the host."""
    source = given["a"]
    return source.get(order=given.get("order") or "C") if isinstance(source, ndarray) else numpy.asarray(source)


class HostCapsule:
    """A DLPack capsule of a device's array, as one of the host, where its values are."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@special("from_dlpack")
def from_dlpack(function: Function, given: dict[str, Any]) -> Any:
    """An array over another library's memory on a device."""
    source = given["array"]
    kind, index = source.__dlpack_device__()
    if kind == 1:
        raise TypeError("CPU arrays cannot be directly imported to CuPy.")
    if kind not in (2, 13):
        raise TypeError(f"Unsupported array type: {kind}")
    with cuda.Device(index):
        stream = cuda.get_current_stream().ptr or 1
        host = numpy.from_dlpack(HostCapsule(source.__dlpack__(stream=stream, max_version=(1, 0))))
        memory = cuda.UnownedMemory(host.ctypes.data, host.nbytes, host, index)
        return ndarray.over(host, memory)


@special("where")
def where(function: Function, given: dict[str, Any]) -> Any:
    """A choice between two, which is a kernel; of a condition alone the positions, which are waited for."""
    if given.get("x") is None:
        note("wait", "where of a condition alone")
        return wrap(numpy.where(unwrap(given["condition"])))
    found = interface.find("cupy")
    condition = given["condition"]
    if not isinstance(condition, ndarray | bool | int | float | numpy.generic):
        raise TypeError(f"where: Unsupported type {type(condition)}")
    return found._where(
        condition.astype("?") if isinstance(condition, ndarray) else bool(condition), given["x"], given["y"]
    )


@special("repeat")
def repeat(function: Function, given: dict[str, Any]) -> Any:
    """By a number or a list; an array of the device cannot be read here."""
    if isinstance(given["repeats"], ndarray):
        raise ValueError("cupy.ndarray cannot be specified as `repeats` argument.")
    return wrap(numpy.repeat(unwrap(given["a"]), given["repeats"], given.get("axis")))


@special("sort", "argsort")
def sort(function: Function, given: dict[str, Any]) -> Any:
    """Stable, as thrust is."""
    check_sort(given["a"], given.get("kind"))
    axis = given.get("axis", -1)
    return wrap(getattr(numpy, function.__name__)(unwrap(given["a"]), axis=axis, kind="stable"))


@special("take")
def take(function: Function, given: dict[str, Any]) -> Any:
    """Reads at positions, which wrap around."""
    array, axis = unwrap(given["a"]), given.get("axis")
    if isinstance(given["indices"], numpy.ndarray | list | tuple):
        note("upload", "take's indices")
    positions, size = bare(given["indices"]), array.size if axis is None else array.shape[axis]
    if numpy.size(positions) and size and (numpy.min(positions) < -size or numpy.max(positions) >= size):
        note("silent", "an index out of range wraps around")
    result = numpy.take(array, positions, axis, mode="wrap" if size else "raise")
    if given.get("out") is None:
        return wrap(result)
    unwrap(given["out"])[...] = result
    return given["out"]


@special("matmul")
def matmul(function: Function, given: dict[str, Any]) -> Any:
    """Products of matrices; batched, bfloat16 has none."""
    operands, options = given["args"], {name: value for name, value in given.items() if name != "args"}
    if any(each.dtype == BFLOAT16 for each in operands) and any(each.ndim > 2 for each in operands):
        raise TypeError("cupy.matmul: bfloat16 with more than two dimensions has no kernel")
    return function.compute(operands, options)


@special("cupy.lib.stride_tricks.as_strided")
def as_strided(function: Function, given: dict[str, Any]) -> Any:
    """A view by shape and strides, which knows no base."""
    source = given["x"]
    shape, strides = given.get("shape"), given.get("strides")
    shape, strides = source.shape if shape is None else shape, source.strides if strides is None else strides
    return ndarray(shape, source.dtype, source.data, strides)
