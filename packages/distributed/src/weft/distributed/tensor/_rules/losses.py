"""Softmax and losses, also along classes that are divided: largest values and sums go between the processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft.distributed import distributed_c10d as c10d
from weft.distributed.tensor._api import DTensor, contiguous_stride, made_of
from weft.distributed.tensor._dispatch import Call, R, Strategy, rule, runs, special
from weft.distributed.tensor._dtensor_spec import local_sizes
from weft.distributed.tensor._redistribute import place_of
from weft.distributed.tensor._rules.placing import along, everywhere
from weft.distributed.tensor.placement_types import Partial, Shard

SOFTMAX = ("aten._softmax", "aten._log_softmax")
SOFTMAX_BACKWARD = ("aten._softmax_backward_data", "aten._log_softmax_backward_data")


@rule(*SOFTMAX, *SOFTMAX_BACKWARD)
def softmax(call: Call, dim: int) -> list[Strategy]:
    return along(call, dim, range(call.tensors[0].ndim))


def joined(call: Call, tensor: Any, along_dim: int, op: Any = c10d.ReduceOp.SUM) -> Any:
    """A tensor joined among the processes that have parts of a dimension of the first one."""
    tensor = tensor.contiguous()
    for dim, placement in enumerate(call.placements[0]):
        if placement.is_shard(along_dim) and call.mesh.size(dim) > 1:
            c10d.all_reduce(tensor, op, call.mesh.get_group(dim))
    return tensor


def classes_dim(call: Call, position: int) -> int | None:
    """The dimension of classes, if it is divided."""
    dim = int(call.args[position]) % max(call.tensors[0].ndim, 1)
    return dim if any(each.is_shard(dim) for each in call.placements[0]) else None


@runs(*SOFTMAX)
def run_softmax(call: Call) -> Any:
    dim = classes_dim(call, 1)
    if dim is None:
        return call.run_op()
    input = call.locals[0]
    if call.args[2]:
        input = input.float()
    shape = [*input.shape[:dim], 1, *input.shape[dim + 1 :]]
    empty = not input.shape[dim]
    largest = input.new_full(shape, -float("inf")) if empty else input.amax(dim, keepdim=True)
    largest = joined(call, largest, dim, c10d.ReduceOp.MAX)
    shifted = input - largest
    total = joined(call, shifted.exp().sum(dim, keepdim=True), dim)
    return shifted - total.log() if call.name == "aten._log_softmax" else shifted.exp() / total


@runs(*SOFTMAX_BACKWARD)
def run_softmax_backward(call: Call) -> Any:
    dim = classes_dim(call, 2)
    if dim is None:
        return call.run_op()
    grad, output = call.locals[:2]
    if call.name == "aten._log_softmax_backward_data":
        return grad - output.exp() * joined(call, grad.sum(dim, keepdim=True), dim)
    return output * (grad - joined(call, (grad * output).sum(dim, keepdim=True), dim))


# Negative log likelihood: 0 is no reduction, 1 the mean, 2 the sum


@rule("aten.nll_loss_forward", "aten.nll_loss2d_forward")
def nll_loss(call: Call, dim: int) -> list[Strategy]:
    """By examples, or by classes (each process has the values of its own)."""
    reduction = call.args[3]
    rest = (R,) * (len(call.tensors) - 2)
    found = [everywhere(call, 2)]
    classes = 1 if call.tensors[0].ndim > 1 else 0
    now = call.at(0, dim)
    if isinstance(now, Shard) and now.dim == classes:
        found.append(Strategy((R, R), (now, R, *rest)))
    return found + [
        Strategy((each if reduction == 0 else Partial(), R), (each, each, *rest))
        for each in (now, call.at(1, dim))
        if each.is_shard(0) and classes == 1
    ]


@runs("aten.nll_loss_forward", "aten.nll_loss2d_forward")
def run_nll_loss(call: Call) -> Any:
    input, target = call.locals[:2]
    weight = call.locals[2] if len(call.locals) > 2 else None
    reduction, ignored = call.args[3], call.args[4]
    classes = 1 if input.ndim > 1 else 0
    if not any(isinstance(each, Shard) for each in call.placements[0]):
        return call.run_op()
    losses, weights = picked(call, input, target, weight, ignored, classes)
    if reduction == 0:
        return losses, weights.sum()
    total = weights.sum()
    for dim, placement in enumerate(call.placements[0]):
        if placement.is_shard(0) and classes == 1 and call.mesh.size(dim) > 1:
            c10d.all_reduce(total, c10d.ReduceOp.SUM, call.mesh.get_group(dim))
    return (losses.sum() / total if reduction == 1 else losses.sum()), total


def picked(call: Call, input: Any, target: Any, weight: Any, ignored: int, classes: int) -> tuple[Any, Any]:
    """The loss of each example, and its weight; the values of classes that are elsewhere come from there."""
    kept = target != ignored
    chosen, here = own_classes(call, target.masked_fill(~kept, 0), classes, input)
    values = (
        input.gather(classes, chosen.unsqueeze(classes)).squeeze(classes)
        if input.shape[classes]
        else input.new_zeros(target.shape)
    )
    values = joined(call, values.masked_fill(~here, 0), classes)
    weights = kept.to(input.dtype)
    if weight is not None:
        weights = weights * weight[target.masked_fill(~kept, 0)]
    return -values * weights, weights


def own_classes(call: Call, target: Any, classes: int, input: Any) -> tuple[Any, Any]:
    """Targets as places in this process's part of the classes, and which of them are there."""
    shape = call.tensors[0].shape if call.name.endswith("forward") else call.tensors[1].shape
    ways = call.placements[0] if call.name.endswith("forward") else call.placements[1]
    sizes, offsets = local_sizes(shape, call.mesh.shape, place_of(call.mesh), ways)
    own = target - offsets[classes]
    here = (own >= 0) & (own < sizes[classes])
    return own.masked_fill(~here, 0), here


def whole_targets(args: Any) -> tuple[Any, ...]:
    """The arguments, of which plain integers are targets that every process has whole."""
    mesh = next(each._spec.mesh for each in args if isinstance(each, DTensor))

    def whole(each: Any) -> Any:
        if not isinstance(each, weft.Tensor) or isinstance(each, DTensor) or each.dtype != weft.int64:
            return each
        return made_of(each, mesh, (R,) * mesh.ndim, each.shape, contiguous_stride(each.shape))

    return tuple(whole(each) for each in args)


@special("aten.nll_loss_forward", "aten.nll_loss2d_forward")
def with_logits_placed(func: Any, args: Any, kwargs: Any) -> Any:
    """The total weight, which the gradient gets, knows where the logits are: the gradient does not get those."""
    call = Call(func, f"aten.{func._opname}", whole_targets(args), kwargs)
    loss, total = call.run()
    total._logits_placements = call.placements[0]
    return loss, total


@special("aten.nll_loss_backward", "aten.nll_loss2d_backward")
def with_logits(func: Any, args: Any, kwargs: Any) -> Any:
    """Logits that are plain stand for their shape, and are divided as those of the loss were."""
    args, input = whole_targets(args), args[1]
    if not isinstance(input, DTensor):
        mesh = next(each._spec.mesh for each in args if isinstance(each, DTensor))
        ways = getattr(args[6], "_logits_placements", (R,) * mesh.ndim)
        shape = local_sizes(input.shape, mesh.shape, place_of(mesh), ways)[0]
        local = weft.zeros((), dtype=input.dtype, device=args[0].device).expand(shape)
        args = (args[0], made_of(local, mesh, ways, input.shape, contiguous_stride(input.shape)), *args[2:])
    return Call(func, f"aten.{func._opname}", args, kwargs).run()


@rule("aten.nll_loss_backward", "aten.nll_loss2d_backward")
def nll_loss_backward(call: Call, dim: int) -> list[Strategy]:
    """Of the tensors output_grad, input, target, weight (where there is one) and the total weight."""
    reduction = call.args[4]
    rest = (R,) * (len(call.tensors) - 3)
    found = [everywhere(call)]
    classes = 1 if call.tensors[1].ndim > 1 else 0
    now = call.at(1, dim)
    if isinstance(now, Shard) and now.dim == classes:
        found.append(Strategy(now, (R, now, R, *rest)))
    return found + [
        Strategy(each, (each if reduction == 0 else R, each, each, *rest))
        for each in (now, call.at(2, dim))
        if each.is_shard(0) and classes == 1
    ]


@runs("aten.nll_loss_backward", "aten.nll_loss2d_backward")
def run_nll_loss_backward(call: Call) -> Any:
    grad, input, target = call.locals[:3]
    classes = 1 if input.ndim > 1 else 0
    if not any(each.is_shard(classes) for each in call.placements[1]):
        return call.run_op()
    weight = call.locals[3] if len(call.locals) > 4 else None
    total = call.locals[-1]
    reduction, ignored = call.args[4], call.args[5]
    kept = target != ignored
    chosen, here = own_classes(call, target.masked_fill(~kept, 0), classes, input)
    weights = (kept & here).to(grad.dtype)
    if weight is not None:
        weights = weights * weight[target.masked_fill(~kept, 0)]
    values = -grad * weights / (total if reduction == 1 else 1)
    result = weft.zeros(input.shape, dtype=grad.dtype, device=grad.device)
    if not input.shape[classes]:
        return result
    return result.scatter_(classes, chosen.unsqueeze(classes), values.expand(chosen.shape).unsqueeze(classes))


def elementwise(reduction_position: int, *names: str) -> Callable[..., Any]:
    """Losses of elements: by any dimension; sums and means are terms."""

    @rule(*[f"aten.{name}" for name in names])
    def way(call: Call, dim: int) -> list[Strategy]:
        found = [everywhere(call)]
        reduction = call.argument(reduction_position, "reduction", 1)
        for index in range(2):
            now = call.at(index, dim)
            if not isinstance(now, Shard):
                continue
            even = call.tensors[0].shape[now.dim] % call.shards(index, now.dim) == 0
            if reduction == 1 and not even:
                continue
            output = now if reduction == 0 else Partial("avg" if reduction == 1 else "sum")
            found.append(Strategy(output, (now,) * len(call.tensors)))
        return found

    return way


elementwise(2, "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
elementwise(3, "binary_cross_entropy")


@rule("aten.mse_loss_backward")
def mse_loss_backward(call: Call, dim: int) -> list[Strategy]:
    """The gradient of a mean over all elements: a part's mean is of fewer."""
    return [everywhere(call)]
