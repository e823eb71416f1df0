"""Collectives that gradients flow through, for a world of one: each returns what it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.distributed.distributed_c10d import ReduceOp, begun

__all__ = ["all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The tensor: it is the sum over all processes already."""
    begun("all_reduce")
    return tensor


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The tensor."""
    begun("reduce")
    return tensor


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor."""
    begun("broadcast")
    return tensor


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensor of each process: one."""
    begun("all_gather")
    return (tensor,)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """The tensor of each process: one."""
    begun("gather")
    return (tensor,)


def scatter(tensors: Sequence[Any], src: int = 0, group: Any = None) -> Any:
    """The first of the tensors: this process's."""
    begun("scatter")
    return tensors[0]


def reduce_scatter(output: Any, input_list: Sequence[Any], op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The first of the tensors: this process's."""
    begun("reduce_scatter")
    return input_list[0]


def all_to_all(output_tensor_list: Any, input_tensor_list: Sequence[Any], group: Any = None) -> tuple[Any, ...]:
    """What each process sends to this one: its own."""
    begun("all_to_all")
    return tuple(input_tensor_list)
