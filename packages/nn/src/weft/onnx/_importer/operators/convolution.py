"""Convolutions, of images and of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft
import weft.nn.functional as F
from weft.onnx._importer.operators._common import to_dtype
from weft.onnx._importer.registry import operator

CONVOLUTIONS: dict[int, Callable[..., Any]] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED: dict[int, Callable[..., Any]] = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def same_pads(sizes: Any, kernel: Any, strides: Any, dilations: Any, auto_pad: str) -> list[int]:
    """The pads with which there are ``ceil(size / stride)`` results: before all axes, then after all."""
    before, after = [], []
    for size, length, stride, dilation in zip(sizes, kernel, strides, dilations):
        total = max((-(-size // stride) - 1) * stride + (length - 1) * dilation + 1 - size, 0)
        small, large = total // 2, total - total // 2
        before.append(small if auto_pad == "SAME_UPPER" else large)
        after.append(large if auto_pad == "SAME_UPPER" else small)
    return before + after


def resolved_pads(pads: Any, auto_pad: str, sizes: Any, kernel: Any, strides: Any, dilations: Any) -> list[int]:
    """The pads that a node's attributes mean.

    Raises
    ------
    ValueError
        If there are not two for each axis.
    """
    axes = len(kernel)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return same_pads(sizes, kernel, strides, dilations, auto_pad)
    pads = [0] * (2 * axes) if pads is None or auto_pad == "VALID" else list(pads)
    if len(pads) != 2 * axes or min(pads, default=0) < 0:
        raise ValueError(f"pads {pads} for {axes} axes: two for each are wanted, none negative")
    return pads


def pad_ends(x: Any, pads: list[int], value: Any = 0) -> Any:
    """A tensor with pads (all axes' first, then all axes' second) around its last axes."""
    half = len(pads) // 2
    flat = [width for axis in reversed(range(half)) for width in (pads[axis], pads[half + axis])]
    return F.pad(x, flat, value=value)


@operator("Conv")
def conv(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Any:
    axes = w.ndim - 2
    if axes not in CONVOLUTIONS:
        raise NotImplementedError(f"Conv: {axes} axes; weft has convolutions along 1, 2 and 3")
    strides, dilations = strides or [1] * axes, dilations or [1] * axes
    pads = resolved_pads(pads, auto_pad, x.shape[2:], w.shape[2:], strides, dilations)
    if pads[:axes] != pads[axes:]:
        x, pads = pad_ends(x, pads), [0] * axes
    return CONVOLUTIONS[axes](x, w, b, strides, pads[:axes], dilations, group)


@operator("ConvTranspose")
def conv_transpose(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    output_padding: Any = None,
    output_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Any:
    axes = w.ndim - 2
    if axes not in TRANSPOSED:
        raise NotImplementedError(f"ConvTranspose: {axes} axes; weft has convolutions along 1, 2 and 3")
    strides, dilations = strides or [1] * axes, dilations or [1] * axes
    extra = list(output_padding or [0] * axes)
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations)]
    whole = [s * (n - 1) + r + e for s, n, r, e in zip(strides, x.shape[2:], reach, extra)]
    pads = transposed_pads(x, whole, strides, auto_pad, output_shape, pads)
    fits = pads[:axes] == pads[axes:] and all(e < max(s, d) for e, s, d in zip(extra, strides, dilations))
    if fits and min(pads, default=0) >= 0:
        return TRANSPOSED[axes](x, w, b, strides, pads[:axes], extra, group, dilations)
    result = TRANSPOSED[axes](x, w, b, strides, [0] * axes, [0] * axes, group, dilations)
    border = [-pads[axis] for axis in range(axes)] + [e - p for e, p in zip(extra, pads[axes:])]
    if b is None or max(border) <= 0:
        return pad_ends(result, border)
    return pad_ends(result - b.reshape([-1, *[1] * axes]), border) + b.reshape([-1, *[1] * axes])


def transposed_pads(x: Any, whole: list[int], strides: Any, auto_pad: str, output_shape: Any, pads: Any) -> list[int]:
    """The pads of a transposed convolution: what is cut from each end of the whole result."""
    axes = len(whole)
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [size * stride for size, stride in zip(x.shape[2:], strides)]
    if output_shape is None:
        return [0] * (2 * axes) if pads is None or auto_pad == "VALID" else list(pads)
    totals = [full - wanted for full, wanted in zip(whole, output_shape[-axes:])]
    small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return small + large if auto_pad == "SAME_UPPER" else large + small


@operator("Col2Im", host="image_shape block_shape")
def col2im(
    input: Any, image_shape: Any, block_shape: Any, *, dilations: Any = None, pads: Any = None, strides: Any = None
) -> Any:
    axes = len(image_shape)
    strides, dilations, pads = strides or [1] * axes, dilations or [1] * axes, pads or [0] * (2 * axes)
    padded = [size + pads[k] + pads[axes + k] for k, size in enumerate(image_shape)]
    counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(padded, block_shape, dilations, strides)]
    places = np.zeros((), np.int64)  # of each element of each block in the padded image, (*block_shape, *counts)
    for axis in range(axes):
        along = np.arange(block_shape[axis])[:, None] * dilations[axis] + np.arange(counts[axis]) * strides[axis]
        shape = [1] * (2 * axes)
        shape[axis], shape[axes + axis] = along.shape
        places = places * padded[axis] + along.reshape(shape)
    index = weft.tensor(places.ravel(), device=input.device)
    batch, block = input.shape[0], int(np.prod(block_shape))
    values = input.reshape(batch, input.shape[1] // block, -1)
    image = values.new_zeros([*values.shape[:2], int(np.prod(padded))]).index_add(2, index, values)
    image = image.reshape([*values.shape[:2], *padded])
    return image[(..., *[slice(pads[k], pads[k] + image_shape[k]) for k in range(axes)])]


@operator("CausalConvWithState")
def causal_conv_with_state(
    input: Any, weight: Any, bias: Any = None, past_state: Any = None, *, activation: str = "none"
) -> Any:
    before = weight.shape[-1] - 1
    state = input.new_zeros(*input.shape[:2], before) if past_state is None else past_state
    padded = weft.cat([state, input], 2)
    result = F.conv1d(padded, weight, bias, groups=input.shape[1])
    if activation in ("silu", "swish"):
        result = to_dtype(F.silu(result.float()), input.dtype)
    elif activation != "none":
        raise ValueError(f"CausalConvWithState: the activation {activation!r} is not known")
    return result, padded.narrow(2, padded.shape[2] - before, before)


@operator("DeformConv")
def deform_conv(
    x: Any,
    w: Any,
    offset: Any,
    b: Any = None,
    mask: Any = None,
    *,
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    offset_group: int = 1,
    pads: Any = None,
    strides: Any = None,
) -> Any:
    """Sample at shifted places, then multiply: Deformable ConvNets v2 (arXiv:1811.11168), equation 1."""
    strides, dilations, pads = strides or [1, 1], dilations or [1, 1], pads or [0] * 4
    batch, channels, height, width = x.shape
    rows, columns = w.shape[2:]
    high, wide = offset.shape[2:]
    offset = offset.reshape(batch, offset_group, rows * columns, 2, high, wide)
    place = []
    for axis, (count, taps, size) in enumerate(((high, rows, height), (wide, columns, width))):
        start = weft.arange(count, device=x.device) * strides[axis] - pads[axis]
        tap = weft.arange(taps, device=x.device) * dilations[axis]
        tap = tap[:, None].expand(rows, columns) if axis == 0 else tap[None].expand(rows, columns)
        base = start.reshape([-1, 1] if axis == 0 else [1, -1]) + tap.reshape(-1, 1, 1)
        place.append((base + offset[:, :, :, axis]) * (2.0 / max(size - 1, 1)) - 1)
    grid = weft.stack([place[1], place[0]], -1).to(x.dtype)  # (N, offset_group, taps, high, wide, 2)
    grid = grid.reshape(batch * offset_group, rows * columns * high, wide, 2)
    parts = x.reshape(batch * offset_group, channels // offset_group, height, width)
    sampled = F.grid_sample(parts, grid, padding_mode="zeros", align_corners=True)
    sampled = sampled.reshape(batch, offset_group, -1, rows * columns, high, wide)
    if mask is not None:
        sampled = sampled * mask.reshape(batch, offset_group, 1, rows * columns, high, wide)
    sampled = sampled.reshape(batch, group, -1, high * wide)
    result = (w.reshape(group, w.shape[0] // group, -1) @ sampled).reshape(batch, -1, high, wide)
    return result if b is None else result + b.reshape(-1, 1, 1)
