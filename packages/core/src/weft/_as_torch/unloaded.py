"""Modules that stand in ``sys.modules`` and are loaded when somebody looks into them."""

from __future__ import annotations

import importlib
import threading
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

_turn = threading.RLock()  # of the thread that loads
_loading: set[str] = set()
PATIENCE = 10  # seconds for another thread, which may be waiting for an import of this one: then it goes on regardless


class Unloaded(ModuleType):
    """A module whose code has not run: reading or writing an attribute runs it, and makes this a plain module.

    The standard library's `LazyLoader` loads a module before the package around it, and shows other threads half of it.
    """

    def __getattribute__(self, name: str) -> Any:
        load(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        load(self)
        ModuleType.__setattr__(self, name, value)


def unloaded(spec: ModuleSpec) -> ModuleType:
    """Make a module by its spec, and do not load it."""
    made = module_from_spec(spec)
    made.__class__ = Unloaded
    return made


def is_loaded(module: ModuleType) -> bool:
    """Whether a module's code has run."""
    return type(module) is not Unloaded


def content(module: ModuleType) -> dict[str, Any]:
    """The attributes that a module has, without loading it."""
    found: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return found


def load(module: ModuleType) -> None:
    """Run a module's code, if that was not done: first that of the package around it."""
    spec: ModuleSpec = content(module)["__spec__"]
    taken = _turn.acquire(timeout=PATIENCE)
    try:
        if spec.name in _loading:
            return
        package = importlib.import_module(spec.name.rpartition(".")[0])
        if type(package) is Unloaded:
            load(package)
        if type(module) is not Unloaded or spec.name in _loading:  # the package did it
            return
        _loading.add(spec.name)
        try:
            assert spec.loader is not None
            spec.loader.exec_module(module)
        finally:
            _loading.discard(spec.name)
        if type(module) is Unloaded:
            ModuleType.__setattr__(module, "__class__", ModuleType)
    finally:
        if taken:
            _turn.release()
