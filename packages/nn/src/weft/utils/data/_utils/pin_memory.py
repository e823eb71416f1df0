"""Batches in pinned memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.utils.data._utils.collate import _is_namedtuple, _rebuild_mapping, _rebuild_sequence

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """Pin what can be pinned of a batch, however nested: torchdata's nodes do so in a thread of their own.

    Parameters
    ----------
    data : any
        Tensors and other objects with a method ``pin_memory`` are pinned; what has none stays as it is.
    device : device, optional
        Accepted: the accelerator is the current one.

    Raises
    ------
    RuntimeError
        For a tensor, without an accelerator that pins memory.
    """
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*(pin_memory(item, device) for item in data))
    if isinstance(data, Sequence):
        return _rebuild_sequence(data, [pin_memory(item, device) for item in data])
    return data
