"""What programs ask and tell a compiler of models, and `compile`: models run as they are written."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy

from weft._tensor.base import Tensor
from weft._tensor.interop import from_numpy
from weft.utils._pytree import tree_map

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

_settings: dict[str, Any] = {"backend": "inductor"}


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    **more: Any,
) -> Any:
    """A module or function that computes the same as the one given: nothing is compiled.

    Parameters
    ----------
    model : Module or callable, optional
        Without it a decorator is returned.
    fullgraph, dynamic, backend, mode, options, name, **more
        Accepted.
    disable : bool
        Return a module itself.

    Returns
    -------
    Module or callable
        A function itself. A module in a wrapper, as in PyTorch: ``_orig_mod`` is the module, the names in the
        wrapper's `state_dict` begin with ``_orig_mod.``, and every other attribute is the module's.

    Raises
    ------
    RuntimeError
        If both mode and options are given.
    TypeError
        If the model cannot be called.

    Examples
    --------
    >>> model = weft.compile(weft.nn.Linear(2, 3))
    >>> list(model.state_dict()), model.out_features
    (['_orig_mod.weight', '_orig_mod.bias'], 3)
    """
    if mode is not None and options is not None:
        raise RuntimeError("compile: Either mode or options can be specified, but both can't be specified at once")
    if model is None:
        return functools.partial(compile, backend=backend, mode=mode, options=options, disable=disable)
    if not callable(model):
        raise TypeError(f"compile: model must be a Module or a function, got {type(model).__name__}")
    nn = sys.modules.get("weft.nn")
    if nn is None or disable or not isinstance(model, nn.Module):
        return model
    return importlib.import_module("weft.nn.compiled").OptimizedModule(model)


# Questions --------------------------------------------------------------------------------------------------


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


def is_dynamo_compiling() -> bool:
    """False: nothing is compiled."""
    return False


def is_exporting() -> bool:
    """False: nothing is exported."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Empty: there are no compilers."""
    return []


def get_default_backend() -> Any:
    """What `set_default_backend` was given; ``"inductor"`` at first."""
    return _settings["backend"]


# Settings ---------------------------------------------------------------------------------------------------


def set_default_backend(backend: Any) -> None:
    """Keep a name."""
    _settings["backend"] = backend


def reset() -> None:
    """Do nothing: no compiled code is kept."""


def cudagraph_mark_step_begin() -> None:
    """Do nothing: no work is recorded to be run again."""


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Accept the setting; returns False, what it was."""
    return False


class set_stance:
    """Accepted, as a call, a context manager or a decorator."""

    def __init__(self, stance: str = "default", **kwargs: Any) -> None:
        self.stance = stance

    def __call__(self, function: Any) -> Any:
        return function

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


# Decorators -------------------------------------------------------------------------------------------------


def unchanged(function: Any) -> Any:
    """What the decorators do."""
    return function


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself; without one a decorator that returns it."""
    return unchanged if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function itself, or the list of functions."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function itself."""
    return fn


def nested_compile_region(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The function itself; without one a decorator that returns it."""
    return unchanged if fn is None else fn


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that returns its function: the original stays in use."""
    return unchanged


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's arrays as one of tensors.

    Examples
    --------
    >>> import numpy
    >>> weft.compiler.wrap_numpy(numpy.cumsum)(weft.tensor([1, 2, 3]))
    tensor([1, 3, 6])
    """

    def to_array(value: Any) -> Any:
        return value.numpy() if isinstance(value, Tensor) else value

    def to_tensor(value: Any) -> Any:
        return from_numpy(numpy.asarray(value)) if isinstance(value, numpy.ndarray | numpy.generic) else value

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return tree_map(to_tensor, fn(*tree_map(to_array, args), **tree_map(to_array, kwargs)))

    return wrapped
