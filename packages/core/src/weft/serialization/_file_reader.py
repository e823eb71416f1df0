"""`PyTorchFileReader`: the records of a ``.pt`` file one by one, which Lightning reads when they are needed."""

from __future__ import annotations

import os
import weakref
from typing import IO, Any

import weft
from weft.serialization._archive import ArchiveReader
from weft.serialization._budget import Budget
from weft.serialization._reading import length_of

__all__ = ["PyTorchFileReader"]


class PyTorchFileReader:
    """The records of a ``.pt`` file.

    Parameters
    ----------
    file : str, path or binary file that can seek

    Raises
    ------
    RuntimeError
        If it is no such file.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> weft.save({"a": weft.ones(2)}, file)
    >>> reader = weft.PyTorchFileReader(file)
    >>> reader.has_record("data/0"), reader.get_record_size("data/0")
    (True, 8)
    """

    def __init__(self, file: str | os.PathLike[str] | IO[bytes]) -> None:
        self._file: IO[bytes]
        if isinstance(file, str | os.PathLike):
            self._file = open(file, "rb")  # noqa: SIM115  # it lives as long as the reader
            weakref.finalize(self, self._file.close)
        else:
            self._file = file
        self._archive = ArchiveReader(self._file, "the file", Budget(length_of(self._file), "the file"))

    def get_all_records(self) -> list[str]:
        """Return the names of all records."""
        return self._archive.records()

    def has_record(self, name: str) -> bool:
        """Whether there is a record of that name."""
        return name in self._archive

    def get_record(self, name: str) -> bytes:
        """Return a record.

        Raises
        ------
        RuntimeError
            If there is none of that name.
        """
        self._check(name)
        return bytes(self._archive.read(name).tobytes())

    def get_record_size(self, name: str) -> int:
        """Return the number of bytes of a record."""
        self._check(name)
        return self._archive.size(name)

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """Return a tensor without elements whose storage is the record.

        Parameters
        ----------
        name : str
        numel : int
            How many elements of ``dtype`` the record has; of ``UntypedStorage``, how many bytes.
        dtype : dtype or type of storage

        Raises
        ------
        RuntimeError
            If there is no such record, or if it has fewer elements.
        """
        self._check(name)
        element = dtype if isinstance(dtype, weft.dtype) else weft.uint8
        size = self._archive.size(name)
        if numel * element.itemsize > size:
            raise RuntimeError(f"get_storage_from_record: {name} has {size} bytes, not {numel} elements of {element}")
        return weft.from_numpy(self._archive.read(name).copy()).view(element)[:0]

    def _check(self, name: str) -> None:
        if name not in self._archive:
            raise RuntimeError(f"PyTorchFileReader: the file has no record {name!r}; it has {self.get_all_records()}")
