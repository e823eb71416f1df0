"""What PyTorch's test classes call to report to its developers' log."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def open_source_signpost(**fields: Any) -> None:
    """Do nothing: reports go nowhere, as in PyTorch outside of its developers' network."""
