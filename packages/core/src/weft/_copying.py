"""A tensor's memory, its copies, and its pickle."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from operator import index
from typing import Any

from weft._engine.tensor import TensorBase
from weft._tensor import Tensor, as_subclass
from weft.storage import (
    TypedStorage,
    UntypedStorage,
    address,
    layout_of,
    storage_of,
    strides_of,
    tensor_of,
)


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
    return storage_of(self)


@method
def storage(self: Any) -> TypedStorage:
    """Return the memory that this tensor is a view of, as elements of its dtype."""
    return TypedStorage(wrap_storage=storage_of(self), dtype=self.kind.dtype)


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
    return (address(self._array) - address(storage_of(self)._array)) // int(self.kind.dtype.itemsize)


@method
def data_ptr(self: Any) -> int:
    """Return the address of the first element; 0 if there is none."""
    return address(self._array) if self._array.size else 0


@method
def is_set_to(self: Any, tensor: Tensor) -> bool:
    """Whether both are the same view of the same memory."""
    mine, other = self._array, tensor._array
    if self.kind is not tensor.kind or storage_of(self) != storage_of(tensor):
        return False
    return (address(mine), mine.shape, strides_of(mine)) == (address(other), other.shape, strides_of(other))


@method
def set_(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
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
    """
    from weft.ops._inplace import bump, check_writable

    check_writable("set_", self, False)
    element = self.kind.dtype
    if source is None:
        source = UntypedStorage(0, device=self.kind.device)
    if isinstance(source, TensorBase | TypedStorage) and source.dtype is not element:  # type: ignore[union-attr]
        raise RuntimeError(f"set_: could not set a tensor of {source.dtype} to a tensor of {element}")  # type: ignore[union-attr]
    if source.device != self.kind.device:
        raise RuntimeError(f"set_: the source is on {source.device}, and the tensor on {self.kind.device}")
    if isinstance(source, TensorBase) and size is None:
        self._array = source._array
    else:
        memory = storage_of(source) if isinstance(source, TensorBase) else source.untyped()
        self._array = _view(memory, element, storage_offset, size, stride)
    bump(self, "set_")
    return self


def _view(memory: UntypedStorage, element: Any, offset: int, size: Any, stride: Any) -> Any:
    from weft._tensor import contiguous_strides

    if size is None:
        size = (memory.nbytes() // element.itemsize - offset,)
    size = tuple(map(index, (size,) if isinstance(size, int) else size))
    stride = contiguous_strides(size) if stride is None else tuple(map(index, stride))
    try:
        return tensor_of(memory, element, index(offset), size, stride)._array
    except RuntimeError as error:
        raise RuntimeError(f"set_: {error}") from error


@method
def is_pinned(self: Any, device: Any = None) -> bool:
    """Whether the memory is page-locked; weft does not pin."""
    return False


@method
def is_shared(self: Any) -> bool:
    """Whether another process sees the same memory."""
    return storage_of(self).is_shared()


# Copies --------------------------------------------------------------------------------------------------


@method
def __deepcopy__(self: Any, memo: dict[Any, Any]) -> Any:
    """Copy memory, gradient and attributes of a leaf; tensors that share memory share the copy."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "__deepcopy__: only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol; "
            f"this one was made by {self.grad_fn}. Copy tensor.detach(), or tensor.clone() to keep its history"
        )
    if self.kind.device.type == "meta":
        made = _rebuild_meta(type(self), self.kind.dtype, self.shape, self.stride(), False)
    else:
        memory, offset, size, stride = layout_of(self)
        made = _as(tensor_of(copy.deepcopy(memory, memo), self.kind.dtype, offset, size, stride), type(self))
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
    if self.kind.device.type == "meta":
        facts = type(self), self.kind.dtype, tuple(self.shape), self.stride(), self._requires_grad
        return _rebuild_meta, facts, attributes
    memory, *geometry = layout_of(self)
    return _rebuild, (type(self), memory, self.kind.dtype, *geometry, self._requires_grad), attributes


def _rebuild(
    cls: type, memory: UntypedStorage, element: Any, offset: int, size: Any, stride: Any, requires_grad: bool
) -> Any:
    made: Any = _as(tensor_of(memory, element, offset, size, stride), cls)
    made._requires_grad = requires_grad
    return made


def _rebuild_meta(cls: type, element: Any, size: Any, stride: Any, requires_grad: bool) -> Any:
    weft = importlib.import_module("weft")
    made = _as(weft.empty_strided(size, stride, dtype=element, device="meta"), cls)
    made._requires_grad = requires_grad
    return made


def _as(tensor: Any, cls: type) -> Any:
    return tensor if cls is Tensor else as_subclass(tensor, cls)
