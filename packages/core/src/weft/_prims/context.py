"""The mode in which PyTorch's functions are replaced by their references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.overrides import TorchFunctionMode

__all__ = ["TorchRefsMode"]


class TorchRefsMode(TorchFunctionMode):
    """Calls functions as they are: each of weft's functions is its own reference, see `weft._refs`.

    Parameters
    ----------
    strict : bool
        Whether a function without a reference is an error, of which there is none.
    """

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict

    def __torch_function__(self, orig_func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function."""
        return orig_func(*args, **(kwargs or {}))
