"""`weft.func.vmap` by the name of the module that PyTorch had it in first."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from weft import _display_name
from weft.func import vmap as func_vmap

__all__ = ["_vmap", "vmap"]


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """`weft.func.vmap`, and a warning to call it by that name."""
    warnings.warn(
        f"Please use `{_display_name.name}.vmap` instead of `{_display_name.name}._vmap_internals.vmap`.",
        FutureWarning,
        stacklevel=2,
    )
    return func_vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """`weft.func.vmap`, whose results may hold None."""
    return func_vmap(func, in_dims, out_dims)
