"""How compiled kernels are kept on disk, so that processes that compile at the same time do not mix them up.

Numba numbers the files of what it compiled of a function, by the function's index of them. Two processes that have read
the same index take the same number, for different kernels; then the index of the one leads to the file of the other,
and from that day on a program silently computes something else (Numba 0.68). Here a file is named by what it is the
kernel of. The worst that two processes can do to each other is then to forget a kernel, which is compiled again.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from numba.core.caching import IndexDataCacheFile

__all__ = ["name_files_by_kernel"]


def save(file: Any, key: Any, data: Any) -> None:
    """Keep what was compiled: first the data, then the index's line that leads there."""
    name = file._data_name(int(sha256(file._dump(key)).hexdigest()[:16], 16))
    file._save_data(name, data)
    file._save_index(file._load_index() | {key: name})


def name_files_by_kernel() -> None:
    """Have Numba do so, for all functions of the process: it has no setting for those of one library."""
    IndexDataCacheFile.save = save
