"""Measure weft against PyTorch, each in a process of its own, in interleaved rounds.

    python benchmarks/run.py                       all suites, about half an hour
    python benchmarks/run.py --quick overhead      one, roughly
    python benchmarks/run.py kernels -k softmax    some cases of it
    python benchmarks/run.py training --compile    against torch.compile
    python benchmarks/run.py kernels --against WEFT_CPU_LIBRARIES=none    against weft with other settings
    python benchmarks/run.py --record              write results.json, results.svg and the README's tables

A ratio is how many times as fast as the other one weft is: the median over the rounds, with their quartiles. Of memory
it is how many times as much. Without PyTorch the microseconds of a call are shown instead.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import report
import rounds
from contestants import Contestant
from rounds import Measurement
from suites import distributed, processes, threads

TIMED = ("overhead", "kernels", "training", "loading", "transforms", "vision", "detection", "text")
OF_PROCESSES: dict[str, tuple[Callable[[list[Contestant], int], list[Measurement]], int]] = {
    "memory": (processes.memory_of_training, 5),
    "import": (processes.importing, 11),
    "first": (processes.first_steps, 7),
    "threads": (threads.sharing, 7),
    "distributed": (distributed.collectives, 15),
}
SUITES = (*TIMED, *OF_PROCESSES)


def warn_if_busy(threads: int) -> None:
    """Say so when other programs want the cores.

    A parallel loop then waits, spinning, for a thread that does not run: it takes a hundred times as long, and ratios
    are worth nothing. With one thread they still are.
    """
    cores, load = os.cpu_count() or 1, os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if threads > 1 and load > cores - threads + 0.7:
        print(f"note: load {load:.1f} on {cores} cores: with other programs running, only --threads 1 compares fairly")


def line(found: Measurement) -> str:
    """One row of what is printed."""
    if found.ratio is None:
        taken = f"{1e6 * found.taken:12.2f} us" if found.taken is not None else "   --    "
        return f"  {found.name:<58} {taken} {found.note}"
    spread = f"[{found.low:.2f}, {found.high:.2f}]"
    rest = ""
    if found.rest_ratio is not None and found.products is not None:
        rest = f"products {100 * found.products:.0f}%, the rest {found.rest_ratio:.2f}"
    memory = found.name in processes.MEMORY_CASES
    if found.taken is None:
        return f"  {found.name:<58} {found.ratio:6.2f}   {spread:<16} {found.note}"
    both = f"{report.amount(found.taken or 0.0, memory)} : {report.amount(found.other or 0.0, memory)}"
    return f"  {found.name:<58} {found.ratio:6.2f}   {spread:<16} {both:<20} {rest}{found.note}"


def summary(found: list[Measurement]) -> str:
    """The geometric mean of the ratios, and the least."""
    known = [each for each in found if each.ratio is not None]
    if len(known) < 2:
        return ""
    mean = math.exp(sum(math.log(each.ratio) for each in known if each.ratio) / len(known))
    least = min(known, key=lambda each: each.ratio or 0.0)
    return f"  geometric mean {mean:.2f}; least {least.ratio:.2f} ({least.name})"


def run_suite(name: str, pattern: str, contestants: list[Contestant], quick: bool) -> list[Measurement]:
    """All cases of one suite whose name holds ``pattern``."""
    if name in OF_PROCESSES:
        measure, runs = OF_PROCESSES[name]
        try:
            found = measure(contestants, 3 if quick else runs)
        except RuntimeError as error:
            found = [Measurement(name, note=str(error))]
        for each in found:
            print(line(each), flush=True)
        return found
    suite = importlib.import_module(f"suites.{name}")
    effort = rounds.QUICK if quick else getattr(suite, "EFFORT", rounds.FULL)
    found = []
    for case in suite.CASES:
        if pattern.lower() in case.lower():
            found.append(rounds.measure(name, case, contestants, effort, getattr(suite, "SHARES", False)))
            print(line(found[-1]), flush=True)
    return found


def contestants_for(options: argparse.Namespace) -> list[Contestant]:
    """weft, and what it is compared with: PyTorch, PyTorch compiled, or weft with other settings."""
    chosen = [Contestant("weft", "weft", options.threads)]
    if options.capture:
        return [Contestant("weft, captured", "weft", options.threads, compiled=True), *chosen]
    if options.against:
        settings = dict(setting.split("=", 1) for setting in options.against)
        chosen.append(Contestant(f"weft with {' '.join(options.against)}", "weft", options.threads, settings))
    elif importlib.util.find_spec("torch") is not None:
        label = "torch.compile" if options.compile else "PyTorch"
        chosen.append(Contestant(label, "torch", options.threads, compiled=options.compile))
    return chosen


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    first, _, usage = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=first, epilog=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", default=list(SUITES), help=f"of {', '.join(SUITES)} (default: all)")
    parser.add_argument("-k", dest="pattern", default="", help="only cases whose name holds this")
    parser.add_argument("--quick", action="store_true", help="few short rounds: for a first look, not for a claim")
    parser.add_argument("--threads", type=int, default=2, help="threads of both (default 2)")
    parser.add_argument("--compile", action="store_true", help="PyTorch's side goes through torch.compile")
    parser.add_argument("--capture", action="store_true", help="weft through weft.compile against weft as it is")
    parser.add_argument("--against", nargs="+", metavar="NAME=VALUE", help="weft with these variables, not PyTorch")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--record", action="store_true", help="write them to the README, results.json and results.svg")
    options = parser.parse_args(arguments)
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"unknown suites {sorted(unknown)}; there are {', '.join(SUITES)}")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the suites and print their table."""
    options = parse(arguments)
    if importlib.util.find_spec("weft") is None:
        print("weft is not installed: pip install -e packages/core -e packages/backend-cpu -e packages/nn")
        return 1
    warn_if_busy(options.threads)
    contestants = contestants_for(options)
    results: dict[str, Any] = {}
    machine = report.machine(contestants)
    other = f"times the speed of {contestants[1].label}" if len(contestants) > 1 else "microseconds"
    try:
        for suite in options.suites:
            print(f"{suite}: {other if suite != 'memory' else 'bytes, as many times as the other one'}")
            found = run_suite(suite, options.pattern, contestants, options.quick)
            print(summary(found))
            results[suite] = {"machine": machine, "cases": [measurement.asdict() for measurement in found]}
    finally:
        for each in contestants:
            each.close()
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if options.record:
        report.record(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
