"""What sees each op that runs, and operations that are no ops and are to be seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._interception.interceptors import (
    OTHER_MEMORY,
    SIZES_FROM_VALUES,
    Interceptor,
    Operation,
    is_watched,
    method_operation,
    operations,
    run_live,
    side_effect,
)
from weft._tensor.base import Tensor
from weft.ops._inplace import write_of
from weft.ops._registry import registry

__all__ = [
    "OTHER_MEMORY",
    "SIZES_FROM_VALUES",
    "Interceptor",
    "Operation",
    "get_op",
    "is_watched",
    "run_live",
    "side_effect",
]


def get_op(name: str) -> Callable[..., Any]:
    """The op that interceptors see under a name, which is called with its named arguments.

    Parameters
    ----------
    name : str
        With its namespace, ``"core::add"``.

    Raises
    ------
    KeyError
        If there is none, or the function that declares it has not been imported.

    Examples
    --------
    >>> weft.library.get_op("core::add")(input=weft.ones(2), other=2)
    tensor([3., 3.])
    """
    found = registry.get(name) or operations.get(name)
    if found is not None:
        return found
    short = name.removeprefix("core::")
    method = getattr(Tensor, short, None) if short.endswith("_") else None
    if method is None:
        raise KeyError(f"get_op: no op is called {name!r}; names have a namespace, as 'core::add'")
    function = getattr(method, "function", None)  # of which it is the variant in place
    return method_operation(short) if function is None else write_of(short, function)
