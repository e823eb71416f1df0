"""Paths of files beside tests, under the name by which torchvision's own suite asks for them."""

from __future__ import annotations

import os

__all__ = ["get_file_path_2"]


def get_file_path_2(*path_components: str) -> str:
    """Return the path of a file from its folders: ``os.path.join``."""
    return os.path.join(*path_components)
