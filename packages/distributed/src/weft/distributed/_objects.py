"""Collectives of Python objects, which are pickled: every process may run code in every other.

They are for processes that trust one another. Engines let nobody else in.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import weft
from weft.distributed import _collectives as collectives
from weft.distributed import _point_to_point as messages
from weft.distributed._groups import current, root_of
from weft.distributed._process_group import ProcessGroup

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def pickled(value: Any) -> Any:
    """The bytes of an object, as a tensor."""
    file = io.BytesIO()
    pickle.Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return weft.frombuffer(bytearray(file.getbuffer()), dtype=weft.uint8)


def unpickled(data: Any) -> Any:
    """The object of such bytes, sent by a process of the group."""
    return pickle.loads(data.numpy().tobytes())


def lengths_of(data: Any, members: ProcessGroup) -> list[int]:
    """How many bytes each process has."""
    lengths = [weft.zeros(1, dtype=weft.int64) for _ in members.ranks]
    collectives.all_gather(lengths, weft.tensor([data.numel()]), group=members)
    return [int(length) for length in lengths]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fill a list with the objects of all processes, by rank."""
    members = current("all_gather_object", group)
    if members is None:
        return
    check_length("all_gather_object", "object_list", object_list, members)
    data = pickled(obj)
    parts = [weft.empty(length, dtype=weft.uint8) for length in lengths_of(data, members)]
    collectives.all_gather(parts, data, group=members)
    object_list[: members.size()] = [unpickled(part) for part in parts]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Fill a list in the process of global rank ``dst`` (0 unless given) with the objects of all, by rank."""
    members = current("gather_object", group)
    if members is None:
        return
    dst = members.ranks[0] if dst is None and group_dst is None else dst
    root = root_of("gather_object", members, dst, group_dst, "dst")
    here = members.rank() == root
    if here and object_gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if here:
        check_length("gather_object", "object_gather_list", object_gather_list, members)
    data = pickled(obj)
    lengths = lengths_of(data, members)
    padded = weft.zeros(max(lengths), dtype=weft.uint8)
    padded[: data.numel()] = data
    parts = [weft.empty(max(lengths), dtype=weft.uint8) for _ in lengths] if here else None
    collectives.gather(padded, parts, group=members, group_dst=root)
    if parts is not None:
        assert object_gather_list is not None
        object_gather_list[: members.size()] = [unpickled(part[:length]) for part, length in zip(parts, lengths)]


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Fill a list with the objects of that of the process of global rank ``src`` (0 unless given)."""
    members = current("broadcast_object_list", group)
    if members is None:
        return
    if not isinstance(object_list, list) or not object_list:
        raise ValueError(
            "broadcast_object_list: object_list must be a list that is not empty, of the same length in all"
        )
    src = members.ranks[0] if src is None and group_src is None else src
    root = root_of("broadcast_object_list", members, src, group_src, "src")
    here = members.rank() == root
    data = [pickled(each) for each in object_list] if here else []
    lengths = weft.tensor([each.numel() for each in data]) if here else weft.zeros(len(object_list), dtype=weft.int64)
    collectives.broadcast(lengths, group=members, group_src=root)
    whole = weft.cat(data) if here else weft.empty(int(lengths.sum()), dtype=weft.uint8)
    collectives.broadcast(whole, group=members, group_src=root)
    if not here:
        object_list[:] = [unpickled(part) for part in whole.split(lengths.tolist())]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put this process's object, of the list that the process of global rank ``src`` has, into the first place."""
    members = current("scatter_object_list", group)
    if members is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    src = members.ranks[0] if src is None and group_src is None else src
    root = root_of("scatter_object_list", members, src, group_src, "src")
    data: list[Any] = []
    if members.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        check_length("scatter_object_list", "scatter_object_input_list", scatter_object_input_list, members)
        data = [pickled(each) for each in scatter_object_input_list]
        length = weft.tensor([max(each.numel() for each in data)])
    else:
        length = weft.zeros(1, dtype=weft.int64)
    collectives.broadcast(length, group=members, group_src=root)
    own = weft.empty(int(length), dtype=weft.uint8)
    parts = None
    if members.rank() == root:
        parts = [weft.cat([each, each.new_zeros(int(length) - each.numel())]) for each in data]
    collectives.scatter(own, parts, group=members, group_src=root)
    scatter_object_output_list[0] = unpickled(own)  # what follows the end of a pickle is not read


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to the process of global rank ``dst``."""
    data = [pickled(each) for each in object_list]
    messages.send(weft.tensor([each.numel() for each in data]), dst, group, group_dst=group_dst)
    messages.send(weft.cat(data), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Fill a list with the objects that the process of global rank ``src`` sends, and return its rank."""
    lengths = weft.zeros(len(object_list), dtype=weft.int64)
    source = messages.recv(lengths, src, group, group_src=group_src)
    whole = weft.empty(int(lengths.sum()), dtype=weft.uint8)
    messages.recv(whole, source, group)
    object_list[:] = [unpickled(part) for part in whole.split(lengths.tolist())]
    return source


def check_length(name: str, argument: str, values: Any, members: ProcessGroup) -> None:
    """Raise ValueError unless a list has a place for each process."""
    if not isinstance(values, list) or len(values) < members.size():
        found = f"a list of {len(values)}" if isinstance(values, list) else type(values).__name__
        raise ValueError(f"{name}: {argument} must be a list of {members.size()}, one for each process; got {found}")
