"""Normalization: by batch, layer, group or instance.

The statistics of each are computed by one op with its output, and its gradients by a second one. Where the gradient
itself is recorded, it is computed from the formula instead, so that derivatives of any order exist.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor
from weft.backend import in_order, is_channels_last
from weft.library.declare import composite, op, write_out
from weft.library.fast_paths import FastPath
from weft.library.state import local, set_grad
from weft.nn.functional._common import (
    check_floating,
    in_dtypes_of,
    in_layout_of,
    in_single,
    require_flags,
    require_numbers,
    widened,
)
from weft.nn.functional.convolution import as_channels, as_examples
from weft.ops.reductions import reduce, rows_total

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]


FEW = 4096  # elements up to which a product and a sum cost less than products of rows
BLOCK = 1 << 18  # elements that a kernel works on at a time, so that its temporaries stay small


# Batch norm


def by_channel(tensor: Any, ndim: int) -> Any:
    """(C,) as (1, C, 1, ...)."""
    return tensor.reshape(1, -1, *(1,) * (ndim - 2))


def but_channels(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


def channel_sum(xp: Any, array: Any) -> Any:
    """Sums over all but dimension 1, of an array that is contiguous or not."""
    if array.ndim == 2:
        return reduce("sum", array, 0)
    flat = array.reshape(*array.shape[:2], math.prod(array.shape[2:]))
    return reduce("sum", reduce("sum", flat, 2), 0)


@op(
    tensors="input weight bias",
    compute_dtype="float32",
    rounds_to="input weight weight",
    dtypes="float",
    namespace="nn",
)
def batch_norm_training(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The input normalized by channel, with the means and biased variances that did it."""
    return batch_norm_training.op(input, weight, bias, eps)


@batch_norm_training.kernel
def _(xp, input, weight, bias, eps):
    input = input if is_channels_last(input) else in_order(xp, input)
    count = input.dtype.type(max(input.size // max(input.shape[1], 1), 1))
    mean = channel_sum(xp, input)
    mean /= count
    result = input - by_channel(mean, input.ndim)
    variance = channel_sum(xp, result * result)
    variance /= count
    scale = inverse_root(xp, variance.copy(), eps)
    result *= by_channel(scale if weight is None else scale * weight, input.ndim)
    if bias is not None:
        result += by_channel(bias, input.ndim)
    return result, mean, variance


@batch_norm_training.gradient("input weight bias")
def _(grads, input, weight, later_outputs, eps):
    grad = grads[0]
    if local.grad_enabled:
        return batch_norm_formula(grad, input, weight, eps)
    return batch_norm_gradient.op(grad, input, weight, later_outputs[0], later_outputs[1], eps)


@batch_norm_training.vmap
def _(batch):
    input, weight, bias, eps = batch.with_all()
    found = batch_norm_training.op(as_channels(input), flat(weight), flat(bias), eps)
    return tuple(as_examples(each, min(each.ndim - 1, 1), batch.size) for each in found)


@batch_norm_training.onnx
def _(graph, input, weight, bias, eps):
    dims = [0, *range(2, input.ndim)]
    mean = graph.reduce("ReduceMean", input, dims, True)
    deviation = graph.Sub(input, mean)
    variance = graph.reduce("ReduceMean", graph.Mul(deviation, deviation), dims, True)
    normal = graph.Div(deviation, graph.Sqrt(graph.Add(variance, eps)))
    statistics = [graph.Squeeze(each, graph.sizes(dims)) for each in (mean, variance)]
    return [graph.affine(normal, weight, bias, input.ndim), *statistics]


def flat(parameter: Any) -> Any:
    """The parameters of all examples of a `vmap` as those of their channels."""
    return None if parameter is None else parameter.flatten()


def batch_norm_formula(grad: Tensor, input: Tensor, weight: Tensor | None, eps: float) -> tuple[Any, ...]:
    """The gradients of batch norm in training, in ops that are differentiable again."""
    likes = input, weight, weight
    grad, input, weight = widened(grad, input, weight)
    dims = but_channels(input.ndim)
    centred = input - input.mean(dims, keepdim=True)
    scale = (centred.square().mean(dims, keepdim=True) + eps).rsqrt()
    normal = centred * scale
    inner = grad if weight is None else grad * by_channel(weight, input.ndim)
    mean = inner.mean(dims, keepdim=True)
    slope = (inner * normal).mean(dims, keepdim=True)
    slopes = (inner - mean - normal * slope) * scale, (grad * normal).sum(dims), grad.sum(dims)
    return in_dtypes_of(slopes, *likes)


@op(
    tensors="output_grad input weight mean variance",
    compute_dtype="float32",
    rounds_to="input weight weight",
    gradient="refused",
    namespace="nn",
)
def batch_norm_gradient(
    output_grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, variance: Tensor, eps: float
) -> tuple[Tensor, ...]:
    """The gradients of `batch_norm_training` with respect to input, weight and bias."""
    return batch_norm_gradient.op(output_grad, input, weight, mean, variance, eps)


@batch_norm_gradient.vmap
def _(batch):
    output_grad, input, *parameters, eps = batch.with_all()
    found = batch_norm_gradient.op(as_channels(output_grad), as_channels(input), *map(flat, parameters), eps)
    return tuple(as_examples(each, min(each.ndim - 1, 1), batch.size) for each in found)


@batch_norm_gradient.kernel
def _(xp, output_grad, input, weight, mean, variance, eps):
    count = input.dtype.type(max(input.size // max(input.shape[1], 1), 1))
    scale = 1 / xp.sqrt(variance + input.dtype.type(eps))
    centred = input - by_channel(mean, input.ndim)
    by_bias = channel_sum(xp, output_grad)
    by_weight = channel_sum(xp, output_grad * centred) * scale
    centred *= by_channel(by_weight * scale / -count, input.ndim)
    centred += output_grad
    centred -= by_channel(by_bias / count, input.ndim)
    centred *= by_channel(scale if weight is None else scale * weight, input.ndim)
    return centred, by_weight, by_bias


@op(tensors="input scale shift", compute_dtype="float32", dtypes="float", namespace="nn")
def channel_affine(input: Tensor, scale: Tensor, shift: Tensor | None) -> Tensor:
    """The input times one number for each channel, and plus one unless ``shift`` is None."""
    return channel_affine.op(input, scale, shift)


@channel_affine.kernel
def _(xp, input, scale, shift):
    result = input * by_channel(scale, input.ndim)
    if shift is not None:
        result += by_channel(shift, input.ndim)
    return result


@channel_affine.gradient("input")
def _(grad, scale):
    return channel_affine.op(grad, scale, None)


@channel_affine.gradient("scale")
def _(grad, input, scale_dtype):
    return (in_single(grad) * in_single(input)).sum(but_channels(input.ndim)).to(scale_dtype)


@channel_affine.gradient("shift")
def _(grad, shift_dtype):
    return in_single(grad).sum(but_channels(grad.ndim)).to(shift_dtype)


@channel_affine.vmap
def _(batch):
    input, scale, shift = batch.with_all()
    return as_examples(channel_affine.op(as_channels(input), flat(scale), flat(shift)), 1, batch.size)


@channel_affine.onnx
def _(graph, input, scale, shift):
    return graph.affine(input, scale, shift, input.ndim)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    input : Tensor, shape (N, C, ...)
    running_mean, running_var : Tensor, shape (C,), optional
        Used for normalization unless ``training``; else updated, the variance by the unbiased one.
    weight, bias : Tensor, shape (C,), optional
        1 and 0 unless given.
    training : bool
        Use the batch's own statistics.
    momentum : float
        The share of this batch in the running statistics.
    eps : float
        Added to the variance, in the units of input squared.

    Raises
    ------
    ValueError
        If there is only one value for each channel in training.
    RuntimeError
        If shapes do not fit, or running statistics are missing in evaluation.

    References
    ----------
    arXiv:1502.03167.

    Examples
    --------
    >>> batch = weft.tensor([[1.0, 10.0], [3.0, 30.0]])
    >>> weft.nn.functional.batch_norm(batch, None, None, training=True).round(decimals=3)
    tensor([[-1., -1.],
            [ 1.,  1.]])
    >>> weft.nn.functional.batch_norm(batch, weft.tensor([0.0, 20.0]), weft.tensor([1.0, 100.0]), eps=0.0)
    tensor([[ 1., -1.],
            [ 3.,  1.]])
    """
    if input._array.shape == (0,):
        return input * 1  # nothing, of no channel
    parameters = (running_mean, running_var, weight, bias)
    if not is_usual_batch_norm(input, parameters, training, eps):
        check_batch_norm(input, parameters, training, eps)
    if not training:
        if local.levels:
            refuse_tangents(input, running_mean, running_var)
        return normalized_by("batch_norm", input, running_mean, running_var, weight, bias, eps)
    result, mean, variance = batch_norm_training.op(input, weight, bias, eps)
    update_running(running_mean, running_var, mean, variance, input.numel() // max(input.shape[1], 1), momentum)
    return result


def refuse_tangents(input: Tensor, *statistics: Tensor | None) -> None:
    """Raise RuntimeError for running statistics with tangents of forward mode, which would be lost in training."""
    from weft.autograd.forward_ad import unpack_dual

    if unpack_dual(input).tangent is None:
        return
    if any(each is not None and unpack_dual(each).tangent is not None for each in statistics):
        raise RuntimeError("batch_norm: batch_norm is not differentiable wrt running_mean and running_var")


def is_usual_batch_norm(input: Tensor, parameters: tuple[Tensor | None, ...], training: bool, eps: float) -> bool:
    """Whether no further check is needed: training with all parameters, of one dtype, and several rows."""
    key, shape = input._key, input._array.shape
    if len(shape) < 2 or not key.is_real_float or training is not True or type(eps) is not float or not eps > 0:
        return False
    wanted = shape[1:2]
    for each in parameters:
        if each is None or each._key is not key or each._array.shape != wanted:
            return False
    return input._array.size > shape[1]


def check_batch_norm(input: Tensor, parameters: tuple[Tensor | None, ...], training: bool, eps: float) -> None:
    if fits_batch_norm(input, parameters, training, eps):
        return
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm: input must have at least 2 dimensions, (N, C, ...), got {list(input.shape)}")
    channels = input.shape[1]
    check_statistics(input, parameters, training, eps)
    if training and input.numel() == channels:
        raise ValueError(
            f"batch_norm: Expected more than 1 value per channel when training, got input size {list(input.shape)}; "
            "use a larger batch, or eval() mode"
        )
    for name, each in zip(("running_mean", "running_var", "weight", "bias"), parameters):
        if each is not None and tuple(each.shape) != (channels,):
            raise RuntimeError(
                f"batch_norm: {name} should contain {channels} elements, one for each channel of input "
                f"{list(input.shape)}, not be of shape {list(each.shape)}"
            )
    if not training and (parameters[0] is None or parameters[1] is None):
        raise RuntimeError("batch_norm: Expected running_mean and running_var to be defined when training=False")


def fits_batch_norm(input: Tensor, parameters: tuple[Tensor | None, ...], training: bool, eps: float) -> bool:
    """Whether all is as it mostly is: of one dtype, with all four parameters, and several elements of each channel."""
    key, shape = input._key, input._array.shape
    if not key.is_real_float or len(shape) < 2 or type(training) is not bool or type(eps) is not float or eps <= 0:
        return False
    for each in parameters:
        if each is None or each._key is not key or each._array.shape != shape[1:2]:
            return False
    return not training or input._array.size != shape[1]


def check_parameters(name: str, input: Tensor, eps: Any, **parameters: Tensor | None) -> None:
    """Floating-point numbers, and parameters of the input's dtype, or of float32 for a half-precision input."""
    check_floating(name, input)
    require_numbers(name, eps=eps)
    element = input._key.dtype
    for argument, each in parameters.items():
        if each is not None and each._key.dtype is not element and not (element.is_half and each.dtype is weft.float32):
            raise RuntimeError(
                f"{name}: expected {argument} of the input's dtype {element}, or of float32 for half precision, got "
                f"{each.dtype}"
            )


def check_statistics(input: Tensor, parameters: tuple[Tensor | None, ...], training: bool, eps: float) -> None:
    """Check that both running statistics are there, or none is, and that all have dtypes that fit."""
    require_flags("batch_norm", training=training)
    if training and (parameters[0] is None) != (parameters[1] is None):
        raise ValueError("batch_norm: running_mean and running_var must either both be None or neither be None")
    names = ("running_mean", "running_var", "weight", "bias")
    checked = parameters if input._array.size else ()  # of no element, which PyTorch takes with any parameters
    check_parameters("batch_norm", input, eps, **dict(zip(names, checked)))
    if eps < 0 or (training and eps == 0):
        raise ValueError(
            f"batch_norm: eps must be positive{' during training' if training else ' or 0'}, but got {eps}"
        )


def normalized_by(
    name: str, input: Tensor, mean: Any, variance: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias`` with given statistics."""
    if not local.levels:
        return normalized.op(input, mean, variance, weight, bias, eps)
    input = input if is_channels_last(input._array) else input.contiguous()
    mean, variance, weight, bias = widened(mean, variance, weight, bias)
    scale = (variance + eps).rsqrt() if weight is None else (variance + eps).rsqrt() * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return channel_affine.op(input, scale, shift)


@op(
    tensors="input mean variance weight bias",
    compute_dtype="float32",
    dtypes="float",
    namespace="nn",
    name="normalized",
)
def normalized(
    input: Tensor, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """The input normalized by channel with given statistics, then scaled and shifted."""
    return normalized.op(input, mean, variance, weight, bias, eps)


@normalized.kernel
def _(xp, input, mean, variance, weight, bias, eps):
    input = input if is_channels_last(input) else in_order(xp, input)
    scale, shift = scale_and_shift(xp, mean, variance, weight, bias, eps)
    result = input * by_channel(scale, input.ndim)
    result += by_channel(shift, input.ndim)
    return result


@normalized.onnx
def _(graph, input, mean, variance, weight, bias, eps):
    weight = graph.full_like(mean, 1.0) if weight is None else weight
    bias = graph.full_like(mean, 0.0) if bias is None else bias
    return graph.BatchNormalization(input, weight, bias, mean, variance, epsilon=eps)


def scale_and_shift(xp: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any]:
    """The factor of each channel, and what is added to it then, as arrays."""
    root = xp.sqrt(variance + variance.dtype.type(eps))
    scale = (1 if weight is None else weight) / root
    return scale, (0 if bias is None else bias) - mean * scale


@normalized.gradient("input")
def _(grad, variance, weight, eps):
    return channel_affine.op(grad, scale_of(variance, weight, eps), None)


@normalized.gradient("mean")
def _(grad, variance, weight, eps):
    grad, wide, weight = widened(grad, variance, weight)
    return (-grad.sum(but_channels(grad.ndim)) * scale_of(wide, weight, eps)).to(variance.dtype)


@normalized.gradient("variance")
def _(grad, input, mean, variance, weight, eps):
    grad, input, mean, wide, weight = widened(grad, input, mean, variance, weight)
    slope = centred_sum(grad, input, mean) * scale_of(wide, weight, eps) / (wide + eps) * -0.5
    return slope.to(variance.dtype)


@normalized.gradient("weight")
def _(grad, input, mean, variance, eps, weight_dtype):
    grad, input, mean, variance = widened(grad, input, mean, variance)
    return (centred_sum(grad, input, mean) * scale_of(variance, None, eps)).to(weight_dtype)


@normalized.gradient("bias")
def _(grad, bias_dtype):
    return in_single(grad).sum(but_channels(grad.ndim)).to(bias_dtype)


def scale_of(variance: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """The factor of each channel, in ops."""
    inverse = (variance + eps).rsqrt()
    return inverse if weight is None else inverse * weight


def centred_sum(grad: Tensor, input: Tensor, mean: Tensor) -> Tensor:
    """For each channel the sum of a gradient times the distances from the mean, in ops."""
    return (grad * (input - by_channel(mean, input.ndim))).sum(but_channels(input.ndim))


def update_running(
    running_mean: Tensor | None, running_var: Tensor | None, mean: Tensor, variance: Tensor, count: int, momentum: float
) -> None:
    """Move the running statistics a share of the way to this batch's, if it has any."""
    if count == 0:
        return
    before = local.grad_enabled
    set_grad(False)  # as `weft.no_grad`, in half the time
    try:
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(of_kind(running_mean, mean) * momentum)
        if running_var is not None:
            share = momentum * (count / max(count - 1, 1))  # of the unbiased variance
            running_var.mul_(1 - momentum).add_(of_kind(running_var, variance) * share)
    finally:
        set_grad(before)


def of_kind(like: Tensor, tensor: Tensor) -> Tensor:
    """A tensor in the dtype of another."""
    return tensor if tensor._key is like._key else tensor.to(like.dtype)


# Layer norm


@op(
    tensors="input weight bias",
    compute_dtype="float32",
    rounds_to="input weight weight",
    dtypes="float",
    namespace="nn",
    name="layer_norm",
)
def layer_norm_op(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, count: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The input normalized over its last ``count`` dimensions, with means and inverse deviations."""
    return layer_norm_op.op(input, weight, bias, count, eps)


@layer_norm_op.kernel
def layer_norm_array(xp: Any, input: Any, weight: Any, bias: Any, count: int, eps: float) -> Any:
    shape = input.shape
    split = len(shape) - count
    rows, size = math.prod(shape[:split]), math.prod(shape[split:])
    flat = in_order(xp, input).reshape(rows, size)
    result = xp.empty((rows, size), flat.dtype)
    step = max(1, BLOCK // max(size, 1))
    if rows <= step:
        mean, inverse = normalize_rows(xp, flat, weight, bias, eps, result)
    else:
        mean, inverse = xp.empty((rows, 1), flat.dtype), xp.empty((rows, 1), flat.dtype)
        for start in range(0, rows, step):
            part = slice(start, start + step)
            mean[part], inverse[part] = normalize_rows(xp, flat[part], weight, bias, eps, result[part])
    kept = (*shape[:split], *(1,) * count)
    return result.reshape(shape), mean.reshape(kept), inverse.reshape(kept)


@layer_norm_op.onnx
def _(graph, input, weight, bias, count, eps):
    if weight is None:
        weight = graph.Expand(graph.constant(1.0, input), graph.shape_of(input, input.ndim - count))
    return graph.LayerNormalization(input, weight, bias, outputs=3, axis=-count, epsilon=eps)


def normalize_rows(xp: Any, rows: Any, weight: Any, bias: Any, eps: float, result: Any) -> tuple[Any, Any]:
    """Write the layer norm of a few rows, and return their means and inverse deviations."""
    size = rows.dtype.type(max(rows.shape[1], 1))
    mean = rows_total(rows)
    mean /= size
    xp.subtract(rows, mean, out=result)
    inverse = row_products(xp, result, result)
    inverse /= size
    inverse_root(xp, inverse, eps)
    result *= inverse
    if weight is not None:
        result *= weight.reshape(-1)
    if bias is not None:
        result += bias.reshape(-1)
    return mean, inverse


def inverse_root(xp: Any, variance: Any, eps: float) -> Any:
    """``1 / sqrt(variance + eps)``, in the memory of the variance."""
    variance += variance.dtype.type(eps)
    xp.sqrt(variance, variance)
    return xp.reciprocal(variance, variance)


def row_products(xp: Any, a: Any, b: Any) -> Any:
    """The inner product of each row of a matrix with that of another, as a column."""
    if a.size <= FEW:
        return rows_total(a * b)
    return xp.matmul(a[:, None, :], b[:, :, None])[:, 0]


@layer_norm_op.gradient("input weight bias")
def _(grads, input, weight, later_outputs, count, eps):
    if local.grad_enabled:
        return layer_norm_formula(grads[0], input, weight, count, eps)
    return layer_norm_gradient.op(grads[0], input, weight, later_outputs[0], later_outputs[1], count)


@layer_norm_op.vmap
def _(batch):
    input, weight, bias, count, eps = batch.args
    if not batch.flags[1] and not batch.flags[2]:
        return layer_norm_op.op(*batch.args)
    _, weight, bias, _, _ = batch.as_seen()
    normal, mean, inverse = layer_norm_op.op(batch.spread(input, batch.flags[0]), None, None, count, eps)
    result = batch.level.batch(normal)
    result = result if weight is None else result * weight
    return batch.whole(result if bias is None else result + bias), mean, inverse


def layer_norm_formula(grad: Tensor, input: Tensor, weight: Tensor | None, count: int, eps: float) -> tuple[Any, ...]:
    """The gradients of layer norm in ops that are differentiable again."""
    likes = input, weight, weight
    grad, input, weight = widened(grad, input, weight)
    dims, rest = tuple(range(input.ndim - count, input.ndim)), tuple(range(input.ndim - count))
    centred = input - input.mean(dims, keepdim=True)
    scale = (centred.square().mean(dims, keepdim=True) + eps).rsqrt()
    normal = centred * scale
    inner = grad if weight is None else grad * weight
    mean, slope = inner.mean(dims, keepdim=True), (inner * normal).mean(dims, keepdim=True)
    by_weight, by_bias = grad * normal, grad
    if rest:
        by_weight, by_bias = by_weight.sum(rest), by_bias.sum(rest)
    return in_dtypes_of(((inner - mean - normal * slope) * scale, by_weight, by_bias), *likes)


@op(
    tensors="output_grad input weight mean inverse",
    compute_dtype="float32",
    rounds_to="input weight weight",
    gradient="refused",
    namespace="nn",
)
def layer_norm_gradient(
    output_grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, inverse: Tensor, count: int
) -> tuple[Tensor, ...]:
    """The gradients of layer norm with respect to input, weight and bias."""
    return layer_norm_gradient.op(output_grad, input, weight, mean, inverse, count)


@layer_norm_gradient.vmap
def _(batch):
    output_grad, input, weight, mean, inverse, count = batch.as_seen()
    dims, rest = tuple(range(input.ndim - count, input.ndim)), tuple(range(input.ndim - count))
    normal = (input - mean) * inverse
    inner = output_grad if weight is None else output_grad * weight
    slope = (inner * normal).mean(dims, keepdim=True)
    by_input = (inner - inner.mean(dims, keepdim=True) - normal * slope) * inverse
    by_weight = output_grad * normal
    return batch.whole(
        (by_input, by_weight.sum(rest), output_grad.sum(rest)) if rest else (by_input, by_weight, output_grad)
    )


@layer_norm_gradient.kernel
def _(xp, output_grad, input, weight, mean, inverse, count):
    shape = input.shape
    split = len(shape) - count
    size = math.prod(shape[split:])
    rows = math.prod(shape[:split])  # not -1, of which nothing is known where the size is 0
    grad = in_order(xp, output_grad).reshape(rows, size)
    mean, inverse = mean.reshape(rows, 1), inverse.reshape(rows, 1)
    normal = input.reshape(rows, size) - mean
    normal *= inverse
    by_bias = reduce("sum", grad, 0)
    by_weight = reduce("sum", grad * normal, 0)
    inner = grad if weight is None else grad * weight.reshape(-1)
    count = grad.dtype.type(max(size, 1))
    average = rows_total(inner)
    average /= count
    slope = row_products(xp, inner, normal)
    slope /= count
    normal *= slope
    xp.subtract(inner, normal, out=normal)
    normal -= average
    normal *= inverse
    return normal.reshape(shape), by_weight.reshape(shape[split:]), by_bias.reshape(shape[split:])


def is_normal_shape(values: list[Any], arrays: list[Any]) -> bool:
    """The arguments of `layer_norm_op` for those of `layer_norm`, if the shapes fit."""
    input, weight, bias, shape, _ = arrays
    if type(shape) is not tuple or not shape or input.shape[-len(shape) :] != shape:
        return False
    values[3] = arrays[3] = len(shape)
    return (weight is None or weight.shape == shape) and (bias is None or bias.shape == shape)


@composite(
    fast_path=FastPath(
        layer_norm_op.op,
        prepare=is_normal_shape,
        takes="input weight bias normalized_shape eps",
        result="first",
    )
)
def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize the last axes of ``input`` to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    input : Tensor, shape (..., *normalized_shape)
    normalized_shape : int or tuple of int
    weight, bias : Tensor, shape normalized_shape, default 1 and 0
    eps : float
        Added to the variance, in the units of input squared.

    Raises
    ------
    RuntimeError
        If ``input.shape`` does not end in ``normalized_shape``, or weight or bias have another shape.

    References
    ----------
    arXiv:1607.06450, equations 3 and 4. The variance is the biased one.

    Examples
    --------
    >>> layer_norm(weft.tensor([1.0, 2.0, 3.0]), 3)
    tensor([-1.2247,  0.0000,  1.2247])
    """
    shape = check_normalized("layer_norm", input, normalized_shape, weight, bias)
    check_parameters("layer_norm", input, eps, weight=weight, bias=bias)
    return layer_norm_op.op(input, weight, bias, len(shape), eps)[0]


def check_normalized(
    name: str, input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None = None
) -> tuple[int, ...]:
    """The normalized shape, which the input ends in, and weight and bias have."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError(f"{name}: Expected normalized_shape to be at least 1-dimensional, got []")
    if input._array.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"{name}: Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size {list(input.shape)}"
        )
    for argument, each in (("weight", weight), ("bias", bias)):
        if each is not None and each._array.shape != shape:
            raise RuntimeError(
                f"{name}: Expected {argument} to be of same shape as normalized_shape, but got {argument} of shape "
                f"{list(each.shape)} and normalized_shape = {list(shape)}"
            )
    return shape


# RMS norm


@op(
    tensors="input weight",
    compute_dtype="float32",
    rounds_to="input float32",
    dtypes="float",
    namespace="nn",
    name="rms_norm",
)
def rms_norm_op(input: Tensor, weight: Tensor | None, count: int, eps: float) -> tuple[Tensor, Tensor]:
    """The input divided by the root mean square of its last ``count`` dimensions, with the inverses of those."""
    return rms_norm_op.op(input, weight, count, eps)


@rms_norm_op.kernel
def _(xp, input, weight, count, eps):
    shape = input.shape
    split = len(shape) - count
    size = math.prod(shape[split:])
    rows = in_order(xp, input).reshape(math.prod(shape[:split]), size)
    inverse = row_products(xp, rows, rows)
    inverse /= rows.dtype.type(max(size, 1))
    inverse_root(xp, inverse, eps)
    result = rows * inverse
    if weight is not None:
        result *= weight.reshape(-1)
    return result.reshape(shape), inverse.reshape(*shape[:split], *(1,) * count)


@rms_norm_op.gradient("input weight")
def _(grads, input, weight, later_outputs, count, eps):
    if local.grad_enabled:
        return rms_norm_formula(grads[0], input, weight, count, eps)
    return rms_norm_gradient.op(grads[0], input, weight, later_outputs[0], count)


@rms_norm_op.vmap
def _(batch):
    element, (input, weight, count, eps) = batch.args[0].dtype, widened(*batch.as_seen())
    inverse = inverse_of(input, count, eps)
    result = input * inverse if weight is None else input * inverse * weight
    return batch.whole((result.to(element), inverse))


@rms_norm_op.onnx
def _(graph, input, weight, count, eps):
    squares = graph.reduce("ReduceMean", graph.Mul(input, input), range(-count, 0), True)
    inverse = graph.Reciprocal(graph.Sqrt(graph.Add(squares, eps)))
    normal = graph.Mul(input, inverse)
    return [normal if weight is None else graph.Mul(normal, weight), inverse]


def inverse_of(input: Tensor, count: int, eps: float) -> Tensor:
    """One divided by the root mean square of the last dimensions, in ops."""
    return (input.square().mean(tuple(range(-count, 0)), keepdim=True) + eps).rsqrt()


def rms_norm_formula(grad: Tensor, input: Tensor, weight: Tensor | None, count: int, eps: float) -> tuple[Any, ...]:
    """The gradients of RMS norm in ops that are differentiable again."""
    return rms_norm_slopes(grad, input, weight, inverse_of(in_single(input), count, eps), count)


def rms_norm_slopes(grad: Tensor, input: Tensor, weight: Tensor | None, inverse: Tensor, count: int) -> tuple[Any, ...]:
    likes = input, weight
    grad, input, weight = widened(grad, input, weight)
    dims, rest = tuple(range(-count, 0)), tuple(range(input.ndim - count))
    normal = input * inverse
    inner = grad if weight is None else grad * weight
    by_weight = grad * normal
    by_input = (inner - normal * (inner * normal).mean(dims, keepdim=True)) * inverse
    return in_dtypes_of((by_input, by_weight.sum(rest) if rest else by_weight), *likes)


@op(
    tensors="output_grad input weight inverse",
    compute_dtype="float32",
    rounds_to="input weight",
    gradient="refused",
    namespace="nn",
)
def rms_norm_gradient(
    output_grad: Tensor, input: Tensor, weight: Tensor | None, inverse: Tensor, count: int
) -> tuple[Tensor, ...]:
    """The gradients of RMS norm with respect to input and weight."""
    return rms_norm_gradient.op(output_grad, input, weight, inverse, count)


@rms_norm_gradient.vmap
def _(batch):
    return batch.whole(rms_norm_slopes(*batch.as_seen()))


@rms_norm_gradient.kernel
def _(xp, output_grad, input, weight, inverse, count):
    shape = input.shape
    size = math.prod(shape[len(shape) - count :])
    rows = math.prod(shape[: len(shape) - count])
    grad = in_order(xp, output_grad).reshape(rows, size)
    normal = in_order(xp, input).reshape(rows, size) * inverse.reshape(rows, 1)
    by_weight = reduce("sum", grad * normal, 0)
    inner = grad if weight is None else grad * weight.reshape(-1)
    normal *= row_products(xp, inner, normal) / grad.dtype.type(max(size, 1))
    xp.subtract(inner, normal, out=normal)
    normal *= inverse.reshape(rows, 1)
    return normal.reshape(shape), by_weight.reshape(shape[len(shape) - count :])


def is_rms_shape(values: list[Any], arrays: list[Any]) -> bool:
    """The arguments of `rms_norm_op` for those of `rms_norm`, if the shapes fit."""
    input, weight, shape, eps = arrays
    if type(shape) is not tuple or not shape or input.shape[-len(shape) :] != shape:
        return False
    values[2] = arrays[2] = len(shape)
    if eps is None:
        values[3] = arrays[3] = epsilon_of(values[0].dtype)
    return weight is None or weight.shape == shape


def epsilon_of(element: weft.dtype) -> float:
    """The machine epsilon of the dtype that a norm is computed in."""
    return float(weft.finfo(weft.float32 if element.is_half else element).eps)


@composite(
    fast_path=FastPath(rms_norm_op.op, prepare=is_rms_shape, takes="input weight normalized_shape eps", result="first")
)
def rms_norm(
    input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide the last axes of ``input`` by the root of their mean square.

    Parameters
    ----------
    input : Tensor, shape (..., *normalized_shape)
    normalized_shape : int or tuple of int
    weight : Tensor, shape normalized_shape, optional
    eps : float, optional
        Added to the mean square; default the input dtype's machine epsilon.

    Raises
    ------
    RuntimeError
        If ``input.shape`` does not end in ``normalized_shape``.

    References
    ----------
    arXiv:1910.07467.

    Examples
    --------
    >>> weft.nn.functional.rms_norm(weft.tensor([1.0, 7.0]), (2,))  # divided by sqrt((1 + 49) / 2) = 5
    tensor([0.2000, 1.4000])
    """
    shape = check_normalized("rms_norm", input, normalized_shape, weight)
    element = input.dtype
    if not input._key.is_differentiable:
        raise NotImplementedError(
            f"rms_norm: not implemented for '{element.scalar_type_name}' ({element}); convert with .float()"
        )
    input = input.contiguous()
    if eps is None:
        eps = epsilon_of(element)
    if element.is_half:
        scale = weight if weight is None or weight.dtype is element else weight.to(weft.float32)
        return rms_norm_op.op(input, scale, len(shape), eps)[0]
    if input._key.is_complex:
        result = input * inverse_of(input, len(shape), eps)
    elif weight is None or weight._key is input._key:
        return rms_norm_op.op(input, weight, len(shape), eps)[0]
    else:
        result = rms_norm_op.op(input, None, len(shape), eps)[0]
    return result if weight is None else result * weight


# Group norm, of which instance norm is the one of groups of one channel


@op(
    tensors="input weight bias",
    compute_dtype="float32",
    rounds_to="input float32 float32",
    dtypes="float",
    namespace="nn",
    name="group_norm",
)
def group_norm_op(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The input normalized by groups of channels, with means and inverse deviations."""
    return group_norm_op.op(input, weight, bias, groups, eps)


@group_norm_op.kernel
def _(xp, input, weight, bias, groups, eps):
    batch = input.shape[0]
    rows = in_order(xp, input).reshape(batch * groups, -1)
    normal, mean, inverse = layer_norm_array(xp, rows, None, None, 1, eps)
    normal = normal.reshape(input.shape)
    if weight is not None:
        normal *= by_channel(weight, input.ndim)
    if bias is not None:
        normal += by_channel(bias, input.ndim)
    return normal, mean.reshape(batch, groups), inverse.reshape(batch, groups)


@group_norm_op.gradient("input weight bias")
def _(grads, input, weight, later_outputs, groups, eps):
    if local.grad_enabled:
        return group_norm_formula(grads[0], input, weight, groups, eps)
    return group_norm_gradient.op(grads[0], input, weight, later_outputs[0], later_outputs[1], groups)


@group_norm_op.vmap
def _(batch):
    element, (input, weight, bias, groups, eps) = batch.args[0].dtype, widened(*batch.as_seen())
    rows = input.reshape(input.shape[0], groups, -1)
    normal, mean, inverse = layer_norm_op.op(rows, None, None, 1, eps)
    result = affine(normal.reshape(input.shape), weight, bias).to(element)
    return batch.whole((result, mean.squeeze(-1), inverse.squeeze(-1)))


@group_norm_op.onnx
def _(graph, input, weight, bias, groups, eps):
    """Each group as a channel of instance normalization."""
    elements = graph.Mul(graph.count(input, range(2, input.ndim)), input.shape[1] // groups)
    sizes = graph.size(input, 0), graph.sizes([groups]), graph.Reshape(elements, graph.sizes([1]))
    rows = graph.Reshape(input, graph.Concat(*sizes, axis=0), allowzero=1)
    ones, zeros = (graph.full([groups], each, input.dtype) for each in (1.0, 0.0))
    normal = graph.Reshape(graph.InstanceNormalization(rows, ones, zeros, epsilon=eps), graph.shape_of(input))
    mean = graph.reduce("ReduceMean", rows, [-1], True)
    deviation = graph.Sub(rows, mean)
    variance = graph.reduce("ReduceMean", graph.Mul(deviation, deviation), [-1], False)
    inverse = graph.Reciprocal(graph.Sqrt(graph.Add(variance, eps)))
    return [graph.affine(normal, weight, bias, input.ndim), graph.Squeeze(mean, graph.sizes([-1])), inverse]


def group_norm_formula(grad: Tensor, input: Tensor, weight: Any, groups: int, eps: float) -> tuple[Any, ...]:
    """The gradients of group norm in ops that are differentiable again."""
    rows = in_single(input).reshape(input.shape[0], groups, -1)
    mean = rows.mean(-1, keepdim=True)
    inverse = ((rows - mean).square().mean(-1, keepdim=True) + eps).rsqrt()
    return group_norm_slopes(grad, input, weight, mean, inverse, groups)


def group_norm_slopes(
    grad: Tensor, input: Tensor, weight: Any, mean: Tensor, inverse: Tensor, groups: int
) -> tuple[Any, ...]:
    likes = input, weight, weight
    grad, input, weight = widened(grad, input, weight)
    shape = (input.shape[0], groups, -1)
    normal = (input.reshape(shape) - mean) * inverse
    inner = (grad if weight is None else grad * by_channel(weight, input.ndim)).reshape(shape)
    slope = (inner * normal).mean(-1, keepdim=True)
    by_input = (inner - inner.mean(-1, keepdim=True) - normal * slope) * inverse
    rest = but_channels(input.ndim)
    slopes = by_input.reshape(input.shape), (grad * normal.reshape(input.shape)).sum(rest), grad.sum(rest)
    return in_dtypes_of(slopes, *likes)


@op(
    tensors="output_grad input weight mean inverse",
    compute_dtype="float32",
    rounds_to="input weight weight",
    gradient="refused",
    namespace="nn",
)
def group_norm_gradient(
    output_grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, inverse: Tensor, groups: int
) -> tuple[Tensor, ...]:
    """The gradients of group norm with respect to input, weight and bias."""
    return group_norm_gradient.op(output_grad, input, weight, mean, inverse, groups)


@group_norm_gradient.vmap
def _(batch):
    output_grad, input, weight, mean, inverse, groups = batch.as_seen()
    statistics = mean.unsqueeze(-1), inverse.unsqueeze(-1)
    return batch.whole(group_norm_slopes(output_grad, input, weight, *statistics, groups))


@group_norm_gradient.kernel
def _(xp, output_grad, input, weight, mean, inverse, groups):
    shape = (input.shape[0] * groups, -1)
    grad = in_order(xp, output_grad)
    mean, inverse = mean.reshape(-1, 1), inverse.reshape(-1, 1)
    normal = in_order(xp, input).reshape(shape) - mean
    normal *= inverse
    by_weight = channel_sum(xp, grad * normal.reshape(input.shape))
    inner = (grad if weight is None else grad * by_channel(weight, input.ndim)).reshape(shape)
    normal *= row_products(xp, inner, normal) / grad.dtype.type(inner.shape[1])
    xp.subtract(inner, normal, out=normal)
    normal -= xp.mean(inner, axis=1, keepdims=True)
    normal *= inverse
    return normal.reshape(input.shape), by_weight, channel_sum(xp, grad)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize each group of channels of each sample, then scale and shift each channel.

    Parameters
    ----------
    input : Tensor, shape (N, C, ...)
    num_groups : int
        Divides C.
    weight, bias : Tensor, shape (C,), optional
    eps : float
        Added to the variance, in the units of input squared.

    Raises
    ------
    RuntimeError
        If the groups do not divide the channels, or shapes do not fit.

    References
    ----------
    arXiv:1803.08494.

    Examples
    --------
    >>> weft.nn.functional.group_norm(weft.tensor([[1.0, 3.0, 10.0, 30.0]]), 2).round(decimals=3)
    tensor([[-1.,  1., -1.,  1.]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"group_norm: Expected at least 2 dimensions for input tensor but received {input.ndim}")
    channels = input.shape[1]
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(
            f"group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for argument, each in (("weight", weight), ("bias", bias)):
        if each is not None and tuple(each.shape) != (channels,):
            raise RuntimeError(
                f"group_norm: Expected {argument} to be a vector of size equal to the number of channels in input, but "
                f"got {argument} of shape {list(each.shape)} and input of shape {list(input.shape)}"
            )
    check_parameters("group_norm", input, eps, weight=weight, bias=bias)
    if not input.numel():
        return affine(input * 1, weight, bias)
    if input.numel() == num_groups:  # as in PyTorch, which counts the elements of all examples together
        raise ValueError(
            "group_norm: Expected more than 1 value per channel when training, here in each group, got input size "
            f"{list(input.shape)}"
        )
    return in_layout_of(group_norm_op.op(input, weight, bias, num_groups, eps)[0], input)


def affine(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Scale and shift each channel; the dtype stays the input's."""
    element = input.dtype
    if weight is not None:
        input = input * by_channel(weight, input.ndim)
    if bias is not None:
        input = input + by_channel(bias, input.ndim)
    return input.to(element)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of each sample, then scale and shift each channel.

    Parameters
    ----------
    input : Tensor, shape (N, C, ...)
    running_mean, running_var : Tensor, shape (C,), optional
        Used where ``use_input_stats`` is false, else updated with the mean over the samples.
    weight, bias : Tensor, shape (C,), optional
    use_input_stats : bool
        Normalize by each sample's own statistics.
    momentum, eps : float
        See `batch_norm`.

    Raises
    ------
    ValueError
        If a channel has a single element.

    References
    ----------
    arXiv:1607.08022.

    Examples
    --------
    >>> weft.nn.functional.instance_norm(weft.tensor([[[1.0, 3.0], [10.0, 30.0]]])).round(decimals=3)
    tensor([[[-1.,  1.],
             [-1.,  1.]]])
    """
    require_flags("instance_norm", use_input_stats=use_input_stats)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "instance_norm: Expected running_mean and running_var to be defined when use_input_stats=False"
            )
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if input.ndim < 2:
        raise RuntimeError(
            f"instance_norm: input must have at least 2 dimensions, (N, C, ...), got {list(input.shape)}"
        )
    batch, channels = input.shape[:2]
    check_by_channel(input, (running_mean, running_var, weight, bias), eps)
    count = math.prod(input.shape[2:])
    if count == 1:
        raise ValueError(
            f"instance_norm: Expected more than 1 spatial element when training, got input size {list(input.shape)}"
        )
    if not input.numel():
        return affine(input * 1, weight, bias)
    if running_mean is None and running_var is None:
        return group_norm_op.op(input, weight, bias, channels, eps)[0]
    wide = in_single(input)
    normal, mean, variance = batch_norm_training.op(wide.reshape(1, batch * channels, -1), None, None, eps)
    mean, variance = (each.detach().reshape(batch, channels).mean(0) for each in (mean, variance))
    update_running(running_mean, running_var, mean, variance, count, momentum)
    return affine(normal.reshape(input.shape), in_single(weight), in_single(bias)).to(input.dtype)


def check_by_channel(input: Tensor, parameters: tuple[Tensor | None, ...], eps: float) -> None:
    """Parameters of `instance_norm`: one element for each channel, of a dtype that fits."""
    names = ("running_mean", "running_var", "weight", "bias")
    check_parameters("instance_norm", input, eps, **dict(zip(names, parameters)))
    if (parameters[0] is None) != (parameters[1] is None):
        raise ValueError("instance_norm: running_mean and running_var must either both be None or neither be None")
    for name, each in zip(names, parameters):
        if each is not None and tuple(each.shape) != (input.shape[1],):
            raise RuntimeError(
                f"instance_norm: {name} should contain {input.shape[1]} elements, one for each channel of input "
                f"{list(input.shape)}, not be of shape {list(each.shape)}"
            )


def local_response_norm(
    input: Tensor, size: int, alpha: float | Tensor = 1e-4, beta: float | Tensor = 0.75, k: float | Tensor = 1.0
) -> Tensor:
    """Divide each element by ``(k + alpha * mean of squares over size neighbouring channels) ** beta``.

    Parameters
    ----------
    input : Tensor, shape (N, C, ...), of at least 3 dimensions
    size : int
        How many neighbouring channels count.
    alpha, beta, k : float

    Raises
    ------
    ValueError
        If there are fewer dimensions.

    References
    ----------
    Krizhevsky, Sutskever and Hinton, ImageNet classification with deep convolutional neural networks, 2012,
    section 3.3; there the sum rather than the mean.

    Examples
    --------
    >>> output = weft.nn.functional.local_response_norm(weft.ones(1, 2, 1), 2, alpha=1.0, beta=1.0)
    >>> output.flatten()  # the first channel has no neighbour before it
    tensor([0.6667, 0.5000])
    """
    if input.ndim < 3:
        raise ValueError(
            f"local_response_norm: Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    if size < 1:
        raise RuntimeError(f"local_response_norm: size must be greater than 0, but got {size}")
    if not input.numel():
        return input
    from weft.nn.functional.padding import pad

    square = input * input
    amounts = [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2]
    windows = pad(square, amounts).unfold(1, size, 1)  # (N, C, ..., size)
    mean = windows.sum(-1) / size if input._key.is_differentiable else windows.sum(-1).div(size, rounding_mode="trunc")
    return input / (mean * alpha + k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float | Tensor = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Divide by the p-norm along a dimension, or by ``eps`` where that is less.

    Parameters
    ----------
    input : Tensor
    p : float
        Of the norm.
    dim : int or tuple of int
    eps : float
        The least norm to divide by.

    Examples
    --------
    >>> weft.nn.functional.normalize(weft.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    result = input / input.norm(p, dim, keepdim=True).clamp(eps)
    return result if out is None else write_out("normalize", out, result)
