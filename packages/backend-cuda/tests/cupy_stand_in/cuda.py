"""``cupy.cuda``: devices, streams, events and memory that is counted; nothing runs behind the program's back."""

from __future__ import annotations

import array
import contextlib
import itertools
import math
import threading
import time
import types
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy

from cupy_stand_in.events import note

DEVICES = 2
TOTAL = 1 << 34  # bytes of a device's memory
UNIT = 512  # bytes that an allocation is a multiple of


MEMORY_ALLOCATION, INVALID_HANDLE, INVALID_DEVICE = 2, 400, 101
ERRORS = {
    2: "cudaErrorMemoryAllocation: out of memory",
    101: "cudaErrorInvalidDevice: invalid device ordinal",
    400: "cudaErrorInvalidResourceHandle: invalid resource handle",
    700: "cudaErrorIllegalAddress: an illegal memory access was encountered",
}


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(ERRORS[status])


class CUDADriverError(RuntimeError):
    """An error of the CUDA driver."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(ERRORS[status])


class OutOfMemoryError(MemoryError):
    """More memory was asked for than the device, or the pool's limit, has."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        known = f" (allocated so far: {total:,} bytes" + (f", limit set to: {limit:,} bytes)." if limit else ").")
        super().__init__(f"Out of memory allocating {size:,} bytes" + known)


class Device:
    """A device; as a context the current one."""

    def __init__(self, device: Any = None) -> None:
        self.id = current.device if device is None else int(device)
        self.before: list[int] = []

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> Device:
        self.before.append(current.device)
        runtime.setDevice(self.id)
        return self

    def __exit__(self, *error: object) -> None:
        current.device = self.before.pop()

    def use(self) -> None:
        """Make it the current device."""
        runtime.setDevice(self.id)

    def synchronize(self) -> None:
        """Wait for all its work."""
        busy.clear()
        note("wait", "Device.synchronize")

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes."""
        return runtime.memGetInfo()

    @property
    def compute_capability(self) -> str:
        """Its architecture's number."""
        return "90"


def is_available() -> bool:
    """Whether there is a device."""
    return True


# Memory


class BaseMemory:
    """Memory on a device: where, how much, and on which."""

    ptr = size = device_id = 0

    @property
    def device(self) -> Device:
        """Its device."""
        return Device(self.device_id)


class Memory(BaseMemory):
    """Memory of the device's own: a piece of the host's, where NumPy computes."""

    def __init__(self, size: int) -> None:
        self.size, self.device_id = size, current.device
        if size > TOTAL - taken[self.device_id]:
            self.size = 0
            raise CUDARuntimeError(MEMORY_ALLOCATION)
        taken[self.device_id] += size
        self.bytes = numpy.empty(size + UNIT if size else 0, numpy.uint8)
        self.ptr = -(-self.bytes.ctypes.data // UNIT) * UNIT if size else 0

    def __del__(self) -> None:
        taken[self.device_id] -= self.size


class UnownedMemory(BaseMemory):
    """Memory of another library's, kept alive by its owner."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self.owner = ptr, size, owner
        self.device_id = current.device if device_id < 0 else device_id


class MemoryPointer:
    """An address in memory."""

    def __init__(self, mem: Any, offset: int) -> None:
        if not isinstance(mem, BaseMemory):
            raise TypeError(f"Argument 'mem' has incorrect type (expected BaseMemory, got {type(mem).__name__})")
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id

    @property
    def device(self) -> Device:
        """The device that it is on."""
        return Device(self.device_id)


class PooledMemory(BaseMemory):
    """A block of a pool, which goes back to the arena of its stream as soon as nobody has it."""

    def __init__(self, pool: MemoryPool, chunk: Any, stream: int) -> None:
        self.pool, self.chunk, self.stream = pool, chunk, stream
        self.ptr, self.size, self.device_id = chunk.ptr, chunk.size, chunk.device_id

    def __del__(self) -> None:
        self.pool.free(self)


class MemoryPool:
    """A pool that holds on to what was freed, for the next allocation of its size in the same stream."""

    def __init__(self, allocator: Any = None) -> None:
        self.used = [0] * DEVICES
        self.held = [0] * DEVICES
        self.limit = [0] * DEVICES
        self.arenas: dict[tuple[int, int], dict[int, list[Memory]]] = {}

    def malloc(self, size: int) -> MemoryPointer:
        """Memory of the current device, for the current stream."""
        device, rounded = current.device, -(-size // UNIT) * UNIT
        if not size:
            return MemoryPointer(Memory(0), 0)
        stream = get_current_stream().ptr
        free = self.arenas.get((device, stream), {}).get(rounded)
        chunk = free.pop() if free else self.from_device(rounded, device)
        self.used[device] += rounded
        return MemoryPointer(PooledMemory(self, chunk, stream), 0)

    def from_device(self, size: int, device: int) -> Memory:
        """Memory that the pool has not yet; within its limit nothing is given back first."""
        limit = self.limit[device]
        if limit and self.held[device] + size > limit:
            raise OutOfMemoryError(size, self.held[device], limit)
        try:
            made = Memory(size)
        except CUDARuntimeError:
            self.free_all_blocks()
            try:
                made = Memory(size)
            except CUDARuntimeError:
                raise OutOfMemoryError(size, self.held[device], limit) from None
        self.held[device] += size
        return made

    def free(self, memory: PooledMemory) -> None:
        """Take a block back."""
        self.used[memory.device_id] -= memory.size
        arena = self.arenas.setdefault((memory.device_id, memory.stream), {})
        arena.setdefault(memory.size, []).append(memory.chunk)

    def used_bytes(self) -> int:
        """Bytes in arrays of the current device."""
        return self.used[current.device]

    def total_bytes(self) -> int:
        """Bytes that the pool holds of the current device."""
        return self.held[current.device]

    def free_bytes(self) -> int:
        """Bytes that the pool holds and nobody uses."""
        return self.total_bytes() - self.used_bytes()

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give back to the current device what is not used."""
        for device, address in list(self.arenas):
            if device == current.device and (stream is None or stream.ptr == address):
                arena = self.arenas.pop((device, address))
                self.held[device] -= sum(size * len(chunks) for size, chunks in arena.items())

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Let the current device's memory in the pool be at most this; 0 is no limit."""
        if fraction is not None and not 0 <= fraction <= 1:
            raise ValueError(f"memory limit fraction out of range: {fraction}")
        self.limit[current.device] = int(fraction * TOTAL) if fraction is not None else int(size or 0)

    def get_limit(self) -> int:
        """The limit of the current device, in bytes."""
        return self.limit[current.device]


taken = [0] * DEVICES  # bytes of each device
pool = MemoryPool()
allocators = [pool.malloc]


def alloc(size: int) -> Any:
    """Memory from the allocator in use."""
    return allocators[-1](size)


def get_allocator() -> Any:
    """The allocator in use."""
    return allocators[-1]


def set_allocator(allocator: Any = None) -> None:
    """Allocate by a function of a size that returns a pointer; None: from the device, without a pool."""
    allocators[-1] = allocator or (lambda size: MemoryPointer(Memory(size), 0))


@contextlib.contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    """Allocate by another function for a block."""
    allocators.append(allocator)
    try:
        yield
    finally:
        allocators.pop()


# Page-locked memory of the host

pinned: dict[int, int] = {}  # where each piece begins, and its size


def alloc_pinned_memory(size: int) -> Any:
    """Page-locked bytes, as an object with a buffer."""
    made = array.array("B", bytes(max(size, 1)))
    begin = made.buffer_info()[0]
    pinned[begin] = size
    weakref.finalize(made, pinned.pop, begin, None)
    return made


def empty_pinned(shape: Any, dtype: Any = float, order: Any = "C") -> numpy.ndarray:
    """``cupyx.empty_pinned``."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    memory = alloc_pinned_memory(math.prod(shape) * numpy.dtype(dtype).itemsize)
    return numpy.ndarray(shape, dtype, memory, order=order)


def memory_type(address: int) -> int:
    """Which kind of memory an address is in: 1 is page-locked, 0 is the host's other memory."""
    return int(any(begin <= address < begin + size for begin, size in pinned.items()))


# Streams and events

serial = itertools.count(3)  # 1 and 2 are CUDA's numbers for default streams
busy: set[int] = set()  # streams of which a test says that their work is not done; waiting for them ends it


class Event:
    """A mark in a stream's work."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        self.timed, self.ptr, self.at, self.stream = not disable_timing, next(serial), 0.0, 0

    @property
    def done(self) -> bool:
        """Whether the work before it is done."""
        return self.stream not in busy

    def record(self, stream: Any = None) -> None:
        """Set the mark at the end of a stream's present work."""
        self.at, self.stream = time.perf_counter(), (stream or get_current_stream()).ptr
        note("order", f"event {self.ptr} in stream {self.stream}")

    def synchronize(self) -> None:
        """Wait until the work before it is done."""
        busy.discard(self.stream)
        note("wait", "Event.synchronize")


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds from one event to another."""
    if not (start_event.timed and end_event.timed and start_event.at and end_event.at):
        raise CUDARuntimeError(INVALID_HANDLE)
    return (end_event.at - start_event.at) * 1000


class BaseStream:
    """What all streams do."""

    def __init__(self, ptr: int, device_id: int) -> None:
        self.ptr, self.device_id = ptr, device_id
        self.before: list[BaseStream] = []

    def __enter__(self) -> BaseStream:
        self.before.append(get_current_stream())
        return self.use()

    def __exit__(self, *error: object) -> None:
        self.before.pop().use()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseStream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def use(self) -> BaseStream:
        """Make it the current stream of the current device."""
        if self.device_id not in (-1, current.device):
            raise RuntimeError(
                f"The device that the stream is created on ({self.device_id}) does not match with the current device "
                f"({current.device})"
            )
        current.streams[current.device] = self
        return self

    @property
    def done(self) -> bool:
        """Whether all its work is done."""
        return self.ptr not in busy

    def record(self, event: Event | None = None) -> Event:
        """Record an event in it."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let its further work wait for an event."""
        note("order", f"stream {self.ptr} after event {event.ptr}")

    def synchronize(self) -> None:
        """Wait for its work."""
        busy.discard(self.ptr)
        note("wait", "Stream.synchronize")

    def is_capturing(self) -> bool:
        """Whether its work goes into a graph."""
        return False


class Stream(BaseStream):
    """A queue of work, which here is done at once, unless a test says that it is `busy`."""

    null: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        super().__init__(0 if null else next(serial), -1 if null else current.device)
        self.is_non_blocking, self.priority = non_blocking, max(-5, min(0, priority or 0))

    @classmethod
    def from_external(cls, obj: Any) -> Stream:
        """The stream of another library's object."""
        made = cls.__new__(cls)
        BaseStream.__init__(made, obj.__cuda_stream__()[1], current.device)
        made.is_non_blocking, made.priority, made.foreign = True, 0, obj
        return made


class ExternalStream(BaseStream):
    """A stream by its address."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        warnings.warn("ExternalStream is deprecated. Use Stream.from_external() instead", DeprecationWarning, 2)
        super().__init__(ptr, device_id)


Stream.null = Stream(null=True)


class Current(threading.local):
    """Of a thread: the device that new arrays are on, and the stream of each."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: list[BaseStream] = [Stream.null] * DEVICES


current = Current()


def get_current_stream(device_id: int = -1) -> Any:
    """The stream that a device's work goes to."""
    return current.streams[current.device if device_id < 0 else device_id]


# The runtime


def set_device(index: int) -> None:
    """Make a device the current one."""
    if not 0 <= index < DEVICES:
        raise CUDARuntimeError(INVALID_DEVICE)
    current.device = index


def properties(index: int) -> dict[str, Any]:
    """What the runtime tells of a device, by CUDA's names."""
    return {
        "name": f"Stand-in {index}".encode(),
        "totalGlobalMem": TOTAL,
        "major": 9,
        "minor": 0,
        "multiProcessorCount": 132,
        "maxThreadsPerMultiProcessor": 2048,
        "maxThreadsPerBlock": 1024,
        "warpSize": 32,
        "regsPerMultiprocessor": 65536,
        "sharedMemPerBlock": 49152,
        "sharedMemPerMultiprocessor": 233472,
        "sharedMemPerBlockOptin": 232448,
        "l2CacheSize": 62914560,
        "clockRate": 1980000,
        "memoryClockRate": 3201000,
        "memoryBusWidth": 6144,
        "integrated": 0,
        "isMultiGpuBoard": 0,
        "pciBusID": index,
        "pciDeviceID": 0,
        "pciDomainID": 0,
        "uuid": bytes(range(16)),
    }


runtime = types.SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError,
    getDeviceCount=lambda: DEVICES,
    getDevice=lambda: current.device,
    setDevice=set_device,
    getDeviceProperties=properties,
    memGetInfo=lambda: (TOTAL - taken[current.device], TOTAL),
    pointerGetMemoryType=memory_type,
    pointerGetAttributes=lambda address: types.SimpleNamespace(device=current.device, type=2),
    memoryTypeHost=1,
    ipcGetEventHandle=lambda event: bytes(64),
    profilerStart=lambda: None,
    profilerStop=lambda: None,
    hostRegister=lambda ptr, size, flags: pinned.update({ptr: size}),
    hostUnregister=lambda ptr: pinned.pop(ptr),
    streamCreate=lambda: next(serial),
    streamDestroy=lambda stream: None,
    deviceSynchronize=lambda: note("wait", "deviceSynchronize"),
    deviceCanAccessPeer=lambda device, peer: int(device != peer),
    runtimeGetVersion=lambda: 13050,
    driverGetVersion=lambda: 13050,
)
nvrtc = types.SimpleNamespace(getSupportedArchs=lambda: (80, 90, 100), getVersion=lambda: (13, 5))
driver = types.SimpleNamespace(CUDADriverError=CUDADriverError)
device = types.SimpleNamespace(get_cublas_handle=lambda: 1 << 20, get_cusolver_handle=lambda: 1 << 21)
nvtx = types.SimpleNamespace(
    Mark=lambda message, id_color=-1: note("mark", message),
    RangePush=lambda message, id_color=-1: note("mark", f"push {message}"),
    RangePop=lambda: note("mark", "pop"),
    RangeStart=lambda message, id_color=-1: note("mark", f"start {message}") or next(serial),
    RangeEnd=lambda range_id: note("mark", "end"),
)
