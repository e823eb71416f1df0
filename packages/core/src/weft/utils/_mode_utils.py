"""What libraries with modes of ``__torch_dispatch__`` share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from weft._interception.torch_dispatch import without_modes, without_subclasses

__all__ = ["all_same_mode", "no_dispatch"]


@contextmanager
def no_dispatch() -> Iterator[None]:
    """In this block no mode and no subclass is asked."""
    with without_modes(), without_subclasses():
        yield


def all_same_mode(modes: list[Any]) -> bool:
    """Whether several modes are one."""
    return all(each == modes[0] for each in modes)
