"""Tensors from one way of being divided to another."""

from __future__ import annotations

from typing import Any

import weft
from weft.distributed import distributed_c10d as c10d
from weft.distributed._functional_collectives import gathered, op_named
from weft.distributed.device_mesh import DeviceMesh
from weft.distributed.tensor._dtensor_spec import Placements, local_sizes, shard_order
from weft.distributed.tensor.placement_types import Partial, Replicate, Shard

__all__ = ["place_of", "redistribute_local"]


def place_of(mesh: DeviceMesh) -> tuple[int, ...]:
    """The place of this process in a mesh; that of the first process where it is not in it."""
    return mesh.get_coordinate() or (0,) * mesh.ndim


def redistribute_local(
    local: Any, mesh: DeviceMesh, shape: Any, source: Placements, target: Placements, is_backward: bool = False
) -> Any:
    """The part of this process of a tensor that is placed in another way.

    Parameters
    ----------
    local : Tensor
        Its part as it is.
    shape : sequence of int
        Of the whole tensor.
    source, target : tuples of Placement
    is_backward : bool
        A gradient of which each process has the whole stays so where a partial one is asked for.
    """
    if source == target or mesh.get_coordinate() is None:
        return local
    return Redistribution(local, mesh, shape, source, target, is_backward).run()


class Redistribution:
    """One step after the other, with the placements that hold in between.

    Parts are joined from the last dim of the mesh that divides a dimension to the first, and divided from the first to
    the last; what both ways have in common at the beginning stays. Sums that are wanted in parts are made in parts, and
    parts along one dimension that are wanted along another go to their place without being joined.
    """

    def __init__(
        self, local: Any, mesh: DeviceMesh, shape: Any, source: Placements, target: Placements, is_backward: bool
    ) -> None:
        self.local, self.mesh, self.shape = local, mesh, tuple(shape)
        self.current = list(source)
        self.target = list(target)
        self.is_backward = is_backward
        self.place = place_of(mesh)

    def run(self) -> Any:
        for index, placement in enumerate(self.current):
            if isinstance(placement, Partial) and placement != self.target[index]:
                self.reduce(index, placement)
        for dim in range(len(self.shape)):
            self.join(dim)
        for dim in range(len(self.shape)):
            for index in shard_order(self.target, dim):
                if not self.current[index].is_shard():
                    self.divide(index, dim)
        for index, placement in enumerate(self.target):
            if isinstance(placement, Partial) and placement != self.current[index]:
                self.part(index, placement)
            self.current[index] = placement
        return self.local

    def is_next(self, index: int, dim: int) -> bool:
        """Whether a dim of the mesh is the next to divide a dimension, on the way to the target."""
        now, then = shard_order(self.current, dim), shard_order(self.target, dim)
        return then[: len(now) + 1] == [*now, index]

    def reduce(self, index: int, placement: Partial) -> None:
        """Join the terms along a dim of the mesh, each process its part where that is wanted."""
        group, size = self.mesh.get_group(index), self.mesh.size(index)
        wanted = self.target[index]
        term = placement.before(self.local)
        if isinstance(wanted, Shard) and size > 1 and self.is_next(index, wanted.dim):
            self.local = placement.after(reduce_scatter(term, wanted.dim, placement.reduce_op, group, size))
            self.current[index] = wanted
            return
        if size > 1:
            term = term.clone(memory_format=weft.contiguous_format) if term is self.local else term.contiguous()
            c10d.all_reduce(term, op_named(placement.reduce_op), group)
        self.local = placement.after(term)
        self.current[index] = Replicate()

    def join(self, dim: int) -> None:
        """Join the parts along a dimension that the target has not, or not in this order."""
        now, then = shard_order(self.current, dim), shard_order(self.target, dim)
        common = 0
        while common < min(len(now), len(then)) and now[common] == then[common]:
            common += 1
        for index in reversed(now[common:]):
            wanted = self.target[index]
            outer = [each for each in range(len(self.current)) if each != index]
            before = [self.current[each] if each in outer else Replicate() for each in range(len(self.current))]
            sizes = local_sizes(self.shape, self.mesh.shape, self.place, before)[0]
            group, size = self.mesh.get_group(index), self.mesh.size(index)
            if isinstance(wanted, Shard) and wanted.dim != dim and self.is_next(index, wanted.dim):
                self.local = all_to_all(self.local, sizes, dim, wanted.dim, group, size)
                self.current[index] = wanted
            else:
                self.local = all_gather(self.local, dim, sizes[dim], group, size)
                self.current[index] = Replicate()

    def divide(self, index: int, dim: int) -> None:
        """Keep this process's part along a dimension."""
        length, start = Shard.local_shard_size_and_offset(
            self.local.shape[dim], self.mesh.size(index), self.place[index]
        )
        # A clone lets go of the whole.
        self.local = self.local.narrow(dim, start, length).clone(memory_format=weft.contiguous_format)
        self.current[index] = self.target[index]

    def part(self, index: int, placement: Partial) -> None:
        """Make a term of what each process has as a whole."""
        if not self.is_backward:
            self.local = placement.term(self.local, self.mesh.size(index))


def all_gather(local: Any, dim: int, length: int, group: Any, size: int) -> Any:
    """The whole along a dimension, which is ``length`` long."""
    if size == 1:
        return local
    chunk = -(-length // size)
    if length == chunk * size:
        return gathered(local, dim, group)
    whole = gathered(padded(local, dim, chunk), dim, group)
    return whole.narrow(dim, 0, length).contiguous()  # all parts before the last with elements are full


def padded(local: Any, dim: int, length: int) -> Any:
    """A part, filled up with zeros along a dimension."""
    if local.shape[dim] == length:
        return local
    rest = list(local.shape)
    rest[dim] = length - local.shape[dim]
    return weft.cat([local, weft.zeros(rest, dtype=local.dtype, device=local.device)], dim)


def reduce_scatter(term: Any, dim: int, op: str, group: Any, size: int) -> Any:
    """The part of this process, along a dimension, of the joined terms."""
    length = term.shape[dim]
    chunk = -(-length // size)
    whole = padded(term, dim, chunk * size)
    if dim:
        whole = weft.cat(whole.chunk(size, dim))
    result = weft.empty([whole.shape[0] // size, *whole.shape[1:]], dtype=term.dtype, device=term.device)
    c10d.reduce_scatter_tensor(result, whole.contiguous(), op_named(op), group)
    own = Shard.local_shard_size_and_offset(length, size, group.rank())[0]
    return result if own == chunk else result.narrow(dim, 0, own).contiguous()


def all_to_all(local: Any, sizes: list[int], old: int, new: int, group: Any, size: int) -> Any:
    """The part along dimension ``new`` of a tensor of some sizes that was divided along dimension ``old``."""
    if size == 1:
        return local
    old_lengths = [Shard.local_shard_size_and_offset(sizes[old], size, rank)[0] for rank in range(size)]
    new_lengths = [Shard.local_shard_size_and_offset(sizes[new], size, rank) for rank in range(size)]
    parts = [local.narrow(new, start, length).reshape(-1) for length, start in new_lengths]
    shapes = []
    for length in old_lengths:
        shape = list(sizes)
        shape[old], shape[new] = length, new_lengths[group.rank()][0]
        shapes.append(shape)
    counts = [weft.Size(shape).numel() for shape in shapes]
    flat = weft.empty(sum(counts), dtype=local.dtype, device=local.device)
    c10d.all_to_all_single(flat, weft.cat(parts), counts, [part.numel() for part in parts], group)
    return weft.cat([part.reshape(shape) for part, shape in zip(flat.split(counts), shapes)], old)
