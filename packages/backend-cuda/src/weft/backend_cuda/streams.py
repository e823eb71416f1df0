"""Streams and events of CUDA devices, over CuPy's.

CuPy keeps a current stream for each thread and device, and launches on that of the current device. The address 0 is the
default stream of whichever device is current, so that everything here runs with the stream's device as the current one.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import cupy

from weft.backend import Backend, DeviceEvent, DeviceStream
from weft.backend_cuda.errors import reported

STREAMS_PER_PRIORITY = 32  # as many as PyTorch has: programs that make streams in a loop get them again in turn
LEGACY_DEFAULT = 1  # how DLPack calls the stream of address 0


class CUDAStream(DeviceStream):
    """A stream of CuPy's, on a device."""

    def __init__(self, backend: Any, index: int, stream: Any) -> None:
        super().__init__(backend, index)
        self.stream = stream
        self.address = int(stream.ptr)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CUDAStream) and (self.address, self.index) == (other.address, other.index)

    def __hash__(self) -> int:
        return hash((self.address, self.index))

    @property
    @reported
    def priority(self) -> int:  # type: ignore[override]
        """What it was made with; lower numbers come first."""
        return int(self.stream.priority) if self.address else 0

    @reported
    def query(self) -> bool:
        with cupy.cuda.Device(self.index):
            return bool(self.stream.done)

    @reported
    def synchronize(self) -> None:
        with cupy.cuda.Device(self.index):
            self.stream.synchronize()
            self.backend.assertions.look(self.index, self.address)

    @reported
    def wait(self, event: Any) -> None:
        with cupy.cuda.Device(self.index):
            self.stream.wait_event(event.event)

    @reported
    def is_capturing(self) -> bool:
        return bool(self.address) and bool(self.stream.is_capturing())


class CUDAEvent(DeviceEvent):
    """An event of CuPy's, on a device."""

    @reported
    def __init__(self, backend: Any, index: int, enable_timing: bool, blocking: bool, interprocess: bool) -> None:
        super().__init__(backend, index)
        with cupy.cuda.Device(index):
            self.event = cupy.cuda.Event(block=blocking, disable_timing=not enable_timing, interprocess=interprocess)
        self.address = int(self.event.ptr)

    @reported
    def record(self, stream: Any) -> None:
        with cupy.cuda.Device(self.index):
            self.event.record(stream.stream)

    @reported
    def query(self) -> bool:
        return bool(self.event.done)

    @reported
    def synchronize(self) -> None:
        self.event.synchronize()

    @reported
    def elapsed_time(self, end: Any) -> float:
        return float(cupy.cuda.get_elapsed_time(self.event, end.event))

    @reported
    def ipc_handle(self) -> bytes:
        return bytes(cupy.cuda.runtime.ipcGetEventHandle(self.address))


class Address:
    """A stream of another library's, by the protocol that CuPy asks."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def mark(stream: CUDAStream) -> CUDAEvent:
    """An event at the end of a stream's present work."""
    event = CUDAEvent(stream.backend, stream.index, False, False, False)
    event.record(stream)
    return event


class Joined(threading.local):
    """What this thread's calls of `Streams.join_streams` have joined."""

    def __init__(self) -> None:
        self.stack: list[list[tuple[CUDAStream, list[CUDAStream]]]] = []


class Streams(Backend):
    """What a backend owes of streams."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._streams: dict[tuple[int, int], list[CUDAStream]] = {}
        self._turns: dict[tuple[int, int], Any] = {}
        self._current: dict[tuple[int, int], CUDAStream] = {}  # of each thread and device that set one
        self._left: set[CUDAStream] = set()  # that were current since the streams were last joined
        self._joined = Joined()
        self._lock = threading.Lock()

    def current_stream(self, index: int) -> CUDAStream:
        return CUDAStream(self, index, cupy.cuda.get_current_stream(index))

    def default_stream(self, index: int) -> CUDAStream:
        return CUDAStream(self, index, cupy.cuda.Stream.null)

    @reported
    def new_stream(self, index: int, priority: int) -> CUDAStream:
        """One of some streams that stay, in turn: the pool keeps blocks for each stream that ever allocated."""
        key = index, priority
        with self._lock:
            made = self._streams.setdefault(key, [])
            turn = next(self._turns.setdefault(key, itertools.count())) % STREAMS_PER_PRIORITY
            if turn == len(made):
                with cupy.cuda.Device(index):
                    stream = cupy.cuda.Stream(non_blocking=True, priority=priority)
                made.append(CUDAStream(self, index, stream))
            return made[turn]

    @reported
    def external_stream(self, address: int, index: int) -> CUDAStream:
        if not address:
            return self.default_stream(index)
        with cupy.cuda.Device(index):
            return CUDAStream(self, index, cupy.cuda.Stream.from_external(Address(address)))

    @reported
    def use_stream(self, stream: Any) -> None:
        key = threading.get_ident(), stream.index
        with self._lock:
            self._left.add(self._current.get(key, self.default_stream(stream.index)))
            self._current[key] = stream
        with cupy.cuda.Device(stream.index):
            stream.stream.use()

    def new_event(self, index: int, enable_timing: bool, blocking: bool, interprocess: bool) -> CUDAEvent:
        return CUDAEvent(self, index, enable_timing, blocking, interprocess)

    def others(self) -> list[tuple[CUDAStream, list[CUDAStream]]]:
        """The current stream, for this thread, of each device, and the other ones that work was given to.

        Those that were left before the last call are not in it: what they did is before what some stream in it does.
        """
        with self._lock:
            used = {*self._left, *self._current.values()}
            self._left.clear()
        found = [self.current_stream(index) for index in sorted({each.index for each in used})]
        pairs = [(here, [each for each in used if each.index == here.index and each != here]) for here in found]
        return [(here, others) for here, others in pairs if others]

    def join_streams(self) -> None:
        joined = self.others()
        self._joined.stack.append(joined)
        for here, others in joined:
            for each in others:
                here.wait(mark(each))

    def fork_streams(self) -> None:
        for here, others in self._joined.stack.pop():
            event = mark(here)
            for each in others:
                each.wait(event)

    def dlpack_stream(self, index: int | None) -> int | None:
        return self.current_stream(self.current_device() if index is None else index).address or LEGACY_DEFAULT
