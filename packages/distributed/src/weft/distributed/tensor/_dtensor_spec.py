"""`DTensorSpec`: where the parts of a tensor are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from weft.distributed.device_mesh import DeviceMesh
from weft.distributed.tensor.placement_types import Placement, Shard, _StridedShard

__all__ = ["DTensorSpec", "TensorMeta"]

Placements = tuple[Placement, ...]


class TensorMeta(NamedTuple):
    """The shape, strides and dtype of a whole tensor."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class DTensorSpec:
    """A mesh, the placement along each of its dims, and the shape of the whole tensor."""

    mesh: DeviceMesh
    placements: Placements
    tensor_meta: TensorMeta | None = field(default=None)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh

    @property
    def shape(self) -> Any:
        """The shape of the whole tensor."""
        assert self.tensor_meta is not None
        return self.tensor_meta.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions of the tensor."""
        return len(self.shape)

    @property
    def dim_map(self) -> list[int]:
        """For each dimension of the tensor the dim of the mesh that divides it; -1 for none."""
        found = [-1] * self.ndim
        for dim, placement in enumerate(self.placements):
            if isinstance(placement, Shard):
                found[placement.dim] = dim
        return found

    @property
    def num_shards(self) -> int:
        """The number of parts."""
        count = 1
        for dim, placement in enumerate(self.placements):
            count *= self.mesh.size(dim) if placement.is_shard() else 1
        return count

    def is_replicated(self) -> bool:
        """Whether each process has the whole tensor."""
        return all(each.is_replicate() for each in self.placements)

    def is_sharded(self) -> bool:
        """Whether a dim of the mesh divides it."""
        return any(each.is_shard() for each in self.placements)


def shard_order(placements: Any, dim: int) -> list[int]:
    """The dims of the mesh that divide a dimension of a tensor, the one that divides first before the others."""
    found = [index for index, each in enumerate(placements) if isinstance(each, Shard) and each.dim == dim]
    strided = [index for index in found if isinstance(placements[index], _StridedShard)]
    if not strided:
        return found
    return [index for index in found if index not in strided] + strided


def local_sizes(
    shape: Any, mesh_shape: tuple[int, ...], coordinate: tuple[int, ...], placements: Any
) -> tuple[list[int], list[int]]:
    """The shape of the part of the process at a place of the mesh, and where it begins."""
    sizes, offsets = list(shape), [0] * len(shape)
    for dim in {each.dim for each in placements if isinstance(each, Shard)}:
        for index in shard_order(placements, dim):
            sizes[dim], start = Shard.local_shard_size_and_offset(sizes[dim], mesh_shape[index], coordinate[index])
            offsets[dim] += start
    return sizes, offsets
