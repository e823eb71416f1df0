"""Which of the installed distributions a program has not asked for.

All programs share one environment, so a library may find what another program brought, and the outcome would depend
on which programs run together. `site/sitecustomize.py` hides from each program what neither it, nor weft, nor PyTorch
requires.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
from functools import cache

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ALWAYS = ("torch", "weft-backend-cpu[fast,scientific]", "weft-distributed", "weft-text", "weft-vision")


def undeclared(requirements: Iterable[str]) -> tuple[set[str], set[str]]:
    """The distributions that the requirements do not bring, and the top-level modules that only these have."""
    declared = closure([*ALWAYS, *requirements])
    modules = {
        module
        for module, names in top_level_modules().items()
        if not any(canonicalize_name(name) in declared for name in names)
    }
    return set(installed_distributions()) - declared, modules


def brought(requirements: Iterable[str]) -> list[str]:
    """The distributions that the requirements bring, with the versions that are installed."""
    names = closure([*ALWAYS, *requirements]) & installed_distributions()
    return sorted(f"{name}=={importlib.metadata.version(name)}" for name in names)


def closure(requirements: Iterable[str]) -> set[str]:
    """The normalized names of what the requirements bring, directly or not."""
    waiting = [Requirement(each) for each in requirements]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        current = waiting.pop()
        key = (canonicalize_name(current.name), frozenset(current.extras))
        if key not in seen:
            seen.add(key)
            waiting += direct_requirements(current)
    return {name for name, _ in seen}


def direct_requirements(requirement: Requirement) -> list[Requirement]:
    """What one distribution requires on this platform, with the extras asked for; nothing if it is not installed."""
    try:
        lines = importlib.metadata.requires(requirement.name) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    extras = requirement.extras or {""}
    wanted = [Requirement(line) for line in lines]
    return [each for each in wanted if each.marker is None or any(each.marker.evaluate({"extra": x}) for x in extras)]


@cache
def installed_distributions() -> frozenset[str]:
    """The normalized names of all."""
    return frozenset(canonicalize_name(each.name) for each in importlib.metadata.distributions() if each.name)


@cache
def top_level_modules() -> dict[str, list[str]]:
    """The distributions that each top-level module comes from."""
    return dict(importlib.metadata.packages_distributions())
