"""What lies below a transform: for debugging, and for programs that prepare functions for tracing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft._engine.tensor import TensorBase
from weft._interception.transforms import record_of, settled

__all__ = ["debug_unwrap", "functionalize"]


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The tensor that a transform has wrapped: of a `vmap` the whole batch, its examples in front.

    Parameters
    ----------
    tensor : Tensor
    recurse : bool
        Through all transforms; else through the innermost one.

    Raises
    ------
    TypeError
        If it is no tensor.

    Examples
    --------
    >>> seen = []
    >>> _ = weft.func.vmap(lambda x: seen.append(debug_unwrap(x).shape) or x)(weft.ones(2, 3))
    >>> seen
    [weft.Size([2, 3])]
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"debug_unwrap: argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    found = record_of(settled(tensor))
    while found is not None:
        tensor = found.value
        found = record_of(tensor) if recurse else None
    return tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function with the same results, for programs that trace it afterwards.

    Parameters
    ----------
    func : callable
    remove : {"mutations", "mutations_and_views"}
        What a trace of PyTorch's would be free of. weft computes at once and makes no trace, so that there is nothing
        to remove: the function is called as it is.

    Raises
    ------
    RuntimeError
        For another ``remove``.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize: remove must be 'mutations' or 'mutations_and_views', got {remove!r}")

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return called
