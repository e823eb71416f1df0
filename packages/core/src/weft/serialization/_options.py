"""Settings of `save` and `load`: for the process, or within a ``with`` block."""

from __future__ import annotations

import mmap
import sys
import threading
import warnings
from enum import Enum
from types import TracebackType
from typing import Any


class SourceChangeWarning(Warning):
    """PyTorch warns so when a module's source is not the one that was saved; weft compares no sources."""


class LoadEndianness(Enum):
    """The byte order of files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_endianness: LoadEndianness | None = None
_mmap_flags: int | None = None
_here = threading.local()  # .skips: within skip_data, in this thread


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order that `load` takes for files that do not say theirs; None means little."""
    return _endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order that `load` takes for files that do not say theirs."""
    global _endianness
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            "set_default_load_endianness: Invalid argument type in function set_default_load_endianness: expected a "
            f"LoadEndianness or None, got {endianness!r}"
        )
    _endianness = endianness


def assumed_byte_order() -> str:
    """The byte order, as `sys.byteorder` says it, of a file that does not say its own."""
    if _endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _endianness is LoadEndianness.BIG else "little"


def get_default_mmap_options() -> int:
    """Return how `load` with ``mmap=True`` maps files: ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``."""
    return getattr(mmap, "MAP_PRIVATE", 2) if _mmap_flags is None else _mmap_flags


def maps_shared() -> bool:
    """Whether what is written to a tensor of a mapped file goes to the file."""
    if _mmap_flags is None:
        return False
    return _mmap_flags == mmap.MAP_SHARED


class set_default_mmap_options:
    """Set how `load` with ``mmap=True`` maps files; as a context manager, within the block.

    Parameters
    ----------
    flags : int
        ``mmap.MAP_PRIVATE``: what is written to a tensor stays in this process. ``mmap.MAP_SHARED``: it goes to the
        file, which must be writable.

    Raises
    ------
    ValueError
        For other flags.

    Examples
    --------
    >>> import mmap
    >>> with weft.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     weft.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        global _mmap_flags
        known = [getattr(mmap, name, None) for name in ("MAP_PRIVATE", "MAP_SHARED")]  # not on Windows
        if flags is None or flags not in known:
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags!r}"
            )
        self._before, _mmap_flags = _mmap_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _mmap_flags
        _mmap_flags = self._before


class skip_data:
    """Within the block, `save` leaves the content of storages zero, and `load` does not read it.

    The file has its full size, and everything in it but the numbers.

    Parameters
    ----------
    materialize_fake_tensors : bool, default False
        Write fake tensors as tensors of zeros, which are made on their devices. Without it `save` refuses them.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> with weft.serialization.skip_data():
    ...     weft.save(weft.ones(3), file)
    >>> _ = file.seek(0)
    >>> weft.load(file)
    tensor([0., 0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = skips_data(), makes_fakes_real()
        _here.skips, _here.makes_fakes_real = True, self.materialize_fake_tensors

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _here.skips, _here.makes_fakes_real = self._before


def skips_data() -> bool:
    """Whether this thread is within `skip_data`."""
    return getattr(_here, "skips", False)


def makes_fakes_real() -> bool:
    """Whether this thread is within `skip_data` with ``materialize_fake_tensors``."""
    return getattr(_here, "makes_fakes_real", False)


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module's ``__version__`` is at least a version, as far as that goes: ``(2, 0)`` of 2.0.1.

    Parameters
    ----------
    module : module
    req_version_tuple : tuple
    error_if_malformed : bool
        Raise for a version that does not read so; otherwise warn, and return True.

    Raises
    ------
    RuntimeError
        If the version has another form.
    """
    parts = module.__version__.split(".")
    try:
        if len(parts) < len(req_version_tuple):
            raise ValueError(f"it has {len(parts)} parts")
        return tuple(type(wanted)(part) for part, wanted in zip(parts, req_version_tuple)) >= req_version_tuple
    except ValueError as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared "
            f"with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(f"check_module_version_greater_or_equal: {message}") from error
        warnings.warn(f"{message}, but continuing assuming that requirement is met", UserWarning, stacklevel=2)
        return True
