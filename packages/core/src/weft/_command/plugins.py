"""List the installed plugins, their versions and states, and why one failed.

Every plugin is loaded to find out. The exit status is 1 if one failed or was made for another core.
"""

import argparse
from collections.abc import Iterable

from weft.plugins import Record, status

HEADER = ("group", "name", "distribution", "version", "state")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``weft plugins``."""
    parser.add_argument("--no-load", action="store_true", help="only read what is installed; import no plugin")


def run(args: argparse.Namespace) -> int:
    """Print the table; 1 if a plugin does not work."""
    records = status(load=not args.no_load)
    print(table(records) if records else "No plugin is installed. The CPU backend: pip install weft-backend-cpu")
    return 1 if any(record.state in ("failed", "refused") for record in records) else 0


def table(records: Iterable[Record]) -> str:
    """Lay out the records in columns, each reason on a line of its own below."""
    records = list(records)
    rows = [HEADER] + [(r.group, r.name, r.distribution, r.version, r.state) for r in records]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    for line, record in zip(lines[1:], records):
        if record.reason:
            lines[lines.index(line)] = f"{line}\n    {record.reason}"
    return "\n".join(lines)
