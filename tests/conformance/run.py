"""Compare a library with PyTorch on PyTorch's own operator database.

python tests/conformance/run.py                          all names, all columns: some ten minutes
python tests/conformance/run.py add 'linalg.*' --failures
python tests/conformance/run.py --check                  fail if a name on the list does not pass
python tests/conformance/run.py --update                 add what passes to the list
python tests/conformance/run.py --library torch          prove the harness: PyTorch against itself
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from harness import ledger, report, workers


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    first, _, usage = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=first, epilog=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("names", nargs="*", help="names or patterns of the database's operators (default: all)")
    add("--columns", default="", help="comma-separated; default: all, with --check those listed")
    add("--dtypes", default="", help="comma-separated dtypes (default: those of each column)")
    add("--seeds", type=int, default=1, help="draws of the samples (default 1)")
    add("--library", default="weft", help="module under test (default weft)")
    add("--jobs", type=int, default=2, help="processes (default 2)")
    add("--limit", type=float, default=120.0, help="seconds that one column of one name may take")
    add("--part", default="", help="K/N: the K-th of N parts of the names, for a rotating check")
    add("--failures", action="store_true", help="show an example of each failure")
    add("--check", action="store_true", help="fail if a name on the list does not pass")
    add("--update", action="store_true", help="add to the list what passes")
    add("--json", type=Path, help="write all results to this file")
    return parser.parse_args(arguments)


def chosen_columns(options: argparse.Namespace) -> list[str]:
    """Columns to run, in the order in which they are declared."""
    from harness import other_devices  # noqa: F401  # adds columns
    from harness.columns import COLUMNS

    if options.columns == "all":
        return list(COLUMNS)
    wanted = [part for part in options.columns.split(",") if part]
    if unknown := set(wanted) - set(COLUMNS):
        raise SystemExit(f"unknown columns {sorted(unknown)}; there are {', '.join(COLUMNS)}")
    if not wanted and options.check:
        wanted = list(ledger.read())
    return [column for column in COLUMNS if not wanted or column in wanted]


def chosen_names(options: argparse.Namespace) -> list[str]:
    """Names to run: by pattern, by part."""
    from harness import entries

    names = entries.names(options.names)
    if options.part:
        part, parts = map(int, options.part.split("/"))
        names = names[part % parts :: parts]
    if options.check:
        listed = {name for column in ledger.read().values() for name in column}
        names = [name for name in names if name in listed]
    return names


def wanted(name: str, columns: list[str], options: argparse.Namespace) -> list[str]:
    """Columns to run of one name: with --check those that list it."""
    listed = ledger.read()
    return [column for column in columns if not options.check or name in listed.get(column, [])]


def show_progress(total: int) -> Any:
    """A counter on the terminal, if there is one."""

    def progress(done: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return progress


def main(arguments: list[str] | None = None) -> int:
    """Run, report, and check or extend the list."""
    options = parse(arguments)
    columns, names = chosen_columns(options), chosen_names(options)
    dtypes = set(options.dtypes.split(",")) if options.dtypes else None
    plan = workers.Plan(options.library, dtypes, options.seeds, options.limit)
    with workers.Pool(plan, options.jobs) as pool:
        results = pool.run({name: wanted(name, columns, options) for name in names}, show_progress(len(names)))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(report.failures(results, columns, options.failures))
    print(f"\n{report.counts(results, columns)}")
    if options.update:
        print(f"{ledger.update(results)} new on the list")
    if options.check and (lost := ledger.lost(results)):
        print("\nListed, and failing:")
        print("\n".join(f"  {column} {name}: {'; '.join(tally['causes'].values())}" for column, name, tally in lost))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
