"""Reading and writing PyTorch's ``.pt`` files, without PyTorch.

A ``.pt`` file is a zip archive of stored records: ``data.pkl`` is a pickle in which each storage is
a persistent id, and ``data/0``, ``data/1``, … are the storages' bytes. `save` writes it under
PyTorch's names; `load` builds only tensors, containers and numbers from it, unless told otherwise.
"""

from weft.serialization._load import default_restore_location, load
from weft.serialization._safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from weft.serialization._save import get_crc32_options, save, set_crc32_options
from weft.serialization._scan import get_unsafe_globals_in_checkpoint

__all__ = [
    "save",
    "load",
    "add_safe_globals",
    "get_safe_globals",
    "clear_safe_globals",
    "safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "default_restore_location",
    "get_crc32_options",
    "set_crc32_options",
]
