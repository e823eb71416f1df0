"""The file ``.metadata``: a pickle of PyTorch's metadata classes, read without running anything.

Each class's state is checked as it is restored: a folder may come from anybody.
"""

from __future__ import annotations

import dataclasses
import ntpath
import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from pickle import UnpicklingError
from typing import Any

import weft
from weft.distributed.checkpoint.metadata import (
    _MEM_FORMAT_ENCODING,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from weft.serialization import pickles

PLACE = "torch.distributed.checkpoint.metadata"
FILE_PLACE = "torch.distributed.checkpoint.filesystem"


@dataclass
class _StorageInfo:
    """Where an entry stands: in which file of the folder, from which byte on, how many bytes."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if value is not None}


def dumps(metadata: Metadata) -> bytes:
    """Return the content of the file."""
    return pickles.dumps(metadata, {kind: name for name, (kind, _) in CLASSES.items()})


def loads(data: bytes, source: str) -> Metadata:
    """Return the metadata of a file's content.

    Raises
    ------
    pickle.UnpicklingError
        If it is damaged, or no metadata of a checkpoint, or names anything else than metadata has.
    """
    metadata = pickles.loads(data, CLASSES, FUNCTIONS, source)
    if type(metadata) is not Metadata:
        raise UnpicklingError(f"{source} holds a {type(metadata).__name__}, no metadata of a checkpoint")
    return metadata


def check(condition: bool, what: str) -> None:
    """Raise ValueError, which the unpickler tells as damage."""
    if not condition:
        raise ValueError(what)


def are_sizes(*values: Any) -> bool:
    """Whether values are sizes of as many dims."""
    return all(isinstance(value, weft.Size) for value in values) and len({len(value) for value in values}) == 1


def is_size(value: Any) -> bool:
    """Whether a value is a size without negative numbers."""
    return isinstance(value, weft.Size) and all(type(each) is int and each >= 0 for each in value)


def restored(*checks: tuple[str, Callable[[Any], bool]], **defaults: Any) -> Callable[[Any, Any], None]:
    """What gives an instance its state: these fields, each of which is checked, and no others."""
    tests = dict(checks)

    def restore(target: Any, state: Any) -> None:
        check(type(state) is dict, f"the state of a {type(target).__name__} is no dict")
        fields = {**defaults, **{name: value for name, value in state.items() if name in tests}}
        for name, test in tests.items():
            check(name in fields and test(fields[name]), f"a {type(target).__name__} with a wrong {name}")
        target.__dict__.update(fields)

    return restore


def restore_properties(target: Any, state: Any) -> None:
    """A tuple, or in folders of PyTorch before 2.1 a dict."""
    if type(state) is dict:
        state = tuple(state.get(field.name) for field in dataclasses.fields(TensorProperties))
    check(type(state) is tuple and len(state) == 5, "properties of a tensor that are no five")
    data_type, layout, requires_grad, encoding, pinned = state
    check(isinstance(data_type, weft.dtype), "properties of a tensor without its dtype")
    check(isinstance(layout, weft.layout), "properties of a tensor without its layout")
    if type(encoding) is not _MEM_FORMAT_ENCODING:
        encoding = _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT
    target.__setstate__((data_type, layout, bool(requires_grad), encoding, bool(pinned)))


def restore_chunk(target: Any, state: Any) -> None:
    """Offsets and sizes of as many dims."""
    restored(("offsets", is_size), ("sizes", is_size))(target, state)
    check(are_sizes(target.offsets, target.sizes), "a chunk whose offsets and sizes have not as many dims")


def restore_tensor(target: Any, state: Any) -> None:
    """Chunks that lie within the tensor."""
    restored(
        ("properties", lambda value: type(value) is TensorProperties),
        ("size", is_size),
        ("chunks", lambda value: type(value) is list and all(type(each) is ChunkStorageMetadata for each in value)),
    )(target, state)
    for chunk in target.chunks:
        check(are_sizes(chunk.sizes, target.size), "a chunk that has not as many dims as its tensor")


def restore_info(target: Any, state: Any) -> None:
    """The name of a file in the folder: a path that leaves it is refused."""
    restored(
        ("relative_path", lambda value: type(value) is str and is_inside(value)),
        ("offset", is_count),
        ("length", is_count),
        ("transform_descriptors", lambda value: value is None or type(value) in (list, tuple)),
        transform_descriptors=None,
    )(target, state)


def is_inside(path: str) -> bool:
    """Whether a relative path stays within its folder, on every system."""
    parts = path.replace("\\", "/").split("/")
    rooted = posixpath.isabs(path) or ntpath.isabs(path) or bool(ntpath.splitdrive(path)[0])
    return bool(path) and not rooted and ".." not in parts and "\0" not in path


def is_count(value: Any) -> bool:
    """Whether a value may be an offset or a length."""
    return type(value) is int and 0 <= value < 1 << 63


def is_text(value: Any) -> bool:
    """Whether a value is a text."""
    return type(value) is str


def is_text_or_none(value: Any) -> bool:
    """Whether a value is a text or None."""
    return value is None or type(value) is str


def are_entries(value: Any) -> bool:
    """Whether a value is metadata by names."""
    kinds = (TensorStorageMetadata, BytesStorageMetadata)
    return type(value) is dict and all(type(key) is str and type(each) in kinds for key, each in value.items())


def are_paths(value: Any) -> bool:
    """Whether a value is the default planner's: None, or paths by names."""
    if value is None:
        return True
    return type(value) is dict and all(type(key) is str and is_path(path) for key, path in value.items())


def is_path(value: Any) -> bool:
    """Whether a value leads through a nested state dict."""
    return type(value) in (tuple, list) and len(value) > 0 and all(type(part) in (str, int) for part in value)


def are_places(value: Any) -> bool:
    """Whether a value says where entries stand."""
    return value is None or (
        type(value) is dict
        and all(type(key) is MetadataIndex and type(info) is _StorageInfo for key, info in value.items())
    )


def encoding_of(value: Any = None) -> _MEM_FORMAT_ENCODING:
    """The memory format of a number."""
    check(type(value) is int, "a memory format that is no number")
    return _MEM_FORMAT_ENCODING(value)


def path_of(pure: Any) -> Callable[..., str]:
    """A path of a system, which may be another one than this, as a text."""

    def path(*parts: Any) -> str:
        check(all(type(part) is str for part in parts), "a path whose parts are no texts")
        return str(pure(*parts))

    return path


CLASSES: dict[str, tuple[type, Callable[[Any, Any], None]]] = {
    f"{PLACE}.Metadata": (
        Metadata,
        restored(
            ("state_dict_metadata", are_entries),
            ("planner_data", are_paths),
            ("storage_data", are_places),
            ("storage_meta", lambda value: value is None or type(value) is StorageMeta),
            ("version", is_text_or_none),
            planner_data=None,
            storage_data=None,
            storage_meta=None,
            version=None,
        ),
    ),
    f"{PLACE}.MetadataIndex": (
        MetadataIndex,
        restored(
            ("fqn", is_text),
            ("offset", lambda value: value is None or is_size(value)),
            ("index", lambda value: value is None or is_count(value)),
            offset=None,
            index=None,
        ),
    ),
    f"{PLACE}.TensorProperties": (TensorProperties, restore_properties),
    f"{PLACE}.TensorStorageMetadata": (TensorStorageMetadata, restore_tensor),
    f"{PLACE}.ChunkStorageMetadata": (ChunkStorageMetadata, restore_chunk),
    f"{PLACE}.BytesStorageMetadata": (BytesStorageMetadata, restored()),
    f"{PLACE}.StorageMeta": (
        StorageMeta,
        restored(
            ("checkpoint_id", is_text_or_none),
            ("save_id", is_text_or_none),
            ("load_id", is_text_or_none),
            ("modules", lambda value: type(value) is list and all(map(is_text, value))),
            checkpoint_id=None,
            save_id=None,
            load_id=None,
            modules=[],
        ),
    ),
    f"{FILE_PLACE}._StorageInfo": (_StorageInfo, restore_info),
    f"{PLACE}._MEM_FORMAT_ENCODING": (_MEM_FORMAT_ENCODING, restored()),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"{PLACE}._MEM_FORMAT_ENCODING": encoding_of,
    **{f"{module}.PosixPath": path_of(PurePosixPath) for module in ("pathlib", "pathlib._local")},
    **{f"{module}.WindowsPath": path_of(PureWindowsPath) for module in ("pathlib", "pathlib._local")},
}
