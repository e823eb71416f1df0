"""Normalizations and dropout."""

from __future__ import annotations

from typing import Any

import weft
import weft.nn.functional as F
from weft.onnx._importer.operators._common import stash
from weft.onnx._importer.operators.random import uniform
from weft.onnx._importer.registry import operator


def by_channel(value: Any, x: Any) -> Any:
    """A vector in the shape that lines it up with the second axis."""
    return value.reshape([1, -1, *[1] * (x.ndim - 2)])


@operator("BatchNormalization", frozen="input_mean input_var")
def batch_normalization(
    x: Any,
    scale: Any,
    b: Any,
    input_mean: Any,
    input_var: Any,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    is_test: int = 1,
    spatial: int = 1,
    outputs: int,
    context: Any,
) -> Any:
    if not spatial:  # each element of a sample by itself, in opsets before 9
        return (x - input_mean) * weft.rsqrt(input_var + epsilon) * scale + b
    if outputs == 1:  # the module's mode, as of BatchNorm2d; the running statistics are buffers, updated in place
        training = context.training
        return F.batch_norm(x, input_mean, input_var, scale, b, training, 1 - momentum, epsilon)
    axes = [axis for axis in range(x.ndim) if axis != 1]
    mean, var = x.mean(axes), x.var(axes, correction=0)
    y = F.batch_norm(x, None, None, scale, b, True, 0.0, epsilon)
    running = input_mean * momentum + mean * (1 - momentum), input_var * momentum + var * (1 - momentum)
    return y, *(each.to(input_mean.dtype) for each in running), mean, var


@operator("InstanceNormalization")
def instance_normalization(input: Any, scale: Any, b: Any, *, epsilon: float = 1e-5) -> Any:
    return F.instance_norm(input, weight=scale, bias=b, eps=epsilon)


@operator("LayerNormalization")
def layer_normalization(
    x: Any, scale: Any, b: Any = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1, outputs: int
) -> Any:
    first = axis % x.ndim
    shape = tuple(x.shape[first:])
    if outputs == 1 and tuple(scale.shape) == shape and (b is None or tuple(b.shape) == shape):
        return F.layer_norm(x, shape, scale, b, epsilon)
    axes = list(range(first, x.ndim))
    values = stash(x, stash_type)
    mean = values.mean(axes, keepdim=True)
    centered = values - mean
    inverse = weft.rsqrt((centered * centered).mean(axes, keepdim=True) + epsilon)
    y = (centered * inverse).to(x.dtype) * scale
    return y if b is None else y + b, mean, inverse


@operator("GroupNormalization", since=21)
def group_normalization(
    x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    return F.group_norm(x, num_groups, scale, bias, epsilon)


@operator("GroupNormalization")
def group_normalization_18(x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5) -> Any:
    each = x.shape[1] // num_groups  # scale and bias are of groups here
    return F.group_norm(x, num_groups, scale.repeat_interleave(each), bias.repeat_interleave(each), epsilon)


@operator("RMSNormalization")
def rms_normalization(x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    axes = list(range(axis % x.ndim, x.ndim))
    values = stash(x, stash_type)
    inverse = weft.rsqrt((values * values).mean(axes, keepdim=True) + epsilon)
    return (values * inverse).to(x.dtype) * scale


@operator("LRN")
def lrn(x: Any, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    before = (size - 1) // 2
    squares = F.pad((x * x).movedim(1, -1), [before, size - 1 - before])
    sums = squares.unfold(-1, size, 1).sum(-1).movedim(-1, 1)
    return x / (bias + alpha / size * sums) ** beta


@operator("Dropout", host="ratio training_mode")
def dropout(
    data: Any,
    ratio: Any = 0.5,
    training_mode: Any = False,
    *,
    is_test: int = 1,
    seed: int | None = None,
    outputs: int,
    context: Any,
) -> Any:
    if not (training_mode or context.training) or ratio == 0:
        return data, weft.ones_like(data, dtype=weft.bool)
    if outputs == 1 and seed is None:
        return F.dropout(data, ratio)
    kept = uniform(data.shape, weft.float64, data.device, seed) >= ratio
    return data * kept / (1 - ratio), kept
