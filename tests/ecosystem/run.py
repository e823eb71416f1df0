"""Run small programs of PyTorch's libraries on PyTorch and on weft, and compare what they print.

Each file in ``programs/`` is one program, usually a library's quickstart, that says which libraries it needs (inline
script metadata, PEP 723). It prints labelled numbers. A program agrees if both runs print the same lines, with every
number within 1e-3 (absolute, or relative for larger ones), or within the ``tolerance`` that ``[tool.ecosystem]`` in its
metadata has. ``known.toml`` lists those that do not, with reasons.

    python tests/ecosystem/run.py [NAME ...]    by default all; a NAME is a part of a program's
        --share N        one of 14 parts of them, the N-th; "changed": the one that the sources of packages/ choose
        --table FILE     write what was seen as a table in Markdown
        --record FILE    write down what was seen of each program at once, and do not run again what stands there of the
                         same sources, program and versions: so an interrupted run goes on, runs side by side divide
                         the programs, and shares make one table
        --missing        print what the programs need and is not installed, a line for each; run nothing
        --newest         the same without versions: whatever is newest
        --rounding       PyTorch with its plain kernels in weft's place: a program that then differs cannot judge weft
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from declared import brought, undeclared

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = HERE / "programs"
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)(?![\w.]*\w)", re.IGNORECASE)
METADATA = re.compile(r"^# /// script\n((?:#.*\n)+?)# ///$", re.MULTILINE)
TOLERANCE = 1e-3
LIMIT = 900  # seconds for one run, on two cores
SHARES = 14
WEFT = {"WEFT_AS_TORCH": "1"}
PLAIN = {
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_CBWR": "COMPATIBLE",
    "OMP_NUM_THREADS": "1",
}
TITLE = """# Libraries of PyTorch's that are tried

Made by `tox -e ecosystem`: each program of [tests/ecosystem/programs](../tests/ecosystem/programs), run on PyTorch 2.13
and on weft. It agrees if both print the same lines, with all numbers within 1e-3; for logits and gradients of models of
transformers within 1e-4 of the largest element.
"""


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
    def metadata(self) -> dict[str, Any]:
        """What it says of itself in its first lines."""
        found = METADATA.search(self.path.read_text(encoding="utf-8"))
        if found is None:
            raise ValueError(f"{self.path.name} does not say what it needs: add '# /// script' metadata (PEP 723)")
        text = "\n".join(line.removeprefix("#").strip() for line in found[1].splitlines())
        return tomllib.loads(text)

    @property
    def requirements(self) -> list[str]:
        """Its dependencies, with versions."""
        return list(self.metadata["dependencies"])

    @property
    def tolerance(self) -> float:
        """By how much numbers may differ."""
        return float(self.metadata.get("tool", {}).get("ecosystem", {}).get("tolerance", TOLERANCE))

    @property
    def fingerprint(self) -> str:
        """What its outcome depends on: weft's sources, its own text, and the versions of all that it may import."""
        parts = [sources(), self.path.read_bytes().hex(), sys.version, *brought(self.requirements)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def outcome(self) -> dict[str, Any]:
        """What running it showed."""
        return {"state": self.state, "detail": self.detail, "versions": self.versions}

    def run(self, setting: dict[str, str]) -> None:
        """Run it on PyTorch, and with these variables of the environment; compare."""
        for requirement in self.requirements:
            name = requirement.partition("==")[0]
            self.versions[name] = importlib.metadata.version(name)
        hidden = undeclared(self.requirements)
        theirs = start(self.path, hidden, {})
        if theirs.returncode:
            self.state, self.detail = "no oracle", last_line(theirs.stderr)
            return
        ours = start(self.path, hidden, setting)
        if ours.returncode:
            self.state, self.detail = "fails", last_line(ours.stderr)
            return
        self.detail = difference(ours.stdout, theirs.stdout, self.tolerance)
        self.state = "differs" if self.detail else "agrees"


def start(path: Path, hidden: tuple[set[str], set[str]], setting: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh process, in which the distributions and modules that it has not declared are hidden."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE / "site"), os.environ.get("PYTHONPATH")]))
    for kind, names in zip(("DISTRIBUTIONS", "MODULES"), hidden):
        environment[f"ECOSYSTEM_HIDDEN_{kind}"] = ",".join(sorted(names))
    environment.pop("WEFT_AS_TORCH", None)
    environment |= setting
    command = [sys.executable, "-P", str(path)]  # not beside the other programs, which are named like libraries
    given = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    try:
        with tempfile.TemporaryDirectory() as folder:  # some libraries write logs where they are
            return subprocess.run(command, env=environment, timeout=LIMIT, cwd=folder, **given)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"took more than {LIMIT} s")


def last_line(text: str) -> str:
    """What a traceback ends with."""
    lines = [line for line in text.splitlines() if line and not line[0].isspace()]
    return lines[-1][:200] if lines else "no message"


def difference(ours: str, theirs: str, tolerance: float) -> str:
    """The first line that is not the same in both texts; empty if there is none."""
    for number, (mine, yours) in enumerate(zip_longest(ours.splitlines(), theirs.splitlines()), start=1):
        if mine is None or yours is None:
            return f"line {number}: {'missing' if mine is None else 'too many'}: {(mine or yours)[:120]}"
        same_text = NUMBER.sub("#", mine).split() == NUMBER.sub("#", yours).split()
        numbers = zip(NUMBER.findall(mine), NUMBER.findall(yours))
        if not same_text or not all(close(*pair, tolerance) for pair in numbers):
            return f"line {number}: {mine[:90]!r}, PyTorch {yours[:90]!r}"
    return ""


def close(mine: str, yours: str, tolerance: float) -> bool:
    """Whether two printed numbers agree."""
    first, second = float(mine), float(yours)
    return (
        first == second
        or (first != first and second != second)
        or abs(first - second) <= tolerance * max(1.0, abs(second))
    )


def chosen(programs: list[Program], share: str) -> list[Program]:
    """One of the `SHARES` parts. Which one "changed" means follows from the sources: one commit has one verdict."""
    turn = bytes.fromhex(sources())[0] if share == "changed" else int(share)
    return programs[turn % SHARES :: SHARES]


@cache
def sources() -> str:
    """A digest that another change to the packages makes another one."""
    digest = hashlib.sha256()
    for file in sorted((ROOT / "packages").glob("*/src/**/*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


class Record:
    """What was seen of programs, a line for each in a file; runs side by side may share it. Without a file, nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def fill(self, program: Program) -> bool:
        """Give a program what another run saw of just this; whether one did."""
        if self.path is None or not self.path.exists():
            return False
        entries = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        found = {each["fingerprint"]: each for each in entries}.get(program.fingerprint)
        if found is not None:
            program.state, program.detail, program.versions = found["state"], found["detail"], found["versions"]
        return found is not None

    def add(self, program: Program) -> None:
        """Write down what was seen."""
        if self.path is not None:
            entry = {"program": program.name, "fingerprint": program.fingerprint} | program.outcome
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def known() -> dict[str, dict[str, str]]:
    """The programs that do not agree, with reasons."""
    return tomllib.loads((HERE / "known.toml").read_text(encoding="utf-8"))


def table(programs: list[Program]) -> str:
    """What was seen, in Markdown."""
    reasons = known()
    lines = [TITLE, "| program | libraries | state | what differs |", "|---|---|---|---|"]
    for each in programs:
        versions = ", ".join(f"{name} {version}" for name, version in each.versions.items())
        reason = reasons.get(each.name, {}).get("reason", each.detail)
        lines.append(f"| {each.name} | {versions} | {each.state} | {reason.replace('|', '/')} |")
    return "\n".join(lines) + "\n"


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
    parser.add_argument("--record", type=Path)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--newest", action="store_true")
    parser.add_argument("--rounding", action="store_true")
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
    record = Record(None if args.rounding else args.record)
    wrong = 0
    for each in programs:
        if not record.fill(each):
            each.run(PLAIN if args.rounding else WEFT)
            record.add(each)
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
