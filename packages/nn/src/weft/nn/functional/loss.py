"""Losses: how far predictions are from what they should be."""

from __future__ import annotations

import math
import warnings
from typing import Any

import weft
from weft import Tensor
from weft.nn.functional._common import check_reduction, reduce_loss
from weft.ops._declare import op
from weft.ops._geometry import broadcast_shapes
from weft.ops.softmax import log_softmax_op


def legacy_reduction(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction that the arguments before it meant."""
    if size_average is None and reduce is None:
        return reduction
    meant = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction={meant!r} instead.", stacklevel=3
    )
    return meant


def same_sizes(name: str, input: Tensor, target: Tensor) -> None:
    """Warn where broadcasting hides a mistake."""
    if target.shape != input.shape:
        warnings.warn(
            f"{name}: Using a target size {tuple(target.shape)} that is different to the input size "
            f"{tuple(input.shape)}. This will likely lead to incorrect results due to broadcasting. Please ensure they "
            "have the same size.",
            stacklevel=3,
        )
        broadcast_shapes(name, [input._array.shape, target._array.shape])


# Classification


@op(tensors="input target weight", half="native", accepts="float", namespace="nn", name="nll_loss")
def nll_loss_op(input, target, weight, reduction, ignore_index):
    """The negated element of each row (N, C, places) at its class (N, places), times the class's weight."""
    return nll_loss_op.op(input, target, weight, reduction, ignore_index)


def class_weights(xp: Any, target: Any, weight: Any, ignore_index: int, dtype: Any) -> tuple[Any, Any]:
    """Classes that exist, and what each counts: nothing where it is ignored."""
    ignored = target == ignore_index
    safe = xp.where(ignored, 0, target)
    counts = xp.ones(target.shape, dtype) if weight is None else xp.take(weight, safe).astype(dtype, copy=False)
    counts[ignored] = 0
    return safe, counts


@nll_loss_op.kernel
def _(xp, input, target, weight, reduction, ignore_index):
    wide = xp.float32 if input.dtype.itemsize == 2 else input.dtype
    safe, counts = class_weights(xp, target, weight, ignore_index, wide)
    picked = xp.take_along_axis(input, safe[:, None], axis=1)[:, 0].astype(wide, copy=False)
    losses = xp.where(counts == 0, xp.zeros((), wide), -picked * counts)
    if reduction == "none":
        return losses.astype(input.dtype, copy=False), xp.zeros((), input.dtype)
    total, size = xp.sum(losses), xp.sum(counts)
    if reduction == "mean":
        total = total / size
    return xp.asarray(total).astype(input.dtype), xp.asarray(size).astype(input.dtype)


@nll_loss_op.gradient("input")
def _(grads, input_shape, target, weight, outputs, reduction, ignore_index):
    return nll_loss_gradient.op(grads[0], target, weight, outputs[1], input_shape, reduction, ignore_index)


@op(tensors="output_grad target weight total_weight", half="native", namespace="nn")
def nll_loss_gradient(output_grad, target, weight, total_weight, shape, reduction, ignore_index):
    """The gradient of `nll_loss` with respect to its input."""
    return nll_loss_gradient.op(output_grad, target, weight, total_weight, shape, reduction, ignore_index)


@nll_loss_gradient.kernel
def _(xp, output_grad, target, weight, total_weight, shape, reduction, ignore_index):
    wide = xp.float32 if output_grad.dtype.itemsize == 2 else output_grad.dtype
    safe, counts = class_weights(xp, target, weight, ignore_index, wide)
    share = -counts
    if reduction == "mean":
        share /= total_weight.astype(wide)
    share = xp.where(counts == 0, xp.zeros((), wide), share * output_grad.astype(wide, copy=False))
    result = xp.zeros(shape, output_grad.dtype)
    xp.put_along_axis(result, safe[:, None], share[:, None].astype(output_grad.dtype, copy=False), axis=1)
    return result


@nll_loss_gradient.gradient("output_grad")
def _(grad, target, weight, reduction, ignore_index):
    return nll_loss_op.op(grad, target, weight, reduction, ignore_index)[0]


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
    reduction : "mean", "sum" or "none"

    Raises
    ------
    IndexError
        If a class is out of range.
    ValueError, RuntimeError
        If shapes do not fit together.
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    return picked_loss("nll_loss", input, target, weight, reduction, ignore_index)


def picked_loss(
    name: str, input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int
) -> Tensor:
    """`nll_loss`, after the checks."""
    check_reduction(name, reduction)
    check_classes(name, input, target, weight, ignore_index)
    classes = input.shape[0 if input.ndim == 1 else 1]
    shape = target.shape
    if input.ndim == 1:
        result = nll_loss_op.op(
            input.reshape(1, classes, 1), target.reshape(1, 1), weight, reduction, ignore_index
        )[0]
    elif input.ndim == 2 and input._array.shape[0] == 0:
        result = nll_loss_op.op(input.unsqueeze(-1), target.unsqueeze(-1), weight, reduction, ignore_index)[0]
    else:
        flat = input.reshape(input.shape[0], classes, -1)
        result = nll_loss_op.op(flat, target.reshape(target.shape[0], -1), weight, reduction, ignore_index)[0]
    return result.reshape(shape) if reduction == "none" else result


def check_classes(name: str, input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> None:
    if input.ndim < 1:
        raise RuntimeError(f"{name}: input needs at least 1 dimension, (C,) or (N, C, ...), got shape {list(input.shape)}")
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(
            f"{name}: expected target of class indices to have dtype int64, but got {target.dtype}; convert with .long()"
        )
    batch, classes = (1, input.shape[0]) if input.ndim == 1 else input.shape[:2]
    if input.ndim > 1 and target.ndim and target.shape[0] != batch:
        raise ValueError(
            f"{name}: Expected input batch_size ({batch}) to match target batch_size ({target.shape[0]}); got input "
            f"{tuple(input.shape)} and target {tuple(target.shape)}"
        )
    expected = () if input.ndim == 1 else (batch, *input.shape[2:])
    if tuple(target.shape) != expected and not (input.ndim == 1 and tuple(target.shape) == (1,)):
        raise RuntimeError(
            f"{name}: expected target of shape {list(expected)} for input {list(input.shape)}, one class for each sample, "
            f"but got {list(target.shape)}"
        )
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"{name}: weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    check_class_range(name, target, classes, ignore_index)


def check_class_range(name: str, target: Tensor, classes: int, ignore_index: int) -> None:
    """Every class is in range; where reading them would wait for a device they are not looked at."""
    if target.device.type != "cpu" or not target._array.size:
        return
    values = target._array
    wrong = ((values < 0) | (values >= classes)) & (values != ignore_index)
    if wrong.any():
        raise IndexError(
            f"{name}: Target {int(values[wrong].flat[0])} is out of bounds for {classes} classes; classes are 0 to "
            f"{classes - 1}, or ignore_index={ignore_index}"
        )


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
    ignore_index : int
        Samples of this class count nothing.
    reduction : "mean", "sum" or "none"
    label_smoothing : float
        In [0, 1]: this share of each target is spread over all classes.

    Raises
    ------
    IndexError
        If a class is out of range.
    ValueError, RuntimeError
        If shapes do not fit together.

    Examples
    --------
    >>> cross_entropy(weft.zeros(1, 4), weft.tensor([2]))
    tensor(1.3863)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    check_reduction("cross_entropy", reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input.ndim < 1:
        raise RuntimeError(f"cross_entropy: input needs at least 1 dimension, got shape {list(input.shape)}")
    by_probability = target.shape == input.shape and target.dtype.is_floating_point
    if not by_probability:
        check_classes("cross_entropy", input, target, weight, ignore_index)
    elif ignore_index >= 0:
        raise RuntimeError("cross_entropy: ignore_index is not supported for floating point target")
    dim = 0 if input.ndim == 1 else 1
    logarithms = log_softmax_op.op(input, dim)
    if by_probability:
        return entropy_of_probabilities(logarithms, target, weight, reduction, label_smoothing, dim)
    loss = picked_loss("cross_entropy", logarithms, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return loss
    return smoothed(loss, logarithms, target, weight, reduction, label_smoothing, ignore_index, dim)


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
    reduction : "mean", "sum" or "none"
    weight : Tensor, optional
        Of each element; the mean is weighted.

    Examples
    --------
    >>> mse_loss(weft.tensor([1.0, 3.0]), weft.tensor([1.0, 1.0]))
    tensor(2.)
    """
    reduction = legacy_reduction(reduction, size_average, reduce)
    same_sizes("mse_loss", input, target)
    return weighted("mse_loss", (input - target).square(), weight, reduction)


def weighted(name: str, loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Losses reduced; with weights the mean is that of the weights."""
    if weight is None:
        return reduce_loss(name, loss, reduction)
    check_reduction(name, reduction)
    if weight.shape != loss.shape:
        raise ValueError(f"{name}: Weights and input must have the same size, got {tuple(weight.shape)} and {tuple(loss.shape)}")
    loss = loss * weight
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.sum() / weight.sum()
