"""Modules by the classes that compilers make of them: of `weft.compile`, and of `weft.jit`."""

from __future__ import annotations

import importlib
import os
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import weft
from weft.nn.module import Module
from weft.utils._pytree import tree_flatten, tree_map_only

__all__ = ["OptimizedModule", "ScriptModule"]


class OptimizedModule(Module):
    """The result of `weft.compile` for a module: the module as ``_orig_mod``, and all of its attributes as its own.

    Parameters
    ----------
    mod : Module
    captured : callable
        What calls of the wrapper run: the module, or its replays.
    """

    _orig_mod: Module

    def __init__(self, mod: Module, captured: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__["_captured"] = captured
        self._orig_mod = mod
        del self.__dict__["training"]  # the module's own is told and set

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module, or replay what it did."""
        return self._captured(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


class Example(NamedTuple):
    """Arguments with which a program can be recorded, with shapes in the place of tensors."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Example:
        """That of a call."""
        return cls(*tree_map_only(weft.Tensor, InputShape.of, (args, dict(kwargs))))

    def calls_as(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call has the same arguments but for the sizes of tensors and what is in them."""
        (mine, spec), (others, other_spec) = tree_flatten(tuple(self)), tree_flatten((args, dict(kwargs)))
        return spec == other_spec and all(map(is_alike, mine, others))


@dataclass(frozen=True)
class InputShape:
    """What is kept of a tensor that a module was called with."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any

    @classmethod
    def of(cls, tensor: Any) -> InputShape:
        """That of a tensor."""
        return cls(tuple(tensor.shape), tensor.dtype, tensor.device)

    def zeros(self) -> Any:
        """A tensor of this shape."""
        return weft.zeros(self.shape, dtype=self.dtype, device=self.device)


def is_alike(known: Any, value: Any) -> bool:
    """Whether a program that was recorded with one argument can take another one."""
    if isinstance(known, InputShape):
        return isinstance(value, weft.Tensor) and (value.ndim, value.dtype) == (len(known.shape), known.dtype)
    if isinstance(value, weft.Tensor) or type(value) is not type(known):
        return False
    return known is value or not isinstance(known, (bool, int, float, complex, str)) or bool(known == value)


class ScriptModule(Module):
    """What `weft.jit.script`, `trace` and `load` make of a module: it runs as before, and can be saved as a program.

    Its class is made of this one and the module's, so that it has the module's methods too; parameters, buffers and
    submodules are the module's. Classes of programs that were written for a compiler derive from it.

    Attributes
    ----------
    graph : Graph
        Of the program, as it would be saved. ``code`` is the same as Python.
    original_name : str
        Of the module's class.
    """

    _example: Example | None = None
    _is_example_given = False
    _is_called_otherwise = False  # than the first time

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._example is None:
            self.__dict__["_example"] = Example.of(args, kwargs)
        elif not self._is_example_given and not self._example.calls_as(args, kwargs):
            self.__dict__["_is_called_otherwise"] = True
        return super().__call__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in ("graph", "inlined_graph", "code") and "_parameters" in self.__dict__:
            program = importlib.import_module("weft.export.scripted").shown(self)
            return program.graph_module.code if name == "code" else program.graph
        if name == "original_name":
            return type(self).__name__
        return super().__getattr__(name)

    def __reduce__(self) -> Any:
        kind = type(self)
        if kind.__dict__.get("_is_made"):  # no module has the class
            state = {name: value for name, value in vars(self).items() if name != "_shown"}
            return blank, (kind.__bases__[1],), state
        return super().__reduce__()

    def save(self, f: str | os.PathLike[str] | Any, _extra_files: Mapping[str, Any] | None = None) -> None:
        """Write the program to a file, see `weft.jit.save`."""
        weft.jit.save(self, f, _extra_files)


def scripted(module: Module, example: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None) -> ScriptModule:
    """A module as a `ScriptModule`.

    Parameters
    ----------
    module : Module
    example : tuple, optional
        Arguments and keyword arguments; default: those of its first call.
    """
    if not isinstance(module, ScriptModule):
        made = blank(type(module))
        vars(made).update(vars(module))
        module = made
    if example is not None:
        vars(module).update(_example=Example.of(*example), _is_example_given=True)
    return module


def blank(kind: Any) -> ScriptModule:
    """A scripted module of a class, without any attribute."""
    return object.__new__(class_of(kind))


def class_of(kind: Any) -> type[ScriptModule]:
    """The class of scripted modules of a class: one, as long as there are such modules."""
    for made in type.__subclasses__(kind):
        if made.__dict__.get("_is_made"):
            return made  # type: ignore[return-value]
    names = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "_is_made": True,
    }
    return types.new_class(kind.__name__, (ScriptModule, kind), exec_body=lambda body: body.update(names))
