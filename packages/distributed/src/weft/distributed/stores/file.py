"""`FileStore`: a store in a file that all processes can write."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from weft.distributed._errors import DistStoreError
from weft.distributed._messages import HEADER, MessageError, decode, encode, matches
from weft.distributed.stores._values import Values, as_bytes
from weft.distributed.stores.base import Store

__all__ = ["FileStore"]

SET, DELETE, APPEND = 1, 2, 3  # the records of the file
LOOK_SECONDS = 0.01
FINISHED = "finished/"  # counts the processes that are done with the store


class FileStore(Store):
    """A `Store` in a file, as a log of changes: each process reads what others have added, and adds its own.

    The system's lock of the file lets one process at a time change it; so the file system must have locks (NFS has).
    The last of ``world_size`` processes that is done with the store removes the file.

    Parameters
    ----------
    file_name : str
        A file that does not exist yet, or that another process of the group has just made.
    world_size : int
        How many processes will use it; -1 if that is not known, and then the file stays.

    Raises
    ------
    DistStoreError
        If the file is another user's, or no store's.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = weft.distributed.FileStore(os.path.join(folder, "store"), 1)
    ...     store.set("a", "b")
    ...     store.get("a")
    b'b'
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self._path = os.fspath(file_name)
        self._values = Values()
        self._read_to = 0
        self._lock = threading.RLock()
        with self._locked_file() as file:
            if os.fstat(file).st_uid != os.geteuid():
                raise DistStoreError(f"FileStore: {self._path} belongs to another user")
        if world_size > 0:
            self.add(FINISHED, 0)
            self._finalizer = weakref.finalize(self, _finish, self._path, world_size, os.getpid())

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def set(self, key: str, value: str | bytes) -> None:
        with self._locked_file() as file:
            self._change(file, SET, key, as_bytes(value))

    def get(self, key: str) -> bytes:
        self.wait([key])
        with self._lock:
            return self._values.get(key)

    def add(self, key: str, amount: int) -> int:
        with self._locked_file() as file:
            total = self._values.number(key) + amount
            self._change(file, SET, key, str(total).encode())
            return total

    def append(self, key: str, value: str | bytes) -> None:
        with self._locked_file() as file:
            self._change(file, APPEND, key, as_bytes(value))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        with self._locked_file() as file:
            value = self._values.compare_set(key, as_bytes(expected), as_bytes(desired))
            if not self._values.missing([key]):
                self._change(file, SET, key, value)
            return value

    def check(self, keys: Sequence[str]) -> bool:
        return not self._missing(keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        end = time.monotonic() + seconds
        while missing := self._missing(keys):
            if time.monotonic() >= end:
                names = ", ".join(missing)
                raise DistStoreError(f"wait timeout after {seconds:g} s, keys that nobody has set: {names}")
            time.sleep(LOOK_SECONDS)

    def delete_key(self, key: str) -> bool:
        with self._locked_file() as file:
            found = not self._values.missing([key])
            self._change(file, DELETE, key)
            return found

    def num_keys(self) -> int:
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        with self._locked_file():
            return self._values.keys()

    def _missing(self, keys: Sequence[str]) -> list[str]:
        with self._locked_file():
            return self._values.missing(keys)

    @contextmanager
    def _locked_file(self) -> Iterator[int]:
        """The file, all of which was read, and which nobody else changes."""
        with self._lock, _locked(self._path) as file:
            self._read(file)
            yield file

    def _change(self, file: int, *record: Any) -> None:
        code, *fields = record
        _write_all(file, encode(code, *fields))
        self._read(file)

    def _read(self, file: int) -> None:
        """Follow the changes from where this process has read to."""
        data = os.pread(file, os.fstat(file).st_size - self._read_to, self._read_to)
        position = 0
        while position < len(data):
            try:
                code, length = HEADER.unpack_from(data, position)
                position += HEADER.size
                self._apply(code, decode(data[position : position + length]))
            except (struct.error, MessageError, TypeError) as error:
                raise DistStoreError(f"{self._path} is not the file of a store: {error}") from error
            position += length
        self._read_to += position

    def _apply(self, code: int, fields: list[Any]) -> None:
        if code == SET and matches(fields, str, bytes):
            self._values.set(*fields)
        elif code == APPEND and matches(fields, str, bytes):
            self._values.append(*fields)
        elif code == DELETE and matches(fields, str):
            self._values.delete(*fields)
        else:
            raise MessageError(f"a change of code {code}")


@contextmanager
def _locked(path: str) -> Iterator[int]:
    """Open a file, made if there is none, that other processes cannot lock meanwhile."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)  # which unlocks it


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _finish(path: str, world_size: int, pid: int) -> None:
    """Count a process that is done; the last removes the file."""
    if os.getpid() != pid or not os.path.exists(path):
        return
    store = FileStore(path)
    if store.add(FINISHED, 1) >= world_size:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
