"""The profiler as a block without a schedule, by PyTorch's older names."""

from __future__ import annotations

import os
from typing import Any

from weft._interception import profiling
from weft.profiler import profiler as _profiler
from weft.profiler._events import EventList, FunctionEvent, FunctionEventAvg
from weft.profiler._range import record_function

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "profile",
    "record_function",
]

kineto_available = _profiler.kineto_available


def profiler_enabled() -> bool:
    """Whether a profiler runs."""
    return profiling.recorder is not None


class profile:
    """Records what runs in its block; `weft.profiler.profile` has the same and more.

    Parameters
    ----------
    enabled : bool
        False: the block runs as if there were none.
    record_shapes, with_flops, profile_memory, with_stack, with_modules
        As there.
    **ignored
        Switches of PyTorch's that choose devices or libraries.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        **ignored: Any,
    ) -> None:
        self.enabled = enabled
        self.entered = False
        self._profile = _profiler.profile(
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
        )

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("profile: Profiler context manager is not reentrant")
        self.entered = True
        self._profile.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._profile.stop()

    @property
    def function_events(self) -> EventList:
        """Each event that was recorded."""
        return self._profile.events()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the times that each event had to itself, in microseconds."""
        return self.function_events.self_cpu_time_total

    def table(self, **options: Any) -> str:
        """`EventList.table` of the events."""
        return self.function_events.table(**options)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The events summed up by name."""
        return self._profile.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self._profile.total_average()

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a file for ``chrome://tracing`` or Perfetto."""
        self._profile.export_chrome_trace(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write lines of a stack and its microseconds."""
        self._profile.export_stacks(path, metric)

    def __str__(self) -> str:
        return str(self.function_events) if self.entered else "<unfinished torch.autograd.profile>"


class emit_nvtx:
    """Marks ops for NVIDIA's tools: not possible here.

    Raises
    ------
    RuntimeError
        On entering, unless ``enabled`` is False.
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        if self.enabled:
            raise RuntimeError(
                f"{type(self).__name__}: marks for other tools are not emitted; record with weft.profiler.profile()"
            )

    def __exit__(self, *exc: object) -> None:
        pass


class emit_itt(emit_nvtx):
    """Marks ops for Intel's tools: not possible here."""
