"""What a checkpoint says of itself: of each entry its kind, of each tensor its chunks, of each chunk where it stands.

The classes have the names and fields of PyTorch's, whose folders keep them in a pickle.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import weft

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A box of a tensor: where it begins and how large it is, along each dim."""

    offsets: Any
    sizes: Any


class _MEM_FORMAT_ENCODING(Enum):
    """Memory formats as a pickle names them."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = {
    _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT: weft.contiguous_format,
    _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST: weft.channels_last,
    _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT: weft.preserve_format,
}


@dataclass
class TensorProperties:
    """What is needed to make an empty tensor like a saved one, besides its size."""

    dtype: Any = field(default_factory=weft.get_default_dtype)
    layout: Any = weft.strided
    requires_grad: bool = False
    memory_format: Any = weft.contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        encoding = next(code for code, kind in _FORMATS.items() if kind is self.memory_format)
        return self.dtype, self.layout, self.requires_grad, encoding, self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, encoding, self.pin_memory = state
        self.memory_format = _FORMATS[encoding]

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """Return the properties of a tensor."""
        return TensorProperties(tensor.dtype, tensor.layout, tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor: its properties, the size of the whole, and the chunks that were saved."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An entry that is no tensor."""


@dataclass
class StorageMeta:
    """Which checkpoint this is: its name, and the identity of the saving."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """The contents of a checkpoint.

    Parameters
    ----------
    state_dict_metadata : dict
        From the name of an entry to its `TensorStorageMetadata` or `BytesStorageMetadata`.
    planner_data : object, optional
        Of the planner that saved: the default one keeps the path of each entry within the nested state dict.
    storage_data : object, optional
        Of the storage that saved: from a `MetadataIndex` to where it stands.
    """

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """The name of an entry, or of a tensor's chunk.

    Parameters
    ----------
    fqn : str
        Of the entry.
    offset : sequence of int, optional
        Where the chunk begins in the tensor.
    index : int, optional
        The chunk's place in the list of chunks, to find it sooner; two that differ in it alone are equal.
    """

    fqn: str
    offset: Any = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else weft.Size(offset))
        object.__setattr__(self, "index", index)
