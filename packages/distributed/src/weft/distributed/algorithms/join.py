"""Training on inputs of different number in each process: in a world of one, nobody has fewer."""

from __future__ import annotations

from typing import Any

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a process that has no more inputs does while others go on."""

    def main_hook(self) -> None:
        """Is called for each step of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Is called after all have joined."""


class Joinable:
    """Base of what takes part in `Join`."""

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of this object."""
        raise NotImplementedError(f"{type(self).__name__}.join_hook: each joinable class has its own")


class Join:
    """A context in which processes with fewer inputs wait for the others: in a world of one, a plain block."""

    def __init__(
        self, joinables: list[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("Join: at least one joinable is needed; got an empty list")
        self.joinables = joinables

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, *exception: object) -> None:
        """Wait for nobody."""

    @staticmethod
    def notify_join_context(joinable: Any) -> None:
        """Tell nobody."""
