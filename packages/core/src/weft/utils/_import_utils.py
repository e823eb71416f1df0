"""Whether optional modules are installed, under the names that PyTorch's own test classes import."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

__all__: list[str] = []


def _check_module_exists(name: str) -> bool:
    """Whether a module can be found; it is not imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def dill_available() -> bool:
    """Whether dill, which pickles functions, is installed."""
    return _check_module_exists("dill")


def import_dill() -> ModuleType | None:
    """Return dill, which leaves the standard library's pickles as they were, or None where it is not installed."""
    if not dill_available():
        return None
    dill = importlib.import_module("dill")
    dill.extend(use_dill=False)
    return dill
