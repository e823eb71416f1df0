"""Storages: the memory that tensors are views of, without a dtype or with one.

A tensor keeps its array; its storage is found when somebody asks, as the outermost array of the
chain of views. Two tensors share a storage if that chain ends in the same memory.
"""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from mmap import mmap
from operator import index
from typing import Any, NoReturn, Self, cast
from weakref import WeakValueDictionary, ref

import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

from weft import _display_name
from weft._devices.devices import backend_of, device, resolve_device
from weft._dtypes.dtypes import NAMES, dtype, get_default_dtype
from weft._dtypes.float8 import converted
from weft._dtypes.legacy_names import SCALAR_TYPES, named_type
from weft._engine.unresolved import Unresolved
from weft._engine.unresolved import memory_of as in_memory
from weft._lazy import lazy
from weft._settings import warn_caller_once
from weft._tensor import held_storages as held
from weft._tensor.base import wrap

__all__ = ["TypedStorage", "UntypedStorage", "is_storage"]


def owner(array: Any) -> Any:
    """Return the outermost array that ``array`` is a view of.

    Between a view and its base may stand objects that are no arrays (NumPy's `as_strided` puts one
    there), so that the chain is followed through anything that has a ``base``.
    """
    array = in_memory(array)
    kind = numpy.ndarray if isinstance(array, numpy.ndarray) else type(array)
    outermost, base = array, array.base
    while base is not None:
        if isinstance(base, kind):
            outermost = base
        base = getattr(base, "base", None)
    return outermost


def address(array: Any) -> int:
    """Return where the first element of an array is."""
    array = in_memory(array)
    if isinstance(array, numpy.ndarray):
        return int(array.__array_interface__["data"][0])
    return int(array.data.ptr)  # CuPy, and array libraries made like it


class Memory:
    """A stretch of another object's memory, which NumPy makes an array of and keeps alive.

    It ends the chain of views: such an array is its own storage.
    """

    def __init__(self, start: int, nbytes: int, keep: object, readonly: bool = False) -> None:
        self.keep = keep
        self.__array_interface__ = {
            "data": (start, readonly),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


class Left(Memory):
    """The memory that a storage had before `resize_`, for the tensors that do not fit in what it has now."""

    def __init__(self, array: Any, storage: Any) -> None:
        super().__init__(address(array), array.size, array, not array.flags.writeable)
        self.storage = storage


class Outside(NDArrayOperatorsMixin):
    """The array of a device's tensor that does not fit in its storage since `resize_`: a geometry, without elements.

    So the device's memory is free, which is what programs make a storage smaller for. Whatever reads or writes elements
    raises.

    Attributes
    ----------
    left : UntypedStorage
    offset : int
        In bytes, from the start of the storage.
    """

    base = None

    def __init__(self, array: Any, left: Any, offset: int) -> None:
        self.shape, self.strides, self.dtype, self.ndim = array.shape, array.strides, array.dtype, array.ndim
        self.size, self.itemsize, self.nbytes, self.flags = array.size, array.itemsize, array.nbytes, array.flags
        self.left, self.offset = left, offset

    def refuse(self, *args: Any, **options: Any) -> NoReturn:
        """Raise RuntimeError."""
        raise RuntimeError(
            f"The tensor has no elements: it needs more than the {self.left.nbytes()} bytes that its storage was "
            "resized to. Make the storage large enough again, with resize_, before you use it"
        )

    def __getattr__(self, name: str) -> NoReturn:
        self.refuse()

    __array__ = __array_ufunc__ = __array_function__ = __getitem__ = __setitem__ = __len__ = __iter__ = refuse


def storage_left_by(array: Any) -> Any:
    """The storage that is too small for an array since `resize_`; None if it is not."""
    array = in_memory(array)
    if not isinstance(array, numpy.ndarray):
        return array.left if type(array) is Outside else None
    base = getattr(owner(array), "base", None)
    return base.storage if type(base) is Left else None


def place_of(array: Any, storage: StorageBase) -> int:
    """Return how many bytes of its storage are before an array's first element."""
    array = in_memory(array)
    if storage_left_by(array) is None:
        return address(array) - address(storage._array)
    return address(array) - address(owner(array)) if isinstance(array, numpy.ndarray) else int(array.offset)


def reach(array: Any) -> int:
    """How many bytes there are from an array's first element to the end of its last."""
    steps = [(size - 1) * step for size, step in zip(array.shape, array.strides)]
    return int(array.itemsize + sum(steps)) if array.size else 0


def placed(memory: Any, offset: int, like: Any) -> Any:
    """The array in flat bytes that begins at an offset, with the dtype, shape and strides of another."""
    if isinstance(memory, numpy.ndarray):
        return numpy.ndarray(like.shape, like.dtype, memory, offset, like.strides)
    pointer = memory.data
    begin = type(pointer)(pointer.mem, pointer.ptr - pointer.mem.ptr + offset)
    return type(memory)(like.shape, like.dtype, begin, like.strides)


def whole_memory(array: Any) -> Any:
    """Return all of the memory that an array is in, as flat uint8.

    Of CuPy's arrays not all views know their base, but each its memory, whose size the pool may have rounded up.
    """
    array = in_memory(array)
    held = None if isinstance(array, numpy.ndarray) else getattr(array.data, "mem", None)
    if held is None:
        return memory_of(owner(array))
    nbytes = getattr(held, "requested", held.size)
    return type(array)((nbytes,), numpy.dtype("uint8"), type(array.data)(held, 0))


def memory_of(array: Any) -> Any:
    """Return all the memory between an array's first and last element, as a flat uint8 array of its own."""
    if array.flags.c_contiguous:
        return array.reshape(-1).view("uint8")
    if array.flags.f_contiguous:
        return array.T.reshape(-1).view("uint8")
    low, high = numpy.lib.array_utils.byte_bounds(array)
    return numpy.asarray(Memory(low, high - low, array, not array.flags.writeable))


def mapping_of(array: Any) -> Any:
    """The mapping that an array's memory lies in, which a forked process writes to as well; None if there is none."""
    base = array
    while base is not None and not isinstance(base, mmap):
        if isinstance(base, Memory):
            base = base.keep
        else:
            base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return base


def shared_copy(array: Any) -> Any:
    """A copy in memory that processes can share, dense in the same order of dimensions."""
    from weft._tensor.shared_memory import allocate

    dense = numpy.empty_like(array)  # for its strides
    memory = numpy.frombuffer(allocate(max(dense.nbytes, 1)), numpy.uint8, dense.nbytes)
    made = numpy.ndarray(dense.shape, dense.dtype, memory, 0, dense.strides)
    made[...] = array
    return made


def own_storage(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """Return the same array as a storage of its own, however large the array is that it is a view of."""
    if array.base is None or not array.size:
        return array
    if array.flags.c_contiguous and array.dtype.isbuiltin == 1:
        return numpy.asarray(memoryview(array))  # type: ignore[arg-type]  # the chain of views ends there
    low, high = numpy.lib.array_utils.byte_bounds(array)
    memory = numpy.asarray(Memory(low, high - low, array, not array.flags.writeable))
    return numpy.ndarray(array.shape, array.dtype, memory, 0, array.strides)


def bytes_of(count: int) -> numpy.ndarray[Any, Any]:
    """So many bytes, uninitialised.

    Raises
    ------
    RuntimeError
        If there are not so many.
    """
    if not 0 <= count < 1 << 63:
        raise RuntimeError(f"UntypedStorage: size in bytes must be from 0 to 2**63 - 1; got {count}")
    try:
        return numpy.empty(count, numpy.uint8)
    except MemoryError as error:
        raise RuntimeError(f"UntypedStorage: not enough memory for {count} bytes") from error


class StorageBase:
    """What storages without a dtype have in common: `UntypedStorage`, and classes that programs derive.

    Parameters
    ----------
    size : int, default 0
        In bytes; the content is not initialised. A sequence of integers, or a storage, gives the content instead.
    device : device, optional

    Raises
    ------
    RuntimeError
        If this class itself is called.
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_device", "_filename", "_outside", "_users")
    _array: Any
    _device: Any
    _filename: str | None
    _outside: list[Any]  # weak references to tensors that wait for it to grow again
    _users: list[Any]  # weak references to tensors

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if cls is StorageBase:
            raise RuntimeError("StorageBase(): Cannot directly construct StorageBase; take UntypedStorage")
        return object.__new__(cls)

    def __init__(self, size: int | Iterable[int] = 0, *, device: Any = None) -> None:
        content = bytes_of(size) if isinstance(size, int) else numpy.array(list(size), numpy.uint8)
        made = UntypedStorage._of_array(content, _device("cpu")).to(device or "cpu")
        self._array, self._device, self._users, self._outside = made._array, made._device, [], []
        self._filename = None
        if self._array.size:
            _alive[self._device, address(self._array), self._array.size] = cast("UntypedStorage", self)

    @classmethod
    def _of_array(cls, array: Any, device: Any) -> UntypedStorage:
        """Return the storage that an array's memory belongs to."""
        left = storage_left_by(array)
        if left is not None:
            return cast("UntypedStorage", left)
        memory = whole_memory(array)
        key = device, address(memory), memory.size
        known = _alive.get(key)
        if known is not None:
            return known
        self = object.__new__(cls)
        self._array, self._device, self._users, self._outside = memory, device, [], []
        self._filename = None
        made = cast("UntypedStorage", self)
        return _alive.setdefault(key, made) if memory.size else made  # another thread may have been quicker

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: Any = None
    ) -> UntypedStorage:
        """Return a storage of a copy of a buffer's elements, in this machine's byte order.

        Parameters
        ----------
        buffer : object with the buffer protocol
        byte_order : "little", "big" or "native", optional
            Of the buffer. Must be given where elements have more than one byte.
        dtype : dtype, default weft.uint8
        count : int
            How many elements; -1 for all.
        offset : int
            In bytes.

        Raises
        ------
        ValueError
            If the buffer is too small, no whole number of elements, or the byte order is none.
        RuntimeError
            If there is no byte order.
        """
        element = _named_dtype("uint8") if dtype is None else dtype
        width = element.itemsize
        if byte_order is None and width > 1:
            raise RuntimeError(f"from_buffer: elements of {element} need a byte_order: 'native', 'little' or 'big'")
        if byte_order not in (None, "native", "little", "big"):
            raise ValueError(f"from_buffer: invalid byte_order {byte_order!r} (expected 'big', 'little', or 'native')")
        content = memoryview(buffer).cast("B")
        if not 0 <= offset <= len(content):
            raise ValueError(f"from_buffer: offset must be from 0 to buffer size ({len(content)}), got {offset}")
        if count < 0:
            if (len(content) - offset) % width:
                raise ValueError(
                    f"from_buffer: buffer size ({len(content)}) after offset ({offset}) must be a multiple of the "
                    f"element size ({width})"
                )
            count = (len(content) - offset) // width
        elif offset + count * width > len(content):
            raise ValueError(
                f"from_buffer: the buffer has only {len(content) - offset} bytes after offset {offset}, but {count} "
                f"elements of {element} were asked for"
            )
        made = cls._of_bytes(bytearray(content[offset : offset + count * width]))
        if byte_order not in (None, "native", sys.byteorder):
            made.byteswap(element)
        if element.name == "bool":
            made._array[...] = made._array != 0
        return made

    @classmethod
    def _of_bytes(cls, data: Any) -> UntypedStorage:
        """Return a storage on the CPU whose content is ``data``, used in place where it can be written to."""
        content = numpy.frombuffer(data, numpy.uint8)
        return cls._of_array(content if content.flags.writeable else content.copy(), _device("cpu"))

    @property
    def device(self) -> device:
        """Where the bytes are."""
        found: device = self._device
        return found

    @property
    def is_cuda(self) -> bool:
        """Whether the bytes are on a CUDA device."""
        return bool(self._device.type == "cuda")

    def get_device(self) -> int:
        """Return the device's index, -1 on the CPU."""
        return -1 if self._device.index is None else int(self._device.index)

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return int(self._array.size)

    size = nbytes
    __len__ = nbytes

    def element_size(self) -> int:
        """Return 1: a storage without dtype counts bytes."""
        return 1

    def data_ptr(self) -> int:
        """Return the address of the first byte; 0 if there is none."""
        return address(self._array) if self._array.size and self._device.type != "meta" else 0

    def __eq__(self, other: object) -> bool:
        """Whether both are the same memory."""
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, int, int]:
        return self._device, address(self._array), self.nbytes()

    @property
    def _cdata(self) -> int:
        """The same number for the same memory."""
        return hash(self)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):  # safetensors takes each tensor's bytes out of a mapped file so
            if index.step not in (None, 1):
                raise RuntimeError(f"UntypedStorage: a slice has step 1; got a step of {index.step}")
            part = self._array[index]
            shares = isinstance(part, numpy.ndarray) and part.size
            with backend_of(self._device).guard(self._device.index):
                return UntypedStorage._of_array(own_storage(part) if shares else part.copy(), self._device)
        self._check_readable()
        return int(self._array[index])

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._write(index, value._array if isinstance(value, UntypedStorage) else value)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """Return the bytes as integers."""
        self._check_readable()
        values: list[int] = self._array.tolist()
        return values

    def fill_(self, value: int) -> Self:
        """Set every byte."""
        self._write(..., value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> Self:
        """Take over the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"copy_: source has {source.nbytes()} bytes, and this storage {self.nbytes()}")
        self._write(..., source.to(self._device, non_blocking)._array)
        return self

    def clone(self) -> UntypedStorage:
        """Return a copy."""
        with backend_of(self._device).guard(self._device.index):
            return UntypedStorage._of_array(self._array.copy(), self._device)

    def _write(self, index: Any, value: Any) -> None:
        """Write bytes, on the storage's device."""
        with backend_of(self._device).guard(self._device.index):
            self._array[index] = value

    def to(self, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """Return this storage, or a copy on another device."""
        wanted = _device(device)
        if wanted == self._device:
            return cast("UntypedStorage", self)
        moved = wrap(self._array, self._device).to(wanted, non_blocking=non_blocking)
        return UntypedStorage._of_array(moved._array, moved.device)

    def cpu(self) -> UntypedStorage:
        """Return this storage, or its copy in the host's memory."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Return this storage, or its copy on a CUDA device."""
        if device is None or isinstance(device, int):
            device = _device("cuda", device)
        return self.to(device, non_blocking)

    def byteswap(self, dtype: dtype) -> None:
        """Reverse the bytes of each element, the real and imaginary parts of complex ones separately."""
        width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        if width > 1:
            with backend_of(self._device).guard(self._device.index):
                self._array[...] = self._array.reshape(-1, width)[:, ::-1].reshape(-1)

    def is_pinned(self) -> bool:
        """Whether the memory is page-locked."""
        return bool(wrap(self._array, self._device).is_pinned())

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """Return the storage in page-locked memory, see `Tensor.pin_memory`; itself, if it is there."""
        if self.is_pinned():
            return cast("UntypedStorage", self)
        return UntypedStorage._of_array(wrap(self._array, self._device).pin_memory(device)._array, self._device)

    def is_shared(self) -> bool:
        """Whether a child process sees the same memory; true of what is on a CUDA device."""
        return self.is_cuda or mapping_of(self._array) is not None

    def share_memory_(self) -> Self:
        """Move to memory that other processes can share; the tensors that are known to use this storage move too.

        Those are the tensor that it was asked of, the tensor that this one is a view of, and that one's views.

        Raises
        ------
        RuntimeError
            If the storage is on the device ``meta``, where there is no memory.
        """
        self._check_shareable("share_memory_")
        if self.is_shared() or not isinstance(self._array, numpy.ndarray):
            return self
        self._move_to(memory_of(shared_copy(self._array)))
        return self

    def _share_fd_cpu_(self) -> Any:
        """Refuse: processes of weft share memory without file descriptors."""
        self._check_shareable("_share_fd_cpu_")
        raise NotImplementedError("_share_fd_cpu_: weft shares no file descriptors; take share_memory_()")

    def _share_filename_cpu_(self) -> Any:
        """Refuse: processes of weft share memory without names of files."""
        self._check_shareable("_share_filename_cpu_")
        raise NotImplementedError("_share_filename_cpu_: weft shares no names of files; take share_memory_()")

    def _check_shareable(self, name: str) -> None:
        if self._device.type == "meta":
            raise RuntimeError(f"{name}: only available on CPU; got a storage on {self._device}")

    def _check_readable(self) -> None:
        if self._device.type == "meta":
            raise NotImplementedError(
                "UntypedStorage: Not available for 'meta' device type: there is no memory to read"
            )

    def _write_file(self, file: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        """Write the bytes to an open file, as PyTorch's legacy files hold them.

        Parameters
        ----------
        file : binary file
        is_real_file : bool
            Of no effect: any file's ``write`` is called.
        save_size : bool
            Write the number of elements before them, in eight bytes.
        element_size : int
        """
        content = self._host_bytes()
        if save_size:
            file.write((content.size // element_size).to_bytes(8, "little"))
        file.write(content.tobytes())

    def _fix_weakref(self) -> None:
        """Do nothing: a weak reference to a storage stays good. PyTorch's programs call it after they follow one."""

    def resizable(self) -> bool:
        """Whether `resize_` can change the size: that of memory that processes or libraries share it cannot."""
        if isinstance(self._array, numpy.ndarray):
            return mapping_of(self._array) is None
        return self._device.type == "meta" or backend_of(self._device).owns(self._array)

    def resize_(self, size: int) -> Self:
        """Give the storage another size in bytes; what it held stays as far as that goes, the rest is not initialised.

        The tensors that are known to use the storage, as `share_memory_` knows them, move with it. One that needs more
        than the new size keeps its elements as they were, apart, until the storage is large enough again; on a device
        it has none until then.

        Raises
        ------
        RuntimeError
            If the memory is shared between processes or another library's, or the size is negative or immense.
        """
        size = index(size)
        if size == self.nbytes():
            return self
        if not self.resizable():
            raise RuntimeError("resize_: Trying to resize storage that is not resizable: others share its memory")
        if self._device.type == "meta" and size >= 0 and not any(user() is not None for user in self._users):
            self._array = UntypedStorage(size, device="meta")._array
            return self
        if self._device.type == "meta":
            raise RuntimeError(f"resize_: storages on {self._device} cannot be resized; resize_ a tensor there")
        if isinstance(self._array, numpy.ndarray):
            moved = bytes_of(size)
        else:
            moved = backend_of(self._device).empty((size,), _named_dtype("uint8"), self._device.index)
        kept = min(size, self._array.size)
        with backend_of(self._device).guard(self._device.index):
            moved[:kept] = self._array[:kept]
        self._move_to(moved)
        return self

    def _move_to(self, moved: Any) -> None:
        """Use other memory, and let the tensors use it too."""
        before, left = self._array, None
        start, stop = address(before), address(before) + before.size
        known = {id(each): each for user in self._outside if (each := user()) is not None}
        known.update((id(each), each) for each in self._family())
        self._outside = []
        for tensor in known.values():
            array = in_memory(tensor._array)
            storage = storage_left_by(array)
            if not array.size or not (start <= address(array) < stop if storage is None else storage is self):
                continue
            offset = place_of(array, self)
            if offset + reach(array) <= moved.size:
                again = placed(moved, offset, array)
            else:
                self._outside.append(ref(tensor))
                if storage is not None:
                    continue
                if isinstance(moved, numpy.ndarray):
                    left = numpy.asarray(Left(before, self)) if left is None else left
                    again = placed(left, offset, array)
                else:
                    again = Outside(array, self, offset)
            bits = tensor._key.bits
            tensor._array = Unresolved(again, bits) if bits else again
        _alive.pop((self._device, start, before.size), None)
        self._array = moved
        if moved.size:
            _alive[self._device, address(moved), moved.size] = cast("UntypedStorage", self)

    @property
    def filename(self) -> str | None:
        """The file whose memory this is, if `from_file` made it; else None."""
        return self._filename

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Return a storage of the first bytes of a file, which are read when they are used.

        Parameters
        ----------
        filename : str or path
        shared : bool
            Write to the file what is written to the storage; the file is made, or made longer, if need be.
        nbytes : int

        Raises
        ------
        RuntimeError
            If the file cannot be opened, or is too short and not shared.
        """
        mapped = lazy("from_file")(filename, shared, nbytes, dtype=_named_dtype("uint8"))
        made = cls._of_array(mapped._array, mapped.device)
        made._filename = str(filename)
        return made

    def new(self) -> UntypedStorage:
        """Return an empty storage on the same device."""
        return UntypedStorage(0, device=self._device)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Return the name of the type; or these bytes, each as an element of a legacy type, dtype or name."""
        name = f"{_display_name.name}.storage.UntypedStorage"
        if dtype is None:
            return name
        if dtype is UntypedStorage or dtype in (name, f"{_display_name.name}.UntypedStorage"):
            return self
        return TypedStorage(wrap_storage=cast("UntypedStorage", self), dtype=_named_dtype("uint8")).type(dtype)

    def _used_by(self, tensor: Any) -> Self:
        """Remember a tensor, which moves when the storage does."""
        known = [user for user in self._users if user() is not None]
        if not any(user() is tensor for user in known):
            known.append(ref(tensor))
        self._users = known
        return self

    def _family(self) -> list[Any]:
        """The tensors that are known to use the storage."""
        found: dict[int, Any] = {}
        for user in self._users:
            tensor = user()
            if tensor is None:
                continue
            base, counter = tensor._view_base, tensor._version_counter
            views = [] if counter is None or counter.views is None else [each() for each in counter.views]
            found.update((id(each), each) for each in (tensor, base, *views) if each is not None)
        return list(found.values())

    def untyped(self) -> Self:
        """Return this storage."""
        return self

    def _host_bytes(self) -> Any:
        """The content as a flat uint8 NumPy array."""
        return self.cpu()._array

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        return self.clone()  # copy.deepcopy itself gives this copy for every further tensor with this storage

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle the bytes; from protocol 5 on they may travel out of band."""
        content = self._host_bytes()
        data = pickle.PickleBuffer(content) if int(protocol) >= 5 else content.tobytes()
        return _rebuild_storage, (data, str(self._device))

    def __repr__(self) -> str:
        return f"{_display_name.name}.storage.UntypedStorage(device={self._device}, size={self.nbytes()})"


def _load_from_bytes(b: bytes) -> Any:
    """Read a storage in a pickle of PyTorch's: a file of its own."""
    return importlib.import_module("weft.serialization").load(io.BytesIO(b))


def _rebuild_storage(data: Any, device: str) -> UntypedStorage:
    return UntypedStorage._of_bytes(data).to(device)


# One object for one memory, for as long as somebody has it: pickle writes what it has seen only once.
_alive: WeakValueDictionary[tuple[Any, int, int], UntypedStorage] = WeakValueDictionary()


class UntypedStorage(StorageBase):
    """Bytes on a device.

    Parameters
    ----------
    size : int, default 0
        In bytes; the content is not initialised. A sequence of integers gives the content instead.
    device : device, optional

    Examples
    --------
    >>> a = weft.zeros(2, 3)
    >>> a.untyped_storage().nbytes()
    24
    >>> a[1].untyped_storage() == a.untyped_storage()
    True
    """

    __slots__ = ()


class TypedStorage:
    """A storage seen as elements of one dtype.

    Parameters
    ----------
    size : int or sequence of numbers, default 0
        How many elements, or these.
    wrap_storage : UntypedStorage, optional
        The memory to use.
    dtype : dtype, optional
    device : device, optional
    """

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: dtype | None = None,
        device: Any = None,
        _internal: bool = False,  # PyTorch's own calls say so, where others get a warning
    ) -> None:
        _check_typed(args, wrap_storage, dtype, device)
        size = args[0] if args else 0
        self.dtype: Any = _default_dtype() if dtype is None else dtype
        if wrap_storage is None:
            if isinstance(size, int):
                wrap_storage = UntypedStorage(size * self.dtype.itemsize, device=device)
            else:
                numbers = numpy.array(list(size))
                target = self.dtype.numpy
                content = converted(numbers, target) if self.dtype.is_float8 else numbers.astype(target)
                wrap_storage = UntypedStorage._of_array(content, _device("cpu")).to(device or "cpu")
        self._untyped_storage = wrap_storage

    @property
    def device(self) -> device:
        """Where the elements are."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a CUDA device."""
        return self._untyped_storage.is_cuda

    def untyped(self) -> UntypedStorage:
        """Return the same memory without its dtype."""
        return self._untyped_storage

    def size(self) -> int:
        """Return the number of elements."""
        return self._untyped_storage.nbytes() // self.element_size()

    __len__ = size

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return int(self.dtype.itemsize)

    def data_ptr(self) -> int:
        """Return the address of the first element; 0 if there is none."""
        return self._untyped_storage.data_ptr()

    def tolist(self) -> list[Any]:
        """Return the elements as Python numbers."""
        self._untyped_storage._check_readable()
        values: list[Any] = self._tensor().tolist()
        return values

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("TypedStorage: slices are only supported in UntypedStorage.__getitem__; use untyped()")
        self._untyped_storage._check_readable()
        return self._tensor()[index].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._tensor()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypedStorage):
            return NotImplemented
        return self.dtype is other.dtype and self._untyped_storage == other._untyped_storage

    def __hash__(self) -> int:
        return hash((self.dtype, self._untyped_storage))

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        if isinstance(value, TypedStorage | UntypedStorage):
            raise RuntimeError(f"fill_: cannot set item with value type: {_named(value)}; it takes a number")
        self._tensor().fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        """Take over the elements of another storage, converted to this one's dtype."""
        self._tensor().copy_(source._tensor(), non_blocking)
        return self

    def clone(self) -> TypedStorage:
        """Return a copy."""
        return self._like(self._untyped_storage.clone())

    def to(self, device: Any, non_blocking: bool = False) -> TypedStorage:
        """Return this storage, or a copy on another device."""
        return self._like(self._untyped_storage.to(device, non_blocking))

    def cpu(self) -> TypedStorage:
        """Return this storage, or its copy in the host's memory."""
        return self._like(self._untyped_storage.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """Return this storage, or its copy on a CUDA device."""
        return self._like(self._untyped_storage.cuda(device, non_blocking))

    def get_device(self) -> int:
        """Return the device's index, -1 on the CPU."""
        return self._untyped_storage.get_device()

    def is_pinned(self) -> bool:
        """Whether the memory is page-locked."""
        return self._untyped_storage.is_pinned()

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """Return the storage in page-locked memory, see `Tensor.pin_memory`; itself, if it is there."""
        return self._like(self._untyped_storage.pin_memory(device))

    def is_shared(self) -> bool:
        """Whether another process may see the same memory."""
        return self._untyped_storage.is_shared()

    def _share_fd_cpu_(self) -> Any:
        return self._untyped_storage._share_fd_cpu_()

    def _share_filename_cpu_(self) -> Any:
        return self._untyped_storage._share_filename_cpu_()

    def _write_file(self, file: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        self._untyped_storage._write_file(file, is_real_file, save_size, element_size)

    def resizable(self) -> bool:
        """Whether `resize_` can change the size."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> TypedStorage:
        """Give the storage another number of elements, as :meth:`UntypedStorage.resize_` does."""
        self._untyped_storage.resize_(index(size) * self.element_size())
        return self

    @property
    def filename(self) -> str | None:
        """The file whose memory this is, if `from_file` made it; else None."""
        return self._untyped_storage.filename

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """Return a storage of the first elements of a file; see :meth:`UntypedStorage.from_file`."""
        element = cls._own_dtype(None)
        memory = UntypedStorage.from_file(filename, shared, index(size) * element.itemsize)
        return TypedStorage(wrap_storage=memory, dtype=element)

    @classmethod
    def _own_dtype(cls, given: Any) -> Any:
        own = vars(cls).get("dtype")  # of FloatStorage and its like; here it is a property
        return given or (_default_dtype() if own is None or not hasattr(own, "itemsize") else own)

    def share_memory_(self) -> TypedStorage:
        """Move to memory that other processes can share, as :meth:`UntypedStorage.share_memory_` does."""
        self._untyped_storage.share_memory_()
        return self

    def type(self, dtype: Any = None) -> Any:
        """Return the name of the legacy type, or these elements in another dtype (a dtype, legacy type or name)."""
        if dtype is None:
            place = "" if self.device.type == "cpu" else f"{self.device.type}."
            return f"{_display_name.name}.{place}{self.dtype.scalar_type_name}Storage"
        wanted = storage_dtype(dtype)
        if wanted is self.dtype:
            return self
        return TypedStorage(wrap_storage=self._tensor().to(wanted).untyped_storage(), dtype=wanted)

    def pickle_storage_type(self) -> str:
        """Return the name of the legacy type without its module."""
        return f"{self.dtype.scalar_type_name}Storage"

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> TypedStorage:
        """Return a storage of a copy of a buffer's bytes, taken for elements of a dtype; see `UntypedStorage`."""
        element = cls._own_dtype(dtype)
        memory = UntypedStorage.from_buffer(buffer, byte_order, dtype=element, count=count, offset=offset)
        return TypedStorage(wrap_storage=memory if device is None else memory.to(device), dtype=element)

    # PyTorch's names for the same without a warning, which its own code calls
    _size, _element_size, _nbytes, _data_ptr = size, element_size, nbytes, data_ptr
    _is_shared, _share_memory_, _pickle_storage_type = is_shared, share_memory_, pickle_storage_type
    _setitem = __setitem__

    def _resize_(self, size: int) -> None:
        self.resize_(size)

    def _deepcopy(self, memo: dict[Any, Any]) -> TypedStorage:
        return self.__deepcopy__(memo)

    @property
    def _dtype(self) -> Any:
        return self.dtype

    @property
    def _cdata(self) -> int:
        """The same number for the same memory."""
        return self._untyped_storage._cdata

    @property
    def is_sparse(self) -> bool:
        """False: the elements of a storage lie side by side."""
        return False

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def _like(self, storage: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=self.dtype)

    def _tensor(self) -> Any:
        return tensor_of(self._untyped_storage, self.dtype, 0, (self.size(),), (1,))

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return self._like(copy.deepcopy(self._untyped_storage, memo))

    __copy__ = clone

    def __repr__(self) -> str:
        return (
            f"{_display_name.name}.storage.TypedStorage(dtype={self.dtype}, device={self.device}, size={self.size()})"
        )


def conversion(name: str) -> Any:
    """The method of a storage that gives the same elements, or bytes as elements, in another dtype."""

    def method(self: Any) -> Any:
        return self.type(NAMES[name])

    method.__doc__ = f"Return these elements as {name}."
    return method


for _name, _dtype in {
    **{
        each: each
        for each in ("bool", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
    },
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "complex_float": "complex64",
    "complex_double": "complex128",
}.items():
    setattr(UntypedStorage, _name, conversion(_dtype))
    setattr(TypedStorage, _name, conversion(_dtype))


class storagetype(type):
    """The type of the legacy storage types."""

    dtype: dtype
    device_type: str

    @property
    def _dtype(cls) -> Any:
        return cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        for word in ("device", "dtype"):
            if word in kwargs:
                raise RuntimeError(f"{cls.__name__}(): '{word}' cannot be specified; TypedStorage takes it")
        unknown = set(kwargs) - {"wrap_storage", "_internal"}
        if unknown:
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument '{sorted(unknown)[0]}'")
        if not kwargs.get("_internal"):
            warn_caller_once("TypedStorage is deprecated; use weft.UntypedStorage")
        if kwargs.get("wrap_storage") is None:
            kwargs["device"] = cls.device_type
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, TypedStorage) or instance.dtype is not cls.dtype:
            return False
        return instance.device.type == cls.device_type


def storage_dtype(given: Any) -> dtype:
    """The dtype that a dtype, a legacy storage type, or the name of one stands for.

    Raises
    ------
    TypeError
        If it is none of them.
    """
    if isinstance(given, dtype):
        return given
    if isinstance(given, storagetype):
        return given.dtype
    if isinstance(given, str) and given.endswith("Storage"):
        return named_type("type", given.removesuffix("Storage") + "Tensor")[0]
    raise TypeError(f"type: expected a dtype, a storage type or its name, got {given!r}")


def _dtype_to_storage_type_map() -> dict[Any, str]:
    """The name of the legacy storage of each dtype that has one."""
    return {element: f"{name}Storage" for name, element in SCALAR_TYPES.items()}


def _storage_type_to_dtype_map() -> dict[str, Any]:
    """The dtype of each legacy storage, by its name."""
    return {name: element for element, name in _dtype_to_storage_type_map().items()}


def is_storage(obj: object) -> bool:
    """Whether an object is a storage.

    Examples
    --------
    >>> weft.is_storage(weft.ones(1).untyped_storage())
    True
    """
    return isinstance(obj, UntypedStorage | TypedStorage)


def _named(value: object) -> str:
    return type(value).__name__


def _check_typed(args: tuple[Any, ...], memory: Any, element: Any, device: Any) -> None:
    """The arguments of `TypedStorage` are a size or numbers, or memory with a dtype.

    Raises
    ------
    TypeError, RuntimeError
        If they are anything else.
    """
    name = "TypedStorage()"
    if element is not None and not isinstance(element, dtype):
        raise TypeError(f"{name}: Argument 'dtype' must be {_display_name.name}.dtype, not {_named(element)}")
    if memory is not None:
        if args:
            raise RuntimeError(f"{name}: No positional arguments should be given when using 'wrap_storage'")
        if element is None:
            raise RuntimeError(f"{name}: Argument 'dtype' must be specified beside 'wrap_storage'")
        if device is not None:
            raise RuntimeError(f"{name}: Argument 'device' should not be specified beside 'wrap_storage'")
        if not isinstance(memory, UntypedStorage):
            raise TypeError(f"{name}: Argument 'wrap_storage' must be UntypedStorage, but got {_named(memory)}")
    elif device is not None:
        try:
            _device(device)
        except RuntimeError as error:
            raise RuntimeError(f"{name}: Storage device not recognized: {error}") from error
    if len(args) > 1:
        raise RuntimeError(f"{name}: Too many positional arguments given, expected 0 or 1, got {len(args)}")
    content = args[0] if args else 0
    if isinstance(content, str):
        raise TypeError(f"{name}: invalid data type 'str'")
    if not isinstance(content, int | Sequence | numpy.ndarray):
        raise TypeError(
            f"{name}: Argument type not recognized: {_named(content)}; give a size, numbers, or wrap_storage="
        )


def _device(which: Any, index: int | None = None) -> Any:
    return resolve_device(which if index is None else device(which, index))


def _named_dtype(name: str) -> Any:
    return NAMES[name]


def _default_dtype() -> Any:
    return get_default_dtype()


def held_by(tensor: Any) -> UntypedStorage:
    """Return a tensor's storage, which stays one object, with its attributes, for as long as the tensor uses it."""
    held.hold(tensor, storage := storage_of(tensor))
    return storage


def storage_of(tensor: Any) -> UntypedStorage:
    """Return the storage that a tensor is a view of."""
    return UntypedStorage._of_array(tensor._array, tensor._key.device)._used_by(tensor)


def layout_of(tensor: Any) -> tuple[UntypedStorage, int, tuple[int, ...], tuple[int, ...]]:
    """Return a tensor's storage, and its offset, size and stride there, in elements.

    An array that no stride of whole elements describes (a field of a record, a reversed view that
    came from NumPy) is copied first.
    """
    array = own = in_memory(tensor._array)
    width = tensor._key.dtype.itemsize
    if storage_left_by(array) is not None or any(
        step % width or (step < 0 and size > 1) for step, size in zip(array.strides, array.shape)
    ):
        array = array.copy()
    storage = UntypedStorage._of_array(array, tensor._key.device)
    offset, rest = divmod(address(array) - address(storage._array), width)
    if rest:
        array = array.copy()
        storage, offset = UntypedStorage._of_array(array, tensor._key.device), 0
    if array is own:
        storage._used_by(tensor)
    size = tuple(array.shape)
    return storage, offset, size, strides_of(array)


def strides_of(array: Any) -> tuple[int, ...]:
    """Return an array's strides in elements; those of an empty one are what a full one would have."""
    if array.size:
        return tuple(step // array.itemsize for step in array.strides)
    strides, step = [], 1
    for size in reversed(array.shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def tensor_of(storage: UntypedStorage, dtype: Any, offset: int, size: Any, stride: Any) -> Any:
    """Return a tensor that is a view of a storage.

    Raises
    ------
    RuntimeError
        If some element would lie outside the storage.
    """
    size, stride = tuple(size), tuple(stride)
    check_geometry(storage.nbytes(), dtype, offset, size, stride)
    memory, width = storage._array, dtype.itemsize
    if isinstance(memory, numpy.ndarray):
        start = 0 if 0 in size else offset * width
        try:
            array = numpy.ndarray(size, dtype.numpy, memory, start, tuple(step * width for step in stride))
        except (ValueError, OverflowError) as error:  # more than 64 dimensions, or a size beyond all memory
            raise RuntimeError(f"a view of size {size} and stride {stride} cannot be made: {error}") from error
        return wrap(array, storage.device)
    whole = memory[: storage.nbytes() // width * width]
    view = wrap(whole, storage.device).view(dtype).as_strided(size, stride, offset)
    return wrap(view._array, storage.device)


def check_geometry(nbytes: int, dtype: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> None:
    """Raise RuntimeError unless a view with this geometry lies within ``nbytes``."""
    numbers = (offset, *size, *stride)
    if len(size) != len(stride) or any(type(n) is not int or n < 0 for n in numbers):
        raise RuntimeError(
            f"a view of a storage takes an offset and as many sizes as strides, all integers from 0 on; got "
            f"{[n if isinstance(n, int) else type(n).__name__ for n in numbers]}"
        )
    last = 0 if 0 in size else offset + 1 + sum((n - 1) * step for n, step in zip(size, stride))
    if last * dtype.itemsize > nbytes:
        raise RuntimeError(
            f"a view of size {size}, stride {stride} and offset {offset} of {dtype} needs {last * dtype.itemsize} "
            f"bytes, which are out of bounds for storage of size {nbytes}"
        )
