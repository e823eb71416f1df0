"""Packages whose names are found when they are first asked for."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__all__ = ["lazy_package"]


def lazy_package(package: str, homes: dict[str, str], modules: str = "") -> list[str]:
    """Let a package import its modules when one of their names is first asked for.

    Parameters
    ----------
    package : str
        The package's ``__name__``; the call stands in its ``__init__``.
    homes : dict of str to str
        The names that each module has, with blanks between them; a module is given relative to the package.
    modules : str
        Further modules that are found as attributes, with blanks between them.

    Returns
    -------
    list of str
        All these names, for the package's ``__all__``.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    submodules = {module for module in (*homes, *modules.split()) if module not in home and "." not in module}

    class LazyPackage(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name in home:
                found = getattr(importlib.import_module(f"{package}.{home[name]}"), name)
                setattr(self, name, found)  # so that the next use is a plain attribute
                return found
            if name in submodules:
                return importlib.import_module(f"{package}.{name}")
            raise AttributeError(f"module {package!r} has no attribute {name!r}")

        def __setattr__(self, name: str, value: Any) -> None:
            # Python sets a package's attribute when it has imported a module. Where the module has a function of its
            # own name (alexnet.alexnet), the function is what the package shows.
            shown = getattr(value, name) if name in home and isinstance(value, ModuleType) else value
            super().__setattr__(name, shown)

        def __dir__(self) -> list[str]:
            return sorted({*self.__dict__, *home, *submodules})

    sys.modules[package].__class__ = LazyPackage
    return [*home, *modules.split()]
