"""Gradients of convolutions, by the shape of what they are gradients of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn.functional._common import for_axes

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


EXAMPLE = """\
Examples
--------
>>> conv2d_input((1, 1, 3, 3), weft.ones(1, 1, 2, 2), weft.ones(1, 1, 2, 2))
tensor([[[[1., 2., 1.],
          [2., 4., 2.],
          [1., 2., 1.]]]])"""


def gradients(count: int, convolve: Any, example: str = "") -> tuple[Any, Any]:
    """The functions ``conv<count>d_input`` and ``conv<count>d_weight``."""

    @for_axes(f"conv{count}d_input", count, example=example)
    def of_input(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """Return the gradient of `conv{count}d` for its input, of shape ``input_size``.

        {example}
        """
        return _gradient(convolve, input_size, weight, True, grad_output, (stride, padding, dilation, groups))

    @for_axes(f"conv{count}d_weight", count)
    def of_weight(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """Return the gradient of `conv{count}d` for its weight, of shape ``weight_size``."""
        return _gradient(convolve, weight_size, input, False, grad_output, (stride, padding, dilation, groups))

    return of_input, of_weight


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


conv1d_input, conv1d_weight = gradients(1, F.conv1d)
conv2d_input, conv2d_weight = gradients(2, F.conv2d, EXAMPLE)
conv3d_input, conv3d_weight = gradients(3, F.conv3d)
