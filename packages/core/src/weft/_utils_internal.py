"""Paths of files for tests, by the names that torchvision's own suite and PyTorch's test classes ask for."""

from __future__ import annotations

import os
import tempfile

__all__ = ["get_file_path_2", "get_writable_path"]


def get_file_path_2(*path_components: str) -> str:
    """Return the path of a file from its folders: ``os.path.join``."""
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """Return the path of a folder, or of a new temporary one in whose place it cannot be written to."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))
