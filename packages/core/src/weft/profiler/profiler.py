"""The profiler, its schedule, and what it does with a finished trace."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from weft._interception import profiling
from weft.profiler._events import EventList, FunctionEventAvg, events_of, export_chrome_trace
from weft.profiler._recording import Recorder

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What to record. Times are the processor's, whatever is asked for."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


class DeviceType(Enum):
    """Where an event ran."""

    CPU = 0
    CUDA = 1


class ProfilerAction(Enum):
    """What a profiler does in a step: nothing, the same without keeping it, record, record and hand over at the end."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether the library that PyTorch records with is there: never."""
    return False


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Which steps to record: after ``skip_first`` steps, cycles of ``wait``, ``warmup`` and ``active`` steps.

    Parameters
    ----------
    wait, warmup, active : int
        How many steps of a cycle are passed over, are run with the profiler on and not kept, are kept.
    repeat : int
        How many cycles; 0: until the end.
    skip_first : int
        Steps before the first cycle.
    skip_first_wait : int
        If not 0, the first cycle does not wait.

    Raises
    ------
    AssertionError
        For negative numbers, or no active step.
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"schedule: Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"schedule: Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        place = step % cycle
        if (repeat and step // cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def always(step: int) -> ProfilerAction:
    """The schedule of a profiler without one."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """For ``on_trace_ready``: write each trace to a new file of a folder.

    Parameters
    ----------
    dir_name : str
        Made if it is not there.
    worker_name : str, optional
        Begins the file's name. Default: the machine's name and the process's number.
    use_gzip : bool
    use_python_export : bool
        Accepted and ignored.
    """

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return handler


class profile:
    """Records what runs in its block: ops, steps of backward, optimizers, data loaders, and ranges with names.

    An op's time is that of its kernel; what weft itself and the program take shows as the *self* time of the range
    that they run in. All threads are recorded; one profiler runs at a time.

    Parameters
    ----------
    activities : iterable of ProfilerActivity, optional
        Accepted: what is recorded is the processor's time.
    schedule : callable, optional
        From the number of a step to what to do in it, see `schedule`. `step` ends a step.
    on_trace_ready : callable, optional
        Called with the profiler after each recorded cycle.
    record_shapes : bool
        Keep the shapes of arguments.
    profile_memory : bool
        Count the memory of ops' results.
    with_stack : bool
        Keep where in the program each op was called.
    with_flops : bool
        Count the floating-point operations of matrix products, convolutions, sums and products.
    with_modules : bool
        A range for each call of an ``nn.Module``, ``nn.Module: Linear_0``.
    acc_events : bool
        Keep the events of earlier cycles.
    experimental_config, execution_trace_observer, use_cuda, custom_trace_id_callback, post_processing_timeout_s
        Accepted and ignored.

    Examples
    --------
    >>> x = weft.ones(3, requires_grad=True)
    >>> with weft.profiler.profile() as prof:
    ...     (x * x).sum().backward()
    >>> [event.name for event in prof.events() if event.name.endswith("Backward0")]
    ['SumBackward0', 'MulBackward0']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = set() if activities is None else set(activities)
        self.schedule = schedule or always
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.record_steps = schedule is not None
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.metadata: dict[str, Any] = {}
        self._recorder: Recorder | None = None
        self._step: Any = None
        self._running = False

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin; the same as entering the block."""
        self._running = True
        self._change(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def step(self) -> None:
        """End a step of the schedule, and begin the next."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End; the same as leaving the block."""
        if not self._running:
            return
        self._end_step()
        self._running = False
        self._change(self.current_action, None)

    def _begin_step(self) -> None:
        if self.record_steps and profiling.recorder is not None:
            self._step = profiling.recorder, profiling.recorder.begin(f"ProfilerStep#{self.step_num}", 7)

    def _end_step(self) -> None:
        if self._step is not None:
            recorder, span = self._step
            recorder.finish(span)
            self._step = None

    def _change(self, before: ProfilerAction, now: ProfilerAction | None) -> None:
        """Go from one action to another; None: it is over."""
        if before in RECORDING and (before is ProfilerAction.RECORD_AND_SAVE or now not in RECORDING):
            self.stop_trace()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
            before = ProfilerAction.NONE
        if now in RECORDING and before not in RECORDING:
            self.start_trace()

    def start_trace(self) -> None:
        """Begin to record."""
        earlier = self._recorder.spans if self.acc_events and self._recorder is not None else []
        self._recorder = Recorder(
            shapes=self.record_shapes or self.with_flops,
            memory=self.profile_memory,
            stacks=self.with_stack,
            flops=self.with_flops,
            modules=self.with_modules,
        )
        self._recorder.spans += earlier
        self._recorder.start()

    def stop_trace(self) -> None:
        """End recording."""
        if self._recorder is not None:
            self._recorder.stop()

    # What was recorded

    def events(self) -> EventList:
        """Each event that was recorded.

        Raises
        ------
        AssertionError
            If nothing was.
        """
        if self._recorder is None:
            raise AssertionError("events: Profiler must be initialized before events can be read; nothing was recorded")
        return events_of(self._recorder, memory=self.profile_memory, flops=self.with_flops)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events summed up by name, and also by the shapes of arguments or the place in the program."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self.events().total_average()

    @property
    def copies(self) -> int:
        """How often kernels copied an argument since it did not lie in order in memory."""
        return sum(event.copies for event in self.events())

    def export_chrome_trace(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a file for ``chrome://tracing`` or Perfetto; compressed if its name ends in ``.gz``."""
        export_chrome_trace(self.events(), path, self.metadata)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write lines of a stack and its microseconds, which flame graphs are drawn from. Needs ``with_stack=True``."""
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace's file."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the trace's file."""
        self.metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json
