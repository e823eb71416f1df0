"""``torch._check`` and its like: assertions of library code, which raise the exception that each name says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from weft import _display_name
from weft._interception.torch_function import offer
from weft._tensor.base import Tensor

__all__ = [
    "_assert",
    "_assert_async",
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_tensor_all_with",
    "_check_type",
    "_check_value",
    "_check_with",
]

Message = Callable[[], Any] | None
UNSAID = "Expected cond to be True, but got False."


def _assert(condition: Any, message: str) -> None:
    """As the statement ``assert``."""
    if not condition:
        raise AssertionError(message)


def _check_with(error_type: type[Exception], cond: Any, message: Message) -> None:
    """Raise an exception unless a condition, which must be a bool, holds.

    Raises
    ------
    TypeError
        If the condition is no bool, or the message no function.
    """
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(UNSAID if message is None else str(message()))


def _check(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError unless a condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """Raise IndexError unless a condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """Raise ValueError unless a condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """Raise TypeError unless a condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """Raise NotImplementedError unless a condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Message = None, *, max: Any = None) -> None:
    """Raise RuntimeError unless an int is a size: from 0 to ``max``."""
    _check_with(RuntimeError, i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raise an exception unless each element of a bool tensor is True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype.name != "bool":
        raise TypeError(f"cond tensor must have dtype {_display_name.name}.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError unless each element of a bool tensor is True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_async(tensor: Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError unless the only element of a tensor is not 0."""
    if not tensor.is_nonzero():
        raise RuntimeError(assert_msg or "_assert_async: Expected Tensor with single nonzero value, but got zero")


offer(sys.modules[__name__], ("_assert",))  # to overrides by __torch_function__: e3nn has it recorded by weft.fx
