"""How many threads kernels use: those of NumPy's BLAS and those of OpenMP, which oneDNN and the compiled loops share.

NumPy has no function for its BLAS. The library is linked to one of NumPy's own extension modules, so that its functions
are found there by name, whichever file they are in.

The two pools are never given work in turns: a pool's threads go on spinning after their work, in the other's way. Where
oneDNN is there it takes all matrix products but the small ones, which the BLAS computes on the calling thread.

After fork, a child has the record of its parent's OpenMP threads and not the threads, and would wait for them. So a
child computes on the thread that calls.
"""

from __future__ import annotations

import contextvars
import ctypes
import mmap
import os
import sys
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

import numpy

Result = TypeVar("Result")

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
    folder = os.path.dirname(numpy.__file__)
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    for file in sorted(each for each in files if each.startswith(folder) and not each.endswith(".py")):
        try:
            library = ctypes.CDLL(file)
        except OSError:
            continue
        for reader, setter in PAIRS:
            if hasattr(library, reader) and hasattr(library, setter):
                return getattr(library, reader), getattr(library, setter)
    return None


def available_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def openmp() -> ctypes.CDLL | None:
    """GNU's OpenMP library, which the process shares; None where there is none."""
    try:
        return ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None


@cache
def blas() -> tuple[Callable[[], int], Callable[[int], Any]] | None:
    """What `blas_threads` found."""
    return blas_threads()


_chosen = 0  # what the user has set, or what there was before OpenMP took over; 0 before


def count() -> int:
    """How many threads kernels use."""
    if _chosen:
        return _chosen
    found = blas()
    return available_processors() if found is None else found[0]()


def set_count(num: int) -> None:
    """Set how many threads kernels use."""
    global _chosen
    _chosen = num
    limit_blas(1 if blas_is_serial else num)
    if openmp_in_use:
        limit_openmp(num)
    changed()


changes = 1  # how often the number has changed, and one
on_change: list[
    Callable[[], None]
] = []  # called after each change: what libraries built for a number is of no more use


def changed() -> None:
    """Say that the number of threads is another one."""
    global changes
    changes += 1
    for each in on_change:
        each()


openmp_in_use = False
blas_is_serial = False
is_forked = False  # from a process that had used OpenMP


def use_openmp() -> None:
    """Get OpenMP ready for a library's first kernel."""
    global openmp_in_use
    if not openmp_in_use:
        openmp_in_use = True
        limit_openmp(count())
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=leave_openmp)


def leave_openmp() -> None:
    """In a forked child: all of its kernels run on the thread that calls."""
    global is_forked
    is_forked = True
    set_count(1)


def keep_blas_serial() -> None:
    """Leave large matrix products to OpenMP's threads, and the others to the thread that calls."""
    global blas_is_serial, _chosen
    _chosen = count()
    blas_is_serial = True
    limit_blas(1)


def limit_blas(num: int) -> None:
    """Set how many threads NumPy's BLAS uses."""
    found = blas()
    if found is not None:
        found[1](num)


def limit_openmp(num: int) -> None:
    """Tell OpenMP how many threads a parallel loop that this thread begins may have."""
    library = openmp()
    if library is not None:
        library.omp_set_num_threads(1 if is_forked else num)


ROOM = 128 << 20  # bytes of addresses, of which a compiler that finds none ends the process


def uninterrupted(work: Callable[[], Result]) -> Result:
    """Do some work that Ctrl+C must not leave half done: on another thread, since it reaches the main one alone.

    The interrupt ends the waiting for it. For libraries that are imported or compile, and do not clean up after one.

    Raises
    ------
    MemoryError
        If there is not the memory that such libraries take.
    """
    try:
        mmap.mmap(-1, ROOM).close()  # addresses alone: nothing is written there
    except OSError:
        raise MemoryError(
            f"compiled kernels need {ROOM >> 20} MiB of memory to be made or read; there is less"
        ) from None
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: list[Callable[[], Result]] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(work)
            outcome.append(lambda: result)
        except BaseException as error:
            outcome.append(partial(raise_again, error))

    worker = threading.Thread(target=run, name="weft: uninterrupted work")
    try:
        worker.start()
    except RuntimeError:  # no more threads, or the interpreter ends
        return work()
    worker.join()
    return outcome[0]()


def raise_again(error: BaseException) -> Any:
    """Raise what work on another thread has raised."""
    raise error
