"""Which of many cases one run takes, where all of them would take too long.

A setting, the value of an environment variable, chooses:

- ``all``;
- ``K/N``: the K-th of N parts;
- ``changed``: the cases of the sources that changed in the day before the commit or are not committed yet, and a fixed
  part of the others.

The choice follows the names, the sources and their history, never the clock: one commit has one verdict.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import subprocess
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")
FIXED = 48  # one in so many is always taken
MOST = 24  # of the cases of changed sources at most one in so many of all


def chosen(names: Iterable[str], setting: str, modules: Callable[[str], set[str]]) -> list[str]:
    """The names that a run takes, in their order.

    Parameters
    ----------
    names : iterable of str
    setting : str
        ``"all"``, ``"K/N"`` or ``"changed"``.
    modules : callable
        From a name to the modules of weft (``"weft.ops.sorting"``) that its case is about.
    """
    names = sorted(names)
    if setting == "all":
        return names
    if setting != "changed":
        part, parts = map(int, setting.split("/"))
        return names[part % parts :: parts]
    mixed = sorted(names, key=digest)
    always = mixed[: len(names) // FIXED + 1]
    changed = changed_modules()
    touched = [name for name in mixed[len(always) :] if modules(name) & changed]
    return sorted({*always, *touched[: len(names) // MOST + 1]})


def drawn(name: str, choices: Sequence[T]) -> T:
    """One of some choices, by turns: another name or another number of commits may have another one."""
    commits = git("rev-list", "--count", "HEAD").strip()
    return choices[(int(digest(name)[:8], 16) + int(commits or 0)) % len(choices)]


def digest(name: str) -> str:
    """Puts names in an order that has nothing to do with what they mean."""
    return hashlib.sha256(name.encode()).hexdigest()


@cache
def changed_modules() -> frozenset[str]:
    """The modules of weft whose sources changed in the day before the last commit, or since; empty without Git.

    A module of the CPU backend stands for those whose ops it has kernels for.
    """
    last = git("log", "-1", "--format=%cI").strip()
    if not last:
        return frozenset()
    day_before = datetime.fromisoformat(last) - timedelta(days=1)
    files = git("log", f"--since={day_before.isoformat()}", "--format=", "--name-only") + git(
        "diff", "--name-only", "HEAD"
    )
    modules = {module_of(file) for file in files.split() if "/src/" in file and file.endswith(".py")}
    return frozenset(modules.union(*map(served, modules)))


@cache
def git(*arguments: str) -> str:
    """What Git prints; nothing where this is no checkout."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def module_of(file: str) -> str:
    """``weft.ops.sorting`` of ``packages/core/src/weft/ops/sorting.py``."""
    return file.partition("/src/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def served(module: str) -> set[str]:
    """The modules that declare the ops which a module of the CPU backend has kernels for."""
    from weft.backend_cpu.libraries import LIBRARIES, modules_of

    found = set()
    for package in LIBRARIES.values():
        name = module.removeprefix(f"weft.backend_cpu.{package}.")
        found |= {declaring_module(op) for op, each in modules_of(package).items() if each == name}
    return found


def declaring_module(op: str) -> str:
    """Where an op, by its full name, is declared."""
    from weft.ops._registry import registry

    importlib.import_module("weft.nn.functional")  # declares the ops of nn
    declaration = registry.get(op)
    kernel = getattr(declaration, "generic", None)
    return kernel.__module__ if callable(kernel) else getattr(getattr(declaration, "function", None), "__module__", "")


def modules_of_function(name: str) -> set[str]:
    """The modules that a public function is written in, by its name after ``torch.``: its own, and that of its code."""
    import weft

    found: object = weft
    for part in name.split("."):
        found = getattr(found, part, None)
    found = getattr(weft.Tensor, name, None) if found is None else found
    code = getattr(inspect.unwrap(found), "__code__", None) if callable(found) else None
    return {str(getattr(found, "__module__", "")), module_of(code.co_filename if code else "")}
