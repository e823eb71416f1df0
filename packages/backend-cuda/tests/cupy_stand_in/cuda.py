"""``cupy.cuda``: devices, streams, events and memory that is counted; nothing runs behind the program's back."""

from __future__ import annotations

import itertools
import time
import types
from typing import Any

from cupy_stand_in.events import note

DEVICES = 2
TOTAL = 1 << 34  # bytes of a device's memory
UNIT = 512  # bytes that an allocation is a multiple of


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime."""


class OutOfMemoryError(MemoryError):
    """More memory was asked for than the device, or the pool's limit, has."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        known = f" (allocated so far: {total:,} bytes" + (f", limit set to: {limit:,} bytes)." if limit else ").")
        super().__init__(f"Out of memory allocating {size:,} bytes" + known)


class Current:
    """The device that new arrays are on, and the streams of each."""

    device = 0


current = Current()


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


class Memory:
    """Bytes that an array and its views live in; they go back to the pool when the last one dies."""

    def __init__(self, size: int) -> None:
        self.size, self.device_id = size, current.device
        self.rounded = -(-size // UNIT) * UNIT
        pool.take(self.rounded, self.device_id)

    def __del__(self) -> None:
        pool.give(self.rounded, self.device_id)


class UnownedMemory:
    """Memory of another library's, kept alive by its owner."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self.owner = ptr, size, owner
        self.device_id = current.device if device_id < 0 else device_id


class MemoryPointer:
    """An address in memory."""

    def __init__(self, mem: Any, offset: int, ptr: int | None = None) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset if ptr is None else ptr
        self.device_id = mem.device_id
        self.device = Device(self.device_id)


class MemoryPool:
    """The default pool, which counts what is used and what it holds."""

    def __init__(self) -> None:
        self.used = [0] * DEVICES
        self.held = [0] * DEVICES
        self.limit = [0] * DEVICES

    def take(self, size: int, device: int) -> None:
        """Count an allocation, or refuse it."""
        limit = self.limit[device] or TOTAL
        if self.used[device] + size > limit:
            raise OutOfMemoryError(size, self.held[device], self.limit[device])
        self.used[device] += size
        self.held[device] = max(self.held[device], self.used[device])

    def give(self, size: int, device: int) -> None:
        """Count what came back, which the pool holds on to."""
        self.used[device] -= size

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
        """Give back to the device what is not used."""
        self.held[current.device] = self.used[current.device]

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Let the current device's memory in the pool be at most this; 0 is no limit."""
        self.limit[current.device] = int(fraction * TOTAL) if fraction is not None else int(size or 0)

    def get_limit(self) -> int:
        """The limit of the current device, in bytes."""
        return self.limit[current.device]


pool = MemoryPool()


# Streams and events

serial = itertools.count(1)


class Event:
    """A mark in a stream's work, which here is done as soon as it is recorded."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.timed, self.ptr, self.at = not disable_timing, next(serial), 0.0

    @property
    def done(self) -> bool:
        """Whether the work before it is done."""
        return True

    def record(self, stream: Any = None) -> None:
        """Set the mark at the end of a stream's present work."""
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        """Wait until the work before it is done."""
        note("wait", "Event.synchronize")


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds from one event to another."""
    if not (start_event.timed and end_event.timed and start_event.at and end_event.at):
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
    return (end_event.at - start_event.at) * 1000


class Stream:
    """A queue of work, which here is done at once."""

    null: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, *, priority: int | None = None
    ) -> None:
        self.ptr = 0 if null else next(serial)
        self.device_id = -1 if null else current.device
        self.non_blocking, self.priority = non_blocking, priority or 0
        self.before: list[Stream] = []

    def __enter__(self) -> Stream:
        self.before.append(get_current_stream())
        return self.use()

    def __exit__(self, *error: object) -> None:
        self.before.pop().use()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def use(self) -> Stream:
        """Make it the current stream of the current device."""
        if self.device_id not in (-1, current.device):
            raise RuntimeError(f"This stream (device {self.device_id}) cannot be used on device {current.device}")
        streams[current.device] = self
        return self

    @property
    def done(self) -> bool:
        """Whether all its work is done."""
        return True

    def record(self, event: Event | None = None) -> Event:
        """Record an event in it."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let its further work wait for an event."""

    def synchronize(self) -> None:
        """Wait for its work."""
        note("wait", "Stream.synchronize")

    def is_capturing(self) -> bool:
        """Whether its work goes into a graph."""
        return False

    @classmethod
    def from_external(cls, obj: Any) -> Stream:
        """The stream of another library's object."""
        made = cls(null=True)
        made.ptr = obj.__cuda_stream__()[1]
        return made


class ExternalStream(Stream):
    """A stream by its address."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        super().__init__(null=True)
        self.ptr, self.device_id = ptr, device_id


Stream.null = Stream(null=True)
streams = [Stream.null] * DEVICES


def get_current_stream(device_id: int = -1) -> Stream:
    """The stream that a device's work goes to."""
    return streams[current.device if device_id < 0 else device_id]


# The runtime


def set_device(index: int) -> None:
    """Make a device the current one."""
    if not 0 <= index < DEVICES:
        raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
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
    memGetInfo=lambda: (TOTAL - pool.held[current.device], TOTAL),
    deviceSynchronize=lambda: note("wait", "deviceSynchronize"),
    deviceCanAccessPeer=lambda device, peer: int(device != peer),
    runtimeGetVersion=lambda: 13050,
    driverGetVersion=lambda: 13050,
)
