"""Tensors that are divided among the processes of a mesh."""

from __future__ import annotations

from weft.distributed.device_mesh import DeviceMesh, init_device_mesh
from weft.distributed.tensor._api import DTensor, distribute_module, distribute_tensor
from weft.distributed.tensor._factories import empty, full, ones, rand, randn, zeros
from weft.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "ones",
    "rand",
    "randn",
    "zeros",
]
