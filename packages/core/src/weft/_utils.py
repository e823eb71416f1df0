"""Helpers of PyTorch's that programs call although their module is private."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable, Sequence
from typing import Any

from weft import cuda
from weft._dtypes.dtypes import dtype
from weft._exception_wrapper import ExceptionWrapper
from weft._lazy import load
from weft._settings import get_device_module
from weft._tensor.base import Tensor
from weft._tensor.conjugation import with_bits
from weft._tensor.layout import sparse_coo
from weft.ops.joining import cat
from weft.serialization._names import BITS
from weft.storage import tensor_of

__all__ = ["ExceptionWrapper", "_element_size", "_flatten_dense_tensors", "_unflatten_dense_tensors"]


def _get_available_device_type() -> str | None:
    """Return the type of an accelerator that is there, or None: tensordict synchronizes it."""
    return "cuda" if cuda.is_available() else None


def _is_privateuse1_backend_available() -> bool:
    """False: a plugin's device has a name of its own, and none is reached by PyTorch's name for strangers' devices."""
    return False


def _get_device_module(device_type: str) -> Any:
    """Return the module of a type of device."""
    return get_device_module(device_type)


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """Return the tensor that an old pickle of PyTorch's describes: a view of a typed storage."""
    made: Tensor = tensor_of(storage.untyped(), storage.dtype, storage_offset, tuple(size), tuple(stride))
    return made


def _rebuild_sparse_tensor(layout: Any, data: tuple[Any, ...]) -> Tensor:
    """Return the sparse tensor of indices, values and a size; it is checked."""
    if layout is sparse_coo:
        found: Tensor = load("sparse_coo_tensor")(*data[:3], is_coalesced=data[3] if len(data) > 3 else None)
        return found
    made: Tensor = load("sparse_compressed_tensor")(*data, layout=layout)
    return made


def _import_dotted_name(name: str) -> Any:
    """Return the object of a dotted path that begins with a module."""
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, importlib.import_module(first))


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """Return the tensor that a pickle of PyTorch's describes: a view of a typed storage."""
    geometry = storage_offset, size, stride, requires_grad, backward_hooks
    return _rebuild_tensor_v3(storage, *geometry, storage.dtype, metadata)


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: dtype,
    metadata: Any = None,
) -> Tensor:
    """Return the tensor that a pickle of PyTorch's describes: a view of bytes. Hooks are not restored."""
    made = tensor_of(storage.untyped(), dtype, storage_offset, tuple(size), tuple(stride))
    bits = sum(bit for name, bit in BITS.items() if (metadata or {}).get(name))
    found: Tensor = with_bits(made, bits) if bits else made
    return found.requires_grad_() if requires_grad else found


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Tensor:
    """Return the parameter that a pickle of PyTorch's describes."""
    parameter: Tensor = load("nn").Parameter(data, requires_grad)
    return parameter


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Tensor:
    """Return the parameter that a pickle of PyTorch's describes, with its attributes."""
    parameter = _rebuild_parameter(data, requires_grad, backward_hooks)
    parameter.__dict__.update(state)
    return parameter


def _element_size(dtype: dtype) -> int:
    """Return the bytes of one element of a dtype."""
    return int(dtype.itemsize)


def _flatten_dense_tensors(tensors: Iterable[Any]) -> Tensor:
    """Return the elements of tensors of one dtype, one after the other, as one tensor."""
    flat: Tensor = cat([each.reshape(-1) for each in tensors])
    return flat


def _unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Return the parts of a flat tensor in the shapes of others: views of it.

    Examples
    --------
    >>> from weft._utils import _flatten_dense_tensors, _unflatten_dense_tensors
    >>> parts = [weft.ones(2, 2), weft.zeros(3)]
    >>> [part.shape for part in _unflatten_dense_tensors(_flatten_dense_tensors(parts), parts)]
    [weft.Size([2, 2]), weft.Size([3])]
    """
    parts = flat.split([each.numel() for each in tensors])
    return tuple(part.view(each.shape) for part, each in zip(parts, tensors))
