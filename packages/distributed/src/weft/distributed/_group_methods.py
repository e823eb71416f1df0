"""Collectives as methods of a process group, by PyTorch's names: each begins one and returns a `Work`.

Programs call the functions of `weft.distributed`; these are for libraries that were written for the methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from weft.distributed._reduce_ops import ReduceOp
from weft.distributed._work import Work

__all__ = [
    "AllToAllOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "BarrierOptions",
    "BroadcastOptions",
    "GatherOptions",
    "GroupMethods",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
]


@dataclass
class Options:
    """Options of a collective: that of the group is the timeout, and methods always return a `Work`."""

    timeout: timedelta | None = None
    asyncOp: bool = True


@dataclass
class AllreduceOptions(Options):
    """How values are joined."""

    reduceOp: Any = ReduceOp.SUM


@dataclass
class AllreduceCoalescedOptions(AllreduceOptions):
    """How values of several tensors are joined."""


@dataclass
class ReduceScatterOptions(AllreduceOptions):
    """How values are joined."""


@dataclass
class RootOptions(Options):
    """Which process, by its rank in the group, and which of its tensors."""

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class BroadcastOptions(RootOptions):
    """Which process sends."""


@dataclass
class GatherOptions(RootOptions):
    """Which process gets all."""


@dataclass
class ScatterOptions(RootOptions):
    """Which process has all."""


@dataclass
class ReduceOptions(RootOptions):
    """Which process gets the result, and how values are joined."""

    reduceOp: Any = ReduceOp.SUM


@dataclass
class AllToAllOptions(Options):
    """Nothing beside what all have."""


@dataclass
class BarrierOptions(Options):
    """The devices of this process."""

    device_ids: Any = None


def functions() -> Any:
    """The collectives, which stand above groups."""
    from weft.distributed import _collectives

    return _collectives


def messages() -> Any:
    """Messages, which stand above groups."""
    from weft.distributed import _point_to_point

    return _point_to_point


class GroupMethods:
    """The methods. Lists of tensors have one, of this process's device, as PyTorch's have."""

    def allreduce(self, tensors: Any, opts: Any = ReduceOp.SUM) -> Work:
        """Begin `all_reduce`."""
        return begun(functions().all_reduce(only(tensors), op_of(opts), self, True))

    def allreduce_coalesced(self, tensors: Sequence[Any], opts: Any = ReduceOp.SUM) -> Work:
        """Begin `all_reduce_coalesced`."""
        return begun(functions().all_reduce_coalesced(list(tensors), op_of(opts), self, True))

    def reduce(self, tensors: Any, root: Any = 0, op: Any = ReduceOp.SUM) -> Work:
        """Begin `reduce` to a rank of the group."""
        op = op_of(root) if isinstance(root, ReduceOptions) else op
        return begun(functions().reduce(only(tensors), None, op, self, True, group_dst=root_of(root)))

    def broadcast(self, tensors: Any, root: Any = 0) -> Work:
        """Begin `broadcast` from a rank of the group."""
        return begun(functions().broadcast(only(tensors), None, self, True, group_src=root_of(root)))

    def allgather(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """Begin `all_gather`."""
        outputs = output_tensors[0] if isinstance(output_tensors[0], (list, tuple)) else output_tensors
        return begun(functions().all_gather(list(outputs), only(input_tensors), self, True))

    def allgather_coalesced(self, output_lists: Any, input_list: Any, opts: Any = None) -> Work:
        """Begin `all_gather_coalesced`."""
        return begun(functions().all_gather_coalesced(output_lists, input_list, self, True))

    def all_gather_single(self, output: Any, input: Any, opts: Any = None) -> Work:
        """Begin `all_gather_into_tensor`."""
        return begun(functions().all_gather_into_tensor(output, input, self, True))

    _allgather_base = all_gather_single

    def gather(self, output_tensors: Any, input_tensors: Any, root: Any = 0) -> Work:
        """Begin `gather` to a rank of the group."""
        outputs = output_tensors[0] if output_tensors else None
        dst = root_of(root)
        return begun(functions().gather(only(input_tensors), outputs, None, self, True, group_dst=dst))

    def scatter(self, output_tensors: Any, input_tensors: Any, root: Any = 0) -> Work:
        """Begin `scatter` from a rank of the group."""
        inputs = input_tensors[0] if input_tensors else None
        src = root_of(root)
        return begun(functions().scatter(only(output_tensors), inputs, None, self, True, group_src=src))

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = ReduceOp.SUM) -> Work:
        """Begin `reduce_scatter`."""
        inputs = input_tensors[0] if isinstance(input_tensors[0], (list, tuple)) else input_tensors
        return begun(functions().reduce_scatter(only(output_tensors), list(inputs), op_of(opts), self, True))

    def reduce_scatter_single(self, output: Any, input: Any, opts: Any = ReduceOp.SUM) -> Work:
        """Begin `reduce_scatter_tensor`."""
        return begun(functions().reduce_scatter_tensor(output, input, op_of(opts), self, True))

    _reduce_scatter_base = reduce_scatter_single

    def alltoall(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """Begin `all_to_all`."""
        return begun(functions().all_to_all(list(output_tensors), list(input_tensors), self, True))

    def all_to_all_single(
        self, output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, opts: Any = None
    ) -> Work:
        """Begin `all_to_all_single`."""
        call = functions().all_to_all_single
        return begun(call(output, input, output_split_sizes, input_split_sizes, self, True))

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None) -> Work:
        """Begin `barrier`."""
        return begun(functions().barrier(self, True))

    def send(self, tensors: Any, dstRank: int, tag: int = 0) -> Work:
        """Begin `isend` to a rank of the group."""
        return begun(messages().isend(only(tensors), None, self, tag, group_dst=dstRank))

    def recv(self, tensors: Any, srcRank: int, tag: int = 0) -> Work:
        """Begin `irecv` from a rank of the group."""
        return begun(messages().irecv(only(tensors), None, self, tag, group_src=srcRank))

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """Begin `irecv` from anybody."""
        return begun(messages().irecv(only(tensors), None, self, tag))

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """See `weft.distributed.monitored_barrier`."""
        functions().monitored_barrier(self, timeout, wait_all_ranks)


def only(tensors: Any) -> Any:
    """The one tensor of a list, or the tensor itself.

    Raises
    ------
    ValueError
        If the list has another length.
    """
    if not isinstance(tensors, (list, tuple)):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"a process group's method takes a list of one tensor, got {len(tensors)}")
    return tensors[0]


def op_of(options: Any) -> Any:
    """The `ReduceOp` of options, or the op itself."""
    return getattr(options, "reduceOp", options)


def root_of(options: Any) -> int:
    """The rank of options, or the rank itself."""
    return int(getattr(options, "rootRank", options))


def begun(work: Any) -> Work:
    """The work of a collective that a member of the group began."""
    assert isinstance(work, Work)
    return work
