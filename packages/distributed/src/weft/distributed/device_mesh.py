"""An array of devices with named dims, each of one device: the world of one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft.distributed.distributed_c10d import ProcessGroup, _get_default_group, init_process_group, is_initialized

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """The devices of all processes as an array, whose dims are ways of dividing work. Each has size 1.

    Parameters
    ----------
    device_type : str
    mesh : array of ranks
        Holds the rank 0 alone.
    mesh_dim_names : sequence of str, optional

    Raises
    ------
    NotImplementedError
        If the mesh has more than one device.

    Examples
    --------
    >>> mesh = weft.distributed.device_mesh.DeviceMesh("cpu", [[0]], mesh_dim_names=("dp", "tp"))
    >>> mesh.shape, mesh["tp"].shape, mesh.get_rank()
    ((1, 1), (1,), 0)
    >>> weft.distributed.destroy_process_group()
    """

    def __init__(
        self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None, **kwargs: Any
    ) -> None:
        self.mesh = weft.as_tensor(mesh, dtype=weft.int32)
        if self.mesh.numel() != 1:
            raise NotImplementedError(
                f"DeviceMesh: a mesh of {self.mesh.numel()} devices; weft computes on one device in one process: "
                "give each dim the size 1"
            )
        if mesh_dim_names is not None and len(mesh_dim_names) != self.mesh.ndim:
            raise RuntimeError(
                f"DeviceMesh: mesh_dim_names has {len(mesh_dim_names)} names for a mesh of {self.mesh.ndim} dims"
            )
        self.device_type = device_type
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if not is_initialized():
            init_process_group()

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of devices along each dim: 1."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of devices, in all or along a dim: 1."""
        return 1

    def get_rank(self) -> int:
        """Return 0: the only process."""
        return 0

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return 0: the only process along each dim."""
        return 0

    def get_coordinate(self) -> tuple[int, ...]:
        """Return the place of this process."""
        return (0,) * self.ndim

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Return the group of the processes along a dim: this one."""
        return _get_default_group()

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return the group along each dim."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """Return the mesh of one or some of the dims, by their names.

        Raises
        ------
        KeyError
            If there is no dim of that name.
        """
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        for name in names:
            if name not in (self.mesh_dim_names or ()):
                raise KeyError(f"DeviceMesh: no dim is named {name!r}; the names are {self.mesh_dim_names}")
        return DeviceMesh(self.device_type, self.mesh.reshape((1,) * len(names)), mesh_dim_names=names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceMesh):
            return False
        mine, others = self.device_type, other.device_type
        return (mine, self.shape, self.mesh_dim_names) == (others, other.shape, other.mesh_dim_names)

    def __hash__(self) -> int:
        return hash((self.device_type, self.shape, self.mesh_dim_names))

    def __repr__(self) -> str:
        dims = ", ".join(f"{name}=1" for name in self.mesh_dim_names or ()) or str(self.shape)
        dims = f"({dims})" if self.mesh_dim_names else dims
        return f"DeviceMesh({dims}, {self.device_type!r})"


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None, **kwargs: Any
) -> DeviceMesh:
    """Make a `DeviceMesh` of a shape, and begin the world where that is not done.

    Raises
    ------
    NotImplementedError
        If a size is not 1.
    """
    for size in mesh_shape:
        if size != 1:
            raise NotImplementedError(
                f"init_device_mesh: mesh_shape={tuple(mesh_shape)}; weft computes on one device in one process: "
                "give each dim the size 1"
            )
    return DeviceMesh(device_type, weft.zeros(tuple(mesh_shape), dtype=weft.int32), mesh_dim_names=mesh_dim_names)
