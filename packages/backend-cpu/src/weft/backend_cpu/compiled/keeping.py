"""How compiled kernels are kept on disk, so that processes that compile at the same time do not mix them up.

Numba numbers the files of what it compiled of a function, by the function's index of them. Two processes that have read
the same index take the same number, for different kernels; then the index of the one leads to the file of the other,
and from that day on a program silently computes something else (Numba 0.68). Here a file is named by what it is the
kernel of. The worst that two processes can do to each other is then to forget a kernel, which is compiled again.

Beside them is a file, without content, for each work that was found to be worth compiled kernels.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

from weft.backend_cpu.compiled import folder

__all__ = ["decide", "is_decided", "name_files_by_kernel"]


def save(file: Any, key: Any, data: Any) -> None:
    """Keep what was compiled: first the data, then the index's line that leads there."""
    name = file._data_name(int(sha256(file._dump(key)).hexdigest()[:16], 16))
    file._save_data(name, data)
    file._save_index(file._load_index() | {key: name})


def name_files_by_kernel() -> None:
    """Have Numba do so, for all functions of the process: it has no setting for those of one library."""
    IndexDataCacheFile.save = save


def note_of(work: str) -> Path:
    """The file that says that some work is for compiled kernels."""
    return folder() / f"{work.replace('::', '.').replace(' ', '.')}.decided"


def is_decided(work: str) -> bool:
    """Whether some work was found to be worth compiled kernels, by this process or one before."""
    return note_of(work).exists()


def decide(work: str) -> None:
    """Note that some work is worth compiled kernels, where files can be written."""
    with suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        note_of(work).touch()
