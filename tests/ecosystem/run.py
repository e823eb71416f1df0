"""Run small programs of PyTorch's libraries on PyTorch and on weft, and compare what they print.

Each file in ``programs/`` is one program, usually a library's quickstart, that says which libraries it needs (inline
script metadata, PEP 723). It prints labelled numbers. A program agrees if both runs print the same lines, with every
number within 1e-3 (absolute, or relative for larger ones). ``known.toml`` lists those that do not, with reasons.

    python tests/ecosystem/run.py [NAME ...]    by default all; a NAME is a part of a program's
        --share N        a tenth of them, the N-th; "changed": the one that the sources of packages/ choose
        --table FILE     write what was seen as a table in Markdown
        --missing        print what the programs need and is not installed, a line for each; run nothing
        --newest         the same without versions: whatever is newest
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = HERE / "programs"
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)(?![\w.]*\w)", re.IGNORECASE)
METADATA = re.compile(r"^# /// script\n((?:#.*\n)+?)# ///$", re.MULTILINE)
TOLERANCE = 1e-3
LIMIT = 900  # seconds for one run, on two cores
SHARES = 10


@dataclass
class Program:
    """A program, and what running it showed."""

    path: Path
    state: str = ""  # agrees, differs, fails, or "no oracle": PyTorch's own run failed
    detail: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called in the table."""
        return self.path.stem

    @property
    def missing(program: Program, newest: bool) -> list[str]:
    """What a program needs and is not installed, in that version."""
    wanted = []
    for requirement in program.requirements:
        name, _, version = requirement.partition("==")
        if newest:
            wanted.append(name)
        elif installed(name) != version:
            wanted.append(requirement)
    return wanted


def installed(name: str) -> str | None:
    """The version of a distribution."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> int:
    """Run the programs that were asked for; 1 if one is not in the state that is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--share")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--newest", action="store_true")
    args = parser.parse_args()
    programs = [Program(path) for path in sorted(PROGRAMS.glob("*.py"))]
    if args.share is not None:
        programs = chosen(programs, args.share)
    if args.names:
        programs = [each for each in programs if any(name in each.name for name in args.names)]
    if args.missing:
        for each in programs:
            print(*missing(each, args.newest))
        return 0
    expected = known()
    wrong = 0
    for each in programs:
        each.run()
        state = expected.get(each.name, {}).get("state", "agrees")
        surprising = each.state != state
        wrong += surprising
        print(f"{'!' if surprising else ' '} {each.name:<36} {each.state:<10} {each.detail}", flush=True)
    agreeing = sum(each.state == "agrees" for each in programs)
    print(f"{agreeing} of {len(programs)} agree with PyTorch; {wrong} are not as known.toml has them")
    if args.table is not None:
        args.table.write_text(table(programs), encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
