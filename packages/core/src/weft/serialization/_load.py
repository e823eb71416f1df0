"""`load`: PyTorch's ``.pt`` files into weft's objects."""

from __future__ import annotations

import importlib
import io
import mmap as memory_map
import os
import pickle
import sys
from collections.abc import Callable
from types import ModuleType
from typing import IO, Any, cast

from weft.serialization._archive import ArchiveReader
from weft.serialization._names import Reader, StorageType, safe_builders, safe_values
from weft.serialization._safe_globals import listed
from weft.serialization._unpickler import Allowed, SafeUnpickler, full_name
from weft.storage import TypedStorage, UntypedStorage

ZIP_MAGIC = b"PK\x03\x04"
Restore = Callable[[UntypedStorage, str], UntypedStorage]


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: ModuleType | None = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save`, or PyTorch's, wrote.

    Parameters
    ----------
    f : str, path or binary file that can seek
    map_location : str, device, dict or callable, optional
        Where storages go that were saved elsewhere: a device for all; a dict from the device in the
        file to another; or a function of the storage (on the CPU) and the device in the file, which
        returns a storage, or None to have it put where the file says.
    pickle_module : module, optional
        Whose ``Unpickler`` to use, with ``weights_only=False``.
    weights_only : bool, default True
        Build nothing but tensors, containers, numbers and what
        ``weft.serialization.add_safe_globals`` lists. **With False the file may run any code.**
    mmap : bool, default False
        Leave the storages in the file, and read what is used when it is used. Writing to such a
        tensor changes the memory of this process and not the file.
    **pickle_load_args
        For the unpickler, with ``weights_only=False``.

    Raises
    ------
    pickle.UnpicklingError
        If the file is no ``.pt`` file, or holds what is not allowed.
    RuntimeError
        If the archive is damaged, or a device it names is not there.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> weft.save(weft.arange(3), file)
    >>> _ = file.seek(0)
    >>> weft.load(file, map_location="cpu")
    tensor([0, 1, 2])
    """
    safe = weights_only is None or bool(weights_only)
    if safe and (pickle_module is not None or pickle_load_args):
        given = "pickle_module" if pickle_module is not None else ", ".join(pickle_load_args)
        raise RuntimeError(f"load: {given} goes with weights_only=False: safe loading has an unpickler of its own")
    restore = _restore_function(map_location)
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _load(file, repr(os.fspath(f)), restore, safe, bool(mmap), pickle_module, pickle_load_args)
    if mmap:
        raise ValueError("load: mmap=True needs the path of a file, got an open one")
    _check_seekable(f)
    return _load(f, "the file", restore, safe, False, pickle_module, pickle_load_args)


def _check_seekable(f: Any) -> None:
    advice = "read it into an io.BytesIO first, and load that"
    for method in ("read", "seek", "tell"):
        if not hasattr(f, method):
            raise AttributeError(f"load: f must be a path or a file that can seek, got {type(f).__name__}; {advice}")
    if hasattr(f, "seekable") and not f.seekable():
        raise io.UnsupportedOperation(f"load: f cannot seek; {advice}")


def _load(
    file: IO[bytes],
    source: str,
    restore: Restore,
    safe: bool,
    mapped: bool,
    pickle_module: ModuleType | None,
    pickle_load_args: dict[str, Any],
) -> Any:
    begin = file.tell()
    magic = file.read(len(ZIP_MAGIC))
    file.seek(begin)
    if not magic:
        raise EOFError(f"load: {source} is empty")
    if magic != ZIP_MAGIC:
        if mapped:
            raise RuntimeError(f"load: {source} is not a zip archive, so that mmap=True cannot be used")
        from weft.serialization._legacy import load_legacy

        return load_legacy(file, source, restore, safe, pickle_module, pickle_load_args)
    archive = ArchiveReader(file, source)
    if "constants.pkl" in archive:
        raise RuntimeError(f"load: {source} is a TorchScript program, no checkpoint; save its state_dict() instead")
    swapped = "byteorder" in archive and archive.read("byteorder").tobytes() != sys.byteorder.encode()
    mapping = memory_map.mmap(file.fileno(), 0, access=memory_map.ACCESS_COPY) if mapped else None
    storages = ArchiveStorages(archive, source, restore, swapped, mapping)
    data = archive.read("data.pkl").tobytes()
    reader = Reader(swapped)
    if safe:
        return SafeUnpickler(data, allowed(reader), storages, source).load()
    return full_unpickler(pickle_module, io.BytesIO(data), reader, storages, pickle_load_args).load()


class ArchiveStorages:
    """Gives the storage for a persistent id of the pickle, and each one once."""

    def __init__(
        self,
        archive: ArchiveReader,
        source: str,
        restore: Restore,
        swapped: bool,
        mapping: memory_map.mmap | None,
    ) -> None:
        self._archive = archive
        self._source = source
        self._restore = restore
        self._swapped = swapped
        self._mapping = mapping
        self._loaded: dict[str, UntypedStorage] = {}

    def __call__(self, identity: Any) -> TypedStorage | UntypedStorage:
        """Return the storage; read it if it is new."""
        kind, key, location, count = checked_identity(identity, self._source)
        if key not in self._loaded:
            self._loaded[key] = self._restore(self._read(key, kind, count), location)
        storage = self._loaded[key]
        return storage if kind.dtype is None else TypedStorage(wrap_storage=storage, dtype=kind.dtype)

    def _read(self, key: str, kind: StorageType, count: int) -> UntypedStorage:
        record = f"data/{key}"
        nbytes = count * (1 if kind.dtype is None else kind.dtype.itemsize)
        if record not in self._archive:
            raise RuntimeError(f"load: {self._source} has no record {record!r}, which its pickle refers to")
        if self._archive.size(record) != nbytes:
            raise RuntimeError(
                f"load: record {record!r} of {self._source} has {self._archive.size(record)} bytes, and its pickle "
                f"says {nbytes}; the file is damaged"
            )
        content = None if self._mapping is None else self._archive.mapped(record, self._mapping)
        if content is None or content.__array_interface__["data"][0] % 16:
            content = self._archive.read(record)
        storage = UntypedStorage._of_bytes(content)
        if self._swapped and kind.dtype is not None:
            storage.byteswap(kind.dtype)
        return storage


def checked_identity(identity: Any, source: str) -> tuple[StorageType, str, str, int]:
    """Return type, key, location and number of elements from a persistent id, or refuse it."""
    if type(identity) is tuple and len(identity) >= 5 and identity[0] == "storage":
        kind, key, location, count = identity[1:5]
        texts = type(key) is str and type(location) is str
        if isinstance(kind, StorageType) and texts and type(count) is int and count >= 0:
            return kind, key, location, count
    raise pickle.UnpicklingError(f"load: the pickle in {source} refers to {identity!r}, which is no storage")


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


# Where storages go ---------------------------------------------------------------------------------------


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """Put a storage where the file says that it was.

    Raises
    ------
    RuntimeError
        If there is no such device here.
    """
    if location == "cpu":
        return storage
    try:
        return storage.to(location)
    except Exception as error:  # whatever a backend, or its absence, says
        raise RuntimeError(
            f"load: the file has tensors on {location!r}, which cannot be used here ({error}). "
            "Give map_location='cpu', or a dict from that device to another."
        ) from error


def _restore_function(map_location: Any) -> Restore:
    import weft

    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, str(map_location.get(location, location)))
    if isinstance(map_location, str | weft.device):
        return lambda storage, location: default_restore_location(storage, str(map_location))
    if not callable(map_location):
        raise TypeError(
            f"load: map_location must be a device, its name, a dict or a function, got {type(map_location).__name__}"
        )

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore
