"""Messages between CUDA devices by NCCL, through CuPy's own binding of it.

Collectives are queued in a stream of the engine's, behind what the current stream has been given, and messages in one
stream for each direction between two ranks. A thread looks at what is queued: what NCCL reports, or what is not done
after the timeout, ends the communicator, and what waits in the device with it.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple

import numpy

from weft.distributed._errors import DistBackendError, DistStoreError
from weft.distributed._reduce_ops import ReduceOp
from weft.distributed.communicators.base import Communicator, split
from weft.plugins import backend as backend_of
from weft.plugins import hookimpl

__all__ = ["NcclCommunicator"]

WATCH_SECONDS = 0.1
ID_BYTES = 128
WIDER = {"int16": "int32", "uint16": "uint32"}  # NCCL has no 16-bit integers; modulo 2^16 the results are the same
OR = {ReduceOp.SUM: "MAX", ReduceOp.MAX: "MAX", ReduceOp.BOR: "MAX"}
AND = {ReduceOp.PRODUCT: "MIN", ReduceOp.MIN: "MIN", ReduceOp.BAND: "MIN"}
ARITHMETIC = {ReduceOp.SUM: "SUM", ReduceOp.PRODUCT: "PROD", ReduceOp.MIN: "MIN", ReduceOp.MAX: "MAX"}


class NcclCommunicator(Communicator):
    """Messages between CUDA devices by NCCL; this rank's is the device that is current when it is made.

    Tags are not sent: two ranks receive in the order in which the other sends.

    Raises
    ------
    ImportError
        If CuPy or NCCL is not installed.
    """

    device_types: ClassVar[tuple[str, ...]] = ("cuda",)
    is_stream_ordered: ClassVar[bool] = True

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(store, rank, size, timeout)
        self._cupy, self._nccl = nccl_library()
        self._backend: Any = backend_of("cuda")
        self._device = self._backend.current_device()
        self._seconds = timeout.total_seconds()
        self._failure: str | None = None
        self._queued: list[Queued] = []
        self._lock = threading.Lock()
        self._connecting: dict[Any, threading.Lock] = {}  # by the two ranks
        self._thread = ThreadState()
        self._channels: dict[Any, Channel] = {}
        self._main = self._connect("all", size, rank)
        watch(self)

    def _connect(self, name: str, size: int, rank: int) -> Channel:
        """Make a communicator of NCCL's, with a stream; the first rank of it makes the id."""
        key = f"nccl/{name}"
        if rank == 0:
            self.store.set(key, bytes(byte & 255 for byte in self._nccl.get_unique_id()))
        try:
            self.store.wait([key], self.timeout)
        except DistStoreError:
            raise DistBackendError(f"nccl: the first rank of {name!r} did not come in {self._seconds:g} s") from None
        unique_id = tuple(numpy.frombuffer(self.store.get(key), numpy.int8).tolist())
        with self._cupy.cuda.Device(self._device):
            made = self._nccl.NcclCommunicator(size, unique_id, rank)
        return Channel(made, self._backend.new_stream(self._device, 0))

    def _channel(self, source: int, destination: int) -> Channel:
        """What carries messages from one rank to another; both make it, and that of the other direction, together."""
        key = source, destination
        if key not in self._channels:
            low, high = sorted(key)
            with self._lock:
                connecting = self._connecting.setdefault((low, high), threading.Lock())
            with connecting:
                for a, b in (low, high), (high, low):
                    if (a, b) not in self._channels:
                        self._channels[a, b] = self._connect(f"{a}>{b}", 2, 0 if self.rank == a else 1)
        return self._channels[key]

    # Order

    @contextmanager
    def stream_context(self, channel: Any = None) -> Iterator[None]:
        if channel is None:
            stream = self._main.stream
        else:
            direction, peer = channel
            ends = (self.rank, peer) if direction == "send" else (peer, self.rank)
            stream = self._main.stream if self._thread.in_batch else self._channel(*ends).stream
        with self._cupy.cuda.Device(self._device):
            current = self._backend.current_stream(self._device)
            self._thread.stream = stream
            if current == stream:
                yield
                return
            stream.wait(self._mark_of(current))
            with stream.stream:
                yield

    def _mark_of(self, stream: Any) -> Any:
        event = self._backend.new_event(self._device, False, False, False)
        event.record(stream)
        return event

    def mark(self) -> Any:
        return self._mark_of(self._thread.stream or self._main.stream)

    def wait_for(self, mark: Any) -> None:
        self._check()
        self._backend.current_stream(self._device).wait(mark)

    def is_done(self, mark: Any) -> bool:
        return self._failure is not None or bool(mark.query())

    @contextmanager
    def _queue(self, *arrays: Any, channel: Any = None) -> Iterator[int]:
        """Where a call is queued: gives the stream's address, and keeps the arrays' memory until it is done."""
        self._check()
        with self.stream_context(channel):
            stream = self._thread.stream
            for array in arrays:
                self._backend.record_stream(array, stream)
            queued = Queued(channel)  # a call may wait in the host, too, for the others to connect
            if not stream.is_capturing():
                with self._lock:
                    self._queued.append(queued)
            yield stream.address
            queued.event = None if stream.is_capturing() else self._mark_of(stream)

    # Collectives

    def broadcast(self, array: Any, root: int) -> None:
        with self._queue(array) as stream:
            pointer = array.data.ptr
            self._main.nccl.broadcast(pointer, pointer, array.nbytes, self._nccl.NCCL_UINT8, root, stream)

    def all_gather(self, output: Any, array: Any) -> None:
        with self._queue(output, array) as stream:
            self._main.nccl.allGather(array.data.ptr, output.data.ptr, array.nbytes, self._nccl.NCCL_UINT8, stream)

    def all_reduce(self, array: Any, op: ReduceOp) -> None:
        with self._queue(array) as stream:
            native = self._native(array, op)
            if native is None:
                self._reduce_gathered(array, op)
                return
            values, datatype, function = native
            self._main.nccl.allReduce(values.data.ptr, values.data.ptr, values.size, datatype, function, stream)
            put_back(array, values)

    def reduce(self, array: Any, root: int, op: ReduceOp) -> None:
        with self._queue(array) as stream:
            native = self._native(array, op)
            if native is None:
                super().reduce(array, root, op)
                return
            values, datatype, function = native
            target = values.data.ptr if self.rank == root else 0  # of the others NCCL asks for none
            self._main.nccl.reduce(values.data.ptr, target, values.size, datatype, function, root, stream)
            if self.rank == root:
                put_back(array, values)

    def reduce_scatter(self, output: Any, input: Any, op: ReduceOp) -> None:
        with self._queue(output, input) as stream:
            native = self._native(input, op)
            if native is None:
                super().reduce_scatter(output, input, op)
                return
            values, datatype, function = native
            part = output.view(values.dtype) if values.itemsize <= output.itemsize else output.astype(values.dtype)
            self._main.nccl.reduceScatter(values.data.ptr, part.data.ptr, part.size, datatype, function, stream)
            put_back(output, part)

    def _native(self, array: Any, op: ReduceOp) -> tuple[Any, int, int] | None:
        """The array as NCCL reduces it, its datatype and the function; None if it cannot."""
        name = array.dtype.name
        if name == "bool":
            functions = {**OR, **AND}
            array, name = array.view(numpy.uint8), "uint8"
        elif array.dtype.kind == "c":  # pairs of reals, which only a sum takes one by one
            functions = {ReduceOp.SUM: "SUM"}
            name = {8: "float32", 16: "float64"}[array.itemsize]
            array = array.view(name)
        else:
            functions = ARITHMETIC
        datatype = getattr(self._nccl, f"NCCL_{WIDER.get(name, name).upper()}", None)
        if op not in functions or datatype is None:
            return None
        values = array.astype(WIDER[name]) if name in WIDER else array
        return values, datatype, getattr(self._nccl, f"NCCL_{functions[op]}")

    def _reduce_gathered(self, array: Any, op: ReduceOp) -> None:
        """Reduce what NCCL has no function for: bits, and products of complex numbers."""
        every = self._cupy.empty(array.size * self.size, array.dtype)
        self.all_gather(every, array)
        first, *others = self.parts(every)
        for other in others:
            self.combine(self._cupy, op, first, other)
        array[...] = first

    def gather(self, output: Any | None, array: Any, root: int) -> None:
        arrays = [array] if output is None else [array, output]
        with self._queue(*arrays) as stream, self._group():
            if output is None:
                self._send(self._main, array, root, stream)
                return
            for rank, part in enumerate(self.parts(output)):
                if rank != root:
                    self._recv(self._main, part, rank, stream)
                else:
                    part[...] = array

    def scatter(self, array: Any, input: Any | None, root: int) -> None:
        arrays = [array] if input is None else [array, input]
        with self._queue(*arrays) as stream, self._group():
            if input is None:
                self._recv(self._main, array, root, stream)
                return
            for rank, part in enumerate(self.parts(input)):
                if rank != root:
                    self._send(self._main, part, rank, stream)
                else:
                    array[...] = part

    def all_to_all(self, output: Any, input: Any, output_counts: Sequence[int], input_counts: Sequence[int]) -> None:
        sent, received = split(input, input_counts), split(output, output_counts)
        with self._queue(output, input) as stream, self._group():
            for rank in range(self.size):
                if rank == self.rank:
                    received[rank][...] = sent[rank]
                else:
                    self._send(self._main, sent[rank], rank, stream)
                    self._recv(self._main, received[rank], rank, stream)

    def barrier(self) -> None:
        """Return when all processes have called it: this process waits, not its device alone."""
        with self.stream_context():
            self.all_reduce(self._cupy.zeros(1, numpy.uint8), ReduceOp.SUM)
        self._wait_until_done(self.mark())

    @contextmanager
    def _group(self) -> Iterator[None]:
        """Let NCCL begin the calls of the block together."""
        self._nccl.groupStart()
        try:
            yield
        finally:
            self._nccl.groupEnd()

    # Messages

    def send(self, array: Any, dst: int, tag: int) -> None:
        if self._thread.in_batch:
            with self._queue(array) as stream:
                self._send(self._main, array, dst, stream)
            return
        with self._queue(array, channel=("send", dst)) as stream:
            self._send(self._channel(self.rank, dst), array, 1, stream)

    def recv(self, array: Any, src: int | None, tag: int) -> int:
        if src is None:
            raise ValueError("backend 'nccl': recv needs src, the rank that sends")
        if self._thread.in_batch:
            with self._queue(array) as stream:
                self._recv(self._main, array, src, stream)
            return src
        with self._queue(array, channel=("recv", src)) as stream:
            self._recv(self._channel(src, self.rank), array, 0, stream)
        return src

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Begin the block's messages together: in the communicator of all ranks, as NCCL's groups want it."""
        with self.stream_context(), self._group():
            self._thread.in_batch = True
            try:
                yield
            finally:
                self._thread.in_batch = False

    def _send(self, channel: Channel, array: Any, peer: int, stream: int) -> None:
        if array.size:
            channel.nccl.send(array.data.ptr, array.nbytes, self._nccl.NCCL_UINT8, peer, stream)

    def _recv(self, channel: Channel, array: Any, peer: int, stream: int) -> None:
        if array.size:
            channel.nccl.recv(array.data.ptr, array.nbytes, self._nccl.NCCL_UINT8, peer, stream)

    # Errors and the end

    def look(self) -> None:
        """Find out what is done, late or failed; the thread that watches calls this now and then."""
        if self._failure is not None:
            return
        try:
            for channel in [self._main, *list(self._channels.values())]:
                channel.nccl.check_async_error()
        except Exception as error:
            self._fail(str(error))
            return
        with self._lock:
            self._queued = [each for each in self._queued if each.event is None or not each.event.query()]
            oldest = self._queued[0] if self._queued else None
        if oldest is None:
            return
        if time.monotonic() - oldest.since > self._seconds:
            self._fail(f"{oldest.late}, within {self._seconds:g} s")

    def _fail(self, reason: str) -> None:
        """End what waits in the device, and let later calls raise."""
        self._failure = reason
        for channel in [self._main, *list(self._channels.values())]:
            channel.nccl.abort()

    def _check(self) -> None:
        if self._failure is not None:
            raise DistBackendError(f"nccl: {self._failure}")

    def _wait_until_done(self, mark: Any) -> None:
        pause = 1e-5
        while not mark.query():
            self._check()
            time.sleep(pause)
            pause = min(1.5 * pause, 1e-3)
        self._check()

    def abort(self) -> None:
        if self._failure is None:
            self._fail("the group was ended")

    def close(self) -> None:
        unwatch(self)
        if self._failure is None:
            self._wait_until_done(self._mark_of(self._main.stream))
            for channel in [self._main, *self._channels.values()]:
                channel.nccl.destroy()
            self._failure = "the group was ended"


class Channel(NamedTuple):
    """A communicator of NCCL's, and the stream that its calls are queued in."""

    nccl: Any
    stream: Any


class Queued:
    """A call that was queued: what an error says if it is late, and an event behind it."""

    def __init__(self, channel: Any) -> None:
        direction, peer = channel or ("", None)
        self.late = {
            "": "not all ranks came",
            "send": f"rank {peer} does not receive",
            "recv": f"nothing came from rank {peer}",
        }[direction]
        self.since = time.monotonic()
        self.event: Any = None


class ThreadState(threading.local):
    """Which stream this thread's last call was queued in, and whether it is in a batch of messages."""

    stream: Any = None
    in_batch = False


def put_back(array: Any, values: Any) -> None:
    """Write into an array what was reduced, unless that shares its memory."""
    if values.data.ptr != array.data.ptr:
        array[...] = values.astype(array.dtype)


def nccl_library() -> tuple[Any, Any]:
    """CuPy, and its binding of NCCL.

    Raises
    ------
    ImportError
        If one of them is missing, with what to install.
    """
    try:
        import cupy
        from cupy.cuda import nccl
    except ImportError as error:
        raise ImportError(f"backend 'nccl': {error}. {INSTALL}") from error
    if not getattr(nccl, "available", False):
        raise ImportError(f"backend 'nccl': CuPy finds no NCCL. {INSTALL}")
    return cupy, nccl


INSTALL = "Install them: pip install 'weft-backend-cuda[cupy]' nvidia-nccl-cu13 (or -cu12, as your CuPy)"

# The thread that watches

watched: weakref.WeakSet[NcclCommunicator] = weakref.WeakSet()
watching = threading.Lock()
watchers: list[threading.Thread] = []


def watch(communicator: NcclCommunicator) -> None:
    """Let the thread look at a communicator's calls."""
    with watching:
        watched.add(communicator)
        if not watchers:
            watchers.append(threading.Thread(target=look_at_all, name="weft nccl", daemon=True))
            watchers[0].start()


def unwatch(communicator: NcclCommunicator) -> None:
    """Let the thread leave a communicator alone; it ends with the last one."""
    with watching:
        watched.discard(communicator)


def look_at_all(pause: Callable[[float], None] = time.sleep) -> None:
    """What the thread does."""
    while True:
        pause(WATCH_SECONDS)
        with watching:
            communicators = list(watched)
            if not communicators:
                watchers.clear()
                return
        for communicator in communicators:
            communicator.look()


@hookimpl
def weft_communicator(backend: str) -> type[Communicator]:
    """Bring this engine."""
    return NcclCommunicator
