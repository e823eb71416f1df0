"""Checkpoints that several processes write and read together, in PyTorch's format."""

from weft.distributed.checkpoint.api import CheckpointException
from weft.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from weft.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from weft.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from weft.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from weft.distributed.checkpoint.planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from weft.distributed.checkpoint.state_dict_loader import load, load_state_dict
from weft.distributed.checkpoint.state_dict_saver import async_save, save, save_state_dict
from weft.distributed.checkpoint.storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "HuggingFaceStorageReader",
    "HuggingFaceStorageWriter",
    "LoadPlan",
    "LoadPlanner",
    "Metadata",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "StorageReader",
    "StorageWriter",
    "TensorStorageMetadata",
    "WriteItem",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
]
