"""Process groups and collectives of a world of one process: each collective is the identity."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import Enum
from typing import Any, ClassVar

from weft.distributed.constants import default_pg_timeout as default_pg_timeout
from weft.futures import Future

__all__ = [
    "Backend",
    "GroupMember",
    "HashStore",
    "P2POp",
    "ProcessGroup",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
]


class ReduceOp(Enum):
    """How values of all processes are joined; of one process's, each way gives the value."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


type.__setattr__(ReduceOp, "RedOpType", ReduceOp)  # the type of the members, which is ReduceOp itself
reduce_op = ReduceOp


class Backend(str):
    """The name of a way of communication, in lower case. There is none: names are kept for the programs that ask."""

    UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE = "undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"
    default_device_backend_map: ClassVar = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    backend_list: ClassVar = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]

    def __new__(cls, name: str) -> Backend:
        """Lower the case."""
        return super().__new__(cls, name.lower())


class Work:
    """A collective that was begun with ``async_op=True``. In one process it is done at once."""

    def __init__(self, result: Any = None) -> None:
        self._result = result

    def wait(self, timeout: Any = None) -> bool:
        """Return True: it is done."""
        return True

    def is_completed(self) -> bool:
        """Return True."""
        return True

    def is_success(self) -> bool:
        """Return True."""
        return True

    def result(self) -> list[Any]:
        """Return the tensors that were computed."""
        return [self._result]

    def get_future(self) -> Future[Any]:
        """Return a future that has the result."""
        future: Future[Any] = Future()
        future.set_result([self._result])
        return future


class ProcessGroup:
    """The group of this process alone."""

    def __init__(self, backend: str, name: str) -> None:
        self._backend = backend
        self.group_name = name
        self.group_desc = "default_pg" if name == "0" else "undefined"

    def rank(self) -> int:
        """Return 0: the only process."""
        return 0

    def size(self) -> int:
        """Return 1."""
        return 1

    def name(self) -> str:
        """Return the name of its backend."""
        return self._backend


class GroupMember:
    """What says that this process is in no group."""

    NON_GROUP_MEMBER = -100
    WORLD: ProcessGroup | None = None


class _World(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before `init_process_group`."""
        return GroupMember.WORLD


class group(metaclass=_World):
    """Has ``group.WORLD``, the group of all processes; None before `init_process_group`."""


class Store:
    """Keys and values of bytes that processes share, kept in this one."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key: str) -> bytes:
        """Return the value of a key.

        Raises
        ------
        RuntimeError
            If it is not set: no other process will set it.
        """
        self.wait([key])
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        """Add to a number that is kept under a key, 0 at first, and return the sum."""
        total = int(self._values.get(key, b"0")) + amount
        self._values[key] = str(total).encode()
        return total

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are set."""
        return all(key in self._values for key in keys)

    def wait(self, keys: Sequence[str], timeout: Any = None) -> None:
        """Return if all keys are set; `get` says what is raised."""
        if not self.check(keys):
            missing = [key for key in keys if key not in self._values]
            raise RuntimeError(f"{type(self).__name__}: {missing} are not set; no other process could set them")

    def delete_key(self, key: str) -> bool:
        """Forget a key; whether there was one."""
        return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        """Return the number of keys."""
        return len(self._values)


class HashStore(Store):
    """A `Store` of this process."""


class TCPStore(Store):
    """A `Store` that other processes would reach over the network.

    Raises
    ------
    NotImplementedError
        For more than one process, or where another process would be the master.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = default_pg_timeout,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not is_master or (world_size or 1) > 1:
            raise NotImplementedError(
                f"TCPStore: world_size={world_size}, is_master={is_master}; weft runs in one process, which is the "
                "master: use world_size=1, is_master=True, or HashStore()"
            )
        self.host, self.port = host_name, port


class P2POp:
    """One sending or receiving of `batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag


def is_available() -> bool:
    """True: the names are there, for one process."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return GroupMember.WORLD is not None


def is_nccl_available() -> bool:
    """False: there is no communication between processes."""
    return False


is_gloo_available = is_mpi_available = is_torchelastic_launched = is_nccl_available
is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """False: there is no communication between processes."""
    return False


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    **kwargs: Any,
) -> None:
    """Begin the world of one process.

    Parameters
    ----------
    backend : str, optional
        Is what `get_backend` says.
    world_size : int
        Default: what the environment's ``WORLD_SIZE`` says, or 1.

    Raises
    ------
    NotImplementedError
        For more than one process.
    """
    size = world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", "1"))
    if size != 1:
        raise NotImplementedError(
            f"init_process_group: a world of {size} processes; weft trains in one process: start the program without a "
            "launcher, or with world_size=1"
        )
    GroupMember.WORLD = ProcessGroup(Backend(backend or "gloo"), "0")


def destroy_process_group(group: Any = None) -> None:
    """End the world, or one of its groups."""
    if group is None or group is GroupMember.WORLD:
        GroupMember.WORLD = None


def begun(name: str) -> None:
    """Raise ValueError unless `init_process_group` was called."""
    if GroupMember.WORLD is None:
        raise ValueError(f"{name}: Default process group has not been initialized, please call init_process_group()")


def _get_default_group() -> ProcessGroup:
    begun("_get_default_group")
    assert GroupMember.WORLD is not None
    return GroupMember.WORLD


def only_member(name: str, rank: int | None) -> None:
    """Raise ValueError for the rank of a process that is not there; None is the only one's."""
    begun(name)
    if rank not in (None, 0):
        raise ValueError(f"{name}: there is no process of rank {rank}; the world is the process of rank 0")


def no_other(name: str) -> None:
    """Raise ValueError: a process does not send to itself, and there is no other."""
    begun(name)
    raise ValueError(f"{name}: the world has one process, so that there is no other to send to or receive from")


def finished(async_op: bool, result: Any = None) -> Work | None:
    """What a collective returns."""
    return Work(result) if async_op else None


def new_group(
    ranks: Sequence[int] | None = None, timeout: Any = None, backend: str | None = None, **kwargs: Any
) -> Any:
    """Return a group of this process; of ``ranks=[]``, what says that it is no member.

    Raises
    ------
    ValueError
        If ``ranks`` has one that is not 0.
    """
    begun("new_group")
    for rank in ranks or ():
        only_member("new_group", rank)
    if ranks is not None and not len(ranks):
        return GroupMember.NON_GROUP_MEMBER
    return ProcessGroup(Backend(backend or get_backend()), kwargs.get("group_desc") or "1")


def get_backend(group: Any = None) -> str:
    """What `init_process_group` was given."""
    begun("get_backend")
    return (group or _get_default_group()).name()  # type: ignore[no-any-return]


def get_rank(group: Any = None) -> int:
    """0: the only process; -1 where it is no member of the group."""
    begun("get_rank")
    return -1 if group == GroupMember.NON_GROUP_MEMBER else 0


def get_world_size(group: Any = None) -> int:
    """1: the only process; -1 where it is no member of the group."""
    begun("get_world_size")
    return -1 if group == GroupMember.NON_GROUP_MEMBER else 1


def get_global_rank(group: Any, group_rank: int) -> int:
    """Return 0: the only process."""
    only_member("get_global_rank", group_rank)
    return 0


def get_group_rank(group: Any, global_rank: int) -> int:
    """Return 0: the only process."""
    only_member("get_group_rank", global_rank)
    return 0


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Return ``[0]``."""
    begun("get_process_group_ranks")
    return [0]


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait for nobody."""
    begun("barrier")
    return finished(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait for nobody."""
    begun("monitored_barrier")


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Leave the tensor: it is the sum, the mean or the largest of all processes' already."""
    begun("all_reduce")
    return finished(async_op, tensor)


def reduce(
    tensor: Any,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Leave the tensor."""
    only_member("reduce", dst)
    return finished(async_op, tensor)


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Leave the tensor."""
    only_member("broadcast", src)
    return finished(async_op, tensor)


def broadcast_object_list(
    object_list: Any, src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Leave the list."""
    only_member("broadcast_object_list", src)


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Copy the tensor into the list's only one."""
    begun("all_gather")
    tensor_list[0].copy_(tensor)
    return finished(async_op, tensor_list)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the input into the output: joined along the first dim, or stacked, one is itself."""
    begun("all_gather_into_tensor")
    output_tensor.copy_(input_tensor.reshape(output_tensor.shape))
    return finished(async_op, output_tensor)


def all_gather_object(object_list: Any, obj: Any, group: Any = None) -> None:
    """Put the object in the list's only place."""
    begun("all_gather_object")
    object_list[0] = obj


def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copy the tensor into the list's only one."""
    only_member("gather", dst)
    if gather_list is None:
        raise ValueError("gather: argument gather_list must be specified on the destination rank, which is this one")
    return all_gather(gather_list, tensor, group, async_op)


def gather_object(
    obj: Any,
    object_gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put the object in the list's only place."""
    only_member("gather_object", dst)
    if object_gather_list is None:
        raise ValueError(
            "gather_object: argument object_gather_list must be specified on the destination rank, which is this one"
        )
    object_gather_list[0] = obj


def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the list's only tensor."""
    only_member("scatter", src)
    if not scatter_list:
        raise ValueError("scatter: argument scatter_list must be specified on the source rank, which is this one")
    tensor.copy_(scatter_list[0])
    return finished(async_op, tensor)


def scatter_object_list(
    scatter_object_output_list: Any,
    scatter_object_input_list: Any = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the input's only object into the first place."""
    only_member("scatter_object_list", src)
    scatter_object_output_list[0] = scatter_object_input_list[0]


def reduce_scatter(
    output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the list's only tensor."""
    begun("reduce_scatter")
    output.copy_(input_list[0])
    return finished(async_op, output)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the input into the output."""
    begun("reduce_scatter_tensor")
    output.copy_(input.reshape(output.shape))
    return finished(async_op, output)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the one tensor, which this process sends to itself."""
    begun("all_to_all")
    output_tensor_list[0].copy_(input_tensor_list[0])
    return finished(async_op, output_tensor_list)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Copy the tensor, which this process sends to itself."""
    begun("all_to_all_single")
    output.copy_(input)
    return finished(async_op, output)


def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Raise ValueError: there is no other process."""
    no_other("send")


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Raise ValueError: there is no other process."""
    no_other("recv")
    return -1


def isend(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Raise ValueError: there is no other process."""
    no_other("isend")


def irecv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> None:
    """Raise ValueError: there is no other process."""
    no_other("irecv")


def send_object_list(object_list: Any, dst: int | None = None, group: Any = None, *args: Any, **kwargs: Any) -> None:
    """Raise ValueError: there is no other process."""
    no_other("send_object_list")


def recv_object_list(object_list: Any, src: int | None = None, group: Any = None, *args: Any, **kwargs: Any) -> None:
    """Raise ValueError: there is no other process."""
    no_other("recv_object_list")


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Raise ValueError: there is no other process."""
    no_other("batch_isend_irecv")
    return []
