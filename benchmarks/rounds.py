"""Time two contestants, each in a process of its own, in interleaved rounds, and keep what can be compared: ratios."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import asdict, dataclass
from typing import Any

from contestants import Contestant, Died

PAUSE = 0.005  # seconds: the threads of the one that was timed spin for a while after their work, and then sleep


@dataclass
class Effort:
    """How long is measured."""

    rounds: int
    turns: int  # of each contestant in one round; the fastest counts
    seconds: float  # of one turn


QUICK, FULL = Effort(rounds=5, turns=2, seconds=0.004), Effort(rounds=15, turns=4, seconds=0.01)


@dataclass
class Measurement:
    """How many times as fast as the other contestant; of two amounts of memory, how many times as much.

    Without another one, only what the first took.
    """

    name: str
    ratio: float | None = None
    low: float | None = None  # quartiles of the rounds' ratios
    high: float | None = None
    taken: float | None = None  # by the first: seconds of a call, or bytes
    other: float | None = None  # by the second
    products: float | None = None  # the share of the first's time that matrix products take
    other_products: float | None = None
    note: str = ""

    def asdict(self) -> dict[str, Any]:
        """For JSON, without what is not known."""
        return {key: value for key, value in asdict(self).items() if value not in (None, "")}

    @property
    def rest_ratio(self) -> float | None:
        """The ratio of what is no matrix product."""
        if None in (self.products, self.other_products, self.taken, self.other):
            return None
        mine, theirs = self.taken * (1 - self.products), self.other * (1 - self.other_products)  # type: ignore[operator]
        return theirs / mine if mine > 0 and theirs > 0 else None


def compared(name: str, mine: list[float], theirs: list[float], memory: bool = False) -> Measurement:
    """The measurement from what both took, round by round."""
    ratios = [a / b if memory else b / a for a, b in zip(mine, theirs, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return Measurement(name, middle, low, high, statistics.median(mine), statistics.median(theirs))


def measure(suite: str, case: str, contestants: list[Contestant], effort: Effort, shares: bool = False) -> Measurement:
    """Time one case.

    In each round the contestants take turns, beginning with another each time, and the fastest turn of each counts,
    since whatever else the machine does only adds time. While one works, the other waits for its turn, asleep.
    """
    try:
        for each in contestants:
            each.ask("build", suite=suite, case=case)
        calls = [each.ask("calibrate", seconds=effort.seconds) for each in contestants]
        times = fastest(contestants, calls, effort)
        alone = len(times) == 1
        found = Measurement(case, taken=statistics.median(times[0])) if alone else compared(case, *times)
        if shares:
            of_all = [each.ask("products") / statistics.median(took) for each, took in zip(contestants, times)]
            found.products = min(of_all[0], 1.0)
            found.other_products = None if alone else min(of_all[1], 1.0)
    except (Died, RuntimeError) as error:
        return Measurement(case, note=str(error))
    finally:
        for each in contestants:
            each.forget()
    return found


def fastest(contestants: list[Contestant], calls: list[int], effort: Effort) -> list[list[float]]:
    """Seconds of a call of each contestant, round by round: the fastest of its turns."""
    taken: list[list[float]] = [[] for _ in contestants]
    for number in range(effort.rounds):
        best = [math.inf] * len(contestants)
        order = list(range(len(contestants)))
        for i in (order if number % 2 == 0 else order[::-1]) * effort.turns:
            time.sleep(PAUSE)
            best[i] = min(best[i], contestants[i].ask("turn", calls=calls[i]))
        for times, seconds in zip(taken, best, strict=True):
            times.append(seconds)
    return taken
