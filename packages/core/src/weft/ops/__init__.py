"""The ops of core, one file for each family; and operators by the names of PyTorch's dispatcher, see `weft._ops`."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from weft.ops._aten import aten as aten

    def load_library(path: str) -> None: ...
    def __getattr__(name: str) -> Any: ...

else:

    def __getattr__(name):
        if (
            name.startswith("__") or importlib.util.find_spec(f"weft.ops.{name}") is not None
        ):  # that Python is about to import
            raise AttributeError(f"module 'weft.ops' has no attribute {name!r}")
        globals()[name] = importlib.import_module("weft._ops").namespace_of(name)
        return globals()[name]
