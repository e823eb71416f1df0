"""`compile`: functions whose kernel calls are recorded once and run again, and what programs ask and tell a compiler.

What is recorded, and when a recording is good, is in docs/capturing.md; why so, in the README of this folder.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy

from weft._engine.tensor import local
from weft._tensor.base import Tensor
from weft._tensor.interop import from_numpy
from weft.utils._pytree import tree_map

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "explain",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_fusion",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

_settings: dict[str, Any] = {"backend": "inductor", "guard_collectives": False}


class Running(threading.local):
    """What this thread runs."""

    compiled = False  # a call of a function of `compile`'s that is to be recorded


running = Running()


@contextmanager
def compiled_code(compiled: bool) -> Iterator[None]:
    """In this block `is_dynamo_compiling` says so."""
    before, running.compiled = running.compiled, compiled
    try:
        yield
    finally:
        running.compiled = before


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
    """Capture a function: its kernel calls are recorded, and run again without dispatch, autograd and modules.

    The kernels are those that run without it, so the numbers are the same, bit for bit. The first call with arguments
    of one kind runs as it is, the next two are recorded and compared, and later ones are replays, as long as nothing
    that the function reaches is another object. A function that cannot be captured runs as it is; `explain` says why.

    Parameters
    ----------
    model : Module or callable, optional
        A function of tensors: a whole training step, or a model, whose results may be differentiated. Without it a
        decorator is returned.
    fullgraph : bool
        Raise, where the function cannot be captured.
    backend : str or callable, optional
        ``"eager"`` and callables: nothing is captured. Other names are accepted.
    dynamic, mode, options, name, **more
        Accepted.
    disable : bool
        Return the function itself.

    Returns
    -------
    Module or callable
        Of a module a wrapper, as in PyTorch: ``_orig_mod`` is the module, the names in the wrapper's `state_dict` begin
        with ``_orig_mod.``, and every other attribute is the module's.

    Raises
    ------
    RuntimeError
        If both mode and options are given; by calls, with ``fullgraph``, where the function cannot be captured.
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
        return functools.partial(
            compile, fullgraph=fullgraph, backend=backend, mode=mode, options=options, disable=disable
        )
    if not callable(model):
        raise TypeError(f"compile: model must be a Module or a function, got {type(model).__name__}")
    if disable:
        return model
    captures = backend is None or (isinstance(backend, str) and backend != "eager")
    function = capturing().Captured(model, fullgraph) if captures else model
    nn = sys.modules.get("weft.nn")
    if nn is None or not isinstance(model, nn.Module):
        return function
    return importlib.import_module("weft.nn.compiled").OptimizedModule(model, function)


def capturing() -> Any:
    """The module that captures: imported when something is to be, as most programs only ask questions here."""
    return importlib.import_module("weft.compiler._captured")


# Questions --------------------------------------------------------------------------------------------------


def is_compiling() -> bool:
    """Whether the program runs so that its ops are recorded: by `compile`, or by `weft.export.export`.

    Replays do not run it. In calls of a captured function that run as they are, since it was refused, it is false.

    Examples
    --------
    >>> @weft.compile
    ... def twice(x):
    ...     print(weft.compiler.is_compiling())
    ...     return 2 * x
    >>> _ = twice(weft.ones(2))
    True
    """
    return is_dynamo_compiling() or is_exporting()


def is_dynamo_compiling() -> bool:
    """Whether a function of `compile`'s runs so that its ops are recorded."""
    return running.compiled


def is_exporting() -> bool:
    """Whether `weft.export.export` runs the program that calls this."""
    return any(each.exports for each in local.interceptors)


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Empty: captured functions run the kernels that there are, so there is nothing to choose from."""
    return []


def get_default_backend() -> Any:
    """What `set_default_backend` was given; ``"inductor"`` at first."""
    return _settings["backend"]


# Settings ---------------------------------------------------------------------------------------------------


def set_default_backend(backend: Any) -> None:
    """Keep a name."""
    _settings["backend"] = backend


def reset() -> None:
    """Forget what was captured, of all functions."""
    for each in list(capturing().captured_functions):
        each.reset()


def explain(function: Any) -> str:
    """Say what was captured of a function of `compile`'s, and why not.

    Parameters
    ----------
    function : callable or Module
        Returned by `compile`.

    Returns
    -------
    str
        A line for each thing that happened; then the lists, with the lines of the program that made the calls.

    Raises
    ------
    TypeError
        If nothing of it is ever captured.

    Examples
    --------
    >>> @weft.compile
    ... def twice(x):
    ...     return x + x.sum().item()
    >>> for _ in range(3):
    ...     _ = twice(weft.ones(2))
    >>> print(weft.compiler.explain(twice))
    not captured: it computes with a number that it read from a tensor (...)
    """
    captured = getattr(function, "_captured", function)
    if not isinstance(captured, capturing().Captured):
        raise TypeError(f"explain: the function must be one that compile returned, got {type(function).__name__}")
    return captured.explain()


def set_fusion(enabled: bool) -> bool:
    """Choose whether replays run chains of elementwise calls as one loop, where a backend has one of the same bits.

    At first they do. What `explain` says of a function ends with the chains.

    Parameters
    ----------
    enabled : bool
        False: all kernels run one by one, also of what was captured before.

    Returns
    -------
    bool
        What it was.

    Examples
    --------
    >>> before = weft.compiler.set_fusion(False)
    >>> weft.compiler.set_fusion(before)
    False
    """
    switch = importlib.import_module("weft.compiler._fusion").switch
    before, switch.enabled = switch.enabled, bool(enabled)
    return before


def cudagraph_mark_step_begin() -> None:
    """Do nothing: no replay writes over what an earlier one returned."""


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Keep the setting, which has no effect: nothing that is captured depends on another process.

    Returns
    -------
    bool
        What it was; False at first.
    """
    before: bool = _settings["guard_collectives"]
    _settings["guard_collectives"] = enabled
    return before


class set_stance:
    """Choose what captured functions do: a call, a context manager or a decorator.

    Parameters
    ----------
    stance : str
        ``"default"``; ``"force_eager"``: they run as they are written. Other names of PyTorch's are accepted.
    **kwargs
        Accepted.

    Examples
    --------
    >>> with weft.compiler.set_stance("force_eager"):
    ...     pass
    """

    def __init__(self, stance: str = "default", **kwargs: Any) -> None:
        self.current = capturing().current
        self.before, self.stance = self.current.stance, stance
        self.current.stance = stance

    def __call__(self, function: Any) -> Any:
        self.current.stance = self.before

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self.stance):
                return function(*args, **kwargs)

        return wrapped

    def __enter__(self) -> None:
        self.current.stance = self.stance

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.current.stance = self.before


# Decorators -------------------------------------------------------------------------------------------------


def unchanged(function: Any) -> Any:
    """What the decorators do."""
    return function


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function that is never captured, and keeps functions that call it from being; without one a decorator.

    A class or a module is returned as it is.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not isinstance(fn, types.FunctionType | types.MethodType):
        return fn

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        recorder = local.interceptors[-1] if local.interceptors else None
        if recorder is not None and isinstance(recorder, capturing().Recorder):
            why = f": {reason}" if reason else ""
            recorder.refuse(f"it calls {getattr(fn, '__name__', 'a function')}, which is disabled{why}")
        with compiled_code(False):
            return fn(*args, **kwargs)

    return wrapped


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
