"""The names of PyTorch's compiler that programs touch without needing one; `weft.compiler` has the public ones."""

from __future__ import annotations

from typing import Any

from weft._dynamo import config as config
from weft._dynamo import eval_frame as eval_frame
from weft._dynamo import utils as utils
from weft.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)
from weft.compiler import compile as _compile

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "run",
    "set_stance",
    "substitute_in_graph",
]


def optimize(backend: Any = "inductor", **kwargs: Any) -> Any:
    """A decorator: `weft.compile`."""
    return _compile


def run(fn: Any = None) -> Any:
    """The function itself; without one `weft.compile`."""
    return _compile if fn is None else fn


def graph_break(msg: str = "") -> None:
    """Do nothing: a function is captured as a whole, whatever stands between its ops."""


def disallow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


def forbid_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Do nothing: every size may change."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Do nothing: every size may change."""


def mark_static(t: Any, index: Any = None) -> None:
    """Do nothing: no size is compiled in."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Do nothing: no address is compiled in."""


def __getattr__(name: str) -> Any:
    """``OptimizedModule``, of weft-nn."""
    if name == "OptimizedModule":
        return eval_frame.OptimizedModule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
