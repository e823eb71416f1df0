"""What the readers of all formats build objects with: safe unpicklers know what is allowed, full ones everything."""

from __future__ import annotations

import importlib
import pickle
from types import ModuleType
from typing import IO, Any, cast

from weft.serialization._names import Reader, StorageType, safe_builders, safe_values
from weft.serialization._safe_globals import full_name, listed
from weft.serialization._unpickler import Allowed

MEMORY_OF_A_STORAGE, STEPS_OF_A_STORAGE = 600, 150  # besides its bytes


def checked_identity(identity: Any, source: str) -> tuple[StorageType, str, str, int]:
    """Return type, key, location and number of elements from a persistent id, or refuse it."""
    if type(identity) is tuple and len(identity) >= 5 and identity[0] == "storage":
        kind, key, location, count = identity[1:5]
        texts = type(key) is str and type(location) is str
        if isinstance(kind, StorageType) and texts and type(count) is int and count >= 0:
            return kind, key, location, count
    raise pickle.UnpicklingError(f"load: the pickle in {source} refers to what is no storage")


def allowed(reader: Reader) -> Allowed:
    """What a safe load may name: what the reader builds, containers, and what the caller listed."""
    values = listed()
    return Allowed(
        {**values, **safe_values(), **reader.values},
        {**safe_builders(), **reader.builders},
        frozenset(values.values()),
    )


def full_unpickler(
    module: ModuleType | None, stream: IO[bytes], reader: Reader, storages: Any, arguments: dict[str, Any]
) -> pickle.Unpickler:
    """Return an unpickler that builds everything, with PyTorch's names for weft's objects."""
    base = (module or pickle).Unpickler

    class FullUnpickler(base):  # type: ignore[misc, valid-type]
        def find_class(self, module: str, name: str) -> Any:
            known = reader.values.get(full_name(module, name))
            if known is not None:
                return known
            if module.partition(".")[0] == "torch":
                return counterpart(module, name)
            return super().find_class(module, name)

        def persistent_load(self, identity: Any) -> Any:
            return storages(identity)

    return cast(pickle.Unpickler, FullUnpickler(stream, **arguments))


def counterpart(module: str, name: str) -> Any:
    """Return weft's object for a name of PyTorch's: the same path, or the nearest package above that has the name.

    ``torch.nn.modules.linear.Linear`` is found as ``weft.nn.Linear``.
    """
    path = ["weft", *module.split(".")[1:]]
    for end in range(len(path), 0, -1):
        place = ".".join(path[:end])
        try:
            found: Any = importlib.import_module(place)
            for part in name.split("."):
                found = getattr(found, part)
        except (ModuleNotFoundError, AttributeError):
            continue
        return found
    raise AttributeError(f"load: the file names {module}.{name}, and weft has nothing of that name")
