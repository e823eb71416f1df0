"""Files of before PyTorch 1.6: five pickles one after the other, then the storages' bytes.

Many published weights are still such files. The storages come after the tensors that use them, so
that they are made first and filled last.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import pickle
import sys
from collections.abc import Callable
from types import ModuleType
from typing import IO, Any

import numpy

from weft.serialization._archive import read_exactly
from weft.serialization._budget import Budget
from weft.serialization._names import LEGACY_MAGIC_NUMBER, LEGACY_PROTOCOL_VERSION, Reader, StorageType
from weft.serialization._options import skips_data
from weft.serialization._unpickler import Allowed, SafeUnpickler, described
from weft.serialization._unpicklers import (
    MEMORY_OF_A_STORAGE,
    STEPS_OF_A_STORAGE,
    allowed,
    checked_identity,
    full_unpickler,
)
from weft.storage import TypedStorage, UntypedStorage


def load_legacy(
    file: IO[bytes],
    source: str,
    budget: Budget,
    restore: Callable[[UntypedStorage, str], UntypedStorage],
    safe: bool,
    pickle_module: ModuleType | None,
    pickle_load_args: dict[str, Any],
) -> Any:
    """Read such a file from where it stands; the parameters are those of `weft.load`, prepared."""
    data = content_of(file, budget)
    nothing = Allowed({}, {}, frozenset())

    def plain(nameable: Allowed, persistent_load: Callable[[Any], Any]) -> Any:
        unpickler = SafeUnpickler(data, nameable, persistent_load, source, budget, file.tell())
        value = unpickler.load()
        file.seek(unpickler.position)
        return value

    def refuse(identity: Any) -> Any:
        raise pickle.UnpicklingError(f"load: the header of {source} refers to storages")

    try:
        magic = plain(nothing, refuse)
    except pickle.UnpicklingError as error:
        named = data[8:9] == b"{"  # where the header of a safetensors file begins
        advice = "; it may be one for weft.serialization.safetensors.load_file" if named else ""
        raise pickle.UnpicklingError(f"load: {source} is not a file that save has written{advice}") from error
    if type(magic) is not int or magic != LEGACY_MAGIC_NUMBER:
        raise pickle.UnpicklingError(f"load: {source} is a pickle, and not a file that save has written")
    version, system = plain(nothing, refuse), plain(nothing, refuse)
    if type(version) is not int or version != LEGACY_PROTOCOL_VERSION or type(system) is not dict:
        known = LEGACY_PROTOCOL_VERSION
        raise pickle.UnpicklingError(f"load: {source} has format {described(version)}; {known} is known")
    swapped = sys.byteorder == "big"  # numbers are little-endian, whatever machine the header speaks of
    reader = Reader(budget, swapped, filled=False)
    storages = LateStorages(source, budget, restore, len(data))
    if safe:
        value = plain(allowed(reader), storages)
    else:
        value = full_unpickler(pickle_module, file, reader, storages, pickle_load_args).load()
    keys = plain(nothing, refuse)
    if not skips_data():
        storages.fill(keys, file, len(data), swapped)
    try:
        reader.finish()
    except (RuntimeError, ValueError) as error:
        raise pickle.UnpicklingError(f"load: {source} has a tensor that cannot be rebuilt: {error}") from error
    return value


def content_of(file: IO[bytes], budget: Budget) -> Any:
    """The whole file, mapped if it is one of the system's."""
    if isinstance(file, io.FileIO) or isinstance(getattr(file, "raw", None), io.FileIO):
        with contextlib.suppress(OSError, ValueError):
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = file.tell()
    file.seek(0)
    content = file.read()
    budget.take(len(content))
    file.seek(begin, os.SEEK_SET)
    return content


class LateStorages:
    """Makes the storages that the pickle refers to, and fills them later."""

    def __init__(
        self, source: str, budget: Budget, restore: Callable[[UntypedStorage, str], UntypedStorage], room: int
    ) -> None:
        self._source = source
        self._budget = budget
        self._restore = restore
        self._room = room  # bytes of the file that no storage has claimed
        self._made: dict[str, tuple[UntypedStorage, StorageType]] = {}

    def __call__(self, identity: Any) -> Any:
        """Return the storage of a persistent id; an id of a module stands for its class."""
        if type(identity) is tuple and len(identity) == 4 and identity[0] == "module":
            return identity[1]
        kind, key, location, count = checked_identity(identity, self._source)
        if len(identity) > 5 and identity[5] is not None:
            raise pickle.UnpicklingError(f"load: {self._source} has views of storages, as PyTorch 0.3 wrote them")
        if key not in self._made:
            nbytes = count * (1 if kind.dtype is None else kind.dtype.itemsize)
            self._room -= nbytes
            if self._room < 0:
                raise pickle.UnpicklingError(f"load: the storages of {self._source} claim more bytes than it has")
            self._budget.take(nbytes + MEMORY_OF_A_STORAGE)
            self._budget.spend(STEPS_OF_A_STORAGE)
            self._made[key] = self._restore(UntypedStorage(nbytes), location), kind
        storage = self._made[key][0]
        return storage if kind.dtype is None else TypedStorage(wrap_storage=storage, dtype=kind.dtype)

    def fill(self, keys: Any, file: IO[bytes], size: int, swapped: bool) -> None:
        """Read the bytes, which follow in the order of ``keys``, each after its number of elements."""
        if type(keys) is not list or {type(key) for key in keys} - {str} or sorted(keys) != sorted(self._made):
            raise pickle.UnpicklingError(f"load: {self._source} lists other storages than its tensors use")
        for key in keys:
            storage, kind = self._made[key]
            count = int.from_bytes(file.read(8), "little")
            width = 1 if kind.dtype is None else kind.dtype.itemsize
            if count * width != storage.nbytes() or file.tell() + storage.nbytes() > size:
                raise RuntimeError(f"load: storage {key!r} of {self._source} is cut short; the file is truncated")
            if isinstance(storage._array, numpy.ndarray):
                read_exactly(file, storage._array.data)
            else:
                storage.copy_(UntypedStorage._of_bytes(bytearray(file.read(storage.nbytes()))))
            if swapped and kind.dtype is not None:
                storage.byteswap(kind.dtype)
