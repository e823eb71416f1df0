"""Activations and gradients on their way between stages of different processes.

Both sides know all orders, hence in which order messages pass between two processes: receiving begins before a message
is needed, sending ends after, and no process waits for a message that waits for another one behind it.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from weft.distributed import distributed_c10d as dist
from weft.distributed.pipelining._orders import BACKWARD_INPUT, FORWARD, FULL_BACKWARD, Orders
from weft.distributed.pipelining._utils import PipeliningMetadataError, TensorMeta, packed, unpacked

AHEAD = 2  # messages of one sender that are received before they are needed


class Message(NamedTuple):
    """What a stage gets for a microbatch: activations from the stage before, or gradients from the one behind."""

    stage: int
    is_forward: bool
    microbatch: int


class Messages:
    """The messages of one step.

    Parameters
    ----------
    orders : dict
        The actions of each process of the group.
    mapping : dict
        From stages to the processes that have them.
    group : ProcessGroup
    device : device
        Where tensors are received.
    metas : dict
        Metadata of activations by message, which earlier steps filled; a sender describes those that are not there.
    """

    def __init__(
        self, orders: Orders, mapping: dict[int, int], group: Any, device: Any, metas: dict[Message, list[TensorMeta]]
    ) -> None:
        self.rank = dist.get_rank(group)
        self.group, self.device, self.metas, self.mapping = group, device, metas, mapping
        self._expected = {rank: deque(self._sent_by(rank, orders[rank])) for rank in orders if rank != self.rank}
        self._coming: dict[Message, list[tuple[Any, Any]]] = {}
        self._gradients: dict[Message, list[TensorMeta]] = {}
        self._sending: list[Any] = []
        self._local: dict[Message, list[Any]] = {}

    def _sent_by(self, rank: int, order: Any) -> list[Message]:
        """What a process sends to this one, in order."""
        found = []
        for stage, kind, index in order:
            target = stage + 1 if kind is FORWARD else stage - 1
            if kind in (FORWARD, BACKWARD_INPUT, FULL_BACKWARD) and self.mapping.get(target) == self.rank:
                found.append(Message(target, kind is FORWARD, index))
        return found

    def expect_gradients(self, stage: int, microbatch: int, metas: list[TensorMeta]) -> None:
        """Say of what shapes the gradients of a stage's outputs will be."""
        self._gradients[Message(stage, False, microbatch)] = metas

    def send(self, stage: int, is_forward: bool, microbatch: int, tensors: list[Any]) -> None:
        """Send a stage what it gets for a microbatch.

        Raises
        ------
        PipeliningMetadataError
            If the tensors are not as those of the first step.
        """
        message = Message(stage, is_forward, microbatch)
        holder = self.mapping[stage]
        if holder == self.rank:
            self._local[message] = [tensor.detach() for tensor in tensors]
            self._local_metas(message, tensors)
            return
        peer = dist.get_global_rank(self.group, holder)
        if is_forward:
            self._describe(message, tensors, peer)
        for tensor in tensors:
            work = dist.isend(tensor.detach().contiguous(), peer, self.group)
            self._sending.append(work)

    def _local_metas(self, message: Message, tensors: list[Any]) -> None:
        if message.is_forward:
            self.metas[message] = [TensorMeta.of(tensor) for tensor in tensors]

    def _describe(self, message: Message, tensors: list[Any], peer: int) -> None:
        metas = [TensorMeta.of(tensor) for tensor in tensors]
        if message not in self.metas:
            self.metas[message] = metas
            self._sending.append(dist.isend(packed(metas, self.device), peer, self.group))
        elif self.metas[message] != metas:
            raise PipeliningMetadataError(
                f"stage {message.stage - 1} gives {metas} for microbatch {message.microbatch} where it gave "
                f"{self.metas[message]} in the first step; make a new schedule for batches of another shape"
            )

    def receive(self, stage: int, is_forward: bool, microbatch: int) -> list[Any]:
        """Return what a stage gets for a microbatch, when it is there."""
        message = Message(stage, is_forward, microbatch)
        if message in self._local:
            return self._local.pop(message)
        holder = self.mapping[stage - 1 if is_forward else stage + 1]
        while message not in self._coming:
            self._begin(holder, wait=True)
        received = []
        for tensor, work in self._coming.pop(message):
            work.wait()
            received.append(tensor)
        while len(self._coming) < AHEAD and self._begin(holder, wait=False):
            pass
        return received

    def _begin(self, holder: int, wait: bool) -> bool:
        """Begin to receive a process's next message; False if that must wait until its shapes are known."""
        expected = self._expected[holder]
        if not expected:
            return False
        message = expected[0]
        known = self.metas if message.is_forward else self._gradients
        peer = dist.get_global_rank(self.group, holder)
        if message not in known:
            if not wait or not message.is_forward:
                return False
            header = packed([], self.device)
            dist.recv(header, peer, self.group)
            self.metas[message] = unpacked(header)
        expected.popleft()
        tensors = [meta.empty(self.device) for meta in known[message]]
        self._coming[message] = [(tensor, dist.irecv(tensor, peer, self.group)) for tensor in tensors]
        return True

    def finish(self) -> None:
        """Wait until all has been sent."""
        for work in self._sending:
            work.wait()
        self._sending.clear()
