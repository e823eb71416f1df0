"""`save`: objects into PyTorch's ``.pt`` files."""

from __future__ import annotations

import contextlib
import os
import pickle
from types import ModuleType
from typing import Any

from weft._interception.interceptors import side_effect
from weft.serialization._writing import pickled, replacing, write, write_legacy

DEFAULT_PROTOCOL = 2
_compute_crc32 = True


def get_crc32_options() -> bool:
    """Return whether `save` computes a checksum of each record."""
    return _compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether `save` computes a checksum of each record.

    Without them saving large files is somewhat faster, damage goes unnoticed, and unzip complains.
    """
    global _compute_crc32
    _compute_crc32 = bool(compute_crc32)


def save(
    obj: object,
    f: str | os.PathLike[str] | Any,
    pickle_module: ModuleType | None = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object with its tensors to a file that both weft and PyTorch read.

    Tensors that share memory share it again when loaded. The whole of that memory is written, also
    if ``obj`` has only a small view of it: save ``view.clone()`` to write the view alone.

    Parameters
    ----------
    obj : object
        Tensors, parameters, and containers of them; whatever else pickle can write needs
        ``weights_only=False``, or a list of safe globals, to be loaded.
    f : str, path or object with a ``write`` method
        A path is replaced only when everything has been written to disk: a crash leaves the old file.
    pickle_module : module, optional
        Default: Python's own ``pickle``. With ``cloudpickle``, functions and classes of a program are written, too.
    pickle_protocol : int, default 2
        PyTorch's safe loading reads 2 only.
    _use_new_zipfile_serialization : bool, default True
        False writes the format of before PyTorch 1.6.
    _disable_byteorder_record : bool, default False
        Do not say in which byte order the numbers are.

    Raises
    ------
    ValueError
        If ``pickle_module`` is another one.
    RuntimeError
        If the path's folder does not exist, or if two tensors are views of the same memory as
        different dtypes.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> weft.save({"weight": weft.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> weft.load(file)
    {'weight': tensor([1., 1.])}
    """
    side_effect("it writes a file")
    if pickle_module is pickle:
        pickle_module = None
    if pickle_module is not None and not hasattr(getattr(pickle_module, "Pickler", None), "reducer_override"):
        raise ValueError(
            f"save: pickle_module must be Python's pickle, or one whose Pickler has reducer_override (cloudpickle); "
            f"got {pickle_module!r}"
        )
    path = os.fspath(f) if isinstance(f, str | os.PathLike) else None
    if path is None and not hasattr(f, "write"):
        raise AttributeError(
            "save: expected 'f' to be string, path, or a file-like object with a 'write' attribute, got "
            f"{type(f).__name__}"
        )
    old = not _use_new_zipfile_serialization
    content = pickled(obj, pickle_protocol, old, pickle_module)  # what cannot be pickled touches no file
    with contextlib.nullcontext(f) if path is None else replacing(path) as file:
        if _use_new_zipfile_serialization:
            write(content, file, _archive_name(path), _compute_crc32, not _disable_byteorder_record)
        else:
            write_legacy(content, file, pickle_protocol)


def _archive_name(path: str | None) -> str:
    """What the folder within the archive is called: as the file, without its ending."""
    if path is None:
        return "archive"
    base = os.path.basename(path)
    return base.rpartition(".")[0] or base
