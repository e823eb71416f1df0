"""From objects to the records of a ``.pt`` file."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy

from weft._devices.devices import device
from weft._dtypes.dtypes import NAMES, dtype
from weft._tensor.base import Tensor
from weft._tensor.layout import layout
from weft._tensor.size import Size
from weft.serialization._archive import ArchiveWriter, replacing, write_all
from weft.serialization._locations import location_tag
from weft.serialization._names import (
    DTYPES,
    LEGACY_MAGIC_NUMBER,
    LEGACY_PROTOCOL_VERSION,
    PARAMETER,
    STORAGES,
    TENSOR,
    UNTYPED_STORAGE,
    Reduced,
    TorchName,
    parameter_class,
    reduce,
)
from weft.serialization._options import skips_data
from weft.storage import TypedStorage, UntypedStorage

__all__ = ["Content", "pickled", "replacing", "write", "write_legacy"]

Content = tuple[bytes, list[tuple[UntypedStorage, Any]]]  # a pickle; its storages with their dtypes, None for bytes


def pickled(obj: object, protocol: int, old: bool = False, pickle_module: ModuleType | None = None) -> Content:
    """Return the pickle of an object, and the storages that it refers to, in the order of their keys."""
    stream = io.BytesIO()
    pickler = TorchPickler(stream, protocol, old, pickle_module)
    pickler.dump(obj)
    return stream.getvalue(), [(storage, pickler.dtypes[storage]) for storage in pickler.storages]


def write(content: Content, file: Any, name: str, compute_crc32: bool, byteorder: bool = True) -> None:
    """Write what `pickled` returned as an archive."""
    data, storages = content
    archive = ArchiveWriter(file, name, compute_crc32)
    archive.write("data.pkl", data)
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", b"64")
    if byteorder:
        archive.write("byteorder", sys.byteorder.encode())
    for key, (storage, _) in enumerate(storages):
        archive.write(f"data/{key}", _bytes_of(storage))
    archive.write("version", b"3\n")
    archive.close()


def write_legacy(content: Content, file: Any, protocol: int) -> None:
    """Write what `pickled` returned with ``old``, in the format of before PyTorch 1.6."""
    data, storages = content
    sizes = {"short": 2, "int": 4, "long": 4}  # what PyTorch writes everywhere
    system = {
        "protocol_version": LEGACY_PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": sizes,
    }
    for part in (LEGACY_MAGIC_NUMBER, LEGACY_PROTOCOL_VERSION, system):
        write_all(file, pickle.dumps(part, protocol))
    write_all(file, data)
    keys = sorted(map(str, range(len(storages))))
    write_all(file, pickle.dumps(keys, protocol))
    for key in keys:
        storage, dtype = storages[int(key)]
        if sys.byteorder == "big" and dtype is not None:
            storage = storage.cpu().clone()
            storage.byteswap(dtype)
        write_all(file, struct.pack("<q", storage.nbytes() // (1 if dtype is None else dtype.itemsize)))
        write_all(file, _bytes_of(storage))


def _bytes_of(storage: UntypedStorage) -> Any:
    return numpy.zeros(storage.nbytes(), numpy.uint8) if skips_data() else storage._host_bytes()


PythonPickler: Any = pickle._Pickler


class TorchPickler(PythonPickler):  # type: ignore[misc]
    """Writes weft's objects under the names that PyTorch gives its own.

    Python's C pickler refuses to write the name of what cannot be imported; this one, its twin in
    Python, lets `save_global` be replaced.

    Parameters
    ----------
    old : bool
        For the format of before PyTorch 1.6.
    pickle_module : module, optional
        Whose pickler says how other objects are reduced: cloudpickle's writes functions and classes that cannot be
        imported.
    names : mapping, optional
        Names of further classes, in place of their own.
    """

    def __init__(
        self,
        file: io.BytesIO,
        protocol: int,
        old: bool = False,
        pickle_module: ModuleType | None = None,
        names: Mapping[type, TorchName] | None = None,
    ) -> None:
        super().__init__(file, protocol)
        self._reduce_others: Any = None
        if pickle_module is not None:
            other = pickle_module.Pickler(io.BytesIO(), protocol)
            self._reduce_others = other.reducer_override
            self.dispatch_table = other.dispatch_table
        self._old = old
        self.storages: dict[UntypedStorage, str] = {}  # with the key of the record that it becomes
        self.dtypes: dict[UntypedStorage, Any] = {}
        self._names = _names_of_objects()
        self._names.update((id(kind), name) for kind, name in (names or {}).items())
        self._kinds = (dtype, TorchName, Reduced, Tensor, Size, device, layout)

    def persistent_id(self, obj: Any) -> Any:
        """Storages are records of their own; the pickle has their keys."""
        if isinstance(obj, TypedStorage):
            return self._storage_id(obj.untyped(), STORAGES.get(obj.dtype.name, UNTYPED_STORAGE), obj.dtype)
        if isinstance(obj, UntypedStorage):
            return self._storage_id(obj, UNTYPED_STORAGE, None)
        return None

    def _storage_id(self, storage: UntypedStorage, kind: TorchName, dtype: Any) -> tuple[Any, ...]:
        if self._old and dtype is None:
            kind = STORAGES["uint8"]  # PyTorch writes UntypedStorage, and cannot read it
        key = self.storages.setdefault(storage, str(len(self.storages)))
        if self.dtypes.setdefault(storage, dtype) is not dtype and storage.nbytes():
            raise RuntimeError(
                "save: Cannot save multiple tensors or storages that view the same data as different types, here "
                f"{self.dtypes[storage] or 'bytes'} and {dtype or 'bytes'}; save a clone() of one of them"
            )
        count = storage.nbytes() // (1 if dtype is None else dtype.itemsize)
        identity = "storage", kind, key, location_tag(storage), count
        return (
            (*identity, None) if self._old else identity
        )  # PyTorch 0.3 had views of storages, which would stand there

    def reducer_override(self, obj: Any) -> Any:
        """What stands in the file for a tensor and its like; a string means a name."""
        if not isinstance(obj, self._kinds):
            if self._reduce_others is None or id(obj) in self._names:
                return NotImplemented
            return self._reduce_others(obj)
        if isinstance(obj, Reduced):
            return obj.function, obj.arguments
        if isinstance(obj, self._kinds[:2]):
            return obj.name
        return reduce(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a class, function or constant by name: PyTorch's if it has the same."""
        known = obj if isinstance(obj, TorchName) else self._names.get(id(obj))
        if known is None:
            super().save_global(obj, name)
            return
        if self.proto >= 4:
            self.save(known.module)
            self.save(known.name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{known.module}\n{known.name}\n".encode())
        self.memoize(obj)


def _names_of_objects() -> dict[int, TorchName]:
    """Names of PyTorch's for what is written as a name: dtypes and classes, by id."""
    names = {id(NAMES[name]): TorchName("torch", name) for name in DTYPES}
    names[id(Tensor)] = TENSOR
    names[id(parameter_class())] = PARAMETER
    return names
