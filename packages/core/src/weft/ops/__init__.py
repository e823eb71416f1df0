"""The ops of core, one file for each family."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.ops._aten import aten as aten

if not TYPE_CHECKING:

    def __getattr__(name):
        if name != "aten":
            raise AttributeError(f"module 'weft.ops' has no attribute {name!r}")
        from weft.ops._aten import aten

        globals()[name] = aten
        return aten
