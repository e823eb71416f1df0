"""Files of PyTorch's first months: a tar archive of three members.

``storages`` has their number, then of each its key, place and type as a pickle, its number of elements and its bytes;
then which storages are parts of others. ``tensors`` has the same of tensors: key, key of the storage and type, and the
geometry. ``pickle`` is the object, which refers to both by their keys.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Callable
from types import ModuleType
from typing import IO, Any

import numpy

from weft._devices import device
from weft._dtypes import NAMES
from weft.serialization._legacy import content_of
from weft.serialization._names import STORAGE_DTYPES, Reader, StorageType
from weft.serialization._reading import allowed, full_unpickler
from weft.serialization._unpickler import Allowed, SafeUnpickler
from weft.storage import Memory, TypedStorage, UntypedStorage, address, tensor_of

DIMENSIONS = 64  # what NumPy has
BLOCK = 512
SIGNATURE = slice(257, 262)  # where a tar archive says "ustar"


def is_tar(begin: bytes) -> bool:
    """Whether a file that begins so is a tar archive."""
    return begin[SIGNATURE] == b"ustar"


def load_tar(
    file: IO[bytes],
    source: str,
    restore: Callable[[UntypedStorage, str], UntypedStorage],
    safe: bool,
    pickle_module: ModuleType | None,
    pickle_load_args: dict[str, Any],
) -> Any:
    """Read such a file from where it stands; the parameters are those of `weft.load`, prepared."""
    data = content_of(file)
    members = _members(data, source)
    reader = Reader()
    objects = Objects(source, restore)
    try:
        objects.read_storages(Stream(data, source, members["storages"].start))
        objects.read_tensors(Stream(data, source, members["tensors"].start))
    except (ValueError, TypeError, KeyError, struct.error, OverflowError) as error:
        raise pickle.UnpicklingError(f"load: {source} cannot be rebuilt: {str(error)[:500]}") from error
    place = members["pickle"]
    if safe:
        return SafeUnpickler(data, allowed(reader), objects, source, place.start).load()
    return full_unpickler(pickle_module, io.BytesIO(data[place]), reader, objects, pickle_load_args).load()


def _members(data: Any, source: str) -> dict[str, slice]:
    """Where the members are: blocks of 512 bytes, a header with name, size and kind before each member's own."""
    found: dict[str, slice] = {}
    position = 0
    while position + BLOCK <= len(data):
        header = data[position : position + BLOCK]
        try:
            size = int(header[124:136].strip(b" \0") or b"0", 8)
        except ValueError:
            size = -1
        start = position + BLOCK
        if not 0 <= size <= len(data) - start:
            raise RuntimeError(f"load: {source} is a tar archive that is damaged or truncated")
        if header[156:157] in (b"0", b"\0"):  # a file
            found[header[:100].rstrip(b"\0").decode("latin-1")] = slice(start, start + size)
        position = start + -(-size // BLOCK) * BLOCK
    if not {"storages", "tensors", "pickle"} <= found.keys():
        raise RuntimeError(f"load: {source} is a tar archive, and no checkpoint; it holds {list(found)[:5]}")
    return found


class Objects:
    """The storages and tensors of a file, by their keys."""

    def __init__(self, source: str, restore: Callable[[UntypedStorage, str], UntypedStorage]) -> None:
        self._source = source
        self._restore = restore
        self._storages: dict[int, TypedStorage] = {}
        self._tensors: dict[int, Any] = {}

    def __call__(self, identity: Any) -> Any:
        """Return the object of a persistent id; a tuple stands for a class and its source, which is not compared."""
        if type(identity) is tuple and identity:
            return identity[0]
        key: Any = int(identity) if type(identity) in (int, str) else None
        for objects in (self._tensors, self._storages):
            if key in objects:
                return objects[key]
        raise pickle.UnpicklingError(f"load: the pickle in {self._source} refers to what is not there")

    def read_storages(self, stream: Stream) -> None:
        """Read the member ``storages``."""
        for _ in range(stream.count()):
            key, location, kind = stream.pickled()
            if type(key) is not int or type(location) is not str or type(kind) is not StorageType:
                raise ValueError("a storage without key, place or type")
            content = stream.array(stream.integer() * kind.dtype.itemsize)
            storage = UntypedStorage._of_array(content, device("cpu"))
            if sys.byteorder == "big":
                storage.byteswap(kind.dtype)
            self._storages[key] = TypedStorage(wrap_storage=self._restore(storage, location), dtype=kind.dtype)
        for key, root, offset, count in stream.pickled():
            self._storages[key] = _part(self._storages[root], offset, count)

    def read_tensors(self, stream: Stream) -> None:
        """Read the member ``tensors``."""
        for _ in range(stream.count()):
            key, storage, _ = stream.pickled()
            ndim = stream.integer() & 0xFFFFFFFF  # the upper half was never written on some machines
            if ndim > DIMENSIONS or type(key) is not int:
                raise ValueError(f"a tensor of {ndim} dimensions")
            size, stride = stream.integers(ndim), stream.integers(ndim)
            typed = self._storages[storage]
            try:
                self._tensors[key] = tensor_of(typed.untyped(), typed.dtype, stream.integer(), size, stride)
            except RuntimeError as error:
                raise ValueError(error) from error


def _part(root: TypedStorage, offset: Any, count: Any) -> TypedStorage:
    """Some elements of a storage, in the same memory."""
    memory, width = root.untyped()._array, root.element_size()
    if type(offset) is not int or type(count) is not int or not 0 <= offset <= offset + count <= len(root):
        raise ValueError("a part of a storage that is not inside of it")
    part = numpy.asarray(Memory(address(memory) + offset * width, count * width, memory))
    return TypedStorage(wrap_storage=UntypedStorage._of_array(part, device("cpu")), dtype=root.dtype)


class Stream:
    """Pickles and little-endian integers, one after the other."""

    def __init__(self, data: Any, source: str, position: int) -> None:
        self._data = data
        self._source = source
        self._position = position
        kinds = {f"torch.{name}": StorageType(NAMES[dtype]) for name, dtype in STORAGE_DTYPES.items()}
        tensors = {name.replace("Storage", "Tensor"): kind for name, kind in kinds.items()}
        self._allowed = Allowed({**kinds, **tensors}, {}, frozenset())

    def pickled(self) -> Any:
        """Return the next object."""
        unpickler = SafeUnpickler(self._data, self._allowed, self._refuse, self._source, self._position)
        value = unpickler.load()
        self._position = unpickler.position
        return value

    def count(self) -> int:
        """Return the next object, which is a number of things that follow."""
        value = self.pickled()
        if type(value) is not int:
            raise ValueError("the number of storages or tensors is no number")
        return value

    def integer(self) -> int:
        """Return the next 8 bytes as an integer."""
        return self.integers(1)[0]

    def integers(self, count: int) -> tuple[int, ...]:
        """Return so many integers."""
        values = struct.unpack_from(f"<{count}q", self._data, self._position)
        self._position += 8 * count
        return values

    def array(self, nbytes: int) -> Any:
        """Return a copy of the next bytes."""
        if not 0 <= nbytes <= len(self._data) - self._position:
            raise ValueError(f"{nbytes} bytes where {len(self._data) - self._position} are left")
        content = numpy.frombuffer(self._data, numpy.uint8, nbytes, self._position).copy()
        self._position += nbytes
        return content

    def _refuse(self, identity: Any) -> Any:
        raise pickle.UnpicklingError(f"load: a header in {self._source} refers to storages")
