"""Losses: how far predictions are from what they should be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

import weft
from weft import Tensor
from weft.library.checks import (
    SOME,
    OutOfRange,
    all_within,
    broadcast_shapes,
    check_positions,
    in_range,
    positioned,
    require_between,
    values_known,
    warn_caller,
)
from weft.library.declare import composite, in_full_precision, op, reads_values
from weft.library.fast_paths import FastPath
from weft.library.layouts import memory_of
from weft.library.numerics import array_of, combine_at, is_numpy, peaks
from weft.library.state import local
from weft.nn import _reduction
from weft.nn._docstrings import REDUCTION, REDUCTION_ALONE, documented
from weft.nn.functional._common import (
    check_floating,
    check_reduction,
    in_single,
    reduce_loss,
    require_flags,
    require_numbers,
    whole_number,
    widened,
)
from weft.nn.functional.activation import logsigmoid
from weft.nn.functional.linear import linear
from weft.ops.matrices import same_dtype
from weft.ops.reductions import reduce as reduce_array
from weft.ops.reductions import rows_total
from weft.ops.reductions import total as total_of
from weft.ops.softmax import log_softmax_op


def legacy_reduction(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction that the arguments before it meant."""
    if size_average is None and reduce is None:
        if reduction == "elementwise_mean":
            warn_caller(_reduction.DEPRECATED_MEAN)
            return "mean"
        return reduction
    return _reduction.legacy_get_string(size_average, reduce)


def same_sizes(name: str, input: Tensor, target: Tensor) -> None:
    """Warn where broadcasting hides a mistake."""
    if target.shape != input.shape:
        warn_caller(
            f"{name}: Using a target size {tuple(target.shape)} that is different to the input size "
            f"{tuple(input.shape)}. This will likely lead to incorrect results due to broadcasting. Please ensure they "
            "have the same size."
        )
        broadcast_shapes(name, [input._array.shape, target._array.shape])


def require_real(name: str, *tensors: Tensor) -> None:
    """Squares of complex differences are no losses.

    Raises
    ------
    NotImplementedError
        If a tensor is complex.
    """
    for each in tensors:
        if each.dtype.is_complex:
            raise NotImplementedError(
                f"{name}: not implemented for '{each.dtype.scalar_type_name}' ({each.dtype}); use l1_loss"
            )


def difference_of(input: Tensor, target: Tensor) -> Tensor:
    """``input - target``, of which one may be truth values."""
    if input.dtype is weft.bool or target.dtype is weft.bool:
        common = weft.promote_types(input.dtype, target.dtype)
        input, target = input.to(common), target.to(common)
    return input - target


# Classification


@op(
    tensors="input target weight",
    compute_dtype="native",
    dtypes="float",
    namespace="nn",
    name="nll_loss",
    autocast="float32",
)
def nll_loss_op(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """The negated element of each row (N, C, ...) at its class (N, ...), times the class's weight."""
    return nll_loss_op.op(input, target, weight, reduction, ignore_index)


@nll_loss_op.onnx
def _(graph, input, target, weight, reduction, ignore_index):
    losses, counts = class_losses(graph, input, target, weight, ignore_index)
    return class_mean(graph, losses, counts, reduction)


def class_weights(xp: Any, target: Any, weight: Any, ignore_index: int, dtype: Any) -> tuple[Any, Any]:
    """Classes that exist, and what each counts: nothing where it is ignored; None where all count the same."""
    some = some_ignored(xp, target, ignore_index)
    if weight is None and not some:
        return target, None
    ignored = target == ignore_index
    safe = xp.where(ignored, 0, target) if some else target
    counts = xp.ones(target.shape, dtype) if weight is None else xp.take(weight, safe).astype(dtype, copy=False)
    counts[ignored] = 0
    return safe, counts


def some_ignored(xp: Any, target: Any, ignore_index: int) -> Any:
    """Whether some classes are ignored; of classes that were checked, those that are negative are.

    On a device, which it would wait for, they may be.
    """
    if not target.size:
        return False
    if not is_numpy(xp):
        return True
    if ignore_index >= 0:
        return (target == ignore_index).any()
    few = target.size <= SOME and isinstance(target, numpy.ndarray)
    return (min(target.reshape(-1).tolist()) if few else reduce_array("min", target, None)) < 0


def by_place(scores: Any) -> Any:
    """(N, C, ...) as (N, C, places)."""
    return scores.reshape(*scores.shape[:2], math.prod(scores.shape[2:]))


def places_last(target: Any) -> Any:
    """(N, ...) as (N, places)."""
    return target.reshape(target.shape[0], math.prod(target.shape[1:]))


def places_of(xp: Any, classes: Any) -> tuple[Any, Any, Any]:
    """The index of each class (N, places) in (N, C, places)."""
    batch, count = classes.shape
    return xp.arange(batch)[:, None], classes, xp.arange(count)


def counts_of(target: Any, weight: Any, ignore_index: int, like: Any) -> Any:
    """The weight of each target, in ops: `class_weights` for a `vmap`."""
    ignored = target == ignore_index
    safe = target.masked_fill(ignored, 0)
    counts = like.new_ones(target.shape) if weight is None else weight[safe]
    return counts.masked_fill(ignored, 0)


def gather_classes(input: Any, target: Any, ignore_index: int) -> Any:
    """The element of each row (N, C, places) at its class (N, places), in ops."""
    return input.gather(1, target.masked_fill(target == ignore_index, 0).unsqueeze(1)).squeeze(1)


@nll_loss_op.kernel
def _(xp, input, target, weight, reduction, ignore_index):
    if type(target) is numpy.ndarray:
        check_class_values(target, input.shape[1], ignore_index)
    else:
        check_on_device(xp, "nll_loss", target, input.shape[1], ignore_index)
    shape = target.shape
    wide = xp.float32 if input.dtype.itemsize == 2 else input.dtype
    if input.ndim == 2:
        safe, counts = class_weights(xp, target, weight, ignore_index, wide)
        losses = -input[xp.arange(len(safe)), safe].astype(wide, copy=False)
    else:
        input, target = by_place(input), places_last(target)
        safe, counts = class_weights(xp, target, weight, ignore_index, wide)
        losses = -input[places_of(xp, safe)].astype(wide, copy=False)
    if counts is not None:
        losses = xp.where(counts == 0, xp.zeros((), wide), losses * counts)
    if reduction == "none":
        return losses.astype(input.dtype, copy=False).reshape(shape), xp.zeros((), input.dtype)
    total = reduce_array("sum", losses, None)
    size = array_of(xp, safe.size, wide) if counts is None else reduce_array("sum", counts, None)
    if reduction == "mean":
        total = total / size
    return xp.asarray(total, input.dtype), xp.asarray(size, input.dtype)


@nll_loss_op.meta
def _(xp, input, target, weight, reduction, ignore_index):
    return xp.empty(target.shape if reduction == "none" else (), input.dtype), xp.empty((), input.dtype)


@nll_loss_op.gradient("input")
def _(grads, input_shape, target, weight, later_outputs, reduction, ignore_index):
    return nll_loss_gradient.op(grads[0], target, weight, later_outputs[0], input_shape, reduction, ignore_index)


@nll_loss_op.vmap
def _(batch):
    input, target, weight, reduction, ignore_index = batch.as_seen()
    counts = counts_of(target, weight, ignore_index, input)
    losses = -gather_classes(input, target, ignore_index) * counts
    if reduction == "none":
        return batch.whole((losses, input.new_zeros(())))
    size = counts.sum()
    return batch.whole((losses.sum() / size if reduction == "mean" else losses.sum(), size))


@op(tensors="output_grad target weight total_weight", compute_dtype="native", namespace="nn")
def nll_loss_gradient(
    output_grad: Tensor,
    target: Tensor,
    weight: Tensor | None,
    total_weight: Tensor,
    shape: tuple[int, ...],
    reduction: str,
    ignore_index: int,
) -> Tensor:
    """The gradient of `nll_loss` with respect to its input."""
    return nll_loss_gradient.op(output_grad, target, weight, total_weight, shape, reduction, ignore_index)


@nll_loss_gradient.kernel
def _(xp, output_grad, target, weight, total_weight, shape, reduction, ignore_index):
    wide = xp.float32 if output_grad.dtype.itemsize == 2 else output_grad.dtype
    target = places_last(target)
    safe, counts = class_weights(xp, target, weight, ignore_index, wide)
    share = -(places_last(output_grad) if output_grad.ndim else output_grad).astype(wide, copy=False)
    if reduction == "mean":
        share = share / total_weight.astype(wide)
    if counts is not None:
        share = xp.where(counts == 0, xp.zeros((), wide), counts * share)
    result = xp.zeros(shape, output_grad.dtype)
    by_place(result)[places_of(xp, safe)] = share.astype(output_grad.dtype, copy=False)
    return result


@nll_loss_gradient.meta
def _(xp, output_grad, target, weight, total_weight, shape, reduction, ignore_index):
    return xp.empty(shape, output_grad.dtype)


@nll_loss_gradient.gradient("output_grad")
def _(grad, target, weight, reduction, ignore_index):
    return nll_loss_op.op(grad, target, weight, reduction, ignore_index)[0]


@nll_loss_gradient.vmap
def _(batch):
    output_grad, target, weight, total_weight, shape, reduction, ignore_index = batch.as_seen()
    share = -output_grad * counts_of(target, weight, ignore_index, output_grad)
    if reduction == "mean":
        share = share / total_weight
    classes = target.masked_fill(target == ignore_index, 0).unsqueeze(1)
    return batch.whole(output_grad.new_zeros(shape).scatter(1, classes, share.unsqueeze(1)))


@in_full_precision
@documented(reduction=REDUCTION)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negated log-probability of each sample's class.

    Parameters
    ----------
    input : Tensor, shape (C,), (N, C) or (N, C, ...)
        Logarithms of probabilities.
    target : Tensor of int64, shape (), (N,) or (N, ...)
        Classes.
    weight : Tensor, shape (C,), optional
        Of each class; the mean is weighted.
    ignore_index : int
        Samples of this class count nothing.
    {reduction}

    Raises
    ------
    IndexError
        If a class is out of range.
    ValueError, RuntimeError
        If shapes do not fit together, or ``weight`` requires grad.

    Examples
    --------
    >>> log_probs = weft.tensor([[0.5, 0.25, 0.25]]).log()
    >>> weft.nn.functional.nll_loss(log_probs, weft.tensor([1]))  # log(4)
    tensor(1.3863)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    check_reduction("nll_loss", reduction)
    ignore_index = whole_number("nll_loss", "ignore_index", ignore_index)
    check_classes("nll_loss", input, target, weight)
    options = (weight, reduction, ignore_index)
    if input._array.ndim > 1:
        loss: Tensor = positioned("nll_loss", IndexError, nll_loss_op.op, input, target, *options)[0]
        return loss
    one, chosen = input.reshape(1, input.shape[0], 1), target.reshape(1, 1)
    loss = positioned("nll_loss", IndexError, nll_loss_op.op, one, chosen, *options)[0]
    return loss.reshape(target.shape) if reduction == "none" else loss


def check_weight_dtype(name: str, input: Tensor, weight: Tensor) -> None:
    """The weights of classes have the dtype of the input."""
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: expected scalar type {input.dtype.scalar_type_name} but found {weight.dtype.scalar_type_name}: "
            "weight needs the dtype of the input"
        )


def check_classes(name: str, input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Shapes and dtype of classes and their weights fit the input."""
    scores = input._array.shape
    if len(scores) == 2 and target._array.shape == scores[:1] and target._key.dtype is weft.int64 and weight is None:
        return  # as most are
    if input.ndim < 1:
        raise ValueError(f"{name}: Expected 1 or more dimensions (got 0): input is (C,) or (N, C, ...)")
    batch, classes = (1, input.shape[0]) if input.ndim == 1 else input.shape[:2]
    if input.ndim > 1 and target.ndim and target.shape[0] != batch:
        raise ValueError(
            f"{name}: Expected input batch_size ({batch}) to match target batch_size ({target.shape[0]}); got input "
            f"{tuple(input.shape)} and target {tuple(target.shape)}"
        )
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(
            f"{name}: expected target dtype to be Long or Byte, for class indices, but got {target.dtype}; convert "
            "with .long()"
        )
    expected = () if input.ndim == 1 else (batch, *input.shape[2:])
    if tuple(target.shape) != expected and not (input.ndim == 1 and tuple(target.shape) == (1,)):
        raise RuntimeError(
            f"{name}: Expected target size {list(expected)} for input {list(input.shape)}, one class for each sample, "
            f"but got {list(target.shape)}"
        )
    if weight is not None:
        check_weight_dtype(name, input, weight)
    if weight is not None and weight.requires_grad and weft.is_grad_enabled():
        raise RuntimeError(
            f"{name}: the loss is not differentiable with respect to argument 'weight'; this input cannot have "
            "requires_grad True: pass weight.detach()"
        )
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"{name}: weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )


def check_class_range(
    name: str, target: Tensor, classes: int, ignore_index: int, refusal: type[Exception] = IndexError
) -> None:
    """Every class is in range; kernels look at those on a device."""
    if target._key.device.type == "cpu":
        positioned(name, refusal, check_class_values, memory_of(target), classes, ignore_index)


def check_class_values(values: Any, classes: int, ignore_index: int) -> None:
    """`check_class_range` for kernels."""
    if not isinstance(values, numpy.ndarray) or not values.size:
        return
    if all_within(values, classes):
        return
    wrong = ((values < 0) | (values >= classes)) & (values != ignore_index)
    if wrong.any():
        raise OutOfRange(
            f"Target {int(values[wrong].flat[0])} is out of bounds for {classes} classes; classes are 0 to "
            f"{classes - 1}, or ignore_index={ignore_index}"
        )


def check_on_device(xp: Any, name: str, target: Any, classes: int, ignore_index: int) -> None:
    """`check_class_values` of a device's array, which waits for nothing."""
    check_positions(xp, name, xp.where(target == ignore_index, 0, target), 1, classes)


@op(
    tensors="input target weight",
    compute_dtype="float32",
    rounds_to="input float32 float32",
    dtypes="float",
    namespace="nn",
    name="cross_entropy",
)
def cross_entropy_op(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int, smoothing: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The cross entropy of classes (N, ...) and the softmax of scores (N, C, ...).

    With it come what the mean is divided by, and for each place the largest score and the logarithm of the sum of the
    exponentials, (2, N, ...): with them the gradient needs one pass.
    """
    return cross_entropy_op.op(input, target, weight, reduction, ignore_index, smoothing)


@cross_entropy_op.kernel
def _(xp, input, target, weight, reduction, ignore_index, smoothing):
    if is_one_each(xp, input, target, weight, ignore_index, smoothing):
        return losses_of_rows(xp, input, target, reduction)
    if not is_numpy(xp):
        check_on_device(xp, "cross_entropy", target, input.shape[1], ignore_index)
    shape = target.shape
    input, target = by_place(input), places_last(target)
    most = peaks(xp, input, 1)
    shifted = input - most
    sums = xp.log(reduce_array("sum", xp.exp(shifted), 1, True))
    shifted -= sums
    safe, counts = class_weights(xp, target, weight, ignore_index, input.dtype)
    losses = -shifted[places_of(xp, safe)]
    if counts is not None:
        losses = xp.where(counts == 0, xp.zeros((), input.dtype), losses * counts)
    if smoothing:
        spread = reduce_array("sum", shifted if weight is None else shifted * weight[:, None], 1) / -input.shape[1]
        spread[target == ignore_index] = 0
        losses = losses * (1 - smoothing) + spread * smoothing
    statistics = xp.concatenate([most, sums], axis=1).transpose(1, 0, 2).reshape(2, *shape)
    if reduction == "none":
        return losses.reshape(shape), xp.zeros((), input.dtype), statistics
    size = array_of(xp, safe.size, input.dtype) if counts is None else reduce_array("sum", counts, None)
    total = reduce_array("sum", losses, None)
    return xp.asarray(total / size if reduction == "mean" else total), xp.asarray(size), statistics


@cross_entropy_op.onnx
def _(graph, input, target, weight, reduction, ignore_index, smoothing):
    scores = graph.LogSoftmax(input, axis=1)
    losses, counts = class_losses(graph, scores, target, weight, ignore_index)
    if smoothing:
        spread = scores if weight is None else graph.Mul(scores, graph.by_dim(weight, 1, input.ndim))
        spread = graph.Neg(graph.Div(graph.reduce("ReduceSum", spread, [1], False), input.shape[1]))
        spread = graph.where(graph.Equal(target, ignore_index), graph.value(0.0, input), spread)
        losses = graph.Add(graph.Mul(losses, 1 - smoothing), graph.Mul(spread, smoothing))
    return [*class_mean(graph, losses, counts, reduction), None]


def class_losses(graph: Any, scores: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """The weighted losses of `nll_loss` in an ONNX graph, and their weights."""
    ignored = graph.Equal(target, ignore_index)
    safe = graph.where(ignored, graph.value(0, target), target)
    picked = graph.GatherElements(scores, graph.Unsqueeze(safe, graph.sizes([1])), axis=1)
    counts = graph.full_like(safe, 1) if weight is None else graph.Gather(weight, safe, axis=0)
    counts = graph.where(ignored, graph.constant(0.0, scores), graph.cast(counts, scores.dtype))
    return graph.Neg(graph.Mul(graph.Squeeze(picked, graph.sizes([1])), counts)), counts


def class_mean(graph: Any, losses: Any, counts: Any, reduction: str) -> list[Any]:
    """Losses as the reduction wants them, and the sum of their weights."""
    size = graph.ReduceSum(counts, keepdims=0)
    if reduction == "mean":
        return [graph.Div(graph.ReduceSum(losses, keepdims=0), size), size]
    return [graph.reduced(losses, reduction), size]


def is_one_each(xp: Any, input: Any, target: Any, weight: Any, ignore_index: int, smoothing: float) -> bool:
    """Whether each row of scores has one class, and all of them count the same."""
    if weight is not None or smoothing or input.ndim != 2 or not input.shape[1]:
        return False
    return not some_ignored(xp, target, ignore_index)


def losses_of_rows(xp: Any, input: Any, target: Any, reduction: str) -> tuple[Any, Any, Any]:
    """The results of `cross_entropy_op` where each row of scores has one class, and all of them count the same."""
    count = len(target)
    highest = peaks(xp, input, 1)
    shifted = input - highest
    statistics = xp.empty((2, count), input.dtype)
    statistics[0] = highest[:, 0]
    sums = xp.log(rows_total(xp.exp(shifted), False), statistics[1])
    losses = sums - shifted[xp.arange(count), target]
    if reduction == "none":
        return losses, xp.zeros((), input.dtype), statistics
    total, size = rows_total(losses.reshape(1, count), False), xp.asarray(count, input.dtype)
    if reduction == "mean":
        total /= size
    return total.reshape(()), size, statistics


@cross_entropy_op.meta
def _(xp, input, target, weight, reduction, ignore_index, smoothing):
    losses = xp.empty(target.shape if reduction == "none" else (), input.dtype)
    return losses, xp.empty((), input.dtype), xp.empty((2, *target.shape), input.dtype)


@cross_entropy_op.gradient("input")
def _(grads, input, target, weight, later_outputs, reduction, ignore_index, smoothing):
    total, statistics = later_outputs
    if local.grad_enabled:
        return cross_entropy_slope(grads[0], input, target, weight, total, reduction, ignore_index, smoothing)
    return cross_entropy_gradient.op(
        grads[0], input, target, weight, total, statistics, reduction, ignore_index, smoothing
    )


@cross_entropy_op.vmap
def _(batch):
    input, target, weight, reduction, ignore_index, smoothing = widened(*batch.as_seen())
    shape = target.shape
    input, target = by_place(input), places_last(target)
    logarithms = log_softmax_op.op(input, 1)
    loss, size = nll_loss_op.op(logarithms, target, weight, reduction, ignore_index)
    if smoothing:
        loss = smoothed(loss, logarithms, target, weight, reduction, smoothing, ignore_index, 1)
    most = input.amax(1)
    statistics = weft.stack([most, input.select(1, 0) - logarithms.select(1, 0) - most])
    loss = (loss.reshape(shape) if reduction == "none" else loss).to(batch.args[0].dtype)
    return batch.whole((loss, size, statistics.reshape(2, *shape)))


def cross_entropy_slope(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    total: Tensor,
    reduction: str,
    ignore_index: int,
    smoothing: float,
) -> Tensor:
    """The gradient of `cross_entropy` in ops that are differentiable again."""
    shape, element = input.shape, input.dtype
    grad, input, weight, total = widened(grad, input, weight, total)
    input, target = by_place(input), places_last(target)
    share = grad / total.detach() if reduction == "mean" else grad
    share = share.reshape(target.shape) if reduction == "none" else share.expand(target.shape)
    ignored = target == ignore_index
    share = share.masked_fill(ignored, 0)  # also where all are ignored, and their mean is nan
    own = share * counts_of(target, weight, ignore_index, input) * (1 - smoothing)
    classes = target.masked_fill(ignored, 0).unsqueeze(1)
    size = input.shape[1]
    every = input.new_ones(size) if weight is None else weight
    each = (share * (smoothing / size)).unsqueeze(1) * every.unsqueeze(-1)
    wanted = each.scatter_add(1, classes, own.unsqueeze(1))
    slope: Tensor = log_softmax_op.op(input, 1).exp() * wanted.sum(1, keepdim=True) - wanted
    return slope.reshape(shape).to(element)


@op(
    tensors="output_grad input target weight total statistics",
    compute_dtype="float32",
    dtypes="float",
    gradient="refused",
    namespace="nn",
)
def cross_entropy_gradient(
    output_grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    total: Tensor,
    statistics: Tensor,
    reduction: str,
    ignore_index: int,
    smoothing: float,
) -> Tensor:
    """The gradient of `cross_entropy` with respect to its input."""
    return cross_entropy_gradient.op(
        output_grad, input, target, weight, total, statistics, reduction, ignore_index, smoothing
    )


@cross_entropy_gradient.vmap
def _(batch):
    output_grad, input, target, weight, total, _, *options = batch.as_seen()
    return batch.whole(cross_entropy_slope(output_grad, input, target, weight, total, *options))


@cross_entropy_gradient.kernel
def _(xp, output_grad, input, target, weight, total, statistics, reduction, ignore_index, smoothing):
    shape = input.shape
    share = output_grad / total if reduction == "mean" else output_grad
    if is_one_each(xp, input, target, weight, ignore_index, smoothing):
        return slope_of_rows(xp, share, input, target, statistics)
    share = xp.broadcast_to(share, target.shape)
    share, target = places_last(share), places_last(target)
    share = xp.where(target == ignore_index, input.dtype.type(0), share)  # also where all are, and their mean is nan
    input, statistics = by_place(input), statistics.reshape(2, *target.shape)
    safe, counts = class_weights(xp, target, weight, ignore_index, input.dtype)
    own = share * (1 - smoothing) if counts is None else share * counts * (1 - smoothing)
    every = array_of(xp, 1, input.dtype) if weight is None else weight[:, None]
    each = share * input.dtype.type(smoothing / input.shape[1])
    whole = reduce_array("sum", xp.broadcast_to(every, (input.shape[1], 1)), None)
    result = input - statistics[0][:, None]
    result -= statistics[1][:, None]
    xp.exp(result, out=result)
    result *= (own + each * whole)[:, None]
    if smoothing:
        result -= each[:, None] * every
    result[places_of(xp, safe)] -= own
    return result.astype(input.dtype, copy=False).reshape(shape)


@cross_entropy_gradient.meta
def _(xp, output_grad, input, target, weight, total, statistics, reduction, ignore_index, smoothing):
    return xp.empty(input.shape, input.dtype)


def slope_of_rows(xp: Any, share: Any, input: Any, target: Any, statistics: Any) -> Any:
    """The gradient where each row of scores has one class, and all of them count the same."""
    result = input - statistics[0][:, None]
    result -= statistics[1][:, None]
    xp.exp(result, out=result)
    result[xp.arange(len(target)), target] -= 1
    result *= share[:, None] if share.ndim else share
    return result


USUAL_OPTIONS = ("mean", -100, 0.0)  # of the op


def is_one_class_a_row(values: list[Any], arrays: list[Any]) -> bool:
    """Rows of scores, and a class for each."""
    _, target = values
    scores = arrays[0].shape
    if len(scores) != 2 or arrays[1].shape != scores[:1]:
        return False
    check_class_range("cross_entropy", target, scores[1], -100)
    return True


@composite(
    fast_path=FastPath(
        cross_entropy_op.op,
        prepare=is_one_class_a_row,
        takes="input target",
        constants=(None, *USUAL_OPTIONS),
        result="first",
        target="int64",
    ),
    autocast="float32",
)
@documented(reduction=REDUCTION)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of target classes (or probabilities) and the softmax of the input.

    Parameters
    ----------
    input : Tensor, shape (C,), (N, C) or (N, C, ...)
        Unnormalized logarithms of probabilities.
    target : Tensor
        Classes as for `nll_loss`, or probabilities, of the input's shape and a floating dtype.
    weight : Tensor, shape (C,), optional
        Of each class; the mean is weighted.
    ignore_index : int
        Samples of this class count nothing.
    label_smoothing : float
        In [0, 1]: this share of each target is spread over all classes.
    {reduction}

    Raises
    ------
    IndexError
        If a class is out of range.
    ValueError, RuntimeError
        If shapes do not fit together.

    Examples
    --------
    >>> weft.nn.functional.cross_entropy(weft.zeros(1, 4), weft.tensor([2]))  # log(4)
    tensor(1.3863)
    >>> weft.nn.functional.cross_entropy(weft.zeros(1, 4), weft.tensor([[0.0, 0.5, 0.5, 0.0]]))
    tensor(1.3863)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    check_reduction("cross_entropy", reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    ndim = input.ndim
    if ndim < 1:
        raise RuntimeError(f"cross_entropy: input needs at least 1 dimension, got shape {list(input.shape)}")
    by_probability = target._array.shape == input._array.shape and target.dtype.is_floating_point
    if not by_probability:
        if ndim > 1 and target._array.shape == input._array.shape:
            raise RuntimeError(
                "cross_entropy: Expected floating point type for target with class probabilities (it has the shape of "
                f"the input, {list(input.shape)}), got {target.dtype.scalar_type_name}"
            )
        check_classes("cross_entropy", input, target, weight)
        check_class_range("cross_entropy", target, input._array.shape[ndim > 1], ignore_index)
        return entropy_of_classes(input, target, weight, reduction, ignore_index, label_smoothing)
    if ignore_index >= 0:
        raise RuntimeError(
            "cross_entropy: ignore_index is not supported for floating point target: ignore_index cannot be specified "
            "when target contains probabilities"
        )
    dim = 0 if ndim == 1 else 1
    return entropy_of_probabilities(log_softmax_op.op(input, dim), target, weight, reduction, label_smoothing, dim)


def entropy_of_classes(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int, smoothing: float
) -> Tensor:
    """`cross_entropy` for targets that are classes, after the checks."""
    ignore_index = whole_number("cross_entropy", "ignore_index", ignore_index)
    scores, chosen = (input, target) if input.ndim > 1 else (input.unsqueeze(0), target.reshape(1))
    options = (reduction, ignore_index, float(smoothing))
    result = positioned("cross_entropy", IndexError, cross_entropy_op.op, scores, chosen, weight, *options)[0]
    return result.reshape(target.shape) if reduction == "none" and input.ndim == 1 else result


def smoothed(
    loss: Tensor,
    logarithms: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    smoothing: float,
    ignore_index: int,
    dim: int,
) -> Tensor:
    """A share of the loss of each class, in place of that of the target alone."""
    classes = logarithms.shape[dim]
    shaped = None if weight is None else weight.reshape([-1 if d == dim else 1 for d in range(logarithms.ndim)])
    spread = -(logarithms if shaped is None else logarithms * shaped).sum(dim)
    ignored = target == ignore_index
    spread = spread.masked_fill(ignored.reshape(spread.shape), 0)
    if reduction == "none":
        return (1 - smoothing) * loss + (smoothing / classes) * spread.reshape(loss.shape)
    total = spread.sum()
    if reduction == "mean":
        if weight is None:
            total = total / (~ignored).sum().to(total.dtype)
        else:
            total = total / weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0).sum()
    return (1 - smoothing) * loss + (smoothing / classes) * total


def entropy_of_probabilities(
    logarithms: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float, dim: int
) -> Tensor:
    """`cross_entropy` for targets that are probabilities."""
    classes = logarithms.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    product = logarithms * target
    if weight is not None:
        product = product * weight.reshape([-1 if d == dim else 1 for d in range(logarithms.ndim)])
    if reduction == "none":
        return -product.sum(dim)
    if reduction == "sum":
        return -product.sum()
    samples = logarithms.numel() // classes if classes else 0
    return -product.sum() / samples if samples else -product.sum() * math.nan


# Regression


def in_one_pass(input: Tensor, target: Tensor) -> bool:
    """Whether a loss of each pair and its reduction are one op: nothing to promote, broadcast or round between."""
    return (
        input._key is target._key
        and input._key.is_real_float
        and not input.dtype.is_half
        and input._array.shape == target._array.shape
    )


def reduced(xp: Any, losses: Any, reduction: str) -> Any:
    """An array of losses, their mean or their sum."""
    if reduction == "none":
        return losses
    whole = total_of(xp, losses, tuple(range(losses.ndim)), False)
    return xp.asarray(whole if reduction == "sum" else whole / losses.dtype.type(losses.size))


def share_of(grad: Any, size: int, reduction: str) -> Any:
    """The gradient of each loss, by that of the reduced one."""
    return grad / size if reduction == "mean" else grad


@op(tensors="input target", compute_dtype="native", dtypes="float", namespace="nn", name="difference_loss")
def difference_loss_op(
    input: Tensor, target: Tensor, limit: float, curve: float, slope: float, shift: float, reduction: str
) -> Tensor:
    """``curve d**2`` for differences d below ``limit`` in size, else ``slope |d| - shift``; reduced."""
    return difference_loss_op.op(input, target, limit, curve, slope, shift, reduction)


@difference_loss_op.kernel
def _(xp, input, target, limit, curve, slope, shift, reduction):
    difference = xp.asarray(input - target)
    size = xp.absolute(difference)
    if limit == 0:
        return reduced(xp, size * slope, reduction)
    losses = xp.square(difference, out=difference)
    losses *= curve
    return reduced(xp, losses if limit == math.inf else xp.where(size < limit, losses, size * slope - shift), reduction)


@difference_loss_op.gradient("input target")
def _(grad, input, target, limit, curve, slope, reduction, needs):
    if local.grad_enabled:
        by_input = difference_slope(grad, input, target, limit, curve, slope, reduction)
    else:
        by_input = difference_loss_gradient.op(grad, input, target, limit, curve, slope, reduction)
    return by_input, -by_input if needs[1] else None


@difference_loss_op.vmap
def _(batch):
    input, target, limit, curve, slope, shift, reduction = batch.as_seen()
    difference = input - target
    size = difference.abs()
    inside = difference.square() * curve
    losses = inside if limit == math.inf else weft.where(size < limit, inside, size * slope - shift)
    return batch.whole(reduce_loss("difference_loss", losses, reduction))


@difference_loss_op.onnx
def _(graph, input, target, limit, curve, slope, shift, reduction):
    difference = graph.Sub(input, target)
    size = graph.Abs(difference)
    if limit == 0:
        return graph.reduced(graph.Mul(size, slope), reduction)
    losses = graph.Mul(graph.Mul(difference, difference), curve)
    if limit != math.inf:
        losses = graph.where(graph.Less(size, limit), losses, graph.Sub(graph.Mul(size, slope), shift))
    return graph.reduced(losses, reduction)


def difference_slope(
    grad: Tensor, input: Tensor, target: Tensor, limit: float, curve: float, slope: float, reduction: str
) -> Tensor:
    """The gradient of a loss of differences in ops that are differentiable again."""
    difference = input - target
    share = share_of(grad, input.numel(), reduction)
    inside = difference * (2 * curve)
    if limit == math.inf:
        return share * inside
    return share * weft.where(difference.abs() < limit, inside, difference.sgn() * slope)


@op(tensors="output_grad input target", compute_dtype="native", gradient="refused", namespace="nn")
def difference_loss_gradient(
    output_grad: Tensor, input: Tensor, target: Tensor, limit: float, curve: float, slope: float, reduction: str
) -> Tensor:
    """The gradient of a loss of differences with respect to its input; that of its target is the negated one."""
    return difference_loss_gradient.op(output_grad, input, target, limit, curve, slope, reduction)


@difference_loss_gradient.vmap
def _(batch):
    return batch.whole(difference_slope(*batch.as_seen()))


@difference_loss_gradient.kernel
def _(xp, output_grad, input, target, limit, curve, slope, reduction):
    difference = xp.asarray(input - target)
    share = share_of(output_grad, input.size, reduction)
    if limit != math.inf:
        outside = xp.sign(difference) * difference.dtype.type(slope)
        inside = xp.absolute(difference) < limit
        difference *= 2 * curve
        return xp.where(inside, difference, outside) * share
    return difference * xp.asarray(share * 2 * curve, difference.dtype)


@in_full_precision
@documented(reduction=REDUCTION)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference of each pair of elements.

    Parameters
    ----------
    input, target : Tensor
        Of one shape; others that broadcast give a warning.
    weight : Tensor, optional
        Of each element; the mean is weighted.
    {reduction}

    Examples
    --------
    >>> weft.nn.functional.mse_loss(weft.tensor([1.0, 3.0]), weft.tensor([1.0, 1.0]))
    tensor(2.)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    same_sizes("mse_loss", input, target)
    require_real("mse_loss", input, target)
    if weight is None and in_one_pass(input, target):
        check_reduction("mse_loss", reduction)
        return difference_loss_op.op(input, target, math.inf, 1.0, math.inf, 0.0, reduction)
    return weighted("mse_loss", difference_of(input, target).square(), weight, reduction)


def require_loss_dtype(name: str, result: Any, other: Any) -> None:
    """Raise RuntimeError for a loss whose dtype, that of one argument, cannot hold what is computed with the other."""
    if other.is_floating_point and not (result.is_floating_point or result.is_complex):
        raise RuntimeError(
            f"{name}: result type {other.scalar_type_name} can't be cast to the desired output type "
            f"{result.scalar_type_name}; convert the integers with .float()"
        )


def weighted(name: str, loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Losses reduced; with weights the mean is that of the weights."""
    if weight is None:
        return reduce_loss(name, loss, reduction)
    check_reduction(name, reduction)
    if weight.shape != loss.shape:
        raise ValueError(
            f"{name}: Weights and input must have the same size, got {tuple(weight.shape)} and {tuple(loss.shape)}"
        )
    loss = loss * weight
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    return loss.mean() if name == "huber_loss" else loss.sum() / weight.sum()


@in_full_precision
@documented(reduction=REDUCTION)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute difference of each pair of elements.

    Parameters
    ----------
    input, target : Tensor
        Of one shape; others that broadcast give a warning.
    weight : Tensor, optional
        Of each element; the mean is weighted.
    {reduction}

    Examples
    --------
    >>> weft.nn.functional.l1_loss(weft.tensor([1.0, 3.0]), weft.tensor([1.0, 1.0]))
    tensor(1.)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    same_sizes("l1_loss", input, target)
    if weight is None and in_one_pass(input, target):
        check_reduction("l1_loss", reduction)
        return difference_loss_op.op(input, target, 0.0, 0.0, 1.0, 0.0, reduction)
    return weighted("l1_loss", (input - target).abs(), weight, reduction)


@in_full_precision
@documented(reduction=REDUCTION)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``0.5 d**2 / beta`` for differences d below ``beta`` in size, else ``|d| - 0.5 beta``.

    Parameters
    ----------
    input, target : Tensor
        Of one shape; others that broadcast give a warning.
    beta : float
        At least 0.
    {reduction}

    Raises
    ------
    RuntimeError
        If ``beta`` is negative.

    References
    ----------
    arXiv:1504.08083.

    Examples
    --------
    >>> weft.nn.functional.smooth_l1_loss(weft.tensor([0.5, 3.0]), weft.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    same_sizes("smooth_l1_loss", input, target)
    require_real("smooth_l1_loss", input, target)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss: does not support negative values for beta, got beta={beta}")
    if in_one_pass(input, target):
        check_reduction("smooth_l1_loss", reduction)
        curve = 0.5 / beta if beta else 0.0
        return difference_loss_op.op(input, target, float(beta), curve, 1.0, 0.5 * beta, reduction)
    difference = difference_of(input, target)
    size = difference.abs()
    loss = size if beta == 0 else weft.where(size < beta, difference.square() * (0.5 / beta), size - 0.5 * beta)
    return reduce_loss("smooth_l1_loss", loss, reduction)


@in_full_precision
@documented(reduction=REDUCTION_ALONE)
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``0.5 d**2`` for differences d up to ``delta`` in size, else ``delta (|d| - 0.5 delta)``.

    Parameters
    ----------
    input, target : Tensor
        Of one shape; others that broadcast give a warning. The result has the input's dtype.
    delta : float
        Above 0.
    weight : Tensor, optional
        Of each element. Unlike `mse_loss`, the mean of weighted losses is a plain one, as in PyTorch.
    {reduction}

    Raises
    ------
    RuntimeError
        If ``delta`` is not above 0.

    Examples
    --------
    >>> weft.nn.functional.huber_loss(weft.tensor([0.5, 3.0]), weft.zeros(2), reduction="none", delta=2.0)
    tensor([0.1250, 4.0000])
    """
    same_sizes("huber_loss", input, target)
    require_real("huber_loss", input, target)
    require_loss_dtype("huber_loss", input.dtype, target.dtype)
    if not delta > 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta. Got delta={delta}")
    if weight is None and in_one_pass(input, target):
        check_reduction("huber_loss", reduction)
        delta = float(delta)
        return difference_loss_op.op(input, target, delta, 0.5, delta, 0.5 * delta * delta, reduction)
    difference = difference_of(input, target)
    element, difference = difference.dtype, in_single(difference)
    size = difference.abs()
    loss = weft.where(size <= delta, difference.square() * 0.5, (size - 0.5 * delta) * delta).to(element)
    if input.dtype is not element and input.dtype.is_floating_point:
        loss = loss.to(input.dtype)
    return weighted("huber_loss", loss, weight, reduction)


# Likelihoods


@op(
    tensors="input target",
    result="same",
    compute_dtype="float32",
    dtypes="float",
    namespace="nn",
    name="binary_cross_entropy",
    vmap="elementwise",
    autocast="float32",
)
def binary_cross_entropy_op(input: Tensor, target: Tensor) -> Tensor:
    """``-(t log(x) + (1 - t) log(1 - x))`` of each pair of elements, with logarithms of at least -100."""
    return binary_cross_entropy_op.op(input, target)


@binary_cross_entropy_op.kernel
def _(xp, input, target):
    yes = xp.maximum(xp.log(input), input.dtype.type(-100))
    no = xp.maximum(xp.log1p(-input), input.dtype.type(-100))
    return (target - 1) * no - target * yes


@binary_cross_entropy_op.gradient("input")
def _(grad, input, target):
    return grad * (input - target) / ((1 - input) * input).clamp_min(1e-12)


@binary_cross_entropy_op.gradient("target")
def _(grad, input):
    return grad * ((-input).log1p().clamp_min(-100) - input.log().clamp_min(-100))


@binary_cross_entropy_op.onnx
def _(graph, input, target):
    yes, no = graph.Log(input), graph.log1p(graph.Neg(input))
    yes, no = (graph.Max(each, -100.0) for each in (yes, no))
    return graph.Sub(graph.Mul(graph.Sub(target, 1.0), no), graph.Mul(target, yes))


@in_full_precision
@documented(reduction=REDUCTION)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross entropy of probabilities of yes.

    Parameters
    ----------
    input, target : Tensor
        Of one shape, in [0, 1].
    weight : Tensor, broadcastable to it, optional
        Of each element.
    {reduction}

    Raises
    ------
    ValueError
        If the shapes differ.
    RuntimeError
        If an element is not in [0, 1].

    Notes
    -----
    Logarithms are kept above -100, so that the loss of a certain mistake is finite.

    Examples
    --------
    >>> weft.nn.functional.binary_cross_entropy(weft.tensor([0.5, 1.0]), weft.tensor([1.0, 0.0]), reduction="none")
    tensor([  0.6931, 100.0000])
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    require_same_size("binary_cross_entropy", input, target)
    if input.dtype is not target.dtype:
        raise RuntimeError(f"binary_cross_entropy: Found dtype {target.dtype} but expected {input.dtype}")
    refusal = "binary_cross_entropy: all elements of input should be between 0 and 1; for logits use "
    require_between(input, 0, 1, f"{refusal}binary_cross_entropy_with_logits")
    require_between(target, 0, 1, "binary_cross_entropy: all elements of target should be between 0 and 1")
    loss = binary_cross_entropy_op.op(input, target)
    return reduce_loss("binary_cross_entropy", loss if weight is None else loss * weight, reduction)


def require_same_size(name: str, input: Tensor, target: Tensor) -> None:
    """Check that both shapes are the same.

    Raises
    ------
    ValueError
        If they differ.
    """
    if target.shape != input.shape:
        raise ValueError(
            f"{name}: Using a target size ({tuple(target.shape)}) that is different to the input size "
            f"({tuple(input.shape)}): Target size must be the same as input size; reshape one of them"
        )


@op(
    tensors="input target",
    compute_dtype="native",
    dtypes="float",
    namespace="nn",
    name="binary_cross_entropy_with_logits",
)
def logits_loss_op(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """``log(1 + exp(x)) - t x`` of each pair of a logit and a target, reduced."""
    return logits_loss_op.op(input, target, reduction)


@logits_loss_op.kernel
def _(xp, input, target, reduction):
    losses = xp.asarray(-xp.absolute(input))
    xp.exp(losses, out=losses)
    xp.log1p(losses, out=losses)
    losses += xp.maximum(input, 0)
    losses -= input * target
    return reduced(xp, losses, reduction)


@logits_loss_op.gradient("input target")
def _(grad, input, target, reduction, needs):
    by_target = -input * share_of(grad, input.numel(), reduction) if needs[1] else None
    if local.grad_enabled:
        return logits_loss_slope(grad, input, target, reduction), by_target
    return logits_loss_gradient.op(grad, input, target, reduction), by_target


@logits_loss_op.vmap
def _(batch):
    input, target, reduction = batch.as_seen()
    losses = input - target * input - logsigmoid(input)
    return batch.whole(reduce_loss("binary_cross_entropy_with_logits", losses, reduction))


@logits_loss_op.onnx
def _(graph, input, target, reduction):
    losses = graph.Sub(graph.Relu(input), graph.Mul(input, target))
    return graph.reduced(graph.Add(losses, graph.log1p(graph.Exp(graph.Neg(graph.Abs(input))))), reduction)


def logits_loss_slope(grad: Tensor, input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """The gradient of `logits_loss_op` in ops that are differentiable again."""
    return (input.sigmoid() - target) * share_of(grad, input.numel(), reduction)


@op(tensors="output_grad input target", compute_dtype="native", gradient="refused", namespace="nn")
def logits_loss_gradient(output_grad: Tensor, input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """The gradient of `binary_cross_entropy_with_logits` with respect to its input."""
    return logits_loss_gradient.op(output_grad, input, target, reduction)


@logits_loss_gradient.vmap
def _(batch):
    return batch.whole(logits_loss_slope(*batch.as_seen()))


@logits_loss_gradient.kernel
def _(xp, output_grad, input, target, reduction):
    result = xp.asarray(-input)
    xp.exp(result, out=result)
    result += 1
    xp.divide(1, result, out=result)
    result -= target
    return result * xp.asarray(share_of(output_grad, input.size, reduction), result.dtype)


@in_full_precision
@documented(reduction=REDUCTION)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of the sigmoid of the input, computed without loss of precision.

    Parameters
    ----------
    input, target : Tensor
        Of one shape: logits, and numbers in [0, 1].
    weight : Tensor, broadcastable to it, optional
        Of each element.
    pos_weight : Tensor, broadcastable to it, optional
        Of the positive part.
    {reduction}

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> logits, target = weft.tensor([0.0, 1000.0]), weft.tensor([1.0, 0.0])
    >>> weft.nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    tensor([6.9315e-01, 1.0000e+03])
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    require_same_size("binary_cross_entropy_with_logits", input, target)
    require_loss_dtype("binary_cross_entropy_with_logits", target.dtype, input.dtype)
    if input.dtype is not target.dtype and input.dtype.is_floating_point and target.dtype.is_floating_point:
        common = weft.promote_types(input.dtype, target.dtype)
        loss = binary_cross_entropy_with_logits(
            input.to(common), target.to(common), weight=weight, reduction=reduction, pos_weight=pos_weight
        )
        return loss.to(target.dtype)
    if pos_weight is None and in_one_pass(input, target):
        check_reduction("binary_cross_entropy_with_logits", reduction)
        if weight is None:
            return logits_loss_op.op(input, target, reduction)
        loss = logits_loss_op.op(input, target, "none") * weight
        return reduce_loss("binary_cross_entropy_with_logits", loss, reduction)
    logarithm = logsigmoid(input)
    if pos_weight is not None:
        logarithm = logarithm * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - logarithm
    return reduce_loss("binary_cross_entropy_with_logits", loss if weight is None else loss * weight, reduction)


@in_full_precision
@documented(reduction=REDUCTION)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of the target from the input: ``target * (log(target) - input)``.

    Parameters
    ----------
    input : Tensor
        Logarithms of probabilities.
    target : Tensor, of the same shape
        Probabilities.
    log_target : bool
        The target is given as logarithms, too.
    {reduction}

    Notes
    -----
    The divergence of a batch is ``reduction="batchmean"``, the sum divided by N; "mean" divides by all elements.

    Examples
    --------
    >>> log_probs, target = weft.tensor([[0.5, 0.5]]).log(), weft.tensor([[1.0, 0.0]])
    >>> weft.nn.functional.kl_div(log_probs, target, reduction="batchmean")  # log(2)
    tensor(0.6931)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    if reduction == "mean":
        warn_caller(
            "kl_div: reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' "
            "divides only by the batch size, and aligns with the KL div math definition."
        )
    require_flags("kl_div", log_target=log_target)
    element = weft.promote_types(input.dtype, target.dtype)
    for each in (input, target):
        if not each.dtype.is_floating_point:
            raise RuntimeError(
                f"kl_div: expected floating-point input and target, got {input.dtype} and {target.dtype}"
            )
    input, target = in_single(input), in_single(target)
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction == "batchmean":
        result = loss.sum() / input.shape[0] if input.ndim else loss.sum()
    else:
        result = reduce_loss("kl_div", loss, reduction)
    return result.to(element) if element.is_half else result


@in_full_precision
@documented(reduction=REDUCTION)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negated log-likelihood of counts, by their expectation (or its logarithm).

    Parameters
    ----------
    input : Tensor
        Expectations, or their logarithms.
    target : Tensor
        Counts.
    log_input : bool
        The input is the logarithm of the expectation.
    full : bool
        Add Stirling's approximation of the constant, for counts above 1.
    eps : float
        Added to the expectation before its logarithm is taken.
    {reduction}

    Examples
    --------
    >>> log_rate, count = weft.tensor([0.0, 1.0]), weft.tensor([1.0, 3.0])
    >>> weft.nn.functional.poisson_nll_loss(log_rate, count, reduction="none")  # exp(log_rate) - count * log_rate
    tensor([ 1.0000, -0.2817])
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    require_flags("poisson_nll_loss", log_input=log_input, full=full)
    require_numbers("poisson_nll_loss", eps=eps)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss("poisson_nll_loss", loss, reduction)


@documented(reduction=REDUCTION_ALONE)
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float | Tensor = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negated log-likelihood of normally distributed targets.

    Parameters
    ----------
    input, target : Tensor
        Expectations, and what was seen.
    var : Tensor or float
        Variances: of the input's shape, or without its last dimension, or with size 1 there.
    full : bool
        Add the constant, ``log(2 * pi) / 2``.
    eps : float
        Smallest variance; the limit does not stop gradients.
    {reduction}

    Raises
    ------
    ValueError
        If a variance is negative, or the shapes do not fit.

    Examples
    --------
    >>> mean, target, variance = weft.zeros(2), weft.tensor([0.0, 2.0]), weft.tensor([1.0, 4.0])
    >>> weft.nn.functional.gaussian_nll_loss(mean, target, variance, reduction="none")
    tensor([0.0000, 1.1931])
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("gaussian_nll_loss: var has negative entry/entries")
        variance: Tensor = var * weft.ones_like(input)
    elif input.shape[:-1] == var.shape != input.shape:
        variance = var.unsqueeze(-1)
    else:
        variance = var
        differing = [one for size, one in zip(input.shape, var.shape) if size != one]
        if input.ndim != var.ndim or differing not in ([], [1]):
            raise ValueError(
                f"gaussian_nll_loss: var is of incorrect size: {tuple(var.shape)} for input {tuple(input.shape)}"
            )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"gaussian_nll_loss: {reduction} is not valid; choose 'none', 'mean' or 'sum'")
    if values_known(variance) and bool((variance < 0).any()):
        raise ValueError("gaussian_nll_loss: var has negative entry/entries")
    raised = variance + (eps - variance.detach())  # whose gradient is that of the variance
    variance = weft.where(variance < eps, raised, variance)
    loss = 0.5 * (variance.log() + (input - target).square() / variance)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss("gaussian_nll_loss", loss, reduction)


# Margins


@in_full_precision
@documented(reduction=REDUCTION)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The distance x where the target is 1, and what it is short of ``margin`` where it is -1.

    Parameters
    ----------
    input, target : Tensor
        Distances, and 1 or -1.
    margin : float
        In the units of input.
    {reduction}

    Examples
    --------
    >>> distances, target = weft.tensor([0.3, 0.3, 2.0]), weft.tensor([1, -1, -1])
    >>> weft.nn.functional.hinge_embedding_loss(distances, target, reduction="none")
    tensor([0.3000, 0.7000, 0.0000])
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    short = (margin - input).clamp_min(0)
    loss = weft.where(target != 1, short, 0.0) + weft.where(target != -1, input, 0.0)
    return reduce_loss("hinge_embedding_loss", loss, reduction)


@in_full_precision
@documented(reduction=REDUCTION)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What ``target * (input1 - input2)`` is short of ``margin``.

    Parameters
    ----------
    input1, input2 : Tensor
    target : Tensor
        1 where the first input should be the greater one, -1 where the second.
    margin : float
        In the units of the inputs.
    {reduction}

    Raises
    ------
    RuntimeError
        If the numbers of dimensions differ.

    Examples
    --------
    >>> first, second = weft.tensor([1.0, 1.0]), weft.tensor([0.0, 3.0])
    >>> weft.nn.functional.margin_ranking_loss(first, second, weft.tensor([1.0, 1.0]), reduction="none")
    tensor([0., 2.])
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{list(input1.shape)}, input2: {list(input2.shape)}, target: {list(target.shape)}"
        )
    loss = (-target * (input1 - input2) + float(margin)).clamp_min(0)
    return reduce_loss("margin_ranking_loss", loss, reduction)


@in_full_precision
@documented(reduction=REDUCTION)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` of the angle between vectors where the target is 1, and ``cos - margin`` (or 0) where it is -1.

    Parameters
    ----------
    input1, input2 : Tensor, shape (N, D) or (D,)
    target : Tensor, shape (N,) or ()
    margin : float
        A cosine, -1 to 1.
    {reduction}

    Raises
    ------
    RuntimeError
        If the shapes do not fit together.

    Examples
    --------
    >>> first, second = weft.tensor([[1.0, 0.0], [1.0, 0.0]]), weft.tensor([[0.0, 1.0], [3.0, 4.0]])
    >>> weft.nn.functional.cosine_embedding_loss(first, second, weft.tensor([1, -1]), reduction="none")
    tensor([1.0000, 0.6000])
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    if target.ndim not in (0, 1) or input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        wanted = (
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors"
            if target.ndim in (0, 1)
            else "0D or 1D target tensor expected, multi-target not supported; inputs have one dimension more"
        )
        raise RuntimeError(
            f"cosine_embedding_loss: {wanted}, but found sizes: input1 {list(input1.shape)}, input2 "
            f"{list(input2.shape)}, target {list(target.shape)}"
        )
    eps = 1e-12
    first, second = input1.square().sum(-1) + eps, input2.square().sum(-1) + eps
    cosine = (input1 * input2).sum(-1) / (first * second).sqrt()
    zero = weft.zeros_like(cosine)
    loss = weft.where(target == 1, 1 - cosine, zero) + weft.where(target == -1, (cosine - margin).clamp_min(0), zero)
    return reduce_loss("cosine_embedding_loss", loss, reduction)


@in_full_precision
@documented(reduction=REDUCTION)
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``.

    Parameters
    ----------
    input, target : Tensor
        Scores, and 1 or -1.
    {reduction}

    Examples
    --------
    >>> weft.nn.functional.soft_margin_loss(weft.tensor([0.0, 2.0]), weft.tensor([1.0, -1.0]), reduction="none")
    tensor([0.6931, 2.1269])
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    if broadcast_shapes("soft_margin_loss", [input._array.shape, target._array.shape]) != input._array.shape:
        raise RuntimeError(
            f"soft_margin_loss: target of shape {list(target.shape)} does not broadcast to input {list(input.shape)}"
        )
    require_loss_dtype("soft_margin_loss", input.dtype, target.dtype)
    loss = -logsigmoid(input * target)
    if loss.dtype is not input.dtype and input.dtype.is_floating_point:
        loss = loss.to(input.dtype)
    return reduce_loss("soft_margin_loss", loss, reduction)


@documented(reduction=REDUCTION)
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of `binary_cross_entropy_with_logits`.

    Parameters
    ----------
    input, target : Tensor, shape (N, C) or (C,)
        Logits, and 0 or 1.
    weight : Tensor, shape (C,), optional
        Of each class.
    {reduction}

    Examples
    --------
    >>> weft.nn.functional.multilabel_soft_margin_loss(weft.zeros(1, 3), weft.tensor([[1.0, 0.0, 1.0]]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduce_loss("multilabel_soft_margin_loss", loss.sum(-1) / input.shape[-1], reduction)


@in_full_precision
@documented(reduction=REDUCTION)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over other classes of how far they come within ``margin`` of the target's, to the power p.

    Parameters
    ----------
    input : Tensor, shape (N, C) or (C,)
    target : Tensor of int64, shape (N,) or ()
    p : 1 or 2
    margin : float
        In the units of input.
    weight : Tensor, shape (C,), optional
        Of each class.
    {reduction}

    Raises
    ------
    ValueError, RuntimeError
        If ``p`` is another number, or shapes do not fit together, or a class is out of range.

    Examples
    --------
    >>> weft.nn.functional.multi_margin_loss(weft.tensor([[0.1, 0.2, 0.4, 0.8]]), weft.tensor([3]))
    tensor(0.3250)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    check_reduction("multi_margin_loss", reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: only p == 1 and p == 2 supported, got p={p}")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"multi_margin_loss: weight must be one-dimensional, got shape {list(weight.shape)}")
    require_rows("multi_margin_loss", input)
    rows, classes = (input.unsqueeze(0) if input.ndim < 2 else input), input.shape[-1] if input.ndim else 1
    if target.ndim > 1 or target.numel() != rows.numel() // classes:
        raise RuntimeError(
            "multi_margin_loss: inconsistent target size: target tensor should be 1-D with size equal to the batch of "
            f"input {list(input.shape)}. Expected target size [{rows.numel() // classes}], but got {list(target.shape)}"
        )
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(
            f"multi_margin_loss: inconsistent weight size, expected {classes} but got {list(weight.shape)}"
        )
    require_classes("multi_margin_loss", target)
    check_floating("multi_margin_loss", input)
    if weight is not None:
        check_weight_dtype("multi_margin_loss", input, weight)
    rows, index = rows.reshape(-1, classes), target.reshape(-1, 1)
    check_class_range("multi_margin_loss", target, classes, -1 - classes, RuntimeError)
    excess = margin - rows.gather(1, index) + rows
    excess = weft.where(excess > 0, excess, 0)  # nan is no excess
    if p == 2:
        excess = excess.square()
    if weight is not None:
        excess = excess * weight[index]
    others = weft.ones_like(excess.detach()).scatter(1, index, 0.0)
    loss = (excess * others).sum(1) / classes
    return reduce_loss("multi_margin_loss", loss.reshape(target.shape), reduction)


def require_classes(name: str, target: Tensor) -> None:
    """Classes are of int64.

    Raises
    ------
    RuntimeError
        If they are not.
    """
    if target.dtype is not weft.int64:
        raise RuntimeError(
            f"{name}: target: expected scalar type Long but found {target.dtype.scalar_type_name}; convert with .long()"
        )


def require_rows(name: str, input: Tensor) -> None:
    """Scores are a number, a vector, or a batch of vectors, and vectors are not empty.

    Raises
    ------
    RuntimeError
        If they are not.
    """
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )


@in_full_precision
@documented(reduction=REDUCTION)
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How far other classes come within 1 of each target class, summed and divided by the number of classes.

    Parameters
    ----------
    input : Tensor, shape (N, C) or (C,)
    target : Tensor of int64, of the same shape
        Classes, ended by the first -1 of a row.
    {reduction}

    Raises
    ------
    RuntimeError
        If the shapes differ, the target is not of int64, or a class is out of range.

    Examples
    --------
    >>> scores = weft.tensor([0.1, 0.2, 0.4, 0.8])
    >>> weft.nn.functional.multilabel_margin_loss(scores, weft.tensor([3, 0, -1, 1]))  # the classes are 3 and 0
    tensor(0.8500)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    check_reduction("multilabel_margin_loss", reduction)
    require_rows("multilabel_margin_loss", input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"multilabel_margin_loss: inconsistent target size: {list(target.shape)} for input of size: "
            f"{list(input.shape)}"
        )
    require_classes("multilabel_margin_loss", target)
    check_floating("multilabel_margin_loss", input)
    classes = input.shape[-1] if input.ndim else 1
    rows, index = input.reshape(-1, classes), target.reshape(-1, classes)
    named = (index >= 0).to(weft.int64).cumprod(1) == 1  # up to the first negative one
    check_class_range("multilabel_margin_loss", index, classes, -1, RuntimeError)
    safe = index.masked_fill(~named, 0)
    is_target = weft.zeros_like(rows.detach()).scatter_add(1, safe, named.to(rows.dtype)) > 0
    excess = (1 - rows.gather(1, safe).unsqueeze(2) + rows.unsqueeze(1)).clamp_min(0)  # (N, target, class)
    counted = (named.unsqueeze(2) & ~is_target.unsqueeze(1)).to(rows.dtype)
    loss = (excess * counted).sum((1, 2)) / classes
    return reduce_loss("multilabel_margin_loss", loss.reshape(input.shape[:-1]), reduction)


@in_full_precision
@documented(reduction=REDUCTION)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How far the anchor's distance to the negative is short of that to the positive plus ``margin``.

    Parameters
    ----------
    anchor, positive, negative : Tensor, shape (N, D) or (D,)
    margin : float
        In the units of the distances.
    p, eps : float
        See `pairwise_distance`.
    swap : bool
        Use the distance of positive and negative where that is less.
    {reduction}

    References
    ----------
    http://www.bmva.org/bmvc/2016/papers/paper119/index.html

    Examples
    --------
    >>> anchor, positive, negative = weft.tensor([[0.0]]), weft.tensor([[1.0]]), weft.tensor([[1.5]])
    >>> weft.nn.functional.triplet_margin_loss(anchor, positive, negative)  # 1 - 1.5 + 1
    tensor(0.5000)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be greater than 0, got {margin}")

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return weft.pairwise_distance(a, b, p, eps)

    return triplets("triplet_margin_loss", anchor, positive, negative, distance, margin, swap, reduction)


@documented(reduction=REDUCTION_ALONE)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float | Tensor = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance.

    Parameters
    ----------
    anchor, positive, negative : Tensor
    distance_function : callable, optional
        Of two tensors; by default `pairwise_distance`.
    margin : float
        In the units of the distances.
    swap : bool
        Use the distance of positive and negative where that is less.
    {reduction}

    Examples
    --------
    >>> anchor, positive, negative = weft.tensor([[0.0, 0.0]]), weft.tensor([[1.0, 0.5]]), weft.tensor([[0.0, 1.5]])
    >>> weft.nn.functional.triplet_margin_with_distance_loss(
    ...     anchor, positive, negative, distance_function=lambda a, b: (a - b).abs().amax(-1)
    ... )
    tensor(0.5000)
    """
    name = "triplet_margin_with_distance_loss"
    check_reduction(name, reduction)
    if margin <= 0:
        raise ValueError(f"{name}: margin must be greater than 0, got {margin}")
    return triplets(
        name, anchor, positive, negative, distance_function or weft.pairwise_distance, margin, swap, reduction
    )


def triplets(
    name: str,
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Any,
    margin: float | Tensor,
    swap: bool,
    reduction: str,
) -> Tensor:
    """The triplet loss for any distance."""
    require_flags(name, swap=swap)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"{name}: The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = weft.minimum(far, distance(positive, negative))
    return reduce_loss(name, (margin + near - far).clamp_min(0), reduction)


POLICIES = ("accurate", "balanced", "compact", "auto")


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` may split its work to save memory, and in what dtype it adds up.

    Parameters
    ----------
    allow_retain_graph, batch_chunk_size, chunking_method
        Checked; the result does not depend on them.
    acc_policy : "accurate", "balanced", "compact" or "auto"
        With "auto", float16 and bfloat16 are computed in float32 and rounded once.
    acc_dtype : dtype, optional
        float32 does the same with every policy.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in POLICIES:
            raise ValueError(
                f"LinearCrossEntropyOptions: invalid acc_policy {self.acc_policy!r}; expected one of "
                f"{', '.join(POLICIES)}"
            )
        method, _, factor = (self.chunking_method or "auto").partition(":")
        if method not in ("auto", "aspect_ratio") or (factor and (method == "auto" or not factor.isdigit())):
            raise ValueError(
                f"LinearCrossEntropyOptions: invalid chunking_method {self.chunking_method!r}; expected 'auto', "
                "'aspect_ratio', 'aspect_ratio:N' or None"
            )
        if self.batch_chunk_size is not None and not (
            isinstance(self.batch_chunk_size, int) and self.batch_chunk_size > 0
        ):
            raise ValueError(
                f"LinearCrossEntropyOptions: batch_chunk_size must be a positive int or None, got "
                f"{self.batch_chunk_size!r}"
            )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """`cross_entropy` of a linear map of the input.

    Parameters
    ----------
    input : Tensor, shape (in_features,) or (N, in_features)
    linear_weight : Tensor, shape (C, ..., in_features)
    target : Tensor
        As for `cross_entropy` of logits (N, C, ...).
    linear_bias : Tensor, shape (C, ...), optional
    weight, reduction, ignore_index, label_smoothing
        See `cross_entropy`.
    options : LinearCrossEntropyOptions, optional
        The dtype to compute in, for a matrix as ``linear_weight``, classes as target and no smoothing; ignored, with
        a warning, for others.

    Raises
    ------
    IndexError
        If a class is out of range.
    ValueError, RuntimeError
        If shapes or options do not fit together.

    Examples
    --------
    >>> weft.nn.functional.linear_cross_entropy(weft.ones(1, 3), weft.zeros(4, 3), weft.tensor([2]))  # log(4)
    tensor(1.3863)
    """
    if linear_weight.ndim < 2:
        raise RuntimeError(
            f"linear_cross_entropy: expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}"
        )
    *shape, features = linear_weight.shape
    if linear_bias is not None and list(linear_bias.shape) != shape:
        raise RuntimeError(
            f"linear_cross_entropy: expected linear_bias shape {tuple(shape)}, got {tuple(linear_bias.shape)}"
        )
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"linear_cross_entropy: expected label_smoothing to be in range [0, 1], got {float(label_smoothing)}"
        )
    if input.ndim not in (1, 2):
        raise RuntimeError(f"linear_cross_entropy: expected input with dimensionality 1 or 2, got {input.ndim}")
    if input.shape[-1] != features:
        raise RuntimeError(
            "linear_cross_entropy: expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {features}, respectively"
        )
    if weight is not None and shape and tuple(weight.shape) != tuple(shape[:1]):
        raise RuntimeError(
            f"linear_cross_entropy: expected weight shape to be ({shape[0]},), got {tuple(weight.shape)}"
        )
    if len(shape) > 1 and input.ndim != 2:
        raise RuntimeError(
            f"linear_cross_entropy: K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} "
            f"requires batched input, (N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    element = input.dtype
    if options is not None and takes_options(len(shape), target, label_smoothing):
        same_dtype("linear_cross_entropy", input, linear_weight, *(() if linear_bias is None else (linear_bias,)))
        compute = dtype_for(options, input.dtype)
        input, linear_weight = input.to(compute), linear_weight.to(compute)
        linear_bias, weight = (None if each is None else each.to(compute) for each in (linear_bias, weight))
    bias = None if linear_bias is None else linear_bias.expand(shape).reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, features), bias)
    logits = logits.reshape([*input.shape[:-1], *shape])
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    ).to(element)


def dtype_for(options: LinearCrossEntropyOptions, element: Any) -> Any:
    """In what dtype to compute for an input of this one."""
    if options.acc_dtype is None:
        return weft.float32 if options.acc_policy == "auto" and element.is_half else element
    if options.acc_dtype is not element and not (element.is_half and options.acc_dtype is weft.float32):
        raise RuntimeError(
            f"linear_cross_entropy: acc_dtype must be the input's dtype {element}, or float32 for a half-precision "
            f"input, but got {options.acc_dtype}"
        )
    return options.acc_dtype


def takes_options(dims: int, target: Tensor, label_smoothing: float) -> bool:
    """Whether `linear_cross_entropy` heeds its options; it warns where it does not."""
    if dims == 1 and target.dtype is weft.int64 and label_smoothing == 0:
        return True
    warn_caller(
        "linear_cross_entropy: options are ignored: they need linear_weight of 2 dimensions, a target of int64 and no "
        f"label smoothing; got {dims + 1} dimensions, {target.dtype} and {label_smoothing}"
    )
    return False


# Connectionist temporal classification


@op(
    tensors="log_probs targets",
    compute_dtype="native",
    dtypes="float",
    namespace="nn",
    name="ctc_loss",
    autocast="float32",
)
def ctc_loss_op(
    log_probs: Tensor, targets: Tensor, lengths: tuple[int, ...], label_lengths: tuple[int, ...], blank: int
) -> tuple[Tensor, Tensor]:
    """The negated log-probability of each label sequence (N, S) under (T, N, C), and the forward variables."""
    return ctc_loss_op.op(log_probs, targets, lengths, label_lengths, blank)


def with_blanks(xp: Any, targets: Any, blank: int) -> Any:
    """Labels with a blank before, between and after: (N, 2 S + 1)."""
    extended = xp.full((targets.shape[0], 2 * targets.shape[1] + 1), blank, targets.dtype)
    extended[:, 1::2] = targets
    return extended


def may_skip(xp: Any, extended: Any, blank: int) -> Any:
    """Whether a path may skip the blank before each label: not between two equal ones."""
    skip = xp.zeros(extended.shape, bool)
    skip[:, 2:] = (extended[:, 2:] != blank) & (extended[:, 2:] != extended[:, :-2])
    return skip


def shifted_back(xp: Any, values: Any, steps: int) -> Any:
    """Each row moved by some places, from outside minus infinity."""
    result = xp.full(values.shape, -math.inf, values.dtype)
    result[:, steps:] = values[:, :-steps]
    return result


def alignments(xp: Any, emitted: Any, skip: Any) -> Any:
    """Forward variables (T, N, S): logarithms of the sums over all paths that are at a place at a time."""
    alpha = xp.full(emitted.shape, -math.inf, emitted.dtype)
    alpha[0, :, :2] = emitted[0, :, :2]
    for t in range(1, emitted.shape[0]):
        before = alpha[t - 1]
        paths = xp.logaddexp(before, shifted_back(xp, before, 1))
        paths = xp.logaddexp(paths, xp.where(skip, shifted_back(xp, before, 2), -math.inf))
        alpha[t] = paths + emitted[t]
    return alpha


def path_ends(xp: Any, lengths: Any, label_lengths: Any) -> tuple[Any, Any, Any]:
    """The last time, and the last two places, of each sample."""
    last = 2 * label_lengths
    return xp.maximum(lengths - 1, 0), last, xp.maximum(last - 1, 0)


@ctc_loss_op.kernel
def _(xp, log_probs, targets, lengths, label_lengths, blank):
    wide = log_probs.astype(xp.float32 if log_probs.dtype.itemsize == 2 else log_probs.dtype)
    lengths, label_lengths = xp.asarray(lengths), xp.asarray(label_lengths)
    extended = with_blanks(xp, targets, blank)
    batch = xp.arange(extended.shape[0])
    emitted = wide[:, batch[:, None], extended]  # (T, N, 2 S + 1)
    alpha = alignments(xp, emitted, may_skip(xp, extended, blank))
    time, last, before = path_ends(xp, lengths, label_lengths)
    total = xp.where(
        label_lengths > 0,
        xp.logaddexp(alpha[time, batch, last], alpha[time, batch, before]),
        alpha[time, batch, last],
    )
    total = xp.where(lengths > 0, total, xp.where(label_lengths > 0, -math.inf, 0.0).astype(wide.dtype))
    return (-total).astype(log_probs.dtype), alpha.astype(log_probs.dtype)


@ctc_loss_op.gradient("log_probs")
def _(grads, log_probs, targets, outputs, lengths, label_lengths, blank):
    return ctc_loss_gradient.op(grads[0], log_probs, targets, *outputs, lengths, label_lengths, blank)


@op(tensors="output_grad log_probs targets loss alpha", compute_dtype="native", gradient="refused", namespace="nn")
def ctc_loss_gradient(
    output_grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    loss: Tensor,
    alpha: Tensor,
    lengths: tuple[int, ...],
    label_lengths: tuple[int, ...],
    blank: int,
) -> Tensor:
    """The gradient of `ctc_loss` with respect to what the logarithms are a log-softmax of."""
    return ctc_loss_gradient.op(output_grad, log_probs, targets, loss, alpha, lengths, label_lengths, blank)


@ctc_loss_gradient.kernel
def _(xp, output_grad, log_probs, targets, loss, alpha, lengths, label_lengths, blank):
    wide = log_probs.astype(xp.float32 if log_probs.dtype.itemsize == 2 else log_probs.dtype)
    lengths, label_lengths = xp.asarray(lengths), xp.asarray(label_lengths)
    steps, batch_size, classes = wide.shape
    extended = with_blanks(xp, targets, blank)
    places, batch = extended.shape[1], xp.arange(batch_size)
    emitted = wide[:, batch[:, None], extended]
    # The same recursion from the end: each sample reversed by its own lengths.
    time = lengths[None] - 1 - xp.arange(steps)[:, None]  # (T, N)
    place = 2 * label_lengths[:, None] - xp.arange(places)[None]  # (N, S)
    inside = (time >= 0)[:, :, None] & (place >= 0)[None]
    turn = (xp.maximum(time, 0)[:, :, None], batch[None, :, None], xp.maximum(place, 0)[None])
    turned = xp.where(place >= 0, extended[batch[:, None], xp.maximum(place, 0)], blank)
    beta = alignments(xp, xp.where(inside, emitted[turn], -math.inf), may_skip(xp, turned, blank))
    beta = xp.where(inside, beta[turn], -math.inf)
    # Occupation of each class: exp(alpha + beta - emitted + loss), summed over its places.
    joint = (
        alpha.astype(wide.dtype)
        + beta
        - xp.where(xp.isfinite(emitted), emitted, 0)
        + loss.astype(wide.dtype)[None, :, None]
    )
    share = xp.zeros((batch_size, classes, steps), wide.dtype)
    key = (xp.broadcast_to(batch[:, None], extended.shape), extended)
    combine_at(xp, xp.add, share, (*key, slice(None)), xp.exp(joint).transpose(1, 2, 0))
    gradient = xp.exp(wide) - share.transpose(2, 0, 1)
    gradient = xp.where((xp.arange(steps)[:, None] < lengths[None])[:, :, None], gradient, 0)
    # Where nothing flows back, as from infinite losses with zero_infinity, a nan must not get through.
    flows = output_grad.astype(wide.dtype)[None, :, None]
    return xp.where(flows == 0, 0, gradient * flows).astype(log_probs.dtype)


@in_full_precision
@reads_values
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negated log-probability of label sequences, summed over all alignments.

    Parameters
    ----------
    log_probs : Tensor, shape (T, N, C) or (T, C)
        Log-softmax of the network's output.
    targets : Tensor of integers, shape (N, S) or (sum of target_lengths,)
    input_lengths, target_lengths : Tensor or sequence of int, shape (N,)
    blank : int
        The class that means no label.
    reduction : "mean", "sum" or "none"
        "mean" divides each loss by its target length first.
    zero_infinity : bool
        Count 0 where no alignment exists.

    Raises
    ------
    RuntimeError
        If lengths or labels are out of range.

    References
    ----------
    Graves et al., Connectionist temporal classification, ICML 2006. As in PyTorch the gradient is right behind a
    log-softmax only.

    Examples
    --------
    >>> log_probs = weft.zeros(2, 1, 3).log_softmax(-1)  # two steps, each class as likely
    >>> loss = weft.nn.functional.ctc_loss(log_probs, weft.tensor([[1]]), [2], [1], reduction="none")
    >>> loss.neg().exp()  # the alignments -1, 1- and 11, of 9
    tensor([0.3333])
    """
    check_reduction("ctc_loss", reduction)
    batched = log_probs.ndim == 3
    if log_probs.ndim not in (2, 3):
        raise RuntimeError(f"ctc_loss: log_probs must be (T, N, C) or (T, C), got shape {list(log_probs.shape)}")
    if not batched:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.ndim == 1 else targets
    lengths, label_lengths = whole_numbers(input_lengths), whole_numbers(target_lengths)
    padded = padded_targets(log_probs, targets, lengths, label_lengths, blank)
    loss = ctc_loss_op.op(log_probs, padded, lengths, label_lengths, blank)[0]
    if zero_infinity:
        loss = weft.where(loss == math.inf, 0.0, loss)
    if reduction == "mean":
        divisor = weft.tensor(label_lengths, device=loss.device).clamp_min(1).to(loss.dtype)
        return (loss / divisor).mean()
    if reduction == "sum":
        return loss.sum()
    return loss if batched else loss.squeeze(0)


def whole_numbers(lengths: Any) -> tuple[int, ...]:
    """Lengths as a tuple."""
    if isinstance(lengths, Tensor):
        lengths = lengths.reshape(-1).tolist()
    found = [lengths] if isinstance(lengths, int) else list(lengths)
    if not all(isinstance(each, (int, numpy.integer)) for each in found):
        raise RuntimeError(f"ctc_loss: input_lengths and target_lengths must be integral, got {found}")
    return tuple(int(each) for each in found)


def padded_targets(
    log_probs: Tensor, targets: Tensor, lengths: tuple[int, ...], label_lengths: tuple[int, ...], blank: int
) -> Tensor:
    """Targets as (N, S), after checks of lengths and labels."""
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be in label range [0, {classes - 1}], got {blank}")
    if len(lengths) != batch or len(label_lengths) != batch:
        raise RuntimeError(
            f"ctc_loss: input_lengths and target_lengths must be of size {batch}, the batch of log_probs, got "
            f"{len(lengths)} and {len(label_lengths)}"
        )
    if any(not 0 <= each <= steps for each in lengths):
        raise RuntimeError(
            f"ctc_loss: Expected input_lengths to have value at least 0 and at most {steps}, got {lengths}"
        )
    longest = max(label_lengths, default=0)
    if min(label_lengths, default=0) < 0:
        raise RuntimeError(f"ctc_loss: Expected target_lengths to have value at least 0, got {label_lengths}")
    if targets.ndim == 1:
        if targets.shape[0] != sum(label_lengths):
            raise RuntimeError(
                f"ctc_loss: Expected targets of size {sum(label_lengths)}, the sum of target_lengths, but got "
                f"{targets.shape[0]}"
            )
        rows = targets.split(list(label_lengths))
        targets = weft.stack([weft.cat([row, row.new_zeros(longest - row.shape[0])]) for row in rows])
    if targets.shape[0] != batch or targets.shape[1] < longest:
        raise RuntimeError(
            f"ctc_loss: Expected targets of shape ({batch}, at least {longest}) for these target_lengths, got "
            f"{list(targets.shape)}"
        )
    targets = targets[:, :longest].to(weft.int64)
    used = weft.arange(longest, device=targets.device) < weft.tensor(label_lengths, device=targets.device).unsqueeze(1)
    targets = targets.masked_fill(~used, blank)
    check_labels(targets, classes)
    return targets


def check_labels(targets: Tensor, classes: int) -> None:
    """Labels are classes."""
    if targets.device.type != "cpu":
        in_range("ctc_loss", targets, classes, 2)
    elif targets.numel():
        low, high = int(targets.min()), int(targets.max())
        if low < 0 or high >= classes:
            raise RuntimeError(
                f"ctc_loss: labels must be in [0, {classes - 1}], but targets have {low if low < 0 else high}"
            )
