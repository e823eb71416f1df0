"""Names of grids of devices, which several processes make."""

from weft.distributed._several import OfSeveral, refused

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh(OfSeveral):
    """A grid of devices, one for each process: there is none in a world of one."""


init_device_mesh = refused("init_device_mesh", __name__)
