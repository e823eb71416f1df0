"""From objects to the records of a ``.pt`` file."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

from weft._devices import device
from weft._dtypes import NAMES, dtype
from weft._size import Size
from weft._tensor import Tensor
from weft.serialization._archive import ArchiveWriter, replacing
from weft.serialization._names import (
    DTYPES,
    PARAMETER,
    STORAGES,
    TENSOR,
    UNTYPED_STORAGE,
    Reduced,
    TorchName,
    parameter_class,
    reduce,
)
from weft.storage import TypedStorage, UntypedStorage

__all__ = ["pickled", "replacing", "write"]


def pickled(obj: object, protocol: int) -> tuple[bytes, list[UntypedStorage]]:
    """Return the pickle of an object, and the storages that it refers to, in the order of their keys."""
    stream = io.BytesIO()
    pickler = TorchPickler(stream, protocol)
    pickler.dump(obj)
    return stream.getvalue(), list(pickler.storages)


def write(content: tuple[bytes, list[UntypedStorage]], file: Any, name: str, compute_crc32: bool) -> None:
    """Write what `pickled` returned as an archive."""
    data, storages = content
    archive = ArchiveWriter(file, name, compute_crc32)
    archive.write("data.pkl", data)
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", b"64")
    archive.write("byteorder", sys.byteorder.encode())
    for key, storage in enumerate(storages):
        archive.write(f"data/{key}", storage._host_bytes())
    archive.write("version", b"3\n")
    archive.close()


PythonPickler: Any = pickle._Pickler


class TorchPickler(PythonPickler):  # type: ignore[misc]
    """Writes weft's objects under the names that PyTorch gives its own.

    Python's C pickler refuses to write the name of what cannot be imported; this one, its twin in
    Python, lets `save_global` be replaced.
    """

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: dict[UntypedStorage, str] = {}  # with the key of the record that it becomes
        self._dtypes: dict[UntypedStorage, Any] = {}
        self._names = _names_of_objects()
        self._kinds = (dtype, TorchName, Reduced, Tensor, Size, device)

    def persistent_id(self, obj: Any) -> Any:
        """Storages are records of their own; the pickle has their keys."""
        if isinstance(obj, TypedStorage):
            return self._storage_id(obj.untyped(), STORAGES.get(obj.dtype.name, UNTYPED_STORAGE), obj.dtype)
        if isinstance(obj, UntypedStorage):
            return self._storage_id(obj, UNTYPED_STORAGE, None)
        return None

    def _storage_id(self, storage: UntypedStorage, kind: TorchName, dtype: Any) -> tuple[Any, ...]:
        key = self.storages.setdefault(storage, str(len(self.storages)))
        if self._dtypes.setdefault(storage, dtype) is not dtype and storage.nbytes():
            raise RuntimeError(
                f"save: two tensors are views of the same memory as {self._dtypes[storage] or 'bytes'} and as "
                f"{dtype or 'bytes'}, which the file format cannot express; save a clone() of one of them"
            )
        count = storage.nbytes() // (1 if dtype is None else dtype.itemsize)
        return "storage", kind, key, str(storage.device), count

    def reducer_override(self, obj: Any) -> Any:
        """What stands in the file for a tensor and its like; a string means a name."""
        if not isinstance(obj, self._kinds):
            return NotImplemented
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
