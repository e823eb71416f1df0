"""Decorators with which subclasses of tensors are prepared for PyTorch's export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["mark_subclass_constructor_exportable_experimental"]


def mark_subclass_constructor_exportable_experimental(
    constructor_subclass: Callable[..., None],
) -> Callable[..., None]:
    """Return an ``__init__`` as it is: weft's export records what it calls, so that it need not be marked."""
    name: Any = getattr(constructor_subclass, "__name__", constructor_subclass)
    if name != "__init__":
        raise RuntimeError(
            "mark_subclass_constructor_exportable_experimental: it can only be applied on subclass tensor.__init__; "
            f"got {name}"
        )
    return constructor_subclass
