"""Deformable convolution: each position of the kernel looks where its offset says (arXiv:1703.06211, 1811.11168)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn.functional.grids import sample
from weft.overrides import handle_torch_function, has_torch_function
from weft.vision.ops._regions import pair

__all__ = ["DeformConv2d", "deform_conv2d"]

Pair = int | Sequence[int]


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """Convolve an image that is sampled, for each position of the kernel, off its place.

    Parameters
    ----------
    input : Tensor, shape (N, C_in, H, W)
    offset : Tensor, shape (N, 2 * offset_groups * kernel_height * kernel_width, H_out, W_out)
        Pixels down and to the right, for each position of the kernel; each group of channels has its own.
    weight : Tensor, shape (C_out, C_in / groups, kernel_height, kernel_width)
    bias : Tensor, shape (C_out,), optional
    stride, padding, dilation : int or (int, int)
    mask : Tensor, shape (N, offset_groups * kernel_height * kernel_width, H_out, W_out), optional
        A factor for each sample.

    Returns
    -------
    Tensor, shape (N, C_out, H_out, W_out)

    Raises
    ------
    RuntimeError
        If shapes do not fit together.

    Examples
    --------
    >>> image, weight = weft.arange(9.0).reshape(1, 1, 3, 3), weft.ones(1, 1, 1, 1)
    >>> to_the_right = weft.tensor([0.0, 1.0]).reshape(1, 2, 1, 1).expand(1, 2, 3, 3)
    >>> deform_conv2d(image, to_the_right, weight)[0, 0]
    tensor([[1., 2., 0.],
            [4., 5., 0.],
            [7., 8., 0.]])
    """
    if has_torch_function((input, offset)):
        return handle_torch_function(
            deform_conv2d, (input, offset), input, offset, weight, bias, stride, padding, dilation, mask
        )
    stride, padding, dilation = pair(stride), pair(padding), pair(dilation)
    groups = check_geometry(input, offset, weight, bias, stride, padding, dilation, mask)
    samples = deformed(input, offset, mask, weight.shape[2:], stride, padding, dilation)
    products = math.prod(weight.shape[1:])
    columns = samples.reshape(input.shape[0], groups, products, math.prod(offset.shape[2:]))
    output = weight.reshape(groups, weight.shape[0] // groups, products) @ columns
    output = output.reshape(input.shape[0], weight.shape[0], *offset.shape[2:])
    return output if bias is None else output + bias[:, None, None]


def deformed(
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """The samples for each position of the kernel, times the mask, (N * offset_groups, C, positions, places)."""
    out = offset.shape[2:]
    groups = offset.shape[1] // (2 * math.prod(kernel))
    options: dict[str, Any] = {"dtype": offset.dtype, "device": offset.device}
    axes = [
        weft.arange(kernel[axis], **options)[:, None] * dilation[axis]
        + weft.arange(out[axis], **options) * stride[axis]
        - padding[axis]
        for axis in (0, 1)
    ]  # each (kernel, out)
    moved = offset.reshape(input.shape[0] * groups, *kernel, 2, *out)
    y = moved[:, :, :, 0] + axes[0][:, None, :, None]
    x = moved[:, :, :, 1] + axes[1][None, :, None, :]
    grid = weft.stack((x, y), -1).reshape(len(moved), math.prod(kernel), math.prod(out), 2)
    images = input.reshape(len(moved), input.shape[1] // groups, *input.shape[2:])
    samples = sample.op(images, grid, ("bilinear", "zeros", None), (0, 0))
    return samples if mask is None else samples * mask.reshape(len(moved), 1, *samples.shape[2:])


def check_geometry(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    mask: Tensor | None,
) -> int:
    """Check the shapes, and return the number of groups of channels of the weight."""
    for name, each in (("input", input), ("offset", offset), ("weight", weight), ("mask", mask)):
        if each is not None and each.ndim != 4:
            raise RuntimeError(f"deform_conv2d: {name} must have 4 dimensions, got shape {tuple(each.shape)}")
    if min(stride) < 1 or min(dilation) < 1 or min(padding) < 0:
        raise RuntimeError(
            f"deform_conv2d: stride and dilation must be positive and padding at least 0; got {stride=}, {dilation=}, "
            f"{padding=}"
        )
    (batch, channels, height, width), kernel = input.shape, weight.shape[2:]
    size = math.prod(kernel)
    if size == 0 or offset.shape[1] < 2 * size:
        raise RuntimeError(
            "deform_conv2d: the shape of the offset tensor at dimension 1 is not valid. It should be a multiple of "
            f"2 * weight.size[2] * weight.size[3] = {2 * size}, got offset.shape[1] = {offset.shape[1]}"
        )
    offset_groups, groups = offset.shape[1] // (2 * size), channels // weight.shape[1] if weight.shape[1] else 0
    if groups * weight.shape[1] != channels or groups == 0 or weight.shape[0] % groups:
        raise RuntimeError(
            f"deform_conv2d: {channels} channels do not fit a weight of shape {tuple(weight.shape)}: they must be a "
            "multiple of weight.shape[1], and weight.shape[0] one of their quotient"
        )
    if channels % offset_groups:
        raise RuntimeError(f"deform_conv2d: {channels} channels cannot be in {offset_groups} groups of the offset")
    out = [
        (size + 2 * pad - (step * (each - 1) + 1)) // by + 1
        for size, pad, step, each, by in zip((height, width), padding, dilation, kernel, stride)
    ]
    if min(out) < 1 or min(height, width) < 1:
        raise RuntimeError(f"deform_conv2d: the output would be empty: calculated size {out}")
    wanted = {"offset": (offset, 2 * size * offset_groups), "mask": (mask, size * offset_groups)}
    for name, (each, count) in wanted.items():
        if each is None:
            continue
        if each.shape[1] != count:
            raise RuntimeError(f"deform_conv2d: {name}.shape[1] is not valid: got {each.shape[1]}, expected {count}")
        if tuple(each.shape) != (batch, count, *out):
            raise RuntimeError(f"deform_conv2d: {name} must have shape {(batch, count, *out)}, got {tuple(each.shape)}")
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise RuntimeError(f"deform_conv2d: bias must have shape ({weight.shape[0]},), got {tuple(bias.shape)}")
    return groups


class DeformConv2d(nn.Module):
    """`deform_conv2d` with a weight and a bias.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride, padding, dilation : int or (int, int)
    groups : int
    bias : bool

    Raises
    ------
    ValueError
        If the channels are no multiple of ``groups``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = pair(kernel_size)
        self.stride = pair(stride)
        self.padding = pair(padding)
        self.dilation = pair(dilation)
        self.groups = groups
        self.weight = nn.Parameter(weft.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.bias = nn.Parameter(weft.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight and the bias as `weft.nn.Conv2d` does."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        """Convolve (N, in_channels, H, W); see `deform_conv2d`."""
        geometry = (self.stride, self.padding, self.dilation)
        return deform_conv2d(input, offset, self.weight, self.bias, *geometry, mask)

    def __repr__(self) -> str:
        shown = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        defaults = {"padding": (0, 0), "dilation": (1, 1), "groups": 1}
        shown += [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        shown += ["bias=False"] * (self.bias is None)
        return f"{type(self).__name__}({', '.join(shown)})"
