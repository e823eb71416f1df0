"""Convolutions and transposed convolutions of 1 to 3 spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn._docstrings import SPATIAL, documented, sections_of
from weft.nn._types import DeviceLike, DType, Size1, Size2, Size3, expanded
from weft.nn.linear import _uniform_by_fan_in
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")
_PADDING_NAMES = ("same", "valid")


class _ConvNd(Module):
    """Base class of all convolutions; sizes are tuples with one entry for each spatial axis."""

    _spatial_axes: ClassVar[int]
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...] | str
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...] | str,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride = self._for_each_axis(stride)
        self.padding = padding = padding if isinstance(padding, str) else self._for_each_axis(padding)
        self.dilation = dilation = self._for_each_axis(dilation)
        self.transposed = transposed
        self.output_padding = self._for_each_axis(output_padding)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check()
        self._reversed_padding_repeated_twice = _pad_amounts(padding, kernel_size, dilation)

        channels = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *kernel_size)
        self.weight = Parameter(weft.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(weft.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _for_each_axis(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """One value, in a list of its own, is meant for all axes."""
        return values * self._spatial_axes if len(values) == 1 else values

    def _check(self) -> None:
        name, groups = self._get_name(), self.groups
        if groups <= 0:
            raise ValueError(f"{name}: groups must be a positive integer, got {groups}")
        for option in ("in_channels", "out_channels"):
            channels = getattr(self, option)
            if channels % groups != 0:
                raise ValueError(f"{name}: {option} ({channels}) must be divisible by groups ({groups})")
        if isinstance(self.padding, str):
            if self.padding not in _PADDING_NAMES:
                raise ValueError(f"{name}: Invalid padding string {self.padding!r}, should be one of {_PADDING_NAMES}")
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError(
                    f"{name}: padding='same' is not supported for strided convolutions, got stride {self.stride}"
                )
        for option in ("kernel_size", "stride", "dilation"):
            given = getattr(self, option)
            if len(given) != self._spatial_axes:
                raise RuntimeError(
                    f"{name}: expected {option} to be a single integer value or a list of {self._spatial_axes} values "
                    f"to match the convolution dimensions, but got {option}={list(given)}"
                )
        if self.padding_mode not in _PADDING_MODES:
            raise ValueError(f"{name}: padding_mode must be one of {_PADDING_MODES}, but got {self.padding_mode!r}")

    def reset_parameters(self) -> None:
        """Draw new initial values, uniformly from ±1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))  # this gain makes the bound 1 / sqrt(fan_in)
        if self.bias is not None:
            _uniform_by_fan_in(self.bias, self.weight)

    def extra_repr(self) -> str:
        """Return the sizes, and what differs from the default."""
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}",
        ]
        if self.padding != (0,) * len(self.kernel_size):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * len(self.kernel_size):
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * len(self.kernel_size):
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _pad_amounts(padding: tuple[int, ...] | str, kernel_size: tuple[int, ...], dilation: tuple[int, ...]) -> list[int]:
    """Return the padding as `F.pad` wants it: last axis first, each axis before and after."""
    amounts = []
    for axis in reversed(range(len(kernel_size))):
        if isinstance(padding, str):
            total = dilation[axis] * (kernel_size[axis] - 1) if padding == "same" else 0
            amounts += [total // 2, total - total // 2]
        else:
            amounts += [padding[axis]] * 2
    return amounts


class _PlainConv(_ConvNd):
    """Convolutions that are not transposed.

    Parameters
    ----------
    {channels} : int
    kernel_size, stride, dilation : {size}
        Elements; ``dilation`` is the distance between the elements that one kernel meets.
    padding : {size}, "valid" or "same"
        Elements added on both sides. "valid" adds none; "same" keeps the size, for stride 1.
    groups : int
        Into how many groups the channels fall; each output sees the inputs of its own group.
    bias : bool
        Whether to add a bias.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}
        What the padding holds.
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input : (N, in_channels, {spatial}) or (in_channels, {spatial})
    output : (N, out_channels, {spatial_out}) or (out_channels, {spatial_out})
        Each size becomes ``floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1``.

    Attributes
    ----------
    weight : Parameter, shape (out_channels, in_channels / groups, *kernel_size)
        Drawn uniformly from ±1/sqrt(in_channels / groups * elements of the kernel).
    bias : Parameter, shape (out_channels,), or None
        Drawn likewise.

    Raises
    ------
    ValueError
        If channels are not divisible by ``groups``, or "same" is asked for with a stride.
    RuntimeError
        If the input has other channels or dimensions, or is smaller than the kernel.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike,
        dtype: DType,
    ) -> None:
        axes = self._spatial_axes
        super().__init__(
            in_channels,
            out_channels,
            expanded(kernel_size, axes),
            expanded(stride, axes),
            padding if isinstance(padding, str) else expanded(padding, axes),
            expanded(dilation, axes),
            False,
            (0,) * axes,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _padded(self, input: Tensor) -> tuple[Tensor, Any]:
        """Return the input, padded if the convolution itself cannot, and the padding that is left to do."""
        if self.padding_mode == "zeros":
            return input, self.padding
        amounts = self._reversed_padding_repeated_twice
        return F.pad(input, amounts, mode=self.padding_mode), (0,) * self._spatial_axes


CONVOLUTION: str = sections_of(_PlainConv)


@documented(sections=CONVOLUTION, channels="in_channels, out_channels", **SPATIAL[1])
class Conv1d(_PlainConv):
    """Convolution over {axes} (L), as a cross-correlation.

    {sections}

    Examples
    --------
    >>> weft.nn.Conv1d(16, 33, 3, stride=2)(weft.zeros(20, 16, 50)).shape
    weft.Size([20, 33, 24])
    """

    _spatial_axes = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size1,
        stride: Size1 = 1,
        padding: Size1 | str = 0,
        dilation: Size1 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )

    def forward(self, input: Tensor) -> Tensor:
        """Map ``input`` of shape (N, in_channels, L) to (N, out_channels, L_out); N may be absent."""
        input, padding = self._padded(input)
        return F.conv1d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


@documented(sections=CONVOLUTION, channels="in_channels, out_channels", **SPATIAL[2])
class Conv2d(_PlainConv):
    """Convolution over {axes} (H and W), as a cross-correlation.

    {sections}

    Examples
    --------
    >>> weft.nn.Conv2d(16, 33, 3, stride=2)(weft.zeros(4, 16, 20, 30)).shape
    weft.Size([4, 33, 9, 14])

    "same" keeps the spatial sizes, and groups as many as channels convolve each channel by itself:

    >>> weft.nn.Conv2d(8, 8, 5, padding="same", groups=8)(weft.zeros(8, 28, 28)).shape
    weft.Size([8, 28, 28])
    """

    _spatial_axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size2,
        stride: Size2 = 1,
        padding: Size2 | str = 0,
        dilation: Size2 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )

    def forward(self, input: Tensor) -> Tensor:
        """Map ``input`` of shape (N, in_channels, H, W) to (N, out_channels, H_out, W_out); N may be absent."""
        input, padding = self._padded(input)
        return F.conv2d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


@documented(sections=CONVOLUTION, channels="in_channels, out_channels", **SPATIAL[3])
class Conv3d(_PlainConv):
    """Convolution over {axes} (D, H and W), as a cross-correlation.

    {sections}

    Examples
    --------
    >>> weft.nn.Conv3d(8, 12, 3, stride=2)(weft.zeros(2, 8, 6, 10, 10)).shape
    weft.Size([2, 12, 2, 4, 4])
    """

    _spatial_axes = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size3,
        stride: Size3 = 1,
        padding: Size3 | str = 0,
        dilation: Size3 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )

    def forward(self, input: Tensor) -> Tensor:
        """Map ``input`` of shape (N, in_channels, D, H, W) to (N, out_channels, D_out, H_out, W_out).

        N may be absent.
        """
        input, padding = self._padded(input)
        return F.conv3d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    """The gradients of convolutions with respect to their input, as layers.

    Parameters
    ----------
    {channels} : int
    kernel_size, stride, dilation : {size}
        Of the convolution that this one is the transpose of.
    padding : {size}
        What that convolution pads; it shortens the output.
    output_padding : {size}
        Elements added to one side of the output, to choose among the sizes that the stride leaves open.
    groups : int
        Into how many groups the channels fall; each output sees the inputs of its own group.
    bias : bool
        Whether to add a bias.
    padding_mode : "zeros"
        There is no other.
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input : (N, in_channels, {spatial}) or (in_channels, {spatial})
    output : (N, out_channels, {spatial_out}) or (out_channels, {spatial_out})
        Each size becomes ``(size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1``.

    Attributes
    ----------
    weight : Parameter, shape (in_channels, out_channels / groups, *kernel_size)
        Drawn uniformly from ±1/sqrt(out_channels / groups * elements of the kernel).
    bias : Parameter, shape (out_channels,), or None
        Drawn likewise.

    Raises
    ------
    ValueError
        If channels are not divisible by ``groups``, or an output size is asked for that no ``output_padding`` gives.
    RuntimeError
        If the input has other channels or dimensions, or ``output_padding`` reaches both stride and dilation.
    """

    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        dilation: Any,
        padding_mode: str,
        device: DeviceLike,
        dtype: DType,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f"{self._get_name()}: only 'zeros' padding mode is supported, got padding_mode={padding_mode!r}"
            )
        axes = self._spatial_axes
        super().__init__(
            in_channels,
            out_channels,
            expanded(kernel_size, axes),
            expanded(stride, axes),
            expanded(padding, axes),
            expanded(dilation, axes),
            True,
            expanded(output_padding, axes),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """Return what to add to the output so that its spatial size is ``output_size``."""
        if output_size is None:
            return self.output_padding
        axes = self._spatial_axes
        batched_axes = input.dim() - axes
        if len(output_size) == input.dim():
            output_size = output_size[batched_axes:]
        if len(output_size) != axes:
            raise ValueError(
                f"{self._get_name()}: for {input.dim()}D input, output_size must have {axes} or {input.dim()} elements "
                f"(got {len(output_size)})"
            )
        padding = []
        for axis, wanted in enumerate(output_size):
            smallest = (
                (input.size(batched_axes + axis) - 1) * self.stride[axis]
                - 2 * self.padding[axis]
                + self.dilation[axis] * (self.kernel_size[axis] - 1)
                + 1
            )
            if not smallest <= wanted < smallest + self.stride[axis]:
                raise ValueError(
                    f"{self._get_name()}: requested an output size of {wanted} in spatial axis {axis}, but valid sizes "
                    f"range from {smallest} to {smallest + self.stride[axis] - 1} "
                    f"(for an input of {tuple(input.shape[batched_axes:])})"
                )
            padding.append(wanted - smallest)
        return tuple(padding)


TRANSPOSED_CONVOLUTION: str = sections_of(_ConvTransposeNd)


@documented(sections=TRANSPOSED_CONVOLUTION, channels="in_channels, out_channels", **SPATIAL[1])
class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution over {axes} (L): each input spreads over the output.

    {sections}

    Examples
    --------
    >>> weft.nn.ConvTranspose1d(16, 33, 4, stride=2, padding=1)(weft.zeros(20, 16, 50)).shape
    weft.Size([20, 33, 100])

    The stride leaves the output's size open where it is not 1; ``output_size`` says which is meant:

    >>> down = weft.nn.Conv1d(3, 6, 3, stride=2, padding=1)
    >>> up = weft.nn.ConvTranspose1d(6, 3, 3, stride=2, padding=1)
    >>> signal = weft.zeros(3, 12)
    >>> up(down(signal)).shape, up(down(signal), output_size=[12]).shape
    (weft.Size([3, 11]), weft.Size([3, 12]))
    """

    _spatial_axes = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size1,
        stride: Size1 = 1,
        padding: Size1 = 0,
        output_padding: Size1 = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size1 = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias,
            dilation,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Map ``input`` of shape (N, in_channels, L) to (N, out_channels, L_out); N may be absent.

        ``output_size``, with or without the first axes, chooses among the sizes that the stride leaves open.
        """
        return F.conv_transpose1d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


@documented(sections=TRANSPOSED_CONVOLUTION, channels="in_channels, out_channels", **SPATIAL[2])
class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution over {axes} (H and W): each input spreads over the output.

    {sections}

    Examples
    --------
    >>> weft.nn.ConvTranspose2d(16, 33, 4, stride=2, padding=1)(weft.zeros(4, 16, 20, 30)).shape
    weft.Size([4, 33, 40, 60])
    """

    _spatial_axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size2,
        stride: Size2 = 1,
        padding: Size2 = 0,
        output_padding: Size2 = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size2 = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias,
            dilation,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Map ``input`` of shape (N, in_channels, H, W) to (N, out_channels, H_out, W_out); N may be absent.

        ``output_size``, with or without the first axes, chooses among the sizes that the stride leaves open.
        """
        return F.conv_transpose2d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


@documented(sections=TRANSPOSED_CONVOLUTION, channels="in_channels, out_channels", **SPATIAL[3])
class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution over {axes} (D, H and W): each input spreads over the output.

    {sections}

    Examples
    --------
    >>> weft.nn.ConvTranspose3d(8, 12, 4, stride=2, padding=1)(weft.zeros(2, 8, 6, 10, 10)).shape
    weft.Size([2, 12, 12, 20, 20])
    """

    _spatial_axes = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size3,
        stride: Size3 = 1,
        padding: Size3 = 0,
        output_padding: Size3 = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size3 = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias,
            dilation,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Map ``input`` of shape (N, in_channels, D, H, W) to (N, out_channels, D_out, H_out, W_out); N may be absent.

        ``output_size``, with or without the first axes, chooses among the sizes that the stride leaves open.
        """
        return F.conv_transpose3d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )
