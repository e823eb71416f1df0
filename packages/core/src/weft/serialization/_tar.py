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

from weft._devices.devices import device
from weft._dtypes.dtypes import NAMES
from weft.serialization._budget import Budget
from weft.serialization._legacy import content_of
from weft.serialization._names import MEMORY_OF_A_TENSOR, STEPS_OF_A_TENSOR, STORAGE_DTYPES, Reader, StorageType
from weft.serialization._unpickler import Allowed, SafeUnpickler
from weft.serialization._unpicklers import MEMORY_OF_A_STORAGE, STEPS_OF_A_STORAGE, allowed, full_unpickler
from weft.storage import Memory, TypedStorage, UntypedStorage, address, tensor_of

DIMENSIONS = 64  # what NumPy has
BLOCK = 512
STEPS_OF_A_PICKLE = 50
SIGNATURE = slice(257, 262)  # where a tar archive says "ustar"


def is_tar(begin: bytes) -> bool:
    """Whether a file that begins so is a tar archive."""
    return begin[SIGNATURE] == b"ustar"


def load_tar(
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
    members = _members(data, source)
    reader = Reader(budget)
    objects = Objects(source, budget, restore)
    try:
        objects.read_storages(Stream(data, source, budget, members["storages"].start))
        objects.read_tensors(Stream(data, source, budget, members["tensors"].start))
    except (ValueError, TypeError, KeyError, struct.error, OverflowError) as error:
        raise pickle.UnpicklingError(f"load: {source} cannot be rebuilt: {str(error)[:500]}") from error
    place = members["pickle"]
    if safe:
        return SafeUnpickler(data, allowed(reader), objects, source, budget, place.start).load()
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

    def __init__(self, source: str, budget: Budget, restore: Callable[[UntypedStorage, str], UntypedStorage]) -> None:
        self._source = source
        self._budget = budget
        self._restore = restore
        self._storages: dict[str, TypedStorage] = {}  # by the text of their keys, see `Keys`
        self._tensors: dict[str, Any] = {}

    def __call__(self, identity: Any) -> Any:
        """Return the object of a persistent id; a tuple stands for a class and its source, which is not compared."""
        if type(identity) is tuple and identity:
            return identity[0]
        key = _key(int(identity)) if type(identity) in (int, str) else ""
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
            self._budget.take(MEMORY_OF_A_STORAGE)
            self._budget.spend(STEPS_OF_A_STORAGE)
            content = stream.array(stream.integer() * kind.dtype.itemsize)
            storage = UntypedStorage._of_array(content, device("cpu"))
            if sys.byteorder == "big":
                storage.byteswap(kind.dtype)
            self._storages[_key(key)] = TypedStorage(wrap_storage=self._restore(storage, location), dtype=kind.dtype)
        parts = stream.pickled()
        if type(parts) is not list or any(type(part) is not tuple or len(part) != 4 for part in parts):
            raise ValueError("the parts of storages are no list of tuples")
        for key, root, offset, count in parts:
            self._budget.take(MEMORY_OF_A_STORAGE)
            self._budget.spend(STEPS_OF_A_STORAGE)
            self._storages[_key(key)] = _part(self._storages[_key(root)], offset, count)

    def read_tensors(self, stream: Stream) -> None:
        """Read the member ``tensors``."""
        for _ in range(stream.count()):
            key, storage, _ = stream.pickled()
            ndim = stream.integer() & 0xFFFFFFFF  # the upper half was never written on some machines
            if ndim > DIMENSIONS:
                raise ValueError(f"a tensor of {ndim} dimensions")
            size, stride = stream.integers(ndim), stream.integers(ndim)
            typed = self._storages[_key(storage)]
            self._budget.take(MEMORY_OF_A_TENSOR)
            self._budget.spend(STEPS_OF_A_TENSOR)
            try:
                self._tensors[_key(key)] = tensor_of(typed.untyped(), typed.dtype, stream.integer(), size, stride)
            except RuntimeError as error:
                raise ValueError(error) from error


def _key(key: Any) -> str:
    if type(key) is not int or not -(1 << 64) < key < 1 << 64:  # the hash of a nested tuple is recursive in C
        raise ValueError("the key of a storage or tensor is no number")
    return str(key)


def _part(root: TypedStorage, offset: Any, count: Any) -> TypedStorage:
    """Some elements of a storage, in the same memory."""
    memory, width = root.untyped()._array, root.element_size()
    if type(offset) is not int or type(count) is not int or not 0 <= offset <= offset + count <= len(root):
        raise ValueError("a part of a storage that is not inside of it")
    part = numpy.asarray(Memory(address(memory) + offset * width, count * width, memory))
    return TypedStorage(wrap_storage=UntypedStorage._of_array(part, device("cpu")), dtype=root.dtype)


class Stream:
    """Pickles and little-endian integers, one after the other."""

    def __init__(self, data: Any, source: str, budget: Budget, position: int) -> None:
        self._data = data
        self._source = source
        self._budget = budget
        self._position = position
        kinds = {f"torch.{name}": StorageType(NAMES[dtype]) for name, dtype in STORAGE_DTYPES.items()}
        tensors = {name.replace("Storage", "Tensor"): kind for name, kind in kinds.items()}
        self._allowed = Allowed({**kinds, **tensors}, {}, frozenset())

    def pickled(self) -> Any:
        """Return the next object."""
        self._budget.spend(STEPS_OF_A_PICKLE)
        unpickler = SafeUnpickler(self._data, self._allowed, self._refuse, self._source, self._budget, self._position)
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
        self._budget.take(nbytes)
        content = numpy.frombuffer(self._data, numpy.uint8, nbytes, self._position).copy()
        self._position += nbytes
        return content

    def _refuse(self, identity: Any) -> Any:
        raise pickle.UnpicklingError(f"load: a header in {self._source} refers to storages")
