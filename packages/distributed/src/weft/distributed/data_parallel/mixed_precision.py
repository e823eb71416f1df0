"""Computing in a lower precision than that of the parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import weft
from weft.utils._pytree import tree_map

__all__ = ["MixedPrecision", "cast_buffers", "cast_floats", "lower_precision"]


@dataclass
class MixedPrecision:
    """The dtypes of `DistributedDataParallel`; None leaves what is there.

    Attributes
    ----------
    param_dtype : dtype, optional
        In which forward and backward compute. The parameters and their gradients keep their own.
    reduce_dtype : dtype, optional
        In which gradients are exchanged.
    buffer_dtype : dtype, optional
        To which buffers are converted.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None


MixedPrecision.__name__ = MixedPrecision.__qualname__ = "_MixedPrecision"
MixedPrecision.__module__ = "weft.nn.parallel.distributed"


def cast_floats(value: Any, dtype: Any) -> Any:
    """Nested containers with the tensors of floating point in another dtype."""
    cast = lambda leaf: leaf.to(dtype) if isinstance(leaf, weft.Tensor) and leaf.is_floating_point() else leaf  # noqa: E731
    return tree_map(cast, value)


def cast_buffers(module: Any, dtype: Any) -> None:
    """Convert a module's buffers of floating point."""
    for each in module.buffers():
        if each.is_floating_point():
            each.data = each.data.to(dtype)


@contextmanager
def lower_precision(module: Any, dtype: Any) -> Iterator[None]:
    """In this context the module's parameters are copies of another dtype, through which gradients flow."""
    made: dict[int, Any] = {}
    replaced = []
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            if parameter is not None and parameter.is_floating_point():
                replaced.append((owner, name, parameter))
    try:
        for owner, name, parameter in replaced:
            if id(parameter) not in made:
                made[id(parameter)] = parameter.to(dtype)
            owner._parameters[name] = made[id(parameter)]
        yield
    finally:
        for owner, name, parameter in replaced:
            owner._parameters[name] = parameter
