"""Messages between two processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.distributed._buffers import Buffer, check_tensor
from weft.distributed._groups import GroupMember, current, root_of
from weft.distributed._process_group import begin_together
from weft.distributed._work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to the process of global rank ``dst``, and return when it may be written again.

    Raises
    ------
    ValueError
        If ``dst`` is this process, or none of the group.
    DistBackendError
        If the other is gone, or does not receive it within the timeout.
    """
    begin_send("send", tensor, dst, group, tag, group_dst, False)


def isend(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """`send`, which returns a `Work` at once. The tensor may not be written before that is done."""
    return begin_send("isend", tensor, dst, group, tag, group_dst, True)


def begin_send(
    name: str, tensor: Any, dst: int | None, group: Any, tag: int, group_dst: int | None, async_op: bool
) -> Work | None:
    """`send` or `isend`."""
    check_tensor(name, "tensor", tensor)
    members = current(name, group)
    if members is None:
        return None
    peer = root_of(name, members, dst, group_dst, "dst")
    check_other(name, members, peer)
    check_tag(name, tag)

    def call(communicator: Any) -> int:
        communicator.send(Buffer(tensor).array, peer, tag)
        return -1

    return members.message(name, call, str(tensor.device.type), peer, tag, tensor, async_op)


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Fill a tensor with what the process of global rank ``src`` sends, and return its rank.

    Parameters
    ----------
    tensor : Tensor
        Of the dtype and number of elements of what is sent.
    src : int, optional
        Default: whoever sends first.
    tag : int
        That of the message.

    Raises
    ------
    ValueError
        If ``src`` is this process, or none of the group.
    DistBackendError
        If the other is gone, does not send within the timeout, or sends another dtype or number of elements.
    """
    work = begin_recv("recv", tensor, src, group, tag, group_src, False)
    return -1 if work is None else work.source_rank()


def irecv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """`recv`, which returns a `Work` at once. The tensor may not be read before that is done."""
    return begin_recv("irecv", tensor, src, group, tag, group_src, True)


def begin_recv(
    name: str, tensor: Any, src: int | None, group: Any, tag: int, group_src: int | None, async_op: bool
) -> Work | None:
    """`recv` or `irecv`."""
    check_tensor(name, "tensor", tensor)
    members = current(name, group)
    if members is None:
        return None
    anybody = src is None and group_src is None
    peer = None if anybody else root_of(name, members, src, group_src, "src")
    check_other(name, members, peer)
    check_tag(name, tag)

    def call(communicator: Any) -> int:
        buffer = Buffer(tensor, fill=False)
        source: int = communicator.recv(buffer.array, peer, tag)
        buffer.write_back()
        return members.ranks[source]

    return members.message(name, call, str(tensor.device.type), peer, tag, tensor, async_op)


def check_other(name: str, members: Any, peer: int | None) -> None:
    """Raise ValueError for a message to oneself."""
    if members.size() == 1:
        raise ValueError(f"{name}: the group has one process, so that there is no other to send to or receive from")
    if peer == members.rank():
        raise ValueError(
            f"Invalid {'destination' if 'send' in name else 'source'} rank: {name} to or from this process"
        )


def check_tag(name: str, tag: Any) -> None:
    """Raise ValueError for a tag that is no number from 0 on."""
    if not isinstance(tag, int) or tag < 0:
        raise ValueError(f"{name}: tag must be an int from 0 on, got {tag!r}")


class P2POp:
    """One sending or receiving of `batch_isend_irecv`.

    Parameters
    ----------
    op : callable
        `isend` or `irecv`.
    tensor : Tensor
    peer : int, optional
        Global rank.
    group : ProcessGroup, optional
    tag : int
    group_peer : int, optional
        Rank in the group, in place of ``peer``.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                f"Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                f"``torch.distributed.irecv``, got {op!r}"
            )
        check_tensor("P2POp", "tensor", tensor)
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        members = current("P2POp", group)
        assert members is not None
        self.group_peer = root_of("P2POp", members, peer, group_peer, "peer")
        self.peer = members.ranks[self.group_peer]

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, {list(self.tensor.shape)}, peer={self.peer}, tag={self.tag})"


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several messages; return a `Work` of each.

    Raises
    ------
    ValueError
        If it is no list of `P2POp` of one group.
    """
    if not p2p_op_list or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError("batch_isend_irecv: p2p_op_list must be a list of P2POp that is not empty")
    if len({id(each.group) for each in p2p_op_list}) > 1:
        raise ValueError("batch_isend_irecv: all need to use the same group")

    def begin() -> list[Any]:
        return [each.op(each.tensor, each.peer, each.group, each.tag) for each in p2p_op_list]

    members = current("batch_isend_irecv", p2p_op_list[0].group)
    communicator = members.communicator(str(p2p_op_list[0].tensor.device.type)) if members is not None else None
    if communicator is None or not communicator.is_stream_ordered:
        begun = begin()
    else:
        if not all(each.tensor.is_contiguous() for each in p2p_op_list):
            raise ValueError("batch_isend_irecv: the tensors must be contiguous")
        begun = begin_together(communicator, begin)
    return [each for each in begun if each is not None and each != GroupMember.NON_GROUP_MEMBER]
