"""What the environment says of memory: that of freed arrays is kept in the process, and new memory may be filled.

glibc gives a large block back to the system when it is freed, and the next one comes as fresh pages: faulting
them in costs more than the arithmetic (adding 10 million numbers takes twice as long). Two settings, made once
when the backend loads, keep such blocks on the heap. Other C libraries have other allocators and are left alone.
"""

from __future__ import annotations

import ctypes
import os
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # from malloc.h


def keep_freed_memory() -> bool:
    """Ask glibc to keep freed blocks; False where that is not possible.

    Environment variables that set the allocator (``MALLOC_*``, ``GLIBC_TUNABLES``) are the user's word and win.
    """
    if sys.platform != "linux" or any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
        ctypes.CDLL(None).gnu_get_libc_version  # noqa: B018  (musl has a mallopt that does nothing)
    except (AttributeError, OSError):
        return False
    return all(
        mallopt(setting, value) == 1
        for setting, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 2**31 - 1), (M_TOP_PAD, 64 << 20))
    )


def is_poisoned() -> bool:
    """Whether new memory is filled before a kernel writes to it: ``WEFT_POISON`` (`weft.backend_cpu.poison`)."""
    return os.environ.get("WEFT_POISON", "0") not in ("", "0")
