"""Collectives that gradients flow through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft.autograd import Function
from weft.distributed import _collectives as collectives
from weft.distributed._groups import current, rank_in
from weft.distributed._reduce_ops import ReduceOp

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


def members_of(name: str, group: Any) -> Any:
    """The group, of which this process must be a member."""
    members = current(name, group)
    if members is None:
        raise ValueError(f"{name}: this process is no member of the group")
    return members


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Any) -> Any:
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Any) -> Any:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        joined = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, joined if rank_here(ctx.group) == ctx.src else weft.zeros_like(joined)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        collectives.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Any) -> Any:
        members = members_of("all_gather", group)
        ctx.group, ctx.shape = group, tensor.shape
        gathered = [weft.empty_like(tensor, memory_format=weft.contiguous_format) for _ in members.ranks]
        collectives.all_gather(gathered, tensor, group)
        return tuple(gathered)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, ctx.shape, *grads)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, shape: Any, *tensors: Any) -> Any:
        ctx.group = group
        own = tensors[members_of("reduce_scatter", group).rank()]
        result = weft.empty(shape, dtype=own.dtype, device=own.device)
        collectives.reduce_scatter(result, list(tensors), op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Any) -> Any:
        members = members_of("gather", group)
        ctx.dst, ctx.group = dst, group
        here = rank_here(group) == dst
        gathered = [weft.zeros_like(tensor, memory_format=weft.contiguous_format) for _ in members.ranks]
        collectives.gather(tensor, gathered if here else None, dst, group)
        return tuple(gathered)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Any) -> Any:
        ctx.src, ctx.group = src, group
        result = weft.empty_like(tensors[0], memory_format=weft.contiguous_format)
        collectives.scatter(result, list(tensors) if rank_here(group) == src else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: list[Any], *tensors: Any) -> Any:
        ctx.group = group
        ctx.like = [weft.empty(each.shape, dtype=each.dtype, device=each.device) for each in tensors]
        collectives.all_to_all(outputs, list(tensors), group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.like, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: Any, output_sizes: Any, input_sizes: Any, tensor: Any) -> Any:
        ctx.group, ctx.output_sizes, ctx.input_sizes = group, output_sizes, input_sizes
        ctx.shape = tensor.shape
        collectives.all_to_all_single(output, tensor, output_sizes, input_sizes, group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        back = weft.empty(ctx.shape, dtype=grad.dtype, device=grad.device)
        return None, None, None, None, _AllToAllSingle.apply(ctx.group, back, ctx.input_sizes, ctx.output_sizes, grad)


def rank_here(group: Any) -> int:
    """The global rank of this process."""
    members = members_of("get_rank", group)
    return int(members.ranks[members.rank()])


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The tensors of all processes, joined; the gradient is joined likewise."""
    return _AllReduce.apply(op, group, tensor)


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The tensors of all processes, joined in that of rank ``dst``; the gradient is broadcast from there."""
    return _Reduce.apply(dst, op, group, tensor)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of the process of rank ``src``, which gets the sum of all gradients."""
    rank_in("broadcast", members_of("broadcast", group), src)
    return _Broadcast.apply(src, group, tensor)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes, by rank; each gets the sum of its gradients."""
    return tuple(_AllGather.apply(group, tensor))


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes in that of rank ``dst``, zeros in others."""
    return tuple(_Gather.apply(dst, group, tensor))


def scatter(tensors: Sequence[Any], src: int = 0, group: Any = None) -> Any:
    """The one for this process of the tensors that the process of rank ``src`` has."""
    return _Scatter.apply(src, group, *tensors)


def reduce_scatter(output: Any, input_list: Sequence[Any], op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The part of this process of the lists of all processes, joined. ``output`` gives the shape."""
    return _ReduceScatter.apply(op, group, output.shape, *input_list)


def all_to_all(output_tensor_list: Any, input_tensor_list: Sequence[Any], group: Any = None) -> tuple[Any, ...]:
    """What each process sends to this one; ``output_tensor_list`` is where it goes."""
    return tuple(_AllToAll.apply(group, list(output_tensor_list), *input_tensor_list))


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Any:
    """What each process sends to this one, one after the other along dimension 0; ``output`` is where it goes."""
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)
