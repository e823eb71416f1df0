"""Pooling: windows of the spatial axes become one value each."""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.nn import functional as F
from weft.nn._docstrings import SPATIAL, documented, sections_of
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

DIVISOR = """
divisor_override : int, optional
    What to divide the sums by instead of the count."""

RETURN_INDICES = """
return_indices : bool
    Whether to return also where each value came from, as positions in the flattened spatial axes."""


class _MaxPoolNd(Module):
    """Base class of MaxPool1d to MaxPool3d.

    Parameters
    ----------
    kernel_size, stride : {size}
        Of the windows, and from one to the next; ``stride`` is ``kernel_size`` by default.
    padding : {size}
        Elements added on both sides, counted as minus infinity; at most half of ``kernel_size``.
    dilation : {size}
        The distance between the elements of a window.
    return_indices : bool
        Whether to return also where each value came from, as `MaxUnpool1d` and its like want it.
    ceil_mode : bool
        Whether a window may begin inside the input and end outside.

    Shapes
    ------
    input : (N, C, {spatial}) or (C, {spatial})
    output : (N, C, {spatial_out}) or (C, {spatial_out})
        Each size becomes ``floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1``, rounded up
        with ``ceil_mode``.
    indices : the shape of output, int64, with ``return_indices``
        Positions in the flattened spatial axes.

    Raises
    ------
    RuntimeError
        If ``padding`` is more than half of ``kernel_size``, or a window does not fit the input.
    """

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


MAX_POOL: str = sections_of(_MaxPoolNd)


class _MaxUnpoolNd(Module):
    """Base class of MaxUnpool1d to MaxUnpool3d.

    Parameters
    ----------
    kernel_size, stride, padding : {size}
        As given to the pooling; ``stride`` is ``kernel_size`` by default.

    Shapes
    ------
    input, indices : (N, C, {spatial}) or (C, {spatial})
    output : (N, C, {spatial_out}) or (C, {spatial_out})
        Each size becomes ``(size - 1) * stride - 2 * padding + kernel_size``, or what ``output_size`` says, which may
        differ by less than ``stride``.

    Raises
    ------
    ValueError
        If ``output_size`` is too far from that.
    RuntimeError
        If an index is outside of the output.
    """

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


MAX_UNPOOL: str = sections_of(_MaxUnpoolNd)


class _AvgPoolNd(Module):
    """Base class of AvgPool1d to AvgPool3d.

    Parameters
    ----------
    kernel_size, stride : {size}
        Of the windows, and from one to the next; ``stride`` is ``kernel_size`` by default.
    padding : {size}
        Zeros added on both sides; at most half of ``kernel_size``.
    ceil_mode : bool
        Whether a window may begin inside the input and end outside.
    count_include_pad : bool
        Whether the padding counts in the mean.{divisor}

    Shapes
    ------
    input : (N, C, {spatial}) or (C, {spatial})
    output : (N, C, {spatial_out}) or (C, {spatial_out})
        Each size becomes ``floor((size + 2 * padding - kernel_size) / stride) + 1``, rounded up with ``ceil_mode``.

    Raises
    ------
    RuntimeError
        If ``padding`` is more than half of ``kernel_size``, or a window does not fit the input.
    """

    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


AVG_POOL: str = sections_of(_AvgPoolNd)


class _AdaptiveAvgPoolNd(Module):
    """Base class of AdaptiveAvgPool1d to AdaptiveAvgPool3d.

    Parameters
    ----------
    output_size : {size}, or None
        The sizes of the spatial axes of the output; None keeps that of the input.{indices}

    Shapes
    ------
    input : (N, C, {spatial}) or (C, {spatial})
    output : (N, C, {spatial_out}) or (C, {spatial_out})
        The sizes in ``output_size``.
    """

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Return the output's size."""
        return f"output_size={self.output_size}"


ADAPTIVE_POOL: str = sections_of(_AdaptiveAvgPoolNd)


class _AdaptiveMaxPoolNd(Module):
    """Base class of AdaptiveMaxPool1d to AdaptiveMaxPool3d."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        """Return the output's size."""
        return f"output_size={self.output_size}"


class _LPPoolNd(Module):
    """Base class of LPPool1d to LPPool3d.

    Parameters
    ----------
    norm_type : float
        p.
    kernel_size, stride : {size}
        Of the windows, and from one to the next; ``stride`` is ``kernel_size`` by default.
    ceil_mode : bool
        Whether a window may begin inside the input and end outside.

    Shapes
    ------
    input : (N, C, {spatial}) or (C, {spatial})
    output : (N, C, {spatial_out}) or (C, {spatial_out})
        Each size becomes ``floor((size - kernel_size) / stride) + 1``, rounded up with ``ceil_mode``.
    """

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


LP_POOL: str = sections_of(_LPPoolNd)


class _FractionalMaxPoolNd(Module):
    """Base class of FractionalMaxPool2d and FractionalMaxPool3d.

    Parameters
    ----------
    kernel_size : {size}
    output_size : {size}, optional
    output_ratio : float or tuple of float in (0, 1), optional
        Of the output's size to the input's; give one of the two.
    return_indices : bool
        Whether to return also where each value came from, as positions in the flattened spatial axes.

    Shapes
    ------
    input : (N, C, {spatial}) or (C, {spatial})
    output : (N, C, {spatial_out}) or (C, {spatial_out})
        The sizes in ``output_size``, or the input's times ``output_ratio``, rounded down.

    Raises
    ------
    ValueError
        If both or none of ``output_size`` and ``output_ratio`` are given, or a ratio is not in (0, 1).

    References
    ----------
    arXiv:1412.6071.
    """

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


FRACTIONAL_MAX_POOL: str = sections_of(_FractionalMaxPoolNd)


@documented(sections=MAX_POOL, **SPATIAL[1])
class MaxPool1d(_MaxPoolNd):
    """The greatest value of each window of a sequence.

    {sections}

    Examples
    --------
    >>> weft.nn.MaxPool1d(2)(weft.tensor([[1.0, 5.0, 2.0, 3.0]]))
    tensor([[5., 3.]])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, L); N may be absent."""
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


@documented(sections=MAX_POOL, **SPATIAL[2])
class MaxPool2d(_MaxPoolNd):
    """The greatest value of each window of an image.

    {sections}

    Examples
    --------
    >>> weft.nn.MaxPool2d(3, stride=2, padding=1)(weft.zeros(20, 16, 50, 32)).shape
    weft.Size([20, 16, 25, 16])
    >>> weft.nn.MaxPool2d(2, return_indices=True)(weft.tensor([[[1.0, 4.0], [2.0, 3.0]]]))
    (tensor([[[4.]]]), tensor([[[1]]]))
    """

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


@documented(sections=MAX_POOL, **SPATIAL[3])
class MaxPool3d(_MaxPoolNd):
    """The greatest value of each window of a volume.

    {sections}

    Examples
    --------
    >>> weft.nn.MaxPool3d((2, 3, 3))(weft.zeros(2, 3, 8, 9, 9)).shape
    weft.Size([2, 3, 4, 3, 3])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


@documented(sections=MAX_UNPOOL, **SPATIAL[1])
class MaxUnpool1d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool1d`: each value goes back to where it came from, the rest is 0.

    {sections}

    Examples
    --------
    >>> pooled, indices = weft.nn.MaxPool1d(2, return_indices=True)(weft.tensor([[1.0, 5.0, 2.0, 3.0]]))
    >>> weft.nn.MaxUnpool1d(2)(pooled, indices)
    tensor([[0., 5., 0., 3.]])
    """

    def __init__(self, kernel_size: Size1, stride: Size1 | None = None, padding: Size1 = 0) -> None:
        super().__init__()
        self._keep(1, kernel_size, stride, padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Put the values of ``input`` at ``indices``; ``output_size`` chooses among the sizes that fit."""
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


@documented(sections=MAX_UNPOOL, **SPATIAL[2])
class MaxUnpool2d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool2d`: each value goes back to where it came from, the rest is 0.

    {sections}

    Examples
    --------
    >>> pool, unpool = weft.nn.MaxPool2d(2, return_indices=True), weft.nn.MaxUnpool2d(2)
    >>> pooled, indices = pool(weft.rand(1, 5, 5))
    >>> unpool(pooled, indices, output_size=[5, 5]).shape  # without it (1, 4, 4), to which these indices do not belong
    weft.Size([1, 5, 5])
    """

    def __init__(self, kernel_size: Size2, stride: Size2 | None = None, padding: Size2 = 0) -> None:
        super().__init__()
        self._keep(2, kernel_size, stride, padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Put the values of ``input`` at ``indices``; ``output_size`` chooses among the sizes that fit."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


@documented(sections=MAX_UNPOOL, **SPATIAL[3])
class MaxUnpool3d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool3d`: each value goes back to where it came from, the rest is 0.

    {sections}

    Examples
    --------
    >>> pooled, indices = weft.nn.MaxPool3d(2, return_indices=True)(weft.rand(2, 4, 4, 4))
    >>> weft.nn.MaxUnpool3d(2)(pooled, indices).shape
    weft.Size([2, 4, 4, 4])
    """

    def __init__(self, kernel_size: Size3, stride: Size3 | None = None, padding: Size3 = 0) -> None:
        super().__init__()
        self._keep(3, kernel_size, stride, padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Put the values of ``input`` at ``indices``; ``output_size`` chooses among the sizes that fit."""
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


@documented(sections=AVG_POOL, divisor="", **SPATIAL[1])
class AvgPool1d(_AvgPoolNd):
    """The mean of each window of a sequence.

    {sections}

    Examples
    --------
    >>> signal = weft.tensor([[1.0, 3.0, 5.0, 7.0]])
    >>> weft.nn.AvgPool1d(2)(signal)
    tensor([[2., 6.]])
    >>> weft.nn.AvgPool1d(2, padding=1)(signal)  # zeros beside it count
    tensor([[0.5000, 4.0000, 3.5000]])
    >>> weft.nn.AvgPool1d(2, padding=1, count_include_pad=False)(signal)
    tensor([[1., 4., 7.]])
    """

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


@documented(sections=AVG_POOL, divisor=DIVISOR, **SPATIAL[2])
class AvgPool2d(_AvgPoolNd):
    """The mean of each window of an image.

    {sections}

    Examples
    --------
    >>> weft.nn.AvgPool2d(3, stride=2, padding=1)(weft.zeros(20, 16, 50, 32)).shape
    weft.Size([20, 16, 25, 16])
    >>> weft.nn.AvgPool2d(2, divisor_override=1)(weft.ones(1, 2, 2))  # the sum
    tensor([[[4.]]])
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


@documented(sections=AVG_POOL, divisor=DIVISOR, **SPATIAL[3])
class AvgPool3d(_AvgPoolNd):
    """The mean of each window of a volume.

    {sections}

    Examples
    --------
    >>> weft.nn.AvgPool3d((2, 3, 3))(weft.zeros(2, 3, 8, 9, 9)).shape
    weft.Size([2, 3, 4, 3, 3])
    """

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


@documented(sections=ADAPTIVE_POOL, indices="", **SPATIAL[1])
class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of as many windows as the output has elements, which cover the input evenly.

    {sections}

    Examples
    --------
    >>> weft.nn.AdaptiveAvgPool1d(2)(weft.tensor([[1.0, 3.0, 5.0]]))  # windows of 2 that overlap
    tensor([[2., 4.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, L); N may be absent."""
        return F.adaptive_avg_pool1d(input, self.output_size)


@documented(sections=ADAPTIVE_POOL, indices="", **SPATIAL[2])
class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of as many windows as the output has elements, which cover the input evenly.

    {sections}

    Examples
    --------
    >>> weft.nn.AdaptiveAvgPool2d((5, None))(weft.zeros(1, 64, 10, 9)).shape
    weft.Size([1, 64, 5, 9])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.adaptive_avg_pool2d(input, self.output_size)


@documented(sections=ADAPTIVE_POOL, indices="", **SPATIAL[3])
class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of as many windows as the output has elements, which cover the input evenly.

    {sections}

    Examples
    --------
    >>> weft.nn.AdaptiveAvgPool3d(1)(weft.zeros(2, 8, 4, 5, 6)).shape
    weft.Size([2, 8, 1, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.adaptive_avg_pool3d(input, self.output_size)


@documented(sections=ADAPTIVE_POOL, indices=RETURN_INDICES, **SPATIAL[1])
class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The greatest values of as many windows as the output has elements, which cover the input evenly.

    {sections}

    Examples
    --------
    >>> weft.nn.AdaptiveMaxPool1d(2)(weft.tensor([[1.0, 3.0, 5.0]]))
    tensor([[3., 5.]])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, L); N may be absent."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


@documented(sections=ADAPTIVE_POOL, indices=RETURN_INDICES, **SPATIAL[2])
class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The greatest values of as many windows as the output has elements, which cover the input evenly.

    {sections}

    Examples
    --------
    >>> weft.nn.AdaptiveMaxPool2d((5, None))(weft.zeros(1, 64, 10, 9)).shape
    weft.Size([1, 64, 5, 9])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


@documented(sections=ADAPTIVE_POOL, indices=RETURN_INDICES, **SPATIAL[3])
class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The greatest values of as many windows as the output has elements, which cover the input evenly.

    {sections}

    Examples
    --------
    >>> weft.nn.AdaptiveMaxPool3d(1)(weft.zeros(2, 8, 4, 5, 6)).shape
    weft.Size([2, 8, 1, 1, 1])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


@documented(sections=LP_POOL, **SPATIAL[1])
class LPPool1d(_LPPoolNd):
    """The p-norm of each window: ``sum(x ** p) ** (1 / p)``.

    {sections}

    Examples
    --------
    >>> weft.nn.LPPool1d(2, 2)(weft.tensor([[3.0, 4.0, 5.0, 12.0]]))
    tensor([[ 5., 13.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, L); N may be absent."""
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


@documented(sections=LP_POOL, **SPATIAL[2])
class LPPool2d(_LPPoolNd):
    """The p-norm of each window: ``sum(x ** p) ** (1 / p)``.

    {sections}

    Examples
    --------
    >>> weft.nn.LPPool2d(2, 3, stride=2)(weft.zeros(20, 16, 50, 32)).shape
    weft.Size([20, 16, 24, 15])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, H, W); N may be absent."""
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


@documented(sections=LP_POOL, **SPATIAL[3])
class LPPool3d(_LPPoolNd):
    """The p-norm of each window: ``sum(x ** p) ** (1 / p)``.

    {sections}

    Examples
    --------
    >>> weft.nn.LPPool3d(1, 2)(weft.ones(1, 2, 2, 2))  # p = 1: the sum
    tensor([[[[8.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input`` of shape (N, C, D, H, W); N may be absent."""
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


@documented(sections=FRACTIONAL_MAX_POOL, **SPATIAL[2])
class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The greatest values of windows whose places are drawn at random, so that sizes shrink by any fraction.

    {sections}

    Examples
    --------
    >>> weft.nn.FractionalMaxPool2d(3, output_size=(13, 12))(weft.rand(20, 16, 50, 32)).shape
    weft.Size([20, 16, 13, 12])
    >>> weft.nn.FractionalMaxPool2d(3, output_ratio=0.7)(weft.rand(20, 16, 50, 32)).shape
    weft.Size([20, 16, 35, 22])
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


@documented(sections=FRACTIONAL_MAX_POOL, **SPATIAL[3])
class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The greatest values of windows whose places are drawn at random, so that sizes shrink by any fraction.

    {sections}

    Examples
    --------
    >>> weft.nn.FractionalMaxPool3d(2, output_ratio=0.5)(weft.rand(4, 8, 8, 8)).shape
    weft.Size([4, 4, 4, 4])
    """

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
