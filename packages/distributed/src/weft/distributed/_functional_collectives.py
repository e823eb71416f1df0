"""Collectives that return their results, through which gradients go.

They are done when they return: `AsyncCollectiveTensor` is there for programs that ask whether a tensor is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft.distributed import distributed_c10d as c10d
from weft.distributed._groups import current, groups
from weft.distributed.device_mesh import DeviceMesh

__all__ = [
    "AsyncCollectiveTensor",
    "all_gather_into_tensor_coalesced",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced",
    "wait_tensor",
]

OPS = {
    "sum": c10d.ReduceOp.SUM,
    "avg": c10d.ReduceOp.AVG,
    "product": c10d.ReduceOp.PRODUCT,
    "min": c10d.ReduceOp.MIN,
    "max": c10d.ReduceOp.MAX,
    "band": c10d.ReduceOp.BAND,
    "bor": c10d.ReduceOp.BOR,
    "bxor": c10d.ReduceOp.BXOR,
}

made_of_ranks: dict[tuple[int, ...], Any] = {}


class AsyncCollectiveTensor:
    """A result that is waited for: there is none, since collectives are done when they return."""


def resolved(group: Any) -> Any:
    """The process group that a program means.

    Parameters
    ----------
    group : ProcessGroup, str, DeviceMesh of one dim, tuple of a mesh and a dim, or list of ranks

    Raises
    ------
    ValueError
        For another value, or a mesh of several dims.
    """
    if isinstance(group, (str, c10d.ProcessGroup)) or group is None:
        return current("functional collective", group)
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise ValueError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, list) and all(isinstance(each, int) for each in group):
        return group_of_ranks(tuple(group))
    if isinstance(group, list) and group:
        mine = c10d.get_rank()
        return group_of_ranks(tuple(next(ranks for ranks in group if mine in ranks)))
    raise ValueError(
        f"Invalid type for group, must be one of List, ProcessGroup, DeviceMesh or (DeviceMesh, int): {group}"
    )


def group_of_ranks(ranks: tuple[int, ...]) -> Any:
    """The group of some ranks, made by them alone when it is first asked for."""
    world = c10d._get_default_group()
    if ranks == tuple(world.ranks):
        return world
    found = made_of_ranks.get(ranks)
    if found is None or found.store is None or found not in groups.by_name.values():
        found = made_of_ranks[ranks] = c10d.new_group(ranks, use_local_synchronization=True)
    return found


def op_named(name: str) -> Any:
    """The `ReduceOp` of a name."""
    if name.lower() not in OPS:
        raise ValueError(f"Unsupported reduce op {name!r}: it must be one of {', '.join(OPS)}")
    return OPS[name.lower()]


# The collectives themselves, on tensors without gradients


def summed(tensor: Any, op: str, group: Any) -> Any:
    result = tensor.detach().clone(memory_format=weft.contiguous_format)
    c10d.all_reduce(result, op_named(op), group)
    return result


def gathered(tensor: Any, dim: int, group: Any) -> Any:
    """All processes' tensors, joined along a dim."""
    size = group.size()
    given = tensor.detach().contiguous()
    if given.ndim == 0:
        given = given.reshape(1)
    result = weft.empty([size * given.shape[0], *given.shape[1:]], dtype=given.dtype, device=given.device)
    c10d.all_gather_into_tensor(result, given, group)
    return result if dim % given.ndim == 0 else weft.cat(result.chunk(size), dim)


def scattered(tensor: Any, op: str, dim: int, group: Any) -> Any:
    """The part of this process, along a dim, of the sum of all processes' tensors."""
    size = group.size()
    if tensor.shape[dim] % size:
        raise ValueError(
            f"reduce_scatter_tensor: input dimension {dim} ({tensor.shape[dim]}) must be a multiple of the group's "
            f"size ({size})"
        )
    given = tensor.detach()
    if dim % given.ndim:
        given = weft.cat(given.chunk(size, dim))
    given = given.contiguous()
    result = weft.empty([given.shape[0] // size, *given.shape[1:]], dtype=given.dtype, device=given.device)
    c10d.reduce_scatter_tensor(result, given, op_named(op), group)
    return result


def exchanged(tensor: Any, output_sizes: Any, input_sizes: Any, group: Any) -> Any:
    given = tensor.detach().contiguous()
    length = given.shape[0] if output_sizes is None else sum(output_sizes)
    result = weft.empty([length, *given.shape[1:]], dtype=given.dtype, device=given.device)
    c10d.all_to_all_single(result, given, output_sizes, input_sizes, group)
    return result


# Their gradients


class AllReduce(weft.autograd.Function):
    """The gradient of a sum is the sum of the gradients; of a mean, their mean."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, op: str, group: Any) -> Any:
        ctx.op, ctx.group = op, group
        return summed(tensor, op, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        if ctx.op.lower() not in ("sum", "avg"):
            raise RuntimeError(f"all_reduce: backward is defined for sum and avg, got {ctx.op!r}")
        return AllReduce.apply(grad, ctx.op, ctx.group), None, None


class AllGather(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, dim: int, group: Any) -> Any:
        ctx.dim, ctx.group, ctx.shape = dim, group, tensor.shape
        return gathered(tensor, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return ReduceScatter.apply(grad, "sum", ctx.dim, ctx.group).reshape(ctx.shape), None, None


class ReduceScatter(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, op: str, dim: int, group: Any) -> Any:
        ctx.op, ctx.dim, ctx.group = op, dim, group
        return scattered(tensor, op, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        result = AllGather.apply(grad, ctx.dim, ctx.group)
        return (result / ctx.group.size() if ctx.op.lower() == "avg" else result), None, None, None


class AllToAll(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, output_sizes: Any, input_sizes: Any, group: Any) -> Any:
        ctx.sizes, ctx.group = (output_sizes, input_sizes), group
        return exchanged(tensor, output_sizes, input_sizes, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        output_sizes, input_sizes = ctx.sizes
        return AllToAll.apply(grad, input_sizes, output_sizes, ctx.group), None, None, None


def needs_gradient(tensor: Any) -> bool:
    return bool(tensor.requires_grad) and weft.is_grad_enabled()


def wait_tensor(tensor: Any) -> Any:
    """Return the tensor, which is there."""
    return tensor


def broadcast(self: Any, src: int, group: Any, tag: str = "") -> Any:
    """Return the tensor of the process of global rank ``src``."""
    result = self.detach().clone(memory_format=weft.contiguous_format)
    c10d.broadcast(result, src, resolved(group))
    return result


def all_reduce(self: Any, reduceOp: str, group: Any, tag: str = "") -> Any:
    """Return the tensors of all processes joined by ``reduceOp``: ``"sum"``, ``"avg"``, ``"max"`` and so on."""
    members = resolved(group)
    return (AllReduce.apply if needs_gradient(self) else summed)(self, reduceOp, members)


def all_gather_tensor(self: Any, gather_dim: int, group: Any, tag: str = "") -> Any:
    """Return the tensors of all processes, joined along a dim."""
    members = resolved(group)
    return (AllGather.apply if needs_gradient(self) else gathered)(self, gather_dim, members)


def reduce_scatter_tensor(self: Any, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """Return this process's part, along a dim, of the tensors of all processes joined by ``reduceOp``."""
    members = resolved(group)
    return (ReduceScatter.apply if needs_gradient(self) else scattered)(self, reduceOp, scatter_dim, members)


def all_to_all_single(
    self: Any,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Any:
    """Send each process its part along dimension 0, and return what they send, by rank."""
    outputs = None if output_split_sizes is None else list(output_split_sizes)
    inputs = None if input_split_sizes is None else list(input_split_sizes)
    return (AllToAll.apply if needs_gradient(self) else exchanged)(self, outputs, inputs, resolved(group))


all_gather_tensor_autograd = all_gather_single = all_gather_single_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_single = reduce_scatter_single_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single


def permute_tensor(self: Any, src_dst: Sequence[int], group: Any, tag: str = "") -> Any:
    """Send the tensor to the process of rank ``src_dst[own rank]``, and return what is sent here.

    Raises
    ------
    ValueError
        If ``src_dst`` is no permutation of the group's ranks.
    """
    members = resolved(group)
    if sorted(src_dst) != list(range(members.size())):
        raise ValueError(f"permute_tensor: src_dst must be a permutation of the ranks, got {list(src_dst)}")
    flat = self.detach().reshape(-1)
    coming, going = [0] * members.size(), [0] * members.size()
    coming[list(src_dst).index(members.rank())] = going[src_dst[members.rank()]] = flat.numel()
    result = (AllToAll.apply if needs_gradient(self) else exchanged)(self.reshape(-1), coming, going, members)
    return result.reshape(self.shape)


def all_reduce_coalesced(self: Sequence[Any], reduceOp: str, group: Any, tag: str = "") -> list[Any]:
    """Return `all_reduce` of each of several tensors."""
    return [all_reduce(each, reduceOp, group) for each in self]


def all_gather_into_tensor_coalesced(self: Sequence[Any], group: Any, tag: str = "") -> list[Any]:
    """Return `all_gather_tensor` of each of several tensors, along dimension 0."""
    return [all_gather_tensor(each, 0, group) for each in self]


def reduce_scatter_tensor_coalesced(
    inputs: Sequence[Any], reduceOp: str, scatter_dim: Sequence[int], group: Any, tag: str = ""
) -> list[Any]:
    """Return `reduce_scatter_tensor` of each of several tensors."""
    return [reduce_scatter_tensor(each, reduceOp, dim, group) for each, dim in zip(inputs, scatter_dim, strict=True)]
