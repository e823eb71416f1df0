"""The storage of a checkpoint's name: a folder, unless the caller brings a storage of their own."""

from __future__ import annotations

import os
from typing import Any

from weft.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter


def storage_of(storage: Any, checkpoint_id: str | os.PathLike[str] | None, reads: bool) -> Any:
    """Return the storage, begun anew for the name.

    Raises
    ------
    RuntimeError
        If neither a storage nor a name is given, or the name is no folder's.
    """
    if storage is not None:
        if checkpoint_id is not None:
            storage.reset(checkpoint_id)
        return storage
    if checkpoint_id is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    kind: Any = FileSystemReader if reads else FileSystemWriter
    if not kind.validate_checkpoint_id(checkpoint_id):
        raise RuntimeError(
            f"Cannot detect which StorageReader or StorageWriter to use for {checkpoint_id!r}: it is no folder; please "
            "specify the storage_reader/storage_writer"
        )
    return kind(checkpoint_id)
