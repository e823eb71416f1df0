"""The groups of this process: the world, parts of it, and the ranks in them."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from weft.distributed._backends import Backend, default_backend, makers_of
from weft.distributed._errors import DistError
from weft.distributed._process_group import ProcessGroup
from weft.distributed._uncaught import on_uncaught
from weft.distributed.constants import default_pg_timeout
from weft.distributed.rendezvous import by_launcher, rendezvous
from weft.distributed.stores import HashStore, PrefixStore

FAREWELL = timedelta(seconds=5)  # how long the process that holds the store waits for others to be done with it

__all__ = [
    "GroupMember",
    "current",
    "destroy_process_group",
    "get_backend",
    "get_backend_config",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_initialized",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "get_pg_count",
    "shrink_group",
    "split_group",
]


class GroupMember:
    """What says that this process is in no group."""

    NON_GROUP_MEMBER = -100
    WORLD: ProcessGroup | None = None


class _World(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before `init_process_group`."""
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        GroupMember.WORLD = group


class group(metaclass=_World):
    """Has ``group.WORLD``, the group of all processes; None before `init_process_group`."""

    NON_GROUP_MEMBER = GroupMember.NON_GROUP_MEMBER


class Groups:
    """All groups that this process has made, by name, and what they share."""

    is_uncaught_told = False  # once in a process

    def __init__(self) -> None:
        self.by_name: dict[str, ProcessGroup] = {}
        self.store: Any = None
        self.count = 0  # of groups made by all processes, whether this one is a member or not
        self.lock = threading.RLock()

    def forget(self) -> None:
        """Have no groups, as before `init_process_group`."""
        self.by_name, self.store, self.count = {}, None, 0


groups = Groups()


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return GroupMember.WORLD is not None


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Begin: meet the other processes, and make the group of all.

    Parameters
    ----------
    backend : str, optional
        ``tcp``, ``mpi``, ``nccl``, or what is registered; one for each type of device as ``"cpu:tcp,cuda:nccl"``.
        ``gloo`` stands for the CPU's engine. Default: NCCL for CUDA; for the CPU MPI under ``mpiexec``, else TCP.
    init_method : str, optional
        Where the processes meet: ``env://`` (default: the environment's ``MASTER_ADDR``, ``MASTER_PORT``, ``RANK`` and
        ``WORLD_SIZE``, or what ``mpiexec`` or Slurm set), ``tcp://host:port`` or ``file:///path``. With a size of one
        they need not meet.
    timeout : datetime.timedelta, optional
        After which a collective that waits raises. Default: 30 minutes.
    world_size, rank : int
        The number of processes, and which one this is, where ``init_method`` does not say.
    store : Store, optional
        In place of ``init_method``; needs ``world_size`` and ``rank``.
    group_name, pg_options
        Accepted and not used.
    device_id : device, optional
        The device that this process computes on.

    Raises
    ------
    ValueError
        If it was called before, the backend is not there, or the rank or the number of processes is not known.
    DistNetworkError, DistStoreError
        If the others do not come within the timeout.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise ValueError("Cannot specify both init_method and store.")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    timeout = default_pg_timeout if timeout is None else timeout
    makers = makers_of(None if backend is None else backend.lower())
    if store is None:
        store, rank, world_size = meet(backend, init_method, timeout, world_size, rank)
    elif world_size <= 0 or rank < 0:
        raise ValueError(f"init_process_group: a store needs world_size and rank; got {world_size} and {rank}")
    if not 0 <= rank < world_size:
        raise ValueError(f"init_process_group: rank={rank} is not in a world of {world_size} processes")
    store.set_timeout(timeout)
    groups.store = store
    made = ProcessGroup(
        range(world_size),
        rank,
        Backend(backend or default_name(makers)),
        makers,
        PrefixStore("default", store),
        timeout,
        "0",
        "default_pg",
    )
    made.bound_device_id = device_id
    groups.by_name["0"] = GroupMember.WORLD = made
    if not groups.is_uncaught_told:
        Groups.is_uncaught_told = True
        on_uncaught(fail)
    if world_size > 1:  # nobody goes on before all are there, so that who is late is told now
        made.communicator("cpu" if "" in makers or "cpu" in makers else next(iter(makers)))


def default_name(makers: dict[str, Any]) -> str:
    """What `get_backend` says where no backend was named."""
    return ",".join(f"{device or 'cpu'}:{maker.name}" for device, maker in makers.items())


def meet(
    backend: str | None, init_method: str | None, timeout: timedelta, world_size: int, rank: int
) -> tuple[Any, int, int]:
    """The store that all processes share, this one's rank and their number."""
    wants_mpi = default_backend() if backend in (None, "gloo") else backend
    if wants_mpi == "mpi" and init_method is None and "MASTER_ADDR" not in os.environ:
        from weft.distributed.communicators.mpi import world_store

        return world_store(timeout)
    alone = world_size == 1 or (world_size < 0 and by_launcher(os.environ, 1) in (None, "1"))
    if init_method is None and alone and rank <= 0:  # nobody to meet
        return HashStore(), 0, 1
    return next(iter(rendezvous(init_method or "env://", rank, world_size, timeout=timeout)))


def destroy_process_group(group: Any = None) -> None:
    """End a group, or all of them.

    Raises
    ------
    ValueError
        If there is no such group.
    """
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    world = begun("destroy_process_group")
    ended: ProcessGroup = world if group is None else group
    if groups.by_name.get(ended.group_name) is not ended:
        raise ValueError("Invalid process group specified")
    if ended is not world:
        ended.shutdown()
        del groups.by_name[ended.group_name]
        return
    is_failing = sys.exc_info()[0] is not None  # in `finally`: the others may wait for what does not come
    for each in reversed(list(groups.by_name.values())):
        if is_failing:
            each.abort()
        each.shutdown()
    part(world, timedelta(0) if is_failing else FAREWELL)
    groups.forget()
    GroupMember.WORLD = None


def part(world: ProcessGroup, patience: timedelta) -> None:
    """Say that this process needs the store no more; the first, which may hold it, waits until all have said so."""
    keys = [f"ended/{rank}" for rank in world.ranks]
    try:
        groups.store.set(keys[world.rank()], b"")
        if world.rank() == 0:
            groups.store.wait(keys, patience)
    except DistError:  # somebody is gone, without a word
        pass


def fail() -> None:
    """Let the others know that this process ends by an exception."""
    for each in list(groups.by_name.values()):
        each.abort()


@atexit.register
def end() -> None:
    """Let go of the others when the program ends, without waiting for them."""
    if GroupMember.WORLD is not None:
        for each in groups.by_name.values():
            each.abort()
        part(GroupMember.WORLD, timedelta(0))


def begun(name: str) -> ProcessGroup:
    """The group of all.

    Raises
    ------
    ValueError
        If `init_process_group` was not called.
    """
    if GroupMember.WORLD is None:
        raise ValueError(f"{name}: Default process group has not been initialized, please call init_process_group()")
    return GroupMember.WORLD


def _get_default_group() -> ProcessGroup:
    return begun("_get_default_group")


def current(name: str, group: Any) -> ProcessGroup | None:
    """The group that a function was given, by default that of all; None where this process is no member.

    Raises
    ------
    ValueError
        If `init_process_group` was not called.
    """
    world = begun(name)
    if group is None:
        return world
    if group is GroupMember.NON_GROUP_MEMBER or group == GroupMember.NON_GROUP_MEMBER:
        return None
    if isinstance(group, str):  # functional collectives name groups
        return groups.by_name[group]
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"{name}: group must be a ProcessGroup, got {type(group).__name__}")
    return group


def rank_in(name: str, group: ProcessGroup, rank: int) -> int:
    """The rank in a group of the process of a global rank.

    Raises
    ------
    ValueError
        If it is no member.
    """
    if rank not in group.ranks:
        raise ValueError(f"{name}: there is no process of rank {rank} in group {group.group_desc!r}: {group.ranks}")
    return group.ranks.index(rank)


def root_of(name: str, group: ProcessGroup, rank: int | None, group_rank: int | None, what: str) -> int:
    """The rank in the group of which a program gives the global one or that in the group.

    Raises
    ------
    ValueError
        If both or neither are given, or there is no such process.
    """
    if (rank is None) == (group_rank is None):
        given = "both" if rank is not None else "neither"
        raise ValueError(f"{name}: one of {what} and group_{what} is needed, got {given}")
    if rank is not None:
        return rank_in(name, group, rank)
    assert group_rank is not None
    if not 0 <= group_rank < group.size():
        raise ValueError(f"{name}: group_{what}={group_rank} is not in a group of {group.size()} processes")
    return group_rank


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Make a group of some of the processes; all processes call it, in the same order.

    Parameters
    ----------
    ranks : sequence of int, optional
        Global ranks; default: all.
    timeout : datetime.timedelta, optional
        Default: that of the group of all.
    backend : str, optional
        Default: that of the group of all.
    use_local_synchronization : bool
        Only the members call it.
    group_desc : str, optional
        What messages call it.
    sort_ranks : bool
        Ranks in the group are in the order of global ranks, and not in that of ``ranks``.

    Returns
    -------
    ProcessGroup
        ``GroupMember.NON_GROUP_MEMBER`` in a process that is no member.

    Raises
    ------
    ValueError
        For a rank that is not there, or is given twice.
    """
    world = begun("new_group")
    members = list(world.ranks) if ranks is None else [int(rank) for rank in ranks]
    members = sorted(members) if sort_ranks else members
    for rank in members:
        rank_in("new_group", world, rank)
    if len(set(members)) != len(members):
        raise ValueError(f"new_group: ranks={members} has a rank twice")
    mine = world.ranks[world.rank()]
    if use_local_synchronization:
        if mine not in members:
            return GroupMember.NON_GROUP_MEMBER
        made_before = groups.store.add(f"made by {members}/{mine}", 1)
        name = f"{'-'.join(map(str, members))}.{made_before}"
    else:
        with groups.lock:
            groups.count += 1
            name = str(groups.count)
        if mine not in members:
            return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroup(
        members,
        members.index(mine),
        Backend(backend) if backend else world._backend,
        makers_of(backend.lower()) if backend else world._makers,
        PrefixStore(f"group {name}", groups.store),
        world.timeout if timeout is None else timeout,
        name,
        group_desc or "undefined",
    )
    made.bound_device_id = device_id
    groups.by_name[name] = made
    if made.size() > 1 and ("" in made._makers or "cpu" in made._makers):
        made.communicator("cpu")  # now that all are here: a message, later, is a matter of two
    return made


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Divide the processes into groups of equal size; return this process's, and all of them.

    Raises
    ------
    ValueError
        If the number of processes is not a multiple of ``group_size``.
    """
    parent = current("new_subgroups", group)
    assert parent is not None
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", parent.size()))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if parent.size() % group_size:
        raise ValueError(f"The world size ({parent.size()}) must be divisible by 'group_size={group_size}'")
    parts = [parent.ranks[start : start + group_size] for start in range(0, parent.size(), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Make a group of each list of ranks; return this process's (or None), and all of them.

    Raises
    ------
    ValueError
        If a rank is in two lists.
    """
    every = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(every)) != len(every):
        raise ValueError("new_subgroups_by_enumeration: a rank is in two subgroups")
    made = [new_group(ranks, timeout, backend, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    mine = [each for each in made if each != GroupMember.NON_GROUP_MEMBER]
    return (mine[0] if mine else None), made


def split_group(
    parent_pg: Any = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> Any:
    """Divide a group; return the part of this process, or None. ``split_ranks`` are ranks in the group.

    Raises
    ------
    ValueError
        If there are no lists of ranks, or one is empty.
    """
    parent = current("split_group", parent_pg)
    assert parent is not None
    if not split_ranks or not all(split_ranks):
        raise ValueError("split_group: split_ranks must be lists of ranks, none of them empty")
    parts = [[parent.ranks[rank] for rank in ranks] for ranks in split_ranks]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)[0]


def shrink_group(
    ranks_to_exclude: Sequence[int], group: Any = None, shrink_flags: int = 0, pg_options: Any = None
) -> ProcessGroup:
    """Return a group without some of the ranks of another one, which the others call.

    The group of all is replaced by it. ``shrink_flags=1`` ends what is under way first.

    Raises
    ------
    ValueError
        If this process is one that is left out, or no member.
    """
    parent = current("shrink_group", group)
    if parent is None or parent.rank() in ranks_to_exclude:
        raise ValueError("shrink_group: only the processes that stay call it")
    if shrink_flags:
        parent.abort()
    left = [rank for position, rank in enumerate(parent.ranks) if position not in ranks_to_exclude]
    made: ProcessGroup = new_group(left, backend=parent.name(), use_local_synchronization=True)
    if parent is GroupMember.WORLD:
        GroupMember.WORLD = groups.by_name["0"] = made
        made.group_name = "0"
    return made


# Ranks


def get_backend(group: Any = None) -> Backend:
    """Return the name of a group's backend, as the program gave it."""
    found = current("get_backend", group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return Backend(found.name())


def get_backend_config(group: Any = None) -> str:
    """Return which backend serves each type of device."""
    found = current("get_backend_config", group)
    return default_name(found._makers) if found is not None else ""


def get_default_backend_for_device(device: Any) -> str:
    """Return the backend of a device by default."""
    return "nccl" if str(device).startswith("cuda") else default_backend()


def get_rank(group: Any = None) -> int:
    """Return this process's rank in a group; -1 where it is no member."""
    found = current("get_rank", group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """Return the number of processes in a group; -1 where this one is no member."""
    found = current("get_world_size", group)
    return -1 if found is None else found.size()


def get_pg_count() -> int:
    """Return the number of groups that this process is a member of."""
    return len(groups.by_name)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return this process's rank among those of its machine, which launchers put into the environment.

    Raises
    ------
    RuntimeError
        If the environment does not say, and there is no ``fallback_rank``.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank")


def get_global_rank(group: Any, group_rank: int) -> int:
    """Return the global rank of the process that has ``group_rank`` in a group."""
    found = current("get_global_rank", group)
    if found is None or not 0 <= group_rank < found.size():
        raise ValueError(f"get_global_rank: there is no process of group rank {group_rank} in {found}")
    return found.ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """Return the rank in a group of the process of a global rank."""
    found = current("get_group_rank", group)
    if found is None:
        raise ValueError("get_group_rank: this process is in no group")
    return rank_in("get_group_rank", found, global_rank)


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Return the global ranks of a group's processes."""
    found = current("get_process_group_ranks", group)
    return [] if found is None else list(found.ranks)
