"""`save`: objects into PyTorch's ``.pt`` files."""

from __future__ import annotations

import io
import os
import pickle
import sys
from types import ModuleType
from typing import Any

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

DEFAULT_PROTOCOL = 2
_compute_crc32 = True


def get_crc32_options() -> bool:
    """Return whether `save` computes a checksum of each record."""
    return _compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether `save` computes a checksum of each record.

    Without them saving large files is somewhat faster, damage goes unnoticed, and unzip complains.
    """
    global _compute_crc32
    _compute_crc32 = bool(compute_crc32)


def save(
    obj: object,
    f: str | os.PathLike[str] | Any,
    pickle_module: ModuleType | None = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object with its tensors to a file that both weft and PyTorch read.

    Tensors that share memory share it again when loaded. The whole of that memory is written, also
    if ``obj`` has only a small view of it: save ``view.clone()`` to write the view alone.

    Parameters
    ----------
    obj : object
        Tensors, parameters, and containers of them; whatever else pickle can write needs
        ``weights_only=False``, or a list of safe globals, to be loaded.
    f : str, path or object with a ``write`` method
        A path is replaced only when everything has been written to disk: a crash leaves the old file.
    pickle_module : module, optional
        Only Python's own ``pickle``.
    pickle_protocol : int, default 2
        PyTorch's safe loading reads 2 only.

    Raises
    ------
    RuntimeError
        If the path's folder does not exist, or if two tensors are views of the same memory as
        different dtypes.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> weft.save({"weight": weft.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> weft.load(file)
    {'weight': tensor([1., 1.])}
    """
    if pickle_module not in (None, pickle):
        raise ValueError(f"save: pickle_module must be Python's pickle, got {pickle_module!r}")
    if not _use_new_zipfile_serialization:
        raise ValueError("save: the format of before PyTorch 1.6 is read and not written; save without that argument")
    if isinstance(f, str | os.PathLike):
        path = os.fspath(f)
        name = os.path.basename(path).rpartition(".")[0] or os.path.basename(path)
        pickled = _pickled(obj, pickle_protocol)  # first: what cannot be pickled touches no file
        with replacing(path) as file:
            _write(pickled, file, name)
        return
    if not hasattr(f, "write"):
        raise AttributeError(f"save: f must be a path or have a write method, got {type(f).__name__}")
    _write(_pickled(obj, pickle_protocol), f, "archive")


def _pickled(obj: object, protocol: int) -> tuple[bytes, list[UntypedStorage]]:
    stream = io.BytesIO()
    pickler = TorchPickler(stream, protocol)
    pickler.dump(obj)
    return stream.getvalue(), list(pickler.storages)


def _write(pickled: tuple[bytes, list[UntypedStorage]], file: Any, name: str) -> None:
    data, storages = pickled
    archive = ArchiveWriter(file, name, _compute_crc32)
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
        import weft

        super().__init__(file, protocol)
        self.storages: dict[UntypedStorage, int] = {}  # with the key of the record that it becomes
        self._dtypes: dict[UntypedStorage, Any] = {}
        self._names = _names_of_objects()
        self._kinds = (weft.dtype, TorchName, Reduced, weft.Tensor, weft.Size, weft.device)

    def persistent_id(self, obj: Any) -> Any:
        """Storages are records of their own; the pickle has their keys."""
        if isinstance(obj, TypedStorage):
            return self._storage_id(obj.untyped(), STORAGES.get(obj.dtype.name, UNTYPED_STORAGE), obj.dtype)
        if isinstance(obj, UntypedStorage):
            return self._storage_id(obj, UNTYPED_STORAGE, None)
        return None

    def _storage_id(self, storage: UntypedStorage, kind: TorchName, dtype: Any) -> tuple[Any, ...]:
        key = self.storages.setdefault(storage, len(self.storages))
        if self._dtypes.setdefault(storage, dtype) is not dtype and storage.nbytes():
            raise RuntimeError(
                f"save: two tensors are views of the same memory as {self._dtypes[storage] or 'bytes'} and as "
                f"{dtype or 'bytes'}, which the file format cannot express; save a clone() of one of them"
            )
        count = storage.nbytes() // (1 if dtype is None else dtype.itemsize)
        return "storage", kind, str(key), str(storage.device), count

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
    import weft

    names = {id(getattr(weft, dtype)): TorchName("torch", dtype) for dtype in DTYPES}
    names[id(weft.Tensor)] = TENSOR
    names[id(parameter_class())] = PARAMETER
    return names
