"""A tensor's memory, its copies, and its pickle."""

from __future__ import annotations

import copy
import importlib
import math
import warnings
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from weft._devices.devices import backend_of, cpu
from weft._devices.devices import device as device_class
from weft._devices.streams import Stream
from weft._dtypes.dtypes import dtype
from weft._engine.dispatch import make
from weft._engine.tensor import TensorBase, local, state
from weft._engine.unresolved import Unresolved, memory_of
from weft._lazy import method as handed_over
from weft._plugins.access import plugins
from weft._settings import warn_caller_once
from weft._tensor.base import Tensor, contiguous_strides, fresh_extra
from weft._tensor.conjugation import resolved, with_bits
from weft._tensor.held_storages import let_go
from weft._tensor.layout import memory_format
from weft._tensor.subclasses import as_subclass
from weft.ops._inplace import bump, check_writable
from weft.storage import (
    TypedStorage,
    UntypedStorage,
    address,
    held_by,
    layout_of,
    place_of,
    storage_of,
    strides_of,
    tensor_of,
)
from weft.types import Device, DType, MemoryFormat, Scalar


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a function on Tensor under its own name."""
    setattr(Tensor, function.__name__, function)
    return function


# Memory --------------------------------------------------------------------------------------------------


@method
def untyped_storage(self: Any) -> UntypedStorage:
    """Return the memory that this tensor is a view of, as bytes.

    Examples
    --------
    >>> weft.zeros(2, 3)[0].untyped_storage().nbytes()
    24
    """
    return held_by(self)


@method
def storage(self: Any) -> TypedStorage:
    """Return the memory that this tensor is a view of, as elements of its dtype."""
    warn_caller_once("TypedStorage is deprecated; use untyped_storage()")
    return TypedStorage(wrap_storage=held_by(self), dtype=self._key.dtype)


@method
def storage_offset(self: Any) -> int:
    """Return how many elements of the storage are before the first of this tensor.

    Examples
    --------
    >>> weft.zeros(2, 3)[1].storage_offset()
    3
    """
    if not self._array.size:
        return 0
    return place_of(self._array, storage_of(self)) // int(self._key.dtype.itemsize)


@method
def _typed_storage(self: Any) -> TypedStorage:
    """`storage` without its warning, as PyTorch's own code calls it."""
    return TypedStorage(wrap_storage=held_by(self), dtype=self._key.dtype)


@method
def data_ptr(self: Any) -> int:
    """Return the address of the first element; 0 if there is none."""
    return address(self._array) if self._array.size and not self.is_meta else 0


@method
def _fix_weakref(self: Any) -> None:
    """Do nothing: a weak reference to a tensor stays good. PyTorch's programs call it after they follow one."""


@method
def is_set_to(self: Any, tensor: Tensor) -> bool:
    """Whether both are the same view of the same memory."""
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"is_set_to(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    mine, other = self._array, tensor._array
    if self._key is not tensor._key or storage_of(self) != storage_of(tensor):
        return False
    return (address(mine), mine.shape, strides_of(mine)) == (address(other), other.shape, strides_of(other))


@method
def set_(
    self: Any,
    source: Tensor | TypedStorage | UntypedStorage | None = None,
    storage_offset: int = 0,
    size: int | Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Make this tensor a view of other memory.

    Parameters
    ----------
    source : Tensor or storage, optional
        Default: no memory.
    storage_offset : int
        In elements.
    size, stride : sequence of int, optional
        Default: all of a storage in one dimension; those of a tensor.

    Raises
    ------
    RuntimeError
        If the dtypes or devices differ, if the view would leave the storage, or for a leaf that requires grad.

    Examples
    --------
    >>> x = weft.zeros(2)
    >>> memory = weft.arange(6.0)
    >>> _ = x.set_(memory, 1, (2,), (3,))
    >>> x
    tensor([1., 4.])
    """
    check_writable("set_", self, False, memory=False)
    if self._requires_grad and local.grad_enabled and self._view_base is not None:
        raise RuntimeError("set_: the derivative for set_ is not implemented; use detach(), or weft.no_grad()")
    element = self._key.dtype
    if source is None:
        source = UntypedStorage(0, device=self._key.device)
    if isinstance(source, TensorBase | TypedStorage) and source.dtype is not element:  # type: ignore[union-attr]
        wanted = "" if isinstance(source, TensorBase) else f"Expected a Storage of type {element.scalar_type_name}; "
        raise RuntimeError(f"set_: {wanted}could not set a tensor of {source.dtype} to a tensor of {element}")  # type: ignore[union-attr]
    if not isinstance(source, TensorBase | TypedStorage | UntypedStorage):
        raise TypeError(f"set_(): argument 'source' must be Tensor or Storage, not {type(source).__name__}")
    where = source._key.device if isinstance(source, TensorBase) else source.device
    if where != self._key.device:
        raise RuntimeError(f"set_: the source is on {where}, and the tensor on {self._key.device}")
    if isinstance(source, TensorBase) and size is None:
        array = memory_of(source._array)
    else:
        memory = storage_of(source) if isinstance(source, TensorBase) else source.untyped()
        array = _view(memory, element, storage_offset, size, stride)
    let_go(self)
    self._array = Unresolved(array, self._key.bits) if self._key.bits else array
    bump(self, "set_")
    return self


def _view(memory: UntypedStorage, element: Any, offset: int, size: Any, stride: Any) -> Any:
    if size is None:
        size = (memory.nbytes() // element.itemsize - offset,)
    size = tuple(map(index, (size,) if isinstance(size, int) else size))
    stride = contiguous_strides(size) if stride is None else tuple(map(index, stride))
    try:
        return tensor_of(memory, element, index(offset), size, stride)._array
    except RuntimeError as error:
        raise RuntimeError(f"set_: {error}") from error


@method
def const_data_ptr(self: Any) -> int:
    """Return the address of the first element, for reading only; 0 if there is none."""
    return address(self._array) if self._array.size and not self.is_meta else 0


@method
def storage_type(self: Any) -> type[TypedStorage]:
    """Return the legacy type of the tensor's storage."""
    return getattr(importlib.import_module("weft"), f"{self._key.dtype.scalar_type_name}Storage")


@method
def share_memory_(self: Any) -> Tensor:
    """Move the tensor to memory that processes share; itself does not notice.

    The tensor that it is a view of moves too, with that one's views where they are known; NumPy arrays of the same
    memory stay where they are. `weft.multiprocessing` passes the memory on to other processes.
    """
    storage_of(self).share_memory_()
    return self


@method
def pin_memory(self: Any, device: Device = None) -> Tensor:
    """Return the tensor in page-locked memory, from which an accelerator copies by itself; itself, if it is there.

    Parameters
    ----------
    device : device or str, optional
        For which accelerator. Default: the one that there is.

    Raises
    ------
    RuntimeError
        If the tensor is not on the CPU, or there is no accelerator that pins memory.
    """
    if self._key.device is not cpu:
        raise RuntimeError(
            f"pin_memory: cannot pin a tensor on {self._key.device}, only those on the CPU can be pinned"
        )
    accelerator = importlib.import_module("weft.accelerator")
    backend = accelerator.backend_in_use() if device is None else accelerator.usable(device_class(device).type)
    if backend is None:
        raise RuntimeError("pin_memory: needs an accelerator that pins memory; leave it out, copies work without")
    if self.is_pinned(device):
        return self
    made: Any = make(backend.pinned(resolved(self)._array), self.detach()._key)
    return made


@method
def record_stream(self: Any, s: Any) -> None:
    """Keep the memory until a stream of an accelerator has done what it has now; a CPU has none.

    Raises
    ------
    NotImplementedError
        For a tensor on the CPU.
    TypeError
        If it is no stream.
    """
    if self._key.device.type == "cpu":
        raise NotImplementedError("record_stream: tensors on the CPU belong to no stream; leave the call out")
    if not isinstance(s, Stream):
        raise TypeError(f"record_stream(): argument 's' (position 1) must be Stream, not {type(s).__name__}")
    backend_of(self._key.device).record_stream(self._array, s._native)


@method
def is_distributed(self: Any) -> bool:
    """False: tensors are not spread over processes."""
    return False


@method
def dim_order(self: Any, *, ambiguity_check: bool | list[MemoryFormat] = False) -> tuple[int, ...]:
    """The dimensions from the outermost to the innermost in memory.

    Parameters
    ----------
    ambiguity_check : bool or list of memory formats
        True: raise where another order would do as well, for a dimension of size 1 or two of equal strides. A list:
        unless exactly one of its formats fits.

    Raises
    ------
    RuntimeError
        If the order is not unique, and that was asked for.
    TypeError
        If ``ambiguity_check`` is neither.

    Examples
    --------
    >>> weft.empty(2, 3, 5, 7).transpose(1, 2).dim_order()
    (0, 2, 1, 3)
    """
    formats = None if isinstance(ambiguity_check, bool) else ambiguity_check
    if formats is not None and not (
        isinstance(formats, list) and all(isinstance(each, memory_format) for each in formats)
    ):
        raise TypeError("dim_order: The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    ambiguous = 1 in self.shape or len(set(strides)) < len(strides)
    if ambiguous and (
        ambiguity_check is True
        or (formats is not None and sum(self.is_contiguous(memory_format=each) for each in formats) != 1)
    ):
        raise RuntimeError(
            "dim_order: The tensor does not have unique dim order, or cannot map to exact one of the given memory "
            f"formats; its shape is {list(self.shape)}, its strides are {list(strides)}"
        )
    shape = self.shape
    order: list[int] = []  # innermost first
    for dim in reversed(range(self.ndim)):
        place = goal = len(order)
        while place:
            other = order[place - 1]
            # Between two, strides decide; where they say nothing (0 of an expanded one) further ones may.
            before = strides[dim] < strides[other] or (strides[dim] == strides[other] and shape[dim] < shape[other])
            if strides[dim] and strides[other] and before:
                goal = place - 1
            elif strides[dim] and strides[other] and strides[dim] > strides[other]:
                break
            place -= 1
        order.insert(goal, dim)
    return tuple(reversed(order))


@method
def module_load(self: Any, other: Tensor, assign: bool = False) -> Tensor:
    """Return what takes this tensor's place when a module loads another: that itself, or this after a copy.

    Parameters
    ----------
    other : Tensor
        What is loaded.
    assign : bool
        Take it itself.

    Examples
    --------
    >>> weight = weft.zeros(2)
    >>> weight.module_load(weft.ones(2)), weight
    (tensor([1., 1.]), tensor([1., 1.]))
    """
    return other.detach() if assign else self.copy_(other).detach()


@method
def is_pinned(self: Any, device: Device = None) -> bool:
    """Whether the memory is page-locked, see `pin_memory`; False where there is no accelerator."""
    if self._key.device is not cpu:
        return False
    wanted = None if device is None else device_class(device).type
    loaded = (each for each in plugins().loaded_backends() if wanted in (None, each.device_type))
    return any(each.is_pinned(self._array) for each in loaded)  # what is not loaded has pinned nothing


@method
def is_shared(self: Any) -> bool:
    """Whether another process sees the same memory."""
    return storage_of(self).is_shared()


# Copies --------------------------------------------------------------------------------------------------


@method
def __deepcopy__(self: Any, memo: dict[Any, Any]) -> Tensor:
    """Copy memory, gradient and attributes of a leaf; tensors that share memory share the copy."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "__deepcopy__: only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol; "
            f"this one was made by {self.grad_fn}. Copy tensor.detach(), or tensor.clone() to keep its history"
        )
    if self._key.bits:
        made = _as(resolved(self.detach()), type(self))
    elif is_wrapper(self):
        made = self.detach().clone()  # what it wraps is copied there
        if type(made) is not type(self):
            raise RuntimeError(
                f"__deepcopy__: clone() of a {type(self).__name__} returned a {type(made).__name__}; define "
                "__deepcopy__, or return the subclass for aten.clone.default"
            )
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made.requires_grad_(self._requires_grad)
    elif self._key.device.type == "meta":
        made = _rebuild_meta(type(self), self._key.dtype, self.shape, self.stride(), False)
    else:
        memory, offset, size, stride = layout_of(self)
        made = _as(tensor_of(copy.deepcopy(memory, memo), self._key.dtype, offset, size, stride), type(self))
    made._requires_grad = self._requires_grad
    memo[id(self)] = made
    if self._grad is not None:
        made._grad = copy.deepcopy(self._grad, memo)
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


@method
def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
    """Pickle memory, geometry and attributes; a tensor with history comes back as a leaf."""
    attributes = self.__dict__ or None
    if is_wrapper(self):
        facts = type(self), tuple(self.shape), self.stride(), self._key.dtype, self._key.device, self._requires_grad
        return _rebuild_wrapper, facts, attributes
    if self._key.device.type == "meta":
        meta = type(self), self._key.dtype, tuple(self.shape), self.stride(), self._requires_grad
        return _rebuild_meta, meta, attributes
    memory, *geometry = layout_of(self)
    bits = (self._key.bits,) if self._key.bits else ()
    return _rebuild, (type(self), memory, self._key.dtype, *geometry, self._requires_grad, *bits), attributes


def _rebuild(
    cls: type,
    memory: UntypedStorage,
    element: Any,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    bits: int = 0,
) -> Any:
    made: Any = _as(with_bits(tensor_of(memory, element, offset, size, stride), bits), cls)
    made._requires_grad = requires_grad
    return made


def is_wrapper(tensor: Any) -> bool:
    """Whether a tensor is of a subclass with ``__torch_dispatch__``, and has no memory of its own."""
    return type(tensor)._dispatches and not getattr(tensor._array, "has_values", True)


def _rebuild_wrapper(cls: type, size: Any, stride: Any, element: Any, device: Any, requires_grad: bool) -> Any:
    options = {"dtype": element, "device": device, "requires_grad": requires_grad}
    return Tensor._make_wrapper_subclass(cls, size, stride, **options)


def _rebuild_meta(cls: type, element: Any, size: Any, stride: Any, requires_grad: bool) -> Any:
    weft = importlib.import_module("weft")
    made = _as(weft.empty_strided(size, stride, dtype=element, device="meta"), cls)
    made._requires_grad = requires_grad
    return made


def _as(tensor: Any, cls: type) -> Any:
    return tensor if cls is Tensor else as_subclass(tensor, cls)


# Older and rarer names ------------------------------------------------------------------------------------


@method
def resize(self: Any, *sizes: int) -> Tensor:
    """Return the elements in another shape, as `reshape` does; kept for old programs.

    Raises
    ------
    RuntimeError
        If the number of elements would change.
    """
    warnings.warn("resize: non-inplace resize is deprecated; use reshape", UserWarning, stacklevel=2)
    return reshaped("resize", self, sizes)


@method
def resize_as(self: Any, tensor: Tensor) -> Tensor:
    """Return the elements in the shape of another tensor, as `reshape` does; kept for old programs."""
    warnings.warn("resize_as: non-inplace resize_as is deprecated; use reshape_as", UserWarning, stacklevel=2)
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"resize_as(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    return reshaped("resize_as", self, tuple(tensor._array.shape))


def reshaped(name: str, tensor: Any, sizes: tuple[Any, ...]) -> Any:
    if any(not isinstance(each, int) for each in sizes) or math.prod(sizes) != tensor.numel():
        raise RuntimeError(
            f"{name}: requested resize to {sizes}, but the given tensor has a size of {list(tensor.shape)} "
            f"({tensor.numel()} elements); resize can only change the shape, not the number of elements"
        )
    return tensor.contiguous().view(*sizes)


@method
def reinforce(self: Any, reward: Tensor | Scalar) -> None:
    """Refuse: stochastic nodes were removed from PyTorch; `distributions` have ``log_prob`` for that.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError("reinforce: was removed; multiply log_prob of a distribution by the reward, and call backward()")


@method
def to_dense(self: Any, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return the tensor itself, which is dense, in another dtype if one is given.

    Parameters
    ----------
    dtype : dtype, optional
    masked_grad : bool, optional
        Not used: it is for sparse tensors.

    Examples
    --------
    >>> weft.ones(2).to_dense()
    tensor([1., 1.])
    """
    return self if dtype is None else self.to(dtype)


@method
def __reversed__(self: Any) -> Tensor:
    """The tensor with the order along its first dimension reversed."""
    return self.flip(0) if self._array.ndim else self


@method
def __div__(self: Any, other: Tensor | Scalar) -> Tensor:
    """Division by the name that Python 2 looked for."""
    return self.__truediv__(other)


@method
def __idiv__(self: Any, other: Tensor | Scalar) -> Tensor:
    """Division in place by the name that Python 2 looked for."""
    return self.__itruediv__(other)


@method
def __long__(self: Any) -> int:
    """The only element as an integer, by the name that Python 2 looked for."""
    return int(self)


@method
def __nonzero__(self: Any) -> bool:
    """Whether the only element is not 0, by the name that Python 2 looked for."""
    return bool(self)


def grad_dtype(self: Any) -> dtype | None:
    """The dtype that the gradient of a leaf has: the leaf's own, unless another was set; None: that of what arrives.

    Raises
    ------
    RuntimeError
        Of a tensor that was computed; on setting also if there is a gradient of another dtype.
    """
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors; this one was computed")
    wanted = None if self._extra is None else self._extra.grad_dtype
    return self._key.dtype if wanted is None else wanted or None


def set_grad_dtype(self: Any, wanted: Any) -> None:
    if wanted is not None and not isinstance(wanted, dtype):
        raise RuntimeError(f"grad_dtype must be a weft.dtype or None, but got {type(wanted).__name__}")
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors; this one was computed")
    if wanted is not None and self._grad is not None and self._grad._key.dtype is not wanted:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{wanted.scalar_type_name}' because there is already a gradient with dtype "
            f"'{self._grad._key.dtype.scalar_type_name}'. Set .grad to None first"
        )
    fresh_extra(self).grad_dtype = wanted or False


def as_grad_dtype(leaf: Any, grad: Any) -> Any:
    """A gradient that arrives at a leaf whose `grad_dtype` was set."""
    wanted = leaf._extra.grad_dtype
    return grad.to(wanted) if wanted else grad


state.as_grad_dtype = as_grad_dtype


def none(self: Any) -> None:
    """None: tensors have no name."""


def volatile(self: Any) -> bool:
    """False; `no_grad` does what setting it did."""
    return False


def cuda_array_interface(self: Any) -> Any:
    """What libraries for CUDA see: shape, type and address.

    Raises
    ------
    AttributeError
        If the tensor is not on a CUDA device.
    RuntimeError
        If it requires grad.
    """
    if self._key.device.type != "cuda":
        raise AttributeError(
            f"__cuda_array_interface__: can't get it of a tensor on {self._key.device}; call .cuda() first"
        )
    if self._requires_grad:
        raise RuntimeError("__cuda_array_interface__: can't get it of a tensor that requires grad; detach() it first")
    if self._key.bits:
        raise RuntimeError(
            "__cuda_array_interface__: can't get it of a view with the conjugate or negative bit; resolve_conj() or "
            "resolve_neg() it first"
        )
    with backend_of(self._key.device).guard(self._key.device.index):  # whose current stream it tells
        return self._array.__cuda_array_interface__


for _name in ("eig", "lstsq", "solve", "symeig"):
    setattr(Tensor, _name, handed_over(_name))
for _name, _property in {
    "grad_dtype": property(grad_dtype, set_grad_dtype),
    "name": property(none),
    "volatile": property(volatile),
    "__cuda_array_interface__": property(cuda_array_interface),
}.items():
    setattr(Tensor, _name, _property)
