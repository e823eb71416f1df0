"""Files in the safetensors format: named tensors and texts, and nothing that could run.

A file is the length of its header (8 bytes, little-endian), the header in JSON, which has dtype, shape and place of
each tensor, and the tensors' bytes without gaps. The functions are those of the `safetensors` package, which is not
needed.

References
----------
https://github.com/huggingface/safetensors
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import struct
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import IO, Any, NamedTuple

import numpy

from weft._dtypes.dtypes import NAMES
from weft._interception.interceptors import side_effect
from weft._tensor.base import Tensor
from weft.serialization._archive import read_exactly, replacing, write_all
from weft.storage import UntypedStorage, tensor_of

__all__ = ["SafetensorError", "load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]

Path = str | os.PathLike[str]

# In the order of the format's own list: tensors of the last stand first in a file, so that all are aligned.
DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "BF16": "bfloat16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "C64": "complex64",
    "F64": "float64",
    "I64": "int64",
    "U64": "uint64",
}
CODES = {name: code for code, name in DTYPES.items()}
RANKS = {name: rank for rank, name in enumerate(CODES)}
HEADER_LIMIT = 100_000_000  # bytes, by the format
HEADER_FROM = 8
METADATA = "__metadata__"
DIMENSIONS = 64  # what NumPy has


class SafetensorError(Exception):
    """A file is not what the format asks for, or does not have what was asked for."""


class Entry(NamedTuple):
    """What the header says of a tensor; ``start`` and ``end`` count from the beginning of the file."""

    dtype: Any
    shape: tuple[int, ...]
    start: int
    end: int


# Writing -------------------------------------------------------------------------------------------------


def save_file(tensors: dict[str, Any], filename: Path, metadata: dict[str, str] | None = None) -> None:
    """Write named tensors to a file.

    Parameters
    ----------
    tensors : dict from str to Tensor
        Contiguous, and each with memory of its own.
    filename : str or path
        Replaced only when everything has been written to disk: a crash leaves the old file.
    metadata : dict from str to str, optional

    Raises
    ------
    ValueError
        If something is no tensor, not contiguous, sparse, or of a dtype that the format does not have.
    RuntimeError
        If tensors share memory: the format cannot express it. `save_model` writes tied weights once.

    Examples
    --------
    >>> import os, tempfile
    >>> from weft.serialization.safetensors import load_file, save_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save_file({"weight": weft.ones(2)}, path)
    ...     print(load_file(path))
    {'weight': tensor([1., 1.])}
    """
    side_effect("it writes a file")
    parts = _parts("save_file", tensors, metadata)
    with replacing(os.fspath(filename)) as file:
        for part in parts:
            write_all(file, part)


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """Return what `save_file` writes.

    Examples
    --------
    >>> from weft.serialization.safetensors import load, save
    >>> load(save({"a": weft.arange(3)}))
    {'a': tensor([0, 1, 2])}
    """
    return b"".join(_parts("save", tensors, metadata))


def save_model(
    model: Any, filename: Path, metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """Write the parameters and buffers of a module to a file.

    Parameters
    ----------
    model : Module
    metadata : dict from str to str, optional
        Of tensors that are one (tied weights) the first name in the alphabet is written; the others stand here, with
        that name.
    force_contiguous : bool, default True
        Copy tensors that are not contiguous, which the format cannot express.
    """
    state, notes = model.state_dict(), dict(metadata or {})
    for name, kept in _duplicates(state).items():
        notes.setdefault(name, kept)
        del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(dict(state), filename, notes or None)


def _parts(caller: str, tensors: Any, metadata: Any) -> list[Any]:
    """The parts of a file: its header, and the bytes of each tensor."""
    _check(caller, tensors, metadata)
    ordered = sorted(tensors.items(), key=lambda item: (-RANKS[item[1].dtype.name], item[0]))
    header: dict[str, Any] = {} if metadata is None else {METADATA: metadata}
    position, contents = 0, []
    for name, tensor in ordered:
        content = _bytes_of(tensor)
        offsets = [position, position + content.nbytes]
        header[name] = {"dtype": CODES[tensor.dtype.name], "shape": list(tensor.shape), "data_offsets": offsets}
        position = offsets[1]
        contents.append(content)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > HEADER_LIMIT:
        raise ValueError(f"{caller}: the names and texts take {len(text)} bytes; the format allows {HEADER_LIMIT}")
    return [struct.pack("<Q", len(text)), text, *contents]


def _bytes_of(tensor: Any) -> Any:
    """A tensor's content as little-endian bytes, in place where it can be."""
    flat = tensor.detach().cpu().reshape(-1)
    if sys.byteorder == "big":
        flat = flat.clone()
        flat.untyped_storage().byteswap(tensor.dtype)
    return flat.view(NAMES["uint8"]).numpy()


def _check(caller: str, tensors: Any, metadata: Any) -> None:
    if not isinstance(tensors, dict):
        raise ValueError(f"{caller}: expected a dict from names to tensors, got {type(tensors).__name__}")
    texts = [] if metadata is None else [*metadata, *metadata.values()]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{caller}: metadata is a dict from str to str, got {metadata!r}")
    for name, tensor in tensors.items():
        if not isinstance(name, str) or name == METADATA:
            raise ValueError(f"{caller}: {name!r} is no name for a tensor")
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{caller}: {name!r} is to be a tensor, got {type(tensor).__name__}")
        if tensor.is_sparse:
            raise ValueError(f"{caller}: {name!r} is sparse, which the format does not have; save its to_dense()")
        if tensor.dtype.name not in CODES:
            raise ValueError(f"{caller}: {name!r} has dtype {tensor.dtype}, which the format does not have")
        if not tensor.is_contiguous():
            raise ValueError(f"{caller}: {name!r} is not contiguous; save its contiguous()")
    _check_memory(caller, tensors)


def _check_memory(caller: str, tensors: dict[str, Any]) -> None:
    owners: dict[Any, str] = {}
    for name, tensor in tensors.items():
        if not tensor.numel():
            continue
        other = owners.setdefault(tensor.untyped_storage(), name)
        if other != name:
            raise RuntimeError(
                f"{caller}: {other!r} and {name!r} share memory, which the format cannot express; leave one out, save "
                "a clone() of it, or use save_model, which writes tied weights once"
            )


def _duplicates(state: dict[str, Any]) -> dict[str, str]:
    """Names of tensors that are the same memory in the same form as another, with the name of that one."""
    first: dict[Any, str] = {}
    found: dict[str, str] = {}
    for name in sorted(state):
        tensor = state[name]
        if not tensor.numel():
            continue
        form = tensor.data_ptr(), tensor.device, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride())
        kept = first.setdefault(form, name)
        if kept != name:
            found[name] = kept
    return found


# Reading -------------------------------------------------------------------------------------------------


def load_file(filename: Path, device: Any = "cpu", *, backend: str = "mmap") -> dict[str, Any]:
    """Read the tensors of a file, in the order in which they lie there.

    Parameters
    ----------
    filename : str or path
    device : device, default "cpu"
    backend : "mmap" or "pread"
        Whether the numbers stay in the file until they are used, or are read into memory at once. Writing to a tensor
        changes the memory of this process and not the file, either way.

    Raises
    ------
    SafetensorError
        If the file is damaged, or no safetensors file.
    """
    side_effect("it reads a file")
    with safe_open(filename, "pt", device, backend=backend) as file:
        return file.get_tensors()


def load(data: bytes) -> dict[str, Any]:
    """Return the tensors of a file's content; they are copies.

    Raises
    ------
    SafetensorError
        If it is damaged, or no safetensors file.
    """
    content = memoryview(data).cast("B") if len(data) else memoryview(b"")
    header = bytes(content[HEADER_FROM : HEADER_FROM + min(HEADER_LIMIT, _header_size("load", content[:8], len(data)))])
    entries, _ = _entries("load", header, len(content))
    return {name: _tensor(entry, bytearray(content[entry.start : entry.end])) for name, entry in entries.items()}


def load_model(
    model: Any, filename: Path, strict: bool = True, device: Any = "cpu", *, backend: str = "mmap"
) -> tuple[list[str], list[str]]:
    """Read what `save_model` wrote into a module's parameters and buffers.

    Returns
    -------
    list of str
        Names of the module that the file does not have. Names of tied weights need stand there once.
    list of str
        Names of the file that the module does not have.

    Raises
    ------
    RuntimeError
        If there are any, and ``strict``; if shapes differ.
    """
    state = load_file(filename, device, backend=backend)
    tied = _duplicates(model.state_dict())
    groups = [{kept, *(name for name in tied if tied[name] == kept)} for kept in set(tied.values())]
    missing, unexpected = model.load_state_dict(state, strict=False)
    there = {name for group in groups if group & state.keys() for name in group}
    missing = [name for name in missing if name not in there]
    if strict and (missing or unexpected):
        raise RuntimeError(
            f"load_model: {os.fspath(filename)!r} does not fit {type(model).__name__}: missing {missing}, "
            f"unexpected {unexpected}; strict=False loads what fits"
        )
    return missing, list(unexpected)


class safe_open:
    """An open file, of which single tensors are read.

    Parameters
    ----------
    filename : str or path
    framework : str, default "pt"
        "pt" or "weft" gives tensors, "np" NumPy arrays.
    device : device, default "cpu"
    backend : "mmap" or "pread"
        As for `load_file`.

    Raises
    ------
    SafetensorError
        If the file is damaged, or no safetensors file.

    Examples
    --------
    >>> import os, tempfile
    >>> from weft.serialization.safetensors import safe_open, save_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save_file({"weight": weft.arange(6).reshape(2, 3)}, path, {"made": "today"})
    ...     with safe_open(path) as file:
    ...         print(file.keys(), file.metadata(), file.get_slice("weight")[:, 1])
    ['weight'] {'made': 'today'} tensor([1, 4])
    """

    def __init__(self, filename: Path, framework: str = "pt", device: Any = "cpu", *, backend: str = "mmap") -> None:
        if framework not in ("pt", "torch", "pytorch", "weft", "np", "numpy"):
            raise SafetensorError(f"safe_open: framework is 'pt', 'weft' or 'np', got {framework!r}")
        if backend not in ("mmap", "pread"):
            raise SafetensorError(f"safe_open: backend is 'mmap' or 'pread', got {backend!r}")
        self._arrays = framework in ("np", "numpy")
        self._device = device
        self._file: IO[bytes] | None = open(filename, "rb")  # noqa: SIM115 - closed by __exit__
        try:
            size = os.fstat(self._file.fileno()).st_size
            begin = self._file.read(HEADER_FROM)
            header = self._file.read(_header_size(repr(os.fspath(filename)), begin, size))
            self._entries, self._metadata = _entries(repr(os.fspath(filename)), header, size)
            self._mapping = self._mapped() if backend == "mmap" else None
        except BaseException:
            self._file.close()
            raise

    def _mapped(self) -> mmap.mmap:
        return mmap.mmap(self._open().fileno(), 0, access=mmap.ACCESS_COPY)

    def _open(self) -> IO[bytes]:
        if self._file is None:
            raise SafetensorError("safe_open: the file has been closed")
        return self._file

    def __enter__(self) -> safe_open:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open().close()
        self._file = self._mapping = None  # tensors keep the mapping that they are in

    def keys(self) -> list[str]:
        """Return the names of the tensors, sorted."""
        return sorted(self._entries)

    def offset_keys(self) -> list[str]:
        """Return the names of the tensors, in the order in which they lie in the file."""
        return list(self._entries)

    def metadata(self) -> dict[str, str] | None:
        """Return the texts that were saved with the tensors, None if there are none."""
        return self._metadata

    def get_tensor(self, name: str) -> Any:
        """Return one tensor."""
        tensor = self._get(name).to(self._device)
        return tensor.numpy() if self._arrays else tensor

    def get_tensors(self) -> dict[str, Any]:
        """Return all tensors by their names, in the order in which they lie in the file."""
        return {name: self.get_tensor(name) for name in self._entries}

    def get_slice(self, name: str) -> SafeSlice:
        """Return an object of which parts of a tensor are taken, ``file.get_slice(name)[:, 1:3]``."""
        return SafeSlice(self, name, self._entry(name))

    def _entry(self, name: str) -> Entry:
        try:
            return self._entries[name]
        except KeyError:
            raise SafetensorError(f"safe_open: the file has no tensor {name!r}") from None

    def _get(self, name: str) -> Any:
        entry, file = self._entry(name), self._open()
        if self._mapping is not None and entry.start % entry.dtype.itemsize == 0 and entry.end > entry.start:
            content = numpy.frombuffer(self._mapping, numpy.uint8, entry.end - entry.start, entry.start)
            return _tensor(entry, content)
        content = numpy.empty(entry.end - entry.start, numpy.uint8)
        file.seek(entry.start)
        if read_exactly(file, content.data) < content.nbytes:
            raise SafetensorError(f"safe_open: the file ends within the tensor {name!r}")
        return _tensor(entry, content)


class SafeSlice:
    """A tensor of a file, of which parts are read by indexing."""

    def __init__(self, file: safe_open, name: str, entry: Entry) -> None:
        self._file = file
        self._name = name
        self._entry = entry

    def get_shape(self) -> list[int]:
        """Return the shape of the whole tensor."""
        return list(self._entry.shape)

    def get_dtype(self) -> str:
        """Return the format's word for the dtype, ``"F32"``."""
        return CODES[self._entry.dtype.name]

    def __getitem__(self, index: Any) -> Any:
        part = self._file._get(self._name)[index].clone().to(self._file._device)
        return part.numpy() if self._file._arrays else part


def _header_size(source: str, begin: bytes | memoryview, size: int) -> int:
    """The length of the header, when that can be true of a file of ``size`` bytes."""
    if len(begin) < HEADER_FROM:
        raise SafetensorError(f"load: {source} is too short for a safetensors file")
    (length,) = struct.unpack("<Q", begin)
    if length > min(HEADER_LIMIT, size - HEADER_FROM):
        raise SafetensorError(
            f"load: the header of {source} claims {length} bytes of a file that has {size}; it is no safetensors file, "
            "or truncated"
        )
    return int(length)


def _entries(source: str, header: bytes, size: int) -> tuple[dict[str, Entry], dict[str, str] | None]:
    """The header's tensors in the order of their places, and its texts. No number in it is believed."""
    try:
        content = json.loads(header.decode(), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise SafetensorError(f"load: the header of {source} cannot be read ({str(error)[:300]})") from error
    if type(content) is not dict:
        raise SafetensorError(f"load: the header of {source} is no table of tensors")
    metadata = content.pop(METADATA, None)
    texts = [*metadata, *metadata.values()] if type(metadata) is dict else [metadata]
    if metadata is not None and not all(type(text) is str for text in texts):
        raise SafetensorError(f"load: the metadata of {source} are no texts")
    first = HEADER_FROM + len(header)
    try:
        entries = [(name, _entry(described, first)) for name, described in content.items()]
    except (KeyError, TypeError, ValueError) as error:
        raise SafetensorError(f"load: the header of {source} is damaged: {str(error)[:300]}") from error
    entries.sort(key=lambda item: item[1][2:])
    end = first
    for name, entry in entries:
        if entry.start != end or entry.end - entry.start != math.prod(entry.shape) * entry.dtype.itemsize:
            raise SafetensorError(f"load: {source} has a tensor {name[:200]!r} whose shape and place do not agree")
        end = entry.end
    if end != size:
        raise SafetensorError(f"load: the tensors of {source} end at byte {end}, and the file at {size}; it is damaged")
    return dict(entries), metadata


def _entry(described: Any, first: int) -> Entry:
    if type(described) is not dict:
        raise TypeError("a tensor has no description")
    shape, offsets = described["shape"], described["data_offsets"]
    for numbers in (shape, offsets):
        if type(numbers) is not list or any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError("a shape or place is no list of integers from 0 on")
    if len(shape) > DIMENSIONS or len(offsets) != 2:
        raise ValueError(f"a tensor of {len(shape)} dimensions at {len(offsets)} offsets")
    code = described["dtype"]
    if type(code) is not str or code not in DTYPES:
        raise ValueError(f"dtype {str(code)[:100]!r} is none of {', '.join(DTYPES)}")
    return Entry(NAMES[DTYPES[code]], tuple(shape), first + offsets[0], first + offsets[1])


def _without_duplicates(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"{key[:200]!r} stands there twice")
        made[key] = value
    return made


def _tensor(entry: Entry, content: Any) -> Any:
    """A tensor of these bytes, in place."""
    storage = UntypedStorage._of_bytes(content) if len(content) else UntypedStorage()
    if sys.byteorder == "big":
        storage.byteswap(entry.dtype)
    strides, step = [], 1
    for length in reversed(entry.shape):
        strides.append(step)
        step *= max(length, 1)
    with contextlib.suppress(RuntimeError):
        return tensor_of(storage, entry.dtype, 0, entry.shape, tuple(reversed(strides)))
    raise SafetensorError(f"load: a tensor of shape {entry.shape} cannot be made")
