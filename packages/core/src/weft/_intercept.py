"""What may step between a call and its kernel: tensor subclasses, and modes that see every op.

Both are off the fast path: subclasses that override ``__torch_function__`` have kinds of their own,
and ``state.intercepting`` counts the modes that are active in any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._engine.dispatch import make
from weft._engine.tensor import TensorBase, intercept, local


def push(interceptor: Any) -> None:
    """Let an object see this thread's ops: its ``intercept(function, args)`` runs instead of each."""
    intercept(1)
    local.interceptors = (*local.interceptors, interceptor)


def pop() -> Any:
    """Take the newest interceptor off again."""
    interceptor = local.interceptors[-1]
    local.interceptors = local.interceptors[:-1]
    intercept(-1)
    return interceptor


def intercepted(declaration: Any, args: tuple[Any, ...]) -> Any:
    """Give a call to the newest interceptor; what it calls goes to those below it."""
    before = local.interceptors
    local.interceptors = before[:-1]
    try:
        return before[-1].intercept(declaration, args)
    finally:
        local.interceptors = before


def flatten(args: Any, levels: int = 8) -> list[Any]:
    """The tensors among arguments, also inside lists and tuples; not further in, where a list may contain itself."""
    found: list[Any] = []
    for arg in args:
        if isinstance(arg, TensorBase):
            found.append(arg)
        elif levels and isinstance(arg, (list, tuple)):
            found.extend(flatten(arg, levels - 1))
    return found


def overridden(declaration: Any, args: tuple[Any, ...]) -> Callable[[], Any] | None:
    """For a call with a tensor subclass that overrides ``__torch_function__``: how to make it."""
    types: list[Any] = []  # subclasses that define __torch_function__
    for tensor in flatten(args):
        if not tensor.kind.plain and not tensor.kind.wrapped and type(tensor) not in types:
            types.append(type(tensor))
    if not types:
        return None
    # Subclasses come before the classes that they derive from, otherwise from left to right.
    types.sort(key=lambda each: -len(each.__mro__))

    def call() -> Any:
        for each in types:
            result = each.__torch_function__(declaration.function or declaration, tuple(types), args, {})
            if result is not NotImplemented:
                return result
        names = ", ".join(each.__name__ for each in types)
        raise TypeError(f"no implementation found for '{declaration.short}' on types that implement it: [{names}]")

    return call


def default_torch_function(cls: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run the function on plain tensors, and give its tensors the subclass."""
    from weft._tensor import as_subclass

    target = function.op if hasattr(function, "op") else function
    result = target(*replace(args, plain), **(kwargs or {}))
    return replace(result, lambda tensor: as_subclass(tensor, cls))


def replace(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same structure of tuples and lists with each tensor changed."""
    if isinstance(value, TensorBase):
        return change(value)
    if isinstance(value, (tuple, list)):
        return type(value)(replace(each, change) for each in value)
    return value


def plain(tensor: Any) -> Any:
    """A tensor of the plain class with the same memory and history."""
    if tensor.kind.plain or tensor.kind.wrapped:
        return tensor
    out = make(tensor._array, tensor.kind.siblings[tensor.kind.dtype.numpy])
    out._requires_grad, out._node = tensor._requires_grad, tensor._node
    out._version_counter, out._extra = tensor._version_counter, tensor._extra
    return out
