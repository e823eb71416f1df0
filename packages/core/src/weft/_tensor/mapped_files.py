"""Tensors over files that are mapped into memory."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy

from weft._devices.devices import cpu, resolve_device
from weft._dtypes.dtypes import dtype, get_default_dtype
from weft._interception.interceptors import seen_as
from weft._tensor.base import Tensor, wrap

__all__ = ["from_file"]


@seen_as("core::from_file")
def from_file(
    filename: str | os.PathLike[str],
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a one-dimensional tensor of the beginning of a file, which is read when it is used.

    Parameters
    ----------
    filename : str or path
    shared : bool, optional
        Write to the file what is written to the tensor; the file is made, or made longer, if need be. Default: False.
    size : int
        How many elements.
    dtype : dtype, optional
        What the bytes are taken for. Default: the default dtype.
    layout, device : optional
        Strided, the CPU.
    pin_memory : bool, optional
        Not available.
    requires_grad : bool

    Raises
    ------
    RuntimeError
        If the file cannot be opened, or is too short and not shared.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "bytes")
    ...     _ = file.write_bytes(bytes([1, 2, 3]))
    ...     weft.from_file(file, size=2, dtype=weft.uint8).tolist()
    [1, 2]
    """
    if device is not None and resolve_device(device) is not cpu:
        raise NotImplementedError(f"from_file: a file is mapped into the host's memory; call .to({device!r}) after it")
    if pin_memory:
        raise RuntimeError("from_file: pin_memory=True needs an accelerator that pins memory; leave it out")
    element = dtype or get_default_dtype()
    if size < 0:
        raise RuntimeError(f"from_file: size must not be negative, got {size}")
    array = mapped_array(os.fspath(filename), bool(shared), size * element.itemsize)
    return wrap(array.view(element.numpy), requires_grad=requires_grad)  # type: ignore[no-any-return]


def mapped_array(filename: str, shared: bool, nbytes: int) -> Any:
    """The first bytes of a file; written back if they are shared."""
    try:
        handle = os.open(
            filename, (os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY) | getattr(os, "O_BINARY", 0), 0o600
        )
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(f"from_file: unable to open file <{filename}> in {mode} mode: {error.strerror}") from error
    try:
        length = os.fstat(handle).st_size
        if length < nbytes and not shared:
            raise RuntimeError(
                f"from_file: file <{filename}> size <{length}> is smaller than the required mapping size <{nbytes}>"
            )
        if not nbytes:
            return numpy.empty(0, numpy.uint8)
        if length < nbytes:
            os.truncate(handle, nbytes)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return numpy.frombuffer(mmap.mmap(handle, nbytes, access=access), numpy.uint8)
    finally:
        os.close(handle)
