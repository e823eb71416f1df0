"""The names of functorch, the package that PyTorch comes with and ``weft run`` finds here.

They are the transforms of `weft.func`, and modules as functions of their parameters.
"""

from __future__ import annotations

import importlib
from typing import Any

from weft.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]

_OF_MODULES = frozenset(
    """
FunctionalModule FunctionalModuleWithBuffers combine_state_for_ensemble make_functional make_functional_with_buffers
""".split()
)


def __getattr__(name: str) -> Any:
    """Import what weft-nn has when it is asked for."""
    if name == "make_fx":
        return importlib.import_module("weft.fx.experimental.proxy_tensor").make_fx
    if name in _OF_MODULES:
        return getattr(importlib.import_module("weft._functorch.make_functional"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
