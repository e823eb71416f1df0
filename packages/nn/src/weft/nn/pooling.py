"""Pooling: windows of the spatial axes become one value each."""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.nn import functional as F
from weft.nn._types import Size1, Size2, Size3, SizeAny, expanded
from weft.nn.module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(Module):
    """What MaxPool1d to 3d share."""

    def __init__(
        self,
        kernel_size: SizeAny,
        stride: SizeAny | None = None,
        padding: SizeAny = 0,
        dilation: SizeAny = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class _MaxUnpoolNd(Module):
    """What MaxUnpool1d to 3d share."""

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def _keep(self, axes: int, kernel_size: Any, stride: Any, padding: Any) -> None:
        self.kernel_size = expanded(kernel_size, axes)
        self.stride = expanded(kernel_size if stride is None else stride, axes)
        self.padding = expanded(padding, axes)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    """What AvgPool1d to 3d share."""

    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AdaptiveAvgPoolNd(Module):
    """What AdaptiveAvgPool1d to 3d share."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Return the output's size."""
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(Module):
    """What AdaptiveMaxPool1d to 3d share."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        """Return the output's size."""
        return f"output_size={self.output_size}"


class _LPPoolNd(Module):
    """What LPPool1d to 3d share."""

    def __init__(
        self, norm_type: float, kernel_size: SizeAny, stride: SizeAny | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """Return the norm and the sizes."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _FractionalMaxPoolNd(Module):
    """What FractionalMaxPool1d to 3d share."""

    _spatial_axes: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        axes, name = self._spatial_axes, self._get_name()
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name}: requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError(f"{name}: only one of output_size and output_ratio may be specified")
        self.kernel_size = expanded(kernel_size, axes)
        self.return_indices = return_indices
        self.output_size = expanded(output_size, axes) if output_size is not None else None
        self.output_ratio = expanded(output_ratio, axes) if output_ratio is not None else None
        self.register_buffer("_random_samples", _random_samples)
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"{name}: output_ratio must be between 0 and 1 (got {output_ratio})")


class MaxPool1d(_MaxPoolNd):
    """`MaxPool2d` over one spatial axis: inputs are (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, L); N may be absent."""
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool2d(_MaxPoolNd):
    """The greatest value of each window.

    Parameters
    ----------
    kernel_size : int or tuple of int
    stride : int or tuple of int, default kernel_size
    padding : int or tuple of int
        Added on both sides, counted as minus infinity; at most half of ``kernel_size``.
    dilation : int or tuple of int
        The distance between the elements of a window.
    return_indices : bool
        Whether to return also where each value came from, as `MaxUnpool2d` and its like want it.
    ceil_mode : bool
        Whether a window may begin inside the input and end outside.
    """

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool3d(_MaxPoolNd):
    """`MaxPool2d` over three spatial axes: inputs are (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxUnpool1d(_MaxUnpoolNd):
    """`MaxUnpool2d` over one spatial axis: inputs are (N, C, L) or (C, L)."""

    def __init__(self, kernel_size: Size1, stride: Size1 | None = None, padding: Size1 = 0) -> None:
        super().__init__()
        self._keep(1, kernel_size, stride, padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Put the values of ``input`` at ``indices``; ``output_size`` chooses among the sizes that fit."""
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """The partial inverse of max pooling: each value goes back to where it came from, the rest is 0.

    Parameters
    ----------
    kernel_size : int or tuple of int
    stride : int or tuple of int, default kernel_size
    padding : int or tuple of int
        As given to the pooling.
    """

    def __init__(self, kernel_size: Size2, stride: Size2 | None = None, padding: Size2 = 0) -> None:
        super().__init__()
        self._keep(2, kernel_size, stride, padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Put the values of ``input`` at ``indices``; ``output_size`` chooses among the sizes that fit."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """`MaxUnpool2d` over three spatial axes: inputs are (N, C, D, H, W) or (C, D, H, W)."""

    def __init__(self, kernel_size: Size3, stride: Size3 | None = None, padding: Size3 = 0) -> None:
        super().__init__()
        self._keep(3, kernel_size, stride, padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Put the values of ``input`` at ``indices``; ``output_size`` chooses among the sizes that fit."""
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class AvgPool1d(_AvgPoolNd):
    """`AvgPool2d` over one spatial axis: inputs are (N, C, L) or (C, L)."""

    def __init__(
        self,
        kernel_size: Size1,
        stride: Size1 | None = None,
        padding: Size1 = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = expanded(kernel_size, 1)
        self.stride = expanded(kernel_size if stride is None else stride, 1)
        self.padding = expanded(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, L); N may be absent."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window.

    Parameters
    ----------
    kernel_size : int or tuple of int
    stride : int or tuple of int, default kernel_size
    padding : int or tuple of int
        Zeros added on both sides; at most half of ``kernel_size``.
    ceil_mode : bool
        Whether a window may begin inside the input and end outside.
    count_include_pad : bool
        Whether the padding counts in the mean.
    divisor_override : int, optional
        What to divide the sums by instead of the count (2 and 3 axes).
    """

    def __init__(
        self,
        kernel_size: Size2,
        stride: Size2 | None = None,
        padding: Size2 = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool3d(_AvgPoolNd):
    """`AvgPool2d` over three spatial axes: inputs are (N, C, D, H, W) or (C, D, H, W)."""

    def __init__(
        self,
        kernel_size: Size3,
        stride: Size3 | None = None,
        padding: Size3 = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """`AdaptiveAvgPool2d` over one spatial axis: inputs are (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, L); N may be absent."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` windows that cover the input evenly.

    Parameters
    ----------
    output_size : int or tuple of int or None
        None keeps the size of that axis.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """`AdaptiveAvgPool2d` over three spatial axes: inputs are (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """`AdaptiveMaxPool2d` over one spatial axis: inputs are (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, L); N may be absent."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The greatest value of each of ``output_size`` windows that cover the input evenly.

    Parameters
    ----------
    output_size : int or tuple of int or None
        None keeps the size of that axis.
    return_indices : bool
        Whether to return also where each value came from.
    """

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """`AdaptiveMaxPool2d` over three spatial axes: inputs are (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class LPPool1d(_LPPoolNd):
    """`LPPool2d` over one spatial axis: inputs are (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, L); N may be absent."""
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window: ``sum(x ** p) ** (1 / p)``.

    Parameters
    ----------
    norm_type : float
        p.
    kernel_size : int or tuple of int
    stride : int or tuple of int, default kernel_size
    ceil_mode : bool
        Whether a window may begin inside the input and end outside.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """`LPPool2d` over three spatial axes: inputs are (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The greatest value of windows whose places are drawn at random, so that sizes shrink by any fraction.

    Parameters
    ----------
    kernel_size : int or tuple of int
    output_size : int or tuple of int, optional
    output_ratio : float or tuple of float in (0, 1), optional
        Of the output's size to the input's; give one of the two.
    return_indices : bool
        Whether to return also where each value came from.

    References
    ----------
    arXiv:1412.6071.
    """

    _spatial_axes = 2

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.fractional_max_pool2d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """`FractionalMaxPool2d` over three spatial axes: inputs are (N, C, D, H, W) or (C, D, H, W)."""

    _spatial_axes = 3

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.fractional_max_pool3d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )
