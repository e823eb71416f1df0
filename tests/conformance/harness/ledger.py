"""``passing.json``: names that pass, by column. It may only grow."""

import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).resolve().parent.parent / "passing.json"


def read() -> dict[str, list[str]]:
    """Names that are known to pass, by column."""
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}


def write(passing: dict[str, list[str]]) -> None:
    """Write the list, sorted, one name per line, so that two changes to it merge."""
    tidy = {column: sorted(set(names)) for column, names in passing.items()}
    PATH.write_text(json.dumps(tidy, indent=1) + "\n", encoding="utf-8")


def update(results: dict[str, dict[str, Any]]) -> int:
    """Add what passes; the number of new entries."""
    listed = read()
    before = sum(map(len, listed.values()))
    for name, tallies in results.items():
        for column, tally in tallies.items():
            if tally["status"] == "pass" and name not in listed.setdefault(column, []):
                listed[column].append(name)
    write(listed)
    return sum(map(len, listed.values())) - before


def lost(results: dict[str, dict[str, Any]]) -> list[tuple[str, str, dict[str, Any]]]:
    """(column, name, tally) of each name that is listed and was run and does not pass."""
    listed = read()
    return [
        (column, name, results[name][column])
        for column, names in sorted(listed.items())
        for name in names
        if name in results and column in results[name] and results[name][column]["status"] != "pass"
    ]
