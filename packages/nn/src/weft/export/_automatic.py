"""``Dim.AUTO``: which of the dimensions that may change a program lets change is found by trying."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from weft.export._program import ExportedProgram
from weft.export.dynamic_shapes import Dim

__all__ = ["settled"]

Dims = list[dict[int, Dim]]
Places = list[tuple[int, int]]  # of dimensions: (leaf of the arguments, dimension)


def settled(
    leaves: Sequence[Any], dims: Sequence[Mapping[int, Dim]], attempt: Callable[[Dims], ExportedProgram]
) -> ExportedProgram:
    """The program in which as many of the automatic dimensions change as can.

    All at once are tried first. Where that fails, those that have one size in the example are tried as one: first at
    the same place of several inputs, else each alone, then those that are left at any place.

    Parameters
    ----------
    leaves : list
        The example inputs.
    dims : list of dict
        For each leaf the dimensions that may change.
    attempt : callable
        Makes the program with the dimensions that it is given, or raises.

    Raises
    ------
    UserError
        If there is no program without any of them.
    """
    try:
        return attempt([dict(each) for each in dims])
    except Exception:  # whatever a program raises at sizes that it does not take
        chosen = [{at: dim for at, dim in each.items() if not dim.is_automatic} for each in dims]
    program = attempt(chosen)
    for places in candidates(leaves, dims):
        places = [(leaf, at) for leaf, at in places if at not in chosen[leaf]]
        if not places:
            continue
        more = [dict(each) for each in chosen]
        leaf, at = places[0]
        shared = dims[leaf][at]
        for leaf, at in places:
            more[leaf][at] = shared
        try:
            program = attempt(more)
        except Exception:  # as above: these stay what they are
            continue
        chosen = more
    return program


def candidates(leaves: Sequence[Any], dims: Sequence[Mapping[int, Dim]]) -> Iterator[Places]:
    """The automatic dimensions that may be one size, in the order in which they are tried."""
    at_place: dict[tuple[int, int], Places] = {}
    of_size: dict[int, Places] = {}
    for leaf, each in enumerate(dims):
        for at, dim in each.items():
            if dim.is_automatic:
                at_place.setdefault((at, leaves[leaf].shape[at]), []).append((leaf, at))
                of_size.setdefault(leaves[leaf].shape[at], []).append((leaf, at))
    for places in at_place.values():
        yield places
        if len(places) > 1:
            yield from ([place] for place in places)
    yield from (places for places in of_size.values() if len(places) > 1)
