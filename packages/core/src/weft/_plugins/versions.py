"""Whether a version meets a requirement: the part of PEP 440 that a dependency on core needs.

The library ``packaging`` has all of it, but core does not depend on it. Only release numbers are compared: 0.2.0.dev1
counts as 0.2.0, so that plugins can be tried with a core that is being developed.
"""

import re
from collections.abc import Callable
from itertools import zip_longest

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^]]*\])?\s*\(?([^;@)]*)\)?\s*(@[^;]*)?(;.*)?$")
_CLAUSE = re.compile(r"(~=|===|==|!=|<=|>=|<|>)\s*v?(\d+(?:\.\d+)*)(\.\*)?")


def normalized(name: str) -> str:
    """Write a distribution's name as PEP 503 compares it.

    Examples
    --------
    >>> normalized("Weft_Backend.CPU")
    'weft-backend-cpu'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_on(distribution: str, requirements: list[str]) -> str:
    """Collect what a list of requirements (``Requires-Dist``) asks of one distribution's version.

    Lines that hold only for an extra are left out; other environment markers are not evaluated.

    Examples
    --------
    >>> requirement_on("weft-core", ["numpy>=2", "weft_core[x] (~=0.1.0)", "weft-core>=9; extra == 'new'"])
    '~=0.1.0'
    """
    found = []
    for line in requirements:
        match = _REQUIREMENT.match(line)
        if match is None or normalized(match[1]) != distribution:
            continue
        if match[2].strip() and "extra" not in (match[4] or ""):
            found.append(match[2].strip())
    return ",".join(found)


def meets(version: str, requirement: str) -> bool:
    """Tell whether a version meets every clause of a requirement; clauses of an unknown form count as met.

    Examples
    --------
    >>> meets("0.1.3", "~=0.1.0"), meets("0.2.0", "~=0.1.0"), meets("0.2.0", ">=0.1,!=0.2.*")
    (True, False, False)
    """
    clauses = (_CLAUSE.match(clause.strip()) for clause in requirement.split(","))
    return all(_meets_clause(_release(version), match) for match in clauses if match is not None)


def _release(version: str) -> tuple[int, ...]:
    match = re.match(r"v?(?:\d+!)?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in match[1].split(".")) if match else ()


def _meets_clause(release: tuple[int, ...], clause: re.Match[str]) -> bool:
    operator, wanted, wildcard = clause[1], _release(clause[2]), clause[3]
    if operator == "~=":  # at least this, and equal but for the last number
        return _compare(release, wanted) >= 0 and release[: len(wanted) - 1] == wanted[:-1]
    if wildcard:
        return (release[: len(wanted)] == wanted) == (operator != "!=")
    return _ORDER[operator](_compare(release, wanted))


def _compare(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """-1, 0 or 1, as ``a`` is before, at or after ``b``; 0.1 and 0.1.0 are equal."""
    for x, y in zip_longest(a, b, fillvalue=0):
        if x != y:
            return -1 if x < y else 1
    return 0


_ORDER: dict[str, Callable[[int], bool]] = {
    "==": lambda order: order == 0,
    "===": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
