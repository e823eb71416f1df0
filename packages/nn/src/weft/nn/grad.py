"""Gradients of convolutions, by the shape of what they are gradients of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor
from weft.nn import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv1d` for its input, of shape ``input_size``."""
    return _gradient(F.conv1d, input_size, weight, True, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv1d` for its weight, of shape ``weight_size``."""
    return _gradient(F.conv1d, weight_size, input, False, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv2d` for its input, of shape ``input_size``.

    Examples
    --------
    >>> conv2d_input((1, 1, 3, 3), weft.ones(1, 1, 2, 2), weft.ones(1, 1, 2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    return _gradient(F.conv2d, input_size, weight, True, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv2d` for its weight, of shape ``weight_size``."""
    return _gradient(F.conv2d, weight_size, input, False, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv3d` for its input, of shape ``input_size``."""
    return _gradient(F.conv3d, input_size, weight, True, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of `conv3d` for its weight, of shape ``weight_size``."""
    return _gradient(F.conv3d, weight_size, input, False, grad_output, (stride, padding, dilation, groups))


def _gradient(
    convolve: Any, size: Sequence[int], other: Tensor, of_input: bool, grad_output: Tensor, options: tuple[Any, ...]
) -> Tensor:
    """A convolution is linear in each argument, so that its gradient does not depend on the one that it is for."""
    is_recorded = weft.is_grad_enabled()
    with weft.enable_grad():
        argument = other.new_zeros(tuple(size)).requires_grad_()
        output = convolve(*((argument, other) if of_input else (other, argument)), None, *options)
        (gradient,) = weft.autograd.grad(output, argument, grad_output, create_graph=is_recorded)
    return gradient
