"""``cupy.cuda.nccl`` among threads of one process: each is a rank, NumPy computes, and calls are checked as NCCL does.

Refused are: arguments that are no ints, unknown datatypes and functions, ranks that are not there, the null stream, two
streams in one communicator, collectives that differ between the ranks, messages of different lengths. Calls wait in the
host for what they would wait for in the device; a message is sent when it is received. `abort` ends the waits.
"""

import ctypes
import itertools
import sys
import threading
import types
from pathlib import Path

import ml_dtypes
import numpy

DATATYPES = [numpy.dtype(name) for name in "int8 uint8 int32 uint32 int64 uint64 float16 float32 float64".split()] + [
    numpy.dtype(ml_dtypes.bfloat16)
]
FUNCTIONS = [numpy.add, numpy.multiply, numpy.maximum, numpy.minimum, None]
COLLECTIVE, MESSAGE = "collective", "message"
ids = itertools.count()
worlds = {}
making = threading.Lock()
group = threading.local()


class NcclError(RuntimeError):
    pass


class World:
    """What the ranks of a communicator share."""

    def __init__(self, size):
        self.size = size
        self.changed = threading.Condition()
        self.joined = 0
        self.given = {}  # by the number of the collective: each rank's call
        self.results = {}
        self.messages = {}  # by source and destination: what waits to be received
        self.aborted = False

    def wait(self, condition):
        """Whether the condition came true before the communicator was aborted; the lock is held."""
        while not self.aborted:
            if self.changed.wait_for(condition, 0.05):
                return True
        return False


class NcclCommunicator:
    def __init__(self, size, unique_id, rank):
        assert type(unique_id) is tuple
        assert len(unique_id) == 128
        assert all(-128 <= byte < 128 for byte in unique_id)
        check(0 <= rank < size, f"rank {rank} of {size}")
        with making:
            self.world = worlds.setdefault(unique_id, World(size))
        check(self.world.size == size, "two numbers of ranks")
        self.rank, self.stream, self.number = rank, None, 0
        with self.world.changed:
            self.world.joined += 1
            self.world.changed.notify_all()
            self.world.wait(lambda: self.world.joined >= size)

    def allReduce(self, send, receive, count, datatype, op, stream):
        self.collective("allReduce", stream, (count, datatype, op), send, count, datatype, receive)

    def reduce(self, send, receive, count, datatype, op, root, stream):
        self.root(root)
        self.collective("reduce", stream, (count, datatype, op, root), send, count, datatype, receive)

    def broadcast(self, send, receive, count, datatype, root, stream):
        self.root(root)
        self.collective("broadcast", stream, (count, datatype, root), send, count, datatype, receive)

    def allGather(self, send, receive, count, datatype, stream):
        self.collective("allGather", stream, (count, datatype), send, count, datatype, receive)

    def reduceScatter(self, send, receive, count, datatype, op, stream):
        self.collective(
            "reduceScatter", stream, (count, datatype, op), send, count * self.world.size, datatype, receive
        )

    def send(self, array, count, datatype, peer, stream):
        self.message("send", array, count, datatype, peer, stream)

    def recv(self, array, count, datatype, peer, stream):
        self.message("recv", array, count, datatype, peer, stream)

    def check_async_error(self):
        check(not self.world.aborted, "the communicator was aborted")

    def abort(self):
        with self.world.changed:
            self.world.aborted = True
            self.world.changed.notify_all()

    def destroy(self):
        self.world = None

    # What they do

    def root(self, root):
        check(0 <= root < self.world.size, f"root {root} of {self.world.size}")

    def queue(self, name, stream, arguments):
        """Check and note a call; whether to go on."""
        check(self.world is not None, "the communicator was destroyed")
        check(all(type(each) is int and each >= 0 for each in (*arguments, stream)), f"{name}{arguments}")
        check(stream > 2, f"{name} in the default stream")
        check(self.stream in (None, stream), f"{name} in stream {stream}, others in {self.stream}")
        self.stream = stream
        sys.modules["cupy_stand_in.events"].note("order", f"{name} in stream {stream}")
        return not self.world.aborted

    def collective(self, name, stream, about, send, count, datatype, receive):
        if not self.queue(name, stream, (send, receive, *about)):
            return
        check(datatype < len(DATATYPES), f"datatype {datatype}")
        world, number = self.world, self.number
        self.number += 1
        with world.changed:
            given = world.given.setdefault(number, {})
            given[self.rank] = name, about, memory(send, count, datatype).copy()
            if len(given) == world.size:
                check(len({each[:2] for each in given.values()}) == 1, f"the ranks differ: {given}")
                world.results[number] = self.result(name, about, [given[rank][2] for rank in range(world.size)])
                world.changed.notify_all()
            if not world.wait(lambda: number in world.results):
                return
            result = world.results[number]
        if name == "reduceScatter":
            result = numpy.split(result, world.size)[self.rank]
        if name != "reduce" or about[-1] == self.rank:
            memory(receive, result.size, datatype)[...] = result

    def result(self, name, about, values):
        if name == "allGather":
            return numpy.concatenate(values)
        if name == "broadcast":
            return values[about[-1]]
        result = values[0].copy()
        for other in values[1:]:
            FUNCTIONS[about[2]](result, other, out=result)
        return result

    def message(self, name, array, count, datatype, peer, stream):
        arguments = array, count, datatype, peer
        if not self.queue(name, stream, arguments):
            return
        check(peer != self.rank, f"{name} to this rank")
        self.root(peer)
        begin = self.post if name == "send" else self.fetch
        pending = getattr(group, "pending", None)
        if pending is None:
            begin(*arguments)()
        else:
            pending.append((begin, arguments))

    def post(self, array, count, datatype, peer):
        """Offer a message; returns what waits until it was taken."""
        world = self.world
        box = [memory(array, count, datatype)]
        with world.changed:
            world.messages.setdefault((self.rank, peer), []).append(box)
            world.changed.notify_all()

        def wait():
            with world.changed:
                world.wait(lambda: not box)

        return wait

    def fetch(self, array, count, datatype, peer):
        """Returns what takes a message."""
        world = self.world

        def wait():
            with world.changed:
                waiting = world.messages.setdefault((peer, self.rank), [])
                if world.wait(lambda: waiting):
                    box = waiting.pop(0)
                    check(box[0].nbytes == count * DATATYPES[datatype].itemsize, "a message of another length")
                    memory(array, count, datatype)[...] = box.pop()
                    world.changed.notify_all()

        return wait


def groupStart():
    check(getattr(group, "pending", None) is None, "a group inside a group")
    group.pending = []


def groupEnd():
    pending, group.pending = group.pending, None
    waits = [begin(*arguments) for begin, arguments in pending]
    fetches = [wait for wait, (begin, _) in zip(waits, pending) if begin.__name__ == "fetch"]
    posts = [wait for wait, (begin, _) in zip(waits, pending) if begin.__name__ == "post"]
    for wait in (*fetches, *posts):  # all were offered before
        wait()


def memory(address, count, datatype):
    """The elements at an address."""
    dtype = DATATYPES[datatype]
    if not count:
        return numpy.empty(0, dtype)
    check(address != 0, "a null pointer")
    return numpy.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype)


def check(claim, message):
    if not claim:
        raise NcclError(message)


def get_unique_id():
    return tuple(numpy.frombuffer(next(ids).to_bytes(8, "little") + bytes(range(80, 200)), numpy.int8).tolist())


def install():
    """Put the stand-in for CuPy, with this module in it, where ``import cupy`` finds it."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "backend-cuda" / "tests"))
    import cupy_stand_in

    cupy = cupy_stand_in.install()
    made = types.ModuleType("cupy.cuda.nccl")
    names = "int8 uint8 int32 uint32 int64 uint64 float16 float32 float64 bfloat16".split()
    for number, name in enumerate(names):
        setattr(made, f"NCCL_{name.upper()}", number)
    for number, name in enumerate("SUM PROD MAX MIN AVG".split()):
        setattr(made, f"NCCL_{name}", number)
    for each in (NcclCommunicator, NcclError, groupStart, groupEnd, get_unique_id):
        setattr(made, each.__name__, each)
    made.available = True
    sys.modules["cupy.cuda.nccl"] = cupy.cuda.nccl = made
    return cupy
