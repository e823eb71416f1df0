"""The ops of core, one file for each family; and operators by the names of PyTorch's dispatcher, see `weft._ops`."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from weft._ops import load_library as load_library
    from weft._ops import loaded_libraries as loaded_libraries
    from weft.ops._aten import aten as aten

    def __getattr__(name: str) -> Any: ...

else:

    def __getattr__(name):
        if (
            name.startswith("__") or importlib.util.find_spec(f"weft.ops.{name}") is not None
        ):  # that Python is about to import
            raise AttributeError(f"module 'weft.ops' has no attribute {name!r}")
        dispatcher = importlib.import_module("weft._ops")
        own = name in ("load_library", "loaded_libraries")
        globals()[name] = getattr(dispatcher, name) if own else dispatcher.namespace_of(name)
        return globals()[name]
