"""Batch norm over the batches of all processes: what `weft.nn.SyncBatchNorm` computes in a group of several."""

from __future__ import annotations

from typing import Any

import weft
from weft.autograd import Function
from weft.distributed._collectives import all_gather, all_reduce

__all__ = ["synchronized_batch_norm"]


def synchronized_batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    momentum: float,
    eps: float,
    group: Any,
) -> Any:
    """Normalize each channel over the batches of all processes, which may be of different size, or empty.

    Parameters
    ----------
    input : Tensor, shape (N, C, ...)
    running_mean, running_var : Tensor, shape (C,), or None
        Are moved towards the statistics of this batch by ``momentum``.
    weight, bias : Tensor, shape (C,), or None
    eps : float
        Added to the variance.
    group : ProcessGroup

    Returns
    -------
    Tensor, of the shape and dtype of input; half types are computed in float32. Gradients of weight and bias are those
    of this process's batch: `DistributedDataParallel` takes their mean.
    """
    return SynchronizedBatchNorm.apply(input, running_mean, running_var, weight, bias, momentum, eps, group)


class SynchronizedBatchNorm(Function):
    """Each process sends its count, mean and sum of squared deviations, and in backward two sums of the gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Any,
        running_mean: Any,
        running_var: Any,
        weight: Any,
        bias: Any,
        momentum: float,
        eps: float,
        group: Any,
    ) -> Any:
        wide = input.to(weft.promote_types(input.dtype, weft.float32))
        mean, squares, count = joined_statistics(*local_statistics(wide), group)
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            running_var.lerp_((squares / (count - 1)).to(running_var.dtype), momentum)
        scale = weft.rsqrt(squares / count + eps)
        normalized = (wide - along(mean, wide)) * along(scale, wide)
        ctx.save_for_backward(normalized, scale, weight)
        ctx.count, ctx.group, ctx.dtype = count, group, input.dtype
        output = normalized
        if weight is not None:
            output = output * along(weight.to(wide.dtype), wide)
        if bias is not None:
            output = output + along(bias.to(wide.dtype), wide)
        return output.to(input.dtype)

    @staticmethod
    @weft.autograd.function.once_differentiable
    def backward(ctx: Any, output_grad: Any) -> Any:
        normalized, scale, weight = ctx.saved_tensors
        grad = output_grad.to(normalized.dtype)
        axes = all_but_channels(grad)
        bias_grad = grad.sum(axes)
        weight_grad = (grad * normalized).sum(axes)
        input_grad = None
        if ctx.needs_input_grad[0]:
            sums = weft.stack([bias_grad, weight_grad])  # (2, C)
            all_reduce(sums, group=ctx.group)
            sums /= ctx.count
            input_grad = grad - along(sums[0], grad) - normalized * along(sums[1], grad)
            factor = scale if weight is None else scale * weight.to(scale.dtype)
            input_grad = (input_grad * along(factor, grad)).to(ctx.dtype)
        if weight is not None:
            bias_grad, weight_grad = bias_grad.to(weight.dtype), weight_grad.to(weight.dtype)
        return (
            input_grad,
            None,
            None,
            weight_grad if ctx.needs_input_grad[3] else None,
            bias_grad if ctx.needs_input_grad[4] else None,
            None,
            None,
            None,
        )


def all_but_channels(tensor: Any) -> list[int]:
    """The dimensions that statistics are taken over."""
    return [0, *range(2, tensor.dim())]


def along(values: Any, tensor: Any) -> Any:
    """One value for each channel, in a shape that broadcasts with a tensor (N, C, ...)."""
    return values.view(-1, *[1] * (tensor.dim() - 2))


def local_statistics(input: Any) -> tuple[Any, Any, int]:
    """Mean and sum of squared deviations of each channel, and over how many values; zeros of an empty batch."""
    channels = input.shape[1]
    count = input.numel() // channels
    if count == 0:
        zeros = weft.zeros(channels, dtype=input.dtype, device=input.device)
        return zeros, zeros, 0
    mean = input.mean(all_but_channels(input))
    return mean, (input - along(mean, input)).square_().sum(all_but_channels(input)), count


def joined_statistics(mean: Any, squares: Any, count: int, group: Any) -> tuple[Any, Any, Any]:
    """Those of all processes together, by the formula of Chan et al. (1979), which does not cancel.

    Returns
    -------
    mean, squares : Tensor, shape (C,)
    count : Tensor, shape (1,)
    """
    own = weft.cat([mean, squares, mean.new_full((1,), count)])
    gathered = [weft.empty_like(own) for _ in range(group.size())]
    all_gather(gathered, own, group=group)
    means, deviations, counts = weft.stack(gathered).split([mean.numel(), mean.numel(), 1], dim=1)  # (ranks, ...)
    total = counts.sum(0)
    joined = (means * counts).sum(0) / total
    return joined, (deviations + counts * (means - joined).square()).sum(0), total
