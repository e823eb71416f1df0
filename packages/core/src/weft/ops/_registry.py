"""The declared ops by name: what is below the families that declare them finds here the few that it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.ops._declare import Declaration

registry: dict[str, Declaration] = {}
