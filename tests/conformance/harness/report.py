"""Print what a run found: counts by column, failures by cause."""

import re
from collections import defaultdict
from typing import Any

Results = dict[str, dict[str, dict[str, Any]]]


def passes(tallies: dict[str, dict[str, Any]]) -> bool:
    """Whether a name counts: its forward passes, and its gradient where it has one."""
    gradient = tallies.get("gradient", {"status": "none"})["status"]
    forward = tallies.get("forward", {"status": "none"})["status"]
    return forward != "fail" and gradient != "fail" and "pass" in (forward, gradient)


def counts(results: Results, columns: list[str]) -> str:
    """Names that pass of those that the column judges, line by line."""
    lines = [f"{'column':<16} {'names pass':>16}   samples pass"]
    for column in columns:
        tallies = [t[column] for t in results.values() if column in t and t[column]["status"] != "none"]
        passing = sum(t["status"] == "pass" for t in tallies)
        good, bad = (sum(t[key] for t in tallies) for key in ("passed", "failed"))
        lines.append(f"{column:<16} {passing:>6} of {len(tallies):>6}   {good} of {good + bad}")
        if column.startswith("forward") and column != "forward_mode":
            lines.extend(by_dtype(tallies))
    if {"forward", "gradient"} <= set(columns):
        whole = sorted(name for name, tallies in results.items() if passes(tallies))
        lines.append(f"{'forward+gradient':<16} {len(whole):>6} of {len(results):>6}")
    return "\n".join(lines)


def by_dtype(tallies: list[dict[str, Any]]) -> list[str]:
    """Names that pass of those that are judged, for each dtype."""
    names = sorted({dtype for tally in tallies for dtype in tally.get("dtypes", {})})
    lines = []
    for dtype in names:
        judged = [tally["dtypes"][dtype] for tally in tallies if sum(tally.get("dtypes", {}).get(dtype, [0]))]
        passing = sum(not failed for _, failed in judged)
        lines.append(f"  {dtype:<14} {passing:>6} of {len(judged):>6}")
    return lines


def failures(results: Results, columns: list[str], examples: bool = False) -> str:
    """Failing names grouped by column and cause, the most frequent first."""
    lines = []
    for column in columns:
        groups = defaultdict(list)
        for name, tallies in results.items():
            for cause, example in (tallies.get(column) or {}).get("causes", {}).items():
                what = re.findall(r"'([^']*)'", cause)[-1:] if cause.startswith("missing:") else []
                group = "missing" if what else cause
                groups[group].append((f"{name} ({what[0]})" if what else name, example))
        if groups:
            lines.append(f"\n{column}: failures by cause")
        for cause, hits in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
            lines.append(f"  [{len(hits)}] {cause}: {', '.join(name for name, _ in hits)}")
            if examples:
                lines.extend(f"      {example}" for _, example in hits)
    return "\n".join(lines)
