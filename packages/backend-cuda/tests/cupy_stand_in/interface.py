"""The table of CuPy's names, and the modules made from it."""

from __future__ import annotations

import functools
import inspect
import json
from pathlib import Path
from typing import Any

TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "interface.json").read_text(encoding="utf-8"))
modules: dict[str, Any] = {}  # by path, once `install` has made them


def find(path: str) -> Any:
    """A module of the stand-in."""
    return modules[path]


@functools.cache
def signature(described: str) -> inspect.Signature:
    """The parameters that a line of the table describes."""
    namespace: dict[str, Any] = {}
    exec(f"def described{described.replace('=', '=None')}: pass", namespace)
    return inspect.signature(namespace["described"])
