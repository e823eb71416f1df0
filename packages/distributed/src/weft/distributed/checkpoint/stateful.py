"""Objects that say themselves what is saved of them."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """Has ``state_dict`` and ``load_state_dict``: an entry of a state dict that `save` and `load` ask."""

    def state_dict(self) -> dict[str, Any]:
        """Return what is to be saved."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what was loaded."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)
