"""Names of tensors divided among processes: libraries ask with `isinstance` whether a tensor is one, and none is."""

from __future__ import annotations

from weft.distributed._several import OfSeveral, refused
from weft.distributed.device_mesh import DeviceMesh, init_device_mesh
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
    "init_device_mesh",
]


class DTensor(OfSeveral):
    """A tensor of which each process has a part: there is none in a world of one."""

    from_local = staticmethod(refused("DTensor.from_local", __name__))


distribute_tensor = refused("distribute_tensor", __name__)
distribute_module = refused("distribute_module", __name__)
