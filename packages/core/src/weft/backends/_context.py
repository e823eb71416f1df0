"""Flags for the time of a block: what the ``flags()`` of each module returns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def replaced(module: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Set attributes of a module, and return what they were; None leaves one as it is."""
    names = vars(sys.modules[module])
    before = {name: names[name] for name in changes}
    names.update({name: value for name, value in changes.items() if value is not None})
    return before


@contextmanager
def flags_set(module: str, changes: dict[str, Any]) -> Iterator[None]:
    """Attributes of a module with other values inside of the block."""
    before = replaced(module, changes)
    try:
        yield
    finally:
        vars(sys.modules[module]).update(before)
