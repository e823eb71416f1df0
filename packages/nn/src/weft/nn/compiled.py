"""Modules by the classes that a compiler makes of them: `weft.compile` wraps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.nn.module import Module

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


class ScriptModule(Module):
    """The class of compiled modules, of which there are none: for ``isinstance``, and for old programs' classes."""
