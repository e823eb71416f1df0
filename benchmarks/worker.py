"""The process of one contestant: builds cases and times them when it is told to, line by line.

python worker.py weft 2 serve                   answers requests on its standard input
python worker.py weft 2 memory "MNIST CNN"      the bytes that training steps add, at their peak
python worker.py weft 2 first                   says when the first training step is done
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

PRODUCTS = {
    f"aten::{name}" for name in ("mm", "bmm", "addmm", "baddbmm", "linear", "mv", "dot", "addmv", "mkldnn_linear")
}


def load(name: str, threads: int) -> Any:
    """The library, with its threads set."""
    library = importlib.import_module(name)
    library.set_num_threads(threads)
    return library


class Worker:
    """What a contestant has at hand: its library, and the case that is being timed."""

    def __init__(self, library: Any, compiled: bool) -> None:
        self.library = library
        self.compiled = compiled
        self.function: Callable[[], Any] | None = None

    def build(self, suite: str, case: str) -> None:
        """Make a case, and run it once; a compiled one as often as weft's capture takes, which `calibrate` ends."""
        cases = importlib.import_module(f"suites.{suite}").CASES
        function = cases[case](self.library)
        self.function = self.library.compile(function) if self.compiled else function
        for _ in range(4 if self.compiled else 1):
            self.function()

    def forget(self) -> None:
        """Drop the case and its memory."""
        self.function = None
        gc.unfreeze()
        gc.collect()

    def calibrate(self, seconds: float) -> int:
        """How many calls take about so long; warms up, too. What was imported and built is no garbage."""
        assert self.function is not None
        gc.collect()
        gc.freeze()
        calls = 1
        while True:
            taken = block(self.function, calls)
            if taken >= seconds / 2 or calls >= 1_000_000:
                return max(1, round(calls * seconds / max(taken, 1e-9)))
            calls = max(calls * 2, min(calls * 10, math.ceil(calls * seconds / max(taken, 1e-9))))

    def turn(self, calls: int) -> float:
        """Seconds of a call."""
        assert self.function is not None
        self.function()  # wakes the threads, and fills the caches
        return block(self.function, calls) / calls

    def share(self, calls: int, turns: int = 3) -> float:
        """The rate of two threads over that of one, each the fastest of some turns."""
        function = self.function
        assert function is not None
        one = two = math.inf
        for _ in range(turns):
            one = min(one, block(function, calls))
            threads = [threading.Thread(target=block, args=(function, calls)) for _ in range(2)]
            start = time.perf_counter()
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            two = min(two, time.perf_counter() - start)
        return 2 * one / two

    def products(self, steps: int = 5) -> float:
        """Seconds of a call that matrix products take, by the library's own profiler."""
        assert self.function is not None
        with self.library.profiler.profile() as prof:
            for _ in range(steps):
                self.function()
        spent = sum(each.self_cpu_time_total for each in prof.key_averages() if each.key in PRODUCTS)
        return float(spent) / steps / 1e6

    def describe(self) -> dict[str, str]:
        """The versions of what computes."""
        is_weft = importlib.import_module("suites").is_weft(self.library)
        found = {"weft" if is_weft else self.library.__name__: str(self.library.__version__)}
        if is_weft:
            found |= importlib.import_module("weft.plugins").backend("cpu").describe()
            found["engine"] = importlib.import_module("weft._command.doctor").engine()
        return found


def block(function: Callable[[], Any], calls: int) -> float:
    """Seconds that a number of calls take."""
    loop = range(calls)
    start = time.perf_counter()
    for _ in loop:
        function()
    return time.perf_counter() - start


def serve(library: Any, compiled: bool) -> None:
    """Answer requests until there are no more. Whatever else prints, prints to the standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(library, compiled)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"value": getattr(worker, request.pop("do"))(**request)}
        except Exception as error:  # told to the parent, which goes on with the next case
            first = str(error).splitlines()[0][:100] if str(error) else ""
            answer = {"error": f"{type(error).__name__}: {first}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main(arguments: list[str]) -> None:
    """See the module's docstring."""
    compiled = "--compile" in arguments
    name, threads, what, *rest = [each for each in arguments if each != "--compile"]
    if what != "first":
        os.environ["WEFT_CPU_PATIENCE"] = "0"  # what is timed are the kernels of long programs
    library = load(name, int(threads))
    if what == "serve":
        serve(library, compiled)
    else:
        print(getattr(importlib.import_module("suites.processes"), what)(library, *rest), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
