"""What modes of ``__torch_dispatch__`` are shown of the ops of neural networks; see `weft.ops._aten_lowering`.

PyTorch's backward functions take tensors whose shape alone they need, where weft keeps the shape: what is shown there
is an uninitialised tensor of that shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import weft
from weft.library.state import local
from weft.library.torch_dispatch import decomposed, given, overload_of, reshapable, rows_by_matrix, shown, unwatched
from weft.nn.functional.loss import nll_loss_op, smoothed

aten = weft.ops.aten

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def of_shape(shape: Sequence[int], like: Any) -> Any:
    """A tensor that stands for its shape."""
    with unwatched():
        return weft.empty(1, dtype=like.dtype, device=like.device).expand(tuple(shape))


# Linear


@shown("nn::linear")
def _(input: Any, weight: Any, bias: Any) -> Any:
    matrix = aten.t.default(weight)
    if bias is None:
        return aten.mm.default(input, matrix) if input.ndim == 2 else rows_by_matrix(input, matrix)
    if input.ndim == 2:
        return aten.addmm.default(bias, input, matrix)
    rows = aten.view.default(reshapable(input), [math.prod(input.shape[:-1]), input.shape[-1]])
    return aten.view.default(aten.addmm.default(bias, rows, matrix), [*input.shape[:-1], weight.shape[0]])


@shown("nn::embedding")
def _(weight: Any, indices: Any, padding_idx: Any, scale_grad_by_freq: bool) -> Any:
    others = [-1 if padding_idx is None else padding_idx, scale_grad_by_freq]
    while others and others[-1] in (-1, False):
        others.pop()
    return aten.embedding.default(weight, indices, *others)


@shown("nn::embedding_gradient")
def _(output_grad: Any, indices: Any, rows: int, padding_idx: Any, scale_grad_by_freq: bool) -> Any:
    skipped = -1 if padding_idx is None else padding_idx
    return aten.embedding_dense_backward.default(output_grad, indices, rows, skipped, scale_grad_by_freq)


# Convolution


def convolution(count: int) -> None:
    """The ops of a convolution over so many dimensions."""
    zeros = [0] * count

    @shown(f"nn::conv{count}d")
    def _(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        sizes = [*stride], [*padding], [*dilation]
        return aten.convolution.default(input, weight, bias, *sizes, False, zeros, groups)

    @shown(f"nn::conv{count}d_input_gradient")
    def _(output_grad: Any, weight: Any, shape: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        sizes = [*stride], [*padding], [*dilation]
        if local.backward_pass is None:  # forward, it is a transposed convolution
            steps = zip(shape[2:], output_grad.shape[2:], weight.shape[2:], *sizes)
            rest = [n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, k, s, p, d in steps]
            return aten.convolution.default(output_grad, weight, None, *sizes, True, rest, groups)
        input = of_shape(shape, output_grad)
        mask = [True, False, False]
        found = aten.convolution_backward.default(output_grad, input, weight, None, *sizes, False, zeros, groups, mask)
        return found[0]

    @shown(f"nn::conv{count}d_weight_gradient")
    def _(output_grad: Any, input: Any, shape: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        sizes = [*stride], [*padding], [*dilation]
        weight = of_shape(shape, output_grad)
        mask = [False, True, False]
        found = aten.convolution_backward.default(output_grad, input, weight, None, *sizes, False, zeros, groups, mask)
        return found[1]


for _count in (1, 2, 3):
    convolution(_count)


# Normalization


@shown("nn::layer_norm")
def _(input: Any, weight: Any, bias: Any, count: int, eps: float) -> Any:
    return aten.native_layer_norm.default(input, [*input.shape[input.ndim - count :]], weight, bias, eps)


@shown("nn::layer_norm_gradient")
def _(output_grad: Any, input: Any, weight: Any, mean: Any, inverse: Any, count: int) -> Any:
    shape = [*input.shape[input.ndim - count :]]
    mask = [True, weight is not None, True]  # whether there was a bias is not known here
    return aten.native_layer_norm_backward.default(output_grad, input, shape, mean, inverse, weight, weight, mask)


@shown("nn::group_norm")
def _(input: Any, weight: Any, bias: Any, groups: int, eps: float) -> Any:
    n, c, size = sizes_of(input)
    return aten.native_group_norm.default(input, weight, bias, n, c, size, groups, eps)


@shown("nn::group_norm_gradient")
def _(output_grad: Any, input: Any, weight: Any, mean: Any, inverse: Any, groups: int) -> Any:
    mask = [True, weight is not None, weight is not None]
    sizes = sizes_of(input)
    return aten.native_group_norm_backward.default(output_grad, input, mean, inverse, weight, *sizes, groups, mask)


def sizes_of(input: Any) -> tuple[int, int, int]:
    """The number of examples, of channels and of elements of each."""
    return input.shape[0], input.shape[1], math.prod(input.shape[2:])


# Dropout and attention


@shown("nn::dropout")
def _(input: Any, kept: float, scale: float, generator: Any) -> Any:
    noise = aten.empty_like.default(input)
    noise = aten.bernoulli_.float(noise, kept, **given({"generator": generator}))
    noise = aten.div_.Scalar(noise, kept)
    return aten.mul.Tensor(input, noise), noise


@shown("nn::attention")
def _(query: Any, key: Any, value: Any, mask: Any, drawn: Any, factor: float, is_causal: bool) -> Any:
    if drawn is not None:
        return overload_of_own("attention")(query, key, value, mask, drawn, factor, is_causal)
    scale = None if factor == 1 / math.sqrt(query.shape[-1]) else factor
    sized = (0.0, True) if is_causal else ()
    return aten._scaled_dot_product_flash_attention_for_cpu.default(
        query, key, value, *sized, **given({"attn_mask": mask, "scale": scale})
    )


def overload_of_own(name: str) -> Any:
    """An op of this package under its own name."""
    return getattr(weft.ops.nn, name).default


# Pooling


@shown("nn::max_pool_with_indices")
def _(input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, out: Any) -> Any:
    if len(kernel_size) == 1:
        return overload_of_own("max_pool_with_indices")(input, kernel_size, stride, padding, dilation, out)
    name = f"max_pool{len(kernel_size)}d_with_indices"
    sizes = zip(input.shape[2:], kernel_size, stride, padding, dilation)
    floor = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)
    options: list[Any] = [[*padding], [*dilation], floor != tuple(out)]
    defaults: list[Any] = [[0] * len(kernel_size), [1] * len(kernel_size), False]
    while options and options[-1] == defaults[len(options) - 1]:
        options.pop()
    return overload_of(name)(input, [*kernel_size], [*stride], *options)


@shown("nn::avg_pool")
def _(input: Any, kernel_size: Any, stride: Any, padding: Any, out: Any, options: Any) -> Any:
    sizes = list(zip(input.shape[2:], kernel_size, stride, padding))
    floor = tuple((n + 2 * p - k) // s + 1 for n, k, s, p in sizes)
    ceil = tuple(-((k - n - 2 * p) // s) + 1 for n, k, s, p in sizes)
    if tuple(out) not in (floor, ceil):
        return overload_of_own("avg_pool")(input, kernel_size, stride, padding, out, options)
    include_pad, divisor = options
    count = len(kernel_size)
    given_values = [[*stride], [*padding], tuple(out) != floor, include_pad, *[divisor] * (count > 1)]
    defaults = [[*kernel_size], [0] * count, False, True, None]
    while given_values and given_values[-1] == defaults[len(given_values) - 1]:
        given_values.pop()
    return overload_of(f"avg_pool{count}d")(input, [*kernel_size], *given_values)


@shown("nn::pad_constant")
def _(input: Any, before: Any, after: Any, value: Any) -> Any:
    pads = [each for pair in zip(reversed(before), reversed(after)) for each in pair]
    while len(pads) > 2 and pads[-2:] == [0, 0]:
        del pads[-2:]
    return aten.constant_pad_nd.default(input, pads, *[value] * (value != 0))


# Losses


@decomposed("nn::cross_entropy")
def _(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float) -> Any:
    logarithms = weft.log_softmax(input, 1)
    loss, size = nll_loss_op.op(logarithms, target, weight, reduction, ignore_index)
    if smoothing:
        loss = smoothed(loss, logarithms, target, weight, reduction, smoothing, ignore_index, 1)
    return loss, size, None


@shown("nn::nll_loss")
def _(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    name = "nll_loss_forward" if input.ndim <= 2 else "nll_loss2d_forward"
    return overload_of(name)(input, target, weight, REDUCTIONS[reduction], ignore_index)


@shown("nn::nll_loss_gradient")
def _(
    output_grad: Any, target: Any, weight: Any, total_weight: Any, shape: Any, reduction: str, ignore_index: int
) -> Any:
    name = "nll_loss_backward" if len(shape) <= 2 else "nll_loss2d_backward"
    input = of_shape(shape, output_grad)
    return overload_of(name)(output_grad, input, target, weight, REDUCTIONS[reduction], ignore_index, total_weight)


@shown("nn::binary_cross_entropy")
def _(input: Any, target: Any) -> Any:
    return aten.binary_cross_entropy.default(input, target, None, REDUCTIONS["none"])


@shown("nn::difference_loss")
def _(input: Any, target: Any, limit: float, curve: float, slope: float, shift: float, reduction: str) -> Any:
    if (limit, curve) == (math.inf, 1.0):
        return aten.mse_loss.default(input, target, *[REDUCTIONS[reduction]] * (reduction != "mean"))
    return overload_of_own("difference_loss")(input, target, limit, curve, slope, shift, reduction)


@shown("nn::difference_loss_gradient")
def _(output_grad: Any, input: Any, target: Any, limit: float, curve: float, slope: float, reduction: str) -> Any:
    if (limit, curve) == (math.inf, 1.0):
        return aten.mse_loss_backward.default(output_grad, input, target, REDUCTIONS[reduction])
    return overload_of_own("difference_loss_gradient")(output_grad, input, target, limit, curve, slope, reduction)


@shown("nn::leaky_relu")
def _(input: Any, slope: float) -> Any:
    return aten.leaky_relu.default(input, slope)


@shown("nn::prelu")
def _(input: Any, weight: Any) -> Any:
    return aten._prelu_kernel.default(input, weight)


@shown("nn::hardtanh")
def _(input: Any, low: float, high: float) -> Any:
    return aten.hardtanh.default(input, low, high)


@shown("nn::elu")
def _(input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return aten.elu.default(input, alpha, scale, input_scale)


@shown("nn::elu_backward")
def _(output_grad: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return aten.elu_backward.default(output_grad, alpha, scale, input_scale, False, input)


@shown("nn::leaky_relu_backward")
def _(output_grad: Any, input: Any, slope: float) -> Any:
    return aten.leaky_relu_backward.default(output_grad, input, slope, False)


@shown("nn::hardtanh_backward")
def _(output_grad: Any, input: Any, low: float, high: float) -> Any:
    return aten.hardtanh_backward.default(output_grad, input, low, high)
