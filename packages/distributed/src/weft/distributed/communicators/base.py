"""`Communicator`: messages among the processes of one group, as an engine carries them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any, ClassVar

import numpy

from weft.distributed._reduce_ops import ReduceOp, combine

__all__ = ["Communicator"]


class Communicator:
    """Messages among the processes of one group.

    An engine's subclass writes `send`, `recv`, `broadcast`, `all_reduce` and `all_gather`; the others are composed of
    these, unless it has better. All arrays are flat and contiguous, of an array library that serves one of
    `device_types`, and each call returns when its arrays may be read and written again. Collectives are called in the
    same order by all processes, one at a time; `send` and `recv` come from other threads at the same time.

    Parameters
    ----------
    store : weft.distributed.Store
        Shared by the processes of the group, and by nobody else.
    rank, size : int
        This process's rank in the group, and how many processes it has.
    timeout : datetime.timedelta
        After which a call that waits for others raises.

    Attributes
    ----------
    device_types : tuple of str
        The devices whose arrays it takes.
    is_stream_ordered : bool
        Calls return when they are queued in a stream of the device, not when they are done: see `mark` and `wait_for`.
    """

    device_types: ClassVar[tuple[str, ...]] = ("cpu",)
    is_stream_ordered: ClassVar[bool] = False

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        self.store = store
        self.rank = rank
        self.size = size
        self.timeout = timeout

    # What an engine must have

    def send(self, array: Any, dst: int, tag: int) -> None:
        """Send an array to the process of rank ``dst``, which receives it with the same tag."""
        raise NotImplementedError(f"{type(self).__name__}.send")

    def recv(self, array: Any, src: int | None, tag: int) -> int:
        """Fill an array with what the process of rank ``src`` sends (any process, for None), and return its rank."""
        raise NotImplementedError(f"{type(self).__name__}.recv")

    def broadcast(self, array: Any, root: int) -> None:
        """Fill the array with that of the process of rank ``root``."""
        raise NotImplementedError(f"{type(self).__name__}.broadcast")

    def all_reduce(self, array: Any, op: ReduceOp) -> None:
        """Join the arrays of all processes, in place: by SUM, PRODUCT, MIN, MAX, BAND, BOR or BXOR."""
        raise NotImplementedError(f"{type(self).__name__}.all_reduce")

    def all_gather(self, output: Any, array: Any) -> None:
        """Fill ``output`` with the arrays of all processes, one after the other by rank."""
        raise NotImplementedError(f"{type(self).__name__}.all_gather")

    # What can be composed of that

    def reduce(self, array: Any, root: int, op: ReduceOp) -> None:
        """Join the arrays of all processes, in the array of the process of rank ``root``; the others keep theirs."""
        joined = array if self.rank == root else array.copy()
        self.all_reduce(joined, op)

    def gather(self, output: Any | None, array: Any, root: int) -> None:
        """`all_gather`, in the process of rank ``root`` alone; ``output`` is None in the others."""
        if self.rank != root:
            self.send(array, root, tag=COLLECTIVE_TAG)
            return
        assert output is not None
        for rank, part in enumerate(self.parts(output)):
            if rank == root:
                part[...] = array
            else:
                self.recv(part, rank, tag=COLLECTIVE_TAG)

    def scatter(self, array: Any, input: Any | None, root: int) -> None:
        """Fill the array with this process's part of the ``input`` that the process of rank ``root`` has."""
        if self.rank != root:
            self.recv(array, root, tag=COLLECTIVE_TAG)
            return
        assert input is not None
        for rank, part in enumerate(self.parts(input)):
            if rank == root:
                array[...] = part
            else:
                self.send(part, rank, tag=COLLECTIVE_TAG)

    def reduce_scatter(self, output: Any, input: Any, op: ReduceOp) -> None:
        """Join the inputs of all processes, and fill ``output`` with this process's part of the result."""
        joined = input.copy()
        self.all_reduce(joined, op)
        output[...] = self.parts(joined)[self.rank]

    def all_to_all(self, output: Any, input: Any, output_counts: Sequence[int], input_counts: Sequence[int]) -> None:
        """Send each process its part of ``input``, and fill ``output`` with what they send, by rank.

        ``input_counts`` and ``output_counts`` are the numbers of elements of the parts. The processes take turns in
        pairs, and of each pair the lower rank sends first, so that no two wait for one another.
        """
        sent, received = split(input, input_counts), split(output, output_counts)
        received[self.rank][...] = sent[self.rank]
        for distance in range(1, self.size):
            to, source = (self.rank + distance) % self.size, (self.rank - distance) % self.size
            if self.rank < to:
                self.send(sent[to], to, tag=COLLECTIVE_TAG)
                self.recv(received[source], source, tag=COLLECTIVE_TAG)
            else:
                self.recv(received[source], source, tag=COLLECTIVE_TAG)
                self.send(sent[to], to, tag=COLLECTIVE_TAG)

    def barrier(self) -> None:
        """Return when all processes have called it."""
        self.all_reduce(numpy.zeros(1, numpy.uint8), ReduceOp.SUM)

    # Streams of a device

    def stream_context(self, channel: Any = None) -> AbstractContextManager[Any]:
        """Make the engine's stream the current one, behind what was given to that; for engines with streams.

        What is computed in it, before and after a call, is in order with the call.

        Parameters
        ----------
        channel : tuple (str, int), optional
            ``("send", rank)`` or ``("recv", rank)`` for a message; default: that of collectives.
        """
        return nullcontext()

    def batch(self) -> AbstractContextManager[Any]:
        """Let messages that are sent and received in the block begin together, so that none waits for another."""
        return nullcontext()

    def mark(self) -> Any:
        """A point in the engine's stream, behind all that was queued; for engines that are stream-ordered."""
        return None

    def wait_for(self, mark: Any) -> None:
        """Let the device's current stream wait for a point in the engine's."""

    def is_done(self, mark: Any) -> bool:
        """Whether the engine's stream has passed a point."""
        return True

    # The end

    def abort(self) -> None:
        """Let calls in other threads, that wait, raise; nothing can be called afterwards."""

    def close(self) -> None:
        """Give back what the engine holds: called once, when no call is under way."""

    # Help for those who write engines

    def parts(self, array: Any) -> list[Any]:
        """The parts of a flat array, one for each process: views of equal size."""
        count = array.size // self.size
        return [array[rank * count : (rank + 1) * count] for rank in range(self.size)]

    combine = staticmethod(combine)


COLLECTIVE_TAG = -1  # of the messages that composed collectives send; programs' tags are not negative


def split(array: Any, counts: Sequence[int]) -> list[Any]:
    """Views of consecutive parts of a flat array."""
    parts, start = [], 0
    for count in counts:
        parts.append(array[start : start + count])
        start += count
    return parts
