"""Streams of work on a device and the events in them, by PyTorch's names, over what a backend offers."""

from __future__ import annotations

import importlib
import threading
import time
from typing import Any

from weft._devices.devices import cpu
from weft._devices.devices import device as Device
from weft._plugins.access import plugins

__all__ = ["DeviceEvent", "DeviceStream", "Event", "Stream", "StreamContext", "current_stream", "set_stream"]

DEVICE_TYPES = {"cpu": 0, "cuda": 1, "xpu": 12, "mps": 13}  # PyTorch's numbers

several: list[Any] = []  # backends of which a program has used more than one stream


# What a backend offers -----------------------------------------------------------------------------------


class DeviceStream:
    """A backend's stream. This one is the only stream of its device, which does all work in order.

    Parameters
    ----------
    backend : Backend
    index : int
        Of the device.

    Attributes
    ----------
    address : int
        By which other libraries know it; 0 is the default stream.
    """

    address = 0
    priority = 0

    def __init__(self, backend: Any, index: int) -> None:
        self.backend = backend
        self.index = index

    def query(self) -> bool:
        """Whether all its work is done."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait for its work."""
        self.backend.synchronize(self.index)

    def wait(self, event: DeviceEvent) -> None:
        """Let its further work wait for an event."""

    def is_capturing(self) -> bool:
        """Whether its work goes into a graph instead of being done."""
        return False


class DeviceEvent:
    """A backend's event. This one belongs to a device with one stream, and is done when it is recorded.

    Parameters
    ----------
    backend : Backend
    index : int
        Of the device.
    """

    address = 0

    def __init__(self, backend: Any, index: int) -> None:
        self.backend = backend
        self.index = index
        self.time = 0.0

    def record(self, stream: DeviceStream) -> None:
        """Mark the end of a stream's present work."""
        stream.synchronize()
        self.time = time.perf_counter()

    def query(self) -> bool:
        """Whether the work before it is done."""
        return True

    def synchronize(self) -> None:
        """Wait for the work before it."""

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds from this event to a later one."""
        return float(end.time - self.time) * 1000

    def ipc_handle(self) -> bytes:
        """Refuse: no other process can wait for it."""
        raise NotImplementedError("Event.ipc_handle: this device's events cannot be shared with other processes")


# What programs use ---------------------------------------------------------------------------------------


def accelerator_or_cpu() -> str:
    """The type of device that streams and events are of when none is named."""
    found = importlib.import_module("weft.accelerator").backend_in_use()
    return cpu.type if found is None else str(found.device_type)


def backend_of(device_type: str) -> Any:
    return plugins().backend(device_type)


def index_on(backend: Any, index: int | None) -> int:
    """The index of a device; without one, or with a negative one, that of the current device."""
    return int(backend.current_device()) if index is None or index < 0 else index


class Stream:
    """A queue in which a device does work in order; of several, each goes on without the others.

    Parameters
    ----------
    device : device, str or int, optional
        Default: the accelerator's current device, or the CPU where there is none.
    priority : int
        Negative: before streams of higher numbers, as far as the device has such a choice.
    stream_id, device_index, device_type
        Those of an existing stream, which is meant then.

    Examples
    --------
    >>> weft.Stream(device="cpu").query()
    True
    """

    _native: Any

    def __init__(
        self,
        device: Any = None,
        priority: int = 0,
        *,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
    ) -> None:
        where = self._device_of(device, device_type)
        backend = backend_of(where.type)
        index = index_on(backend, where.index if device_index is None else device_index)
        if stream_id is None:
            self._native = backend.new_stream(index, priority)
        else:
            self._native = backend.external_stream(stream_id, index)

    @classmethod
    def _device_of(cls, device: Any, device_type: int | None) -> Device:
        """The device that was named, if any was."""
        if isinstance(device, int):
            return Device(accelerator_or_cpu(), device)
        if device is not None:
            return Device(device)
        for name, number in DEVICE_TYPES.items():
            if number == device_type:
                return Device(name)
        return Device(accelerator_or_cpu())

    @classmethod
    def _of(cls, native: DeviceStream) -> Any:
        """A stream of a backend's."""
        made = cls.__new__(cls)
        made._native = native
        return made

    @property
    def device(self) -> Device:
        """Where its work is done."""
        kind = self._native.backend.device_type
        return cpu if kind == cpu.type else Device(kind, self._native.index)

    @property
    def device_index(self) -> int:
        """The index of its device."""
        return int(self._native.index)

    @property
    def device_type(self) -> int:
        """PyTorch's number of the type of its device."""
        return DEVICE_TYPES.get(self._native.backend.device_type, 20)

    @property
    def stream_id(self) -> int:
        """What tells it from other streams of its device; 0 is the default stream."""
        return int(self._native.address)

    @property
    def native_handle(self) -> int:
        """The address by which the device's own libraries know it."""
        return int(self._native.address)

    @property
    def priority(self) -> int:
        """What it was made with, in the range that the device has."""
        return int(self._native.priority)

    def query(self) -> bool:
        """Whether all work that it was given is done."""
        return bool(self._native.query())

    def synchronize(self) -> None:
        """Wait for all work that it was given."""
        self._native.synchronize()

    def wait_event(self, event: Event) -> None:
        """Let the work that it is given from now on wait for an event; the program does not wait."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let the work that it is given from now on wait for what another stream has been given."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Any = None) -> Any:
        """Record an event, by default a new one, and return it."""
        if event is None:
            event = self._new_event()
        event.record(self)
        return event

    def _new_event(self) -> Event:
        return Event(self.device)

    def is_capturing(self) -> bool:
        """Whether its work goes into a graph instead of being done."""
        return bool(self._native.is_capturing())

    def __enter__(self) -> Stream:
        context = StreamContext(self)
        context.__enter__()
        entered.contexts.append(context)
        return self

    def __exit__(self, *exception: object) -> None:
        entered.contexts.pop().__exit__(*exception)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device))

    def __repr__(self) -> str:
        return (
            f"weft.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"
        )


class Entered(threading.local):
    """The streams that this thread's ``with`` blocks have made current."""

    def __init__(self) -> None:
        self.contexts: list[StreamContext] = []


entered = Entered()


class Event:
    """A mark in a stream: whether it is reached, waiting for it, and the time between two.

    It comes to be on the device of the first stream that it is recorded in.

    Parameters
    ----------
    device : device or str, optional
        Default: the accelerator, or the CPU where there is none.
    enable_timing : bool
        Keep the time when it is reached.
    blocking : bool
        `synchronize` sleeps instead of asking again and again.
    interprocess : bool
        For other processes, see `ipc_handle`.

    Examples
    --------
    >>> start, end = (weft.Event("cpu", enable_timing=True) for _ in range(2))
    >>> start.record(), end.record()
    (None, None)
    >>> start.elapsed_time(end) >= 0
    True
    """

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self._device = Stream._device_of(device, None)
        self._options = bool(enable_timing), bool(blocking), bool(interprocess)
        self._native: Any = None
        backend_of(self._device.type)  # there is no event of a device that is not there

    @property
    def device(self) -> Device | None:
        """Where it was recorded; None before that."""
        return None if self._native is None else Device(self._device.type, self._native.index)

    @property
    def event_id(self) -> int:
        """Its address; 0 before it was recorded."""
        return 0 if self._native is None else int(self._native.address)

    def record(self, stream: Any = None) -> None:
        """Mark the end of a stream's present work; by default the current stream's.

        Raises
        ------
        RuntimeError
            If it was recorded on another device before.
        """
        where = self._stream(stream)
        if self._native is None:
            self._native = where.backend.new_event(where.index, *self._options)
        elif self._native.index != where.index:
            raise RuntimeError(
                f"Event.record: Event device {self._native.index} does not match recording stream's device "
                f"{where.index}; make an event for each device"
            )
        self._native.record(where)

    def wait(self, stream: Any = None) -> None:
        """Let the further work of a stream, by default the current one, wait for the event."""
        if self._native is not None:
            self._stream(stream).wait(self._native)

    def _stream(self, stream: Any) -> Any:
        """The backend's stream that is meant."""
        if stream is None:
            backend = backend_of(self._device.type)
            return backend.current_stream(index_on(backend, self._device.index))
        if not isinstance(stream, Stream):
            raise TypeError(f"Event: expected a Stream, not {type(stream).__name__}")
        return stream._native

    def query(self) -> bool:
        """Whether the work before it is done; True before it was recorded."""
        return self._native is None or bool(self._native.query())

    def synchronize(self) -> None:
        """Wait for the work before it."""
        if self._native is not None:
            self._native.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to a later one.

        Raises
        ------
        RuntimeError
            If one has no time (``enable_timing=True`` keeps it), was not recorded, or is not reached.
        ValueError
            See RuntimeError, where PyTorch raises this.
        """
        if not (self._options[0] and end_event._options[0]):
            raise ValueError("Event.elapsed_time: Both events must be created with argument 'enable_timing=True'.")
        if self._native is None or end_event._native is None:
            raise ValueError("Event.elapsed_time: Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError(
                "Event.elapsed_time: Both events must be completed before calculating elapsed time; synchronize() the "
                "later one first"
            )
        return float(self._native.elapsed_time(end_event._native))

    def ipc_handle(self) -> bytes:
        """What another process makes the event from; see `from_ipc_handle` of the device's class.

        Raises
        ------
        NotImplementedError
            If the device's events cannot be shared.
        """
        if self._native is None:
            self.record()
        return bytes(self._native.ipc_handle())

    def __repr__(self) -> str:
        return f"weft.Event device_type={self._device.type}, event_id={self.event_id}"


class StreamContext:
    """Makes a stream, and its device, the current ones for a block.

    Parameters
    ----------
    stream : Stream or None
        None changes nothing.
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            native = self.stream._native
            self.device_before = native.backend.current_device()
            self.stream_before = native.backend.current_stream(native.index)
            set_stream(self.stream)

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            backend = self.stream_before.backend
            backend.use_stream(self.stream_before)
            backend.set_device(self.device_before)


def current_stream(backend: Any, index: int | None) -> DeviceStream:
    """The stream that a device's work goes to."""
    native: DeviceStream = backend.current_stream(index_on(backend, index))
    return native


def set_stream(stream: Stream | None) -> None:
    """Make a stream, and its device, the current ones of this thread; None changes nothing."""
    if stream is None:
        return
    native = stream._native
    if native.address and native.backend not in several:
        several.append(native.backend)
    native.backend.use_stream(native)
    native.backend.set_device(native.index)


class Ordered:
    """A block of work on what other streams have made: it begins after them, and they go on after it.

    Differentiating is such a block: it reads, and frees, what was saved in whichever stream was current then.
    """

    def __enter__(self) -> None:
        for backend in several:
            backend.join_streams()

    def __exit__(self, *exception: object) -> None:
        for backend in several:
            backend.fork_streams()


ordered = Ordered()
