"""Comparison of two recordings: what differs cannot be replayed."""

from __future__ import annotations

from typing import Any

from weft.compiler._guards import Refused
from weft.compiler._recording import Call, Outside, Recording, Slot

__all__ = ["compare"]


def compare(first: Recording, second: Recording) -> None:
    """Find that two recordings are the same list.

    Raises
    ------
    Refused
        If they differ, by the first difference.
    """
    compare_lists(first, second, first.calls, second.calls)
    compare_externals(first, second, first.own_calls(), second.own_calls())
    if not same(first.results, second.results):
        raise Refused(f"it returned {first.results}, then {second.results}")
    if counts(first.versions) != counts(second.versions):
        raise Refused("it wrote into other tensors than the time before")
    if first.start() != second.start():
        raise Refused("it added to other gradients than the time before")


def counts(versions: list[tuple[Any, int]]) -> dict[Any, int]:
    """By how much each count of writes has grown."""
    return {each if isinstance(each, Slot) else id(each._version_counter): more for each, more in versions}


def compare_externals(first: Recording, second: Recording, calls: list[Any], others: list[Any]) -> None:
    """The tensors from outside that some calls take are the same ones."""
    ours, theirs = first.externals_of(calls), second.externals_of(others)
    if ours.keys() != theirs.keys():
        raise Refused("it took other tensors from outside than the time before")
    for slot, tensor in ours.items():
        if theirs[slot] is not tensor:
            what = f"a tensor {tuple(tensor.shape)} that is another one each time"
            raise Refused(f"{second.first_use(slot)} takes {what}")


def compare_lists(first: Recording, second: Recording, calls: list[Any], others: list[Any]) -> None:
    for one, two in zip(calls, others):
        if one.name != two.name:
            raise Refused(f"it ran {one.name}, then {two.name} ({two.line})")
        if isinstance(one, Outside):
            compare_outside(first, second, one, two)
        else:
            compare_calls(one, two)
    if len(calls) != len(others):
        raise Refused(f"it ran {len(calls)} ops, then {len(others)}")


def compare_outside(first: Recording, second: Recording, one: Outside, two: Outside) -> None:
    """Of what can be run as it is, a difference means that it has to be."""
    try:
        if one.calls is None or two.calls is None:
            raise Refused("it changes more than tensors")
        compare_lists(first, second, one.calls, two.calls)
        compare_externals(first, second, one.calls, two.calls)
    except Refused:
        one.calls = two.calls = None


def compare_calls(one: Call, two: Call) -> None:
    for name in one.args:
        if name not in two.args or not same(one.args[name], two.args[name]):
            before, now = one.args[name], two.args.get(name)
            raise Refused(f"{one.name}, argument {name}: {before!r}, then {now!r} ({two.line})")
    if one.result != two.result:
        raise Refused(f"{one.name}: it returned {one.result}, then {two.result} ({two.line})")
    if one.shapes != two.shapes:
        raise Refused(f"{one.name}: its result has shape {one.shapes}, then {two.shapes} ({two.line})")


def same(one: Any, two: Any) -> bool:
    """Whether two constants are equal; nan is."""
    if type(one) is not type(two):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    return one is two or one == two or (one != one and two != two)
