"""Tools around tensors: checkpointing here, data loading in weft-nn's portion (``weft.utils.data``)."""

from pkgutil import extend_path
from typing import TYPE_CHECKING

__path__ = extend_path(__path__, __name__)  # weft-nn ships weft/utils/data from a folder of its own

_PORTIONS = {"data": "weft-nn"}

if not TYPE_CHECKING:  # hidden, so that a checker still flags weft.utils.dta

    def __getattr__(name):
        if not name.startswith("_"):
            from importlib import import_module

            full = f"{__name__}.{name}"
            try:
                return import_module(full)
            except ModuleNotFoundError as error:
                if error.name != full:  # the module is there; something it needs is not
                    raise
        hint = f"; install it with: pip install {_PORTIONS[name]}" if name in _PORTIONS else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
