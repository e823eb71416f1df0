"""How far ``use_deterministic_algorithms`` goes: a module that is a switch."""

from __future__ import annotations

import sys
from types import ModuleType

from weft._settings import state


class Deterministic(ModuleType):
    """The module, whose setting is a property."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Fill what `empty` and its like give with nan, or the largest integer, in deterministic mode; at first True.

        Examples
        --------
        >>> import weft.utils.deterministic
        >>> weft.utils.deterministic.fill_uninitialized_memory
        True
        """
        return bool(state["fill_memory"])

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"fill_uninitialized_memory: expected a bool, but got {type(mode).__name__}")
        state["fill_memory"] = mode


sys.modules[__name__].__class__ = Deterministic
