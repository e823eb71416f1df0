"""Gradients of the operations that programs record most, each with respect to one argument."""

from __future__ import annotations

from typing import Any

from weft._engine.tensor import TensorBase


def unchanged(grad: Any) -> Any:
    """Of a term of a sum."""
    return grad


def product(grad: Any, factor: Any) -> Any:
    """Of one factor of a product, from the other one."""
    if not isinstance(factor, TensorBase):
        return grad * factor.conjugate()
    if factor._key.is_complex:
        tensor: Any = factor
        return grad * tensor.conj()
    return grad * factor
