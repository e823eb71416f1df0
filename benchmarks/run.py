"""Measure weft against PyTorch, both in one run.

    python benchmarks/run.py                       all suites
    python benchmarks/run.py --quick dispatch      one, roughly
    python benchmarks/run.py kernels -k softmax    some cases of it
    python benchmarks/run.py --json results.json

A ratio is how many times as fast as PyTorch weft is: the median over the rounds, with their quartiles. Without
PyTorch the microseconds of a call are shown instead.
"""

import argparse
import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import rounds

SUITES = ("dispatch", "kernels", "training", "loading", "import")


def clean_environment(threads: int) -> None:
    """Start again with thread counts set, and without a forced kernel choice of OpenBLAS.

    The libraries read these variables when they load, so that it is too late to change them here.
    """
    wanted = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    if "OPENBLAS_CORETYPE" not in os.environ and all(os.environ.get(k) == v for k, v in wanted.items()):
        return
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"} | wanted
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def load(name: str, threads: int) -> Any | None:
    """A library with its threads set, or None where it is not installed."""
    if importlib.util.find_spec(name) is None:
        return None
    module = importlib.import_module(name)
    if hasattr(module, "set_num_threads"):
        module.set_num_threads(threads)
    return module


def warn_if_busy(threads: int) -> None:
    """Say so when other programs want the cores.

    A parallel loop of PyTorch's then waits, spinning, for a thread that does not run: it takes a hundred times as
    long, and ratios are worth nothing. With one thread they still are.
    """
    cores, load = os.cpu_count() or 1, os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if threads > 1 and load > cores - threads + 0.7:
        print(f"note: load {load:.1f} on {cores} cores: with other programs running, only --threads 1 compares fairly")


def line(found: rounds.Measurement) -> str:
    """One row of the report."""
    if found.ratio is not None:
        return f"  {found.name:<50} {found.ratio:6.2f}   [{found.low:.2f}, {found.high:.2f}]"
    if found.microseconds is not None:
        return f"  {found.name:<50} {found.microseconds:12.2f} us"
    return f"  {found.name:<50}   --     {found.note}"


def run_import(effort: rounds.Effort, with_torch: bool) -> list[rounds.Measurement]:
    """``import weft`` beside NumPy's own and PyTorch's."""
    from suites import importing

    runs = importing.RUNS if effort is rounds.FULL else 5
    taken = importing.medians(["numpy", "weft", *["torch"] * with_torch], runs)
    extra = 1000 * (taken["weft"] - taken["numpy"])
    note = f"weft takes {taken['weft'] / taken['numpy']:.2f} times NumPy's own import: {extra:.0f} ms more"
    ratio = taken["torch"] / taken["weft"] if with_torch else None
    print(f"  {note}")
    return [rounds.Measurement("import", ratio, ratio, ratio, note=note)]


def run_suite(name: str, pattern: str, weft: Any, torch: Any | None, effort: rounds.Effort) -> list[rounds.Measurement]:
    """All cases of one suite whose name holds ``pattern``."""
    suite = importlib.import_module(f"suites.{name}")
    effort = getattr(suite, "EFFORT", effort)  # where one call takes seconds
    found = []
    for case, build in suite.CASES.items():
        if pattern.lower() in case.lower():
            found.append(rounds.measure(case, build, weft, torch, effort))
            print(line(found[-1]), flush=True)
    return found


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    first, _, usage = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=first, epilog=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", default=list(SUITES), help=f"of {', '.join(SUITES)} (default: all)")
    parser.add_argument("-k", dest="pattern", default="", help="only cases whose name holds this")
    parser.add_argument("--quick", action="store_true", help="few short rounds: for a first look, not for a claim")
    parser.add_argument("--threads", type=int, default=2, help="threads of both libraries (default 2)")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    options = parser.parse_args(arguments)
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"unknown suites {sorted(unknown)}; there are {', '.join(SUITES)}")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the suites and print their table."""
    options = parse(arguments)
    clean_environment(options.threads)
    weft, torch = load("weft", options.threads), load("torch", options.threads)
    if weft is None:
        print("weft is not installed: pip install -e packages/core -e packages/backend-cpu -e packages/nn")
        return 1
    warn_if_busy(options.threads)
    effort = rounds.QUICK if options.quick else rounds.FULL
    results = {}
    for suite in options.suites:
        print(f"{suite}: {'times the speed of PyTorch' if torch else 'microseconds (PyTorch is not installed)'}")
        if suite == "import":
            found = run_import(effort, torch is not None)
        else:
            found = run_suite(suite, options.pattern, weft, torch, effort)
        results[suite] = [measurement.asdict() for measurement in found]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
