"""Tracebacks by the names under which PyTorch's logs of operators and test classes take them."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import Any

__all__ = ["gather_traceback", "symbolize_tracebacks"]


def gather_traceback(python: bool = True, script: bool = True, cpp: bool = True) -> traceback.StackSummary:
    """Return the calls that lead here; TorchScript and C++ have no frames here."""
    return traceback.StackSummary.from_list(traceback.extract_stack()[:-1] if python else [])


def symbolize_tracebacks(to_symbolize: Iterable[traceback.StackSummary]) -> list[list[dict[str, Any]]]:
    """Return the frames of tracebacks, innermost first, each with its ``name``, ``filename`` and ``line``."""
    return [
        [{"name": frame.name, "filename": frame.filename, "line": frame.lineno} for frame in reversed(frames)]
        for frames in to_symbolize
    ]
