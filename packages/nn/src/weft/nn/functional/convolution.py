"""Convolutions over 1, 2 and 3 spatial dimensions, as cross-correlations, and their transposes.

Three ops for each number of dimensions: the convolution, its gradient with respect to the input, and that
with respect to the weight. Each is linear in both tensors, and each one's gradients are the other two, so
that derivatives of any order come from these. Kernels gather windows with the channels last, where one row of a
window is contiguous, and multiply all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from weft import Tensor
from weft.backend import in_order, is_channels_last
from weft.library.checks import elements, has_values, warn_caller_once
from weft.library.declare import in_half_precision, op
from weft.library.fast_paths import FastPath
from weft.library.numerics import is_numpy
from weft.nn.functional._common import for_axes, in_layout_of, in_single, sizes, whole_number
from weft.ops.pointwise import conj

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_tbc"]

BUDGET = 1 << 19  # elements of gathered windows at a time: they should stay in the cache until they are multiplied
DEVICE_BUDGET = 1 << 27  # on a device, where few launches count for more

Sizes = tuple[int, ...]


# Kernels: arrays with the channels last are (N, *spatial, C).


def channels_last(xp: Any, array: Any, padding: Sizes, after: Sizes | None = None) -> Any:
    """A copy of (N, C, *spatial) with the channels last, between zeros before and after each spatial dimension."""
    spatial = array.shape[2:]
    after = padding if after is None else after
    order = (0, *range(2, array.ndim), 1)
    moved = array.transpose(order)
    if not any(padding) and not any(after):
        return xp.ascontiguousarray(moved)
    shape = (array.shape[0], *[n + p + q for n, p, q in zip(spatial, padding, after)], array.shape[1])
    padded = xp.zeros(shape, array.dtype)
    padded[(slice(None), *[slice(p, p + n) for n, p in zip(spatial, padding)])] = moved
    return padded


def channels_first(xp: Any, array: Any) -> Any:
    """A contiguous copy of (N, *spatial, C) as (N, C, *spatial)."""
    return xp.ascontiguousarray(array.transpose(0, array.ndim - 1, *range(1, array.ndim - 1)))


def windows_of(xp: Any, padded: Any, kernel: Sizes, out: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    """A view (groups, N, *out, *kernel, C / groups) of (N, *spatial, C)."""
    count = len(kernel)
    batch, channels = padded.shape[0], padded.shape[-1]
    steps = padded.strides
    each = channels // groups
    return xp.lib.stride_tricks.as_strided(
        padded,
        (groups, batch, *out, *kernel, each),
        (
            steps[-1] * each,
            steps[0],
            *[step * s for step, s in zip(steps[1 : count + 1], stride)],
            *[step * d for step, d in zip(steps[1 : count + 1], dilation)],
            steps[-1],
        ),
    )


def batches(xp: Any, batch: int, each: int) -> list[slice]:
    """Slices of a batch whose windows, ``each`` elements for one, fit the budget."""
    size = max(1, (BUDGET if is_numpy(xp) else DEVICE_BUDGET) // max(each, 1))
    return [slice(start, min(start + size, batch)) for start in range(0, batch, size)]


def gatherer(xp: Any, windows: Any, each: int) -> Any:
    """A function that copies a part of the batch's windows, always into the same memory: new memory costs more."""
    batch = windows.shape[1]
    parts = batches(xp, batch, each)
    if len(parts) < 2:
        return lambda part: windows
    buffer = xp.empty((windows.shape[0], parts[0].stop, *windows.shape[2:]), windows.dtype)

    def gather(part: slice) -> Any:
        if part.stop - part.start < parts[0].stop:
            return windows[:, part]
        buffer[...] = windows[:, part]
        return buffer

    return gather


def weight_rows(xp: Any, weight: Any, groups: int) -> Any:
    """(O, C, *kernel) as matrices (groups, *kernel * C, O / groups) in the order of the windows."""
    out_channels, channels, *kernel = weight.shape
    parts = weight.reshape(groups, out_channels // groups, channels, *kernel)
    moved = parts.transpose(0, *range(3, parts.ndim), 2, 1)
    return xp.ascontiguousarray(moved).reshape(groups, math.prod(kernel) * channels, out_channels // groups)


def convolve_padded(
    xp: Any, padded: Any, weight: Any, stride: Sizes, dilation: Sizes, groups: int, last: bool = False
) -> Any:
    """The convolution of (N, *spatial, C), already padded, as (N, C, *spatial); ``last`` keeps the order in memory."""
    kernel = weight.shape[2:]
    batch, out_channels = padded.shape[0], weight.shape[0]
    out = tuple((n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(padded.shape[1:-1], kernel, stride, dilation))
    places, depth = math.prod(out), math.prod(weight.shape[1:])
    matrices = weight_rows(xp, weight, groups)
    windows = windows_of(xp, padded, kernel, out, stride, dilation, groups)
    if last:
        result = xp.empty((batch, places, out_channels), padded.dtype).transpose(0, 2, 1)
    else:
        result = xp.empty((batch, out_channels, places), padded.dtype)
    gather = gatherer(xp, windows, groups * places * depth)
    for part in batches(xp, batch, places * depth * groups):
        gathered = gather(part).reshape(groups, -1, depth)
        if groups == 1:
            product = xp.matmul(gathered[0], matrices[0])
            result[part] = product.reshape(-1, places, out_channels).transpose(0, 2, 1)
        else:
            product = xp.matmul(gathered, matrices)  # (groups, N * places, O / groups)
            split = product.reshape(groups, -1, places, out_channels // groups).transpose(1, 0, 3, 2)
            result[part] = split.reshape(-1, out_channels, places)
    if last:
        moved = result.transpose(0, 2, 1).reshape(batch, *out, out_channels)
        return moved.transpose(0, moved.ndim - 1, *range(1, moved.ndim - 1))
    return result.reshape(batch, out_channels, *out)


def convolve(
    xp: Any, input: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    """The convolution itself."""
    if not (input.size and weight.size):  # sums of nothing, or no sums
        out = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(input.shape[2:], weight.shape[2:], stride, padding, dilation)
        ]
        result = xp.zeros((input.shape[0], weight.shape[0], *out), input.dtype)
    elif input.dtype.kind in "iu":
        result = convolve_integers(xp, input, weight, stride, padding, dilation, groups)
    elif is_pointwise(weight.shape, (1,), padding, groups):  # strides leave places out, of which nothing is needed
        result = multiply_channels(xp, input[(..., *[slice(None, None, each) for each in stride])], weight)
    elif is_depthwise(weight.shape, groups):
        result = convolve_depthwise(xp, input, weight, stride, padding, dilation)
    else:
        last = is_channels_last(input) or is_channels_last(weight)
        result = convolve_padded(xp, channels_last(xp, input, padding), weight, stride, dilation, groups, last)
    if bias is not None:
        result += bias.reshape(-1, *(1,) * (input.ndim - 2))
    return result


SINGLE, DOUBLE = 1 << 24, 1 << 53  # whole numbers up to these are exact in float32 and in float64


def convolve_integers(
    xp: Any, input: Any, weight: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    """The convolution of integers by floats, if all sums are exact in these: loops over integers take far longer.

    What is beyond the range of the dtype goes around, as sums of integers do.
    """
    element, most = input.dtype, largest_sum(xp, input, weight)
    if most >= DOUBLE:
        return convolve_padded(xp, channels_last(xp, input, padding), weight, stride, dilation, groups)
    real, whole = (xp.float32, xp.int32) if most < SINGLE else (xp.float64, xp.int64)
    result = convolve(xp, input.astype(real), weight.astype(real), None, stride, padding, dilation, groups)
    return result.astype(whole).astype(element, copy=False)


def largest_sum(xp: Any, input: Any, weight: Any) -> int:
    """A bound of the sums of products of a convolution of integers; a high one on a device, which it would wait for."""
    if not input.size or not weight.size or not has_values(input):
        return 0
    if not is_numpy(xp):
        return DOUBLE
    ranges = [max(abs(int(each.min())), abs(int(each.max()))) for each in (input, weight)]
    return ranges[0] * ranges[1] * math.prod(weight.shape[1:])


def is_pointwise(weight: Sizes, stride: Sizes, padding: Sizes, groups: int) -> bool:
    return groups == 1 and all(each == 1 for each in (*weight[2:], *stride)) and not any(padding)


def multiply_channels(xp: Any, input: Any, weight: Any) -> Any:
    """A convolution of size 1: each image is a matrix of channels by places."""
    batch, channels, *spatial = input.shape
    flat = in_order(xp, input).reshape(batch, channels, math.prod(spatial))
    return xp.matmul(weight.reshape(weight.shape[:2]), flat).reshape(batch, weight.shape[0], *spatial)


def input_gradient(
    xp: Any,
    output_grad: Any,
    weight: Any,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Any:
    """The transposed convolution: what the output's gradient is for an input of this shape."""
    kernel = weight.shape[2:]
    if not (output_grad.size and weight.size):
        return xp.zeros(shape, output_grad.dtype)
    if is_depthwise(weight.shape, groups):
        return scatter_depthwise(xp, output_grad, weight, shape, stride, padding, dilation)
    if is_pointwise(weight.shape, stride, padding, groups) and output_grad.shape[2:] == shape[2:]:
        return multiply_channels(xp, output_grad, weight.swapaxes(0, 1))
    reach = [d * (k - 1) for k, d in zip(kernel, dilation)]
    before = tuple(r - p for r, p in zip(reach, padding))
    if all(s == 1 for s in stride) and min(before) >= 0:
        # Without strides it is a convolution with the kernel turned around.
        flipped = weight[(slice(None), slice(None), *[slice(None, None, -1)] * len(kernel))]
        parts = flipped.reshape(groups, -1, *flipped.shape[1:]).swapaxes(1, 2)
        turned = parts.reshape(-1, *parts.shape[2:])  # (C, O / groups, *kernel)
        after = tuple(n - g + r - b for n, g, r, b in zip(shape[2:], output_grad.shape[2:], reach, before))
        return convolve_padded(xp, channels_last(xp, output_grad, before, after), turned, stride, dilation, groups)
    return scatter_windows(xp, output_grad, weight, shape, stride, padding, dilation, groups)


def scatter_windows(
    xp: Any,
    output_grad: Any,
    weight: Any,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Any:
    """The transposed convolution with strides: each window is computed, and added where it comes from."""
    kernel, out = weight.shape[2:], output_grad.shape[2:]
    batch, channels = shape[:2]
    padded = tuple(
        max(n + 2 * p, d * (k - 1) + s * (o - 1) + 1)
        for n, p, d, k, s, o in zip(shape[2:], padding, dilation, kernel, stride, out)
    )
    result = xp.zeros((batch, *padded, channels), output_grad.dtype)
    matrices = weight_rows(xp, weight, groups).swapaxes(1, 2)  # (groups, O / groups, kernel * C)
    moved = channels_last(xp, output_grad, (0,) * len(out))
    each, width = channels // groups, output_grad.shape[1] // groups
    for part in batches(xp, batch, math.prod(out) * math.prod(weight.shape[1:]) * groups):
        flat = moved[part].reshape(-1, groups, width).swapaxes(0, 1)
        product = xp.matmul(flat, matrices).reshape(groups, -1, *out, math.prod(kernel), each)
        target = result[part]
        for number, offset in enumerate(offsets(kernel)):
            place = [slice(i * d, i * d + (o - 1) * s + 1, s) for i, d, s, o in zip(offset, dilation, stride, out)]
            window = target[(slice(None), *place)]
            for group in range(groups):
                window[..., group * each : (group + 1) * each] += product[group, ..., number, :]
    inner = [slice(p, p + n) for p, n in zip(padding, shape[2:])]
    return channels_first(xp, result[(slice(None), *inner)])


def offsets(kernel: Sizes) -> list[Sizes]:
    """All positions in a window, in order."""
    found: list[Sizes] = [()]
    for size in kernel:
        found = [(*each, i) for each in found for i in range(size)]
    return found


def weight_gradient(
    xp: Any,
    output_grad: Any,
    input: Any,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Any:
    """The sum over all windows of the input times the output's gradient there."""
    out_channels, channels, *kernel = shape
    out = output_grad.shape[2:]
    if not (output_grad.size and input.size):
        return xp.zeros(shape, output_grad.dtype)
    if is_depthwise(shape, groups):
        return depthwise_weights(xp, output_grad, input, shape, stride, padding, dilation)
    reach = [d * (k - 1) + s * (o - 1) + 1 for k, d, s, o in zip(kernel, dilation, stride, out)]
    after = tuple(max(r - n - p, p) for r, n, p in zip(reach, input.shape[2:], padding))
    padded = channels_last(xp, input, padding, after)
    windows = windows_of(xp, padded, tuple(kernel), out, stride, dilation, groups)
    moved = channels_last(xp, output_grad, (0,) * len(out))
    depth, width = math.prod(kernel) * channels, out_channels // groups
    total = xp.zeros((groups, width, depth), output_grad.dtype)
    each = math.prod(out) * depth * groups
    gather = gatherer(xp, windows, each)
    for part in batches(xp, input.shape[0], each):
        gathered = gather(part).reshape(groups, -1, depth)
        flat = moved[part].reshape(-1, groups, width).transpose(1, 2, 0)
        total += xp.matmul(flat, gathered)
    parts = total.reshape(out_channels, *kernel, channels)
    return channels_first(xp, parts)


# Depthwise: each channel has a kernel of its own, and there is nothing to multiply as matrices.


def is_depthwise(weight: Sizes, groups: int) -> bool:
    """One kernel for each channel; the others go by groups."""
    return groups > 1 and weight[:2] == (groups, 1)


def taps(kernel: Sizes, out: Sizes, stride: Sizes, dilation: Sizes) -> list[tuple[Sizes, tuple[Any, ...]]]:
    """For each position in a window the slices of the padded input where it lies, for all windows."""
    return [
        (
            offset,
            (..., *[slice(i * d, i * d + (o - 1) * s + 1, s) for i, d, s, o in zip(offset, dilation, stride, out)]),
        )
        for offset in offsets(kernel)
    ]


def between_zeros(xp: Any, array: Any, padding: Sizes, whole: Sizes) -> Any:
    """(N, C, *spatial) with zeros around."""
    if array.shape[2:] == whole:
        return array
    padded = xp.zeros((*array.shape[:2], *whole), array.dtype)
    padded[(..., *[slice(p, p + n) for n, p in zip(array.shape[2:], padding)])] = array
    return padded


def padded_sizes(spatial: Sizes, kernel: Sizes, out: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    return tuple(
        max(n + 2 * p, d * (k - 1) + s * (o - 1) + 1)
        for n, p, d, k, s, o in zip(spatial, padding, dilation, kernel, stride, out)
    )


def convolve_depthwise(xp: Any, input: Any, weight: Any, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    kernel, spatial = weight.shape[2:], input.shape[2:]
    out = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(spatial, padding, dilation, kernel, stride)
    )
    whole = padded_sizes(spatial, kernel, out, stride, padding, dilation)
    result = xp.empty((*input.shape[:2], *out), input.dtype)
    one = (1,) * len(kernel)
    for part in batches(xp, input.shape[0], 8 * math.prod((input.shape[1], *whole))):
        padded, target = between_zeros(xp, input[part], padding, whole), result[part]
        product = xp.empty(target.shape, target.dtype)
        for number, (offset, place) in enumerate(taps(kernel, out, stride, dilation)):
            factor = weight[(slice(None), 0, *offset)].reshape(-1, *one)
            xp.multiply(padded[place], factor, out=product if number else target)
            if number:
                target += product
    return result


def scatter_depthwise(
    xp: Any, output_grad: Any, weight: Any, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> Any:
    kernel, out = weight.shape[2:], output_grad.shape[2:]
    whole = padded_sizes(shape[2:], kernel, out, stride, padding, dilation)
    result = xp.empty(shape, output_grad.dtype)
    inner = (..., *[slice(p, p + n) for p, n in zip(padding, shape[2:])])
    one = (1,) * len(kernel)
    for part in batches(xp, shape[0], 8 * math.prod((shape[1], *whole))):
        grad = output_grad[part]
        target = xp.zeros((*grad.shape[:2], *whole), grad.dtype)
        product = xp.empty(grad.shape, grad.dtype)
        for offset, place in taps(kernel, out, stride, dilation):
            target[place] += xp.multiply(grad, weight[(slice(None), 0, *offset)].reshape(-1, *one), out=product)
        result[part] = target[inner]
    return result


def depthwise_weights(
    xp: Any, output_grad: Any, input: Any, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> Any:
    kernel, out = shape[2:], output_grad.shape[2:]
    whole = padded_sizes(input.shape[2:], kernel, out, stride, padding, dilation)
    result = xp.zeros(shape, output_grad.dtype)
    for part in batches(xp, input.shape[0], 8 * math.prod((input.shape[1], *whole))):
        padded, grad = between_zeros(xp, input[part], padding, whole), output_grad[part]
        product = xp.empty(grad.shape, grad.dtype)
        for offset, place in taps(kernel, out, stride, dilation):
            xp.multiply(padded[place], grad, out=product)
            result[(slice(None), 0, *offset)] += product.reshape(*grad.shape[:2], -1).sum(2).sum(0)
    return result


# Declarations


def with_geometry(
    name: str,
    count: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
) -> tuple[Any, tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
    """The batch, padded where the padding has a name, and stride, padding, dilation and groups as kernels take them.

    Raises
    ------
    Exception
        If they, the channels or the sizes do not fit together.
    """
    stride = sizes(name, "stride", stride, count)
    dilation = sizes(name, "dilation", dilation, count)
    if isinstance(padding, str):
        input, padding = padded_by_name(name, input, weight, padding, stride, dilation)
    else:
        padding = sizes(name, "padding", padding, count)
    groups = whole_number(name, "groups", groups)
    check_sizes(name, stride, padding, dilation, groups)
    check_channels(name, input._array.shape, weight._array.shape, groups, bias)
    check_reach(name, input._array.shape[2:], weight._array.shape[2:], padding, dilation)
    return input, clipped(stride, input._array.shape[2:], padding), padding, dilation, groups


@lru_cache(1024)
def known_geometry(
    name: str, input: Sizes, weight: Sizes, stride: Any, padding: Any, dilation: Any, groups: int
) -> tuple[Any, ...]:
    """`with_geometry` for shapes and plain numbers, cached."""
    stride, padding, dilation = (
        sizes(name, argument, value, len(weight) - 2)
        for argument, value in (("stride", stride), ("padding", padding), ("dilation", dilation))
    )
    check_sizes(name, stride, padding, dilation, groups)
    check_channels(name, input, weight, groups, None)
    check_reach(name, input[2:], weight[2:], padding, dilation)
    return clipped(stride, input[2:], padding), padding, dilation, groups


def with_known_geometry(name: str, count: int) -> Any:
    """Whether the arguments are contiguous batches, with a contiguous weight; the options as the kernel takes them."""

    def prepare(values: list[Any], arrays: list[Any]) -> bool:
        x, w, bias, *options = arrays
        if x.ndim != count + 2 or w.ndim != count + 2 or not x.flags.c_contiguous or not w.flags.c_contiguous:
            return False
        if not x.size or not w.size or (bias is not None and bias.shape != w.shape[:1]):
            return False
        try:
            values[3:] = arrays[3:] = known_geometry(name, x.shape, w.shape, *options)
        except (RuntimeError, ValueError):
            return False
        return True

    return prepare


def convolution(count: int) -> tuple[Any, Any]:
    """The op ``conv<count>d``, and its gradient with respect to the input."""
    name = f"conv{count}d"

    @for_axes(name, count, example=CONV_EXAMPLES[count])
    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """Convolve an input (N, C, {spatial}) with kernels, as a cross-correlation.

        Parameters
        ----------
        input : Tensor, shape (N, in_channels, {spatial}) or (in_channels, {spatial})
        weight : Tensor, shape (out_channels, in_channels / groups, *kernel_size)
        bias : Tensor, shape (out_channels,), optional
        stride, dilation : int or tuple of {count}
            Steps between windows, and between the elements of one.
        padding : int or tuple of {count}, "valid" or "same"
            Zeros on both sides of each spatial dimension; "same" keeps its size (stride 1).
        groups : int
            Channels are split into as many parts, each convolved by itself.

        Returns
        -------
        Tensor
            Each spatial size is ``floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride) + 1``.

        Raises
        ------
        RuntimeError
            If shapes, channels or dtypes do not fit together.

        Examples
        --------
        {example}
        """
        batched = check_operands(name, count, input, weight, bias)
        if not batched:
            input = input.unsqueeze(0)
        input, *geometry = with_geometry(name, count, input, weight, bias, stride, padding, dilation, groups)
        result = in_layout_of(forward.op(input, weight, bias, *geometry), input, weight)
        return result if batched else result.squeeze(0)

    forward = op(
        tensors="input weight bias",
        result="same",
        compute_dtype="float32",
        autocast="half",
        namespace="nn",
        fast_path=FastPath(prepare=with_known_geometry(name, count)),
    )(function)
    forward.kernel(convolve)

    @forward.onnx
    def _(graph, input, weight, bias, stride, padding, dilation, groups):
        pads = [*padding, *padding]
        return graph.Conv(input, weight, bias, strides=stride, pads=pads, dilations=dilation, group=groups)

    by_input = bilinear_op(f"{name}_input_gradient", "output_grad weight", input_gradient)
    by_weight = bilinear_op(f"{name}_weight_gradient", "output_grad input", weight_gradient)

    @by_input.onnx
    def _(graph, output_grad, weight, shape, stride, padding, dilation, groups):
        """A transposed convolution: what it is longer by than the shortest result is ``output_padding``.

        ONNX has that only up to the stride. More of it is taken from what the padding would crop, and else of zeros.
        """
        more = []
        for dim, (s, p, d) in enumerate(zip(stride, padding, dilation), start=2):
            shortest = (graph.hint(output_grad.shape[dim]) - 1) * s - 2 * p + d * (weight.shape[dim] - 1) + 1
            more.append(graph.hint(shape[dim]) - shortest)
        options = {"strides": stride, "dilations": dilation, "group": groups}
        if all(extra < s for extra, s in zip(more, stride)):
            extra = more if any(more) else None
            return graph.ConvTranspose(output_grad, weight, pads=[*padding, *padding], output_padding=extra, **options)
        after = [max(p - extra, 0) for p, extra in zip(padding, more)]
        zeros = [max(extra - p, 0) for p, extra in zip(padding, more)]
        result = graph.ConvTranspose(output_grad, weight, pads=[*padding, *after], **options)
        return graph.Pad(result, graph.sizes([0] * (2 + len(zeros)) + [0, 0, *zeros]))

    @forward.gradient("input")
    def _(grad, weight, input_shape, stride, padding, dilation, groups):
        return by_input.op(grad, conj(weight), input_shape, stride, padding, dilation, groups)

    @forward.gradient("weight")
    def _(grad, input, weight_shape, stride, padding, dilation, groups):
        return by_weight.op(grad, conj(input), weight_shape, stride, padding, dilation, groups)

    @forward.gradient("bias")
    def _(grad):
        return grad.sum((0, *range(2, count + 2)))

    def cropped(result: Tensor, shape: Sizes) -> Tensor:
        """The places of the output that there were: a transposed convolution's may be fewer than would fit."""
        for dim in range(2, count + 2):
            result = result if result.shape[dim] == shape[dim] else result.narrow(dim, 0, shape[dim])
        return result

    @by_input.gradient("output_grad")
    def _(grad, weight, output_grad_shape, stride, padding, dilation, groups):
        return cropped(forward.op(grad, conj(weight), None, stride, padding, dilation, groups), output_grad_shape)

    @by_input.gradient("weight")
    def _(grad, output_grad, weight_shape, stride, padding, dilation, groups):
        return by_weight.op(conj(output_grad), grad, weight_shape, stride, padding, dilation, groups)

    @by_weight.gradient("output_grad")
    def _(grad, input, output_grad_shape, stride, padding, dilation, groups):
        return cropped(forward.op(conj(input), grad, None, stride, padding, dilation, groups), output_grad_shape)

    @by_weight.gradient("input")
    def _(grad, output_grad, input_shape, stride, padding, dilation, groups):
        return by_input.op(conj(output_grad), grad, input_shape, stride, padding, dilation, groups)

    @forward.vmap
    def _(batch):
        input, weight, bias, *geometry, groups = batch.args
        if not batch.flags[1] and not batch.flags[2]:  # more images
            return as_examples(forward.op(input.flatten(0, 1), weight, bias, *geometry, groups), 0, batch.size)
        input, weight, bias = batch.with_all()[:3]
        bias = None if bias is None else bias.flatten()
        found = forward.op(as_channels(input), weight.flatten(0, 1), bias, *geometry, batch.size * groups)
        return as_examples(found, 1, batch.size)

    @by_input.vmap
    def _(batch):
        output_grad, weight, shape, *geometry, groups = batch.args
        if not batch.flags[1]:
            shape = (batch.size * shape[0], *shape[1:])
            return as_examples(by_input.op(output_grad.flatten(0, 1), weight, shape, *geometry, groups), 0, batch.size)
        output_grad, weight = batch.with_all()[:2]
        shape = (shape[0], batch.size * shape[1], *shape[2:])
        found = by_input.op(as_channels(output_grad), weight.flatten(0, 1), shape, *geometry, batch.size * groups)
        return as_examples(found, 1, batch.size)

    @by_weight.vmap
    def _(batch):
        output_grad, input, shape, *geometry, groups = batch.with_all()
        shape = (batch.size * shape[0], *shape[1:])
        found = by_weight.op(as_channels(output_grad), as_channels(input), shape, *geometry, batch.size * groups)
        return as_examples(found, 0, batch.size)

    return forward, by_input


def as_channels(images: Any) -> Any:
    """The images of each example of a `vmap` (B, N, C, ...) as channels of the same images (N, B C, ...)."""
    return images.transpose(0, 1).flatten(1, 2)


def as_examples(result: Any, dim: int, count: int) -> Any:
    """A dimension that holds the examples of a `vmap` in turn, with these in front."""
    return result.unflatten(dim, (count, -1)).movedim(dim, 0)


def bilinear_op(name: str, tensors: str, kernel: Any) -> Any:
    """An op of two tensors that only other ops call, with checked arguments."""

    def function(*args: Any) -> Tensor:
        return declared.op(*args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = kernel.__doc__
    declared = op(
        tensors=tensors,
        result="same",
        compute_dtype="float32",
        namespace="nn",
        name=name,
        linear=" | ".join(tensors.split()),
    )(function)
    declared.kernel(kernel)
    return declared


CONV_EXAMPLES = {
    1: """>>> weft.nn.functional.conv1d(weft.tensor([[1.0, 2.0, 4.0, 8.0]]), weft.tensor([[[-1.0, 1.0]]]))
tensor([[1., 2., 4.]])""",
    2: """>>> weft.nn.functional.conv2d(weft.ones(1, 3, 3), weft.ones(1, 1, 3, 3), padding="same")
tensor([[[4., 6., 4.],
         [6., 9., 6.],
         [4., 6., 4.]]])""",
    3: """>>> weft.nn.functional.conv3d(weft.zeros(2, 3, 8, 8, 8), weft.zeros(4, 3, 2, 2, 2), stride=2).shape
weft.Size([2, 4, 4, 4, 4])""",
}


def check_operands(name: str, count: int, input: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Dimensions and dtypes; returns whether the input has a batch."""
    for argument, each in (("input", input), ("weight", weight)):
        if not isinstance(each, Tensor):
            raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(each).__name__}")
    for argument, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype is not input.dtype:
            raise RuntimeError(
                f"{name}: Input type ({input.dtype.scalar_type_name}) and {argument} type "
                f"({other.dtype.scalar_type_name}) should be the same, but are {input.dtype} and {other.dtype}; "
                "convert one with .to(dtype)"
            )
    return is_batched(name, count, input, weight)


def is_batched(name: str, count: int, input: Tensor, weight: Tensor) -> bool:
    """Whether the input has a batch; both have as many dimensions as they must."""
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            f"{name}: Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {name}, but got input of "
            f"size: {list(input.shape)}"
        )
    if weight.ndim != count + 2:
        raise RuntimeError(
            f"{name}: weight must have {count + 2} dimensions, (out_channels, in_channels / groups, *kernel_size), got "
            f"shape {list(weight.shape)}: "
            + (
                "weight should have at least three dimensions"
                if weight.ndim < 3
                else f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight "
                f"{list(weight.shape)}, but got {input.ndim}-dimensional input of size {list(input.shape)} instead"
            )
        )
    return input.ndim == count + 2


def clipped(stride: Sizes, spatial: Sizes, padding: Sizes) -> Sizes:
    """The strides: one beyond the input means one place, and must not overflow on the way to it."""
    return tuple([min(s, n + 2 * p) for s, n, p in zip(stride, spatial, padding)])


def check_sizes(name: str, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> None:
    if min(stride) < 1:
        raise RuntimeError(f"{name}: non-positive stride is not supported, got stride={list(stride)}")
    if min(padding) < 0:
        raise RuntimeError(f"{name}: negative padding is not supported, got padding={list(padding)}")
    if min(dilation) < 1:
        raise RuntimeError(f"{name}: dilation should be greater than zero, got dilation={list(dilation)}")
    if groups < 1:
        raise RuntimeError(f"{name}: non-positive groups is not supported, got groups={groups}")


def check_channels(name: str, input: Sizes, weight: Sizes, groups: int, bias: Tensor | None) -> None:
    out_channels, channels = weight[:2]
    if out_channels % groups or out_channels < groups:
        wanted = "at least" if out_channels < groups else "divisible by"
        raise RuntimeError(
            f"{name}: Given groups={groups}, expected weight to be {wanted} {groups} at dimension 0, but got weight of "
            f"size {list(weight)} instead"
        )
    if input[1] != channels * groups:
        raise RuntimeError(
            f"{name}: Given groups={groups}, weight of size {list(weight)}, expected input{list(input)} to have "
            f"{channels * groups} channels, but got {input[1]} channels instead"
        )
    check_bias(name, bias, out_channels, weight)


def check_bias(name: str, bias: Tensor | None, out_channels: int, weight: Any) -> None:
    if bias is not None and tuple(bias.shape) != (out_channels,):
        raise RuntimeError(
            f"{name}: Given weight of size {list(weight)}, expected bias to be 1-dimensional with {out_channels} "
            f"elements, but got bias of size {list(bias.shape)} instead"
        )


def check_reach(name: str, spatial: Sizes, kernel: Sizes, padding: Sizes, dilation: Sizes) -> None:
    if 0 in kernel:
        raise RuntimeError(f"{name}: kernel size must be greater than zero, got {list(kernel)}")
    if 0 in spatial:
        raise RuntimeError(
            f"{name}: only the batch or the channels may be empty, got input of spatial size {list(spatial)}"
        )
    padded = [n + 2 * p for n, p in zip(spatial, padding)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if any(n < r for n, r in zip(padded, reach)):
        shown = " x ".join(map(str, padded)), " x ".join(map(str, reach))
        raise RuntimeError(
            f"{name}: Calculated padded input size per channel: ({shown[0]}). Kernel size: ({shown[1]}). Kernel size "
            "can't be greater than actual input size; add padding or use a smaller kernel"
        )


def padded_by_name(
    name: str, input: Tensor, weight: Tensor, padding: str, stride: Sizes, dilation: Sizes
) -> tuple[Tensor, Sizes]:
    """The input and padding that "valid" and "same" mean; an odd total pads the input itself at the end by one more."""
    count = len(stride)
    if padding == "valid":
        return input, (0,) * count
    if padding != "same":
        raise RuntimeError(f"{name}: Invalid padding string: {padding!r}; expected 'valid', 'same' or integers")
    if any(each != 1 for each in stride):
        raise RuntimeError(
            f"{name}: padding='same' is not supported for strided convolutions, got stride={list(stride)}"
        )
    totals = [d * (k - 1) for k, d in zip(weight.shape[2:], dilation)]
    if any(total % 2 for total in totals):
        warn_caller_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created"
        )
        from weft.nn.functional.padding import pad

        amounts = [each for total in reversed(totals) for each in (0, total % 2)]
        input = pad(input, amounts)
    return input, tuple(total // 2 for total in totals)


conv1d, conv1d_input_gradient = convolution(1)
conv2d, conv2d_input_gradient = convolution(2)
conv3d, conv3d_input_gradient = convolution(3)


def transposed(count: int, by_input: Any) -> Any:
    """The function ``conv_transpose<count>d``."""
    name = f"conv_transpose{count}d"

    @for_axes(name, count, example=TRANSPOSED_EXAMPLES[count])
    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """The gradient of `conv{count}d` with respect to its input, as a layer ("deconvolution").

        Parameters
        ----------
        input : Tensor, shape (N, in_channels, {spatial}) or (in_channels, {spatial})
        weight : Tensor, shape (in_channels, out_channels / groups, *kernel_size)
        bias : Tensor, shape (out_channels,), optional
        stride, padding, dilation : int or tuple of {count}
            Those of the convolution.
        output_padding : int or tuple of {count}
            Added to one side of the output, as several sizes have the same convolution.
        groups : int
            Channels are split into as many parts, each by itself.

        Returns
        -------
        Tensor
            Each spatial size is
            ``(size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1``.

        Raises
        ------
        RuntimeError
            If shapes, channels or dtypes do not fit together.

        Examples
        --------
        {example}
        """
        batched = check_operands(name, count, input, weight, bias)
        if not batched:
            input = input.unsqueeze(0)
        stride = sizes(name, "stride", stride, count)
        padding = sizes(name, "padding", padding, count)
        dilation = sizes(name, "dilation", dilation, count)
        extra = sizes(name, "output_padding", output_padding, count)
        groups = whole_number(name, "groups", groups)
        check_sizes(name, stride, padding, dilation, groups)
        check_extra(name, extra, stride, dilation)
        in_channels, out_channels = weight.shape[0], weight.shape[1] * groups
        if input.shape[1] != in_channels or in_channels % groups:
            raise RuntimeError(
                f"{name}: Given transposed=1, weight of size {list(weight.shape)}, expected input{list(input.shape)} "
                f"to have {in_channels} channels, but got {input.shape[1]} channels instead; they must be divisible "
                f"into groups={groups}"
            )
        check_bias(name, bias, out_channels, weight.shape)
        if 0 in input.shape[2:] or 0 in weight.shape[2:]:
            raise RuntimeError(
                f"{name}: no spatial size of input or kernel may be 0, got input {list(input.shape)} and "
                f"weight {list(weight.shape)}"
            )
        spatial = [
            (n - 1) * s - 2 * p + d * (k - 1) + e + 1
            for n, s, p, d, k, e in zip(input.shape[2:], stride, padding, dilation, weight.shape[2:], extra)
        ]
        if min(spatial) < 1:
            raise RuntimeError(
                f"{name}: Given input size per channel: {list(input.shape[2:])}. Calculated output size per channel: "
                f"{spatial}. Output size is too small; reduce the padding"
            )
        shape = (input.shape[0], out_channels, *spatial)
        elements(name, shape)
        geometry = (shape, stride, padding, dilation, groups)
        if bias is None:
            result = by_input.op(input, weight, *geometry)
        elif input.device.type == "cpu":  # halves are rounded once, with the bias
            result = by_input.op(in_single(input), in_single(weight), *geometry)
            result = (result + in_single(bias).reshape(-1, *(1,) * count)).to(input.dtype)
        else:  # as by PyTorch's kernels on a GPU
            result = by_input.op(input, weight, *geometry) + bias.reshape(-1, *(1,) * count)
        result = in_layout_of(result, input, weight)
        return result if batched else result.squeeze(0)

    return function


def check_extra(name: str, extra: Sizes, stride: Sizes, dilation: Sizes) -> None:
    if any(e < 0 for e in extra):
        raise RuntimeError(f"{name}: negative output_padding is not supported, got {list(extra)}")
    if any((e >= s and e >= d) for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(
            f"{name}: output padding must be smaller than either stride or dilation, but got "
            f"output_padding={list(extra)}, stride={list(stride)}, dilation={list(dilation)}"
        )


TRANSPOSED_EXAMPLES = {
    1: """>>> weft.nn.functional.conv_transpose1d(weft.tensor([[1.0, 10.0]]), weft.tensor([[[1.0, 2.0, 3.0]]]))
tensor([[ 1., 12., 23., 30.]])""",
    2: """>>> weft.nn.functional.conv_transpose2d(weft.zeros(1, 8, 5, 5), weft.zeros(8, 4, 2, 2), stride=2).shape
weft.Size([1, 4, 10, 10])""",
    3: """>>> weft.nn.functional.conv_transpose3d(weft.zeros(1, 8, 4, 4, 4), weft.zeros(8, 4, 2, 2, 2), stride=2).shape
weft.Size([1, 4, 8, 8, 8])""",
}

conv_transpose1d = in_half_precision(transposed(1, conv1d_input_gradient))
conv_transpose2d = in_half_precision(transposed(2, conv2d_input_gradient))
conv_transpose3d = in_half_precision(transposed(3, conv3d_input_gradient))


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences with the time first.

    Parameters
    ----------
    input : Tensor, shape (T, N, in_channels)
    weight : Tensor, shape (kernel_size, in_channels, out_channels)
    bias : Tensor, shape (out_channels,)
    pad : int
        Zeros on both sides.

    Returns
    -------
    Tensor, shape (T_out, N, out_channels).

    Examples
    --------
    >>> weft.conv_tbc(weft.ones(5, 2, 3), weft.ones(2, 3, 4), weft.zeros(4)).shape
    weft.Size([4, 2, 4])
    """
    result = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return result.permute(2, 0, 1)
