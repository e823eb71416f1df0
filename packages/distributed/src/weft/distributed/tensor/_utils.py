"""Shapes of the parts of divided tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import weft
from weft.distributed.device_mesh import DeviceMesh
from weft.distributed.tensor._api import whole_shape
from weft.distributed.tensor._dtensor_spec import local_sizes
from weft.distributed.tensor._redistribute import place_of
from weft.distributed.tensor.placement_types import Placement

__all__ = [
    "compute_global_tensor_info",
    "compute_global_tensor_shape",
    "compute_local_shape",
    "compute_local_shape_and_global_offset",
    "compute_local_stride",
    "normalize_to_torch_size",
]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement], skip_offset: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of this process's part of a tensor, and where in the whole it begins.

    Examples
    --------
    >>> from weft.distributed.tensor import Shard, init_device_mesh
    >>> from weft.distributed.tensor._utils import compute_local_shape_and_global_offset
    >>> mesh = init_device_mesh("cpu", (1,))
    >>> compute_local_shape_and_global_offset((4, 3), mesh, [Shard(0)])
    ((4, 3), (0, 0))
    >>> weft.distributed.destroy_process_group()
    """
    if mesh.get_coordinate() is None:
        return (0,), ()
    sizes, offsets = local_sizes(global_shape, mesh.shape, place_of(mesh), placements)
    return tuple(sizes), () if skip_offset else tuple(offsets)


def _compute_local_shape_and_global_offset(
    global_shape: Sequence[int],
    mesh_shape: Sequence[int],
    my_coordinate: Sequence[int] | None,
    placements: Sequence[Placement],
    skip_offset: bool = False,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if my_coordinate is None:
        return (0,), ()
    sizes, offsets = local_sizes(global_shape, tuple(mesh_shape), tuple(my_coordinate), placements)
    return tuple(sizes), () if skip_offset else tuple(offsets)


def compute_local_shape(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[int, ...]:
    """Return the shape of this process's part of a tensor."""
    return compute_local_shape_and_global_offset(global_shape, mesh, placements)[0]


def compute_global_tensor_shape(shape: Any, mesh: DeviceMesh, placements: Sequence[Placement]) -> Any:
    """Return the shape of the whole tensor whose part has a shape; all processes call it, and parts may be uneven."""
    from weft.distributed import distributed_c10d as c10d

    result = list(shape)
    for dim in reversed(range(mesh.ndim)):
        placement = placements[dim]
        if placement.is_shard():
            found: list[Any] = [None] * mesh.size(dim)
            c10d.all_gather_object(found, result, mesh.get_group(dim))
            own = placement.dim  # type: ignore[attr-defined]
            if any(each[:own] + each[own + 1 :] != result[:own] + result[own + 1 :] for each in found):
                raise RuntimeError(f"compute_global_tensor_shape: non-sharded dimensions must agree, got {found}")
            result[own] = sum(each[own] for each in found)
    return weft.Size(result)


def compute_global_tensor_info(
    tensor: Any, mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[list[int], list[int]]:
    """Return the shape and strides of the whole tensor of which this is an even part."""
    shape = whole_shape(tensor, mesh, tuple(placements))
    strides = list(tensor.stride())
    for dim, placement in enumerate(placements):
        if placement.is_shard():
            own = placement.dim  # type: ignore[attr-defined]
            strides = [
                each * mesh.size(dim) if at != own and each >= tensor.stride(own) else each
                for at, each in enumerate(strides)
            ]
    return shape, strides


def compute_local_stride(global_stride: Sequence[int], mesh: Any, placements: Any = None) -> tuple[int, ...]:
    """Return the strides of a part of a whole with some strides."""
    divisors = [
        math.prod(
            mesh.size(at) for at, each in enumerate(placements) if each.is_shard() and global_stride[each.dim] < stride
        )
        for stride in global_stride
    ]
    return tuple(stride // divisor for stride, divisor in zip(global_stride, divisors))


def normalize_to_torch_size(size: Any) -> Any:
    """Return sizes, given one by one or as a sequence, as `Size`."""
    if isinstance(size, weft.Size):
        return size
    values = [size] if isinstance(size, int) else list(size)
    if len(values) == 1 and isinstance(values[0], Sequence):
        values = list(values[0])
    return weft.Size(values)
