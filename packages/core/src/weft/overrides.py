"""``__torch_function__``: types and modes that see the calls of public functions, and what libraries need to take part.

A class that defines ``__torch_function__`` is asked about each call of a public function with one of its objects; a
`TorchFunctionMode` about each call inside of its block.

Examples
--------
>>> class Log(TorchFunctionMode):
...     def __torch_function__(self, func, types, args=(), kwargs=None):
...         print(func.__name__)
...         return func(*args, **(kwargs or {}))
>>> with Log():
...     _ = weft.ones(2).sum() * 2
ones
sum
mul
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import FunctionType
from typing import Any

import weft
from weft._engine.tensor import local
from weft._interception import torch_function
from weft._interception.torch_dispatch import above_autograd
from weft._interception.torch_function import arm as enable_overrides
from weft._interception.torch_function import offer, overridable
from weft._tensor.base import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_overrides",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "offer",
    "overridable",
    "resolve_name",
    "wrap_torch_function",
]


class TorchFunctionMode:
    """A context manager whose ``__torch_function__`` gets each call of a public function made inside of its block.

    Derive from it and override ``__torch_function__(self, func, types, args=(), kwargs=None)``. What that method
    calls itself goes to the modes outside of this one.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return the result of the call, or NotImplemented to leave it to others. Must be overridden."""
        raise NotImplementedError(f"{type(self).__name__}: a TorchFunctionMode must override __torch_function__")

    def __enter__(self) -> Any:
        torch_function.push(self)
        return self

    def __exit__(self, *exc: object) -> None:
        torch_function.pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An object of the class, for a ``with`` statement."""
        return cls(*args, **kwargs)


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost mode that is active; None if none is."""
    return local.modes[-1] if local.modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The modes that are active, the innermost last."""
    return list(local.modes)


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that only passes calls on."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function."""
        return func(*args, **(kwargs or {}))


class DisableTorchFunctionSubclass:
    """Context manager: inside of it subclasses are not asked, and results are plain tensors."""

    def __enter__(self) -> None:
        self.before = local.plain_only
        local.plain_only = True

    def __exit__(self, *exc: object) -> None:
        local.plain_only = self.before


class _HiddenModes(tuple[Any, ...]):
    """No modes, where those that are active must not be asked."""


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Within this context neither tensor subclasses nor modes are asked."""

    def __enter__(self) -> None:
        super().__enter__()
        self.modes, local.modes = local.modes, _HiddenModes()

    def __exit__(self, *exc: object) -> None:
        local.modes = self.modes
        super().__exit__(*exc)


class _TorchFunctionState(Enum):
    """Who is asked about calls in this thread: PyTorch's test classes compare it before and after a test."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2


def _get_torch_function_state() -> _TorchFunctionState:
    """Who is asked about calls in this thread."""
    if isinstance(local.modes, _HiddenModes):
        return _TorchFunctionState.ALL_DISABLED
    return _TorchFunctionState.SUBCLASSES_DISABLED if local.plain_only else _TorchFunctionState.ENABLED


def _set_torch_function_state(state: _TorchFunctionState) -> None:
    """Let subclasses and modes be asked, or not, from here on: what a block of `DisableTorchFunction` left behind."""
    local.plain_only = state is not _TorchFunctionState.ENABLED
    if (state is _TorchFunctionState.ALL_DISABLED) != isinstance(local.modes, _HiddenModes):
        local.modes = _HiddenModes() if state is _TorchFunctionState.ALL_DISABLED else ()


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument's type overrides ``__torch_function__``, or a mode is active."""
    torch_function.arm()
    return bool(local.modes) or bool(torch_function.overriding(relevant_args))


def has_torch_function_unary(tensor: Any) -> bool:
    """`has_torch_function` for one argument."""
    return has_torch_function((tensor,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """`has_torch_function` for arguments that are not in a tuple."""
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Give a call to the overrides of its arguments: what a library's own function does first.

    Parameters
    ----------
    public_api : callable
        The function that was called.
    relevant_args : iterable
        The arguments whose types are asked.

    Raises
    ------
    TypeError
        If no override implements it.

    Examples
    --------
    >>> def twice(x):
    ...     if has_torch_function_unary(x):
    ...         return handle_torch_function(twice, (x,), x)
    ...     return x + x
    """
    return torch_function.call_override(public_api, torch_function.overriding(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Decorator: the function is given to overrides.

    Parameters
    ----------
    dispatcher : callable
        Takes the function's arguments and returns those whose types are asked.
    """

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(input: Any) -> bool:
    """Whether something is a Tensor, or its type defines ``__torch_function__``."""
    return isinstance(input, Tensor) or hasattr(type(input), "__torch_function__")


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that can be overridden, by the namespace that has them."""
    torch_function.arm()
    return overridable_functions(len(torch_function._offered), len(torch_function._asking))


@functools.lru_cache(1)
def overridable_functions(namespaces: int, functions: int) -> dict[Any, list[Any]]:
    """As `get_overridable_functions`, while there are so many: modules offer theirs when they are imported."""
    found: dict[Any, list[Any]] = {}
    for namespace, names in torch_function._offered:
        values = [vars(namespace).get(name) for name in names]
        found[namespace] = [
            value for value in values if isinstance(value, FunctionType) and value in torch_function._asking
        ]
    return found


def names_of_functions() -> dict[Any, str]:
    """The full name of each function that can be overridden."""
    get_overridable_functions()
    return function_names(len(torch_function._offered), len(torch_function._asking))


@functools.lru_cache(1)
def function_names(namespaces: int, functions_: int) -> dict[Any, str]:
    """As `names_of_functions`, while there are so many."""
    found: dict[Any, str] = {}
    for namespace, functions in get_overridable_functions().items():
        prefix = "weft.Tensor" if namespace is Tensor else namespace.__name__
        for function in functions:
            found.setdefault(function, f"{prefix}.{function.__qualname__}")
    return found


def resolve_name(f: Any) -> str | None:
    """The full name of a function that can be overridden, ``"weft.add"``; None for others."""
    if isinstance(f, str):
        return f
    owner = getattr(f, "__self__", None)
    if isinstance(owner, property):  # its __get__ or __set__
        name = next((name for name, value in vars(Tensor).items() if value is owner), None)
        return None if name is None else f"weft.Tensor.{name}.{f.__name__}"
    return names_of_functions().get(f)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method or property of Tensor."""
    if getattr(func, "__name__", "") == "__get__":
        return True
    methods = (getattr(value, "fget", value) for value in vars(Tensor).values())
    return any(func is each for each in methods if callable(each))


def get_ignored_functions() -> set[Any]:
    """Public functions that cannot be overridden: they speak of no tensor's values."""
    torch_function.arm()
    callables = (value for name, value in vars(weft).items() if callable(value) and not name.startswith("_"))
    return {each for each in callables if inspect.isfunction(each) and each not in torch_function._asking}


def get_default_nowrap_functions() -> set[Any]:
    """What the default ``__torch_function__`` returns as it is, without making it the subclass."""
    return {Tensor.grad_fn, Tensor.grad, Tensor._base, Tensor.device, Tensor.dtype}


@functools.cache
def get_testing_overrides() -> dict[Any, Any]:
    """For each function that can be overridden one of the same signature that returns -1."""

    def dummy(*args: Any, **kwargs: Any) -> int:
        return -1

    found: dict[Any, Any] = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            found[function] = functools.wraps(function)(lambda *args, **kwargs: -1)
    return found


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """In a ``__torch_dispatch__``: what is called is recorded again, where gradients are enabled.

    ``__torch_function__`` needs none of it: overrides may call what they override.
    """
    with above_autograd():
        yield
