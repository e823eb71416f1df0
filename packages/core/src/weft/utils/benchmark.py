"""How long statements take: a timer, what it measures, and tables that compare measurements.

Examples
--------
>>> from weft.utils.benchmark import Timer
>>> measured = Timer("x + 1", globals={"x": weft.ones(3)}).blocked_autorange(min_run_time=0.01)
>>> 0 < measured.median < 1
True
"""

from __future__ import annotations

import enum
import math
import textwrap
import timeit
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter as timer
from typing import Any

import numpy

import weft

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]

_max_significant_figures = 4
_clock_seconds = 25e-9  # finer than this no difference of two times means anything
_wide_spread = 0.1  # of the middle half of the times, by their median, from which on a measurement warns
_units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_english = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


class Language(enum.Enum):
    """What a statement is written in; C++ needs a compiler, and is refused."""

    PYTHON = 0
    CPP = 1


class Colorize(enum.Enum):
    """Where the best entry of a table is marked."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


@dataclass(frozen=True)
class TaskSpec:
    """What was measured."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement if it is short."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def summarize(self) -> str:
        """The title and what else tells this task from others."""
        lines = [self.title, self.description or ""]
        if self.setup and self.setup != "pass":
            inline = "\n" not in self.setup
            lines.append(f"setup: {self.setup}" if inline else f"setup:\n{textwrap.indent(self.setup, '  ')}")
        return "\n".join(line for line in lines if line)


@dataclass(init=True, repr=False)
class Measurement:
    """The times of one statement.

    Attributes
    ----------
    number_per_run : int
        How often the statement ran for each of ``raw_times``.
    raw_times : list of float
        In seconds.
    task_spec : TaskSpec
    metadata : dict
        Yours.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds of one run, as measured."""
        return [each / self.number_per_run for each in self.raw_times]

    @property
    def median(self) -> float:
        """Seconds of one run."""
        return float(numpy.median(self.times))

    @property
    def mean(self) -> float:
        """Seconds of one run."""
        return float(numpy.mean(self.times))

    @property
    def iqr(self) -> float:
        """From the first to the third quartile, in seconds."""
        low, high = numpy.quantile(self.times, (0.25, 0.75))
        return float(high - low)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median are certain (90 %, were the middle half of the times normal); 1 to 4."""
        ordered = sorted(self.times)
        count = len(ordered)
        middle = ordered[count // 4 : math.ceil(3 * count / 4)] or ordered
        error = 1.645 * float(numpy.std(middle)) / math.sqrt(len(middle))
        digits = math.floor(math.log10(self.median / max(error, _clock_seconds / math.sqrt(self.number_per_run))))
        return max(1, min(digits, _max_significant_figures))

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ so much that something else must have run."""
        return len(self.raw_times) > 1 and not self.meets_confidence()

    def meets_confidence(self, threshold: float = _wide_spread) -> bool:
        """Whether the middle half of the times lies within this part of their median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """That of the task."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """That of the task, or ``"Unspecified env"``."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """How a table calls it."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __getattr__(self, name: str) -> Any:
        if name != "task_spec" and not name.startswith("__"):
            return getattr(self.task_spec, name)  # stmt, label, num_threads, ...
        raise AttributeError(name)

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        digits = self.significant_figures
        several = len(self.raw_times) > 1
        lines = [self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if several else ''}{self.median / scale:.2f} {unit}")
        if len(self.raw_times) >= 4:
            low, high = (trim_sigfig(float(each) / scale, digits) for each in numpy.quantile(self.times, (0.25, 0.75)))
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        runs = (
            f"{self.number_per_run} run{'s' if self.number_per_run > 1 else ''}{' per measurement' if several else ''}"
        )
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        lines.append(f"  {len(self.raw_times)} measurement{'s' if several else ''}, {runs}, {threads}")
        if self.has_warnings:
            share = 100 * self.iqr / self.median
            lines.append(
                f"  WARNING: the interquartile range is {share:.1f}% of the median: something else ran besides."
            )
        return "\n".join(["<weft.utils.benchmark.Measurement>", *lines])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of equal tasks joined into one each."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).append(each)
        return [
            Measurement(1, [time for each in group for time in each.times], task, None)
            for task, group in groups.items()
        ]


class Timer:
    """Measures a statement, with one thread unless told otherwise.

    Parameters
    ----------
    stmt : str
        What is measured, in Python.
    setup : str
        Run once before.
    global_setup : str
        For C++; must be empty.
    timer : callable
        The clock, in seconds.
    globals : dict, optional
        The names that the statement may use; ``torch`` and ``weft`` are known anyway.
    label, sub_label, description, env : str, optional
        What tables group, name rows, name columns, and tell environments apart by.
    num_threads : int
        Threads of weft.
    language : Language or str
        Python.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Timer: language must be Python, got {language!r}; statements in C++ cannot be measured")
        if global_setup:
            raise ValueError("Timer: global_setup is for statements in C++; put it into setup")
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        names = {"torch": weft, "weft": weft, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run the statement so many times, after a few for nothing."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timer.timeit(number=max(number // 100, 2))
            return self._measurement(number, [self._timer.timeit(number)])

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Run the statement in blocks until this time is over; a block is long enough for the clock.

        Parameters
        ----------
        callback : callable, optional
            Called with the runs and the seconds of each block.
        min_run_time : float
            In seconds.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return self._measurement(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Run the statement in blocks until the spread of the times is small, or the time is over.

        Parameters
        ----------
        threshold : float
            What the interquartile range may be of the median.
        min_run_time, max_run_time : float
            In seconds.
        callback : callable, optional
            As in `blocked_autorange`.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while True:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
                found = self._measurement(number, times)
                if sum(times) >= max_run_time:
                    return found
                if sum(times) >= min_run_time and len(times) > 3 and found.meets_confidence(threshold):
                    return found

    def autorange(self, callback: Any = None) -> None:
        """Not offered: `blocked_autorange` is what you want."""
        raise NotImplementedError("Timer.autorange: see Timer.blocked_autorange")

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not offered: `blocked_autorange` is what you want."""
        raise NotImplementedError("Timer.repeat: see Timer.blocked_autorange")

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def _block_size(self, min_run_time: float) -> int:
        """How often to run for each time that is taken: so that reading the clock is next to nothing of it."""
        self._timer.timeit(3)  # whatever the first runs do besides
        overhead = float(numpy.median([self._timer.timeit(0) for _ in range(5)]))
        number = 1
        while True:
            taken = self._timer.timeit(number)
            if overhead / max(taken, 1e-12) <= 1e-4 and taken >= min_run_time / 200:
                return number
            if taken > min_run_time:
                return number
            number *= 10


class Compare:
    """Tables of measurements: one for each label, rows by sub-label and threads, columns by description.

    Parameters
    ----------
    results : list of Measurement
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)
        self._trim = False
        self._colorize = Colorize.NONE
        self._warnings = False

    def __str__(self) -> str:
        groups = ordered_unique(
            each.task_spec.label or each.task_spec.stmt for each in Measurement.merge(self._results)
        )
        return "\n".join(self._table(label) for label in groups)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        self._results += results

    def trim_significant_figures(self) -> None:
        """Show only digits that are certain."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Mark the fastest of each column, or of each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark what spreads widely with ``(!)`` and its spread."""
        self._warnings = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def _table(self, label: str) -> str:
        found = [
            each for each in Measurement.merge(self._results) if (each.task_spec.label or each.task_spec.stmt) == label
        ]
        columns = ordered_unique(each.task_spec.description or "" for each in found)
        unit, scale = select_unit(min(each.median for each in found))
        heads = [f"{'':>6}", *columns]
        body: list[tuple[str, list[str]]] = []
        for threads in sorted({each.task_spec.num_threads for each in found}):
            body.append((f"{threads} threads: ", []))
            rows: dict[str, dict[str, Measurement]] = {}
            for each in found:
                if each.task_spec.num_threads == threads:
                    name = f"({each.task_spec.env}) " if each.task_spec.env else ""
                    rows.setdefault(name + each.as_row_name, {})[each.task_spec.description or ""] = each
            body += [(f"      {name}", self._cells(rows, row, columns, scale)) for name, row in rows.items()]
        heads[0] = " " * max(len(name) for name, cells in body if cells)
        widths = [
            max(len(cell) for cell in column) for column in zip(heads[1:], *(cells for _, cells in body if cells))
        ]
        lines = [" | ".join([heads[0], *(f"{head:^{width}}" for head, width in zip(heads[1:], widths))])]
        for name, cells in body:
            row = " | ".join([f"{name:<{len(heads[0])}}", *(f"{cell:>{width}}" for cell, width in zip(cells, widths))])
            lines.append(row if cells else f"{name}{'-' * (len(lines[0]) - len(name))}")
        title = f"[{f' {label} ':-^{len(lines[0]) - 2}}]"
        return "\n".join([title, *lines, "", f"Times are in {unit_to_english(unit)} ({unit}).", ""])

    def _cells(
        self, rows: dict[str, dict[str, Measurement]], row: dict[str, Measurement], columns: list[str], scale: float
    ) -> list[str]:
        """One row's entries as text."""
        cells = []
        for column in columns:
            found = row.get(column)
            if found is None:
                cells.append("")
                continue
            value = trim_sigfig(found.median, found.significant_figures) if self._trim else found.median
            text = f"{value / scale:.0f}" if self._trim and value / scale >= 10 else f"{value / scale:.1f}"
            rivals = (
                row.values()
                if self._colorize is Colorize.ROWWISE
                else [each[column] for each in rows.values() if column in each]
            )
            if self._colorize is not Colorize.NONE and found.median == min(each.median for each in rivals):
                text = f"*{text}"
            if self._warnings and found.has_warnings:
                text += f" (! {100 * found.iqr / found.median:.0f}%)"
            cells.append(text)
        return cells


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time in seconds is best told, and its seconds."""
    unit = next((unit for unit, seconds in _units.items() if t >= seconds), "ns")
    return unit, _units[unit]


def unit_to_english(u: str) -> str:
    """``"us"`` in full."""
    return _english[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to ``n`` digits.

    Examples
    --------
    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    if x == 0:
        return 0.0
    scale = 10.0 ** (math.floor(math.log10(abs(x))) + 1 - n)
    return round(x / scale) * scale


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Each element once, where it came first."""
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Let weft use so many threads in the block."""
    before = weft.get_num_threads()
    weft.set_num_threads(n)
    try:
        yield
    finally:
        weft.set_num_threads(before)
