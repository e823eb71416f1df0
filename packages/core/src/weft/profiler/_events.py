"""Spans as the events that users see, and their sums by name."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from weft.profiler._recording import Recorder, Span
from weft.profiler._table import formatted_time, table

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "events_of"]


class Interval(NamedTuple):
    """Two moments, in microseconds from the profile's beginning."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Their distance."""
        return self.end - self.start


class Times:
    """What events and their averages have in common: times in microseconds, also as text."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total = self_device_time_total = device_time = 0.0
    cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """`cpu_time` with its unit."""
        return formatted_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total` with its unit."""
        return formatted_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total` with its unit."""
        return formatted_time(self.self_cpu_time_total)


class FunctionEvent(Times):
    """One call of an op, one step of backward, or one range.

    Attributes
    ----------
    name, key : str
        ``aten::mm``, ``MulBackward0``, or the range's name.
    time_range : Interval
    thread : int
        From 1, in the order in which threads were seen.
    cpu_parent, cpu_children
        The event that it lies in, and those in it.
    input_shapes : list
        Of an op's arguments; what is no tensor has ``[]``. Needs ``record_shapes=True``.
    stack : list of str
        Where it was called, the innermost call first. Needs ``with_stack=True``.
    cpu_memory_usage, self_cpu_memory_usage : int
        Bytes of the results made in it, less those freed in it; *self*: without its children's.
    flops : int
        Floating-point operations, where they are known. Needs ``with_flops=True``.
    copies : int
        How often an argument was copied to lie in order in memory.
    """

    is_async = is_remote = is_legacy = False
    sequence_nr = node_id = -1
    count = 1

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        *,
        input_shapes: list[Any] | None = None,
        stack: list[str] | None = None,
        scope: int = 0,
        flops: int = 0,
        copies: int = 0,
        cpu_memory_usage: int = 0,
        **others: Any,
    ) -> None:
        vars(self).update(others)  # node_id, sequence_nr, is_async and the like: kept
        self.id = id
        self.name = self.key = self.trace_name = name
        self.scope = scope
        self.thread = thread
        self.time_range = Interval(start_us, end_us)
        self.input_shapes = input_shapes or []
        self.stack = stack or []
        self.flops = flops
        self.copies = copies
        self.self_cpu_memory_usage = self.cpu_memory_usage = cpu_memory_usage
        self.cpu_time_total = self.self_cpu_time_total = self.time_range.elapsed_us()
        self.is_user_annotation = scope == 7
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []

    @classmethod
    def of_span(cls, number: int, span: Span, thread: int, beginning: int) -> FunctionEvent:
        """What a recorder saw, in microseconds from the beginning."""
        return cls(
            number,
            span.name,
            thread,
            (span.start - beginning) / 1000,
            (span.end - beginning) / 1000,
            input_shapes=span.shapes,
            stack=span.stack,
            scope=span.scope,
            flops=span.flops,
            copies=span.copies,
            cpu_memory_usage=span.memory,
        )

    def take_child(self, child: FunctionEvent) -> None:
        """Put an event, whose own children are known, into this one."""
        child.cpu_parent = self
        self.cpu_children.insert(0, child)
        self.self_cpu_time_total -= child.cpu_time_total
        self.cpu_memory_usage += child.cpu_memory_usage

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class FunctionEventAvg(Times):
    """The sum over all events of one name; with its own shapes or place in the program, if grouped by these too."""

    def __init__(
        self, key: str | None = None, shapes: Any = "", stack: list[str] | None = None, scope: int = 0
    ) -> None:
        self.key = key  # None: that of the first event
        self.count = 0
        self.scope = scope
        self.input_shapes = shapes
        self.stack = stack or []
        self.is_user_annotation = scope == 7
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.flops = self.copies = 0

    def add(self, event: Any) -> FunctionEventAvg:
        """Count another event, or all those of another average."""
        if self.key is None:
            self.key, self.input_shapes, self.stack = event.key, event.input_shapes, event.stack
            self.scope, self.is_user_annotation = event.scope, event.is_user_annotation
        self.count += event.count
        self.self_cpu_time_total += event.self_cpu_time_total
        if not recursive(event):  # its caller's time has it already
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.flops += event.flops
        self.copies += event.copies
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


def recursive(event: Any) -> bool:
    """Whether an event lies in another one of its name."""
    parent = getattr(event, "cpu_parent", None)
    while parent is not None:
        if parent.name == event.name:
            return True
        parent = parent.cpu_parent
    return False


class EventList(list[Any]):
    """Events, or their averages.

    Examples
    --------
    >>> with weft.profiler.profile() as prof:
    ...     _ = weft.ones(2, 3) @ weft.ones(3, 4)
    >>> [(average.key, average.count) for average in prof.key_averages()]
    [('aten::mm', 1)]
    """

    def __init__(self, events: Iterable[Any] = (), beginning: int = 0, **shown: bool) -> None:
        super().__init__(events)
        self.beginning = beginning  # nanoseconds of the clock, for files
        self.shown = shown  # what was recorded: the table has columns for it

    def _populate_cpu_children(self) -> None:
        """Find out which events of a thread lie in each other, and let each know its parent and its children."""
        open_events: dict[int, list[Any]] = {}
        for event in sorted(self, key=lambda event: (event.time_range.start, -event.time_range.end)):
            parents = open_events.setdefault(event.thread, [])
            begin, end = event.time_range
            while parents and (begin >= parents[-1].time_range.end or end > parents[-1].time_range.end):
                parents.pop()
            if parents:
                parents[-1].take_child(event)
            parents.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the times that each event had to itself: what was seen of the whole."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events summed up by name.

        Parameters
        ----------
        group_by_input_shapes : bool
            Calls with arguments of other shapes are another line.
        group_by_stack_n : int
            So are calls from other places, told by so many of their innermost calls.
        group_by_overload_name : bool
            Accepted and ignored: ops have no overloads.
        """
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            key = (event.key, shapes, *event.stack[:group_by_stack_n])
            if key not in found:
                found[key] = FunctionEventAvg(event.key, shapes, event.stack[:group_by_stack_n], event.scope)
            found[key].add(event)
        shown = {**self.shown, "input_shapes": group_by_input_shapes, "stack": group_by_stack_n > 0}
        return EventList(found.values(), self.beginning, **shown)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A table for people, with PyTorch's columns, and one for copies of arguments if there were any.

        Parameters
        ----------
        sort_by : str, optional
            ``"cpu_time_total"``, ``"self_cpu_time_total"``, ``"cpu_time"``, ``"count"``, ``"cpu_memory_usage"``,
            ``"self_cpu_memory_usage"``, ``"flops"``, ``"copies"``: the largest first. Default: as they came.
        row_limit : int
            How many rows; -1: all.
        max_src_column_width, max_name_column_width, max_shapes_column_width : int
            Longer texts are cut.
        header : str, optional
            A line above.
        top_level_events_only : bool
            Leave out what lies in another event.
        time_unit : str, optional
            ``"s"``, ``"ms"`` or ``"us"`` for all times; default: for each what suits it.
        """
        rows = [event for event in self if not (top_level_events_only and getattr(event, "cpu_parent", None))]
        widths = {
            "name": max_name_column_width,
            "shapes": max_shapes_column_width,
            "source": max_src_column_width,
        }
        return table(rows, self.shown, sort_by, row_limit, widths, header, time_unit, self.self_cpu_time_total)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` takes as its metric."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write lines of a stack and its microseconds, which flame graphs are drawn from.

        Raises
        ------
        ValueError
            If the metric is none of `supported_export_stacks_metrics`.
        """
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"export_stacks: metric should be one of: {self.supported_export_stacks_metrics()}")
        blanks = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, metric, 0))
                if event.stack and value > 0:
                    calls = [*reversed([call.translate(blanks) for call in event.stack]), event.key.translate(blanks)]
                    file.write(f"{';'.join(calls)} {value}\n")

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a file for ``chrome://tracing`` or Perfetto; compressed if its name ends in ``.gz``."""
        export_chrome_trace(self, path, {})

    def __str__(self) -> str:
        return self.table()


CATEGORIES = {0: "cpu_op", 1: "cpu_op", 7: "user_annotation"}


def export_chrome_trace(events: EventList, path: str | os.PathLike[str], metadata: dict[str, Any]) -> None:
    """`EventList.export_chrome_trace`, with further entries at the top level."""
    process = os.getpid()
    traced: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "python"}}
    ]
    for event in events:
        facts: dict[str, Any] = {"External id": event.id}
        if event.input_shapes:
            facts["Input Dims"] = event.input_shapes
        if event.stack:
            facts["Call stack"] = ";".join(event.stack)
        if event.copies:
            facts["Copies"] = event.copies
        traced.append(
            {
                "ph": "X",
                "cat": CATEGORIES[event.scope],
                "name": event.name,
                "pid": process,
                "tid": event.thread,
                "ts": events.beginning / 1000 + event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "args": facts,
            }
        )
    content = {"schemaVersion": 1, "displayTimeUnit": "ms", **metadata, "traceEvents": traced}
    text = json.dumps(content).encode()
    with open(path, "wb") as file:
        file.write(gzip.compress(text) if str(path).endswith(".gz") else text)


def events_of(recorder: Recorder, **shown: bool) -> EventList:
    """What a recorder saw, as events, in the order in which they began."""
    spans = recorder.spans
    beginning = spans[0].start if spans else 0
    threads: dict[int, int] = {}
    events = {}
    for number, span in enumerate(spans):
        thread = threads.setdefault(span.thread, len(threads) + 1)
        events[id(span)] = FunctionEvent.of_span(number + 1, span, thread, beginning)
    for span in reversed(spans):  # children before their parents
        if span.parent is not None:
            events[id(span.parent)].take_child(events[id(span)])
    return EventList(events.values(), beginning, **shown)
