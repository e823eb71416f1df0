"""Memory that processes share: segments without a name, or files in memory where the system has no such thing.

A *nameless* segment (strategy ``"file_descriptor"``) is known by a file descriptor alone, which goes from process to
process; the system frees it with its last user, however that user ends. A *named* one (``"file_system"``) is a file in
memory, which its maker removes at its end. It outlives its sender: each message carries a link of its own, which the
receiver opens and removes. What a kill leaves behind is the maker's file, and links in messages that nobody has read.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import sys
import tempfile
import weakref
from multiprocessing import reduction
from multiprocessing.util import Finalize
from typing import Any

__all__ = ["Segment", "allocate", "get_sharing_strategy", "open_segment", "set_sharing_strategy", "strategies"]

strategies = {"file_descriptor", "file_system"} if hasattr(os, "memfd_create") else {"file_system"}
"""The ways to share that this system has."""

_strategy = "file_descriptor" if "file_descriptor" in strategies else "file_system"
_memory_folder = "/dev/shm"
_numbers = itertools.count()


def get_sharing_strategy() -> str:
    """How memory is shared from now on: ``"file_descriptor"`` or ``"file_system"``."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory is shared from now on, in this process.

    Parameters
    ----------
    new_strategy : str
        ``"file_descriptor"`` leaves nothing behind, and keeps files open: up to two for each tensor. Where those run
        out, take ``"file_system"``.

    Raises
    ------
    AssertionError
        If the system has no such way.
    """
    global _strategy
    if new_strategy not in strategies:
        raise AssertionError(
            f"set_sharing_strategy: {new_strategy!r} is not among the ways of this system, {sorted(strategies)}"
        )
    _strategy = new_strategy


class Segment(mmap.mmap):
    """A mapped segment.

    Attributes
    ----------
    descriptor : int or None
        Of a nameless one, and of one that another process has made.
    path : str or None
        Of a named one, in the process that made it.
    """

    descriptor: int | None
    path: str | None

    def __new__(cls, descriptor: int, size: int, path: str | None = None) -> Segment:
        """Map a segment and take its descriptor over."""
        try:
            self = super().__new__(cls, descriptor, size)
        except BaseException:
            os.close(descriptor)
            raise
        self.descriptor, self.path = (descriptor, None) if path is None else (None, path)
        _segments[_identity(descriptor)] = self
        if path is None:
            weakref.finalize(self, os.close, descriptor).atexit = False
        else:
            os.close(descriptor)
            # That of multiprocessing: it runs at the end of its processes too, and not in a copy that a fork makes.
            Finalize(self, _unlink, [path], exitpriority=0)
        return self

    def handle(self) -> Any:
        """What another process opens the segment by, once: a descriptor on its way, or the path of a link."""
        if self.descriptor is not None:
            return reduction.DupFd(self.descriptor)  # type: ignore[attr-defined]  # not on Windows
        assert self.path is not None
        link = _new_path(os.path.dirname(self.path))
        os.link(self.path, link)
        return link


_segments: weakref.WeakValueDictionary[tuple[int, int], Segment] = weakref.WeakValueDictionary()
"""The segments that this process has mapped, by the system's number of the file: each is mapped once."""


def allocate(size: int) -> Segment:
    """A new segment of zeros.

    Raises
    ------
    RuntimeError
        If there is no memory, or no file descriptor, for it.
    """
    try:
        if _strategy == "file_descriptor":
            descriptor = os.memfd_create("weft", os.MFD_CLOEXEC)
            os.ftruncate(descriptor, size)
            return Segment(descriptor, size)
        path = _new_path(_memory_folder if os.access(_memory_folder, os.W_OK) else tempfile.gettempdir())
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        _reserve(descriptor, size)
        return Segment(descriptor, size, path)
    except OSError as error:
        raise RuntimeError(
            f"share_memory_: {size} bytes of shared memory cannot be had ({error.strerror}). Where too many files are "
            "open, weft.multiprocessing.set_sharing_strategy('file_system') needs fewer"
        ) from error


def open_segment(handle: Any, size: int) -> Segment:
    """Map a segment by the handle that another process has made; if it is mapped here already, that mapping.

    Raises
    ------
    EOFError, OSError
        If the other process has ended before.
    """
    try:
        descriptor = _receive(handle)
    except (EOFError, OSError) as error:
        error.add_note(
            "A tensor was received whose sender has ended. Let the sender wait until its tensors have arrived, or call "
            "weft.multiprocessing.set_sharing_strategy('file_system') in it"
        )
        raise
    known = _segments.get(_identity(descriptor))
    if known is None:
        return Segment(descriptor, size)
    os.close(descriptor)
    return known


def _receive(handle: Any) -> int:
    """The descriptor that a handle stands for."""
    if isinstance(handle, str):
        descriptor = os.open(handle, os.O_RDWR)
        _unlink(handle)
        return descriptor
    sent: int = handle.detach()
    return sent


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def _new_path(folder: str) -> str:
    return os.path.join(folder, f"weft-{os.getpid()}-{next(_numbers)}-{os.urandom(4).hex()}")


def _reserve(descriptor: int, size: int) -> None:
    """Make a file that large; reserved now, a full file system is an error here and not a bus error at a write."""
    if hasattr(os, "posix_fallocate") and sys.platform != "darwin":
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
