"""The storages that tensors were asked for, each kept for as long as its tensor uses it.

A program may set attributes on a storage, or hold a weak reference to it, and find it again through the tensor. A
storage never keeps a tensor, so that reference counts alone free both.
"""

from __future__ import annotations

from typing import Any
from weakref import KeyedRef

_held: dict[int, tuple[KeyedRef[int, Any], Any]] = {}


def hold(tensor: Any, storage: Any) -> None:
    """Keep a storage until its tensor is gone or uses other memory."""
    known = _held.get(id(tensor))
    if known is None or known[1] is not storage:
        _held[id(tensor)] = KeyedRef(tensor, _release, id(tensor)), storage


def let_go(tensor: Any) -> None:
    """Keep a tensor's storage no longer: it is about to use other memory."""
    _held.pop(id(tensor), None)


def _release(reference: KeyedRef[int, Any]) -> None:
    _held.pop(reference.key, None)
