"""Finds ``weft.<name>`` on first use: a portion installed beside core, or a namespace that a plugin brings."""

import importlib
import pkgutil
import sys
from typing import Any

# Which distribution brings which first-party name. Portions are found on the path; this table only words the errors.
FIRST_PARTY = {
    "weft.nn": "weft-nn",
    "weft.optim": "weft-nn",
    "weft.utils.data": "weft-nn",
    "weft.text": "weft-text",
    "weft.vision": "weft-vision",
    "weft.backend_cpu": "weft-backend-cpu",
    "weft.backend_cuda": "weft-backend-cuda",
}


def load(name: str, package: str = "weft") -> Any:
    """Import ``<package>.<name>``; what a shared package's ``__getattr__`` returns.

    Parameters
    ----------
    name : str
        The attribute that was asked for. Names with a leading underscore are refused unseen: Python itself
        probes for many of them.
    package : str
        The package that was asked: ``weft``, or a folder that several distributions share (``weft.utils``).

    Returns
    -------
    The portion's module, or for ``weft`` itself the namespace that a plugin registers under the name.

    Raises
    ------
    AttributeError
        If there is no such name; if it is first-party, with the command that installs it.
    ImportError
        If the portion is there and something that it imports is not.
    PluginError
        If a plugin brings the name and failed to load.
    """
    missing = f"module {package!r} has no attribute {name!r}"
    if name.startswith("_"):
        raise AttributeError(missing)
    full = f"{package}.{name}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:  # the portion is there; something that it needs is not
            raise
    if full in FIRST_PARTY:
        raise AttributeError(f"{missing}; install it with: pip install {FIRST_PARTY[full]}")
    if package == "weft":
        from weft.plugins import namespace, namespaces

        if name in namespaces(include_disabled=True):
            found = namespace(name)
            setattr(sys.modules[package], name, found)  # so that the next use is a plain attribute
            return found
    raise AttributeError(missing)


def names(package: str = "weft") -> set[str]:
    """What `load` would find, without importing any of it: for ``dir(weft)`` and completion in editors."""
    found = {module.name for module in pkgutil.iter_modules(sys.modules[package].__path__)}
    if package == "weft":
        from weft.plugins import namespaces

        found.update(namespaces())
    return {name for name in found if not name.startswith("_")}
