"""Kernels of plugins: whether the op exists that they are for. Checked when a plugin is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from weft._engine.tensor import state
from weft._plugins.kernel_names import NAMES


def unknown_names(names: Iterable[str]) -> dict[str, list[str]]:
    """Which names are no op's, and the nearest that are. Of a namespace nobody has declared, any may be."""
    unknown = [name for name in names if name not in names_of_ours()]
    if not unknown:
        return {}
    import difflib

    known = names_of_ours() | {op.name for op in state.ops}
    spaces = {name.partition("::")[0] for name in known}
    unknown = [name for name in unknown if name not in known and name.partition("::")[0] in spaces]
    return {name: difflib.get_close_matches(name, known, 3) for name in unknown}


@cache
def names_of_ours() -> frozenset[str]:
    """The ops of weft's own packages, also those that nothing has declared yet."""
    return frozenset(f"{space}::{name}" for space, listed in NAMES.items() for name in listed.split())


def check_names(table: Iterable[str], what: str) -> None:
    """Refuse kernels for ops that do not exist.

    Parameters
    ----------
    table : iterable of str
        The full names of the ops, ``"core::add"``. In a namespace that weft has no ops in, any name may be one.
    what : str
        Who has the kernels, for the error.

    Raises
    ------
    TypeError
        With the names that were perhaps meant.
    """
    for name, near in unknown_names(table).items():
        meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise TypeError(f"{what} has a kernel for {name!r}, and there is no such op{meant}")
