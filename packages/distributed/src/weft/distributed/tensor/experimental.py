"""Contexts for divided tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["implicit_replication"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Let divided tensors meet plain ones inside of the block: all tensors are plain in a world of one."""
    yield
