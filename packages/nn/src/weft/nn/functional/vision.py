"""Rearrangements and samples of images: windows as columns, pixels and channels exchanged, grids of places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

import weft
from weft import Tensor
from weft.library.checks import addressable, warn_caller
from weft.library.declare import in_full_precision, op
from weft.nn.functional._common import in_layout_of, require_flags, sizes
from weft.nn.functional.grids import sample
from weft.nn.functional.pooling import taps

Sizes = tuple[int, ...]


# Windows as columns


@op(
    tensors="input", result="same", compute_dtype="native", namespace="nn", name="unfold", vmap="merged", linear="input"
)
def unfold_op(
    input: Tensor,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
    out: Sizes,
) -> Tensor:
    """The windows of (N, C, H, W) as columns (N, C * kernel, places)."""
    return unfold_op.op(input, kernel_size, dilation, padding, stride, out)


@unfold_op.kernel
def _(xp, input, kernel_size, dilation, padding, stride, out):
    batch, channels, *spatial = input.shape
    padded = xp.zeros((batch, channels, *[n + 2 * p for n, p in zip(spatial, padding)]), input.dtype)
    padded[(..., *[slice(p, p + n) for n, p in zip(spatial, padding)])] = input
    columns = xp.empty((batch, channels, math.prod(kernel_size), *out), input.dtype)
    for number, place in enumerate(taps(kernel_size, stride, dilation, out)):
        columns[:, :, number] = padded[place]
    return columns.reshape(batch, channels * math.prod(kernel_size), math.prod(out))


@unfold_op.gradient("input")
def _(grad, input_shape, kernel_size, dilation, padding, stride, out):
    return fold_op.op(grad, input_shape[2:], kernel_size, dilation, padding, stride, out)


@unfold_op.onnx
def _(graph, input, kernel_size, dilation, padding, stride, out):
    """A convolution that gives each place of a window a channel of its own."""
    channels, count = input.shape[1], math.prod(kernel_size)
    if not isinstance(channels, int):
        graph.refuse("a number of channels that may change")
    places = numpy.tile(numpy.eye(count), (channels, 1)).reshape(channels * count, 1, *kernel_size)
    pads = [*padding, *padding]
    length = math.prod(out) if all(isinstance(each, int) for each in out) else -1
    columns = graph.Conv(
        input, graph.constant(places, input), strides=stride, pads=pads, dilations=dilation, group=channels
    )
    return graph.Reshape(columns, graph.sizes([0, channels * count, length]))


@op(tensors="input", result="same", compute_dtype="float32", namespace="nn", name="fold", vmap="merged", linear="input")
def fold_op(
    input: Tensor,
    spatial: Sizes,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
    out: Sizes,
) -> Tensor:
    """The sum of columns (N, C * kernel, places) at the places of (N, C, H, W) that they come from."""
    return fold_op.op(input, spatial, kernel_size, dilation, padding, stride, out)


@fold_op.kernel
def _(xp, input, spatial, kernel_size, dilation, padding, stride, out):
    batch, size = input.shape[0], math.prod(kernel_size)
    channels = input.shape[1] // size
    columns = input.reshape(batch, channels, size, *out)
    padded = xp.zeros((batch, channels, *[n + 2 * p for n, p in zip(spatial, padding)]), input.dtype)
    for number, place in enumerate(taps(kernel_size, stride, dilation, out)):
        padded[place] += columns[:, :, number]
    return xp.ascontiguousarray(padded[(..., *[slice(p, p + n) for n, p in zip(spatial, padding)])])


@fold_op.gradient("input")
def _(grad, kernel_size, dilation, padding, stride, out):
    return unfold_op.op(grad, kernel_size, dilation, padding, stride, out)


@fold_op.onnx
def _(graph, input, spatial, kernel_size, dilation, padding, stride, out):
    sizes = graph.sizes(spatial), graph.sizes(kernel_size)
    return graph.Col2Im(input, *sizes, dilations=dilation, pads=[*padding, *padding], strides=stride)


def window_options(name: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Sizes, ...]:
    """Kernel size, dilation, padding and stride, each for two dimensions."""
    options = []
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    for argument, value in given.items():
        chosen = sizes(name, argument, value, 2)
        if min(chosen) < (0 if argument == "padding" else 1):
            least = "greater than or equal to zero" if argument == "padding" else "greater than zero"
            raise RuntimeError(f"{name}: {argument} should be {least}, but got {argument}={list(chosen)}")
        options.append(chosen)
    return tuple(options)


def window_places(spatial: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Sizes:
    """The number of windows along each dimension."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(spatial, kernel, dilation, padding, stride)
    )


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The windows of images as columns.

    Parameters
    ----------
    input : Tensor, shape (N, C, H, W) or (C, H, W)
    kernel_size : int or tuple of 2 ints
    dilation, padding, stride : int or tuple of 2 ints
        As of `conv2d`.

    Returns
    -------
    Tensor, shape (N, C * prod(kernel_size), places) or without N.

    Raises
    ------
    RuntimeError
        If shapes or sizes do not fit together.

    Examples
    --------
    >>> weft.nn.functional.unfold(weft.arange(6.0).reshape(1, 2, 3), 2)
    tensor([[0., 1.],
            [1., 2.],
            [3., 4.],
            [4., 5.]])
    """
    kernel, dilation, padding, stride = window_options("unfold", kernel_size, dilation, padding, stride)
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "unfold: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(input.shape)}"
        )
    batched = input if input.ndim == 4 else input.unsqueeze(0)
    out = window_places(batched._array.shape[2:], kernel, dilation, padding, stride)
    if min(out) < 1:
        raise RuntimeError(
            f"unfold: Given input with spatial size {list(input.shape[-2:])}, kernel_size={list(kernel)}, "
            f"dilation={list(dilation)}, padding={list(padding)}, calculated shape of the array of sliding blocks as "
            f"{list(out)}, but its components must be at least one."
        )
    result = unfold_op.op(batched, kernel, dilation, padding, stride, out)
    return result if input.ndim == 4 else result.squeeze(0)


def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The sum of columns at the places where `unfold` takes them from.

    Parameters
    ----------
    input : Tensor, shape (N, C * prod(kernel_size), places) or without N
    output_size : int or tuple of 2 ints
        (H, W).
    kernel_size : int or tuple of 2 ints
    dilation, padding, stride : int or tuple of 2 ints
        As of `conv2d`.

    Returns
    -------
    Tensor, shape (N, C, H, W) or (C, H, W).

    Raises
    ------
    RuntimeError
        If shapes or sizes do not fit together.

    Examples
    --------
    >>> columns = weft.nn.functional.unfold(weft.ones(1, 2, 3), 2)
    >>> weft.nn.functional.fold(columns, (2, 3), 2)  # the middle is in two windows
    tensor([[[1., 2., 1.],
             [1., 2., 1.]]])
    """
    spatial = sizes("fold", "output_size", output_size, 2)
    kernel, dilation, padding, stride = window_options("fold", kernel_size, dilation, padding, stride)
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "fold: Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions, "
            f"but got: {list(input.shape)}"
        )
    batched = input if input.ndim == 3 else input.unsqueeze(0)
    if batched.shape[1] % math.prod(kernel):
        raise RuntimeError(
            f"fold: Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={batched.shape[1]} and kernel_size={list(kernel)}"
        )
    out = window_places(spatial, kernel, dilation, padding, stride)
    given = (
        f"fold: Given output_size={list(spatial)}, kernel_size={list(kernel)}, dilation={list(dilation)}, padding="
        f"{list(padding)}, stride={list(stride)}"
    )
    if min(out) < 1:
        raise RuntimeError(
            f"{given}, calculated shape of the array of sliding blocks as {list(out)}, which is too small "
            "(non-positive): the windows do not fit into the output"
        )
    if math.prod(out) != batched.shape[2]:
        raise RuntimeError(
            f"{given}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{' * '.join(map(str, out))} = {math.prod(out)}, but got input.size(2)={batched.shape[2]}"
        )
    result = fold_op.op(batched, spatial, kernel, dilation, padding, stride, out)
    return result if input.ndim == 3 else result.squeeze(0)


# Pixels and channels


def packed(input: Tensor) -> Tensor:
    """Return a contiguous copy, of a contiguous tensor too: a shuffle by a factor of 1 is no view either."""
    return input.clone(memory_format=weft.contiguous_format)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels rearranged as pixels, by the factor r.

    Parameters
    ----------
    input : Tensor, shape (..., C * r * r, H, W)
    upscale_factor : int
        r.

    Returns
    -------
    Tensor, shape (..., C, H * r, W * r).

    Raises
    ------
    RuntimeError
        If the channels are not divisible by r * r.

    References
    ----------
    arXiv:1609.05158.

    Examples
    --------
    >>> weft.nn.functional.pixel_shuffle(weft.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle: expects input to have at least 3 dimensions, but got input with {input.ndim}"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle: expects a positive upscale_factor, but got {r}")
    *batch, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle: expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    blocks = input.reshape([*batch, channels // (r * r), r, r, height, width])
    n = len(batch)
    moved = blocks.permute([*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return in_layout_of(packed(moved).reshape([*batch, channels // (r * r), height * r, width * r]), input)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels rearranged as channels: the inverse of `pixel_shuffle`.

    Parameters
    ----------
    input : Tensor, shape (..., C, H * r, W * r)
    downscale_factor : int
        r.

    Returns
    -------
    Tensor, shape (..., C * r * r, H, W).

    Raises
    ------
    RuntimeError
        If a size is not divisible by r.

    Examples
    --------
    >>> weft.nn.functional.pixel_unshuffle(weft.tensor([[[0.0, 1.0], [2.0, 3.0]]]), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle: expects input to have at least 3 dimensions, but got input with {input.ndim}"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle: expects a positive downscale_factor, but got {r}")
    *batch, channels, height, width = input.shape
    if height % r or width % r:
        raise RuntimeError(
            f"pixel_unshuffle: expects height and width to be divisible by downscale_factor, but got {height} x "
            f"{width} and {r}"
        )
    blocks = input.reshape([*batch, channels, height // r, r, width // r, r])
    n = len(batch)
    moved = blocks.permute([*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return in_layout_of(packed(moved).reshape([*batch, channels * r * r, height // r, width // r]), input)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels in groups, dealt out so that neighbours come from different groups.

    Parameters
    ----------
    input : Tensor, shape (N, C, ...)
    groups : int

    Raises
    ------
    RuntimeError
        If the channels are not divisible by ``groups``.

    References
    ----------
    arXiv:1707.01083.

    Examples
    --------
    >>> weft.nn.functional.channel_shuffle(weft.arange(6.0).reshape(1, 6, 1), 2).flatten()
    tensor([0., 3., 1., 4., 2., 5.])
    """
    if input.ndim < 3:
        raise RuntimeError(
            f"channel_shuffle: expects input with > 2 dims, but got input with sizes {list(input.shape)}"
        )
    batch, channels, *rest = input.shape
    if groups <= 0:
        raise RuntimeError(
            f"channel_shuffle: Number of groups to divide channels in must be positive. Value of groups: {groups}"
        )
    if channels % groups:
        raise RuntimeError(
            f"channel_shuffle: Number of channels must be divisible by groups. Got {channels} channels and {groups} "
            "groups."
        )
    parts = input.reshape([batch, groups, channels // groups, *rest])
    return in_layout_of(packed(parts.transpose(1, 2)).reshape(input.shape), input)


native_channel_shuffle = channel_shuffle


# Grids


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places, in [-1, 1], that affine maps give each pixel of an output.

    Parameters
    ----------
    theta : Tensor, shape (N, 2, 3) or (N, 3, 4)
    size : sequence of int
        (N, C, H, W) or (N, C, D, H, W).
    align_corners : bool, optional
        -1 and 1 are the centres of the outer pixels, rather than their edges.

    Returns
    -------
    Tensor, shape (N, H, W, 2) or (N, D, H, W, 3), the last dimension in the order x, y, z.

    Examples
    --------
    >>> identity = weft.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> weft.nn.functional.affine_grid(identity, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    size = [int(each) for each in size]
    count = len(size) - 2
    if not theta.dtype.is_floating_point:
        raise ValueError(f"affine_grid: Expected theta to have floating point type, but got {theta.dtype}")
    if count not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}"
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (count, count + 1):
        raise ValueError(
            f"affine_grid: Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1} for size "
            f"{size}. Got {list(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: Expected non-zero, positive output size. Got {size}")
    if theta.shape[0] != size[0]:
        raise RuntimeError(
            f"affine_grid: Expected a batch of {size[0]} matrices for size {size}, got theta {list(theta.shape)}"
        )
    if align_corners is None:
        warn_align("affine_grid")
    spatial = size[2:]
    if align_corners and min(spatial) == 1:
        warn_caller(
            "affine_grid: with align_corners=True the only pixel of a dimension of size 1 is at 0, the centre of the "
            "input (before version 1.3 of PyTorch it was at -1). See the documentation of affine_grid for details."
        )
    addressable("affine_grid", (theta.shape[0], *spatial, count + 1), theta.itemsize)
    axes = [places(theta, n, bool(align_corners)) for n in spatial]
    shape = [*spatial, 1]
    parts = [
        axis.reshape([n if d == e else 1 for e, n in enumerate(spatial)] + [1]).expand(shape)
        for d, axis in enumerate(axes)
    ]
    base = weft.cat([*reversed(parts), theta.new_ones(shape)], -1)  # (*spatial, count + 1)
    flat = base.reshape(-1, count + 1)
    return weft.matmul(flat, theta.mT).reshape([theta.shape[0], *spatial, count])


def places(theta: Tensor, size: int, align_corners: bool) -> Tensor:
    """The coordinates of pixels in [-1, 1], rounded as PyTorch rounds them.

    Under the identity each falls on a pixel, where the gradient of `grid_sample` is not continuous: it depends on
    the last bit.
    """
    if size == 1:
        return theta.new_zeros(1)
    axis = weft.linspace(-1, 1, size, dtype=theta.dtype, device=theta.device)
    return axis if align_corners else axis * (size - 1) / size


def warn_align(name: str) -> None:
    """Say that ``align_corners`` was left open."""
    warn_caller(
        f"{name}: Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
        "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
    )


# The numbers of the modes, as `grid_sampler` takes them.
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


@in_full_precision
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The input at the places of a grid.

    Parameters
    ----------
    input : Tensor, shape (N, C, H, W) or (N, C, D, H, W)
    grid : Tensor, shape (N, H', W', 2) or (N, D', H', W', 3)
        x, y, (z) in [-1, 1] for places inside.
    mode : "bilinear", "nearest" or "bicubic"
        The last for four dimensions only.
    padding_mode : "zeros", "border" or "reflection"
        What lies outside.
    align_corners : bool, optional
        -1 and 1 are the centres of the outer pixels, rather than their edges.

    Raises
    ------
    ValueError, RuntimeError
        If shapes, dtypes or modes do not fit together.

    Examples
    --------
    >>> image, grid = weft.tensor([[[[1.0, 3.0]]]]), weft.tensor([[[[0.0, 0.0]]]])
    >>> weft.nn.functional.grid_sample(image, grid, align_corners=True)  # between the two pixels
    tensor([[[[2.]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample: expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample: expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warn_align("grid_sample")
        align_corners = False
    require_flags("grid_sample", align_corners=align_corners)
    check_grid(input, grid, mode)
    options = (mode, padding_mode, bool(align_corners))
    return sample.op(input, grid, options, (0,) * (input.ndim - 2))


def check_grid(input: Tensor, grid: Tensor, mode: str) -> None:
    """Input and grid fit together."""
    if grid.ndim and grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sample: expected grid to have size {input.ndim - 2} in last dimension, one coordinate for each "
            f"spatial dimension, but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise RuntimeError(
            f"grid_sample: expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[0] != input.shape[0]:
        raise RuntimeError(
            f"grid_sample: expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            f"grid_sample: expected input and grid to have same dtype, but input has {input.dtype} and grid has "
            f"{grid.dtype}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            f"grid_sample: expected input to have non-empty spatial dimensions, but got {list(input.shape)}"
        )
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sample: bicubic interpolation only supports 4D input")
