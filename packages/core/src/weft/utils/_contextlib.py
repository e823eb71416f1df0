"""The base class of context managers that decorate functions, under the name that tensordict derives from."""

from __future__ import annotations

from typing import Any

from weft.autograd.grad_mode import _Mode

__all__ = ["_DecoratorContextManager"]


class _DecoratorContextManager(_Mode):
    """A context manager that also decorates functions and generators: each call has a block of its own.

    A subclass defines ``__enter__`` and ``__exit__``, and `clone` if it takes arguments.
    """

    def clone(self) -> Any:
        """Return a context manager for another block."""
        return type(self)()

    def again(self) -> Any:
        """Return a context manager for a call."""
        return self.clone()
