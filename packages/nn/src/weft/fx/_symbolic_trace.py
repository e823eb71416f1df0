"""`Tracer`: runs a module with proxies in place of tensors, and keeps what it did as a graph."""

from __future__ import annotations

import builtins
import collections
import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from weft import Tensor
from weft.fx.graph import Graph
from weft.fx.graph_module import GraphModule
from weft.fx.node import Argument
from weft.fx.proxy import Proxy, TracerBase, proxies_in
from weft.library.subclasses import display_name
from weft.nn import Module, Parameter, Sequential

__all__ = ["Tracer", "symbolic_trace", "wrap"]

_wrapped: dict[tuple[int, str], dict[str, Any]] = {}  # names that `wrap` was given, and the globals that have them
_absent = object()
STARS = ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**"))


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Record calls of a function of this module as they are, without looking into it.

    Must be called at the top level of the module whose name it is, or stand there as a decorator.

    Parameters
    ----------
    fn_or_name : str or callable
        A function's name, which may be a builtin's such as ``"len"``, or the function.

    Returns
    -------
    What it was given.

    Raises
    ------
    RuntimeError
        If it is neither.
    NotImplementedError
        If it is called inside of a function.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            f"wrap: Unsupported type for global function! Must be either a callable or string name, got {fn_or_name!r}"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap: wrap must be called at the top level of a module")
    _wrapped[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Record what a module or function does with its arguments.

    It is run once, with a `Proxy` for each argument. Modules of weft.nn are recorded as calls; others are looked into.

    Parameters
    ----------
    root : Module or callable
    concrete_args : dict, optional
        Arguments that shall be constants, by name: for what decides which way the program goes.

    Returns
    -------
    GraphModule
        Computes the same. It has the module's parameters, buffers and submodules themselves, no copies.

    Raises
    ------
    TraceError
        If what the program does depends on values.

    Examples
    --------
    >>> def f(x, y):
    ...     return weft.relu(x) + y.mean(0)
    >>> print(symbolic_trace(f).code.strip())
    def forward(self, x, y):
        relu = weft.relu(x);  x = None
        mean = y.mean(0);  y = None
        add = relu + mean;  relu = mean = None
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def assert_equal(value: Any, expected: Any, message: str) -> None:
    """Raise if an argument is not the one that the graph was made for.

    Raises
    ------
    AssertionError
        With the message.
    """
    if (value is not None) if expected is None else (value != expected):
        raise AssertionError(message)


def by_position(function: Any, count: int) -> Any:
    """The function with all its parameters, ``*args`` and ``**kwargs`` too, as positional ones: a proxy for each."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    plain = code.replace(co_flags=flags, co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0)
    made = FunctionType(plain, function.__globals__, function.__name__, None, function.__closure__)
    made.__annotations__ = dict(function.__annotations__)
    return made


def annotations_of(function: Any) -> dict[str, Any]:
    """The types of a function's parameters and result: those that say something, and are no text that means nothing."""
    try:
        found = inspect.get_annotations(function, eval_str=True)
    except (NameError, SyntaxError, TypeError, AttributeError):  # of names that only a type checker imports
        found = inspect.get_annotations(function)
    return {name: kind for name, kind in found.items() if kind is not Any and not isinstance(kind, str)}


class Patches:
    """Replacements in namespaces, undone in the end."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []

    def set(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        """Replace an item of a dict."""
        self._undo.append((namespace, name, namespace.get(name, _absent)))
        namespace[name] = value

    def set_attribute(self, cls: type, name: str, value: Any) -> None:
        """Replace an attribute of a class."""
        self._undo.append((cls, name, vars(cls).get(name, _absent)))
        setattr(cls, name, value)

    def undo(self) -> None:
        """Put everything back."""
        for place, name, before in reversed(self._undo):
            if isinstance(place, dict):
                place.pop(name) if before is _absent else place.__setitem__(name, before)
            else:
                delattr(place, name) if before is _absent else setattr(place, name, before)
        self._undo.clear()


def recording(function: Callable[..., Any], wrapped: bool) -> Callable[..., Any]:
    """The function, whose calls with proxies are recorded."""

    @functools.wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        proxies = proxies_in((args, kwargs))
        if not proxies:
            return function(*args, **kwargs)
        made = proxies[0].tracer.create_proxy("call_function", function, args, kwargs)
        if wrapped:
            made.node.meta["is_wrapped"] = True
        return made

    return record


class Tracer(TracerBase):
    """Records what a module does; override its methods for another way of doing so.

    Parameters
    ----------
    autowrap_modules : tuple of module
        Modules of Python whose functions are recorded as calls.
    autowrap_functions : tuple of callable
        Functions that are.
    param_shapes_constant : bool
        Accepted: a parameter's shape is asked of the parameter itself when it is the module's own.

    Attributes
    ----------
    root : Module
        What is traced.
    graph : Graph
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_functions = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self.param_shapes_constant = param_shapes_constant
        self.root: Any = None
        self.traced_func_name = "forward"
        self.submodule_paths: dict[Module, str] | None = None
        self.tensor_attrs: dict[Any, str] = {}
        self.module_stack: collections.OrderedDict[str, Any] = collections.OrderedDict()

    # What may be overridden

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether to record a call of the module as one step; else what it does inside is recorded.

        By default the modules of weft.nn are, but for `Sequential`.
        """
        home = type(m).__module__
        return display_name.is_own(home) and ".nn" in home and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The name of a submodule of the root.

        Raises
        ------
        NameError
            If it is none.
        """
        if self.submodule_paths is None:
            self.submodule_paths = {module: name for name, module in self.root.named_modules()}
        found = self.submodule_paths.get(mod)
        if found is None:
            raise NameError(f"module is not installed as a submodule: {mod}")
        return found

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record the call of a module, or run it with the proxies.

        Parameters
        ----------
        m : Module
        forward : callable
            The module's own call.
        """
        path = self.path_of_module(m)
        self.module_stack[path] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What an attribute of a module is for the program: a proxy for a parameter, else the value."""
        if isinstance(attr_val, Parameter):
            return self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache, attr_val)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache, attr_val)
        return attr_val

    def _proxy_of(self, value: Any, named: Any, cache: dict[str, Any], otherwise: Any) -> Any:
        for name, each in named:
            if each is value:
                if name not in cache:
                    cache[name] = self.create_proxy("get_attr", name, (), {})
                return cache[name]
        return otherwise

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Any:
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
        return node

    def create_arg(self, a: Any) -> Argument:
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._name_of_tensor(a), (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)

    def _name_of_tensor(self, value: Any) -> str:
        """The name under which the root has a tensor; one that it does not have becomes an attribute."""
        for named in (self.root.named_parameters(), self.root.named_buffers()):
            for name, each in named:
                if each is value:
                    return str(name)
        if value in self.tensor_attrs:
            return self.tensor_attrs[value]
        name = self.get_fresh_qualname("_tensor_constant")
        self.tensor_attrs[value] = name
        setattr(self.root, name, value)
        return name

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that no attribute of the root has."""
        return next(name for name in (f"{prefix}{i}" for i in itertools.count()) if not hasattr(self.root, name))

    # Tracing

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """Record a module or function as a graph; see `symbolic_trace`."""
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"trace: traced_func_name={self.traced_func_name!r} is no method of {type(root).__name__}"
                )
            function = getattr(type(root), self.traced_func_name)
        else:
            self.root = Module()
            function = root
        self.submodule_paths = {module: name for name, module in self.root.named_modules()}
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = self._tensor_attributes()
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        with self._patched(function):
            result = function(*args)
            annotation = annotations_of(function).get("return")
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=annotation)
        self.submodule_paths = None
        return self.graph

    def _tensor_attributes(self) -> dict[Any, str]:
        """Tensors that are plain attributes of the root or its submodules, and their names."""
        return {
            value: f"{path}.{name}" if path else name
            for path, module in self.root.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, Tensor)
        }

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Any, list[Any]]:
        """The function to run, and a proxy for each of its arguments.

        Raises
        ------
        RuntimeError
            If it is a method without ``self``.
        """
        called = inspect.unwrap(root_fn)
        code = called.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:total])
        args: list[Any] = []
        if is_module:
            if not code.co_argcount:
                raise RuntimeError("trace: ``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
            del names[0]
        parameters = inspect.signature(called).parameters
        args += [self._argument(called, name, parameters[name], concrete_args or {}) for name in names]
        stars = [star for flag, star in STARS if code.co_flags & flag]
        args += [self.proxy_placeholder(f"{star}{name}") for star, name in zip(stars, code.co_varnames[total:])]
        if not stars and not code.co_kwonlyargcount:
            return root_fn, args
        return by_position(called, len(args)), args

    def proxy_placeholder(self, target: str, default: Any = inspect.Parameter.empty, type_expr: Any = None) -> Proxy:
        """A placeholder, as a proxy."""
        args = () if default is inspect.Parameter.empty else (default,)
        return self.create_proxy("placeholder", target, args, {}, type_expr=type_expr)

    def _argument(self, function: Any, name: str, parameter: Any, concrete: dict[str, Any]) -> Any:
        kind = annotations_of(function).get(name)
        if name not in concrete or isinstance(concrete[name], Proxy):
            return self.proxy_placeholder(name, parameter.default, kind)
        value = concrete[name]
        proxy = self.proxy_placeholder(f"{name}_1", parameter.default, kind)
        if isinstance(value, bool | int | float | str | None):
            message = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", assert_equal, (proxy, value, message), {})
        return value

    @contextmanager
    def _patched(self, function: Any) -> Iterator[None]:
        """For the time of a block: modules, their attributes and the functions of the program ask this tracer."""
        patches = Patches()
        call, attribute = Module.__call__, Module.__getattr__
        cache: dict[str, Any] = {}

        def module_getattr(module: Any, name: str) -> Any:
            return self.getattr(name, attribute(module, name), cache)

        @functools.wraps(call)
        def module_call(module: Any, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return call(module, *args, **kwargs)

            self._record_in(patches, getattr(type(module).forward, "__globals__", {}))
            return self.call_module(module, forward, args, kwargs)

        patches.set_attribute(Module, "__call__", module_call)
        patches.set_attribute(Module, "__getattr__", module_getattr)
        try:
            self._patch_wrapped(patches)
            for module in self._autowrap_search:
                self._record_in(patches, vars(module))
            self._record_in(patches, getattr(inspect.unwrap(function), "__globals__", {}))
            yield
        finally:
            patches.undo()

    @staticmethod
    def _patch_wrapped(patches: Patches) -> None:
        """Let calls of the functions that `wrap` was given be recorded."""
        for (_, name), namespace in _wrapped.items():
            original = namespace.get(name, getattr(builtins, name, None))
            if original is not None:
                patches.set(namespace, name, recording(original, wrapped=True))

    def _record_in(self, patches: Patches, namespace: dict[str, Any]) -> None:
        """Replace in a module what shall be recorded, and weft's functions that were imported before they could be."""
        home = str(namespace.get("__name__", ""))
        if display_name.is_own(home):
            return
        for name, value in list(namespace.items()):
            if id(value) in self._autowrap_functions and not name.startswith("_"):
                patches.set(namespace, name, recording(value, wrapped=False))
