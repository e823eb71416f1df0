"""From an open ``.pt`` file to its objects."""

from __future__ import annotations

import io
import mmap as memory_map
import pickle
import sys
from types import ModuleType
from typing import IO, Any

from weft.serialization._archive import ArchiveReader
from weft.serialization._budget import Budget
from weft.serialization._legacy import load_legacy
from weft.serialization._locations import Restore
from weft.serialization._names import Reader, StorageType
from weft.serialization._options import assumed_byte_order, maps_shared, skips_data
from weft.serialization._tar import BLOCK, is_tar, load_tar
from weft.serialization._unpickler import SafeUnpickler, described
from weft.serialization._unpicklers import (
    MEMORY_OF_A_STORAGE,
    STEPS_OF_A_STORAGE,
    allowed,
    checked_identity,
    full_unpickler,
)
from weft.storage import TypedStorage, UntypedStorage

ZIP_MAGIC = b"PK\x03\x04"
DECOMPRESSED_AT_ONCE = 1 << 20


def read(
    file: IO[bytes],
    source: str,
    restore: Restore,
    safe: bool,
    mapped: bool,
    pickle_module: ModuleType | None,
    pickle_load_args: dict[str, Any],
) -> Any:
    """Read an open file; the parameters are those of `weft.load`, prepared."""
    budget = Budget(length_of(file), source)
    if _compressed(file) is not None:
        content = _decompressed(file, budget)
        value = _read(content, source, budget, restore, safe, mapped, pickle_module, pickle_load_args)
        if content.read(1):  # another may follow
            file.seek(content.tell() - 1)
        return value
    return _read(file, source, budget, restore, safe, mapped, pickle_module, pickle_load_args)


def _read(
    file: IO[bytes],
    source: str,
    budget: Budget,
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
        return _read_old(file, source, budget, restore, safe, pickle_module, pickle_load_args)
    archive = ArchiveReader(file, source, budget)
    if "constants.pkl" in archive:
        raise RuntimeError(f"load: {source} is a TorchScript program, no checkpoint; save its state_dict() instead")
    order = archive.read("byteorder").tobytes() if "byteorder" in archive else assumed_byte_order().encode()
    swapped = order != sys.byteorder.encode()
    mapping = _mapping(file) if mapped else None
    storages = ArchiveStorages(archive, source, budget, restore, swapped, mapping)
    data = archive.read("data.pkl").tobytes()
    reader = Reader(budget, swapped)
    if safe:
        return SafeUnpickler(data, allowed(reader), storages, source, budget).load()
    return full_unpickler(pickle_module, io.BytesIO(data), reader, storages, pickle_load_args).load()


def _compressed(file: Any) -> Any:
    """The file that a file of Python's compressing modules reads from; None if it is none of these."""
    for module, kind, attribute in (
        ("gzip", "GzipFile", "fileobj"),
        ("bz2", "BZ2File", "_fp"),
        ("lzma", "LZMAFile", "_fp"),
    ):
        if module in sys.modules and isinstance(file, getattr(sys.modules[module], kind)):
            return getattr(file, attribute)
    return None


def length_of(file: Any) -> int:
    """How long a file is; of one that is decompressed as it is read, how long it is compressed."""
    inner = _compressed(file)
    if inner is not None:
        return length_of(inner)
    place = file.tell()
    length = int(file.seek(0, io.SEEK_END))
    file.seek(place)
    return length


def _decompressed(file: IO[bytes], budget: Budget) -> io.BytesIO:
    """All of a file's content, where it stands; decompressing it again at each ``seek`` would take too long."""
    content, place = io.BytesIO(), file.tell()
    file.seek(0)
    try:
        while part := file.read(DECOMPRESSED_AT_ONCE):
            budget.take(len(part))
            content.write(part)
    except Exception as error:  # zlib and lzma have errors of their own
        if isinstance(error, pickle.UnpicklingError):
            raise
        raise RuntimeError(f"load: {budget.source} cannot be decompressed ({str(error)[:300]})") from error
    content.seek(place)
    return content


def _read_old(file: IO[bytes], source: str, *how: Any) -> Any:
    """Read a file of before PyTorch 1.6, of one of two formats."""
    begin = file.tell()
    tar = is_tar(file.read(BLOCK))
    file.seek(begin)
    return (load_tar if tar else load_legacy)(file, source, *how)


def _mapping(file: IO[bytes]) -> memory_map.mmap:
    """The file in memory; what is written there goes to the file only if `set_default_mmap_options` said so."""
    if maps_shared():
        return memory_map.mmap(file.fileno(), 0, access=memory_map.ACCESS_WRITE)
    return memory_map.mmap(file.fileno(), 0, access=memory_map.ACCESS_COPY)


class ArchiveStorages:
    """Gives the storage for a persistent id of the pickle, and each one once."""

    def __init__(
        self,
        archive: ArchiveReader,
        source: str,
        budget: Budget,
        restore: Restore,
        swapped: bool,
        mapping: memory_map.mmap | None,
    ) -> None:
        self._archive = archive
        self._source = source
        self._budget = budget
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
                f"says {described(nbytes)}; the file is damaged"
            )
        self._budget.take(MEMORY_OF_A_STORAGE)
        self._budget.spend(STEPS_OF_A_STORAGE)
        if skips_data():
            self._budget.take(nbytes)
            return UntypedStorage(nbytes)
        content = None if self._mapping is None else self._archive.mapped(record, self._mapping)
        if content is None or content.__array_interface__["data"][0] % 16:
            content = self._archive.read(record)
        storage = UntypedStorage._of_bytes(content)
        if self._swapped and kind.dtype is not None:
            storage.byteswap(kind.dtype)
        return storage
