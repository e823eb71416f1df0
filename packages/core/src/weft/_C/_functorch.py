"""Tensors that a function transform has wrapped, as tensordict asks for them."""

from __future__ import annotations

from typing import Any

from weft._functorch.vmap import _add_batch_dim as _add_batch_dim
from weft._functorch.vmap import _remove_batch_dim as _remove_batch_dim
from weft._interception.transforms import record_of

__all__ = ["get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor", "maybe_get_level"]


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor stands for a batch of a running `vmap`."""
    found = record_of(tensor)
    return found is not None and found.batched


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether a transform has wrapped a tensor."""
    return record_of(tensor) is not None


def maybe_get_level(tensor: Any) -> int:
    """The number of the transform that has wrapped a tensor; -1 if none has."""
    found = record_of(tensor)
    return -1 if found is None else found.level.number


def get_unwrapped(tensor: Any) -> Any:
    """What a wrapped tensor is one level below.

    Raises
    ------
    RuntimeError
        If no transform has wrapped it.
    """
    found = record_of(tensor)
    if found is None:
        raise RuntimeError("get_unwrapped: no transform has wrapped the tensor")
    return found.value
