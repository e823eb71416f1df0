"""Shapes as tensors, which PyTorch's exporter follows where it does not follow numbers."""

from __future__ import annotations

from typing import Any

from weft.ops.queries import _shape_as_tensor

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: Any) -> Any:
    """The sizes of a tensor's dimensions.

    Returns
    -------
    Tensor, shape (x.ndim,), int64

    Examples
    --------
    >>> from weft.onnx.operators import shape_as_tensor
    >>> shape_as_tensor(weft.ones(2, 3))
    tensor([2, 3])
    """
    return _shape_as_tensor(x)


def reshape_from_tensor_shape(x: Any, shape: Any) -> Any:
    """A tensor in the shape that another one has as its elements."""
    return x.reshape(shape.tolist())
