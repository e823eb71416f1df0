"""Streams and events of CUDA devices, and captured graphs, which weft has not yet."""

from __future__ import annotations

import ctypes
from typing import Any

from weft._devices import streams
from weft._devices.devices import device as Device
from weft._devices.streams import StreamContext, set_stream
from weft.cuda._devices import backend, index_of, number_of

__all__ = [
    "CUDAGraph",
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "get_stream_from_external",
    "graph",
    "is_current_stream_capturing",
    "set_stream",
    "stream",
]

LOWEST, HIGHEST = 0, -5  # priorities; a device that has fewer takes the nearest


class Stream(streams.Stream):
    """A queue in which a CUDA device does work in order; of several, each goes on without the others.

    Work of the default stream and of others is not ordered: `wait_stream` and events do that. Only ``backward`` orders
    by itself: it begins after what all streams were given, and they go on after it. A tensor's memory belongs to the
    stream that was current when it was made: `Tensor.record_stream` names others that use it.

    Parameters
    ----------
    device : device, str or int, optional
        Default: the current device.
    priority : int
        Negative: before streams of higher numbers.

    Examples
    --------
    ::

        copies = weft.cuda.Stream()
        with weft.cuda.stream(copies):
            batch = batch.to("cuda", non_blocking=True)  # while the default stream computes
        weft.cuda.current_stream().wait_stream(copies)
        batch.record_stream(weft.cuda.current_stream())
    """

    def __init__(self, device: Any = None, priority: int = 0, **existing: Any) -> None:
        index = index_of(device)
        super().__init__(Device("cuda") if index is None or index < 0 else Device("cuda", index), priority, **existing)

    @property
    def cuda_stream(self) -> int:
        """The address of CUDA's stream; 0 is the default stream."""
        return int(self._native.address)

    @property
    def _as_parameter_(self) -> Any:
        return ctypes.c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of the protocol, and the address."""
        return 0, self.cuda_stream

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest priority, and the highest."""
        return LOWEST, HIGHEST

    def _new_event(self) -> Event:
        return Event()

    def __repr__(self) -> str:
        return f"<weft.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made, and keeps alive.

    Parameters
    ----------
    stream_ptr : int
        Its address.
    device : device, str or int, optional
        Where it is. Default: the current device.
    """

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        super().__init__(device, stream_id=stream_ptr)


class Event(streams.Event):
    """A mark in a CUDA stream: whether it is reached, waiting for it, and the time between two.

    Parameters
    ----------
    enable_timing : bool
        Keep the time when it is reached.
    blocking : bool
        `synchronize` sleeps instead of asking again and again.
    interprocess : bool
        For other processes; such an event keeps no time.
    external : bool
        Has no effect: no graphs are captured.

    Examples
    --------
    ::

        start, end = (weft.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        y = model(x)
        end.record()
        end.synchronize()
        print(start.elapsed_time(end), "ms")
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        super().__init__("cuda", enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)

    @property
    def cuda_event(self) -> int:
        """The address of CUDA's event; 0 before it was recorded."""
        return self.event_id

    @property
    def _as_parameter_(self) -> Any:
        return ctypes.c_void_p(self.cuda_event)

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Event:
        """Refuse: events of other processes are not opened."""
        raise NotImplementedError("Event.from_ipc_handle: weft does not open events of other processes")

    def __repr__(self) -> str:
        return f"<weft.cuda.Event {self.cuda_event:#x}>" if self.cuda_event else "<weft.cuda.Event uninitialized>"


def stream(stream: Stream | None) -> StreamContext:
    """Do the work of a block in a stream, and on its device; None changes nothing."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Any:
    """The stream that this thread's work on a device goes to."""
    return Stream._of(backend().current_stream(number_of(device)))


def default_stream(device: Any = None) -> Any:
    """The stream that is the current one of a device where none was set."""
    return Stream._of(backend().default_stream(number_of(device)))


def get_stream_from_external(data_ptr: int, device: Any = None) -> ExternalStream:
    """The stream that another library made, by its address."""
    return ExternalStream(data_ptr, device)


def is_current_stream_capturing() -> bool:
    """Whether the current stream's work goes into a graph instead of being done; False without a device."""
    try:
        found = backend()
    except RuntimeError:
        return False
    return bool(found.current_stream(found.current_device()).is_capturing())


class Uncaptured:
    """Base of what captures work. Making one raises."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__}: weft does not capture a device's work in graphs yet")


class CUDAGraph(Uncaptured):
    """Work that was captured, to be done again."""


class graph(Uncaptured):
    """Captures the work of a block."""
