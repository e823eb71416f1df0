"""Time two libraries in interleaved rounds of one run, and keep only what can be compared: their ratio."""

import gc
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

Build = Callable[[Any], Callable[[], Any]]


@dataclass
class Measurement:
    """How many times as fast as PyTorch; without PyTorch, microseconds a call."""

    name: str
    ratio: float | None = None
    low: float | None = None  # quartiles of the rounds' ratios
    high: float | None = None
    microseconds: float | None = None
    note: str = ""

    def asdict(self) -> dict[str, Any]:
        """For JSON, without what is not known."""
        return {key: value for key, value in asdict(self).items() if value not in (None, "")}


@dataclass
class Effort:
    """How long is measured."""

    rounds: int
    turns: int  # of each library in one round; the fastest counts
    seconds: float  # of one turn


QUICK, FULL = Effort(rounds=5, turns=3, seconds=0.003), Effort(rounds=15, turns=5, seconds=0.01)


def calls_in(function: Callable[[], Any], seconds: float) -> int:
    """How many calls take about ``seconds``; also warms up."""
    function()
    calls = 1
    while True:
        taken = block(function, calls)
        if taken >= seconds / 2 or calls >= 1_000_000:
            return max(1, round(calls * seconds / max(taken, 1e-9)))
        calls = max(calls * 2, min(calls * 10, math.ceil(calls * seconds / max(taken, 1e-9))))


def block(function: Callable[[], Any], calls: int) -> float:
    """Seconds that a number of calls take."""
    loop = range(calls)
    start = time.perf_counter()
    for _ in loop:
        function()
    return time.perf_counter() - start


def measure(name: str, build: Build, weft: Any, torch: Any | None, effort: Effort) -> Measurement:
    """Time one case.

    In each round the two take turns, beginning with another each time, and the fastest turn of each counts, since
    whatever else the machine does only
    adds time. A pause before each turn lets the other library's threads, which spin for a while after their work,
    fall asleep. Python's collector runs as it does in a program, but not over what was imported.
    """
    try:
        mine = build(weft)
        mine()
    except Exception as error:
        return Measurement(name, note=f"weft: {type(error).__name__}: {str(error).splitlines()[0][:90]}")
    if torch is None:
        return Measurement(name, microseconds=1e6 * statistics.median(fastest([mine], effort)[0]))
    times = fastest([mine, build(torch)], effort)
    ratios = [theirs / ours for ours, theirs in zip(*times, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return Measurement(name, ratio=middle, low=low, high=high)


def fastest(functions: list[Callable[[], Any]], effort: Effort) -> list[list[float]]:
    """Seconds of a call of each function, round by round: the fastest of its turns."""
    calls = [calls_in(function, effort.seconds) for function in functions]
    taken: list[list[float]] = [[] for _ in functions]
    gc.collect()
    gc.freeze()
    for number in range(effort.rounds):
        best = [math.inf] * len(functions)
        order = range(len(functions)) if number % 2 == 0 else reversed(range(len(functions)))
        for i in [*order] * effort.turns:
            function = functions[i]
            time.sleep(0.001)
            function()
            best[i] = min(best[i], block(function, calls[i]) / calls[i])
        for times, seconds in zip(taken, best, strict=True):
            times.append(seconds)
    gc.unfreeze()
    return taken
