"""Batches in memory that a worker and the consumer share.

A worker pickles a batch with its arrays out of band, and writes stream and arrays into one *segment*: a file in a
private folder, in memory where the system has a place for that, on disk where it has none or it is full. What goes
through the pipe is only where each part lies. The consumer maps the file and unlinks it at once, so nothing is left
behind once both have closed it; the folder, with segments on the way, is removed with the loader's iterator.

The consumer's arrays keep their segment alive. When the last of them is gone, the segment goes back to its worker and
is written again: in steady state a batch costs its copy, and neither system calls nor fresh pages. A consumer that
keeps many batches gets copies from then on, since each segment costs both processes a file descriptor.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import mmap
import os
import pickle
import shutil
import tempfile
import weakref
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from weft import Tensor
from weft.backend import tensor_from_array
from weft.storage import UntypedStorage

__all__ = ["Packed", "SegmentReader", "SegmentWriter", "dumps", "make_folders", "remove_folders"]

_alignment = 64  # bytes: a cache line, and the widest vector
_inline_bytes = 4096  # smaller streams without arrays go through the pipe
_max_free = 8  # segments that a worker keeps for later
_max_leases = 32  # segments in the consumer's hands, of one worker
_memory_folder = "/dev/shm"

Packed = bytes | tuple[str, int, list[tuple[int, int]], list[str]]
"""A packed object: its pickle stream, or a segment's path, its size, where stream and arrays lie in it, and the paths
of segments that the writer has given up."""


def make_folders() -> list[str]:
    """New private folders for segments, in the order in which to use them: in memory if possible, then on disk."""
    folders = [tempfile.mkdtemp(prefix="weft-loader-")]
    if os.path.isdir(_memory_folder) and os.access(_memory_folder, os.W_OK):
        folders.insert(0, tempfile.mkdtemp(prefix="weft-loader-", dir=_memory_folder))
    return folders


def remove_folders(folders: list[str]) -> None:
    """Remove the folders and what is left in them; segments live on in those who have them mapped."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


class _Pickler(ForkingPickler):
    """Pickles tensors as bytes that may travel out of band, whatever their dtype."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is UntypedStorage:  # of a subclass; not as weft.multiprocessing would, which keeps files open
            return obj.__reduce_ex__(5)
        if type(obj) is not Tensor or not isinstance(obj._array, np.ndarray):
            return NotImplemented
        array = np.ascontiguousarray(obj._array)
        return _rebuild_tensor, (array.reshape(-1).view(np.uint8), array.dtype, obj._array.shape, obj.requires_grad)


def _rebuild_tensor(
    raw: np.ndarray[Any, Any], dtype: np.dtype[Any], shape: tuple[int, ...], requires_grad: bool
) -> Tensor:
    return tensor_from_array(raw.view(dtype).reshape(shape), requires_grad=requires_grad)


class _Segment:
    """A mapped file."""

    def __init__(self, path: str, descriptor: int, size: int) -> None:
        self.path = path
        self.size = size
        try:
            self.memory = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)


def dumps(message: Any) -> bytes:
    """Pickle a message with its tensors in it."""
    stream = io.BytesIO()
    _Pickler(stream, 5).dump(message)
    return stream.getvalue()


class SegmentWriter:
    """The worker's side: packs objects into segments.

    Parameters
    ----------
    folders : list of str
        Of :func:`make_folders`.
    prefix : str
        Begins the segments' names; each writer has its own.
    """

    def __init__(self, folders: list[str], prefix: str) -> None:
        self._folders = folders
        self._names = (f"{prefix}-{number}" for number in itertools.count())
        self._free: list[_Segment] = []
        self._lent: dict[str, _Segment] = {}
        self._given_up: list[str] = []

    def pack(self, value: Any) -> Packed:
        """Pickle ``value``, into a segment unless it is small."""
        stream = io.BytesIO()
        arrays: list[pickle.PickleBuffer] = []
        _Pickler(stream, 5, True, arrays.append).dump(value)
        head = stream.getvalue()
        if not arrays and len(head) <= _inline_bytes:
            return head
        parts = [memoryview(head), *(array.raw() for array in arrays)]
        layout, end = [], 0
        for part in parts:
            layout.append((end, part.nbytes))
            end += -(-part.nbytes // _alignment) * _alignment
        segment = self._take(max(end, 1))
        for (start, nbytes), part in zip(layout, parts):
            segment.memory[start : start + nbytes] = part
        self._lent[segment.path] = segment
        given_up, self._given_up = self._given_up, []
        return segment.path, segment.size, layout, given_up

    def take_back(self, paths: list[str]) -> None:
        """Use these segments again: the consumer has nothing left in them."""
        self._free += [self._lent.pop(path) for path in paths]

    def _take(self, nbytes: int) -> _Segment:
        """The smallest free segment that is large enough, or a new one."""
        self._free.sort(key=lambda segment: segment.size)
        while len(self._free) > _max_free:
            self._give_up_smallest()
        for index, segment in enumerate(self._free):
            if segment.size >= nbytes:
                return self._free.pop(index)
        if self._free:  # batches have become larger
            self._give_up_smallest()
        room = nbytes + nbytes // 8  # so that slightly larger ones fit later
        return self._create(-(-room // mmap.PAGESIZE) * mmap.PAGESIZE)

    def _give_up_smallest(self) -> None:
        segment = self._free.pop(0)
        segment.memory.close()
        self._given_up.append(segment.path)

    def _create(self, size: int) -> _Segment:
        name = next(self._names)
        for folder in self._folders:
            path = os.path.join(folder, name)
            try:
                return _Segment(path, _reserve(path, size), size)
            except OSError as error:
                failure = error
        raise RuntimeError(
            f"DataLoader: no room for a batch of {size} bytes in {' nor in '.join(self._folders)} "
            f"({failure.strerror}); enlarge these file systems, or lower batch_size, prefetch_factor or num_workers"
        ) from failure


def _reserve(path: str, size: int) -> int:
    """Create a file with that much room and return its descriptor."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            # Reserved now, a full memory file system is an error here and not a bus error at the first write.
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.ftruncate(descriptor, size)
    except OSError:
        os.close(descriptor)
        os.unlink(path)
        raise
    return descriptor


class SegmentReader:
    """The consumer's side: unpacks what one worker has packed.

    Attributes
    ----------
    released : list of str
        Paths of segments that the worker may use again; whoever tells it empties the list.
    """

    def __init__(self) -> None:
        self._segments: dict[str, _Segment] = {}
        self._lent: set[str] = set()
        self.released: list[str] = []

    def unpack(self, packed: Packed) -> Any:
        """The object; its arrays lie in the segment, writable, until the last of them is gone."""
        if isinstance(packed, bytes):
            return pickle.loads(packed)
        path, size, layout, given_up = packed
        for old in given_up:
            self._segments.pop(old).memory.close()
        memory = self._open(path, size).memory
        end = layout[-1][0] + layout[-1][1]
        if len(self._lent) >= _max_leases:
            root = np.frombuffer(bytearray(memory[:end]), np.uint8)
            self.released.append(path)
        else:
            root = np.frombuffer(memory, np.uint8, end)
            self._lent.add(path)
            weakref.finalize(root, _release, self._lent, self.released, path).atexit = False
        views = [memoryview(root)[start : start + nbytes] for start, nbytes in layout]  # type: ignore[arg-type]
        return pickle.loads(views[0], buffers=views[1:])

    def _open(self, path: str, size: int) -> _Segment:
        segment = self._segments.get(path)
        if segment is None:
            segment = self._segments[path] = _Segment(path, os.open(path, os.O_RDWR), size)
            with contextlib.suppress(OSError):  # where an open file cannot be unlinked, the folder's end does it
                os.unlink(path)
        return segment


def _release(lent: set[str], released: list[str], path: str) -> None:
    lent.discard(path)
    released.append(path)
