"""What only a fresh process can show: imports, the first training step, and the memory that training takes."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contestants import Contestant, environment
from rounds import Measurement, compared

IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
MEGABYTE = 1 << 20


# In the parent


def importing(contestants: list[Contestant], runs: int) -> list[Measurement]:
    """``import`` beside NumPy's own, and with transformers, each library in PyTorch's place."""
    modules = ["numpy", *dict.fromkeys(each.library for each in contestants)]
    numpys, mine, *others = fresh_imports([(module, {}) for module in modules], runs)
    alone, own = statistics.median(numpys), statistics.median(mine)
    found = compared("import", mine, others[0]) if others else Measurement("import", taken=own)
    found.note = f"{1000 * (own - alone):.0f} ms more than NumPy's own {1000 * alone:.0f}"
    both = "import torch, transformers"
    if importlib.util.find_spec("transformers") is None:
        return [found, Measurement(both, note="transformers is not installed")]
    places = [{"WEFT_AS_TORCH": "1"} if module == "weft" else {} for module in modules[1:]]
    taken = fresh_imports([("torch, transformers", place) for place in places], runs)
    return [found, compared(both, *taken) if others else Measurement(both, taken=statistics.median(taken[0]))]


def fresh_imports(imports: list[tuple[str, dict[str, str]]], runs: int) -> list[list[float]]:
    """The seconds of each (modules, environment variables), in turns, after one round that fills the caches."""
    taken: list[list[float]] = [[] for _ in imports]
    for number in range(runs + 1):
        for seconds, (modules, settings) in zip(taken, imports, strict=True):
            command = [sys.executable, "-c", IMPORT.format(modules)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment(1) | settings)
            if number:
                seconds.append(float(done.stdout))
    return taken


def first_steps(contestants: list[Contestant], runs: int) -> list[Measurement]:
    """From the start of the process to the end of a model's first step, with and without kernels on disk."""
    found = []
    kinds = ("nothing compiled", max(1, runs // 4)), ("kernels on disk", runs)
    for case, (kind, rounds) in itertools.product(FIRST_CASES, kinds):
        title = f"first step of the {case}, {kind}"
        times: list[list[float]] = [[] for _ in contestants]
        with tempfile.TemporaryDirectory() as folder:
            for number in range(rounds + 1):
                for i, each in enumerate(contestants):
                    cold = "nothing" in title
                    cache = str(Path(folder) / (str(number) if cold else "kept"))
                    seconds = until_answer(each.once("first", case, NUMBA_CACHE_DIR=cache))
                    if number:  # the first fills caches: the files that are read, and the kernels where they are kept
                        times[i].append(seconds)
        middle = statistics.median(times[0])
        found.append(compared(title, *times) if len(times) == 2 else Measurement(title, taken=middle))
    return found


def until_answer(process: subprocess.Popen[str]) -> float:
    """Seconds until a process that has just been started prints its line."""
    start = time.perf_counter()
    assert process.stdout is not None
    line = process.stdout.readline()
    taken = time.perf_counter() - start
    process.communicate()
    if not line:
        raise RuntimeError(f"first: the process ended with status {process.returncode}")
    return taken


def memory_of_training(contestants: list[Contestant], runs: int) -> list[Measurement]:
    """The memory that training steps add at their peak; the ratio is of bytes, so that less is better."""
    found = []
    for case in MEMORY_CASES:
        amounts: list[list[float]] = [[] for _ in contestants]
        for _ in range(runs):
            for amount, each in zip(amounts, contestants, strict=True):
                process = each.once("memory", case)
                output, _ = process.communicate()
                if not output:
                    raise RuntimeError(f"{each.label}: memory: the process ended with status {process.returncode}")
                amount.append(float(output))
        middle = statistics.median(amounts[0])
        found.append(compared(case, *amounts, memory=True) if len(amounts) == 2 else Measurement(case, taken=middle))
    return found


# In the worker


FIRST_CASES = {"MLP": "mlp", "MNIST CNN": "mnist_cnn", "GPT": "gpt"}


def first(library: Any, case: str) -> str:
    """One step of a model of the suite `training`."""
    from suites import training

    getattr(training, FIRST_CASES[case])(library)()
    return "done"


def memory(library: Any, case: str) -> int:
    """The bytes that training steps add to the process, at their peak.

    A small instance comes first, so that what libraries load and compile at their first step is not counted.
    """
    build = MEMORY_CASES[case]
    step = build(library, 8)
    step()
    del step
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    step = build(library, None)
    for _ in range(3):
        step()
    return status("VmHWM") - before


def status(name: str) -> int:
    """Bytes of this process's memory, by the kernel's name for it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise KeyError(name)


def _cnn(library: Any, batch: int | None) -> Callable[[], Any]:
    from suites.training import mnist_cnn

    return mnist_cnn(library, batch or 64)


def _gpt(library: Any, batch: int | None) -> Callable[[], Any]:
    from suites.training import gpt

    return gpt(library, batch or 16)


MEMORY_CASES: dict[str, Callable[[Any, int | None], Callable[[], Any]]] = {"MNIST CNN": _cnn, "GPT": _gpt}
