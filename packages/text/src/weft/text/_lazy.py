"""Packages whose names are found when they are first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: dict[str, str], modules: str = ""
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Let a package import its modules when one of their names is first asked for.

    Parameters
    ----------
    package : str
        The package's ``__name__``; the call stands in its ``__init__``.
    homes : dict of str to str
        The names that each module has, with blanks between them; a module is given relative to the package.
    modules : str
        Modules that are found as attributes, with blanks between them.

    Returns
    -------
    __all__, __getattr__, __dir__
        For the package (PEP 562).
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    submodules = set(modules.split())

    def find(name: str) -> Any:
        if name in home:
            found = getattr(importlib.import_module(f"{package}.{home[name]}"), name)
            setattr(sys.modules[package], name, found)  # so that the next use is a plain attribute
            return found
        if name in submodules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *submodules})

    return [*home, *modules.split()], find, names
