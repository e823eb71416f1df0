"""`load`: PyTorch's ``.pt`` files into weft's objects."""

from __future__ import annotations

import io
import os
from types import ModuleType
from typing import IO, Any

from weft._interception.interceptors import seen_as, side_effect
from weft.serialization._locations import restore_function
from weft.serialization._options import maps_shared
from weft.serialization._reading import read


@seen_as("core::load")
def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: ModuleType | None = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save`, or PyTorch's, wrote.

    Parameters
    ----------
    f : str, path or binary file that can seek
    map_location : str, device, dict or callable, optional
        Where storages go that were saved elsewhere: a device for all; a dict from the device in the
        file to another; or a function of the storage (on the CPU) and the device in the file, which
        returns a storage, or None to have it put where the file says.
    pickle_module : module, optional
        Whose ``Unpickler`` to use, with ``weights_only=False``.
    weights_only : bool, default True
        Build nothing but tensors, containers, numbers and what
        ``weft.serialization.add_safe_globals`` lists. **With False the file may run any code.**
    mmap : bool, default False
        Leave the storages in the file, and read what is used when it is used. Writing to such a
        tensor changes the memory of this process and not the file.
    **pickle_load_args
        For the unpickler, with ``weights_only=False``.

    Raises
    ------
    pickle.UnpicklingError
        If the file is no ``.pt`` file, holds what is not allowed, or says of an object what cannot be.
    RuntimeError
        If the archive or one of its records is damaged, or a device it names is not there.
    EOFError
        If the file is empty.
    FileNotFoundError, and other OSError
        From the system.
    ValueError, AttributeError, io.UnsupportedOperation
        If ``f`` is no file, cannot seek, or ``mmap`` was asked for of an open one.

    Notes
    -----
    No other exception comes from what a file holds, and nothing else happens: whoever wrote it, a file that is loaded
    with ``weights_only=True`` runs nothing, and takes memory and time by its length: 32 MB and 24 times as much at the
    most, what is decompressed included. With ``weights_only=False`` everything can happen.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> weft.save(weft.arange(3), file)
    >>> _ = file.seek(0)
    >>> weft.load(file, map_location="cpu")
    tensor([0, 1, 2])
    """
    side_effect("it reads a file")
    safe = weights_only is None or bool(weights_only)
    if safe and (pickle_module is not None or pickle_load_args):
        given = "pickle_module" if pickle_module is not None else ", ".join(pickle_load_args)
        raise RuntimeError(
            f"load: Can not safely load weights when explicit {given} is specified: safe loading has an unpickler of "
            "its own; pass weights_only=False where the file is trusted"
        )
    restore = restore_function(map_location)
    if isinstance(f, str | os.PathLike):
        with open(f, "r+b" if mmap and maps_shared() else "rb") as file:
            return read(file, repr(os.fspath(f)), restore, safe, bool(mmap), pickle_module, pickle_load_args)
    if mmap:
        raise ValueError("load: f must be a file path in order to use the mmap argument, got an open file")
    _check_seekable(f)
    return read(f, "the file", restore, safe, False, pickle_module, pickle_load_args)


def _check_seekable(f: Any) -> None:
    advice = "read it into an io.BytesIO first, and load that"
    for method in ("read", "seek", "tell"):
        if not hasattr(f, method):
            raise AttributeError(f"load: f must be a path or a file that can seek, got {type(f).__name__}; {advice}")
    if hasattr(f, "seekable") and not f.seekable():
        raise io.UnsupportedOperation(f"load: f cannot seek; {advice}")
