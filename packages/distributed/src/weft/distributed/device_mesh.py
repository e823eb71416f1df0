"""An array of ranks with named dims, along each of which there is a process group."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import weft
from weft.distributed.distributed_c10d import (
    GroupMember,
    ProcessGroup,
    _get_default_group,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_group,
)

__all__ = ["DeviceMesh", "init_device_mesh"]


class Current(threading.local):
    """The meshes whose ``with`` blocks this thread is in, innermost last."""

    def __init__(self) -> None:
        self.meshes: list[DeviceMesh] = []


current = Current()
known: weakref.WeakValueDictionary[Any, DeviceMesh] = weakref.WeakValueDictionary()  # what unpickling finds again


class Root:
    """What a mesh and all that is made of it have in common: the array of ranks, and groups, each made once.

    Attributes
    ----------
    ranks : Tensor
        The whole array.
    coordinate : tuple of int or None
        The place of this process in it.
    names : dict
        The dims of the array that each name spans, those of flattened dims too.
    """

    def __init__(self, ranks: Any, names: tuple[str, ...] | None, rank: int) -> None:
        self.ranks = ranks
        place = (ranks == rank).nonzero().tolist()
        self.coordinate: tuple[int, ...] | None = tuple(place[0]) if place else None
        self.names: dict[str, tuple[int, ...]] = {name: (dim,) for dim, name in enumerate(names or ())}
        self.groups: dict[tuple[int, ...], Any] = {}
        self.meshes: dict[tuple[Any, ...], DeviceMesh] = {}

    def lines(self, dims: tuple[int, ...]) -> list[list[int]]:
        """The ranks along some dims, for each place in the others."""
        others = [dim for dim in range(self.ranks.ndim) if dim not in dims]
        count = math.prod(self.ranks.shape[dim] for dim in dims)
        return self.ranks.permute(*others, *dims).reshape(-1, count).tolist()  # type: ignore[no-any-return]

    def make_group(self, dims: tuple[int, ...], backend: str | None = None, name: str = "") -> None:
        """Make the groups along some dims; all processes come here in the same order."""
        if dims in self.groups:
            return
        lines = self.lines(dims)
        if len(lines) == 1 and lines[0] == list(range(get_world_size())) and backend is None:
            self.groups[dims] = _get_default_group()
            return
        for ranks in lines:
            made = new_group(ranks, backend=backend, group_desc=f"mesh_{name}")
            if made != GroupMember.NON_GROUP_MEMBER:
                self.groups[dims] = made

    def part(self, dims: Sequence[tuple[int, ...]]) -> Any:
        """The array of the ranks along some dims, at this process's place in the others."""
        spanned = [dim for each in dims for dim in each]
        place = self.coordinate or (0,) * self.ranks.ndim
        ranks = self.ranks.permute(*spanned, *(dim for dim in range(self.ranks.ndim) if dim not in spanned))
        for dim in reversed(range(self.ranks.ndim)):
            if dim not in spanned:
                ranks = ranks.select(len(spanned) + sum(each not in spanned for each in range(dim)), place[dim])
        return ranks.reshape([math.prod(self.ranks.shape[dim] for dim in each) for each in dims])


class DeviceMesh:
    """An array of ranks, whose dims are ways of dividing work, with a process group along each.

    Parameters
    ----------
    device_type : str
        ``"cpu"`` or ``"cuda"``.
    mesh : array of int
        Global ranks; all processes give the same.
    mesh_dim_names : sequence of str, optional
    backend_override : sequence, optional
        For each dim a backend's name, or None for that of the group of all (or a tuple of that and options).

    Raises
    ------
    RuntimeError
        If the names are not as many as the dims, or a rank is there twice.

    Notes
    -----
    `init_process_group` is called where that was not done.

    Examples
    --------
    >>> mesh = weft.distributed.device_mesh.DeviceMesh("cpu", [[0]], mesh_dim_names=("dp", "tp"))
    >>> mesh.shape, mesh["tp"].shape, mesh.get_rank()
    ((1, 1), (1,), 0)
    >>> weft.distributed.destroy_process_group()
    """

    _root: Root
    _dims: list[tuple[int, ...]]

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Sequence[Any] | None = None,
        _init_backend: bool = True,
        _rank: int | None = None,
    ) -> None:
        ranks = weft.as_tensor(mesh, dtype=weft.int32, device="cpu").contiguous()
        names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if names is not None and len(names) != ranks.ndim:
            raise RuntimeError(
                f"DeviceMesh: mesh_dim_names has {len(names)} names for a mesh of {ranks.ndim} dims: {names}"
            )
        if names is not None and len(set(names)) != len(names):
            raise RuntimeError(f"Each mesh_dim_name must be unique, got {names}")
        if len(set(ranks.flatten().tolist())) != ranks.numel():
            raise RuntimeError(f"DeviceMesh cannot have duplicate values, but found {ranks.tolist()}")
        if _init_backend and not is_initialized():
            init_process_group()
        if _init_backend and ranks.numel() > get_world_size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {get_world_size()}, "
                f"but found {ranks.numel()} ranks!"
            )
        rank = (get_rank() if is_initialized() else 0) if _rank is None else _rank
        self._begin(device_type, Root(ranks, names, rank), [(dim,) for dim in range(ranks.ndim)], names)
        if _init_backend:
            for dim, dims in enumerate(self._dims):
                override = None if backend_override is None else backend_override[dim]
                backend = override[0] if isinstance(override, tuple) else override
                self._root.make_group(dims, backend, names[dim] if names else f"dim_{dim}")

    def _begin(self, device_type: str, root: Root, dims: list[tuple[int, ...]], names: tuple[str, ...] | None) -> None:
        self.device_type = device_type
        self.mesh_dim_names = names
        self.mesh = root.part(dims)
        self._root, self._dims = root, dims
        known[self._key()] = self

    @classmethod
    def _part(cls, device_type: str, root: Root, dims: list[tuple[int, ...]], names: tuple[str, ...]) -> DeviceMesh:
        """The mesh of some dims of a root, made once."""
        made = root.meshes.get((tuple(dims), names))
        if made is None:
            made = cls.__new__(cls)
            made._begin(device_type, root, dims, names)
            root.meshes[tuple(dims), names] = made
        return made

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None
    ) -> DeviceMesh:
        """Make a mesh of a group that exists, or of one for each dim.

        Parameters
        ----------
        group : ProcessGroup or list of them
        device_type : str
        mesh : array of int
            The ranks; needed for a list, and optional for one group.

        Raises
        ------
        ValueError
            If ``mesh`` does not fit the groups, or is needed and missing.
        """
        if isinstance(group, ProcessGroup):
            ranks = weft.tensor(get_process_group_ranks(group), dtype=weft.int32)
            if mesh is not None and weft.as_tensor(mesh).flatten().tolist() != ranks.tolist():
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks.tolist()}")
            groups = [group]
        else:
            groups = list(group)
            if not groups:
                raise ValueError("Expects at least one ProcessGroup to be passed")
            if mesh is None:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            ranks = weft.as_tensor(mesh, dtype=weft.int32)
            if ranks.ndim != len(groups):
                raise ValueError(
                    "Expects mesh with ndim equal to number of ProcessGroups but got "
                    f"mesh {ranks.tolist()} and {len(groups)} ProcessGroups"
                )
        made = DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _init_backend=False)
        made._root.groups = {(dim,): each for dim, each in enumerate(groups)}
        return made

    # Sizes and places

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self._dims)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of processes along each dim."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of processes, in all or along a dim."""
        return int(self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim])

    def get_rank(self) -> int:
        """Return the global rank of this process."""
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Return the place of this process; None where it is not in the mesh."""
        place = self._root.coordinate
        if place is None:
            return None
        found = []
        for dims in self._dims:
            index = 0
            for dim in dims:
                index = index * self._root.ranks.shape[dim] + place[dim]
            found.append(index)
        return tuple(found)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return this process's place along a dim, which need not be given where there is one.

        Raises
        ------
        RuntimeError
            If there are several dims and none is given, or this process is not in the mesh.
        """
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
            )
        place = self.get_coordinate()
        if place is None:
            raise RuntimeError("DeviceMesh: this process is not in the mesh")
        return place[0 if mesh_dim is None else self._dim(mesh_dim)]

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._root.coordinate is not None

    def _dim(self, mesh_dim: int | str) -> int:
        """The number of a dim."""
        if isinstance(mesh_dim, int):
            return mesh_dim % self.ndim
        if mesh_dim not in (self.mesh_dim_names or ()):
            raise KeyError(f"Mesh dimension '{mesh_dim}' does not exist. Available: {self.mesh_dim_names}")
        return (self.mesh_dim_names or ()).index(mesh_dim)

    # Groups

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Return the group of the processes along a dim, which need not be given where there is one.

        Raises
        ------
        RuntimeError
            If there are several dims and none is given, or the mesh has no groups.
        """
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                "If you want to get the list of all the ProcessGroups in the DeviceMesh, "
                "please use `get_all_groups()` instead.",
            )
        if isinstance(mesh_dim, str) and mesh_dim not in (self.mesh_dim_names or ()):
            return self[mesh_dim].get_group()
        dims = self._dims[0 if mesh_dim is None else self._dim(mesh_dim)]
        if dims not in self._root.groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        return self._root.groups[dims]  # type: ignore[no-any-return]

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return the group along each dim."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    # Meshes of some of the dims

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """Return the mesh of one or some of the dims, by their names, with the same groups.

        Raises
        ------
        RuntimeError
            If the dims have no names.
        KeyError
            If there is no dim of that name.
        """
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self.mesh_dim_names:
            return self
        if not names or any(name not in self._root.names for name in names):
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {list(self._root.names)}."
            )
        dims = [self._root.names[name] for name in names]
        spanned = [dim for each in dims for dim in each]
        if len(set(spanned)) != len(spanned):
            raise KeyError(f"Invalid mesh_dim_names {names} specified: two of them span the same dim of the mesh.")
        return self._part(self.device_type, self._root, dims, names)

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """Return the mesh of one dim that has all of this one's ranks; the whole mesh knows it by name afterwards."""
        if mesh_dim_name is None:
            mesh_dim_name = "_".join(self.mesh_dim_names or ())
        dims = tuple(dim for each in self._dims for dim in each)
        if self._root.names.get(mesh_dim_name, dims) != dims:
            raise ValueError(f"Mesh dim name {mesh_dim_name!r} is already used for {self._root.names[mesh_dim_name]}")
        backend = backend_override[0] if isinstance(backend_override, tuple) else backend_override
        self._root.make_group(dims, backend, mesh_dim_name)
        self._root.names[mesh_dim_name] = dims
        return self._part(self.device_type, self._root, [dims], (mesh_dim_name,))

    def _unflatten(
        self, dim: int | str, mesh_sizes: Sequence[int], mesh_dim_names: Sequence[str], backend_override: Any = None
    ) -> DeviceMesh:
        """Return a mesh in which a dim has become several."""
        index = self._dim(dim)
        shape = [*self.shape[:index], *mesh_sizes, *self.shape[index + 1 :]]
        old = self.mesh_dim_names or tuple(f"dim_{each}" for each in range(self.ndim))
        names = [*old[:index], *mesh_dim_names, *old[index + 1 :]]
        return DeviceMesh(self.device_type, self.mesh.reshape(shape), mesh_dim_names=names)

    def _get_all_submeshes(self, mesh_dim_name: str) -> list[DeviceMesh]:
        """All meshes along a dim, one for each place in the others, without groups but for this process's own."""
        own = self[mesh_dim_name]
        return [
            own
            if own.mesh.tolist() == ranks
            else DeviceMesh(self.device_type, ranks, mesh_dim_names=(mesh_dim_name,), _init_backend=False)
            for ranks in self._root.lines(self._root.names[mesh_dim_name])
        ]

    def _get_mesh_dim_by_name(self, mesh_dim_name: str) -> int:
        return self._dim(mesh_dim_name)

    def _get_root_mesh(self) -> DeviceMesh:
        """Return the mesh that this one was sliced from."""
        dims: list[tuple[int, ...]] = [(dim,) for dim in range(self._root.ranks.ndim)]
        names = tuple(next(name for name, of in self._root.names.items() if of == each) for each in dims)
        return self if self._dims == dims else self._part(self.device_type, self._root, dims, names)

    # As a value

    def __enter__(self) -> DeviceMesh:
        """Be the mesh of DTensors that are made without one inside of the block."""
        current.meshes.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        current.meshes.pop()

    def _key(self) -> tuple[Any, ...]:
        return self.device_type, self.shape, tuple(self.mesh.flatten().tolist()), self.mesh_dim_names

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        found = self.__dict__.get("_hash")
        if found is None:
            found = self.__dict__["_hash"] = hash(self._key())
        return found  # type: ignore[no-any-return]

    def __copy__(self) -> DeviceMesh:
        return self

    def __deepcopy__(self, memo: Any) -> DeviceMesh:
        return self  # groups are not copied

    def __reduce__(self) -> Any:
        return rebuilt, (self.device_type, self.mesh.tolist(), self.mesh_dim_names)

    def __repr__(self) -> str:
        if self.mesh_dim_names:
            dims = ", ".join(f"{name}={size}" for name, size in zip(self.mesh_dim_names, self.shape))
            return f"DeviceMesh(({dims}), {self.device_type!r}, stride={tuple(self.mesh.stride())})"
        return f"DeviceMesh({self.shape}, {self.device_type!r}, stride={tuple(self.mesh.stride())})"


def rebuilt(device_type: str, ranks: Any, names: tuple[str, ...] | None) -> DeviceMesh:
    """A mesh from a pickle: the one that this program has, or one without groups."""
    made = DeviceMesh.__new__(DeviceMesh)
    mesh = weft.tensor(ranks, dtype=weft.int32)
    key = (device_type, tuple(mesh.shape), tuple(mesh.flatten().tolist()), names)
    found = known.get(key)
    if found is not None:
        return found
    made.__init__(device_type, ranks, mesh_dim_names=names, _init_backend=False)  # type: ignore[misc]
    return made


def current_mesh(name: str) -> DeviceMesh:
    """The mesh of the innermost ``with`` block.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    if not current.meshes:
        raise RuntimeError(f"{name}: No device mesh is currently active! Give device_mesh, or use `with mesh:`")
    return current.meshes[-1]


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: dict[int | str, Any] | None = None,
) -> DeviceMesh:
    """Make a `DeviceMesh` of a shape, whose ranks count up along the last dim first.

    Parameters
    ----------
    device_type : str
    mesh_shape : sequence of int
    mesh_dim_names : sequence of str, optional
    backend_override : dict, optional
        The backend of some dims, by number or name: a backend's name, or a tuple of that and options.

    Raises
    ------
    RuntimeError
        If the mesh has more places than there are processes, or names that do not fit the shape.
    """
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(
            "Each mesh_dim_name must be unique.",
            f"Found repeated mesh_dim_name in mesh_dim_names {tuple(mesh_dim_names)}",
        )
    if mesh_dim_names is not None and len(mesh_shape) != len(mesh_dim_names):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length!",
            f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.",
        )
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    names: tuple[Any, ...] = tuple(mesh_dim_names or range(len(mesh_shape)))
    overrides = backend_override or {}
    for each in overrides:
        if each not in names and each not in range(len(mesh_shape)):
            raise RuntimeError(f"Found invalid keys in backend_override: got {each!r}, expected one of {names}")
    chosen = [overrides.get(name, overrides.get(dim)) for dim, name in enumerate(names)]
    ranks = weft.arange(math.prod(mesh_shape), dtype=weft.int32, device="cpu").reshape(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=chosen)
