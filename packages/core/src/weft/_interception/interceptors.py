"""Interceptors: objects that see each op of a thread, with its named arguments, before and after it runs.

The stack is empty by default, and nobody asks it then: while an interceptor is entered no dispatch key is on the fast
path, so that calls come to `Declaration.dispatch`, which comes here. Below it are autograd, autocast and the function
transforms: an interceptor sees the ops that forward and backward are made of, on tensors without wrappers. What is no
declared op (creation, writes, reads of values, steps over lists) is an `Operation`, which shows itself here.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ParamSpec, Self, TypeVar

from weft._engine.tensor import intercept, local, state

__all__ = [
    "OTHER_MEMORY",
    "SIZES_FROM_VALUES",
    "Interceptor",
    "Operation",
    "intercepted",
    "is_watched",
    "operations",
    "run_live",
    "seen_as",
    "side_effect",
]

# What a recording cannot promise for other values, by the names of ops without their namespace.
# Ops whose results have a size that depends on values.
SIZES_FROM_VALUES = frozenset("nonzero unique unique_consecutive argwhere bincount repeat_interleave histc".split())
# Ops that give a tensor other memory.
OTHER_MEMORY = frozenset("set_ resize_ resize_as_ swap_".split())

P = ParamSpec("P")
R = TypeVar("R")


class Interceptor:
    """Sees each op that the block runs in this thread: tracers, exporters and counters are such.

    Override any of the three methods. While one runs, only the interceptors that were entered before see ops, so that
    a method may compute with tensors. ``op`` has a ``name``, as ``"core::mul"``, and can be called with named
    arguments; `get_op` finds it by its name. ``args`` maps names to tensors, lists of tensors, numbers, strings,
    dtypes, slices and tuples of them, and to the `Generator` that a call was given: None is the device's default one.
    It is the caller's own: read it only.

    Examples
    --------
    >>> class Names(weft.library.Interceptor):
    ...     def before(self, op, args):
    ...         print(op.name, *args)
    >>> x = weft.ones(2)
    >>> with Names():
    ...     y = x * 2 + weft.zeros(2)
    core::mul input other
    core::zeros size
    core::add input other
    """

    hides_values = False  # of tensors from the checks of functions, whose reads it would take for the program's
    exports = False  # whether `weft.compiler.is_exporting` says so to the program
    sees_inside_functions = (
        False  # of the program's own: it is asked about what they are made of, not about each as one
    )

    def before(self, op: Any, args: dict[str, Any]) -> None:
        """Look at a call that is about to run."""

    def instead(self, op: Any, args: dict[str, Any]) -> Any:
        """Give the result of a call in its stead; NotImplemented, as by default: it runs."""
        return NotImplemented

    def after(self, op: Any, args: dict[str, Any], result: Any) -> None:
        """Look at the result: a tensor, a tuple of them, or a value that was read."""

    def live(self, owner: Any, name: str, function: Callable[[Any, Any], Any], args: Any, kwargs: Any) -> Any:
        """Run a call of an object whose attributes change from call to call, such as an optimizer's step."""
        return function(args, kwargs)

    def side_effect(self, what: str) -> None:
        """Hear of something that a program does and no op shows, such as a message to another process."""

    def __enter__(self) -> Self:
        local.interceptors = (*local.interceptors, self)
        intercept(1)
        return self

    def __exit__(self, *raised: object) -> None:
        intercept(-1)
        stack = list(local.interceptors)
        del stack[max(place for place, each in enumerate(stack) if each is self)]  # it may have been entered twice
        local.interceptors = tuple(stack)


class Operation:
    """A function that interceptors see as one op, and not the ops that it is made of.

    Parameters
    ----------
    name : str
        With its namespace, ``"core::zeros"``.
    function : callable
        Runs it.
    signature : callable, optional
        Whose parameters name its arguments; default: those of the function.
    """

    def __init__(self, name: str, function: Callable[..., Any], signature: Callable[..., Any] | None = None) -> None:
        self.name = name
        self.function = function
        # From the named arguments of a call, with dispatch keys in place of tensors: the same as a function of arrays,
        # for captured lists; None where there is none.
        self.array_function: Callable[[dict[str, Any]], Callable[..., Any] | None] | None = None
        self.onnx: Any = None  # how it is written to ONNX files, see weft/onnx/README.md
        self._source = signature or function
        operations[name] = self

    def __repr__(self) -> str:
        return f"<Operation {self.name}>"

    def __call__(self, /, **args: Any) -> Any:
        positional, options = self.unnamed(args)
        return self.function(*positional, **options)

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._source)

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name; keywords without a parameter, as ``out``, stand beside the others."""
        known = self._signature.parameters
        try:
            bound = self._signature.bind(*args, **{name: value for name, value in kwargs.items() if name in known})
        except TypeError:
            self._source(*args, **kwargs)  # which raises it with the function's name
            raise
        return bound.arguments | {name: value for name, value in kwargs.items() if name not in known}

    def unnamed(self, args: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and other arguments for named ones."""
        known = self._signature.parameters
        given = OrderedDict((name, args[name]) for name in known if name in args)
        bound = inspect.BoundArguments(self._signature, given)
        return bound.args, bound.kwargs | {name: value for name, value in args.items() if name not in known}

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function, seen by this thread's interceptors."""
        return intercepted(self, self.named(args, kwargs), lambda: self.function(*args, **kwargs))


operations: dict[str, Operation] = {}


def seen_as(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: interceptors see a call of the function, which is no declared op, as one op of this name."""

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def seen(*args: P.args, **kwargs: P.kwargs) -> R:
            if state.intercepting and local.interceptors:
                result: R = operation.run(args, kwargs)
                return result
            return function(*args, **kwargs)

        operation = Operation(name, seen, function)
        return seen

    return declare


def run_live(owner: Any, name: str, function: Callable[[Any, Any], Any], args: Any, kwargs: Any) -> Any:
    """Call ``function(args, kwargs)``; what captures calls may run it as it is in each replay.

    Parameters
    ----------
    owner : object
        Its attributes say what the call does. Its class has ``_runs_live = True``.
    name : str
    function : callable
        Takes ``args`` and ``kwargs`` as two arguments.
    args, kwargs
        Of the call.
    """
    stack = local.interceptors
    return stack[-1].live(owner, name, function, args, kwargs) if stack else function(args, kwargs)


def side_effect(what: str) -> None:
    """Tell the interceptor that sees this thread's ops first of something that no op shows."""
    if local.interceptors:
        local.interceptors[-1].side_effect(what)


class Method(Operation):
    """A method of the tensor that is the first of the named arguments."""

    def __call__(self, /, **args: Any) -> Any:
        (_, tensor), *others = args.items()
        return getattr(tensor, self.name.partition("::")[2])(**dict(others))


def method_operation(name: str) -> Operation:
    """The operation of a method of Tensor."""
    return operations.get(f"core::{name}") or Method(f"core::{name}", getattr(state.tensor_class, name))


def is_watched() -> bool:
    """Whether an interceptor wants to see what this thread runs."""
    return bool(state.intercepting and local.interceptors)


def intercepted(op: Any, args: dict[str, Any], run: Callable[[], Any]) -> Any:
    """Run a call, with this thread's interceptors around it: the innermost is asked first."""
    stack = local.interceptors
    if not stack:
        return run()
    interceptor: Interceptor = stack[-1]
    local.interceptors = stack[:-1]
    try:
        interceptor.before(op, args)
        result = interceptor.instead(op, args)
        if result is NotImplemented:
            result = intercepted(op, args, run)
        interceptor.after(op, args, result)
        return result
    finally:
        local.interceptors = stack
