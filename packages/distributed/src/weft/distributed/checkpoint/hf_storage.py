"""Names of readers and writers of checkpoints in safetensors files, by several processes."""

from weft.distributed._several import OfSeveral

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class HuggingFaceStorageReader(OfSeveral):
    """Reads the parts of each process."""


class HuggingFaceStorageWriter(OfSeveral):
    """Writes the parts of each process."""
