"""Reading and writing PyTorch's ``.pt`` files, without PyTorch.

A ``.pt`` file is a zip archive of stored records: ``data.pkl`` is a pickle in which each storage is
a persistent id, and ``data/0``, ``data/1``, … are the storages' bytes. `save` writes it under
PyTorch's names; `load` builds only tensors, containers and numbers from it, unless told otherwise.
"""

import importlib
from typing import Any

from weft.serialization._load import load
from weft.serialization._locations import default_restore_location, location_tag, register_package
from weft.serialization._options import (
    LoadEndianness,
    SourceChangeWarning,
    check_module_version_greater_or_equal,
    get_default_load_endianness,
    get_default_mmap_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from weft.serialization._safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from weft.serialization._save import DEFAULT_PROTOCOL, get_crc32_options, save, set_crc32_options
from weft.serialization._scan import get_unsafe_globals_in_checkpoint

MAP_LOCATION = Any  # the type of the argument ``map_location``, which Pyro's signatures name

__all__ = [
    "DEFAULT_PROTOCOL",
    "save",
    "load",
    "safetensors",
    "add_safe_globals",
    "get_safe_globals",
    "clear_safe_globals",
    "safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "register_package",
    "location_tag",
    "default_restore_location",
    "LoadEndianness",
    "check_module_version_greater_or_equal",
    "get_default_load_endianness",
    "set_default_load_endianness",
    "get_default_mmap_options",
    "set_default_mmap_options",
    "get_crc32_options",
    "set_crc32_options",
    "skip_data",
    "SourceChangeWarning",
]


def _is_zipfile(f: Any) -> bool:
    """Whether a file goes on with the first bytes of a zip archive from where it is; it stays there."""
    start = f.tell()
    found = f.read(4) == b"PK\x03\x04"
    f.seek(start)
    return found


def __getattr__(name: str) -> Any:
    """Import what most programs never ask for when it is asked for."""
    if name == "safetensors":
        return importlib.import_module("weft.serialization.safetensors")
    raise AttributeError(f"module 'weft.serialization' has no attribute {name!r}")
