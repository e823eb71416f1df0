"""Seconds of ``import`` in fresh processes, taken in turns."""

import os
import statistics
import subprocess
import sys

PROGRAM = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
RUNS = 11


def seconds(module: str) -> float:
    """One import in a fresh process, its bytecode cached as it is for users; NaN where it cannot be imported."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", PROGRAM.format(module)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return float(done.stdout) if done.returncode == 0 else float("nan")


def medians(modules: list[str], runs: int = RUNS) -> dict[str, float]:
    """Median over ``runs`` rounds, after one that fills the caches."""
    taken: dict[str, list[float]] = {module: [] for module in modules}
    for number in range(runs + 1):
        for module in modules:
            found = seconds(module)
            if number:
                taken[module].append(found)
    return {module: statistics.median(times) for module, times in taken.items()}
