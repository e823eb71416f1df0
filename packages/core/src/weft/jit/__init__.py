"""The names of PyTorch's compiler for Python that programs and models consult.

There is no such compiler here: a program runs as it is written. So `is_scripting` and `is_tracing` are False, the
decorators return what they were given, and `script` and `trace` too. What needs a compiled program (`save`, `load`)
raises.
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable
from contextlib import contextmanager
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
    """The class of compiled functions, of which there are none: for ``isinstance``."""


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
    """False: calls are not recorded for a compiler. `weft.fx` records with objects that stand for tensors."""
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
    """The module, function or class itself: it runs as it is written.

    Parameters
    ----------
    obj : Module, callable or class
    optimize, example_inputs
        Accepted.

    Examples
    --------
    >>> @weft.jit.script
    ... def twice(x):
    ...     return 2 * x
    >>> twice(weft.ones(2))
    tensor([2., 2.])
    """
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The module or function itself, which is not called: control flow stays as it is, not as the example went.

    Parameters
    ----------
    func : Module or callable
    example_inputs
        And whatever else `torch.jit.trace` takes: accepted.
    """
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """The module itself."""
    return mod


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


def export_opnames(m: Any) -> list[str]:
    """Empty: a module that is not compiled has no list of its operations."""
    return []


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Raise RuntimeError: a program cannot be saved, only what it has learned."""
    raise RuntimeError(
        "jit.save: weft has no compiled programs. Save the model's numbers: weft.save(model.state_dict(), path)"
    )


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Raise RuntimeError: a compiled program cannot be run."""
    raise RuntimeError(
        "jit.load: weft does not run TorchScript. Build the model in Python and load its numbers: "
        "model.load_state_dict(weft.load(path))"
    )


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
        load_portion("nn")  # or say how to install it
        return importlib.import_module("weft.nn.compiled").ScriptModule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
