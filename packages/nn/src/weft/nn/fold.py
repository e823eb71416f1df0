"""Sliding windows as columns, and back."""

from __future__ import annotations

from weft import Tensor
from weft.nn import functional as F
from weft.nn._types import SizeAny
from weft.nn.module import Module

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    """Make a column of each window of an image.

    Parameters
    ----------
    kernel_size, dilation, padding, stride : int or tuple of 2 ints
        As of a convolution.

    Shapes
    ------
    input : (N, C, H, W) or (C, H, W)
    output : (N, C * kernel elements, windows) or (C * kernel elements, windows)
        ``windows`` is the number of elements of a convolution's output.

    Raises
    ------
    RuntimeError
        If a window does not fit the input.

    Examples
    --------
    >>> weft.nn.Unfold(2)(weft.arange(6.0).reshape(1, 2, 3))
    tensor([[0., 1.],
            [1., 2.],
            [3., 4.],
            [4., 5.]])
    """

    def __init__(self, kernel_size: SizeAny, dilation: SizeAny = 1, padding: SizeAny = 0, stride: SizeAny = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Unfold ``input``."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Add up windows given as columns, at their places: the transpose of `Unfold`.

    Parameters
    ----------
    output_size : int or tuple of 2 ints
        Of the spatial axes.
    kernel_size, dilation, padding, stride : int or tuple of 2 ints
        As of a convolution.

    Shapes
    ------
    input : (N, C * kernel elements, windows) or (C * kernel elements, windows)
    output : (N, C, *output_size) or (C, *output_size)

    Raises
    ------
    RuntimeError
        If the input has other than the kernel's elements or the number of windows.

    Examples
    --------
    >>> columns = weft.nn.Unfold(2)(weft.ones(1, 2, 3))
    >>> weft.nn.Fold((2, 3), 2)(columns)  # the middle is in two windows
    tensor([[[1., 2., 1.],
             [1., 2., 1.]]])
    """

    def __init__(
        self,
        output_size: SizeAny,
        kernel_size: SizeAny,
        dilation: SizeAny = 1,
        padding: SizeAny = 0,
        stride: SizeAny = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Fold ``input`` of shape (N, C * window elements, number of windows)."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
