"""The memory of CUDA devices: CuPy's pool, with counts, and with blocks that wait for the streams that use them.

CuPy's pool hands a freed block to the next allocation in the stream that it was allocated in, at once: the device does
that stream's work in order. Another stream that still reads the block is unknown to it. So each allocation is an object
of ours around the pool's: it counts, and when it dies after `record_stream`, the pool gets its block only when the
events say that those streams are done with it.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import cupy

import weft
from weft.backend import Backend
from weft.backend_cuda.errors import CUDA_ERRORS, reported
from weft.backend_cuda.streams import CUDAStream, mark

PoolExhausted = cupy.cuda.memory.OutOfMemoryError
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


class OutOfMemoryError(weft.OutOfMemoryError, PoolExhausted):  # type: ignore[misc, valid-type]
    """`weft.OutOfMemoryError`, which CuPy's own functions know for theirs."""

    def __init__(self, message: str) -> None:
        RuntimeError.__init__(self, message)

    def __reduce__(self) -> Any:
        return weft.OutOfMemoryError, (str(self),)


class Counts:
    """The counts of a device's memory, each written where it changes: an allocation may cost a microsecond or two.

    Attributes
    ----------
    blocks, requested, size
        What arrays have: how many blocks, the bytes that were asked for, and those that were given.
    waiting_blocks, waiting_size
        What no array has any more, and a stream may still use.
    """

    def __init__(self) -> None:
        self.blocks = self.requested = self.size = self.waiting_blocks = self.waiting_size = 0
        self.all_blocks = self.all_requested = self.all_sizes = 0
        self.most_blocks = self.most_requested = self.most_size = self.most_reserved = 0
        self.most_active = self.most_active_blocks = 0
        self.retries = self.failures = 0
        self.before: dict[str, tuple[int, int]] = {}  # the sums when they were reset

    def add(self, requested: int, size: int) -> None:
        """An array has a block."""
        self.all_blocks += 1
        self.all_requested += requested
        self.all_sizes += size
        self.blocks += 1
        self.requested += requested
        self.size += size
        if self.size > self.most_size or self.blocks > self.most_blocks or self.waiting_size:
            self.note_peaks()
        elif self.requested > self.most_requested:
            self.most_requested = self.requested

    def remove(self, requested: int, size: int) -> None:
        """No array has a block any more."""
        self.blocks -= 1
        self.requested -= requested
        self.size -= size

    def wait(self, size: int, blocks: int) -> None:
        """A block that no array has waits for streams, or (of negative numbers) does not any more."""
        self.waiting_blocks += blocks
        self.waiting_size += size

    def note_peaks(self) -> None:
        """Raise the peaks to what there is now."""
        self.most_blocks = max(self.most_blocks, self.blocks)
        self.most_requested = max(self.most_requested, self.requested)
        self.most_size = max(self.most_size, self.size)
        self.most_active = max(self.most_active, self.size + self.waiting_size)
        self.most_active_blocks = max(self.most_active_blocks, self.blocks + self.waiting_blocks)

    def reset_peaks(self) -> None:
        """Let the peaks be what there is now."""
        self.most_blocks = self.most_requested = self.most_size = self.most_active = self.most_active_blocks = 0
        self.most_reserved = 0
        self.note_peaks()

    def sums(self) -> dict[str, tuple[int, int]]:
        """What came and what went, by PyTorch's names."""
        return {
            "allocation": (self.all_blocks, self.all_blocks - self.blocks),
            "active": (self.all_blocks, self.all_blocks - self.blocks - self.waiting_blocks),
            "requested_bytes": (self.all_requested, self.all_requested - self.requested),
            "allocated_bytes": (self.all_sizes, self.all_sizes - self.size),
            "active_bytes": (self.all_sizes, self.all_sizes - self.size - self.waiting_size),
        }

    def reset_sums(self) -> None:
        """Let the sums begin anew."""
        self.before = self.sums()
        self.retries = self.failures = 0

    def stats(self) -> dict[str, int]:
        """All of it by PyTorch's keys."""
        now = {
            "allocation": (self.blocks, self.most_blocks),
            "active": (self.blocks + self.waiting_blocks, self.most_active_blocks),
            "requested_bytes": (self.requested, self.most_requested),
            "allocated_bytes": (self.size, self.most_size),
            "active_bytes": (self.size + self.waiting_size, self.most_active),
        }
        found = {}
        for kind, (came, went) in self.sums().items():
            before_came, before_went = self.before.get(kind, (0, 0))
            numbers = (*now[kind], came - before_came, went - before_went)
            for name, number in zip(("current", "peak", "allocated", "freed"), numbers):
                found[f"{kind}.all.{name}"] = number
        return found | {"num_alloc_retries": self.retries, "num_ooms": self.failures}


class Block(cupy.cuda.BaseMemory):  # type: ignore[misc]
    """An allocation: the pool's, until the last array of it is gone.

    Attributes
    ----------
    pointer : cupy.cuda.MemoryPointer
        The pool's, which gives the block back when it dies.
    streams : dict, or None
        Streams that use the memory besides the one that it was allocated in, by their address.
    """

    __slots__ = ("allocator", "pointer", "requested", "streams")

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_finalizing():  # a default, since modules may be gone by then
            self.allocator.free(self)


class Allocator:
    """CuPy's allocator from now on, around the one that it had.

    Parameters
    ----------
    inner : callable
        Takes a number of bytes and returns a ``MemoryPointer`` on the current device.
    count : int
        How many devices there are.
    """

    def __init__(self, inner: Callable[[int], Any], count: int) -> None:
        self.inner = self.pool = inner
        self.counts = [Counts() for _ in range(count)]
        self.waiting: deque[tuple[list[Any], Any, int]] = deque()  # events, what they keep, and bytes of a block
        self.lock = threading.Lock()

    def __call__(self, size: int) -> Any:
        """Allocate memory on the current device, in the current stream.

        Raises
        ------
        OutOfMemoryError
            If the device, or what this process may have of it, is used up.
        """
        if self.waiting:
            self.release()
        try:
            pointer = self.inner(size)
        except PoolExhausted as error:
            pointer = self.retry(size, error)
        if not pointer.ptr:
            return pointer  # of no bytes
        block = Block()
        block.ptr, block.size, block.device_id = pointer.ptr, pointer.mem.size, pointer.device_id
        block.allocator, block.pointer, block.requested, block.streams = self, pointer, size, None
        self.counts[pointer.device_id].add(size, block.size)
        return cupy.cuda.MemoryPointer(block, 0)

    def free(self, block: Any) -> None:
        """The last array of a block is gone: give it to the pool, or let it wait for the streams that use it."""
        counts = self.counts[block.device_id]
        counts.remove(block.requested, block.size)
        if block.streams is not None:
            counts.wait(block.size, 1)
            self.keep(block.pointer, block.streams.values(), block.size)

    def keep(self, what: Any, streams: Any, size: int = 0) -> None:
        """Keep something alive until some streams have done what they have been given."""
        try:
            events = [mark(stream) for stream in streams]
        except (RuntimeError, *CUDA_ERRORS):
            events = []  # the device is lost, and with it what the streams did
        self.waiting.append((events, what, size))

    def release(self, wait: bool = False) -> None:
        """Let go of what is kept, as far as events are reached; those that are not are waited for if asked."""
        if not self.lock.acquire(blocking=wait):
            return  # another thread does it
        try:
            for _ in range(len(self.waiting)):
                events, what, size = self.waiting.popleft()
                for event in events if wait else ():
                    event.synchronize()
                if not all(event.query() for event in events):
                    self.waiting.append((events, what, size))
                elif size:
                    self.counts[what.device_id].wait(-size, -1)
        finally:
            self.lock.release()

    def retry(self, size: int, error: Exception) -> Any:
        """Allocate after all, when what waits for streams is free, and what the pool holds is given back.

        The pool itself gives back what it holds when the device has no more, and not when its own limit is reached.
        """
        index = cupy.cuda.runtime.getDevice()
        counts = self.counts[index]
        self.release(wait=True)
        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()
        counts.retries += 1
        try:
            return self.inner(size)
        except PoolExhausted as again:
            error = again
        counts.failures += 1
        raise OutOfMemoryError(self.complaint(index, size)) from error

    def complaint(self, index: int, size: int) -> str:
        """What was asked for, what is held and what is free."""
        free, total = cupy.cuda.runtime.memGetInfo()
        pool = cupy.get_default_memory_pool()
        allocated, reserved = self.counts[index].size, int(pool.total_bytes())
        limit = int(pool.get_limit())
        limited = f" This process may have {readable(limit)} of it (set_per_process_memory_fraction)." if limit else ""
        return (
            f"CUDA out of memory. Tried to allocate {readable(size)}. GPU {index} has a total capacity of "
            f"{readable(total)} of which {readable(free)} is free.{limited} Of the memory that this process holds, "
            f"{readable(allocated)} is allocated by tensors, and {readable(max(reserved - allocated, 0))} is reserved "
            "but unallocated. If that is much, it lies in pieces that are too small: weft.cuda.empty_cache() gives "
            "back those that are whole; else use smaller batches, or checkpoints (weft.utils.checkpoint)"
        )


def readable(size: int) -> str:
    """A number of bytes for people, as PyTorch writes it."""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.2f} {UNITS[unit]}" if unit else f"{size} bytes"


def allocate_raw(size: int) -> Any:
    """Memory of the device's own, past the pool."""
    return cupy.cuda.MemoryPointer(cupy.cuda.Memory(size), 0)


class MemoryFunctions(Backend):
    """What a backend owes of memory."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.allocator = Allocator(cupy.cuda.get_allocator(), self.device_count())
        self.raw: dict[int, Any] = {}  # by address, what `allocate` gave out
        cupy.cuda.set_allocator(self.allocator)

    def on(self, index: int | None) -> int:
        """The index of a device; by default the current one's."""
        return self.current_device() if index is None or index < 0 else index

    @reported
    def memory_info(self, index: int) -> tuple[int, int]:
        with cupy.cuda.Device(index):
            free, total = cupy.cuda.runtime.memGetInfo()
        return int(free), int(total)

    def reserved(self, index: int) -> int:
        """The bytes that the pool holds of a device."""
        with cupy.cuda.Device(index):
            held = int(cupy.get_default_memory_pool().total_bytes())
        counts = self.allocator.counts[index]
        counts.most_reserved = max(counts.most_reserved, held)
        return held

    @reported
    def memory_stats(self, index: int | None = None) -> dict[str, int]:
        index = self.on(index)
        self.allocator.release()
        counts, reserved = self.allocator.counts[index], self.reserved(index)
        of_pool = {"reserved_bytes.all.current": reserved, "reserved_bytes.all.peak": counts.most_reserved}
        return counts.stats() | of_pool

    def reset_peak_memory_stats(self, index: int | None = None) -> None:
        self.allocator.counts[self.on(index)].reset_peaks()

    def reset_accumulated_memory_stats(self, index: int | None = None) -> None:
        self.allocator.counts[self.on(index)].reset_sums()

    @reported
    def empty_cache(self) -> None:
        self.allocator.release()
        for index in range(self.device_count()):
            self.reserved(index)  # its peak
            with cupy.cuda.Device(index):
                cupy.get_default_memory_pool().free_all_blocks()

    @reported
    def set_memory_fraction(self, index: int, fraction: float) -> None:
        """Let this process have a part of a device's memory."""
        with cupy.cuda.Device(index):
            cupy.get_default_memory_pool().set_limit(fraction=fraction)

    @reported
    def memory_fraction(self, index: int) -> float:
        """The part of a device's memory that this process may have."""
        total = self.memory_info(index)[1]
        with cupy.cuda.Device(index):
            limit = int(cupy.get_default_memory_pool().get_limit())
        return limit / total if limit else 1.0

    @reported
    def allocate(self, size: int, stream: CUDAStream) -> int:
        """Memory for another library, until it is given to `deallocate`; its address."""
        with cupy.cuda.Device(stream.index), stream.stream:
            pointer = self.allocator(size)
        self.raw[int(pointer.ptr)] = pointer
        return int(pointer.ptr)

    def deallocate(self, address: int) -> None:
        """Free what `allocate` gave."""
        if self.raw.pop(address, None) is None:
            raise RuntimeError(f"caching_allocator_delete: {address:#x} was not given by caching_allocator_alloc")

    def use_pool(self, enabled: bool) -> None:
        """Take memory from the pool, or else from the device itself at each allocation."""
        self.allocator.inner = self.allocator.pool if enabled else allocate_raw

    def owns(self, array: Any) -> bool:
        return not array.size or isinstance(array.data.mem, Block)

    def record_stream(self, array: Any, stream: Any) -> None:
        block = array.data.mem
        if isinstance(block, Block):  # else another library's, which knows when it may free it
            block.streams = {**(block.streams or {}), stream.address: stream}
