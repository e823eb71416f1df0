"""The conformance suite of engines: one that a stranger could write passes it, and it finds planted faults."""

import itertools
import queue
import threading
from collections import defaultdict
from datetime import timedelta

import numpy
import pytest

from weft.distributed.communicators import Communicator
from weft.distributed.communicators.single import SingleCommunicator
from weft.testing import CommunicatorSuite

MAILBOXES = defaultdict(queue.Queue)  # by group, source, destination and tag
NAMES, NUMBERS = threading.Lock(), itertools.count()


class QueueCommunicator(Communicator):
    """The smallest engine, whose ranks are threads of one process: the five calls that it must have."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(store, rank, size, timeout)
        if rank == 0:
            store.set("name", str(next(NUMBERS)))
        self.name = store.get("name")
        self.arrived = threading.Condition()

    def mailbox(self, source, destination, tag):
        with NAMES:
            return MAILBOXES[self.name, source, destination, tag]

    def send(self, array, dst, tag):
        self.mailbox(self.rank, dst, tag).put((self.rank, array.copy()))
        if tag >= 0:
            self.mailbox(None, dst, tag).put(self.rank)  # for those who receive from anybody

    def recv(self, array, src, tag):
        seconds = self.timeout.total_seconds()
        try:
            if src is None:
                src = self.mailbox(None, self.rank, tag).get(timeout=seconds)
            source, values = self.mailbox(src, self.rank, tag).get(timeout=seconds)
        except queue.Empty:
            raise RuntimeError(f"rank {self.rank}: nothing came from {src} with tag {tag} in {seconds} s") from None
        array[...] = values
        return source

    def broadcast(self, array, root):
        if self.rank == root:
            for rank in range(self.size):
                if rank != root:
                    self.send(array, rank, tag=-2)
        else:
            self.recv(array, root, tag=-2)

    def all_gather(self, output, array):
        mine = array.copy()  # it may be a part of the output
        for rank, part in enumerate(self.parts(output)):
            if rank == self.rank:
                part[...] = mine
            self.broadcast(part, rank)

    def all_reduce(self, array, op):
        every = array.copy().repeat(self.size)
        self.all_gather(every, array)
        parts = self.parts(every)
        for other in parts[1:]:
            self.combine(numpy, op, parts[0], other)
        array[...] = parts[0]


class TestQueues(CommunicatorSuite):
    communicator = QueueCommunicator


class TestSingle(CommunicatorSuite):
    communicator = SingleCommunicator
    sizes = (1,)


# Each of these engines is wrong in one thing; the checks that must find it, by their names without the dtype.


class SkipsTheLast(QueueCommunicator):
    def combine(self, xp, op, into, other):
        Communicator.combine(xp, op, into[:-1], other[:-1])


class GathersInAnotherOrder(QueueCommunicator):
    def all_gather(self, output, array):
        every = output.copy()
        super().all_gather(every, array)
        output[...] = numpy.concatenate(self.parts(every)[::-1])


class IgnoresTheRoot(QueueCommunicator):
    def broadcast(self, array, root):
        super().broadcast(array, 0)


class SendsToTheRootOnly(QueueCommunicator):
    def reduce(self, array, root, op):
        self.all_reduce(array, op)


class SaturatesIntegers(QueueCommunicator):
    def all_reduce(self, array, op):
        wide = array.astype(numpy.int64) if array.dtype == numpy.int32 else array
        super().all_reduce(wide, op)
        array[...] = wide.clip(-(2**31), 2**31 - 1)


class WritesBehindTheEnd(QueueCommunicator):
    def broadcast(self, array, root):
        super().broadcast(array, root)
        whole = array.base
        if whole is not None and array.size:
            end = (array.ctypes.data - whole.ctypes.data) // array.itemsize + array.size
            whole[end : end + 1] = 0


class ForgetsTags(QueueCommunicator):
    def mailbox(self, source, destination, tag):
        return super().mailbox(source, destination, min(tag, 0))


class PassesBarriers(QueueCommunicator):
    def barrier(self):
        pass


class RoundsByRank(QueueCommunicator):
    def all_gather(self, output, array):
        super().all_gather(output, array)
        if array.dtype == numpy.float32:
            output *= 1 + 1e-6 * self.rank


FAULTS = {
    SkipsTheLast: {"all_reduce", "reduce_to_root", "reduce_scatter", "large_arrays"},
    GathersInAnotherOrder: {"all_gather", "groups_of_some_ranks"},
    IgnoresTheRoot: {"broadcast", "large_arrays"},
    SendsToTheRootOnly: {"reduce_to_root"},
    SaturatesIntegers: {"all_reduce", "reduce_scatter"},
    WritesBehindTheEnd: {"broadcast"},
    ForgetsTags: {"tags_are_received_in_any_order"},
    PassesBarriers: {"a_barrier_waits_for_all"},
    RoundsByRank: {"sums_are_rounded_alike_in_all_ranks"},
}


@pytest.mark.parametrize("engine", FAULTS, ids=lambda engine: engine.__name__)
def test_a_fault_is_found(engine):
    class Suite(CommunicatorSuite):
        communicator = engine
        dtypes = ("int32", "float32")
        timeout = timedelta(seconds=2)

    failures = Suite().failures(3)
    found = {name.partition("[")[0] for name, reason in failures.items() if "did not run" not in reason}
    assert found >= FAULTS[engine]


def test_an_error_of_one_rank_ends_all():
    class Raises(QueueCommunicator):
        def gather(self, output, array, root):
            if self.rank == 1 and array.dtype == numpy.int32:
                raise OSError("the cable is cut")
            super().gather(output, array, root)

    class Suite(CommunicatorSuite):
        communicator = Raises
        dtypes = ("int32",)
        timeout = timedelta(seconds=2)

    found = Suite().failures(2)
    assert "the cable is cut" in found["gather[int32]"]
    assert "did not run" in found["scatter[int32]"]
    assert "broadcast[int32]" not in found
