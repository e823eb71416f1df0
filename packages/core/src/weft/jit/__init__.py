"""The names of PyTorch's compiler for Python that programs and models consult.

There is no such compiler here: a program runs as it is written. So `is_scripting` and `is_tracing` are False, the
decorators return what they were given, and `script` and `trace` give what runs the same Python. `save` writes the
program that `weft.export.export` records, and `load` reads it.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any, Final, NamedTuple, NoReturn

from weft._lazy import load as load_portion

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_fusion: dict[str, Any] = {"onednn": False, "strategy": []}


class Error(RuntimeError):
    """What a compiled program raises in PyTorch; never raised here."""


class TracerWarning(Warning):
    """What a trace warns of in PyTorch; never given here."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Do nothing: there are none."""


class ScriptFunction:
    """What `trace` makes of a function: it runs as before, and can be saved as a program.

    Parameters
    ----------
    function : callable
    example : tuple
        Arguments and keyword arguments with which the program can be recorded.
    """

    def __init__(self, function: Callable[..., Any], example: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._example = modules().Example.of(*example)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def graph(self) -> Any:
        """The graph of the program, as it would be saved."""
        return programs().shown(self).graph

    inlined_graph = graph

    @property
    def code(self) -> str:
        """The same as Python."""
        code: str = programs().shown(self).graph_module.code
        return code

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """Write the program to a file, see `save`."""
        save(self, f, _extra_files)


class Attribute(NamedTuple):
    """A value and its type, for attributes whose type a compiler could not tell."""

    value: Any
    type: Any


# What models ask --------------------------------------------------------------------------------------------


def is_scripting() -> bool:
    """False: no compiled code runs.

    Examples
    --------
    >>> if not weft.jit.is_scripting():
    ...     print("as Python")
    as Python
    """
    return False


def is_tracing() -> bool:
    """False: no recording of weft's has tensors for sizes, as programs expect that ask this.

    `weft.compiler.is_exporting` is true while a program is recorded, also for `jit.save`.
    """
    return False


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's own `isinstance`, for which ``list[int]`` and its like count as ``list``."""
    kinds = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(getattr(kind, "__origin__", None) or kind for kind in kinds))


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


# Decorators -------------------------------------------------------------------------------------------------


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Decorator: return the function; a compiler would leave it as it is."""
    return drop if callable(drop) else unchanged


def unchanged(function: Any) -> Any:
    """What the decorators do."""
    return function


def unused(fn: Any) -> Any:
    """Decorator: return the function; a compiler would let it raise."""
    return fn


def export(fn: Any) -> Any:
    """Decorator: return the method; a compiler would compile it also if nobody calls it."""
    return fn


def interface(obj: Any) -> Any:
    """Decorator: return the class."""
    return obj


def script_if_tracing(fn: Any) -> Any:
    """Decorator: return the function; nothing is traced."""
    return fn


_script_if_tracing = script_if_tracing  # as torchvision calls it


def script_method(fn: Any) -> Any:
    """Decorator: return the method."""
    return fn


def _overload(func: Any) -> Any:
    """Decorator: return one of several signatures of a function; a compiler would choose among them."""
    return func


_overload_method = _overload  # the same of a method


# Compilation ------------------------------------------------------------------------------------------------


def script(
    obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None, **kwargs: Any
) -> Any:
    """The function or class itself, or the module as a `ScriptModule`: it runs as it is written.

    Parameters
    ----------
    obj : Module, callable or class
    optimize
        Accepted.
    example_inputs : list of tuple, optional
        Arguments with which the program of a module can be recorded; default: those of its first call.

    Examples
    --------
    >>> @weft.jit.script
    ... def twice(x):
    ...     return 2 * x
    >>> twice(weft.ones(2))
    tensor([2., 2.])
    """
    if not is_module(obj):
        return obj
    if builtins.isinstance(example_inputs, dict):  # by modules
        example_inputs = example_inputs.get(obj)
    return modules().scripted(obj, (tuple(example_inputs[0]), {}) if example_inputs else None)


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    *,
    example_kwarg_inputs: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """The module as a `ScriptModule`, or the function as a `ScriptFunction`, which run the same Python.

    It is not called: control flow stays as it is. What is saved of it goes as the example went; sizes may change where
    the program lets them.

    Parameters
    ----------
    func : Module or callable
        Also the method ``forward`` of a module.
    example_inputs : tuple or Tensor
        Arguments with which the program can be recorded.
    example_kwarg_inputs : dict, optional
        Keyword arguments.
    optimize, check_trace, check_inputs, check_tolerance, strict
        Accepted.

    Examples
    --------
    >>> model = weft.nn.Linear(3, 2)
    >>> traced = weft.jit.trace(model, weft.ones(4, 3))
    >>> traced.save(path)  # doctest: +SKIP
    >>> weft.jit.load(path)(weft.ones(8, 3)).shape  # doctest: +SKIP
    weft.Size([8, 2])
    """
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("trace: example_kwarg_inputs should be a dict if example_inputs is None")
    if builtins.isinstance(example_inputs, dict):
        example_inputs, example_kwarg_inputs = (), example_inputs
    args = example_inputs if builtins.isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    example = tuple(args) if example_inputs is not None else (), dict(example_kwarg_inputs or {})
    owner = getattr(func, "__self__", None)
    if getattr(func, "__name__", "") == "forward" and is_module(owner):
        func = owner
    if is_module(func):
        return modules().scripted(func, example)
    return ScriptFunction(func._function if builtins.isinstance(func, ScriptFunction) else func, example)


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """`trace` of a module with example inputs by the names of its methods; only ``forward`` is in what is saved.

    Raises
    ------
    NotImplementedError
        If there are other methods.
    """
    others = sorted(inputs.keys() - {"forward"})
    if others:
        raise NotImplementedError(
            f"trace_module: only forward can be saved as a program, got inputs for {', '.join(others)}; trace these as "
            "functions of their own"
        )
    return trace(mod, inputs["forward"])


def is_module(obj: Any) -> bool:
    """Whether an object is a `weft.nn.Module`, without importing these."""
    nn = sys.modules.get("weft.nn")
    return nn is not None and builtins.isinstance(obj, nn.Module)


def modules() -> Any:
    """The module of weft-nn that has the classes of scripted modules."""
    load_portion("nn")  # or say how to install it
    return importlib.import_module("weft.nn.compiled")


def programs() -> Any:
    """The module of weft-nn that makes programs, and saves and loads them."""
    load_portion("nn")
    return importlib.import_module("weft.export.scripted")


def _get_trace_graph(f: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: fvcore, which counts operations in such graphs, has other uses as well."""
    raise RuntimeError(
        "jit._get_trace_graph: weft makes no graphs of TorchScript. Count operations with "
        "weft.utils.flop_counter.FlopCounterMode; weft.fx.symbolic_trace makes a module's graph"
    )


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module itself.

    Raises
    ------
    RuntimeError
        If it is in training mode.
    """
    if mod.training:
        raise RuntimeError("freeze: the module is in training mode. Call .eval() on it first")
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module itself, in evaluation mode."""
    mod.eval()
    return mod


def run_frozen_optimizations(mod: Any, optimize_numerics: bool = True, preserved_methods: Any = None) -> None:
    """Do nothing: there are none."""


def export_opnames(m: Any) -> NoReturn:
    """Refused.

    Raises
    ------
    NotImplementedError
        A module has no list of its operations.
    """
    raise NotImplementedError(
        "jit.export_opnames: weft makes no graphs of TorchScript; the operations of a module are in "
        "weft.export.export(module, args).graph"
    )


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Write the program of a module or function to a file, from which `load` runs it without its Python.

    It is the program that `weft.export.export` records with the example inputs, in the mode (`eval`, `train`) that the
    module is in, with each size that can change left open.

    Parameters
    ----------
    m : ScriptModule or ScriptFunction
        What `script`, `trace` or `load` gave.
    f : path or binary file
    _extra_files : dict, optional
        More content, text or bytes by name.

    Raises
    ------
    RuntimeError
        If there are no example inputs, since a scripted module was not called.
    UserError
        If the program does what a graph cannot, with the op and the line: see `weft.export.export`.
    """
    if not hasattr(m, "_example"):
        raise TypeError(
            f"jit.save: takes what jit.script or jit.trace gave, got {type(m).__name__}. A model's numbers alone are "
            "saved by weft.save(model.state_dict(), path)"
        )
    programs().save(m, f, _extra_files)


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """The program that `save` or `weft.export.save` wrote, as a module.

    The file may be anybody's: nothing in it is executed or imported.

    Parameters
    ----------
    f : path or binary file
    map_location : device or str, optional
        Where parameters and buffers go; default: the CPU.
    _extra_files : dict, optional
        Its values become the content of the files of those names.

    Returns
    -------
    ScriptModule

    Raises
    ------
    RuntimeError
        If it is another file: weft does not run TorchScript.
    """
    return programs().load(f, map_location, _extra_files)


class CompilationUnit:
    """Source text to be compiled, which is refused."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            raise RuntimeError("CompilationUnit: weft does not run TorchScript. Write the functions in Python")


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Keep the strategy, and return the one before; nothing is fused by it."""
    before, _fusion["strategy"] = _fusion["strategy"], list(strategy)
    return list(before)


def enable_onednn_fusion(enabled: bool) -> None:
    """Keep the setting."""
    _fusion["onednn"] = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` was given."""
    return bool(_fusion["onednn"])


@contextmanager
def optimized_execution(should_optimize: bool) -> Any:
    """Context manager, accepted."""
    yield


class strict_fusion:
    """Context manager, accepted: nothing is fused, and nothing complains of it."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


# Tasks ------------------------------------------------------------------------------------------------------


class Future:
    """The result of `fork`, which is there already."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        """The result."""
        return self._value

    def value(self) -> Any:
        """The result."""
        return self._value

    def done(self) -> bool:
        """True."""
        return True

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of what a function makes of this one."""
        return Future(callback(self))


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call the function at once, and return a future that is done."""
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """The result of `fork`."""
    return future.wait()


def __getattr__(name: str) -> Any:
    """``ScriptModule`` and its kind, which are modules: of weft-nn."""
    if name in ("ScriptModule", "RecursiveScriptModule", "TracedModule", "TopLevelTracedModule"):
        return modules().ScriptModule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
