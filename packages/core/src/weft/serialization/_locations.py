"""Where storages go, and what a file calls the place where they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._devices.devices import device
from weft.storage import UntypedStorage

Restore = Callable[[UntypedStorage, str], UntypedStorage]
Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]
_packages: list[tuple[int, Tagger, Deserializer]] = []  # in the order in which they are asked


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Register how storages of a kind of device are named in files, and put there again.

    Parameters
    ----------
    priority : int
        The lowest is asked first; all of them before what weft itself does.
    tagger : callable
        From a storage to what the file says of its place, or None if it is not this package's.
    deserializer : callable
        From a storage on the CPU and a place to the storage in that place, or None likewise.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """Return what a file says of a storage's place.

    Examples
    --------
    >>> weft.serialization.location_tag(weft.ones(1).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _packages:
        location = tagger(storage)
        if location:
            return location
    return str(storage.device)


def default_restore_location(storage: Any, location: str) -> Any:
    """Put a storage where the file says that it was.

    Raises
    ------
    RuntimeError
        If there is no such device here.
    """
    for _, _, deserializer in _packages:
        result = deserializer(storage, location)
        if result is not None:
            return result
    if location == "cpu":
        return storage
    try:
        return storage.to(location)
    except Exception as error:  # whatever a backend, or its absence, says
        shown = location if len(location) <= 100 else location[:100] + "…"
        raise RuntimeError(
            f"load: the file has tensors on {shown!r}, which cannot be used here ({str(error)[:500]}). "
            "Give map_location='cpu', or a dict from that device to another."
        ) from error


def restore_function(map_location: Any) -> Restore:
    """Return the function that ``map_location`` stands for."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, str(map_location.get(location, location)))
    if isinstance(map_location, str | device):
        return lambda storage, location: default_restore_location(storage, str(map_location))
    if not callable(map_location):
        raise TypeError(
            f"load: map_location must be a device, its name, a dict or a function, got {type(map_location).__name__}"
        )

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        result: Any = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore
