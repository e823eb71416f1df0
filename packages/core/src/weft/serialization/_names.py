"""What PyTorch's files call things, and what stands for it in weft; no other module knows both.

A `Reader` builds what a file names, once for each file. `reduce` gives what a file says of an
object of weft.
"""

from __future__ import annotations

import codecs
import functools
import importlib
import math
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy

from weft._devices.devices import device
from weft._dtypes.dtypes import FLOAT8_DTYPES, NAMES
from weft._dtypes.dtypes import dtype as Dtype
from weft._engine.unresolved import CONJUGATE, NEGATIVE
from weft._tensor import layout
from weft._tensor.base import Tensor
from weft._tensor.conjugation import bits_of, with_bits
from weft._tensor.memory import is_wrapper
from weft._tensor.size import Size
from weft._tensor.subclasses import as_subclass
from weft.serialization._budget import Budget
from weft.serialization._options import makes_fakes_real
from weft.serialization._unpickler import ITEM, Builder, SafeUnpickler, check_attribute, described
from weft.storage import TypedStorage, UntypedStorage, layout_of, tensor_of

# The storage classes that files name. Tensors of other dtypes are views of an UntypedStorage.
STORAGE_DTYPES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
LEGACY_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C  # the first pickle of a file of before PyTorch 1.6
LEGACY_PROTOCOL_VERSION = 1001
STORAGE_NAMES = {dtype: name for name, dtype in STORAGE_DTYPES.items()}
DTYPES = (*STORAGE_NAMES, "uint16", "uint32", "uint64", *[each.name for each in FLOAT8_DTYPES])
NUMPY_DTYPES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")  # plain numbers
LAYOUTS = {f"torch.{kind.name}": kind for kind in vars(layout).values() if isinstance(kind, layout.layout)}
DIMENSIONS = 64  # what NumPy has
BITS = {"neg": NEGATIVE, "conj": CONJUGATE}  # what files say of views
MEMORY_OF_A_TENSOR, MEMORY_OF_A_STATE = 140, 300  # bytes besides the object and its elements, and for attributes
STEPS_OF_A_TENSOR, STEPS_OF_A_PARAMETER, STEPS_OF_A_SUBCLASS, STEPS_OF_A_SPARSE = 100, 150, 300, 3000
STEPS_OF_AN_ATTRIBUTE = 5
OWN = (
    "_sparse_",
    "_masked_",
    "_inner_",
    "_nested_",
)  # how attributes begin by which weft's own kinds of tensors keep their parts
FACTORIES = (list, dict, set, tuple, int, float, bool, str, OrderedDict)  # what a defaultdict may call


class TorchName:
    """A global of a file that PyTorch reads, ``torch._utils._rebuild_tensor_v2``."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *args: Any) -> Any:
        """Never: pickle asks that what it writes as a function can be called."""
        raise TypeError(f"{self.module}.{self.name} is only a name")


REBUILD_TENSOR = TorchName("torch._utils", "_rebuild_tensor_v2")
REBUILD_TENSOR_OF_BYTES = TorchName("torch._utils", "_rebuild_tensor_v3")
REBUILD_META = TorchName("torch._utils", "_rebuild_meta_tensor_no_storage")
REBUILD_WRAPPER = TorchName("torch._utils", "_rebuild_wrapper_subclass")
REBUILD_PARAMETER = TorchName("torch._utils", "_rebuild_parameter")
REBUILD_PARAMETER_WITH_STATE = TorchName("torch._utils", "_rebuild_parameter_with_state")
REBUILD_SUBCLASS = TorchName("torch._tensor", "_rebuild_from_type_v2")
REBUILD_SPARSE = TorchName("torch._utils", "_rebuild_sparse_tensor")
LAYOUT = TorchName("torch.serialization", "_get_layout")
TENSOR = TorchName("torch", "Tensor")
SIZE = TorchName("torch", "Size")
DEVICE = TorchName("torch", "device")
UNTYPED_STORAGE = TorchName("torch.storage", "UntypedStorage")
STORAGES = {dtype: TorchName("torch", name) for dtype, name in STORAGE_NAMES.items()}
PARAMETER = TorchName("torch.nn.parameter", "Parameter")


# Writing -------------------------------------------------------------------------------------------------


def reduce(value: Any) -> Any:
    """What pickle writes of a tensor, a size, a device or a layout."""
    if isinstance(value, Tensor):
        if value.is_nested:
            raise TypeError("save: nested tensors have no form in the file; save values() and offsets(), or unbind()")
        return _reduce_sparse(value) if value.layout is not layout.strided else _reduce_tensor(_real(value))
    if isinstance(value, layout.layout):
        return LAYOUT, (f"torch.{value.name}",)
    if isinstance(value, Size):
        return SIZE, (tuple(value),)
    return DEVICE, (value.type,) if value.index is None else (value.type, value.index)


def _real(tensor: Any) -> Any:
    """The tensor; of a fake one a tensor of zeros, where that is asked for."""
    fakes = sys.modules.get("weft._subclasses.fake_tensor")
    if fakes is None or not isinstance(tensor, fakes.FakeTensor):
        return tensor
    if not makes_fakes_real():
        raise TypeError(
            "save: fake tensors have no values; within serialization.skip_data(materialize_fake_tensors=True) they are "
            "written as tensors of zeros"
        )
    return fakes.zeros_for(tensor)


def _reduce_sparse(tensor: Any) -> tuple[Any, ...]:
    """Indices and values; whether they require a gradient is not kept, as it is not by PyTorch."""
    if not tensor.is_sparse:
        compressed, plain = tensor._sparse_compressed, tensor._sparse_plain
        return REBUILD_SPARSE, (tensor.layout, (compressed, plain, tensor.values().detach(), Size(tensor.shape)))
    parts = (tensor._indices().detach(), tensor._values().detach(), Size(tensor.shape), tensor.is_coalesced())
    return REBUILD_SPARSE, (tensor.layout, parts)


def _reduce_tensor(tensor: Any) -> tuple[Any, ...]:
    state = dict(getattr(tensor, "__dict__", {}))
    parameter = parameter_class()
    kind = type(tensor)
    if kind is parameter:
        plain = _rebuild_and_arguments(tensor, requires_grad=False)
        inner = Reduced(*plain)
        if state:
            return REBUILD_PARAMETER_WITH_STATE, (inner, tensor.requires_grad, OrderedDict(), state)
        return REBUILD_PARAMETER, (inner, tensor.requires_grad, OrderedDict())
    function, arguments = _rebuild_and_arguments(tensor, tensor.requires_grad)
    if kind is Tensor and not state:
        return function, arguments
    return REBUILD_SUBCLASS, (function, TENSOR if kind is Tensor else kind, arguments, state)


def _rebuild_and_arguments(tensor: Any, requires_grad: bool) -> tuple[TorchName, tuple[Any, ...]]:
    name = tensor.dtype.name
    if is_wrapper(tensor):
        facts = (tuple(tensor.shape), tuple(tensor.stride()), 0, layout.strided, tensor.device)
        return REBUILD_WRAPPER, (type(tensor), tensor.dtype, *facts, requires_grad)
    if tensor.device.type == "meta":
        return REBUILD_META, (tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), requires_grad)
    storage, offset, size, stride = layout_of(tensor)
    geometry: tuple[Any, ...] = (offset, size, stride, requires_grad, OrderedDict())
    bits = bits_of(tensor)
    metadata = ({name: True for name, bit in BITS.items() if bits & bit},) if bits else ()
    if name in STORAGES:
        return REBUILD_TENSOR, (TypedStorage(wrap_storage=storage, dtype=tensor.dtype), *geometry, *metadata)
    return REBUILD_TENSOR_OF_BYTES, (storage, *geometry, tensor.dtype, *metadata)


class Reduced:
    """A call that is to stand in the pickle in place of an object."""

    def __init__(self, function: Any, arguments: tuple[Any, ...]) -> None:
        self.function = function
        self.arguments = arguments


def parameter_class() -> Any:
    """``weft.nn.Parameter`` if weft.nn has been imported: nothing else can have made one."""
    return getattr(sys.modules.get("weft.nn.parameter"), "Parameter", None)


# Reading -------------------------------------------------------------------------------------------------


class StorageType:
    """``torch.FloatStorage`` and its like within a file: a dtype, or None for bytes."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype


class Reader:
    """Builds the tensors of one file.

    Parameters
    ----------
    budget : Budget
        Of the whole load.
    swapped : bool
        The file's byte order is not this machine's.
    filled : bool
        Whether storages have their content when tensors are made of them. If not, `finish` is called later.
    """

    def __init__(self, budget: Budget, swapped: bool = False, filled: bool = True) -> None:
        self._budget = budget
        self._swapped = swapped
        self._filled = filled
        self._waiting: list[Callable[[], Any]] = []  # what needs the content of storages
        self._swapped_bytes: set[UntypedStorage] = set()
        self.values, self.builders = self._names()

    def _names(self) -> tuple[dict[str, Any], dict[Any, Builder]]:
        """What files name, and which of it is called."""
        functions: dict[str, Callable[..., Any]] = {
            "torch._utils._rebuild_tensor": self._tensor_v1,
            "torch._utils._rebuild_tensor_v2": self._tensor_v2,
            "torch._utils._rebuild_tensor_v3": self._tensor_v3,
            "torch._utils._rebuild_meta_tensor_no_storage": self._meta_tensor,
            "torch._utils._rebuild_wrapper_subclass": self._wrapper,
            "torch._utils._rebuild_parameter": self._parameter,
            "torch._utils._rebuild_parameter_with_state": self._parameter_with_state,
            "torch._tensor._rebuild_from_type_v2": self._subclass,
            "torch._utils._rebuild_sparse_tensor": self._sparse,
            "torch.serialization._get_layout": _layout_named,
        }
        values: dict[str, Any] = dict(functions)
        values["torch.Size"] = Size
        values["torch.device"] = device
        values["torch.Tensor"] = Tensor
        values["torch.storage.UntypedStorage"] = StorageType(None)
        for name, dtype in STORAGE_DTYPES.items():
            values[f"torch.{name}"] = values[f"torch.cuda.{name}"] = StorageType(NAMES[dtype])
        for dtype in DTYPES:
            values[f"torch.{dtype}"] = NAMES[dtype]
        builders = {function: _checked(function) for function in functions.values()}
        builders[Size] = lambda u, size=(): Size(_integers(size))
        builders[device] = _device
        return values, builders

    def finish(self) -> None:
        """Do what has waited for the content of the storages."""
        self._filled = True
        for action in self._waiting:
            action()

    def _when_filled(self, action: Callable[[], Any]) -> None:
        if self._filled:
            action()
        else:
            self._waiting.append(action)

    def _view(self, storage: Any, dtype: Any, offset: Any, size: Any, stride: Any) -> Any:
        """A view of a storage, none of whose elements lies outside."""
        self._budget.take(MEMORY_OF_A_TENSOR)
        self._budget.spend(STEPS_OF_A_TENSOR)
        (offset,) = _integers((offset,))
        return tensor_of(storage.untyped(), dtype, offset, _integers(size), _integers(stride))

    def _tensor_v1(self, storage: Any, offset: Any, size: Any, stride: Any) -> Any:
        if not isinstance(storage, TypedStorage):
            raise TypeError(f"a tensor is a view of a typed storage, got {type(storage).__name__}")
        return self._view(storage, storage.dtype, offset, size, stride)

    def _tensor_v2(
        self, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None
    ) -> Any:
        """A view of a typed storage. Hooks are functions of the program that saved: never restored."""
        return self._finish(self._tensor_v1(storage, offset, size, stride), requires_grad, metadata)

    def _tensor_v3(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        dtype: Any,
        metadata: Any = None,
    ) -> Any:
        """A view of bytes, as another dtype."""
        if not isinstance(storage, TypedStorage | UntypedStorage) or type(dtype) is not Dtype:
            raise TypeError(f"a tensor of {described(dtype)} is a view of a storage, got {type(storage).__name__}")
        untyped = storage.untyped()
        tensor = self._view(storage, dtype, offset, size, stride)
        if self._swapped and untyped not in self._swapped_bytes:
            self._swapped_bytes.add(untyped)
            self._when_filled(functools.partial(untyped.byteswap, dtype))
        return self._finish(tensor, requires_grad, metadata)

    def _finish(self, tensor: Any, requires_grad: Any, metadata: Any) -> Any:
        """What stands beside a tensor's geometry."""
        if metadata:
            tensor = self._with_bits(tensor, metadata)
        return tensor.requires_grad_() if requires_grad else tensor

    def _with_bits(self, tensor: Any, metadata: Any) -> Any:
        """A conjugate or negative view says so beside its memory. It takes no more of that."""
        if type(metadata) is not dict:
            raise TypeError(f"what stands beside a tensor is a dict, got {type(metadata).__name__}")
        self._budget.take(MEMORY_OF_A_TENSOR)
        self._budget.spend(STEPS_OF_A_TENSOR)
        return with_bits(tensor, sum(bit for name, bit in BITS.items() if metadata.get(name) is True))

    def _sparse(self, kind: Any, parts: Any) -> Any:
        """Coordinates and values. A claim to be in order is believed when it has been looked at."""
        if kind in (layout.sparse_csr, layout.sparse_csc, layout.sparse_bsr, layout.sparse_bsc):
            return self._compressed(kind, parts)
        if kind is not layout.sparse_coo:
            raise TypeError(f"a sparse tensor of layout {described(kind)}")
        if type(parts) is not tuple or not 3 <= len(parts) <= 4:
            raise TypeError(f"a sparse tensor is made of three or four parts, got {described(parts)}")
        indices, values, size = parts[:3]
        if not all(type(each) is Tensor for each in (indices, values)) or indices.dtype is not NAMES["int64"]:
            raise TypeError("a sparse tensor is made of a tensor of int64 and one of values")
        self._budget.take(MEMORY_OF_A_STATE + 2 * indices.nbytes)  # what looking at all coordinates takes
        self._budget.spend(STEPS_OF_A_SPARSE + indices.numel() // 10)
        sparse = importlib.import_module("weft.sparse._tensor")
        sparse.check_parts(indices, values)
        if min(_integers(size), default=0) < 0 or math.prod(size) >= 1 << 63:
            raise ValueError(f"a sparse tensor of size {described(size)}")
        sparse.check_size(indices[:, :0], values[:0], tuple(size))
        tensor = sparse.made(indices, values, Size(size), False)
        self._when_filled(functools.partial(_check_coordinates, tensor, len(parts) > 3 and bool(parts[3])))
        return tensor

    def _compressed(self, kind: Any, parts: Any) -> Any:
        """Compressed and plain indices and values, looked at when they are there."""
        if type(parts) is not tuple or len(parts) != 4 or not all(type(each) is Tensor for each in parts[:3]):
            raise TypeError(f"a compressed sparse tensor is made of three tensors and a size, got {described(parts)}")
        compressed, plain, values, size = parts
        self._budget.take(MEMORY_OF_A_STATE + 2 * (compressed.nbytes + plain.nbytes))
        self._budget.spend(STEPS_OF_A_SPARSE + (compressed.numel() + plain.numel()) // 10)
        check = importlib.import_module("weft.sparse._invariants")
        size = Size(_integers(size))
        check.check_structure(compressed, plain, values, tuple(size), kind)
        self._when_filled(functools.partial(check.check_compressed, compressed, plain, values, tuple(size), kind))
        return importlib.import_module("weft.sparse._compressed").made(compressed, plain, values, size, kind)

    def _meta_tensor(self, dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
        if type(dtype) is not Dtype:
            raise TypeError(f"a tensor without storage of dtype {described(dtype)}")
        self._budget.take(MEMORY_OF_A_TENSOR)
        self._budget.spend(STEPS_OF_A_TENSOR)
        reach = 1 + sum((n - 1) * step for n, step in zip(_integers(size), _integers(stride)))
        if min((*size, *stride), default=0) < 0 or reach * dtype.itemsize >= 1 << 63:
            raise ValueError(f"a tensor without storage of {len(size)} sizes that no memory has")
        weft = importlib.import_module("weft")
        return weft.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=bool(requires_grad))

    def _parameter(self, data: Any, requires_grad: Any, hooks: Any) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"a parameter of {described(data)}")
        self._budget.spend(STEPS_OF_A_PARAMETER)
        self._budget.take(MEMORY_OF_A_TENSOR)
        weft = importlib.import_module("weft")  # whose __getattr__ says how to install nn if it is missing
        return weft.nn.Parameter(data, bool(requires_grad))

    def _parameter_with_state(self, data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
        return self._with_attributes(self._parameter(data, requires_grad, hooks), state)

    def _wrapper(
        self, kind: Any, dtype: Any, size: Any, stride: Any, offset: Any, order: Any, device: Any, requires_grad: Any
    ) -> Any:
        if not isinstance(kind, type) or not issubclass(kind, Tensor):
            raise TypeError(f"{described(kind)} is no class of tensors")
        plain = self._meta_tensor(dtype, size, stride, False)  # which checks them
        geometry = {"strides": plain.stride(), "dtype": plain.dtype, "requires_grad": bool(requires_grad)}
        return Tensor._make_wrapper_subclass(kind, plain.shape, device=device, **geometry)

    def _subclass(self, function: Any, kind: Any, arguments: Any, state: Any) -> Any:
        if not callable(function) or function not in self.builders or isinstance(function, type):
            raise TypeError(f"{described(function)} rebuilds no tensor")
        if not isinstance(kind, type) or not issubclass(kind, Tensor):
            raise TypeError(f"{described(kind)} is no class of tensors")
        if type(arguments) is not tuple:
            raise TypeError(f"calls with {described(arguments)}")
        self._budget.spend(STEPS_OF_A_SUBCLASS)
        tensor = function(*arguments)
        if type(tensor) is not kind:
            tensor = as_subclass(tensor, kind)
        return self._with_attributes(tensor, state)

    def _with_attributes(self, tensor: Any, state: Any) -> Any:
        """Give a tensor the attributes that were saved with it; its own fields and methods are no attributes."""
        if type(state) is tuple and len(state) == 2:  # PyTorch's form for classes that have slots
            state, slots = state
            state = {**_mapping(state or {}), **_mapping(slots or {})}
        self._budget.take(MEMORY_OF_A_STATE + ITEM * len(_mapping(state)))
        self._budget.spend(STEPS_OF_AN_ATTRIBUTE * len(state))
        for name, value in state.items():
            check_attribute(tensor, name)
            own = getattr(type(tensor), name, None)
            shadows = is_wrapper(tensor) and type(own) is FunctionType  # what it wraps, by the name of a method
            if (hasattr(type(tensor), name) and not shadows) or name.startswith(OWN):
                raise ValueError(f"{described(name)} is not a name for an attribute of a {type(tensor).__name__}")
            setattr(tensor, name, value)
        return tensor


def _layout_named(name: Any) -> Any:
    return LAYOUTS[name]


def _check_coordinates(tensor: Any, coalesced: bool) -> None:
    sparse = importlib.import_module("weft.sparse._tensor")
    indices, size = tensor._indices(), tuple(tensor.shape)
    sparse.check_size(indices, tensor._values(), size)
    if coalesced:
        flat = sparse.flat_indices(indices, size)
        tensor._sparse_coalesced = bool((flat[1:] > flat[:-1]).all())


def _checked(function: Callable[..., Any]) -> Builder:
    """A builder of what checks its own arguments. A view that does not fit its storage is the file's fault."""

    def build(unpickler: SafeUnpickler, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except RuntimeError as error:
            raise ValueError(error) from error

    return build


def safe_values() -> dict[str, Any]:
    """Python's own names that a file may have: containers, numbers and their types."""
    kinds = (set, frozenset, bytearray, complex, slice, range, list, dict, tuple, int, float, bool, str, bytes)
    values: dict[str, Any] = {f"builtins.{kind.__name__}": kind for kind in kinds}
    values.update({f"collections.{kind.__name__}": kind for kind in (OrderedDict, Counter, defaultdict)})
    values["_codecs.encode"] = codecs.encode
    values["numpy.dtype"] = numpy.dtype
    values["numpy.ndarray"] = numpy.ndarray
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        values[f"{module}.scalar"] = numpy_scalar
        values[f"{module}._reconstruct"] = numpy_array
    values["builtins.Ellipsis"] = ...
    values["builtins.NotImplemented"] = NotImplemented
    return values


def safe_builders() -> dict[Any, Builder]:
    """How the containers among `safe_values` are made."""
    return {
        set: lambda u, items=(): set(u.checked_keys(_sequence(items))),
        frozenset: lambda u, items=(): frozenset(u.checked_keys(_sequence(items))),
        OrderedDict: _ordered_dict,
        Counter: lambda u, counts=None: _filled(u, Counter(), {} if counts is None else _mapping(counts)),
        defaultdict: _default_dict,
        bytearray: _bytearray,
        codecs.encode: _encode,
        complex: lambda u, real, imag: complex(_number(real), _number(imag)),
        slice: _slice,
        range: lambda u, *bounds: range(*_integers(bounds)),
        (OrderedDict, "state"): _set_attributes,
        numpy.dtype: numpy_dtype,
        numpy_scalar: numpy_scalar,
        numpy_array: numpy_array,
        (numpy.ndarray, "state"): _set_array,
        **{(type(numpy.dtype(code)), "state"): _check_byte_order for code in NUMPY_DTYPES},
    }


def _sequence(items: Any) -> Any:
    if type(items) not in (list, tuple, set, frozenset):
        raise TypeError(f"expected a list of items, got {type(items).__name__}")
    return items


def _integers(items: Any) -> Any:
    """A shape, strides: never a range, which could have any number of them."""
    if isinstance(items, tuple | list) and len(items) > DIMENSIONS:
        raise ValueError(f"{len(items)} dimensions; there may be {DIMENSIONS}")
    if not isinstance(items, tuple | list) or any(type(item) is not int for item in items):
        raise TypeError(f"expected a tuple of integers, got {described(items)}")
    for item in items:
        _word(item)
    return items


def _word(number: int) -> int:
    """A size, a place: products of numbers without bound would take long."""
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{described(number)} does not fit into 64 bits")
    return number


def _slice(unpickler: SafeUnpickler, *bounds: Any) -> slice:
    """Of plain numbers: Python frees slices of slices of slices recursively, in C."""
    if any(type(bound) not in (int, float, bool, str, type(None)) for bound in bounds):
        raise TypeError("a slice is made of numbers")
    return slice(*bounds)


def _device(unpickler: SafeUnpickler, kind: Any, index: Any = None) -> device:
    if type(kind) is not str or not (index is None or type(index) is int):
        raise TypeError(f"a device of {described(kind)} and {described(index)}")
    if len(kind) > 100 or (index is not None and not 0 <= index < 1 << 31):
        raise ValueError(f"a device {described(kind)} of index {described(index)}")
    unpickler.budget.spend(STEPS_OF_A_TENSOR)
    unpickler.budget.take(MEMORY_OF_A_STATE)  # weft keeps each one
    return device(kind, index)


def _mapping(items: Any) -> Any:
    if not isinstance(items, dict):
        raise TypeError(f"expected a dict, got {type(items).__name__}")
    return items


def _number(value: Any) -> float | int:
    if type(value) not in (int, float):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    number: float | int = value
    return number


def _ordered_dict(unpickler: SafeUnpickler, items: Any = ()) -> OrderedDict[Any, Any]:
    if not items:
        return OrderedDict()
    return _filled(unpickler, OrderedDict(), items)


def _filled(unpickler: SafeUnpickler, made: Any, items: Any) -> Any:
    """A mapping with the items of a dict, or of a list of pairs."""
    unpickler.budget.take(ITEM * len(items))
    unpickler.budget.spend(len(items))
    pairs = list(items.items()) if isinstance(items, dict) else list(_sequence(items))
    if any(type(pair) not in (tuple, list) or len(pair) != 2 for pair in pairs):
        raise TypeError("expected pairs of a key and a value")
    unpickler.check_keys([key for key, _ in pairs], made)
    for key, value in pairs:
        made[key] = value
    return made


def _default_dict(unpickler: SafeUnpickler, factory: Any = None) -> defaultdict[Any, Any]:
    if factory is not None and not any(factory is known for known in FACTORIES):
        raise TypeError(f"a defaultdict of {described(factory)}: only built-in types are safe to call")
    return defaultdict(factory)


def _bytearray(unpickler: SafeUnpickler, data: Any = b"", encoding: Any = None) -> bytearray:
    """Not from a number: that would take as much memory as the file asks for."""
    if type(data) is str and encoding is not None:
        data = _encode(unpickler, data, encoding)
    if type(data) is not bytes:
        raise TypeError(f"a bytearray of {type(data).__name__}")
    unpickler.budget.take(len(data))
    return bytearray(data)


def _encode(unpickler: SafeUnpickler, text: Any, encoding: Any = "utf-8") -> bytes:
    """Protocol 2 writes bytes as the text that latin1 encodes to them."""
    if type(text) is not str or encoding not in ("latin1", "latin-1", "utf-8", "utf8", "ascii"):
        raise TypeError(f"encodes {described(text)} as {described(encoding)}")
    unpickler.budget.take(len(text))
    return text.encode(encoding)


def _set_attributes(unpickler: SafeUnpickler, target: Any, state: Any) -> None:
    """The ``_metadata`` of a state dict, for one."""
    unpickler.budget.take(MEMORY_OF_A_STATE + ITEM * len(_mapping(state)))
    unpickler.budget.spend(STEPS_OF_AN_ATTRIBUTE * len(state))
    for name, value in state.items():
        check_attribute(target, name)
        if hasattr(type(target), name):
            raise ValueError(f"{described(name)} is not a name for an attribute of a {type(target).__name__}")
        target.__dict__[name] = value


def numpy_dtype(unpickler: SafeUnpickler, code: Any, align: Any = False, copy: Any = True) -> Any:
    """A NumPy dtype of plain numbers."""
    if type(code) is not str or code not in NUMPY_DTYPES:
        raise TypeError(f"the NumPy dtype {described(code)} is not one of plain numbers")
    return numpy.dtype(code)


def _check_byte_order(unpickler: SafeUnpickler, target: Any, state: Any) -> None:
    if type(state) is not tuple or len(state) < 2 or type(state[1]) is not str:
        raise TypeError(f"NumPy data of {described(state)}")
    if target.itemsize > 1 and state[1] not in ("=", "|", "<" if sys.byteorder == "little" else ">"):
        raise ValueError(f"NumPy data of byte order {described(state[1])}")


def numpy_scalar(unpickler: SafeUnpickler, dtype: Any, data: Any) -> Any:
    """A NumPy number from its bytes."""
    return _numpy_values(unpickler, dtype, (), data)[()]


def numpy_array(unpickler: SafeUnpickler, kind: Any, shape: Any, code: Any) -> Any:
    """An empty array: its content follows as its state."""
    if kind is not numpy.ndarray or type(shape) is not tuple or len(shape) != 1 or shape[0] != 0:
        raise TypeError(f"a NumPy array of class {described(kind)} that is not empty at first")
    return numpy.empty(0, numpy.int8)


def _set_array(unpickler: SafeUnpickler, target: Any, state: Any) -> None:
    if type(state) is not tuple or len(state) != 5:
        raise TypeError(f"a NumPy array of {described(state)}")
    _, shape, dtype, fortran, data = state
    _numpy_values(unpickler, dtype, _integers(shape), data)
    target.__setstate__((1, shape, dtype, bool(fortran), data))


def _numpy_values(unpickler: SafeUnpickler, dtype: Any, shape: Any, data: Any) -> Any:
    if not isinstance(dtype, numpy.dtype) or type(data) is not bytes:
        raise TypeError(f"NumPy data of {described(dtype)} in {described(data)}")
    unpickler.budget.take(len(data) + MEMORY_OF_A_TENSOR)
    unpickler.budget.spend(STEPS_OF_A_TENSOR // 2)
    return numpy.frombuffer(data, dtype).reshape(shape)
