"""Makes einops take tensors: import this module once, and `einops.rearrange` and its like do.

einops asks each backend class that it knows whether an array is its own, and finds the classes by inheritance: to
define one is to register it. ``einops.array_api`` needs none of this: it works by the tensor's own
``__array_namespace__``. The module needs einops, ``pip install einops``.

Examples
--------
>>> import weft.utils.einops
>>> from einops import rearrange
>>> rearrange(weft.arange(6).reshape(2, 3), "h w -> w h").shape
weft.Size([3, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from einops._backends import AbstractBackend

import weft
from weft import Tensor, array_api

__all__ = ["WeftBackend"]


class WeftBackend(AbstractBackend):  # type: ignore[misc]
    """What einops needs of an array library, with gradients recorded. Its methods are called by einops."""

    framework_name = "weft"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: numpy.ndarray[Any, Any]) -> Tensor:
        return weft.from_numpy(x)

    def to_numpy(self, x: Tensor) -> numpy.ndarray[Any, Any]:
        return x.numpy(force=True)

    def arange(self, start: int, stop: int) -> Tensor:
        return weft.arange(start, stop)

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return x.permute(tuple(axes))

    def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
        return getattr(array_api, operation)(x, axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
        return weft.stack(tensors)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return x.unsqueeze(new_position)

    def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
        return x.tile(tuple(repeats))

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        return weft.cat(tensors, axis)

    def is_float_type(self, x: Tensor) -> bool:
        return x.is_floating_point()

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        return weft.einsum(pattern, *x)
