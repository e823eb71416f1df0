"""Nested state dicts as flat ones: ``{"optim": {"state": [x]}}`` is ``{"optim.state.0": x}``, and back."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import weft

Path = tuple[str | int, ...]
Paths = dict[str, Path]


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], Paths]:
    """Return the entries by their dotted names, and the path of each.

    Dicts are opened, and lists that hold tensors, dicts or lists that are opened; other values are entries.

    Raises
    ------
    ValueError
        If two entries have one name: ``{"a": {"b": 1}, "a.b": 2}``.
    """
    flat: dict[str, Any] = {}
    paths: Paths = {}
    for path, value in leaves((), state_dict):
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}: two entries of the state dict have this name")
        flat[name], paths[name] = value, path
    return flat, paths


def leaves(path: Path, value: Any) -> Any:
    """Yield paths and entries, in order."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from leaves((*path, str(key)), each)
    elif isinstance(value, list) and is_opened(value):
        for index, each in enumerate(value):
            yield from leaves((*path, index), each)
    else:
        yield path, value


def is_opened(value: Any) -> bool:
    """Whether a value is no entry, but holds some."""
    if isinstance(value, list):
        return any(isinstance(each, weft.Tensor) or is_opened(each) for each in value)
    return isinstance(value, Mapping)


def set_element(root: Any, path: Path, value: Any) -> None:
    """Put a value where a path says; dicts and lists on the way are made where there are none."""
    place = root
    for key, after in pairwise(path):
        empty: Any = [] if isinstance(after, int) else {}
        place = item(place, key, empty)
    put(place, path[-1], value)


def item(place: Any, key: str | int, default: Any) -> Any:
    """What is found under a key, which is set to the default if nothing is."""
    if isinstance(place, list):
        index = int(key)
        while len(place) <= index:
            place.append(None)
        if place[index] is None:
            place[index] = default
        return place[index]
    return place.setdefault(actual_key(place, key), default)


def put(place: Any, key: str | int, value: Any) -> None:
    """Set what is under a key."""
    if isinstance(place, list):
        while len(place) <= int(key):
            place.append(None)
        place[int(key)] = value
    else:
        place[actual_key(place, key)] = value


def actual_key(place: Any, key: str | int) -> Any:
    """The key whose text a path has: optimizers number their parameters by integers."""
    if key in place:
        return key
    return next((each for each in place if str(each) == key), key)
