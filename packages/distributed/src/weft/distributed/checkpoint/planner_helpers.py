"""Items of plans: chunks of plain and distributed tensors, and the boxes that saved and wanted chunks share.

A tensor subclass that knows its own chunks has ``__create_write_items__(fqn, tensor)``, ``__create_chunk_list__()`` and
``__get_tensor_shard__(index)``; a DTensor is asked for its mesh and placements.
"""

from __future__ import annotations

import io
from typing import Any

import weft
from weft.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from weft.distributed.checkpoint.planner import (
    BytesIOWriteData,
    LoadItemType,
    ReadItem,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

__all__ = ["create_read_items_for_chunk_list"]


def is_distributed(value: Any) -> bool:
    """Whether a value is a DTensor: this process holds a part of it."""
    return hasattr(value, "device_mesh") and hasattr(value, "placements") and hasattr(value, "to_local")


def _create_chunk_from_tensor(tensor: Any) -> ChunkStorageMetadata:
    """The chunk that is a whole tensor."""
    return ChunkStorageMetadata(weft.Size([0] * tensor.dim()), weft.Size(tensor.shape))


def _create_chunk_from_dtensor(tensor: Any) -> ChunkStorageMetadata:
    """The chunk that this process holds of a DTensor."""
    from weft.distributed.tensor._utils import compute_local_shape_and_global_offset

    sizes, offsets = compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, tensor.placements)
    return ChunkStorageMetadata(weft.Size(offsets), weft.Size(sizes))


def is_member(tensor: Any) -> bool:
    """Whether this process is in a DTensor's mesh, and has a part of it at all."""
    return tensor.device_mesh.get_coordinate() is not None


def _create_chunk_list(tensor: Any) -> list[ChunkStorageMetadata]:
    """The chunks that this process holds of a tensor."""
    if hasattr(tensor, "__create_chunk_list__"):
        return list(tensor.__create_chunk_list__())
    if is_distributed(tensor):
        return [_create_chunk_from_dtensor(tensor)] if is_member(tensor) else []
    if isinstance(tensor, weft.Tensor):
        return [_create_chunk_from_tensor(tensor)]
    raise ValueError(f"Unsupported data type {type(tensor)}: a tensor is expected here")


def _create_write_items(fqn: str, object: Any) -> list[WriteItem]:
    """What this process would write of an entry."""
    if hasattr(object, "__create_write_items__"):
        return list(object.__create_write_items__(fqn, object))
    if not isinstance(object, weft.Tensor) and not is_distributed(object):
        return [WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO, bytes_io_data=BytesIOWriteData(nbytes=0))]
    kind = WriteItemType.SHARD if is_distributed(object) else WriteItemType.TENSOR
    properties = TensorProperties.create_from_tensor(object)
    return [
        WriteItem(
            MetadataIndex(fqn, chunk.offsets),
            kind,
            tensor_data=TensorWriteData(chunk, properties, weft.Size(object.shape)),
        )
        for chunk in _create_chunk_list(object)
    ]


def _create_read_items(fqn: str, md: Any, obj: Any) -> list[ReadItem]:
    """What this process reads to fill an entry.

    Raises
    ------
    ValueError
        If one is a tensor and the other is not.
    """
    if isinstance(md, BytesStorageMetadata):
        return [_create_read_item_for_byteio(MetadataIndex(fqn), 0, MetadataIndex(fqn), 0, 0)]
    try:
        chunks = _create_chunk_list(obj)
    except ValueError as error:
        raise ValueError(
            f"Invalid checkpoint metadata for {fqn}, expected BytesStorageMetadata but found {type(md)}: the "
            f"checkpoint has a tensor, the state dict a {type(obj).__name__}"
        ) from error
    return create_read_items_for_chunk_list(fqn, md, chunks)


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: list[ChunkStorageMetadata]
) -> list[ReadItem]:
    """Return the boxes that saved chunks and wanted chunks share.

    Parameters
    ----------
    fqn : str
        Of the tensor.
    checkpoint_md : TensorStorageMetadata
        Has the saved chunks.
    local_chunks : list of ChunkStorageMetadata
        The wanted ones.
    """
    items = []
    for index, wanted in enumerate(local_chunks):
        for storage_index, saved in enumerate(checkpoint_md.chunks):
            box = shared_box(saved, wanted)
            if box is None:
                continue
            begin, lengths = box
            items.append(
                _create_read_item_for_tensor(
                    MetadataIndex(fqn, wanted.offsets, index),
                    [at - offset for at, offset in zip(begin, wanted.offsets)],
                    MetadataIndex(fqn, saved.offsets, storage_index),
                    [at - offset for at, offset in zip(begin, saved.offsets)],
                    lengths,
                )
            )
    return items


def shared_box(saved: ChunkStorageMetadata, wanted: ChunkStorageMetadata) -> tuple[list[int], list[int]] | None:
    """Where the box that two chunks share begins in the tensor, and its lengths; None if they share nothing."""
    begin = [max(pair) for pair in zip(saved.offsets, wanted.offsets)]
    ends = [
        min(first + size, second + other)
        for first, size, second, other in zip(saved.offsets, saved.sizes, wanted.offsets, wanted.sizes)
    ]
    lengths = [end - start for start, end in zip(begin, ends)]
    return None if any(length <= 0 for length in lengths) else (begin, lengths)


def _create_read_item_for_byteio(
    dest_index: MetadataIndex, dest_offset: int, storage_index: MetadataIndex, storage_offset: int, length: int
) -> ReadItem:
    sizes = [weft.Size([value]) for value in (dest_offset, storage_offset, length)]
    return ReadItem(LoadItemType.BYTE_IO, dest_index, sizes[0], storage_index, sizes[1], sizes[2])


def _create_read_item_for_tensor(
    dest_index: MetadataIndex, dest_offsets: Any, storage_index: MetadataIndex, storage_offsets: Any, lengths: Any
) -> ReadItem:
    sizes = [weft.Size(value) for value in (dest_offsets, storage_offsets, lengths)]
    return ReadItem(LoadItemType.TENSOR, dest_index, sizes[0], storage_index, sizes[1], sizes[2])


def narrowed(tensor: Any, offsets: Any, lengths: Any) -> Any:
    """The view of a tensor that is a box of it."""
    return tensor[tuple(slice(start, start + length) for start, length in zip(offsets, lengths))] if offsets else tensor


def bytes_of(value: Any) -> io.BytesIO:
    """An entry that is no tensor, as `weft.save` writes it."""
    stream = io.BytesIO()
    weft.save(value, stream)
    stream.seek(0)
    return stream
