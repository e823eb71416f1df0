"""Tools around tensors: checkpointing, timers, logs; data loading and counts of operations in weft-nn's portion."""

from pkgutil import extend_path
from typing import TYPE_CHECKING, Any

__path__ = extend_path(__path__, __name__)  # weft-nn ships weft/utils/data and more from a folder of its own


def set_module(obj: Any, mod: str) -> None:
    """Let an object say that it is of this module."""
    if not isinstance(mod, str):
        raise TypeError(f"set_module: the mod argument should be a string, got {type(mod).__name__}")
    obj.__module__ = mod


if not TYPE_CHECKING:  # hidden, so that a checker still flags weft.utils.dta

    def __getattr__(name):
        from weft._lazy import load

        return load(name, __name__)

    def __dir__():
        from weft._lazy import names

        return sorted(set(globals()) | names(__name__))
