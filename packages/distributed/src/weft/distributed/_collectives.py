"""Collectives of tensors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import weft
from weft.distributed._buffers import Buffer, about, check_tensor, check_tensors, joined, separate
from weft.distributed._groups import current, get_rank, root_of
from weft.distributed._process_group import ProcessGroup
from weft.distributed._reduce_ops import PremulSum, ReduceOp
from weft.distributed._work import Work

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "reduce_scatter_single",
    "scatter",
    "stop_at",
    "supports_complex",
]


class Reduction:
    """A `ReduceOp` as communicators do it: AVG and PREMUL_SUM are sums, with a step before or after.

    Parameters
    ----------
    name : str
        Of the collective, for errors.
    op : ReduceOp or PremulSum
    tensor : Tensor
    size : int
        Of the group.

    Raises
    ------
    ValueError
        If the op is none, or the dtype has no such reduction.
    """

    def __init__(self, name: str, op: Any, tensor: Any, size: int) -> None:
        self._factor = op.factor if isinstance(op, PremulSum) else None
        self._size = size
        op = op.op if isinstance(op, PremulSum) else op
        if not isinstance(op, ReduceOp):
            raise TypeError(f"{name}: op must be a ReduceOp, got {op!r}")
        self._is_mean = op is ReduceOp.AVG
        bitwise = op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
        if bitwise and (tensor.is_floating_point() or tensor.is_complex()):
            raise ValueError(f"{name}: op={op.name} needs integers or bools, got {about(tensor)}")
        if op in (ReduceOp.MIN, ReduceOp.MAX) and tensor.is_complex():
            raise ValueError(f"{name} does not support {op.name} on complex tensors")
        if op is ReduceOp.PREMUL_SUM and self._factor is None:
            raise ValueError(f"{name}: PREMUL_SUM needs its factor: use weft.distributed._make_nccl_premul_sum(factor)")
        self.name = op.name
        self.op = ReduceOp.SUM if op in (ReduceOp.AVG, ReduceOp.PREMUL_SUM) else op

    def before(self, tensor: Any) -> Any:
        """What is joined of this process's tensor."""
        return tensor if self._factor is None else tensor.detach() * self._factor

    def after(self, tensor: Any) -> None:
        """Finish what was joined, in place."""
        if self._is_mean:
            with weft.no_grad():
                if tensor.is_floating_point() or tensor.is_complex():
                    tensor.detach().div_(self._size)
                else:
                    tensor.detach().div_(self._size, rounding_mode="trunc")

    def finish(self, joined: Any, tensor: Any) -> None:
        """Finish what was joined, and let the program's tensor have it if it is another one."""
        self.after(joined)
        if joined is not tensor:
            tensor.detach().copy_(joined)


def kind_of(tensor: Any) -> str:
    """The type of the tensor's device."""
    return str(tensor.device.type)


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Join the tensors of all processes, in place.

    Parameters
    ----------
    tensor : Tensor
        Of the same shape and dtype in all.
    op : ReduceOp
    group : ProcessGroup, optional
    async_op : bool
        Return a `Work`, and go on.

    Raises
    ------
    DistBackendError
        If a process is gone, or does not come within the timeout.
    """
    check_tensor("all_reduce", "tensor", tensor)
    members = current("all_reduce", group)
    if members is None:
        return None
    reduction = Reduction("all_reduce", op, tensor, members.size())

    def call(communicator: Any) -> None:
        given = reduction.before(tensor)
        buffer = Buffer(given)
        communicator.all_reduce(buffer.array, reduction.op)
        buffer.write_back()
        reduction.finish(given, tensor)

    return members.collective("all_reduce", call, kind_of(tensor), about(tensor, reduction.name), [tensor], async_op)


def all_reduce_coalesced(
    tensors: Sequence[Any], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors of one dtype at once."""
    check_tensors("all_reduce_coalesced", "tensors", tensors)
    members = current("all_reduce_coalesced", group)
    if members is None:
        return None
    reduction = Reduction("all_reduce_coalesced", op, tensors[0], members.size())

    def call(communicator: Any) -> None:
        flat = reduction.before(joined(tensors, fill=True))
        communicator.all_reduce(Buffer(flat).array, reduction.op)
        reduction.after(flat)
        separate(flat, tensors)

    text = f"{len(tensors)} tensors"
    return members.collective("all_reduce_coalesced", call, kind_of(tensors[0]), text, tensors, async_op)


def reduce(
    tensor: Any,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Join the tensors of all processes in that of the process of global rank ``dst``; others keep theirs."""
    check_tensor("reduce", "tensor", tensor)
    members = current("reduce", group)
    if members is None:
        return None
    root = root_of("reduce", members, dst, group_dst, "dst")
    reduction = Reduction("reduce", op, tensor, members.size())

    def call(communicator: Any) -> None:
        given = reduction.before(tensor)
        buffer = Buffer(given)
        communicator.reduce(buffer.array, root, reduction.op)
        if members.rank() == root:
            buffer.write_back()
            reduction.finish(given, tensor)

    return members.collective(
        "reduce", call, kind_of(tensor), about(tensor, reduction.name, f"to {root}"), [tensor], async_op
    )


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Fill the tensor with that of the process of global rank ``src``."""
    check_tensor("broadcast", "tensor", tensor)
    members = current("broadcast", group)
    if members is None:
        return None
    root = root_of("broadcast", members, src, group_src, "src")

    def call(communicator: Any) -> None:
        buffer = Buffer(tensor)
        communicator.broadcast(buffer.array, root)
        if members.rank() != root:
            buffer.write_back()

    return members.collective("broadcast", call, kind_of(tensor), about(tensor, f"from {root}"), [tensor], async_op)


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Fill the tensors of a list with those of all processes, by rank.

    The processes' tensors may differ in shape, if each list has them in the right ones.
    """
    check_tensor("all_gather", "tensor", tensor)
    members = current("all_gather", group)
    if members is None:
        return None
    check_tensors("all_gather", "tensor_list", tensor_list, members.size())
    if tensor_list[0].dtype != tensor.dtype:
        raise TypeError(f"all_gather: tensor_list has {tensor_list[0].dtype}, and tensor {tensor.dtype}")
    counts = [each.numel() for each in tensor_list]
    if tensor.numel() != counts[members.rank()]:
        raise ValueError(
            f"all_gather: tensor has shape {list(tensor.shape)}, and its place in tensor_list "
            f"{list(tensor_list[members.rank()].shape)}"
        )

    def call(communicator: Any) -> None:
        if len(set(counts)) == 1:
            flat = joined(tensor_list, fill=False)
            communicator.all_gather(Buffer(flat).array, Buffer(tensor).array)
            separate(flat, tensor_list)
            return
        for rank, each in enumerate(tensor_list):
            buffer = Buffer(tensor if rank == members.rank() else each)
            communicator.broadcast(buffer.array, rank)
            if rank == members.rank():
                each.detach().copy_(tensor.detach())
            else:
                buffer.write_back()

    return members.collective("all_gather", call, kind_of(tensor), about(tensor), tensor_list, async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill a tensor with those of all processes, one after the other by rank: joined, or stacked."""
    name = "all_gather_into_tensor"
    check_tensor(name, "input_tensor", input_tensor)
    check_tensor(name, "output_tensor", output_tensor)
    members = current(name, group)
    if members is None:
        return None
    check_share(name, "output_tensor", output_tensor, input_tensor, members)

    def call(communicator: Any) -> None:
        output = Buffer(output_tensor, fill=False)
        communicator.all_gather(output.array, Buffer(input_tensor).array)
        output.write_back()

    return members.collective(name, call, kind_of(input_tensor), about(input_tensor), [output_tensor], async_op)


def check_share(name: str, argument: str, whole: Any, part: Any, members: ProcessGroup) -> None:
    """Raise ValueError unless one tensor has as many elements as all processes' parts, of the same dtype."""
    if whole.dtype != part.dtype:
        raise TypeError(f"{name}: the tensors must be of one dtype, got {whole.dtype} and {part.dtype}")
    if whole.numel() != part.numel() * members.size():
        raise ValueError(
            f"{name}: {argument} must have {part.numel()} elements for each of the {members.size()} processes, got "
            f"shape {list(whole.shape)}"
        )


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_gather` of each of several tensors: ``output_tensor_lists[rank]`` has those of that process."""
    check_tensors("all_gather_coalesced", "input_tensor_list", input_tensor_list)
    members = current("all_gather_coalesced", group)
    if members is None:
        return None

    def call(communicator: Any) -> None:
        for index, tensor in enumerate(input_tensor_list):
            targets = [outputs[index] for outputs in output_tensor_lists]
            flat = joined(targets, fill=False)
            communicator.all_gather(Buffer(flat).array, Buffer(tensor).array)
            separate(flat, targets)

    text = f"{len(input_tensor_list)} tensors"
    kind = kind_of(input_tensor_list[0])
    return members.collective("all_gather_coalesced", call, kind, text, output_tensor_lists, async_op)


def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Fill a list in the process of global rank ``dst`` (0 unless given) with the tensors of all, by rank."""
    check_tensor("gather", "tensor", tensor)
    members = current("gather", group)
    if members is None:
        return None
    dst = members.ranks[0] if dst is None and group_dst is None else dst
    root = root_of("gather", members, dst, group_dst, "dst")
    here = members.rank() == root
    if here and not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if gather_list and not here:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    if here:
        check_tensors("gather", "gather_list", gather_list, members.size())

    def call(communicator: Any) -> None:
        flat = joined(gather_list, fill=False) if here else None
        communicator.gather(None if flat is None else Buffer(flat).array, Buffer(tensor).array, root)
        if flat is not None:
            separate(flat, gather_list)

    return members.collective("gather", call, kind_of(tensor), about(tensor, f"to {root}"), gather_list or [], async_op)


def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Fill the tensor with this process's of the list that the process of global rank ``src`` (0 unless given) has."""
    check_tensor("scatter", "tensor", tensor)
    members = current("scatter", group)
    if members is None:
        return None
    src = members.ranks[0] if src is None and group_src is None else src
    root = root_of("scatter", members, src, group_src, "src")
    here = members.rank() == root
    if here and not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    if scatter_list and not here:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    if here:
        check_tensors("scatter", "scatter_list", scatter_list, members.size())

    def call(communicator: Any) -> None:
        buffer = Buffer(tensor, fill=False)
        given = Buffer(joined(scatter_list, fill=True)).array if here else None
        communicator.scatter(buffer.array, given, root)
        buffer.write_back()

    return members.collective("scatter", call, kind_of(tensor), about(tensor, f"from {root}"), [tensor], async_op)


def reduce_scatter(
    output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Join the lists of all processes, and fill the output with this process's of the result."""
    check_tensor("reduce_scatter", "output", output)
    members = current("reduce_scatter", group)
    if members is None:
        return None
    check_tensors("reduce_scatter", "input_list", input_list, members.size())
    reduction = Reduction("reduce_scatter", op, output, members.size())

    def call(communicator: Any) -> None:
        if len({each.numel() for each in input_list}) > 1:  # parts of several sizes
            flat = reduction.before(joined(input_list, fill=True))
            communicator.all_reduce(Buffer(flat).array, reduction.op)
            start = sum(each.numel() for each in input_list[: members.rank()])
            output.detach().copy_(flat[start : start + output.numel()].reshape(output.shape))
        else:
            buffer = Buffer(output, fill=False)
            given = reduction.before(joined(input_list, fill=True))
            communicator.reduce_scatter(buffer.array, Buffer(given).array, reduction.op)
            buffer.write_back()
        reduction.after(output)

    return members.collective(
        "reduce_scatter", call, kind_of(output), about(output, reduction.name), [output], async_op
    )


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Join the inputs of all processes, and fill the output with this process's part of the result."""
    name = "reduce_scatter_tensor"
    check_tensor(name, "output", output)
    check_tensor(name, "input", input)
    members = current(name, group)
    if members is None:
        return None
    check_share(name, "input", input, output, members)
    reduction = Reduction(name, op, output, members.size())

    def call(communicator: Any) -> None:
        buffer = Buffer(output, fill=False)
        communicator.reduce_scatter(buffer.array, Buffer(reduction.before(input)).array, reduction.op)
        buffer.write_back()
        reduction.after(output)

    return members.collective(name, call, kind_of(output), about(output, reduction.name), [output], async_op)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Send each process its tensor of a list, and fill another list with what they send."""
    members = current("all_to_all", group)
    if members is None:
        return None
    check_tensors("all_to_all", "output_tensor_list", output_tensor_list, members.size())
    check_tensors("all_to_all", "input_tensor_list", input_tensor_list, members.size())

    def call(communicator: Any) -> None:
        flat = joined(output_tensor_list, fill=False)
        given = joined(input_tensor_list, fill=True)
        counts = [[each.numel() for each in tensors] for tensors in (output_tensor_list, input_tensor_list)]
        communicator.all_to_all(Buffer(flat).array, Buffer(given).array, *counts)
        separate(flat, output_tensor_list)

    kind, text = kind_of(input_tensor_list[0]), f"{len(input_tensor_list)} tensors"
    return members.collective("all_to_all", call, kind, text, output_tensor_list, async_op)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each process its part of a tensor along dimension 0, and fill another with what they send.

    Parameters
    ----------
    output, input : Tensor
    output_split_sizes, input_split_sizes : list of int, optional
        The lengths of the parts; by default they are equal.

    Raises
    ------
    ValueError
        If the lengths do not make up dimension 0.
    """
    check_tensor("all_to_all_single", "output", output)
    check_tensor("all_to_all_single", "input", input)
    members = current("all_to_all_single", group)
    if members is None:
        return None
    counts = [
        part_counts(tensor, sizes, members.size(), argument)
        for tensor, sizes, argument in ((output, output_split_sizes, "output"), (input, input_split_sizes, "input"))
    ]

    def call(communicator: Any) -> None:
        buffer = Buffer(output, fill=False)
        communicator.all_to_all(buffer.array, Buffer(input).array, *counts)
        buffer.write_back()

    return members.collective("all_to_all_single", call, kind_of(input), about(input), [output], async_op)


def part_counts(tensor: Any, sizes: Any, size: int, argument: str) -> list[int]:
    """The numbers of elements of the parts of a tensor along dimension 0."""
    length = tensor.shape[0] if tensor.ndim else 1
    if not sizes:
        if length % size:
            raise ValueError(
                f"all_to_all_single: dimension 0 of {argument}, {length}, is not divisible by the {size} processes; "
                f"give {argument}_split_sizes"
            )
        sizes = [length // size] * size
    if len(sizes) != size or sum(sizes) != length:
        raise ValueError(
            f"all_to_all_single: {argument}_split_sizes={list(sizes)} must be {size} numbers whose sum is dimension 0 "
            f"of {argument}, {length}"
        )
    row = tensor.numel() // length if length else 0
    return [each * row for each in sizes]


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Return when all processes have called it; ``timeout`` is for a group's engine of the CPU."""
    members = current("barrier", group)
    if members is None:
        return None
    kind = next((device for device in members._makers if device not in ("", "cpu")), "cpu")
    kind = "cpu" if "" in members._makers or "cpu" in members._makers else kind

    def call(communicator: Any) -> None:
        before = communicator.timeout
        communicator.timeout = before if timeout is None else timeout
        try:
            communicator.barrier()
        finally:
            communicator.timeout = before

    return members.collective("barrier", call, kind, async_op=async_op)


def stop_at(rank: int = 0, skip: int = 0, timeout_s: int = 3600) -> None:
    """Start the debugger in the process of one rank; the others wait for it, for ``timeout_s`` seconds.

    Parameters
    ----------
    rank : int
    skip : int
        The number of calls that go on first.
    """
    Stops.count += 1
    if Stops.count <= skip:
        return
    if get_rank() == rank:
        from pdb import Pdb  # seldom needed

        Pdb().set_trace(sys._getframe(1))
    barrier(timeout=timedelta(seconds=timeout_s))


class Stops:
    """How often `stop_at` was called."""

    count = 0


def supports_complex(reduceOp: Any) -> bool:
    """Whether complex numbers can be joined so."""
    return reduceOp not in (ReduceOp.MIN, ReduceOp.MAX, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


all_gather_single = all_gather_into_tensor
reduce_scatter_single = reduce_scatter_tensor


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Return when all processes have called it, and say which have not after ``timeout``.

    Raises
    ------
    DistBackendError
        That names the processes that are missing: the first, or with ``wait_all_ranks`` all of them.
    """
    from weft.distributed._debug import monitored

    members = current("monitored_barrier", group)
    if members is not None:
        monitored(members, members.timeout if timeout is None else timeout, wait_all_ranks)
