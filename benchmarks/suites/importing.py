"""Seconds of ``import`` in fresh processes, taken in turns."""

import statistics
import subprocess
import sys

PROGRAM = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
RUNS = 11


def seconds(module: str) -> float:
    """One import in a fresh process; NaN where it cannot be imported."""
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(module)], capture_output=True, text=True, check=False)
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
