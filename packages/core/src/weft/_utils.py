"""Helpers of PyTorch's that programs call although their module is private."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from weft import cuda
from weft._dtypes.dtypes import dtype
from weft._settings import get_device_module
from weft._tensor.base import Tensor
from weft.ops.joining import cat

__all__ = ["_element_size", "_flatten_dense_tensors", "_unflatten_dense_tensors"]


def _get_available_device_type() -> str | None:
    """Return the type of an accelerator that is there, or None: tensordict synchronizes it."""
    return "cuda" if cuda.is_available() else None


def _get_device_module(device_type: str) -> Any:
    """Return the module of a type of device."""
    return get_device_module(device_type)


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
