"""What a run found, for readers: the machine, the README's tables, the plot."""

from __future__ import annotations

import json
import math
import os
import platform
import re
from pathlib import Path
from typing import Any

from contestants import Contestant

HERE = Path(__file__).parent
BEGIN, END = "<!-- results: written by run.py --record -->\n", "<!-- end of results -->\n"


def machine(contestants: list[Contestant]) -> dict[str, str]:
    """What is measured on, and with which versions."""
    found = {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "Python": platform.python_version(),
        "threads": str(contestants[0].threads),
        "compared with": contestants[1].label if len(contestants) > 1 else "nothing",
    }
    others = (os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0) + contestants[0].threads - (os.cpu_count() or 1)
    if others > 0.7:
        found["meanwhile"] = "other programs ran, which makes it inexact"
    for each in contestants:
        found |= {name: text.partition(" in ")[0] for name, text in each.ask("describe").items()}
    return found


def processor() -> str:
    """The processor's name."""
    path = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)$", path.read_text(), re.MULTILINE) if path.exists() else []
    return names[0] if names else platform.processor()


def record(results: dict[str, Any]) -> None:
    """Write the results beside this file; suites that did not run keep what is recorded of them."""
    path = HERE / "results.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    results = known | results
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    readme = HERE / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(before + BEGIN + tables(results) + END + after, encoding="utf-8")
    plot(results, HERE / "results.svg")


def tables(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines, before = [""], ""
    for suite, found in results.items():
        known = known_ratios(results, suite)
        if not known:
            continue
        facts = "; ".join(f"{name} {text}" for name, text in found["machine"].items())
        if facts != before:  # suites may be recorded one by one
            lines += [f"Measured on: {facts}.", ""]
            before = facts
        rest = any("products" in each for each in known)
        other = found["machine"]["compared with"]
        lines += [
            f"| {suite} | ratio | quartiles | weft | {other} |" + (" products in both | the rest |" if rest else "")
        ]
        lines += ["| --- | ---: | --- | ---: | ---: |" + (" --- | ---: |" if rest else "")]
        lines += [row(each, rest, suite == "memory") for each in known]
        if suite in ("overhead", "kernels", "training"):
            lines += [f"| **geometric mean** | **{mean(known):.2f}** | | | |" + (" | |" if rest else "")]
        lines += [""]
    return "\n".join(lines)


def row(found: dict[str, Any], rest: bool, memory: bool) -> str:
    """A table's line."""
    text = f"| {found['name']} | {found['ratio']:.2f} | {found['low']:.2f} to {found['high']:.2f} |"
    text += f" {amount(found['taken'], memory)} | {amount(found['other'], memory)} |"
    if not rest:
        return text
    if "other_products" not in found:
        return f"{text} | |"
    mine, theirs = found["products"], found["other_products"]
    others = found["other"] * (1 - theirs) / max(found["taken"] * (1 - mine), 1e-12)
    return f"{text} {100 * mine:.0f} %, {100 * theirs:.0f} % | {others:.2f} |"


def amount(value: float, memory: bool = False) -> str:
    """A time or a number of bytes, with the unit that suits it."""
    if memory:
        return f"{value / (1 << 20):.0f} MB"
    unit, size = next(((unit, size) for unit, size in (("s", 1.0), ("ms", 1e-3)) if value >= size), ("us", 1e-6))
    return f"{value / size:.3g} {unit}" if value < 100 * size else f"{value / size:.0f} {unit}"


def mean(found: list[dict[str, Any]]) -> float:
    """The geometric mean of the ratios."""
    return math.exp(sum(math.log(each["ratio"]) for each in found) / len(found))


def known_ratios(results: dict[str, Any], suite: str) -> list[dict[str, Any]]:
    """The cases of a suite that were compared."""
    return [each for each in results.get(suite, {"cases": []})["cases"] if "ratio" in each]


def plot(results: dict[str, Any], path: Path) -> None:
    """A bar for each case, on a logarithmic axis around 1; nothing where matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        print("plot: matplotlib is missing: pip install matplotlib")
        return
    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "weft", "svg.fonttype": "none", "font.size": 7})
    suites = {name: known_ratios(results, name) for name in ("overhead", "training", "kernels")}
    suites = {name: found for name, found in suites.items() if found}
    if not suites:
        return
    heights = [len(found) + 2 for found in suites.values()]
    figure, axes = pyplot.subplots(
        len(suites), 1, figsize=(7, 0.14 * sum(heights) + 0.5), height_ratios=heights, squeeze=False
    )
    for axis, (name, found) in zip(axes[:, 0], suites.items(), strict=True):
        ratios = [each["ratio"] for each in found]
        colors = ["#2a7f62" if ratio >= 1 else "#b5523b" for ratio in ratios]
        axis.barh(range(len(found)), [ratio - 1 for ratio in ratios], left=1, color=colors, height=0.7)
        axis.set_xscale("log", base=2)
        axis.set_yticks(range(len(found)), [each["name"] for each in found])
        axis.set_ylim(len(found) - 0.4, -0.6)
        axis.axvline(1, color="black", linewidth=0.8)
        axis.xaxis.set_major_formatter(lambda value, position: f"{value:g}")
        axis.set_title(f"{name}: times PyTorch's speed", loc="left", fontsize=8, weight="bold")
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
