"""The threads of NumPy's BLAS, which alone among NumPy's parts has a pool.

NumPy has no function for it. The library is linked to NumPy's own extension module, so that its functions are found
there by name, whichever file they are in.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # it has no stub

PAIRS = (  # how the libraries that NumPy is built with name the two functions
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
)


def blas_threads() -> tuple[Callable[[], int], Callable[[int], Any]] | None:
    """Find the functions that read and set the number of threads; None for a BLAS that has none of them."""
    try:
        library = ctypes.CDLL(_multiarray_umath.__file__)
    except OSError:
        return None
    for reader, setter in PAIRS:
        if hasattr(library, reader) and hasattr(library, setter):
            return getattr(library, reader), getattr(library, setter)
    return None


def available_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
